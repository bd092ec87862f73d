#include "skein/mcp/node_catalog.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "skein/mcp/test_core.hpp"
#include "skein/mcp/tool_parts.hpp"

namespace skein::inline v0::mcp {
namespace {

using testing::HasSubstr;

constexpr const char* k_task = R"({"id":"t1","state":"completed","type":"echo","swarm":"default","priority":50,
  "attempts":1,"attempts_max":4,"submitted_at":5,
  "params":{"a":1},"result":{"a":1},"capabilities":["echo"],"failed_attempts":[]})";

class NodeCatalogTest : public CoreTest {
 protected:
  NodeCatalogTest() { catalog_ = make_node_catalog(); }

  // What a tool gives when the node answers its questions in turn with these.
  json::object called(std::string_view tool, json::object arguments, const std::vector<std::string>& answers) {
    ask(++last_id_, "tools/call", modern({{"name", tool}, {"arguments", std::move(arguments)}}));
    for (const std::string& each : answers) {
      const bool is_error = each.starts_with(R"({"code")");
      core().answered(outlet_.asked.back().call,
                      {is_error ? NodeAnswer::Kind::error : NodeAnswer::Kind::ok, json::parse(each)});
    }
    const json::object* result = object_in(outlet_.sent.back().message, "result");
    EXPECT_NE(result, nullptr) << tool;
    return result != nullptr ? *result : json::object();
  }
  void expect_fits(std::string_view tool, const json::object& result) {
    const Catalog::ListedTool* found = catalog_->tool(tool);
    ASSERT_NE(found, nullptr);
    const auto schema = Schema::compile(found->tool.output_schema);
    ASSERT_TRUE(schema);
    const auto fault = schema->check(result.at("structuredContent"));
    EXPECT_FALSE(fault) << tool << ": " << fault->describe("result");
    EXPECT_EQ(json::parse(text_of(result)), result.at("structuredContent")) << tool;
  }
};

TEST_F(NodeCatalogTest, offers_tools_that_every_client_can_use) {
  const auto is_tool = [](const operations::Operation& each) { return each.is_tool; };
  EXPECT_EQ(catalog_->tools().size(),
            static_cast<std::size_t>(std::ranges::count_if(operations::operations(), is_tool)));
  for (const Catalog::ListedTool& each : catalog_->tools()) {
    EXPECT_FALSE(each.tool.title.empty()) << each.tool.name;
    EXPECT_GT(each.tool.description.size(), 20U) << each.tool.name;
    EXPECT_TRUE(each.listed.at("annotations").as_object().contains("readOnlyHint")) << each.tool.name;
    EXPECT_EQ(each.listed.at("outputSchema").at("type"), "object") << each.tool.name;
    EXPECT_EQ(each.listed.at("inputSchema").at("additionalProperties"), false) << each.tool.name;
    for (const auto& member : each.listed.at("inputSchema").at("properties").as_object()) {
      EXPECT_TRUE(member.value().as_object().contains("type")) << each.tool.name << ": " << member.key();
    }
  }
}

// Every model that uses the node reads all of it.
TEST_F(NodeCatalogTest, says_what_its_tools_are_in_few_bytes) {
  std::size_t bytes = 0;
  for (const Catalog::ListedTool& each : catalog_->tools()) bytes += json::serialize(each.listed).size() + 1;
  constexpr std::size_t k_bytes = 20'000;
  EXPECT_LT(bytes, k_bytes);
  RecordProperty("bytes", static_cast<int>(bytes));
}

TEST_F(NodeCatalogTest, gives_results_that_fit_their_schemas) {
  const std::string swarm = R"({"name":"s","state":"active","origin":"api","open_tasks":1,"open_bytes":2,"settings":{},
                                "definition":{},"breaker":"closed","passed_over":[],"problems":["min is 'x'"]})";
  const std::string members = R"("id":"a","role":"worker","status":"idle","swarm":"default","executor":"function",
      "capabilities":[],"load":0,"slots":1,"queue_length":0,"heartbeat_age_ms":3,"completed":1,"failed":0,
      "handed_back":0,"named":false,"pid":"<0.1.1>","passed_over":[])";
  const std::string agent = "{" + members + "}";
  const std::string agent_status = "{" + members + R"(,"success_rate":null,"avg_latency_ms":0,"past":[]})";
  struct Case {
    const char* tool;
    json::object arguments;
    std::vector<std::string> answers;
  };
  const std::vector<Case> cases{
      {"task_submit", {{"type", "echo"}, {"params", {{"a", 1.5}}}}, {R"({"id":"t1","state":"queued"})"}},
      {"task_wait", {{"id", "t1"}}, {std::string(R"({"finished":true,"task":)") + k_task + "}"}},
      {"task_status", {{"id", "t1"}}, {k_task}},
      {"task_list", {}, {std::string(R"({"tasks":[)") + k_task + "]}"}},
      {"task_cancel", {{"id", "t1"}}, {R"({"state":"cancelled"})"}},
      {"task_retry", {{"id", "t1"}}, {R"({"id":"t2"})"}},
      {"swarm_create", {{"name", "s"}, {"executor", "function"}, {"min", 1}, {"max", 2}}, {"{}"}},
      {"swarm_list", {}, {R"({"total":1,"swarms":[)" + swarm + "]}"}},
      {"swarm_status", {{"name", "s"}}, {swarm}},
      {"swarm_scale", {{"name", "s"}, {"min", 0}, {"max", 3}}, {R"({"name":"s","min":0,"max":3})"}},
      {"swarm_pause", {{"name", "s"}}, {"{}"}},
      {"swarm_resume", {{"name", "s"}}, {"{}"}},
      {"swarm_stop", {{"name", "s"}}, {"{}"}},
      {"agent_spawn", {{"executor", "function"}}, {R"({"id":"a"})"}},
      {"agent_list", {}, {R"({"total":1,"agents":[)" + agent + "]}"}},
      {"agent_status", {{"id", "a"}}, {agent_status}},
      {"agent_pause", {{"id", "a"}}, {"{}"}},
      {"agent_resume", {{"id", "a"}}, {"{}"}},
      {"agent_stop", {{"id", "a"}}, {"{}"}},
      {"agent_start", {{"id", "a"}}, {"{}"}},
      {"agent_update", {{"id", "a"}, {"prefetch", 3}}, {"{}"}},
      {"agent_cancel", {{"id", "a"}}, {R"({"task":null})"}},
      {"tree", {{"depth", 2}}, {R"({"id":"root","type":"supervisor","state":"running","restart":"permanent",
        "restarts":0,"mailbox":0,"failures":[]})"}},
      {"metrics", {}, {R"({"node":{"name":"n"},"work":{"open_tasks":1}})"}},
  };
  EXPECT_EQ(cases.size(), catalog_->tools().size());
  for (const Case& each : cases) expect_fits(each.tool, called(each.tool, each.arguments, each.answers));
}

TEST_F(NodeCatalogTest, asks_the_node_in_its_own_words) {
  called("task_submit", {{"type", "echo"}, {"params", {{"a", 1}}}}, {R"({"id":"t","state":"queued"})"});
  EXPECT_EQ(outlet_.asked.back().params.at("params"), R"({"a":1})") << "the node takes a text";
  called("task_submit",
         {{"type", "echo"}, {"agent", "ada"}, {"agent_fallback", "any"}, {"agent_wait_ms", 5}, {"route_key", "r"}},
         {R"({"id":"t","state":"queued"})"});
  for (const char* each : {"agent", "agent_fallback", "agent_wait_ms", "route_key"}) {
    EXPECT_TRUE(outlet_.asked.back().params.contains(each)) << each;
  }
  called("task_wait", {{"id", "t"}}, {std::string(R"({"finished":false,"task":)") + k_task + "}"});
  EXPECT_EQ(outlet_.asked.back().params.at("timeout_ms"), 50'000);
  EXPECT_THAT(text_of(outlet_.sent.back().message.at("result").as_object()), HasSubstr("call task_wait again"));
  called("swarm_create", {{"name", "s"}, {"min", 2}}, {"{}"});
  EXPECT_EQ(outlet_.asked.back().params.at("min"), 2);
  called("agent_list", {{"swarm", "odd"}}, {R"({"total":0,"agents":[]})"});
  EXPECT_EQ(outlet_.asked.back().params, (json::object{{"swarm", "odd"}, {"limit", 20}}));
  called("tree", {}, {R"({"id":"root"})"});
  EXPECT_EQ(outlet_.asked.back().params, (json::object{{"depth", 4}, {"children", 20}}));
  called("task_list", {}, {R"({"tasks":[]})"});
  EXPECT_EQ(outlet_.asked.back().params.at("limit"), 20);
}

TEST_F(NodeCatalogTest, says_what_to_do_when_the_node_does_not_do_it) {
  const json::object result =
      called("task_cancel", {{"id", "t"}},
             {R"({"code":"overloaded","message":"too much at once","advice":"try again","retry_after_ms":100})"});
  EXPECT_EQ(result.at("isError"), true);
  EXPECT_EQ(text_of(result), "too much at once: try again [overloaded, try again in 100 ms]");
}

// Arguments that a tool's schema asks for, with something in each.
json::object required_arguments(const json::object& schema) {
  json::object arguments;
  const json::value* required = schema.if_contains("required");
  if (required == nullptr) return arguments;
  for (const json::value& each : required->as_array()) {
    const bool is_text = schema.at("properties").at(each.as_string()).at("type") == "string";
    arguments[each.as_string()] = is_text ? json::value("x") : json::value(1);
  }
  return arguments;
}

TEST_F(NodeCatalogTest, takes_or_refuses_numbers_of_any_size) {
  for (const Catalog::ListedTool& each : catalog_->tools()) {
    const json::object& schema = each.tool.input_schema.as_object();
    for (const auto& property : schema.at("properties").as_object()) {
      const json::value* type = property.value().as_object().if_contains("type");
      if (type == nullptr || *type != "integer") continue;
      for (const json::value& number : {json::value(1e300), json::value(UINT64_MAX), json::value(-1e300)}) {
        json::object arguments = required_arguments(schema);
        arguments[property.key()] = number;
        const std::size_t asked = outlet_.asked.size();
        const auto sent = ask(++last_id_, "tools/call", modern({{"name", each.tool.name}, {"arguments", arguments}}));
        const auto what =
            fmt::format("{} of {}: {}", std::string_view(property.key()), each.tool.name, json::serialize(number));
        if (outlet_.asked.size() > asked) continue;  // the node says what it thinks of it
        ASSERT_EQ(sent.size(), 1U) << what;
        ASSERT_TRUE(sent[0].message.contains("result")) << what << ": " << json::serialize(sent[0].message);
        EXPECT_EQ(sent[0].message.at("result").at("isError"), true) << what;
      }
    }
  }
}

TEST_F(NodeCatalogTest, hands_numbers_on_as_they_were_written) {
  const std::string params = R"({"n":12345678901234567890123,"m":[0.1000000000000000055,1e2,-7]})";
  const auto expect_asked = [&](const std::string& arguments) {
    const json::object asked = modern();
    const std::string meta = json::serialize(asked.at("_meta"));
    core().receive(7, fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"_meta":{},)"
                                  R"("name":"task_submit","arguments":{}}}}})",
                                  ++last_id_, meta, arguments));
    EXPECT_EQ(outlet_.asked.back().params.at("params"), json::value(params));
  };
  expect_asked(R"({"type":"echo","params":)" + params + "}");
  // A number that is the node's own business is one as before.
  expect_asked(R"({"type":"echo","attempts":2e0,"params":)" + params + "}");
  EXPECT_EQ(outlet_.asked.back().params.at("attempts").to_number<int>(), 2);
}

TEST_F(NodeCatalogTest, reads_resources_through_the_node_and_completes_their_names) {
  ask(1, "resources/read", modern({{"uri", "skein://tasks/t1"}}));
  EXPECT_EQ(outlet_.asked.back().op, "task_status");
  EXPECT_EQ(outlet_.asked.back().params.at("id"), "t1");
  core().answered(outlet_.asked.back().call, {NodeAnswer::Kind::ok, json::parse(k_task)});
  const json::value contents = outlet_.sent.back().message.at("result").at("contents").at(0);
  EXPECT_EQ(contents.at("uri"), "skein://tasks/t1");
  EXPECT_EQ(json::parse(contents.at("text").as_string()), json::parse(k_task));
  ask(2, "completion/complete",
      modern({{"ref", {{"type", "ref/resource"}, {"uri", "skein://swarms/{name}"}}},
              {"argument", {{"name", "name"}, {"value", "b"}}}}));
  core().answered(outlet_.asked.back().call,
                  {NodeAnswer::Kind::ok, json::parse(R"({"swarms":[{"name":"ba"},{"name":"a"},{"name":"bb"}]})")});
  EXPECT_EQ(outlet_.sent.back().message.at("result").at("completion").at("values"), (json::array{"ba", "bb"}));
}

// Those that failed first, then whatever else is there: neither hides the other.
TEST_F(NodeCatalogTest, suggests_failed_and_open_tasks_to_be_diagnosed) {
  ask(1, "completion/complete",
      modern({{"ref", {{"type", "ref/prompt"}, {"name", "diagnose_task"}}},
              {"argument", {{"name", "task"}, {"value", "t"}}}}));
  json::array failed;
  for (int i = 0; i < 80; ++i) failed.push_back(json::object{{"id", fmt::format("t{}", i)}});
  EXPECT_EQ(outlet_.asked.back().params.at("state"), "failed");
  core().answered(outlet_.asked.back().call, {NodeAnswer::Kind::ok, {{"tasks", std::move(failed)}}});
  EXPECT_FALSE(outlet_.asked.back().params.contains("state"));
  core().answered(outlet_.asked.back().call,
                  {NodeAnswer::Kind::ok, json::parse(R"({"tasks":[{"id":"t-queued"},{"id":"t0"},{"id":"other"}]})")});
  const json::value completion = outlet_.sent.back().message.at("result").at("completion");
  const json::array& values = completion.at("values").as_array();
  ASSERT_EQ(values.size(), 51U);
  EXPECT_EQ(values.front(), "t0");
  EXPECT_EQ(values.back(), "t-queued");
  EXPECT_EQ(completion.at("hasMore"), true);
}

TEST_F(NodeCatalogTest, tells_of_agents_and_of_the_tree_they_are_in) {
  operations::Event event;
  event.kind = operations::Event::Kind::agent_changed;
  event.name = "a";
  std::vector<std::string> uris;
  for (const Change& each : changes_of(event)) uris.push_back(each.uri);
  EXPECT_THAT(uris, testing::IsSupersetOf({"skein://agents", "skein://agents/a", "skein://tree", "skein://events"}));
}

TEST_F(NodeCatalogTest, knows_which_resources_an_event_changes) {
  operations::Event event;
  event.kind = operations::Event::Kind::swarm_changed;
  event.name = "s";
  std::vector<std::string> uris;
  for (const Change& each : changes_of(event)) uris.push_back(each.uri);
  EXPECT_THAT(uris, testing::ElementsAre("skein://swarms", "skein://swarms/s", "skein://tree", "skein://status",
                                         "skein://events"));
}

}  // namespace
}  // namespace skein::inline v0::mcp
