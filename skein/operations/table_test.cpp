#include "skein/operations/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <map>
#include <set>

#include "skein/base/time_text.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/ledger/limits.hpp"
#include "skein/ledger/swarm_fields.hpp"
#include "skein/operations/schemas.hpp"
#include "skein/operations/swarm_settings.hpp"

namespace skein::inline v0::operations {
namespace {

using testing::HasSubstr;

// The declarations themselves are checked when the table is made: names, answers, paths.
TEST(OperationTable, is_made_and_every_operation_is_found_by_its_name) {
  ASSERT_FALSE(operations().empty());
  for (const Operation& each : operations()) EXPECT_EQ(find_operation(each.name), &each);
  EXPECT_EQ(find_operation("nonesuch"), nullptr);
}

TEST(OperationTable, gives_each_way_in_names_that_do_not_meet) {
  std::set<std::string> routes;
  std::set<std::string_view> verbs;
  for (const Operation& each : operations()) {
    if (each.is_on(Way::rest)) {
      EXPECT_TRUE(routes.insert(std::string(each.rest.method) + std::string(each.rest.path)).second) << each.name;
    }
    if (each.is_on(Way::cli)) {
      EXPECT_TRUE(verbs.insert(each.cli.path).second) << each.name;
    }
  }
}

TEST(OperationTable, lets_readers_look_workers_work_and_administrators_steer_the_node) {
  for (const Operation& each : operations()) {
    if (each.rank == Rank::read) {
      EXPECT_EQ(each.effect, Operation::Effect::looks) << each.name;
    }
  }
  const std::set<std::string_view> for_administrators{"stop", "reload", "chaos_kill", "backup",
                                                      "dump", "trace",  "describe",   "log_level"};
  for (const std::string_view each : for_administrators) {
    EXPECT_EQ(find_operation(each)->rank, Rank::administer) << each;
  }
  EXPECT_EQ(find_operation("task_submit")->rank, Rank::operate);
  EXPECT_EQ(find_operation("agent_stop")->rank, Rank::operate);
}

TEST(OperationTable, has_an_example_for_every_verb) {
  for (const Operation& each : operations()) {
    if (!each.is_on(Way::cli)) continue;
    EXPECT_TRUE(each.cli.example.starts_with("skein " + std::string(each.cli.path))) << each.name;
  }
}

TEST(OperationSchemas, have_a_type_for_every_member_with_its_range_and_default) {
  const json::object schema = schema_of(find_operation("task_submit")->params, Way::mcp);
  for (const auto& each : schema.at("properties").as_object()) {
    EXPECT_TRUE(each.value().as_object().contains("type")) << each.key();
  }
  EXPECT_EQ(schema.at("properties").at("params").at("type"),
            (json::array{"object", "array", "string", "number", "boolean", "null"}));
  EXPECT_EQ(schema.at("properties").at("priority").at("type"), "string");
  EXPECT_EQ(schema.at("properties").at("attempts").at("default"), 4);
  EXPECT_EQ(schema.at("properties").at("attempts").at("minimum"), 1);
  EXPECT_FALSE(schema.at("properties").as_object().contains("trace")) << "not offered over MCP";
  EXPECT_EQ(schema.at("required"), json::array{"type"});
}

TEST(OperationSchemas, narrow_a_range_where_a_way_in_does) {
  const std::vector<Param>& params = find_operation("agent_list")->params;
  EXPECT_EQ(schema_of(params, Way::mcp).at("properties").at("limit").at("maximum"), 100);
  EXPECT_EQ(schema_of(params, Way::rest).at("properties").at("limit").at("default"), 100);
  EXPECT_FALSE(schema_of(params, Way::socket).at("properties").at("limit").as_object().contains("maximum"));
}

TEST(AnswerTypes, are_written_in_few_signs) {
  const auto schema = [](std::string_view type) { return schema_of_type(type, "#/"); };
  EXPECT_EQ(schema("integer"), json::parse(R"({"type":"integer"})"));
  EXPECT_EQ(schema("number|null"), json::parse(R"({"type":["number","null"]})"));
  EXPECT_EQ(schema("Task|null"), json::parse(R"({"anyOf":[{"$ref":"#/Task"},{"type":"null"}]})"));
  EXPECT_EQ(schema("[Task]"), json::parse(R"({"type":"array","items":{"$ref":"#/Task"}})"));
  EXPECT_EQ(schema("{integer}"), json::parse(R"({"type":"object","additionalProperties":{"type":"integer"}})"));
  EXPECT_EQ(schema("'a' 'b'"), json::parse(R"({"type":"string","enum":["a","b"]})"));
  EXPECT_EQ(schema("true"), json::parse(R"({"const":true})"));
  EXPECT_EQ(schema("any"), json::object());
}

TEST(AnswerTypes, have_the_members_of_their_base_and_are_closed) {
  const std::vector<AnswerType> all{{.name = "Line", .members = {{"id", "string"}}},
                                    {.name = "Whole", .members = {{"more?", "[Line]", "Help"}}, .base = "Line"}};
  EXPECT_EQ(schema_of(all[1], all, "#/"), json::parse(R"({"type":"object","properties":{"id":{"type":"string"},
    "more":{"type":"array","items":{"$ref":"#/Line"},"description":"Help"}},"required":["id"],
    "additionalProperties":false})"));
  EXPECT_EQ(brief_schema_of(all[1], all), json::parse(R"({"type":"object","properties":{"id":{"type":"string"}},
    "required":["id"]})"));
}

TEST(AnswerTypes, know_every_strategy_of_a_supervisor) {
  const AnswerType* tree = find_type("Tree", answer_types());
  ASSERT_NE(tree, nullptr);
  for (const AnswerMember& each : tree->members) {
    if (each.key() == "strategy") {
      EXPECT_THAT(each.type, HasSubstr("'escalate'"));
    }
  }
}

Result<ledger::Fields> fields_of(const std::string& text) {
  const json::object given = json::parse(text).as_object();
  const auto in = read_arguments(find_operation("swarm_create")->params, given);
  if (!in) return std::unexpected(in.error());
  return swarm_fields_in(*in);
}

TEST(SwarmSettings, are_read_under_the_names_of_the_config_and_the_older_ones) {
  const ledger::Fields wanted{
      {"agents_min", "1"}, {"agents_max", "3"}, {"idle_after_ms", "5000"}, {"capabilities", "a,b"}};
  for (const char* each :
       {R"({"name":"s","min":1,"max":3,"idle_shrink":"5s","capabilities":["a","b"]})",
        R"({"name":"s","agents_min":1,"agents_max":3,"idle_after_ms":5000,"capabilities":["a","b"]})",
        R"({"name":"s","fields":{"agents_min":"1","agents_max":"3","idle_after_ms":"5000",
                               "capabilities":"a, b"}})",
        R"({"name":"s","fields":{"min":"1","max":"3","idle_shrink":"5s","capabilities":"a,b"}})"}) {
    const auto fields = fields_of(each);
    ASSERT_TRUE(fields) << each << fields.error().describe();
    EXPECT_EQ(*fields, wanted) << each;
  }
}

TEST(SwarmSettings, that_are_unknown_or_out_of_range_are_refused_field_by_field) {
  const auto refused = [](const char* text) {
    const auto fields = fields_of(text);
    return fields ? "nothing is wrong" : fields.error().describe();
  };
  EXPECT_THAT(refused(R"({"name":"s","fields":{"foo":"1"}})"), HasSubstr("unknown member 'foo'"));
  EXPECT_THAT(refused(R"({"name":"s","max":100001})"), HasSubstr("max must be a whole number from 1 to 100000"));
  EXPECT_THAT(refused(R"({"name":"s","fields":{"agents_max":"100001"}})"), HasSubstr("max must be a whole number"));
  EXPECT_THAT(refused(R"({"name":"s","fields":{"agents_max":"many"}})"), HasSubstr("not 'many'"));
  EXPECT_THAT(refused(R"({"name":"s","role":"boss"})"), HasSubstr("worker, specialist or coordinator"));
}

TEST(SwarmSettings, are_shown_as_they_are_in_force_with_their_types) {
  ledger::Swarm swarm;
  swarm.definition = {
      {"executor", "e"}, {"agents_min", "1"}, {"agents_max", "3"}, {"idle_after_ms", "5000"}, {"capabilities", "a,b"}};
  swarm.overrides = {{"agents_max", "7"}};
  EXPECT_EQ(settings_json(swarm, {}), json::parse(R"({"executor":"e","role":"worker","capabilities":["a","b"],"min":1,
      "max":7,"prefetch":1,"idle_shrink":"5s","open_tasks":10000,"open_bytes":1073741824,"breaker_crashes":5,
      "breaker_open":"1min","weight":1})"));
}

TEST(SwarmSettings, that_nobody_gave_are_shown_with_what_holds_then) {
  ledger::Limits limits;
  limits.swarm_tasks = 77;
  limits.swarm_bytes = 2ULL << 20U;
  ledger::Swarm swarm;
  swarm.definition = {{"agents_min", "1"}};
  const json::object shown = settings_json(swarm, limits);
  EXPECT_EQ(shown, json::parse(R"({"role":"worker","capabilities":[],"min":1,"max":100,"prefetch":1,
      "idle_shrink":"30s","open_tasks":77,"open_bytes":2097152,"breaker_crashes":5,"breaker_open":"1min",
      "weight":1})"));
  swarm.overrides = {{"open_tasks", "5"}};
  EXPECT_EQ(settings_json(swarm, limits).at("open_tasks"), 5);
  // Defined by the config, where everything is written down.
  ledger::Swarm of_config;
  of_config.definition = ledger::fields_of({.min = 1, .open_tasks = 77, .open_bytes = 2ULL << 20U});
  EXPECT_EQ(settings_json(of_config, {}), shown);
}

TEST(SwarmSettings, that_nobody_gave_are_those_that_the_dispatcher_goes_by) {
  const dispatch::DispatcherOptions options;
  const json::object shown = settings_json({}, {});
  EXPECT_EQ(shown.at("breaker_crashes"), options.breaker_crashes);
  EXPECT_EQ(shown.at("breaker_open").as_string(), time_text(options.breaker_open));
}

TEST(SwarmSettings, with_a_fault_are_shown_as_they_were_given) {
  ledger::Swarm swarm;
  swarm.definition = {{"agents_min", "9"}, {"agents_max", "3"}};
  EXPECT_EQ(settings_json(swarm, {}), json::parse(R"({"min":9,"max":3})"));
}

}  // namespace
}  // namespace skein::inline v0::operations
