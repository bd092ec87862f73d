#include "skein/operations/json_same.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace skein::inline v0::operations {
namespace {

TEST(JsonSame, sees_past_spaces_order_and_how_numbers_are_written) {
  const std::pair<const char*, const char*> same[] = {
      {R"({"a":1,"b":[2,{"c":null}]})", R"( { "b" : [ 2, {"c":null} ], "a" : 1.0 } )"},
      {"1", "1e0"},
      {"0.5", "5e-1"},
      {"-0", "0"},
      {"", "null"},
      {R"("\u0061")", R"("a")"},
      {"12345678901234567890123", "12345678901234567890123"},
      {"no JSON", "no JSON"},
  };
  for (const auto& [left, right] : same) {
    EXPECT_TRUE(is_same_json(left, right)) << left << " " << right;
    EXPECT_TRUE(is_same_json(right, left)) << right << " " << left;
  }
}

TEST(JsonSame, tells_values_apart) {
  const std::pair<const char*, const char*> apart[] = {
      {"1", "2"},
      {"1", "\"1\""},
      {"1", "true"},
      {"null", "0"},
      {"[1,2]", "[2,1]"},
      {"[1]", "[1,1]"},
      {R"({"a":1})", R"({"a":1,"b":1})"},
      {R"({"a":null})", "{}"},
      {"12345678901234567890123", "12345678901234567890124"},
      {"9007199254740993", "9007199254740992.0"},
      {"{", "{}"},
  };
  for (const auto& [left, right] : apart) {
    EXPECT_FALSE(is_same_json(left, right)) << left << " " << right;
    EXPECT_FALSE(is_same_json(right, left)) << right << " " << left;
  }
}

}  // namespace
}  // namespace skein::inline v0::operations
