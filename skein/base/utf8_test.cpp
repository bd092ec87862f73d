#include "skein/base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skein::inline v0 {
namespace {

TEST(Utf8, takes_what_rfc_3629_allows_and_nothing_else) {
  for (const char* good : {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xed\xbf\xbf", "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                          "\xf8\x88\x80\x80\x80", "\xff", "good then \xfe"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(Utf8, counts_the_bytes_of_the_first_character) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length("ab"), 1U);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"
                        "b"),
            3U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4U);
}

TEST(Utf8, shows_what_people_can_read_in_whole_characters) {
  EXPECT_EQ(shown_text("f\xc3\xbcr\nall\t1", 100), "f\xc3\xbcr\nall\t1");
  EXPECT_EQ(shown_text("\x1b[31mred\x07 \x7f\r", 100), "?[31mred? ??");
  EXPECT_EQ(shown_text("\xff\xc3z\xc2\x9b[", 100), "??z?[");
  // U+202E shows what follows from right to left, U+2066 begins a part of its own, U+2028 a line.
  EXPECT_EQ(shown_text("harmless\u202Etxt.exe\u2066\u2028\u061C", 100), "harmless?txt.exe???");
  EXPECT_EQ(shown_text("\u05D0\u200D\u20AC\U0001F600", 100), "\u05D0\u200D\u20AC\U0001F600");
  EXPECT_EQ(shown_text(std::string("a\0b", 3), 100), "a?b");
  EXPECT_EQ(shown_text("a\xc3\xa9\xc3\xa9", 4), "a\xc3\xa9");
  EXPECT_EQ(shown_text("a\xc3\xa9\xc3\xa9", 5), "a\xc3\xa9\xc3\xa9");
  EXPECT_EQ(shown_text("abc", 0), "");
}

}  // namespace
}  // namespace skein::inline v0
