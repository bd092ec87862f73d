#include "skein/dispatch/due_heap.hpp"

#include <gtest/gtest.h>

#include <map>

#include "skein/base/random.hpp"

namespace skein::dispatch {
namespace {

Instant at(std::int64_t ms) { return Instant(std::chrono::milliseconds(ms)); }

TEST(DueHeap, gives_items_by_time_then_by_number) {
  DueHeap heap;
  heap.set(7, at(20));
  heap.set(3, at(10));
  heap.set(1, at(20));
  EXPECT_EQ(heap.next(), at(10));
  EXPECT_EQ(heap.pop(), 3U);
  EXPECT_EQ(heap.pop(), 1U);
  EXPECT_EQ(heap.pop(), 7U);
  EXPECT_EQ(heap.next(), Instant::max());
}

TEST(DueHeap, agrees_with_a_sorted_table_whatever_is_changed_and_removed) {
  Random random(7);
  DueHeap heap;
  std::map<std::uint32_t, Instant> model;
  for (int i = 0; i < 20'000; ++i) {
    const auto item = static_cast<std::uint32_t>(random.below(200));
    const auto what = random.below(10);
    if (what < 6) {
      const Instant when = at(static_cast<std::int64_t>(random.below(1'000)));
      heap.set(item, when);
      model[item] = when;
    } else if (what < 8) {
      heap.remove(item);
      model.erase(item);
    } else if (!model.empty()) {
      auto first = model.begin();
      for (auto each = model.begin(); each != model.end(); ++each) {
        if (each->second < first->second) first = each;
      }
      ASSERT_EQ(heap.next(), first->second);
      ASSERT_EQ(heap.pop(), first->first);
      model.erase(first);
    }
    ASSERT_EQ(heap.size(), model.size());
  }
}

}  // namespace
}  // namespace skein::dispatch
