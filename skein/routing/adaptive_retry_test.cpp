#include "skein/routing/adaptive_retry.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

AdaptiveRetryOptions without_exploring() {
  AdaptiveRetryOptions options;
  options.explore_first = 0;
  options.explore_last = 0;
  return options;
}

TEST(AdaptiveRetry, does_as_the_policy_says_until_it_has_learned) {
  const AdaptiveRetry retry(without_exploring());
  Random random(1);
  const auto chosen = retry.choose(RetryClass::transient, milliseconds(100), {}, random);
  EXPECT_EQ(chosen.delay, milliseconds(100));
  EXPECT_FALSE(chosen.other_agent);
}

TEST(AdaptiveRetry, learns_to_ask_another_agent_when_the_same_one_keeps_failing) {
  AdaptiveRetry retry;
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const auto chosen = retry.choose(RetryClass::resource, milliseconds(100), {}, random);
    retry.learn(chosen, chosen.other_agent);
  }
  int others = 0;
  for (int i = 0; i < 1000; ++i) {
    others += retry.choose(RetryClass::resource, milliseconds(100), {}, random).other_agent ? 1 : 0;
  }
  EXPECT_GT(others, 950);
}

TEST(AdaptiveRetry, learns_to_wait_longer_when_only_that_helps) {
  AdaptiveRetry retry;
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    const auto chosen = retry.choose(RetryClass::rate_limited, milliseconds(100), {}, random);
    retry.learn(chosen, chosen.delay >= milliseconds(400));
  }
  int long_ones = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto chosen = retry.choose(RetryClass::rate_limited, milliseconds(100), {}, random);
    long_ones += chosen.delay == milliseconds(400) ? 1 : 0;  // not 1.6 s: waiting costs too
  }
  EXPECT_GT(long_ones, 900);
}

TEST(AdaptiveRetry, learns_for_each_class_of_error_on_its_own) {
  AdaptiveRetry retry(without_exploring());
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    retry.learn(retry.choose(RetryClass::transient, milliseconds(100), {}, random), false);
  }
  EXPECT_DOUBLE_EQ(retry.value(RetryClass::resource, 0), 0.0);
  EXPECT_LT(retry.value(RetryClass::transient, 0), 0.0);
}

TEST(AdaptiveRetry, asks_another_agent_when_the_prospects_there_are_better) {
  const AdaptiveRetry retry(without_exploring());
  Random random(1);
  const auto worse = retry.choose(RetryClass::transient, milliseconds(100), {}, random, {.same = -5, .other = 1});
  EXPECT_TRUE(worse.other_agent);
  EXPECT_EQ(worse.delay, milliseconds(100));
  EXPECT_FALSE(
      retry.choose(RetryClass::transient, milliseconds(100), {}, random, {.same = 1, .other = -5}).other_agent);
}

TEST(AdaptiveRetry, never_waits_less_than_was_asked_nor_longer_than_the_limits) {
  const AdaptiveRetry retry;
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto asked = retry.choose(RetryClass::rate_limited, milliseconds(100), seconds(3), random);
    ASSERT_GE(asked.delay, seconds(3));
    ASSERT_EQ(retry.choose(RetryClass::rate_limited, milliseconds(1), std::chrono::hours(5), random).delay,
              k_retry_after_max);
    ASSERT_EQ(retry.choose(RetryClass::transient, k_forever, {}, random).delay, seconds(60));
    ASSERT_EQ(retry.choose(RetryClass::transient, seconds(-5), seconds(-5), random).delay, Duration::zero());
  }
}

TEST(AdaptiveRetry, is_the_same_after_saving_and_restoring) {
  AdaptiveRetry retry;
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    retry.learn(retry.choose(RetryClass::transient, milliseconds(100), {}, random), i % 3 == 0);
  }
  AdaptiveRetry again;
  ASSERT_TRUE(again.restore(retry.save()));
  EXPECT_EQ(again.save(), retry.save());
}

TEST(AdaptiveRetry, refuses_bad_tables_and_keeps_its_own) {
  AdaptiveRetry retry;
  const std::string good = retry.save();
  for (std::size_t length = 0; length < good.size(); ++length) {
    ASSERT_FALSE(retry.restore(std::string_view(good).substr(0, length))) << length;
  }
  EXPECT_FALSE(retry.restore(good + "\n"));
  EXPECT_FALSE(retry.restore(std::string(1 << 20, ' ')));
  EXPECT_EQ(retry.save(), good);
}

TEST(AdaptiveRetry, refuses_options_that_make_no_sense) {
  AdaptiveRetryOptions options;
  options.longest = Duration::zero();
  EXPECT_THROW(AdaptiveRetry{options}, std::invalid_argument);
}

}  // namespace
}  // namespace skein
