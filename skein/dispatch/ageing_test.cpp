#include "skein/dispatch/ageing.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

constexpr Instant at(int seconds) { return Instant(std::chrono::seconds(seconds)); }

TEST(Ageing, gives_out_what_is_due_earliest_first) {
  Ageing ageing;
  ageing.add({at(3), at(0), 30, 3});
  ageing.add({at(1), at(0), 10, 1});
  ageing.add({at(2), at(0), 20, 2});
  EXPECT_FALSE(ageing.take_due(at(0)));
  EXPECT_EQ(ageing.take_due(at(2))->slot, 1U);
  EXPECT_EQ(ageing.take_due(at(2))->slot, 2U);
  EXPECT_FALSE(ageing.take_due(at(2)));
  EXPECT_EQ(ageing.take_due(at(9))->slot, 3U);
}

TEST(Ageing, sweeps_only_when_most_entries_are_of_tasks_that_wait_no_longer) {
  Ageing ageing;
  for (SlotNumber slot = 0; slot < 2'000; ++slot) ageing.add({at(1), at(0), slot, slot});
  const auto is_waiting = [](const Ageing::Entry& each) { return each.slot < 400; };
  ageing.sweep(500, is_waiting);
  EXPECT_EQ(ageing.size(), 2'000U);
  ageing.sweep(400, is_waiting);
  EXPECT_EQ(ageing.size(), 400U);
  EXPECT_TRUE(ageing.take_due(at(1)));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
