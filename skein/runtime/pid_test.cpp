#include "skein/runtime/pid.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <unordered_set>

namespace skein {
namespace {

TEST(Pid, is_eight_bytes) { EXPECT_EQ(sizeof(Pid), 8U); }

TEST(Pid, default_one_means_nobody) {
  EXPECT_FALSE(Pid{});
  EXPECT_EQ(Pid{}, Pid(0, 0, 0));
  EXPECT_TRUE(Pid(0, 0, 1));
}

RC_GTEST_PROP(Pid, gives_back_its_parts_and_its_bits, ()) {
  const auto node = *rc::gen::inRange<std::uint32_t>(0, 1U << 12U);
  const auto slot = *rc::gen::inRange<std::uint32_t>(0, Pid::k_slot_max);
  const auto generation = *rc::gen::inRange<std::uint32_t>(0, Pid::k_generation_max);
  const Pid pid(node, slot, generation);
  RC_ASSERT(pid.node() == node);
  RC_ASSERT(pid.slot() == slot);
  RC_ASSERT(pid.generation() == generation);
  RC_ASSERT(Pid::from_bits(pid.bits()) == pid);
}

TEST(Pid, its_largest_parts_do_not_run_into_each_other) {
  const Pid pid(4095, Pid::k_slot_max, Pid::k_generation_max);
  EXPECT_EQ(pid.node(), 4095U);
  EXPECT_EQ(pid.slot(), Pid::k_slot_max);
  EXPECT_EQ(pid.generation(), Pid::k_generation_max);
  EXPECT_EQ(pid.bits(), UINT64_MAX);
}

TEST(Pid, differs_from_the_next_process_in_the_same_slot) {
  EXPECT_NE(Pid(0, 7, 1), Pid(0, 7, 2));
  EXPECT_LT(Pid(0, 7, 1), Pid(0, 7, 2));
}

TEST(Pid, reads_as_node_slot_and_generation) { EXPECT_EQ(Pid(1, 23, 4).text(), "<1.23.4>"); }

TEST(Pid, hashes_without_collisions_among_neighbours) {
  std::unordered_set<std::size_t> seen;
  for (std::uint32_t slot = 0; slot < 1'000; ++slot) {
    for (std::uint32_t generation = 1; generation <= 10; ++generation) {
      seen.insert(std::hash<Pid>{}(Pid(0, slot, generation)));
    }
  }
  EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace skein
