#include "skein/mcp/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

namespace skein::inline v0::mcp {
namespace {

using testing::HasSubstr;

Schema schema(std::string_view text) {
  auto made = Schema::compile(json::parse(text));
  EXPECT_TRUE(made) << text << ": " << (made ? "" : made.error());
  return made ? std::move(*made) : Schema::compile(true).value();
}

// The values a schema takes and those it refuses.
struct Case {
  const char* schema;
  std::vector<const char*> good;
  std::vector<const char*> bad;
};

TEST(SchemaTest, takes_what_each_keyword_allows_and_refuses_the_rest) {
  const std::vector<Case> cases{
      {"true", {"1", "null"}, {}},
      {"false", {}, {"1", "null"}},
      {R"({"type":"integer"})", {"1", "1.0", "-3", "18446744073709551615"}, {"1.5", "\"1\"", "true"}},
      {R"({"type":"number"})", {"1", "1.5"}, {"\"1\"", "null"}},
      {R"({"type":["string","null"]})", {"\"a\"", "null"}, {"1", "[]"}},
      {R"({"enum":[1,"a",{"b":[1]}]})", {"1.0", "\"a\"", R"({"b":[1.0]})"}, {"2", R"({"b":[2]})", "null"}},
      {R"({"const":{"a":1,"b":2}})", {R"({"b":2,"a":1})"}, {R"({"a":1})", "1"}},
      {R"({"properties":{"a":{"type":"string"}},"required":["a"]})", {R"({"a":"x","b":1})", "1"}, {"{}", R"({"a":1})"}},
      {R"({"properties":{"a":true},"additionalProperties":false})", {R"({"a":1})", "{}"}, {R"({"b":1})"}},
      {R"({"additionalProperties":{"type":"integer"}})", {R"({"b":1})"}, {R"({"b":"1"})"}},
      {R"({"propertyNames":{"maxLength":2}})", {R"({"ab":1})"}, {R"({"abc":1})"}},
      {R"({"minProperties":1,"maxProperties":2})", {R"({"a":1})"}, {"{}", R"({"a":1,"b":2,"c":3})"}},
      {R"({"dependentRequired":{"a":["b"]}})", {R"({"a":1,"b":2})", R"({"c":1})"}, {R"({"a":1})"}},
      {R"({"items":{"type":"integer"}})", {"[]", "[1,2]"}, {"[1,\"2\"]"}},
      {R"({"prefixItems":[{"type":"string"}],"items":false})", {"[]", "[\"a\"]"}, {"[1]", "[\"a\",1]"}},
      {R"({"minItems":1,"maxItems":2})", {"[1]", "[1,2]"}, {"[]", "[1,2,3]"}},
      {R"({"uniqueItems":true})", {"[1,2,\"1\"]", "[]"}, {"[1,2,1.0]", R"([{"a":1,"b":2},{"b":2,"a":1}])"}},
      {R"({"minLength":2,"maxLength":3})", {"\"ab\"", "\"\u00e4\u00f6\u00fc\""}, {"\"a\"", "\"abcd\""}},
      {R"({"minimum":1,"maximum":3})", {"1", "3", "\"x\""}, {"0", "3.1"}},
      {R"({"exclusiveMinimum":1,"exclusiveMaximum":3})", {"2", "1.1"}, {"1", "3"}},
      {R"({"multipleOf":0.5})", {"1", "1.5", "0"}, {"0.3"}},
      {R"({"allOf":[{"minimum":1},{"maximum":3}]})", {"2"}, {"0", "4"}},
      {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", {"\"a\"", "3"}, {"2"}},
      {R"({"oneOf":[{"multipleOf":2},{"multipleOf":3}]})", {"2", "3"}, {"6", "5"}},
      {R"({"not":{"type":"string"}})", {"1"}, {"\"a\""}},
      {R"({"if":{"type":"string"},"then":{"minLength":1},"else":{"type":"null"}})", {"\"a\"", "null"}, {"\"\"", "1"}},
      {R"({"$defs":{"a/b":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/a~1b"}}})",
       {R"({"x":1})"},
       {R"({"x":"1"})"}},
      {R"({"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false})",
       {R"({"next":{"next":{}}})"},
       {R"({"next":{"other":1}})", R"({"next":1})"}},
  };
  for (const Case& each : cases) {
    const Schema made = schema(each.schema);
    for (const char* value : each.good) {
      const auto fault = made.check(json::parse(value));
      EXPECT_FALSE(fault) << each.schema << " should take " << value << ": " << fault->describe("value");
    }
    for (const char* value : each.bad) {
      EXPECT_TRUE(made.check(json::parse(value))) << each.schema << " should refuse " << value;
    }
  }
}

TEST(SchemaTest, says_where_and_what_is_wrong) {
  const Schema made = schema(R"({"type":"object","properties":{
      "tasks":{"type":"array","items":{"type":"object","properties":{"priority":{"enum":["low","high"]}}}}}})");
  const auto fault = made.check(json::parse(R"({"tasks":[{"priority":"low"},{"priority":"urgent"}]})"));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->describe("arguments"), R"(arguments.tasks[1].priority must be one of ["low","high"])");
  EXPECT_EQ(made.check(7)->describe("arguments"), "arguments must be of type object");
}

TEST(SchemaTest, is_no_schema_when_it_says_what_is_not_checked) {
  const auto error = [](std::string_view text) {
    const auto made = Schema::compile(json::parse(text));
    return made ? std::string("compiled") : made.error();
  };
  EXPECT_EQ(error(R"({"pattern":"a+"})"), "#/pattern is not supported");
  EXPECT_EQ(error(R"({"properties":{"a":{"contains":{}}}})"), "#/properties/a/contains is not supported");
  EXPECT_THAT(error(R"({"$ref":"http://other/schema"})"), HasSubstr("must lead to a place in this schema"));
  EXPECT_THAT(error(R"({"$ref":"#/$defs/none"})"), HasSubstr("must lead to a place"));
  EXPECT_THAT(error(R"({"$ref":"#/$defs/a%25b","$defs":{"a%25b":true}})"), HasSubstr("must lead to a place"));
  EXPECT_THAT(error(R"({"type":"text"})"), HasSubstr("#/type"));
  EXPECT_THAT(error(R"({"required":null})"), HasSubstr("#/required"));
  EXPECT_THAT(error(R"({"minLength":-1})"), HasSubstr("#/minLength"));
  EXPECT_THAT(error(R"({"multipleOf":0})"), HasSubstr("#/multipleOf"));
  EXPECT_THAT(error(R"({"anyOf":[]})"), HasSubstr("#/anyOf"));
  EXPECT_THAT(error(R"({"items":7})"), HasSubstr("#/items"));
  EXPECT_EQ(error(R"({"properties":{"a":{"$id":"other"}}})"), "#/properties/a/$id is not supported");
  EXPECT_EQ(error(R"({"title":"t","description":"d","default":1,"format":"uri"})"), "compiled");
}

TEST(SchemaTest, checks_as_a_schema_whatever_a_reference_leads_to) {
  const auto error = [](std::string_view text) {
    const auto made = Schema::compile(json::parse(text));
    return made ? std::string("compiled") : made.error();
  };
  EXPECT_EQ(error(R"({"default":{"pattern":"a"},"$ref":"#/default"})"), "#/$ref/pattern is not supported");
  EXPECT_EQ(error(R"({"properties":{"type":{"type":"string"}},"$ref":"#/properties"})"),
            "#/$ref/type must be a type or a list of types");
  EXPECT_EQ(error(R"({"$id":"https://a/b","properties":{"a":{"$ref":"#"}}})"), "compiled");
  EXPECT_EQ(error(R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})"), "compiled");
}

TEST(SchemaTest, gives_up_on_what_would_cost_too_much) {
  // Refers to itself without end.
  EXPECT_THAT(schema(R"({"$ref":"#"})").check(1)->what, HasSubstr("too much"));
  // Each level asks twice: without a bound this would take 2^100 steps.
  const Schema doubling = schema(R"({"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},
                                               {"properties":{"a":{"$ref":"#"}},"required":["b"]}]})");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"a":)";
  deep += "1" + std::string(100, '}');
  json::parse_options options;
  options.max_depth = 200;
  EXPECT_TRUE(doubling.check(json::parse(deep, {}, options)));
  EXPECT_THAT(schema(R"({"not":{"$ref":"#"}})").check(1)->what, HasSubstr("too much"));
  // Under "not" a fault would mean yes.
  EXPECT_TRUE(schema(R"({"not":{"uniqueItems":true}})").check(json::array(2000, json::value(nullptr))) == std::nullopt);
  json::array many;
  for (int i = 0; i < 2000; ++i) many.emplace_back(i);
  EXPECT_THAT(schema(R"({"not":{"not":{"uniqueItems":true}}})").check(many)->what, HasSubstr("too much"));
}

}  // namespace
}  // namespace skein::inline v0::mcp
