#include "skein/resilience/adaptive_timeout.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(AdaptiveTimeout, is_the_longest_until_enough_is_known) {
  AdaptiveTimeout timeout;
  for (int i = 0; i < 15; ++i) timeout.observe(milliseconds(10));
  EXPECT_EQ(timeout.timeout(), seconds(30));
  timeout.observe(milliseconds(10));
  EXPECT_EQ(timeout.timeout(), seconds(1));
}

TEST(AdaptiveTimeout, is_twice_the_95th_percentile_within_bounds) {
  AdaptiveTimeout timeout;
  for (int i = 1; i <= 100; ++i) timeout.observe(milliseconds(i * 40));
  EXPECT_EQ(timeout.p95(), milliseconds(3800));
  EXPECT_EQ(timeout.timeout(), milliseconds(7600));
  for (int i = 0; i < 256; ++i) timeout.observe(seconds(100));
  EXPECT_EQ(timeout.timeout(), seconds(30));
}

TEST(AdaptiveTimeout, forgets_what_left_its_window) {
  AdaptiveTimeout timeout;
  for (int i = 0; i < 256; ++i) timeout.observe(seconds(10));
  for (int i = 0; i < 256; ++i) timeout.observe(milliseconds(1));
  EXPECT_EQ(timeout.timeout(), seconds(1));
}

TEST(AdaptiveTimeout, takes_a_negative_latency_as_none) {
  AdaptiveTimeout timeout;
  for (int i = 0; i < 20; ++i) timeout.observe(seconds(-5));
  EXPECT_EQ(timeout.p95(), Duration::zero());
  EXPECT_EQ(timeout.timeout(), seconds(1));
}

TEST(AdaptiveTimeout, refuses_options_that_make_no_sense) {
  for (auto change : std::initializer_list<void (*)(AdaptiveTimeoutOptions&)>{
           [](AdaptiveTimeoutOptions& o) { o.shortest = Duration::zero(); },
           [](AdaptiveTimeoutOptions& o) { o.longest = milliseconds(10); },
           [](AdaptiveTimeoutOptions& o) { o.factor = std::numeric_limits<double>::quiet_NaN(); },
           [](AdaptiveTimeoutOptions& o) { o.factor = -2; }, [](AdaptiveTimeoutOptions& o) { o.window = 0; },
           [](AdaptiveTimeoutOptions& o) { o.minimum = 0; }, [](AdaptiveTimeoutOptions& o) { o.minimum = 257; }}) {
    AdaptiveTimeoutOptions options;
    change(options);
    EXPECT_THROW(AdaptiveTimeout{options}, std::invalid_argument);
  }
}

}  // namespace
}  // namespace skein
