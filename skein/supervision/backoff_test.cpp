#include "skein/supervision/backoff.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(Backoff, grows_as_its_kind_says_up_to_the_maximum) {
  Random random(1);
  Backoff exponential = Backoff::exponential();
  exponential.jitter = 0;
  EXPECT_EQ(exponential.delay(1, random), 100ms);
  EXPECT_EQ(exponential.delay(2, random), 200ms);
  EXPECT_EQ(exponential.delay(5, random), 1600ms);
  EXPECT_EQ(exponential.delay(100'000, random), 30s);
  Backoff linear = Backoff::linear();
  linear.jitter = 0;
  EXPECT_EQ(linear.delay(3, random), 300ms);
  EXPECT_EQ(linear.delay(4'000'000'000U, random), 30s);
  Backoff fixed = Backoff::fixed(2s);
  fixed.jitter = 0;
  EXPECT_EQ(fixed.delay(9, random), 2s);
  EXPECT_EQ(Backoff::none().delay(9, random), Duration::zero());
}

TEST(Backoff, jitter_stays_within_its_part_and_varies) {
  Random random(2);
  const Backoff backoff = Backoff::fixed(1s);
  Duration least = 10s;
  Duration most{};
  for (int n = 0; n < 1000; ++n) {
    const Duration delay = backoff.delay(1, random);
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, 900ms);
  EXPECT_LE(most, 1100ms);
  EXPECT_LT(least, 920ms);
  EXPECT_GT(most, 1080ms);
}

TEST(Backoff, names_what_is_wrong) {
  EXPECT_EQ(Backoff::fixed(0s).fault(), "backoff.initial must be more than 0");
  EXPECT_EQ(Backoff::exponential(2s, 1s).fault(), "backoff.max must not be less than backoff.initial");
  Backoff shaky = Backoff::exponential();
  shaky.jitter = 1.5;
  EXPECT_EQ(shaky.fault(), "backoff.jitter must be between 0 and 1");
  Backoff shrinking = Backoff::exponential();
  shrinking.factor = 0.5;
  EXPECT_EQ(shrinking.fault(), "backoff.factor must be at least 1");
  EXPECT_FALSE(Backoff::exponential().fault());
}

}  // namespace
}  // namespace skein::inline v0
