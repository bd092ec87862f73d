#include "skein/base/time_text.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

using namespace std::chrono_literals;

TEST(TimeText, reads_spans_with_their_units) {
  EXPECT_EQ(parse_time("250ms"), Duration(250ms));
  EXPECT_EQ(parse_time("5s"), Duration(5s));
  EXPECT_EQ(parse_time("2min"), Duration(2min));
  EXPECT_EQ(parse_time("2h"), Duration(2h));
  EXPECT_EQ(parse_time("30d"), Duration(30 * 24h));
  EXPECT_EQ(parse_time("0s"), Duration(0s));
  for (const char* wrong : {"", "5", "5 s", "-5s", "5m", "5sec", "s", "1.5s", "99999999999s", "1h30min"}) {
    EXPECT_FALSE(parse_time(wrong)) << wrong;
  }
}

TEST(TimeText, writes_spans_with_the_largest_unit_that_leaves_a_whole_number) {
  EXPECT_EQ(time_text(0s), "0s");
  EXPECT_EQ(time_text(1500ms), "1500ms");
  EXPECT_EQ(time_text(90s), "90s");
  EXPECT_EQ(time_text(120s), "2min");
  EXPECT_EQ(time_text(48h), "48h");
}

TEST(TimeText, writes_moments_as_rfc_3339) {
  EXPECT_EQ(moment_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(moment_text(1'709'210'096'007), "2024-02-29T12:34:56.007Z");
  EXPECT_EQ(moment_text(UINT64_MAX).substr(0, 11), "9999-12-31T");
}

TEST(TimeText, reads_back_the_moments_that_it_writes) {
  for (const std::uint64_t at : {0ULL, 1ULL, 951'782'399'999ULL, 951'782'400'000ULL, 1'709'210'096'007ULL}) {
    EXPECT_EQ(parse_moment(moment_text(at)), at);
  }
}

TEST(TimeText, reads_moments_with_offsets_and_fractions) {
  EXPECT_EQ(parse_moment("1970-01-01T01:00:00+01:00"), 0U);
  EXPECT_EQ(parse_moment("1969-12-31T23:30:00.5-00:30"), 500U);
  EXPECT_EQ(parse_moment("1970-01-01t00:00:01.123456789z"), 1123U);
  EXPECT_EQ(parse_moment("2016-12-31T23:59:60Z"), parse_moment("2017-01-01T00:00:00Z"));
  for (const char* wrong : {"", "2024-02-30T00:00:00Z", "2024-01-01", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00",
                            "2024-01-01T00:00:00.Z", "2024-1-1T00:00:00Z", "1969-12-31T23:59:59Z",
                            "2024-01-01T00:00:00+1:00", "2024-01-01T00:00:00Zx", "+024-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_moment(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace skein::inline v0
