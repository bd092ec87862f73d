#include "skein/base/wall_text.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

TEST(WallText, writes_times_as_rfc_3339_in_utc) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(1'794'975'600'125), "2026-11-18T04:20:00.125Z");
  EXPECT_EQ(time_text(UINT64_MAX), "after the year 9999");
}

TEST(WallText, writes_durations_in_two_units_at_most) {
  EXPECT_EQ(duration_text(0), "0 ms");
  EXPECT_EQ(duration_text(999), "999 ms");
  EXPECT_EQ(duration_text(3'200), "3.2 s");
  EXPECT_EQ(duration_text(125'000), "2 min 5 s");
  EXPECT_EQ(duration_text(7'500'000), "2 h 5 min");
  EXPECT_EQ(duration_text(273'600'000), "3 d 4 h");
}

}  // namespace
}  // namespace skein::inline v0
