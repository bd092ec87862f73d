#include "skein/resilience/retry_policy.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RetryPolicy, doubles_from_100_ms_to_5_s_and_gives_up_after_four_attempts) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.base_delay(1, RetryClass::transient), milliseconds(100));
  EXPECT_EQ(policy.base_delay(2, RetryClass::transient), milliseconds(200));
  EXPECT_EQ(policy.base_delay(3, RetryClass::transient), milliseconds(400));
  EXPECT_EQ(policy.base_delay(4, RetryClass::transient), std::nullopt);
}

TEST(RetryPolicy, never_waits_longer_than_the_longest_delay) {
  RetryOptions options;
  options.attempts = UINT32_MAX;
  const RetryPolicy policy(options);
  EXPECT_EQ(policy.base_delay(7, RetryClass::transient), seconds(5));
  EXPECT_EQ(policy.base_delay(4'000'000'000U, RetryClass::transient), seconds(5));
}

TEST(RetryPolicy, grows_as_told) {
  RetryOptions options;
  options.growth = Growth::linear;
  EXPECT_EQ(RetryPolicy(options).base_delay(3, RetryClass::transient), milliseconds(300));
  options.growth = Growth::fixed;
  EXPECT_EQ(RetryPolicy(options).base_delay(3, RetryClass::transient), milliseconds(100));
  options.growth = Growth::none;
  EXPECT_EQ(RetryPolicy(options).base_delay(3, RetryClass::transient), Duration::zero());
}

TEST(RetryPolicy, jitter_stays_within_its_share_and_varies) {
  const RetryPolicy policy;
  Random random(1);
  Duration least = Duration::max();
  Duration most = Duration::zero();
  for (int i = 0; i < 1000; ++i) {
    const Duration delay = *policy.next(1, RetryClass::transient, random);
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, milliseconds(90));
  EXPECT_LE(most, milliseconds(110));
  EXPECT_LT(least, milliseconds(92));
  EXPECT_GT(most, milliseconds(108));
}

TEST(RetryPolicy, the_same_seed_gives_the_same_delays) {
  const RetryPolicy policy;
  Random first(7);
  Random second(7);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(policy.next(1, RetryClass::transient, first), policy.next(1, RetryClass::transient, second));
  }
}

TEST(RetryPolicy, does_not_retry_permanent_errors) {
  const RetryPolicy policy;
  Random random(1);
  EXPECT_EQ(policy.next(1, RetryClass::permanent, random), std::nullopt);
}

TEST(RetryPolicy, waits_as_long_as_the_other_side_asked) {
  const RetryPolicy policy;
  Random random(1);
  EXPECT_EQ(policy.next(1, RetryClass::rate_limited, random, seconds(60)), seconds(60));
  EXPECT_GE(*policy.next(1, RetryClass::rate_limited, random, milliseconds(-5)), milliseconds(90));
}

TEST(RetryPolicy, jitter_never_exceeds_the_longest_delay) {
  for (const Duration longest : {Duration(seconds(5)), Duration::max()}) {
    RetryOptions options;
    options.attempts = 1'000;
    options.longest = longest;
    options.jitter = 1.0;
    const RetryPolicy policy(options);
    Random random(3);
    for (int i = 0; i < 1'000; ++i) {
      const Duration delay = *policy.next(900, RetryClass::transient, random);
      ASSERT_GE(delay, Duration::zero());
      ASSERT_LE(delay, longest);
    }
  }
}

TEST(RetryPolicy, no_first_delay_stays_none_however_often_it_doubles) {
  RetryOptions options;
  options.attempts = UINT32_MAX;
  options.first = Duration::zero();
  EXPECT_EQ(RetryPolicy(options).base_delay(2'000'000, RetryClass::transient), Duration::zero());
}

TEST(RetryPolicy, heeds_a_retry_after_up_to_its_limit) {
  const RetryPolicy policy;
  Random random(1);
  EXPECT_EQ(policy.next(1, RetryClass::rate_limited, random, std::chrono::hours(48)), k_retry_after_max);
  EXPECT_EQ(policy.next(1, RetryClass::rate_limited, random, k_forever), k_retry_after_max);
  EXPECT_EQ(honoured(std::nullopt), Duration::zero());
  EXPECT_EQ(honoured(seconds(-1)), Duration::zero());
}

TEST(RetryPolicy, a_class_may_have_its_own_policy) {
  RetryPolicy policy;
  RetryOptions patient;
  patient.attempts = 10;
  patient.first = seconds(1);
  patient.longest = seconds(60);
  policy.set(RetryClass::resource, patient);
  EXPECT_EQ(policy.base_delay(5, RetryClass::resource), seconds(16));
  EXPECT_EQ(policy.base_delay(5, RetryClass::transient), std::nullopt);
}

TEST(RetryPolicy, refuses_options_that_make_no_sense) {
  for (auto change : std::initializer_list<void (*)(RetryOptions&)>{
           [](RetryOptions& o) { o.attempts = 0; }, [](RetryOptions& o) { o.first = seconds(-1); },
           [](RetryOptions& o) { o.longest = Duration::zero(); }, [](RetryOptions& o) { o.factor = 0.5; },
           [](RetryOptions& o) { o.factor = std::numeric_limits<double>::infinity(); },
           [](RetryOptions& o) { o.jitter = 2; }}) {
    RetryOptions options;
    change(options);
    EXPECT_THROW(RetryPolicy{options}, std::invalid_argument);
  }
}

}  // namespace
}  // namespace skein
