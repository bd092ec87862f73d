#include "skein/operations/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <stdexcept>

namespace skein::inline v0::operations {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const std::vector<Param> k_params{
    Param::text("type", "What").required(),
    Param::count("attempts", 1, 100, "How many").or_else(4),
    Param::milliseconds("timeout_ms", "How long"),
    Param::duration("idle_shrink", 0, 10'000, "How long").once_called("idle_after_ms").or_else("5s"),
    Param::time("from", "Since when"),
    Param::flag("follow", "Go on"),
    Param::word("role", {"worker", "boss"}, "Which"),
    Param::texts("capabilities", "Which").filled(),
    Param::text("key", "Which").filled(),
    Param::task_id("task", "Which"),
    Param::task_ids("dependencies", "Which"),
    Param::fields("fields", "Which"),
};

// What is wrong, or nothing.
std::string wrong(const std::string& text) {
  const json::object given = json::parse(text).as_object();
  const auto read = read_arguments(k_params, given);
  return read ? "" : read.error().describe();
}

TEST(Arguments, read_what_is_given) {
  const json::object given = json::parse(R"({"type":"echo","attempts":2e0,"timeout_ms":1500,"idle_shrink":"2s",
    "from":"1970-01-01T00:00:01Z","follow":true,"role":"boss","capabilities":["a","b"],
    "task":"0197f0c2-0000-7000-8000-000000000000","dependencies":["0197f0c2-0000-7000-8000-000000000001"],
    "fields":{"x":"y"}})")
                                 .as_object();
  const auto in = read_arguments(k_params, given);
  ASSERT_TRUE(in) << in.error().describe();
  EXPECT_EQ(in->text("type"), "echo");
  EXPECT_EQ(in->count("attempts"), 2U);
  EXPECT_EQ(in->milliseconds("timeout_ms"), 1500ms);
  EXPECT_EQ(in->milliseconds("idle_shrink"), 2s);
  EXPECT_EQ(in->count("from"), 1000U);
  EXPECT_TRUE(in->flag("follow"));
  EXPECT_EQ(in->text("role"), "boss");
  EXPECT_EQ(in->texts("capabilities"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(in->task_id("task").text(), "0197f0c2-0000-7000-8000-000000000000");
  EXPECT_EQ(in->task_ids("dependencies").size(), 1U);
  EXPECT_EQ(in->fields("fields").at("x"), "y");
}

TEST(Arguments, have_defaults_where_nothing_is_given_or_null) {
  const json::object given = json::parse(R"({"type":"echo","attempts":null,"role":"","task":""})").as_object();
  const auto in = read_arguments(k_params, given);
  ASSERT_TRUE(in) << in.error().describe();
  EXPECT_EQ(in->count("attempts"), 4U);
  EXPECT_EQ(in->milliseconds("idle_shrink"), 5s);
  EXPECT_FALSE(in->has("attempts"));
  EXPECT_EQ(in->text("role"), "");
  EXPECT_TRUE(in->task_id("task").none());
  EXPECT_TRUE(in->texts("capabilities").empty());
}

TEST(Arguments, are_read_under_older_names) {
  const json::object given = json::parse(R"({"type":"echo","idle_after_ms":700})").as_object();
  const auto in = read_arguments(k_params, given);
  ASSERT_TRUE(in) << in.error().describe();
  EXPECT_EQ(in->milliseconds("idle_shrink"), 700ms);
  EXPECT_THAT(wrong(R"({"type":"echo","idle_after_ms":700,"idle_shrink":"1s"})"), HasSubstr("given twice"));
}

TEST(Arguments, that_are_wrong_are_named_with_what_they_should_be) {
  EXPECT_THAT(wrong("{}"), HasSubstr("type is missing"));
  EXPECT_THAT(wrong(R"({"type":""})"), HasSubstr("type is missing"));
  EXPECT_THAT(wrong(R"({"type":7})"), HasSubstr("type must be a string, not 7"));
  EXPECT_THAT(wrong(R"({"type":"x","attempts":101})"),
              HasSubstr("attempts must be a whole number from 1 to 100, not 101"));
  EXPECT_THAT(wrong(R"({"type":"x","attempts":-1})"), HasSubstr("attempts must be a whole number from 1 to 100"));
  EXPECT_THAT(wrong(R"({"type":"x","attempts":1.5})"), HasSubstr("attempts must be"));
  EXPECT_THAT(wrong(R"({"type":"x","attempts":"many"})"), HasSubstr("not 'many'"));
  EXPECT_THAT(wrong(R"({"type":"x","idle_shrink":"11s"})"), HasSubstr("idle_shrink must be a time such as"));
  EXPECT_THAT(wrong(R"({"type":"x","role":"king"})"), HasSubstr("role must be worker or boss, not 'king'"));
  EXPECT_THAT(wrong(R"({"type":"x","follow":1})"), HasSubstr("follow must be true or false"));
  EXPECT_THAT(wrong(R"({"type":"x","capabilities":[1]})"), HasSubstr("capabilities must be an array of strings"));
  EXPECT_THAT(wrong(R"({"type":"x","task":"nope"})"), HasSubstr("'nope' is not a task id: ids look like"));
  EXPECT_THAT(wrong(R"({"type":"x","dependencies":["nope"]})"),
              HasSubstr("dependencies must be an array of task ids, and 'nope' is not a task id"));
  EXPECT_THAT(wrong(R"({"type":"x","fields":{"a":1}})"), HasSubstr("fields must be an object of strings"));
  EXPECT_THAT(wrong(R"({"type":"x","from":"yesterday"})"), HasSubstr("RFC 3339"));
}

TEST(Arguments, that_must_be_filled_are_not_taken_empty) {
  EXPECT_THAT(wrong(R"({"type":"echo","key":""})"), HasSubstr("key must not be empty: give a value, or leave it out"));
  EXPECT_THAT(wrong(R"({"type":"echo","capabilities":["a",""]})"), HasSubstr("capabilities must not be empty"));
  EXPECT_EQ(wrong(R"({"type":"echo","capabilities":[],"key":null})"), "");
}

TEST(Arguments, that_nobody_knows_are_refused_with_what_was_probably_meant) {
  EXPECT_THAT(wrong(R"({"type":"x","atempts":2})"),
              HasSubstr("unknown member 'atempts': did you mean 'attempts'?; known here: type, attempts"));
  EXPECT_THAT(wrong(R"({"type":"x","something_else_altogether":2})"), HasSubstr("altogether': known here: type"));
}

TEST(Arguments, that_no_handler_declares_are_a_mistake_of_its_own) {
  const json::object given{{"type", "x"}};
  const auto in = read_arguments(k_params, given);
  ASSERT_TRUE(in);
  EXPECT_THROW((void)in->text("colour"), std::logic_error);
}

}  // namespace
}  // namespace skein::inline v0::operations
