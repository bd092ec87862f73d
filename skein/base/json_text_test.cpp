#include "skein/base/json_text.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace skein {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs members_of(std::string_view text) {
  Pairs pairs;
  JsonMembers members(text);
  while (const auto member = members.next()) pairs.emplace_back(member->name, member->value);
  return pairs;
}

TEST(JsonText, knows_what_is_one_json_value) {
  for (const char* text : {"1", " null ", "\"a\"", "[]", "{\"a\":[{}]}", "1.5e3", "\"\\ud83d\\ude00\""}) {
    EXPECT_FALSE(check_json_text(text, 8)) << text;
  }
  for (const char* text :
       {"", " ", "1 2", "{", "[1,]", "{\"a\"}", "nul", "'a'", "\"\xC3\"", "\"\n\"", "01", "// a\n1"}) {
    EXPECT_TRUE(check_json_text(text, 8)) << text;
  }
}

TEST(JsonText, holds_the_limit_on_depth) {
  EXPECT_FALSE(check_json_text("[[[1]]]", 3));
  EXPECT_TRUE(check_json_text("[[[1]]]", 2));
  const std::string deep = std::string(1'000'000, '[');
  EXPECT_TRUE(check_json_text(deep, 32));
}

TEST(JsonText, walks_the_members_of_an_object_and_leaves_values_as_they_are) {
  EXPECT_EQ(members_of(R"( {"a" : 1.50 ,"b":{"a":[1,"]}"]}, "c\"":"x,\"y" } )"),
            (Pairs{{"a", "1.50"}, {"b", R"({"a":[1,"]}"]})"}, {"c\\\"", R"("x,\"y")"}}));
  EXPECT_EQ(members_of("{}"), Pairs{});
  EXPECT_EQ(members_of("[1]"), Pairs{});
  EXPECT_EQ(members_of("\"a\""), Pairs{});
}

TEST(JsonText, what_is_quoted_is_json_and_reads_back) {
  for (const std::string text : {"", "a", "\"\\\n\t\x01\x1f", "grün", "😀"}) {
    const std::string quoted = quoted_json(text);
    EXPECT_FALSE(check_json_text(quoted, 1)) << quoted;
    EXPECT_EQ(unquoted_json(quoted), text);
  }
  for (const std::string text : {"\xFF", "a\xC3", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xC0\x80"}) {
    EXPECT_FALSE(check_json_text(quoted_json(text), 1)) << quoted_json(text);
  }
  EXPECT_FALSE(unquoted_json("1"));
  EXPECT_FALSE(unquoted_json(""));
}

TEST(JsonText, one_line_is_the_same_value) { EXPECT_EQ(on_one_line("{\n\"a\":\r\n\"b\\n\"}"), "{ \"a\":  \"b\\n\"}"); }

}  // namespace
}  // namespace skein
