#include "skein/routing/slot_lists.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace skein {
namespace {

std::vector<std::uint32_t> read(const SlotLists& lists, std::uint32_t list) {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = lists.front(list); slot != SlotLists::k_none; slot = lists.after(slot))
    slots.push_back(slot);
  return slots;
}

TEST(SlotLists, keeps_each_list_in_order) {
  SlotLists lists;
  lists.push_back(0, 5);
  lists.push_back(3, 1);
  lists.push_back(0, 2);
  EXPECT_EQ(read(lists, 0), (std::vector<std::uint32_t>{5, 2}));
  EXPECT_EQ(read(lists, 3), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(lists.front(1), SlotLists::k_none);
  EXPECT_EQ(lists.front(99), SlotLists::k_none);
  EXPECT_EQ(lists.remove(77), SlotLists::k_none);
}

TEST(SlotLists, equals_lists_of_a_model_after_random_operations) {
  constexpr std::uint32_t k_slots = 12;
  constexpr std::uint32_t k_lists = 3;
  const bool holds = rc::check([] {
    SlotLists lists;
    std::vector<std::deque<std::uint32_t>> model(k_lists);
    for (const auto step :
         *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 3U * k_slots * k_lists))) {
      const std::uint32_t slot = step % k_slots;
      const std::uint32_t list = step / k_slots % k_lists;
      const std::uint32_t what = step / k_slots / k_lists;
      const auto home =
          std::ranges::find_if(model, [&](const auto& each) { return std::ranges::find(each, slot) != each.end(); });
      if (what == 0 && home == model.end()) {
        lists.push_back(list, slot);
        model[list].push_back(slot);
      } else if (what == 1 && home != model.end()) {
        lists.remove(slot);
        std::erase(*home, slot);
      } else if (what == 2 && home != model.end()) {
        lists.move_to_back(slot);
        std::erase(*home, slot);
        home->push_back(slot);
      }
      for (std::uint32_t each = 0; each < k_lists; ++each) {
        RC_ASSERT(read(lists, each) == std::vector<std::uint32_t>(model[each].begin(), model[each].end()));
      }
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace skein
