#include "skein/mcp/tool_arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace skein::inline v0::mcp {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;

json::object object(const char* text) { return json::parse(text).as_object(); }

const json::object k_schema = object(R"({"type":"object","properties":{
  "type":{"type":"string"},"params":{"type":["object","array","string","number","boolean","null"]},
  "any":{"description":"anything"},"priority":{"enum":["low","high"]},"attempts":{"type":"integer"}},
  "required":["type"],"additionalProperties":false})");

TEST(ToolArgumentsTest, takes_null_for_an_optional_member_as_if_it_were_absent) {
  json::object arguments = object(R"({"type":"echo","priority":null,"attempts":null,"params":null,"any":null})");
  EXPECT_THAT(tidy_arguments(k_schema, arguments), IsEmpty());
  EXPECT_EQ(arguments, object(R"({"type":"echo","params":null,"any":null})")) << "null is a value where it may be one";
}

TEST(ToolArgumentsTest, leaves_null_for_a_required_member_to_the_schema) {
  json::object arguments = object(R"({"type":null})");
  EXPECT_THAT(tidy_arguments(k_schema, arguments), IsEmpty());
  EXPECT_TRUE(arguments.contains("type"));
}

TEST(ToolArgumentsTest, passes_over_what_it_does_not_know_and_names_it) {
  json::object arguments = object(R"({"typ":"echo","wait_for_previous":true,"atempts":2,"type":"x"})");
  EXPECT_THAT(tidy_arguments(k_schema, arguments),
              ElementsAre("typ (did you mean 'type'?)", "wait_for_previous", "atempts (did you mean 'attempts'?)"));
  EXPECT_EQ(arguments, object(R"({"type":"x"})"));
}

TEST(ToolArgumentsTest, leaves_an_open_schema_alone) {
  const json::object open = object(R"({"type":"object","properties":{"a":{"type":"string"}}})");
  json::object arguments = object(R"({"a":"x","b":null})");
  EXPECT_THAT(tidy_arguments(open, arguments), IsEmpty());
  EXPECT_EQ(arguments.size(), 2U);
}

TEST(ToolArgumentsTest, bounds_what_it_names) {
  json::object arguments;
  for (int i = 0; i < 1000; ++i) arguments[std::to_string(i) + std::string(1000, 'x')] = i;
  const auto ignored = tidy_arguments(k_schema, arguments);
  EXPECT_EQ(ignored.size(), 20U);
  for (const std::string& each : ignored) EXPECT_LE(each.size(), 64U);
}

TEST(ToolArgumentsTest, tells_in_structured_content_and_its_text_alike) {
  json::object result = object(R"({"content":[{"type":"text","text":"{\"id\":1}"},{"type":"resource_link"}],
                                   "structuredContent":{"id":1}})");
  tell_ignored({"a"}, result);
  EXPECT_EQ(result.at("structuredContent"), object(R"({"id":1,"ignored":["a"]})"));
  EXPECT_EQ(result.at("content").at(0).at("text"), R"({"id":1,"ignored":["a"]})");
  EXPECT_EQ(result.at("content").as_array().size(), 2U);
  json::object error = object(R"({"content":[{"type":"text","text":"it lacks 'type'"}],"isError":true})");
  tell_ignored({"typ (did you mean 'type'?)"}, error);
  EXPECT_EQ(error.at("content").at(0).at("text"),
            "it lacks 'type'; ignored, since the tool does not have them: typ (did you mean 'type'?)");
}

}  // namespace
}  // namespace skein::inline v0::mcp
