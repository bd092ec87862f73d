#include "skein/base/time.hpp"

#include <gtest/gtest.h>

namespace skein {
namespace {

TEST(Time, later_adds) { EXPECT_EQ(later(Instant(Duration(5)), Duration(7)), Instant(Duration(12))); }

TEST(Time, later_stops_at_the_end_of_time_instead_of_overflowing) {
  EXPECT_EQ(later(Instant(Duration(5)), k_forever), Instant::max());
  EXPECT_EQ(later(Instant::max(), Duration(1)), Instant::max());
  EXPECT_EQ(later(Instant::max() - Duration(3), Duration(3)), Instant::max());
  EXPECT_EQ(later(Instant::max() - Duration(3), Duration(2)), Instant::max() - Duration(1));
}

TEST(Time, later_holds_at_the_beginning_of_time) {
  EXPECT_EQ(later(Instant::min(), Duration(1)), Instant::min() + Duration(1));
  EXPECT_EQ(later(Instant::min(), Duration(-1)), Instant::min());
}

TEST(Time, between_is_never_negative_and_never_overflows) {
  EXPECT_EQ(between(Instant(Duration(5)), Instant(Duration(12))), Duration(7));
  EXPECT_EQ(between(Instant(Duration(12)), Instant(Duration(5))), Duration::zero());
  EXPECT_EQ(between(Instant::min(), Instant::max()), k_forever);
  EXPECT_EQ(between(Instant::max(), Instant::min()), Duration::zero());
}

TEST(Time, later_with_a_negative_time_goes_back) {
  EXPECT_EQ(later(Instant(Duration(5)), Duration(-2)), Instant(Duration(3)));
}

}  // namespace
}  // namespace skein
