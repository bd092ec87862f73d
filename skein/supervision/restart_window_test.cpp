#include "skein/supervision/restart_window.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "skein/base/random.hpp"

namespace skein::inline v0 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

Instant at(Duration time) { return Instant(time); }

TEST(RestartWindow, allows_as_many_as_the_intensity_within_the_period) {
  RestartWindow window(2, 5s);
  EXPECT_TRUE(window.allow(at(0s)));
  EXPECT_TRUE(window.allow(at(1s)));
  EXPECT_FALSE(window.allow(at(2s)));
  EXPECT_EQ(window.used(at(2s)), 2U);
}

TEST(RestartWindow, one_exactly_a_period_old_still_counts) {
  RestartWindow window(1, 5s);
  EXPECT_TRUE(window.allow(at(0s)));
  EXPECT_FALSE(window.allow(at(5s)));
  EXPECT_TRUE(window.allow(at(5s + Duration(1))));
}

TEST(RestartWindow, intensity_zero_allows_none) {
  RestartWindow window(0, 5s);
  EXPECT_FALSE(window.allow(at(0s)));
}

TEST(RestartWindow, change_keeps_what_was_counted) {
  RestartWindow window(3, 5s);
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(window.allow(at(1s)));
  window.change(2, 5s);
  EXPECT_FALSE(window.allow(at(2s)));
  window.change(4, 5s);
  EXPECT_TRUE(window.allow(at(2s)));
  window.change(4, 100ms);
  EXPECT_EQ(window.used(at(2s)), 1U);
}

TEST(RestartWindow, agrees_with_counting_by_hand) {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    const auto intensity = static_cast<std::uint32_t>(random.below(6));
    const Duration period = 1ms * static_cast<std::int64_t>(1 + random.below(50));
    RestartWindow window(intensity, period);
    std::vector<Instant> counted;
    Instant now{};
    for (int n = 0; n < 200; ++n) {
      now += 1ms * static_cast<std::int64_t>(random.below(20));
      const auto within = std::ranges::count_if(counted, [&](Instant each) { return now - each <= period; });
      const bool expected = within < static_cast<std::int64_t>(intensity);
      ASSERT_EQ(window.allow(now), expected);
      if (expected) counted.push_back(now);
    }
  }
}

}  // namespace
}  // namespace skein::inline v0
