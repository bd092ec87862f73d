#include "skein/base/duration_text.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

TEST(DurationText, is_in_two_units_at_most) {
  EXPECT_EQ(duration_text(0), "0 ms");
  EXPECT_EQ(duration_text(999), "999 ms");
  EXPECT_EQ(duration_text(3'200), "3.2 s");
  EXPECT_EQ(duration_text(125'000), "2 min 5 s");
  EXPECT_EQ(duration_text(7'500'000), "2 h 5 min");
  EXPECT_EQ(duration_text(273'600'000), "3 d 4 h");
}

}  // namespace
}  // namespace skein::inline v0
