#include "skein/operations/json_check.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "skein/operations/task_ids.hpp"

namespace skein::inline v0::operations {
namespace {

TEST(JsonCheck, accepts_one_value_of_any_kind) {
  for (const char* text : {"{}", "[]", "null", "true", "-1.5e3", "\"a\\u00e9\"", R"( {"a":[1,{"b":null}]} )"}) {
    EXPECT_FALSE(check_json(text, 8)) << text;
  }
}

TEST(JsonCheck, refuses_everything_else_and_says_where) {
  for (const char* text :
       {"", " ", "{", "{a:1}", "[1,]", "01", "nul", "\"\xff\"", "{}x", "// no\n1", "NaN", "\"a\nb\""}) {
    const auto error = check_json(text, 8);
    ASSERT_TRUE(error) << text;
    EXPECT_EQ(error->code, Code::invalid_json);
    EXPECT_NE(error->message.find("at byte"), std::string::npos);
  }
}

TEST(JsonCheck, refuses_what_is_nested_too_deep_however_deep) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_FALSE(check_json(nested(8), 8));
  EXPECT_TRUE(check_json(nested(9), 8));
  EXPECT_TRUE(check_json(std::string(1'000'000, '['), 8));
}

TEST(TaskIds, are_version_7_and_all_different) {
  TaskIds ids(42);
  std::set<ledger::TaskId> seen;
  for (int i = 0; i < 10'000; ++i) {
    const auto id = ids.next(0x0123'4567'89AB);
    EXPECT_EQ(id.high >> 16U, 0x0123'4567'89ABU);
    EXPECT_EQ((id.high >> 12U) & 0xFU, 7U);
    EXPECT_EQ(id.low >> 62U, 2U);
    EXPECT_TRUE(seen.insert(id).second);
  }
}

}  // namespace
}  // namespace skein::inline v0::operations
