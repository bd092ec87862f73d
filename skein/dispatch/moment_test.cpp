#include "skein/dispatch/moment.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;

constexpr Moment k_moment{Instant(100s), 5'000'000};

TEST(Moment, says_a_time_of_one_clock_on_the_other) {
  EXPECT_EQ(wall_at(Instant(102s), k_moment), 5'002'000U);
  EXPECT_EQ(instant_of(5'002'000, k_moment), Instant(102s));
  EXPECT_EQ(wall_after(2s, k_moment), 5'002'000U);
}

TEST(Moment, rounds_up_so_that_nothing_comes_early) {
  EXPECT_EQ(wall_at(Instant(100s + 1us), k_moment), 5'000'001U);
  EXPECT_EQ(wall_after(1us, k_moment), 5'000'001U);
}

TEST(Moment, takes_what_has_passed_for_now_and_no_delay_for_zero) {
  EXPECT_EQ(wall_at(Instant(1s), k_moment), k_moment.wall);
  EXPECT_EQ(instant_of(1, k_moment), k_moment.now);
  EXPECT_EQ(wall_after(Duration::zero(), k_moment), 0U);
  EXPECT_EQ(wall_after(-1s, k_moment), 0U);
}

TEST(Moment, keeps_what_never_comes_from_overflowing) {
  EXPECT_EQ(wall_at(Instant::max(), k_moment), 0U) << "never";
  EXPECT_EQ(wall_after(k_forever, k_moment), k_moment.wall + k_wall_ms_max);
  EXPECT_GT(instant_of(UINT64_MAX, k_moment), k_moment.now + std::chrono::hours(24 * 365 * 30));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
