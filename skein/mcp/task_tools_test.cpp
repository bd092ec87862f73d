// The tools for tasks beyond what one operation answers: what is told while a task runs, why it waits, results in
// pieces, arguments that are not the tool's, and ids that are suggested.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/task_view.hpp"
#include "skein/mcp/test_core.hpp"

namespace skein::inline v0::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* k_open_task = R"({"id":"t1","state":"queued","type":"echo","swarm":"default","priority":50,
  "attempts":0,"attempts_max":4,"params":null,"capabilities":["echo"],"failed_attempts":[]})";

class TaskToolsTest : public CoreTest {
 protected:
  TaskToolsTest() { catalog_ = make_node_catalog(); }

  void call(std::string_view tool, json::object arguments, json::object meta = {}) {
    ask(++last_id_, "tools/call",
        modern({{"name", tool}, {"arguments", std::move(arguments)}, {"_meta", std::move(meta)}}));
  }
  void node_says(NodeAnswer::Kind kind, json::value value) {
    core().answered(outlet_.asked.back().call, {kind, std::move(value)});
  }
  json::object last_result() {
    const json::object* result = object_in(outlet_.sent.back().message, "result");
    EXPECT_NE(result, nullptr) << json::serialize(outlet_.sent.back().message);
    return result != nullptr ? *result : json::object();
  }
};

// Gemini CLI 0.61.0 adds wait_for_previous to every tool's schema and passes it on.
TEST_F(TaskToolsTest, takes_a_call_with_a_member_that_the_client_has_added) {
  for (const Catalog::ListedTool& each : catalog_->tools()) {
    const std::size_t asked = outlet_.asked.size();
    json::object arguments{{"wait_for_previous", true}};
    const json::object& schema = each.tool.input_schema.as_object();
    if (const json::value* required = schema.if_contains("required")) {
      for (const json::value& name : required->as_array()) {
        const bool is_text = schema.at("properties").at(name.as_string()).at("type") == "string";
        arguments[name.as_string()] = is_text ? json::value("x") : json::value(1);
      }
    }
    call(each.tool.name, std::move(arguments));
    ASSERT_GT(outlet_.asked.size(), asked) << each.tool.name << " was refused";
    EXPECT_FALSE(outlet_.asked.back().params.contains("wait_for_previous")) << each.tool.name;
  }
}

TEST_F(TaskToolsTest, names_what_it_passed_over_in_the_answer) {
  call("task_cancel", {{"id", "t1"}, {"reasn", "no"}, {"wait_for_previous", true}});
  node_says(NodeAnswer::Kind::ok, {{"state", "cancelled"}});
  const json::object result = last_result();
  EXPECT_EQ(result.at("structuredContent").at("ignored"),
            (json::array{"reasn (did you mean 'reason'?)", "wait_for_previous"}));
  EXPECT_EQ(json::parse(text_of(result)), result.at("structuredContent"));
  call("task_submit", {{"typ", "echo"}});
  EXPECT_EQ(last_result().at("isError"), true);
  EXPECT_THAT(text_of(last_result()), HasSubstr("did you mean 'type'?"));
}

TEST_F(TaskToolsTest, says_what_an_older_name_is_called_now) {
  call("swarm_create", {{"name", "s"}, {"executor", "py"}, {"agents_min", 1}, {"idle_after_ms", 5000}});
  node_says(NodeAnswer::Kind::ok, json::object{});
  EXPECT_EQ(last_result().at("structuredContent").at("ignored"),
            (json::array{"agents_min (did you mean 'min'?)", "idle_after_ms (did you mean 'idle_shrink'?)"}));
}

TEST_F(TaskToolsTest, takes_null_for_what_is_optional) {
  call("task_submit",
       {{"type", "echo"}, {"priority", nullptr}, {"attempts", nullptr}, {"swarm", nullptr}, {"key", nullptr}});
  ASSERT_EQ(outlet_.asked.size(), 1U);
  EXPECT_EQ(outlet_.asked.back().params, (json::object{{"type", "echo"}}));
}

TEST_F(TaskToolsTest, tells_the_agents_mark_as_progress) {
  call("task_wait", {{"id", "t1"}}, {{"progressToken", "p"}});
  node_says(NodeAnswer::Kind::part, {{"progress", {{"step", 3}, {"of", 6}}}});
  const json::object& told = outlet_.sent.back().message.at("params").as_object();
  EXPECT_EQ(outlet_.sent.back().message.at("method"), "notifications/progress");
  EXPECT_EQ(told.at("progress").to_number<double>(), 3);
  EXPECT_EQ(told.at("total").to_number<double>(), 6);
  EXPECT_EQ(told.at("message"), R"({"step":3,"of":6})");
  core().woken(outlet_.wakes.back().timer);
  EXPECT_GT(outlet_.sent.back().message.at("params").at("progress").to_number<double>(), 3);
  EXPECT_EQ(outlet_.sent.back().message.at("params").at("message"), R"({"step":3,"of":6})");
}

TEST_F(TaskToolsTest, says_why_a_task_waits_instead_of_sending_a_model_in_circles) {
  json::object task = json::parse(k_open_task).as_object();
  task["waits"] = "no agent of swarm 'default' can do 'echo'";
  task["waits_for"] = "no_able_agent";
  call("task_wait", {{"id", "t1"}});
  node_says(NodeAnswer::Kind::ok, {{"finished", false}, {"task", task}});
  EXPECT_THAT(text_in(last_result().at("structuredContent").as_object(), "next"),
              HasSubstr("can do 'echo'; waiting alone does not"));
  call("task_submit", {{"type", "echo"}});
  node_says(NodeAnswer::Kind::ok,
            {{"id", "t1"}, {"state", "queued"}, {"waits", "no agent of swarm 'default' can do 'echo'"}});
  EXPECT_THAT(text_in(last_result().at("structuredContent").as_object(), "next"), HasSubstr("can do 'echo'"));
}

TEST_F(TaskToolsTest, hands_on_what_a_node_says_that_answers_early) {
  call("task_wait", {{"id", "t1"}});
  node_says(NodeAnswer::Kind::ok,
            {{"finished", false}, {"task", json::parse(k_open_task)}, {"next", "the node is stopping, ask again"}});
  EXPECT_EQ(last_result().at("structuredContent").at("next"), "the node is stopping, ask again");
}

TEST_F(TaskToolsTest, gives_a_long_result_in_pieces) {
  json::object task = json::parse(k_open_task).as_object();
  task["state"] = "completed";
  task["result"] = std::string(100'000, 'r');
  call("task_wait", {{"id", "t1"}});
  node_says(NodeAnswer::Kind::ok, {{"finished", true}, {"task", task}});
  const json::object waited = last_result();
  EXPECT_EQ(waited.at("content").at(1).at("type"), "resource_link");
  const json::value& next = waited.at("structuredContent").at("task").at("result_part").at("next_offset");
  call("task_status", {{"id", "t1"}, {"result_offset", next}, {"result_bytes", 1000}});
  EXPECT_EQ(outlet_.asked.back().params, (json::object{{"id", "t1"}}));
  node_says(NodeAnswer::Kind::ok, task);
  const json::object part = last_result().at("structuredContent").at("result_part").as_object();
  EXPECT_EQ(part.at("offset"), next);
  EXPECT_EQ(part.at("bytes"), 1000);
}

// Parameters without a type reach the node as strings from some clients (anthropics/claude-code#82652).
TEST_F(TaskToolsTest, has_a_type_for_every_argument) {
  for (const Catalog::ListedTool& each : catalog_->tools()) {
    for (const auto& property : each.tool.input_schema.at("properties").as_object()) {
      EXPECT_TRUE(property.value().as_object().contains("type"))
          << each.tool.name << "." << std::string_view(property.key());
    }
  }
}

TEST_F(TaskToolsTest, suggests_ids_of_tasks) {
  const auto complete = [&](json::object ref, const char* value) {
    const char* const name = ref.at("type") == "ref/prompt" ? "task" : "id";
    ask(++last_id_, "completion/complete",
        modern({{"ref", std::move(ref)}, {"argument", {{"name", name}, {"value", value}}}}));
  };
  complete({{"type", "ref/resource"}, {"uri", "skein://tasks/{id}"}}, "01a");
  EXPECT_EQ(outlet_.asked.back().op, "task_list");
  node_says(NodeAnswer::Kind::ok, json::parse(R"({"tasks":[{"id":"01a2"},{"id":"01b1"}],"cursor":"c"})"));
  EXPECT_EQ(outlet_.asked.back().params.at("cursor"), "c") << "more may fit";
  node_says(NodeAnswer::Kind::ok, json::parse(R"({"tasks":[{"id":"01a1"}]})"));
  EXPECT_EQ(last_result().at("completion").at("values"), (json::array{"01a2", "01a1"}));
  EXPECT_EQ(last_result().at("completion").at("hasMore"), false);
  complete({{"type", "ref/prompt"}, {"name", "diagnose_task"}}, "");
  EXPECT_EQ(outlet_.asked.back().params.at("state"), "failed");
  node_says(NodeAnswer::Kind::ok, json::parse(R"({"tasks":[{"id":"01f"}]})"));
  EXPECT_FALSE(outlet_.asked.back().params.contains("state")) << "then open ones";
  node_says(NodeAnswer::Kind::ok, json::parse(R"({"tasks":[{"id":"01e"},{"id":"01f"}]})"));
  EXPECT_EQ(last_result().at("completion").at("values"), (json::array{"01f", "01e"}));
}

}  // namespace
}  // namespace skein::inline v0::mcp
