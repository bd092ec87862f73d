#include "skein/resilience/rate_limit.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "skein/resilience/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using tests::at;

TEST(RateLimit, lets_a_burst_through_and_then_one_per_interval) {
  RateLimit limit(10, seconds(1), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take(at(0)), Duration::zero());
  EXPECT_EQ(limit.take(at(0)), milliseconds(100));
  EXPECT_EQ(limit.take(at(60)), milliseconds(40));
  EXPECT_EQ(limit.take(at(100)), Duration::zero());
  EXPECT_NE(limit.take(at(100)), Duration::zero());
}

TEST(RateLimit, saves_up_no_more_than_a_burst) {
  RateLimit limit(10, seconds(1), 3);
  int passed = 0;
  for (int i = 0; i < 100; ++i) passed += limit.take(at(1'000'000)) == Duration::zero() ? 1 : 0;
  EXPECT_EQ(passed, 3);
}

TEST(RateLimit, a_clock_that_goes_back_gives_nothing) {
  RateLimit limit(1, seconds(1), 1);
  EXPECT_EQ(limit.take(at(5000)), Duration::zero());
  EXPECT_EQ(limit.take(at(1000)), seconds(1));
  EXPECT_EQ(limit.take(at(5999)), milliseconds(1));
  EXPECT_EQ(limit.take(at(6000)), Duration::zero());
}

TEST(RateLimit, a_rate_that_does_not_divide_the_period_is_kept_exactly) {
  // 3 per 10 ns would be 3.33 if a call's share were rounded to 3 ns.
  RateLimit limit(3, Duration(10), 2);
  std::uint64_t passed = 0;
  for (std::int64_t ns = 0; ns <= 1'000'000; ++ns) passed += limit.take(Instant(Duration(ns))) == Duration::zero();
  EXPECT_EQ(passed, 300'002U) << "what flowed in, and the two that were saved up";
  RateLimit fast(1'000, Duration(1), 1'000);
  passed = 0;
  for (int i = 0; i < 2'000; ++i) passed += fast.take(Instant(Duration(5))) == Duration::zero();
  EXPECT_EQ(passed, 1'000U) << "a call may be worth less than a nanosecond";
}

TEST(RateLimit, holds_for_the_largest_numbers_and_the_farthest_times) {
  RateLimit limit(1, Duration::max(), UINT32_MAX);
  EXPECT_EQ(limit.take(Instant::min()), Duration::zero());
  EXPECT_EQ(limit.take(Instant::max()), Duration::zero());
  RateLimit slow(1, Duration::max(), 1);
  EXPECT_EQ(slow.take(Instant::max()), Duration::zero());
  EXPECT_EQ(slow.take(Instant::max()), Duration::max());
}

TEST(RateLimit, refuses_zeroes) {
  EXPECT_THROW(RateLimit(0, seconds(1), 1), std::invalid_argument);
  EXPECT_THROW(RateLimit(1, Duration::zero(), 1), std::invalid_argument);
  EXPECT_THROW(RateLimit(1, seconds(1), 0), std::invalid_argument);
}

RC_GTEST_PROP(RateLimit, never_exceeds_rate_and_burst_and_a_wait_it_names_is_enough, ()) {
  const auto rate = *rc::gen::inRange<std::uint32_t>(1, 1000);
  const auto burst = *rc::gen::inRange<std::uint32_t>(1, 50);
  RateLimit limit(rate, seconds(1), burst);
  Instant now{};
  std::uint64_t passed = 0;
  const auto waits = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5'000'000));
  for (const int wait : waits) {
    now += Duration(wait);
    const Duration refused_for = limit.take(now);
    if (refused_for == Duration::zero()) {
      ++passed;
    } else {
      now += refused_for;
      RC_ASSERT(limit.take(now) == Duration::zero());
      ++passed;
    }
    const double allowed = burst + static_cast<double>(now.time_since_epoch().count()) * 1e-9 * rate * 1.001 + 1;
    RC_ASSERT(static_cast<double>(passed) <= allowed);
  }
}

}  // namespace
}  // namespace skein
