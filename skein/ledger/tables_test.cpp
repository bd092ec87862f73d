#include "skein/ledger/tables.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace skein::ledger {
namespace {

std::multiset<int> values(const std::vector<std::shared_ptr<const Chunk<int>>>& chunks) {
  std::multiset<int> out;
  for (const auto& chunk : chunks) {
    for (const int value : *chunk) {
      if (value != 0) out.insert(value);
    }
  }
  return out;
}

TEST(SlotTable, uses_free_slots_again_and_gives_up_empty_chunks) {
  SlotTable<int> table;
  std::vector<SlotTable<int>::Slot> slots;
  for (int i = 1; i <= 1000; ++i) slots.push_back(table.add(i));
  EXPECT_EQ(table.chunks().size(), 4U);
  for (int i = 1; i <= 1000; ++i) EXPECT_EQ(table.take(slots[static_cast<std::size_t>(i) - 1]), i);
  EXPECT_TRUE(table.chunks().empty());
  for (int i = 1; i <= 1000; ++i) EXPECT_LT(table.add(i), 1024U);
}

TEST(SlotTable, what_is_frozen_does_not_change) {
  SlotTable<int> table;
  const auto a = table.add(1);
  const auto b = table.add(2);
  const auto frozen = table.freeze();
  table.writable(a) = 10;
  EXPECT_EQ(table.take(b), 2);
  (void)table.add(3);
  EXPECT_EQ(values(frozen), (std::multiset<int>{1, 2}));
  EXPECT_EQ(values(table.chunks()), (std::multiset<int>{3, 10}));
}

RC_GTEST_PROP(SlotTable, holds_what_a_map_holds, (std::vector<std::pair<unsigned, unsigned>> steps)) {
  SlotTable<int> table;
  std::map<unsigned, int> model;
  std::vector<std::pair<std::vector<std::shared_ptr<const Chunk<int>>>, std::multiset<int>>> frozen;
  int next = 0;
  const auto contents = [&model] {
    std::multiset<int> out;
    for (const auto& [slot, value] : model) out.insert(value);
    return out;
  };
  for (const auto& [what, which] : steps) {
    if (what % 8 < 4 || model.empty()) {
      // Many at once, so that chunks fill.
      for (unsigned i = 0; i <= which % 200; ++i) {
        const auto slot = table.add(++next);
        RC_ASSERT(model.emplace(slot, next).second);
      }
    } else if (what % 8 == 7) {
      frozen.emplace_back(table.freeze(), contents());
    } else {
      for (unsigned i = 0; i <= which % 150 && !model.empty(); ++i) {
        auto at = model.lower_bound(which % 500);
        if (at == model.end()) at = model.begin();
        RC_ASSERT(table[at->first] == at->second);
        RC_ASSERT(table.take(at->first) == at->second);
        model.erase(at);
      }
    }
  }
  RC_ASSERT(values(table.chunks()) == contents());
  for (const auto& [chunks, were] : frozen) RC_ASSERT(values(chunks) == were);
}

RC_GTEST_PROP(QueueTable, holds_what_a_deque_holds,
              (std::vector<std::pair<unsigned, unsigned>> steps, unsigned start)) {
  const std::uint64_t first = start % 1000 + 1;
  QueueTable<int> table(first);
  std::map<std::uint64_t, int> model;
  std::vector<std::pair<FrozenQueue<int>, std::map<std::uint64_t, int>>> frozen;
  std::uint64_t end = first;
  int next = 0;
  for (const auto& [what, which] : steps) {
    if (what % 4 < 2) {
      for (unsigned i = 0; i <= which % 300; ++i) {
        RC_ASSERT(table.push(++next) == end);
        model.emplace(end++, next);
      }
    } else if (what % 4 == 2) {
      for (unsigned i = 0; i <= which % 300 && !model.empty(); ++i) {
        RC_ASSERT(table.first() == model.begin()->first);
        table.pop();
        model.erase(model.begin());
      }
    } else {
      frozen.emplace_back(table.freeze(), model);
      if (!model.empty()) {
        model.rbegin()->second = ++next;
        table.writable(model.rbegin()->first) = next;
      }
    }
    RC_ASSERT(table.size() == model.size());
  }
  for (const auto& [n, value] : model) RC_ASSERT(table[n] == value);
  for (const auto& [queue, were] : frozen) {
    RC_ASSERT(queue.size() == were.size());
    for (const auto& [n, value] : were) RC_ASSERT(queue[n] == value);
  }
}

}  // namespace
}  // namespace skein::ledger
