#include "skein/dispatch/turned_away.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

TEST(TurnedAway, remembers_the_last_ones_and_forgets_the_first) {
  TurnedAway away;
  EXPECT_FALSE(away.has(Pid(0, 1, 1)));
  for (std::uint32_t i = 1; i <= TurnedAway::k_turned_away_max; ++i) away.add(Pid(0, i, 1));
  EXPECT_TRUE(away.has(Pid(0, 1, 1)));
  EXPECT_FALSE(away.has(Pid(0, 1, 2))) << "another process in the same slot";
  away.add(Pid(0, TurnedAway::k_turned_away_max + 1, 1));
  EXPECT_FALSE(away.has(Pid(0, 1, 1)));
  EXPECT_TRUE(away.has(Pid(0, 2, 1)));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
