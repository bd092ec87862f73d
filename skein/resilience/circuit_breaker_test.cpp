#include "skein/resilience/circuit_breaker.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>
#include <vector>

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Instant at(std::int64_t ms) { return Instant(milliseconds(ms)); }

void fail(CircuitBreaker& breaker, Instant now) {
  const auto permit = breaker.ask(now);
  ASSERT_TRUE(permit);
  breaker.failed(*permit, now);
}

void succeed(CircuitBreaker& breaker, Instant now) {
  const auto permit = breaker.ask(now);
  ASSERT_TRUE(permit);
  breaker.succeeded(*permit, now);
}

void open(CircuitBreaker& breaker, Instant now) {
  for (int i = 0; i < 5; ++i) fail(breaker, now);
}

TEST(CircuitBreaker, opens_at_the_fifth_failure_in_a_row) {
  CircuitBreaker breaker;
  for (int i = 0; i < 4; ++i) fail(breaker, at(i));
  EXPECT_EQ(breaker.state(at(4)), BreakerState::closed);
  fail(breaker, at(5));
  EXPECT_EQ(breaker.state(at(5)), BreakerState::open);
  EXPECT_EQ(breaker.metrics().opened, 1U);
}

TEST(CircuitBreaker, a_success_begins_the_count_anew) {
  CircuitBreaker breaker;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) fail(breaker, at(round));
    succeed(breaker, at(round));
  }
  EXPECT_EQ(breaker.state(at(100)), BreakerState::closed);
}

TEST(CircuitBreaker, refuses_while_open_and_says_when_to_come_back) {
  CircuitBreaker breaker;
  open(breaker, at(1000));
  const auto refused = breaker.ask(at(11'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().state, BreakerState::open);
  EXPECT_EQ(refused.error().retry_after, seconds(20));
  EXPECT_EQ(breaker.metrics().refused, 1U);
}

TEST(CircuitBreaker, is_half_open_after_the_reset_timeout_and_closes_after_two_successes) {
  CircuitBreaker breaker;
  open(breaker, at(0));
  EXPECT_EQ(breaker.state(at(29'999)), BreakerState::open);
  EXPECT_EQ(breaker.state(at(30'000)), BreakerState::half_open);
  succeed(breaker, at(30'001));
  EXPECT_EQ(breaker.state(at(30'001)), BreakerState::half_open);
  succeed(breaker, at(30'002));
  EXPECT_EQ(breaker.state(at(30'002)), BreakerState::closed);
}

TEST(CircuitBreaker, half_open_lets_three_probes_through_at_once_and_no_more) {
  CircuitBreaker breaker;
  open(breaker, at(0));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(breaker.ask(at(30'000)));
  const auto refused = breaker.ask(at(30'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().state, BreakerState::half_open);
}

TEST(CircuitBreaker, one_failed_probe_opens_it_again_for_a_whole_reset_timeout) {
  CircuitBreaker breaker;
  open(breaker, at(0));
  fail(breaker, at(30'000));
  EXPECT_EQ(breaker.state(at(59'999)), BreakerState::open);
  EXPECT_EQ(breaker.state(at(60'000)), BreakerState::half_open);
}

TEST(CircuitBreaker, a_probe_that_never_reports_counts_as_failed_after_the_operation_timeout) {
  CircuitBreaker breaker;
  open(breaker, at(0));
  ASSERT_TRUE(breaker.ask(at(30'000)));
  EXPECT_EQ(breaker.state(at(39'999)), BreakerState::half_open);
  EXPECT_EQ(breaker.state(at(40'000)), BreakerState::open);
  EXPECT_EQ(breaker.metrics().timed_out, 1U);
}

TEST(CircuitBreaker, outcomes_of_an_earlier_state_are_ignored) {
  CircuitBreaker breaker;
  const auto early = breaker.ask(at(0));
  ASSERT_TRUE(early);
  open(breaker, at(1));
  succeed(breaker, at(30'001));
  succeed(breaker, at(30'002));
  ASSERT_EQ(breaker.state(at(30'003)), BreakerState::closed);
  for (int i = 0; i < 10; ++i) breaker.failed(*early, at(30'004));
  EXPECT_EQ(breaker.state(at(30'005)), BreakerState::closed);
}

TEST(CircuitBreaker, an_outcome_told_twice_counts_once) {
  CircuitBreaker breaker;
  const auto permit = breaker.ask(at(0));
  ASSERT_TRUE(permit);
  for (int i = 0; i < 10; ++i) breaker.failed(*permit, at(1));
  EXPECT_EQ(breaker.metrics().failed, 1U);
  EXPECT_EQ(breaker.state(at(1)), BreakerState::closed);
}

TEST(CircuitBreaker, judges_by_rate_when_told_to) {
  BreakerOptions options;
  options.failure_threshold = 0;
  options.failure_rate = 0.5;
  options.rate_window = 10;
  options.rate_minimum = 10;
  CircuitBreaker breaker(options);
  for (int i = 0; i < 100; ++i) {
    succeed(breaker, at(i));
    succeed(breaker, at(i));
    fail(breaker, at(i));
  }
  EXPECT_EQ(breaker.state(at(100)), BreakerState::closed);
  // Three of the last nine failed; with these two it is five of ten.
  fail(breaker, at(101));
  EXPECT_EQ(breaker.state(at(101)), BreakerState::closed);
  fail(breaker, at(101));
  EXPECT_EQ(breaker.state(at(101)), BreakerState::open);
}

TEST(CircuitBreaker, an_observer_that_throws_harms_nothing) {
  std::vector<BreakerState> seen;
  CircuitBreaker breaker({}, [&](BreakerState, BreakerState to) {
    seen.push_back(to);
    throw std::runtime_error("observer");
  });
  open(breaker, at(0));
  EXPECT_EQ(breaker.state(at(30'000)), BreakerState::half_open);
  EXPECT_EQ(seen, (std::vector{BreakerState::open, BreakerState::half_open}));
}

TEST(CircuitBreaker, a_clock_that_stands_still_or_goes_back_keeps_it_open) {
  CircuitBreaker breaker;
  open(breaker, at(1000));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(breaker.ask(at(1000)));
  EXPECT_FALSE(breaker.ask(at(0)));
  EXPECT_EQ(breaker.state(at(0)), BreakerState::open);
}

TEST(CircuitBreaker, can_be_forced_by_hand) {
  CircuitBreaker breaker;
  breaker.force_open(at(0));
  EXPECT_FALSE(breaker.ask(at(1)));
  breaker.force_closed(at(2));
  EXPECT_TRUE(breaker.ask(at(3)));
}

TEST(CircuitBreaker, refuses_options_that_make_no_sense) {
  for (auto change : std::initializer_list<void (*)(BreakerOptions&)>{
           [](BreakerOptions& o) { o.failure_threshold = 0; }, [](BreakerOptions& o) { o.failure_rate = 1.5; },
           [](BreakerOptions& o) { o.rate_window = 0; }, [](BreakerOptions& o) { o.rate_minimum = 0; },
           [](BreakerOptions& o) { o.reset_timeout = Duration::zero(); },
           [](BreakerOptions& o) { o.half_open_max_calls = 0; }, [](BreakerOptions& o) { o.success_threshold = 0; },
           [](BreakerOptions& o) { o.operation_timeout = Duration::zero(); }}) {
    BreakerOptions options;
    change(options);
    EXPECT_TRUE(options.problem().has_value());
    EXPECT_THROW(CircuitBreaker{options}, std::invalid_argument);
  }
}

// The machine of the header's comment, written the simplest way, for calls that report at once.
struct Model {
  BreakerState state = BreakerState::closed;
  std::uint32_t failures = 0;
  std::uint32_t successes = 0;
  std::int64_t opened = 0;
  void look(std::int64_t now) {
    if (state == BreakerState::open && now >= opened + 30'000) {
      state = BreakerState::half_open;
      successes = 0;
    }
  }
  bool call(std::int64_t now, bool ok) {
    look(now);
    if (state == BreakerState::open) return false;
    if (state == BreakerState::half_open) {
      if (!ok) {
        state = BreakerState::open;
        opened = now;
      } else if (++successes == 2) {
        state = BreakerState::closed;
        failures = 0;
      }
      return true;
    }
    failures = ok ? 0 : failures + 1;
    if (failures == 5) {
      state = BreakerState::open;
      opened = now;
      failures = 0;
    }
    return true;
  }
};

RC_GTEST_PROP(CircuitBreaker, behaves_as_its_model, ()) {
  CircuitBreaker breaker;
  Model model;
  std::int64_t now = 0;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, bool>>>(
      rc::gen::pair(rc::gen::inRange(0, 20'000), rc::gen::element(true, false, false)));
  for (const auto& [wait, ok] : steps) {
    now += wait;
    const bool allowed = model.call(now, ok);
    const auto permit = breaker.ask(at(now));
    RC_ASSERT(permit.has_value() == allowed);
    if (permit && ok) breaker.succeeded(*permit, at(now));
    if (permit && !ok) breaker.failed(*permit, at(now));
    RC_ASSERT(breaker.state(at(now)) == model.state);
  }
}

}  // namespace
}  // namespace skein
