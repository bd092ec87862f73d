#include "skein/dispatch/retry_delays.hpp"

#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::ErrorClass;

RetryOptions steady(Duration delay) { return {.growth = Growth::fixed, .first = delay, .jitter = 0}; }

struct DelayWorld : RoutedRuleWorld {
  DelayWorld() {
    options.retry = {.growth = Growth::exponential, .first = 100ms, .longest = 5s, .jitter = 0};
    options.types["steady"].retry = steady(3s);
  }
  SlotNumber ada = known_agent("ada");

  Duration next(RetryDelays& delays, TaskRecord& record, ErrorClass error, std::optional<Duration> after = {}) {
    return delays.next(record, tables.agents[ada], error, after, at(1));
  }
};

TEST(RetryDelays, grow_with_the_attempts_by_the_policy_of_the_type) {
  DelayWorld world;
  RetryDelays delays(world.options, world.choice, world.router, world.random);
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  EXPECT_EQ(world.next(delays, record, ErrorClass::transient), 100ms);
  record.attempts = 2;
  EXPECT_EQ(world.next(delays, record, ErrorClass::crash), 400ms);
  record.attempts = 4'000'000'000U;
  EXPECT_EQ(world.next(delays, record, ErrorClass::timeout), 5s) << "whatever the policy's own number of attempts";
  TaskRecord& other = world.the_task(world.task_in_lane(world.own, "steady"));
  EXPECT_EQ(world.next(delays, other, ErrorClass::transient), 3s);
}

TEST(RetryDelays, are_as_long_as_the_agent_asks_and_none_for_a_permanent_error) {
  DelayWorld world;
  RetryDelays delays(world.options, world.choice, world.router, world.random);
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  EXPECT_EQ(world.next(delays, record, ErrorClass::rate_limited, 30s), 30s);
  EXPECT_EQ(world.next(delays, record, ErrorClass::permanent, 30s), Duration::zero());
}

TEST(RetryDelays, remember_what_was_chosen_only_where_retries_are_learned) {
  DelayWorld world;
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  RetryDelays usual(world.options, world.choice, world.router, world.random);
  static_cast<void>(world.next(usual, record, ErrorClass::transient));
  EXPECT_EQ(record.past, nullptr);
  world.options.adaptive_retry = true;
  RetryDelays learning(world.options, world.choice, world.router, world.random);
  static_cast<void>(world.next(learning, record, ErrorClass::resource));
  ASSERT_TRUE(record.past && record.past->retry);
  EXPECT_EQ(record.past->retry->error, RetryClass::resource);
}

TEST(RetryDelays, learn_that_the_last_choice_failed_too) {
  DelayWorld world;
  world.options.adaptive_retry = true;
  RetryDelays delays(world.options, world.choice, world.router, world.random);
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  static_cast<void>(world.next(delays, record, ErrorClass::transient));
  const auto chosen = *record.past->retry;
  static_cast<void>(world.next(delays, record, ErrorClass::permanent));
  EXPECT_FALSE(record.past->retry);
  EXPECT_LT(world.router.learned().retry().value(RetryClass::transient, chosen.action), 0);
}

TEST(RetryDelays, see_six_errors_of_the_ledger_as_four_classes) {
  EXPECT_EQ(class_of(ErrorClass::permanent), RetryClass::permanent);
  EXPECT_EQ(class_of(ErrorClass::rate_limited), RetryClass::rate_limited);
  EXPECT_EQ(class_of(ErrorClass::resource), RetryClass::resource);
  for (const ErrorClass each : {ErrorClass::transient, ErrorClass::timeout, ErrorClass::crash}) {
    EXPECT_EQ(class_of(each), RetryClass::transient);
  }
}

}  // namespace
}  // namespace skein::inline v0::dispatch
