#include "skein/base/version.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace {

TEST(Version, is_three_numbers_with_dots) {
  const std::string_view version = skein::version();
  EXPECT_EQ(std::ranges::count(version, '.'), 2) << version;
  const bool only_digits_and_dots =
      std::ranges::all_of(version, [](unsigned char c) { return c == '.' || std::isdigit(c) != 0; });
  EXPECT_TRUE(only_digits_and_dots) << version;
  EXPECT_NE(version.front(), '.');
  EXPECT_NE(version.back(), '.');
}

}  // namespace
