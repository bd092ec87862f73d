#include "skein/resilience/circuit_breaker.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/resilience/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using tests::at;

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

TEST(CircuitBreaker, waits_for_ever_for_work_that_ends_by_itself) {
  CircuitBreaker breaker({.operation_timeout = k_forever});
  open(breaker, at(0));
  const auto probe = breaker.ask(at(30'000));
  ASSERT_TRUE(probe);
  EXPECT_EQ(breaker.state(at(7'200'000)), BreakerState::half_open);
  breaker.succeeded(*probe, at(7'200'000));
  succeed(breaker, at(7'200'000));
  EXPECT_EQ(breaker.state(at(7'200'000)), BreakerState::closed);
  EXPECT_EQ(breaker.metrics().timed_out, 0U);
}

TEST(CircuitBreaker, can_be_held_open_for_longer_once) {
  CircuitBreaker breaker;
  breaker.force_open(at(0), seconds(60));
  EXPECT_EQ(breaker.open_until(), at(60'000));
  EXPECT_EQ(breaker.state(at(59'999)), BreakerState::open);
  EXPECT_EQ(breaker.state(at(60'000)), BreakerState::half_open);
  fail(breaker, at(60'000));
  EXPECT_EQ(breaker.open_until(), at(90'000)) << "the next time as usual";
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

TEST(CircuitBreaker, calls_that_never_report_are_forgotten_also_when_the_clock_stands_still) {
  BreakerOptions options;
  options.failure_threshold = 1'000;
  CircuitBreaker breaker(options);
  for (std::size_t i = 0; i < CircuitBreaker::k_under_way_max + 999; ++i) ASSERT_TRUE(breaker.ask(at(0)));
  EXPECT_EQ(breaker.under_way(), CircuitBreaker::k_under_way_max);
  EXPECT_EQ(breaker.metrics().timed_out, 999U);
  EXPECT_FALSE(breaker.ask(at(0))) << "the thousandth that never reported opens it";
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

// The whole machine, written the simplest way: calls under way at once that report late, twice or never, by count and
// by rate, with a clock that stands still or goes back. Everything is looked up in lists, nothing is kept up to date.
class WholeModel {
 public:
  explicit WholeModel(BreakerOptions options) : options_(options) {}

  std::optional<int> ask(std::int64_t now) {
    look(now);
    if (state == BreakerState::open) return std::nullopt;
    const auto probes = std::ranges::count_if(calls_, [](const Call& each) { return each.counts; });
    if (state == BreakerState::half_open && probes >= options_.half_open_max_calls) return std::nullopt;
    calls_.push_back(Call{clock_, true});
    return static_cast<int>(calls_.size()) - 1;
  }
  void tell(int call, std::optional<bool> good, std::int64_t now) {
    look(now);
    Call& told = calls_[static_cast<std::size_t>(call)];
    if (!std::exchange(told.counts, false) || !good) return;
    outcome(*good);
  }
  void look(std::int64_t now) {
    clock_ = std::max(clock_, now);
    if (state == BreakerState::open) {
      if (clock_ >= opened_ + ms(options_.reset_timeout)) become(BreakerState::half_open);
      return;
    }
    for (Call& each : calls_) {
      if (!each.counts || clock_ < each.asked + ms(options_.operation_timeout)) continue;
      each.counts = false;
      outcome(false);
    }
  }
  BreakerState state = BreakerState::closed;

 private:
  struct Call {
    std::int64_t asked = 0;
    bool counts = false;  // its outcome matters
  };
  static std::int64_t ms(Duration time) { return time / milliseconds(1); }

  void become(BreakerState next) {
    state = next;
    outcomes_.clear();
    for (Call& each : calls_) each.counts = false;
    if (next == BreakerState::open) opened_ = clock_;
  }
  void outcome(bool good) {
    outcomes_.push_back(good);
    const auto good_ones = std::ranges::count(outcomes_, true);
    if (state == BreakerState::half_open) {
      if (!good) become(BreakerState::open);
      if (good && good_ones == options_.success_threshold) become(BreakerState::closed);
      return;
    }
    std::uint32_t in_row = 0;
    for (auto each = outcomes_.rbegin(); each != outcomes_.rend() && !*each; ++each) ++in_row;
    const std::size_t seen = std::min<std::size_t>(outcomes_.size(), options_.rate_window);
    const auto bad = std::count(outcomes_.end() - static_cast<std::ptrdiff_t>(seen), outcomes_.end(), false);
    const bool by_count = options_.failure_threshold != 0 && in_row >= options_.failure_threshold;
    const bool by_rate = options_.failure_rate > 0 && seen >= options_.rate_minimum &&
                         static_cast<double>(bad) >= options_.failure_rate * static_cast<double>(seen);
    if (by_count || by_rate) become(BreakerState::open);
  }

  BreakerOptions options_;
  std::int64_t clock_ = 0;
  std::int64_t opened_ = 0;
  std::vector<Call> calls_;
  std::vector<bool> outcomes_;  // of this state
};

TEST(CircuitBreaker, behaves_as_the_whole_model_with_calls_under_way) {
  std::array<int, 3> seen{};
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    Random random(seed);
    BreakerOptions options;
    options.failure_threshold = static_cast<std::uint32_t>(random.below(6));
    if (options.failure_threshold == 0 || random.chance(0.5)) options.failure_rate = random.chance(0.5) ? 0.5 : 0.25;
    options.rate_window = static_cast<std::uint32_t>(4 + random.below(8));
    options.rate_minimum = static_cast<std::uint32_t>(1 + random.below(options.rate_window));
    options.reset_timeout = milliseconds(50 + random.below(100));
    options.operation_timeout = milliseconds(20 + random.below(100));
    options.half_open_max_calls = static_cast<std::uint32_t>(1 + random.below(4));
    options.success_threshold = static_cast<std::uint32_t>(1 + random.below(4));
    const double good = 0.3 + 0.6 * random.unit();
    CircuitBreaker breaker(options);
    WholeModel model(options);
    std::vector<CircuitBreaker::Permit> permits;  // by the model's number of the call
    std::int64_t now = 1'000;
    for (int step = 0; step < 200; ++step) {
      now += random.chance(0.1) ? -5 : static_cast<std::int64_t>(random.below(12));
      if (permits.empty() || random.chance(0.5)) {
        const auto permit = breaker.ask(at(now));
        ASSERT_EQ(permit.has_value(), model.ask(now).has_value()) << "seed " << seed << ", step " << step;
        if (permit) permits.push_back(*permit);
      } else {
        // Often one of the last, at times one that reported long ago.
        const std::uint64_t back =
            random.below(random.chance(0.8) ? std::min<std::size_t>(permits.size(), 4) : permits.size());
        const std::size_t call = permits.size() - 1 - back;
        const std::optional<bool> outcome =
            random.chance(0.1) ? std::nullopt : std::optional<bool>(random.chance(good));
        if (!outcome) breaker.returned(permits[call], at(now));
        if (outcome == true) breaker.succeeded(permits[call], at(now));
        if (outcome == false) breaker.failed(permits[call], at(now));
        model.tell(static_cast<int>(call), outcome, now);
      }
      ASSERT_EQ(breaker.state(at(now)), model.state) << "seed " << seed << ", step " << step;
      ++seen[static_cast<std::size_t>(model.state)];
    }
  }
  for (const int steps : seen) EXPECT_GT(steps, 10'000) << "every state is lived in";
}

}  // namespace
}  // namespace skein
