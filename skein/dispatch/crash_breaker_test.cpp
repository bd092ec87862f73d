#include "skein/dispatch/crash_breaker.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using Change = CrashBreaker::Change;
using BreakerIs = CrashBreaker::State;

class CrashBreakerTest : public testing::Test {
 protected:
  Change crash(ledger::TaskNumber task, Duration ran = 1s, std::size_t outliving = 0) {
    return breaker_.crashed(options_, task, ran, now_, [&](Duration) { return outliving; });
  }
  void open() {
    for (ledger::TaskNumber n = 1; n <= 5; ++n) crash(n);
    ASSERT_EQ(breaker_.state(), BreakerIs::open);
  }
  void half_open() {
    open();
    now_ += 60s;
    ASSERT_EQ(breaker_.passed(options_, {}, now_), Change::half_opened);
  }

  CrashBreakerOptions options_;
  CrashBreaker breaker_;
  Instant now_{1000s};
};

TEST_F(CrashBreakerTest, opens_after_five_crashes_over_distinct_tasks_with_a_warning_at_three) {
  EXPECT_EQ(crash(1), Change::none);
  EXPECT_EQ(crash(1), Change::none) << "the same task";
  EXPECT_EQ(crash(2), Change::none);
  EXPECT_EQ(crash(3), Change::warned);
  EXPECT_EQ(crash(4), Change::none);
  EXPECT_TRUE(breaker_.admits(options_, now_));
  EXPECT_EQ(crash(5), Change::opened);
  EXPECT_FALSE(breaker_.admits(options_, now_));
  EXPECT_EQ(breaker_.until(), now_ + 60s);
}

TEST_F(CrashBreakerTest, a_completion_takes_back_what_was_counted) {
  for (ledger::TaskNumber n = 1; n <= 4; ++n) crash(n);
  EXPECT_EQ(breaker_.completed(options_, now_), Change::none);
  EXPECT_TRUE(breaker_.is_new());
  for (ledger::TaskNumber n = 11; n <= 14; ++n) EXPECT_NE(crash(n), Change::opened);
}

TEST_F(CrashBreakerTest, crashes_that_lie_back_longer_than_the_window_do_not_count) {
  for (ledger::TaskNumber n = 1; n <= 20; ++n) {
    EXPECT_NE(crash(n), Change::opened) << n;
    now_ += 3min;
  }
}

TEST_F(CrashBreakerTest, stays_closed_while_as_many_runs_outlive_the_crashes) {
  for (ledger::TaskNumber n = 1; n <= 6; ++n) EXPECT_NE(crash(n, 1s, 6), Change::opened);
  EXPECT_EQ(crash(7, 1s, 6), Change::opened) << "seven crashed, six live";
}

TEST_F(CrashBreakerTest, half_open_gives_out_one_at_once_and_one_more_per_interval) {
  half_open();
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(breaker_.admits(options_, now_)) << i;
    breaker_.given_out(options_, now_);
    EXPECT_FALSE(breaker_.admits(options_, now_)) << i;
    EXPECT_EQ(breaker_.next_probe(), now_ + 5s);
    now_ += 5s;
  }
  for (int i = 0; i < 4; ++i) breaker_.probe_ended();
  breaker_.given_out(options_, now_);
  EXPECT_FALSE(breaker_.admits(options_, now_));
  breaker_.probe_ended();
  EXPECT_TRUE(breaker_.admits(options_, now_)) << "the one before has ended";
}

TEST_F(CrashBreakerTest, closes_with_a_completion_or_when_a_run_outlives_twice_the_slowest_crash) {
  half_open();
  EXPECT_EQ(breaker_.completed(options_, now_), Change::closed);
  for (ledger::TaskNumber n = 1; n <= 5; ++n) crash(n, n * 10s);
  now_ += 60s;
  breaker_.passed(options_, {}, now_);
  ASSERT_EQ(breaker_.state(), BreakerIs::half_open);
  EXPECT_EQ(breaker_.passed(options_, 100s, now_), Change::none);
  EXPECT_EQ(breaker_.passed(options_, 101s, now_), Change::closed);
}

TEST_F(CrashBreakerTest, a_crash_while_half_open_opens_it_again) {
  half_open();
  EXPECT_EQ(crash(99), Change::opened);
  EXPECT_EQ(breaker_.passed(options_, 1h, now_ + 59s), Change::none);
}

}  // namespace
}  // namespace skein::inline v0::dispatch
