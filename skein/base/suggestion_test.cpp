#include "skein/base/suggestion.hpp"

#include <gtest/gtest.h>

namespace skein {
namespace {

TEST(Suggestion, names_the_word_that_is_nearest) {
  EXPECT_EQ(suggestion("intensty", {"strategy", "intensity"}), " (did you mean 'intensity'?)");
  EXPECT_EQ(suggestion("cmd", {"command", "cmx"}), " (did you mean 'cmx'?)");
}

TEST(Suggestion, lets_long_words_differ_more) {
  EXPECT_EQ(suggestion("disk_low_watr_byts_x", {"disk_low_water_bytes"}), " (did you mean 'disk_low_water_bytes'?)");
  EXPECT_EQ(suggestion("abcd", {"wxyz"}), " (known: wxyz)");
}

TEST(Suggestion, lists_what_is_known_when_nothing_is_near_but_not_for_ever) {
  EXPECT_EQ(suggestion("banana", {"kind", "command"}), " (known: kind, command)");
  const std::vector<std::string_view> many(13, "unlikely");
  EXPECT_TRUE(suggestion("banana", many).ends_with("unlikely, ...)"));
  EXPECT_EQ(suggestion("banana", {}), "");
  EXPECT_EQ(suggestion(std::string(10'000, 'x'), {"kind"}), " (known: kind)");
}

}  // namespace
}  // namespace skein
