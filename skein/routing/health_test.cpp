#include "skein/routing/health.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Instant at(Duration since_start) { return Instant(since_start); }

TEST(AgentHealth, of_a_new_agent_is_good) {
  const AgentHealth health;
  EXPECT_DOUBLE_EQ(health.score(), 1.0);
  EXPECT_DOUBLE_EQ(health.success(), 1.0);
  EXPECT_DOUBLE_EQ(health.per_second(at(seconds(1))), 0.0);
}

TEST(AgentHealth, scores_by_the_formula) {
  AgentHealth health;
  for (int i = 0; i < 100; ++i) health.record(milliseconds(200), i % 4 != 0, at(milliseconds(10 * i)));
  EXPECT_NEAR(health.score(), 0.75 * (1 - 0.2), 1e-6);
}

// At 400d72d an agent that failed 70% at once scored .52.
TEST(AgentHealth, quick_failures_are_no_merit) {
  AgentHealth health;
  for (int i = 0; i < 100; ++i) health.record(milliseconds(1), i % 10 >= 7, at(seconds(1)));
  EXPECT_LT(health.score(), 0.31);
}

TEST(AgentHealth, one_long_run_in_ten_is_the_tasks_doing) {
  AgentHealth health;
  for (int i = 0; i < 100; ++i) health.record(i % 10 == 0 ? seconds(60) : milliseconds(100), true, at(seconds(1)));
  EXPECT_GT(health.score(), 0.89);
}

TEST(AgentHealth, knows_the_median_of_its_window_exactly) {
  AgentHealth health;
  for (int i = 1; i <= 250; ++i) health.record(milliseconds(i), true, at(milliseconds(i)));
  EXPECT_DOUBLE_EQ(health.slowness_ms(), 201.0);  // of 151 to 250
  EXPECT_EQ(health.outcomes(), AgentHealth::k_window);
}

TEST(AgentHealth, forgets_throughput_after_its_window) {
  AgentHealth health;
  for (int i = 0; i < 50; ++i) health.record(milliseconds(1), true, at(seconds(1)));
  EXPECT_DOUBLE_EQ(health.per_second(at(seconds(1))), 5.0);
  EXPECT_DOUBLE_EQ(health.per_second(at(seconds(10))), 5.0);
  EXPECT_DOUBLE_EQ(health.per_second(at(seconds(11))), 0.0);
  health.record(milliseconds(1), true, at(seconds(60)));
  EXPECT_DOUBLE_EQ(health.per_second(at(seconds(60))), 0.1);
}

TEST(AgentHealth, takes_a_clock_that_goes_back_as_standing_still) {
  AgentHealth health;
  health.record(milliseconds(1), true, at(seconds(100)));
  health.record(milliseconds(1), true, at(seconds(5)));
  EXPECT_DOUBLE_EQ(health.per_second(at(seconds(0))), 0.2);
}

TEST(AgentHealth, takes_negative_latencies_as_zero_and_unknown_ones_not_at_all) {
  AgentHealth health;
  health.record(milliseconds(-5), true, at(seconds(1)));
  EXPECT_DOUBLE_EQ(health.slowness_ms(), 0.0);
  health.record(milliseconds(40), true, at(seconds(1)));
  health.record(std::nullopt, false, at(seconds(1)));
  EXPECT_DOUBLE_EQ(health.slowness_ms(), 40.0);
  EXPECT_NEAR(health.success(), 2.0 / 3, 1e-12);
}

TEST(AgentHealth, is_new_after_forgetting) {
  AgentHealth health;
  for (int i = 0; i < 20; ++i) health.record(seconds(5), false, at(seconds(1)));
  EXPECT_LT(health.score(), 0.1);
  health.forget();
  EXPECT_DOUBLE_EQ(health.score(), 1.0);
}

TEST(AgentHealth, has_figures_within_bounds_for_any_input) {
  const bool holds = rc::check([](const std::vector<std::tuple<std::int64_t, bool, std::int64_t>>& told) {
    AgentHealth health;
    for (const auto& [latency, ok, now] : told) {
      health.record(Duration(latency), ok, Instant(Duration(now)));
      const double score = health.score();
      RC_ASSERT(score >= 0.0 && score <= 1.0);
      RC_ASSERT(std::isfinite(health.typical_ms()) && health.typical_ms() >= 0);
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace skein
