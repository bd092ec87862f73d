#include "skein/base/rare_text.hpp"

#include <gtest/gtest.h>

namespace skein {
namespace {

TEST(RareText, is_what_it_was_given) {
  RareText text;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text.text(), "");
  text = std::string("here");
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.text(), "here");
  text = std::string();
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(sizeof text, sizeof(void*));
}

}  // namespace
}  // namespace skein
