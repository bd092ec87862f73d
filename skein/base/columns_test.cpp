#include "skein/base/columns.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

TEST(Columns, counts_what_a_terminal_shows) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("plain"), 5U);
  EXPECT_EQ(columns_of("\033[31mred\033[0m"), 3U);
  EXPECT_EQ(columns_of("größe"), 5U);
  EXPECT_EQ(columns_of("日本"), 4U);
  EXPECT_EQ(columns_of("🚀 up"), 5U);
  EXPECT_EQ(columns_of("e\u0301"), 1U) << "a combining mark";
  EXPECT_EQ(columns_of("👍🏽"), 2U) << "a skin tone belongs to the hand";
  EXPECT_EQ(columns_of("\xff"), 1U) << "what is no UTF-8 is one byte, one column";
}

TEST(Columns, cuts_whole_characters_and_ends_colours) {
  EXPECT_EQ(cut_to("plain", 5), "plain");
  EXPECT_EQ(cut_to("plain", 4), "pla…");
  EXPECT_EQ(cut_to("日本語", 4), "日…");
  EXPECT_EQ(cut_to("\033[31mlong red\033[0m", 5), "\033[31mlong…\033[0m");
  EXPECT_EQ(cut_to("x", 0), "");
}

}  // namespace
}  // namespace skein::inline v0
