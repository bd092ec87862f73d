#include "skein/mcp/core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/mcp/test_core.hpp"

namespace skein::inline v0::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class McpCoreTest : public CoreTest {
 protected:
  void SetUp() override {
    catalog_->server_version = "9.9";
    catalog_->add(
        Tool{"echo",
             "Echo",
             "Says it again",
             json::parse(R"({"type":"object","properties":{"text":{"type":"string"}},"required":["text"]})"),
             {},
             {},
             [](Exchange& exchange) { exchange.finish(text_result(text_in(exchange.arguments(), "text"))); }});
    catalog_->add(Tool{"count",
                       "Count",
                       "Counts the node's tasks",
                       json::parse(R"({"type":"object"})"),
                       {},
                       {},
                       [](Exchange& exchange) {
                         exchange.ask_node("task_list", {{"limit", 1}}, [](Exchange& then, const NodeAnswer& answer) {
                           if (answer.kind == NodeAnswer::Kind::part) return then.progress(1, 2, "part");
                           then.finish(text_result(json::serialize(answer.value)));
                         });
                       }});
    catalog_->add(Tool{"ask", "Ask", "Asks the user", json::parse(R"({"type":"object"})"), {}, {}, ask_user});
    catalog_->add(Prompt{"plan", "Plan", "Plans", {{"goal", "What for", true}}, [](Exchange& exchange) {
                           exchange.finish({{"messages", json::array()}});
                         }});
    catalog_->add(Resource{"skein://tree", "tree", "Tree", "The tree", "application/json",
                           [](Exchange& exchange) { exchange.finish(contents(exchange, exchange.name())); }});
    catalog_->add(Resource{"skein://tasks/{id}", "task", "Task", "A task", "application/json",
                           [](Exchange& exchange) { exchange.finish(contents(exchange, exchange.variable())); }});
  }
  static json::object contents(const Exchange& exchange, std::string_view text) {
    return {{"contents", json::array{json::object{{"uri", exchange.name()}, {"text", text}}}}};
  }
  // Two questions, one after the other.
  static void ask_user(Exchange& exchange) {
    for (const char* key : {"first", "second"}) {
      if (exchange.input(key) != nullptr) continue;
      return exchange.need(
          {{key,
            "elicitation/create",
            {{"message", key}, {"requestedSchema", {{"type", "object"}, {"properties", json::object()}}}}}},
          json::value(key));
    }
    exchange.finish(text_result(text_in(*exchange.input("first"), "action") +
                                text_in(*exchange.input("second"), "action") + " after " +
                                std::string(exchange.state().as_string())));
  }
  static json::object tool(std::string_view name, json::object arguments = {}) {
    return {{"name", name}, {"arguments", std::move(arguments)}};
  }
  static json::object elicits() { return {{"elicitation", json::object()}}; }
};

// ---- eras ----

TEST_F(McpCoreTest, answers_initialize_with_the_version_it_was_asked_for_or_our_latest) {
  for (const std::string_view version : k_legacy_versions) {
    new_core();
    EXPECT_EQ(initialize(version).at("protocolVersion"), json::value(version));
  }
  new_core();
  const json::object unknown = initialize("1999-01-01");
  EXPECT_EQ(unknown.at("protocolVersion"), "2025-11-25");
  EXPECT_EQ(unknown.at("serverInfo").at("version"), "9.9");
  EXPECT_TRUE(unknown.at("capabilities").as_object().contains("tools"));
  EXPECT_FALSE(unknown.contains("resultType"));
}

TEST_F(McpCoreTest, wants_meta_or_initialize_first) {
  EXPECT_EQ(error_code("tools/list", {}), k_invalid_params);
  EXPECT_EQ(error_code("server/discover", {}), k_invalid_params);
  EXPECT_EQ(error_code("tools/list", {{"_meta", {{k_meta_version, k_modern_version}}}}), k_invalid_params);
  EXPECT_EQ(error_code("tools/list", {{"_meta", {{k_meta_capabilities, json::object()}}}}), k_invalid_params);
  EXPECT_EQ(outlet_.sent.back().status, 400);
  initialize();
  EXPECT_EQ(result("tools/list", {}).at("tools").as_array().size(), 3U);
}

TEST_F(McpCoreTest, discovers_without_a_session) {
  const json::object found = result("server/discover", modern());
  EXPECT_EQ(found.at("supportedVersions").at(0), "2026-07-28");
  EXPECT_EQ(found.at("resultType"), "complete");
  EXPECT_EQ(found.at("_meta").at(k_meta_server).at("name"), "skein");
  EXPECT_EQ(found.at("cacheScope"), "public");
  EXPECT_GE(found.at("ttlMs").as_int64(), 0);
  EXPECT_FALSE(core().session());
}

TEST_F(McpCoreTest, keeps_the_methods_of_the_eras_apart) {
  for (const char* gone : {"initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"}) {
    EXPECT_EQ(error_code(gone, modern()), k_method_not_found) << gone;
    EXPECT_EQ(outlet_.sent.back().status, 404);
  }
  initialize();
  for (const char* later : {"server/discover", "subscriptions/listen", "no/such"}) {
    EXPECT_EQ(error_code(later, {}), k_method_not_found) << later;
    EXPECT_EQ(outlet_.sent.back().status, 200);
  }
  EXPECT_TRUE(result("ping", {}).empty());
}

TEST_F(McpCoreTest, names_the_versions_it_speaks_to_who_speaks_another) {
  json::object params = modern();
  params["_meta"].as_object()[k_meta_version] = "2030-01-01";
  const json::object error = answer("tools/list", params).at("error").as_object();
  EXPECT_EQ(error.at("code"), k_unsupported_version);
  EXPECT_EQ(error.at("data").at("requested"), "2030-01-01");
  EXPECT_EQ(error.at("data").at("supported").at(0), "2026-07-28");
  EXPECT_EQ(outlet_.sent.back().status, 400);
}

TEST_F(McpCoreTest, lets_the_header_decide_and_refuses_one_that_disagrees) {
  RpcMessage message;
  message.kind = RpcMessage::Kind::request;
  message.id = 1;
  message.method = "tools/list";
  core().receive(1, message, k_modern_version);
  EXPECT_EQ(outlet_.sent.back().message.at("error").at("code"), k_invalid_params);
  message.params = modern();
  core().receive(1, message, "2025-11-25");
  EXPECT_EQ(outlet_.sent.back().message.at("error").at("code"), k_header_mismatch);
  core().receive(1, message, k_modern_version);
  EXPECT_TRUE(outlet_.sent.back().message.contains("result"));
}

// ---- requests ----

TEST_F(McpCoreTest, answers_what_is_no_message_with_an_error) {
  core().receive(5, "{");
  EXPECT_EQ(outlet_.sent.back().message.at("error").at("code"), k_parse_error);
  EXPECT_EQ(outlet_.sent.back().status, 400);
  EXPECT_EQ(outlet_.sent.back().to, 5U);
}

TEST_F(McpCoreTest, calls_a_tool_and_says_what_is_wrong_with_its_arguments) {
  initialize();
  EXPECT_EQ(text_of(result("tools/call", tool("echo", {{"text", "hi"}}))), "hi");
  const json::object wrong = result("tools/call", tool("echo", {{"text", 7}}));
  EXPECT_EQ(wrong.at("isError"), true);
  EXPECT_EQ(text_of(wrong), "arguments.text must be of type string");
  EXPECT_EQ(text_of(result("tools/call", {{"name", "echo"}})), "arguments must have the member 'text'");
  EXPECT_EQ(error_code("tools/call", tool("none")), k_invalid_params);
  EXPECT_EQ(text_of(result("tools/call", {{"name", "echo"}, {"arguments", nullptr}})),
            "arguments must have the member 'text'");
  EXPECT_EQ(error_code("tools/call", {{"name", "echo"}, {"arguments", 7}}), k_invalid_params);
  EXPECT_EQ(error_code("tools/call", {}), k_invalid_params);
}

TEST_F(McpCoreTest, asks_the_node_and_reports_progress_to_who_wants_it) {
  json::object params = modern(tool("count"));
  params["_meta"].as_object()["progressToken"] = "t";
  EXPECT_TRUE(ask("a", "tools/call", params).empty());
  ASSERT_EQ(outlet_.asked.size(), 1U);
  EXPECT_EQ(outlet_.asked[0].op, "task_list");
  core().answered(outlet_.asked[0].call, {NodeAnswer::Kind::part, nullptr});
  EXPECT_EQ(outlet_.sent.back().message.at("params").at("progressToken"), "t");
  core().answered(outlet_.asked[0].call, {NodeAnswer::Kind::part, nullptr});
  EXPECT_EQ(outlet_.sent.size(), 1U) << "progress that has not risen";
  core().answered(outlet_.asked[0].call, {NodeAnswer::Kind::ok, 42});
  EXPECT_EQ(text_of(outlet_.sent.back().message.at("result").as_object()), "42");
  EXPECT_TRUE(outlet_.sent.back().is_last);
  EXPECT_EQ(core().under_way(), 0U);
  core().answered(outlet_.asked[0].call, {NodeAnswer::Kind::ok, 43});
  EXPECT_EQ(outlet_.sent.size(), 2U) << "an answer too many";
}

TEST_F(McpCoreTest, gives_no_progress_without_a_token) {
  ask(1, "tools/call", modern(tool("count")));
  core().answered(outlet_.asked[0].call, {NodeAnswer::Kind::part, nullptr});
  EXPECT_TRUE(outlet_.sent.empty());
}

TEST_F(McpCoreTest, does_not_answer_what_was_cancelled) {
  initialize();
  ask("a", "tools/call", tool("count"), 11);
  notify("notifications/cancelled", {{"requestId", "b"}});
  EXPECT_EQ(core().under_way(), 1U);
  notify("notifications/cancelled", {{"requestId", "a"}});
  EXPECT_EQ(core().under_way(), 0U);
  EXPECT_THAT(outlet_.ended, testing::Contains(11U));
  const std::size_t before = outlet_.sent.size();
  core().answered(outlet_.asked[0].call, {NodeAnswer::Kind::ok, 1});
  EXPECT_EQ(outlet_.sent.size(), before);
}

TEST_F(McpCoreTest, takes_a_closed_stream_as_cancellation_in_the_modern_era_only) {
  ask("a", "tools/call", modern(tool("count")), 11);
  core().closed(12);
  EXPECT_EQ(core().under_way(), 1U);
  core().closed(11);
  EXPECT_EQ(core().under_way(), 0U);
  initialize();
  ask("b", "tools/call", tool("count"), 11);
  core().closed(11);
  EXPECT_EQ(core().under_way(), 1U);
}

TEST_F(McpCoreTest, refuses_an_id_that_is_under_way_and_one_request_too_many) {
  initialize();
  ask("a", "tools/call", tool("count"));
  EXPECT_EQ(ask("a", "ping", {}).back().message.at("error").at("code"), k_invalid_request);
  EXPECT_EQ(ask("b", "ping", {}).size(), 1U);
  for (std::size_t i = 0; i < k_requests_max; ++i) ask(i, "tools/call", tool("count"));
  EXPECT_EQ(core().under_way(), k_requests_max);
  EXPECT_EQ(error_code("ping", {}), k_internal_error);
}

TEST_F(McpCoreTest, lists_prompts_and_resources_and_knows_its_cursors) {
  initialize();
  EXPECT_EQ(result("prompts/list", {}).at("prompts").at(0).at("arguments").at(0).at("required"), true);
  EXPECT_EQ(result("resources/list", {}).at("resources").as_array().size(), 1U);
  EXPECT_EQ(result("resources/templates/list", {}).at("resourceTemplates").at(0).at("uriTemplate"),
            "skein://tasks/{id}");
  for (const char* bad : {"\"\"", "\"0\"", "\"99\"", "\"1x\"", "\"-1\"", "7", "null"}) {
    EXPECT_EQ(error_code("tools/list", {{"cursor", json::parse(bad)}}), k_invalid_params) << bad;
  }
  EXPECT_EQ(error_code("prompts/get", {{"name", "plan"}}), k_invalid_params);
  EXPECT_EQ(error_code("prompts/get", {{"name", "plan"}, {"arguments", {{"goal", 1}}}}), k_invalid_params);
  EXPECT_TRUE(result("prompts/get", {{"name", "plan"}, {"arguments", {{"goal", "g"}}}}).contains("messages"));
}

TEST_F(McpCoreTest, reads_resources_and_says_in_each_eras_way_that_there_is_none) {
  initialize();
  EXPECT_EQ(result("resources/read", {{"uri", "skein://tree"}}).at("contents").at(0).at("text"), "skein://tree");
  EXPECT_EQ(result("resources/read", {{"uri", "skein://tasks/42"}}).at("contents").at(0).at("text"), "42");
  EXPECT_EQ(error_code("resources/read", {{"uri", "skein://tasks/"}}), k_resource_not_found);
  EXPECT_EQ(error_code("resources/read", {{"uri", "skein://tasks/4/2"}}), k_resource_not_found);
  const json::object modern_error = answer("resources/read", modern({{"uri", "skein://no"}})).at("error").as_object();
  EXPECT_EQ(modern_error.at("code"), k_invalid_params);
  EXPECT_EQ(modern_error.at("data").at("uri"), "skein://no");
  EXPECT_EQ(result("resources/read", modern({{"uri", "skein://tree"}})).at("cacheScope"), "private");
}

TEST_F(McpCoreTest, completes_nothing_where_nothing_is_suggested) {
  initialize();
  const json::object params{{"ref", {{"type", "ref/prompt"}, {"name", "plan"}}},
                            {"argument", {{"name", "goal"}, {"value", "x"}}}};
  EXPECT_TRUE(result("completion/complete", params).at("completion").at("values").as_array().empty());
  EXPECT_EQ(error_code("completion/complete", {{"ref", {{"type", "ref/prompt"}, {"name", "plan"}}}}), k_invalid_params);
  EXPECT_EQ(error_code("completion/complete", {{"ref", {{"type", "ref/prompt"}, {"name", "none"}}},
                                               {"argument", {{"name", "goal"}, {"value", "x"}}}}),
            k_invalid_params);
}

// ---- input of the client ----

TEST_F(McpCoreTest, asks_a_legacy_client_while_the_request_waits) {
  initialize(k_legacy_version, elicits());
  auto sent = ask(50, "tools/call", tool("ask"), 11);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].to, 11U);
  EXPECT_EQ(sent[0].message.at("method"), "elicitation/create");
  const auto reply = [&](const json::value& id, const char* action) {
    core().receive(12, json::serialize(make_result(id, {{"action", action}})));
  };
  reply("no-such", "accept");
  EXPECT_EQ(core().under_way(), 1U);
  reply(outlet_.sent.back().message.at("id"), "accept");
  EXPECT_EQ(outlet_.sent.back().message.at("params").at("message"), "second");
  reply(outlet_.sent.back().message.at("id"), "decline");
  EXPECT_EQ(text_of(outlet_.sent.back().message.at("result").as_object()), "acceptdecline after second");
  EXPECT_EQ(outlet_.sent.back().to, 11U);
}

TEST_F(McpCoreTest, does_not_wait_for_ever_for_a_legacy_client_nor_ask_one_that_cannot) {
  initialize();
  EXPECT_THAT(text_of(result("tools/call", tool("ask"))), HasSubstr("declares elicitation"));
  new_core();
  initialize(k_legacy_version, elicits());
  ask(50, "tools/call", tool("ask"));
  ASSERT_EQ(outlet_.wakes.size(), 1U);
  core().woken(outlet_.wakes[0].timer);
  EXPECT_THAT(text_of(outlet_.sent.back().message.at("result").as_object()), HasSubstr("in time"));
  ask(51, "tools/call", tool("ask"));
  const json::value id = outlet_.sent.back().message.at("id");
  core().receive(1, json::serialize(make_error(id, {-1, "no user here", nullptr})));
  EXPECT_THAT(text_of(outlet_.sent.back().message.at("result").as_object()), HasSubstr("no user here"));
}

TEST_F(McpCoreTest, ends_a_modern_request_with_what_it_needs_and_goes_on_when_it_comes_again) {
  const json::object first = result("tools/call", modern(tool("ask"), elicits()));
  EXPECT_EQ(first.at("resultType"), "input_required");
  EXPECT_EQ(first.at("inputRequests").at("first").at("method"), "elicitation/create");
  json::object again = modern(tool("ask"), elicits());
  again["requestState"] = first.at("requestState");
  again["inputResponses"] = {{"first", {{"action", "accept"}}}};
  const json::object second = result("tools/call", again);
  EXPECT_TRUE(second.at("inputRequests").as_object().contains("second"));
  new_core();  // nothing is kept here in between
  again["requestState"] = second.at("requestState");
  again["inputResponses"] = {{"second", {{"action", "cancel"}}}};
  EXPECT_EQ(text_of(result("tools/call", again)), "acceptcancel after second");
}

TEST_F(McpCoreTest, takes_input_as_deep_as_a_message_may_be) {
  json::value deep = json::object();
  for (std::size_t i = 0; i + 8 < k_message_depth_max; ++i) deep = json::object{{"a", std::move(deep)}};
  json::object again = modern(tool("ask"), elicits());
  again["inputResponses"] = {{"first", {{"action", "accept"}, {"content", std::move(deep)}}}};
  const json::object first = result("tools/call", again);
  again["requestState"] = first.at("requestState");
  again["inputResponses"] = {{"second", {{"action", "cancel"}}}};
  EXPECT_EQ(text_of(result("tools/call", again)), "acceptcancel after second");
}

TEST_F(McpCoreTest, takes_no_request_state_that_was_changed_or_is_old_or_of_another_request) {
  const json::object first = result("tools/call", modern(tool("ask"), elicits()));
  std::string state(first.at("requestState").as_string());
  json::object again = modern(tool("ask"), elicits());
  again["requestState"] = state;
  again["arguments"] = json::object{{"other", 1}};
  EXPECT_EQ(error_code("tools/call", again), k_invalid_params);
  again = modern(tool("ask"), elicits());
  again["requestState"] = state;
  EXPECT_EQ(result("tools/call", again).at("resultType"), "input_required");
  now_s_ += k_input_wait_max.count() + 1;
  EXPECT_EQ(error_code("tools/call", again), k_invalid_params);
  now_s_ -= k_input_wait_max.count() + 1;
  state[state.size() / 2] = state[state.size() / 2] == 'A' ? 'B' : 'A';
  again["requestState"] = state;
  EXPECT_EQ(error_code("tools/call", again), k_invalid_params);
  again["requestState"] = 7;
  EXPECT_EQ(error_code("tools/call", again), k_invalid_params);
}

TEST_F(McpCoreTest, names_the_capability_a_modern_client_lacks) {
  const json::object error = answer("tools/call", modern(tool("ask"))).at("error").as_object();
  EXPECT_EQ(error.at("code"), k_missing_capability);
  EXPECT_TRUE(error.at("data").at("requiredCapabilities").at("elicitation").is_object());
  EXPECT_EQ(outlet_.sent.back().status, 400);
}

// ---- answers that nobody wants ----

TEST_F(McpCoreTest, gives_up_what_it_asked_the_node_for_a_request_that_is_cancelled) {
  ask(1, "tools/call", modern(tool("count")), 11);
  ask(2, "tools/call", modern(tool("count")), 12);
  const std::uint64_t first = outlet_.asked[0].call;
  const std::uint64_t second = outlet_.asked[1].call;
  notify("notifications/cancelled", {{"requestId", 1}});
  EXPECT_THAT(outlet_.given_up, ElementsAre(first));
  core().closed(12);
  EXPECT_THAT(outlet_.given_up, ElementsAre(first, second));
  ask(3, "tools/call", modern(tool("count")));
  core().answered(outlet_.asked.back().call, {NodeAnswer::Kind::ok, json::object()});
  EXPECT_EQ(outlet_.given_up.size(), 2U) << "what was answered is not given up";
}

// ---- handlers that throw ----

TEST_F(McpCoreTest, answers_for_a_handler_that_throws_and_goes_on) {
  const auto add = [&](const char* name, Handler call) {
    catalog_->add(Tool{name, "", "Throws", json::parse(R"({"type":"object"})"), {}, {}, std::move(call)});
  };
  const auto throws = [](Exchange&) { throw std::out_of_range("planted"); };
  add("at_once", throws);
  add("when_answered", [](Exchange& exchange) {
    exchange.ask_node("status", {}, [](Exchange&, const NodeAnswer&) { throw std::out_of_range("planted"); });
  });
  add("when_woken", [throws](Exchange& exchange) { exchange.after(std::chrono::seconds(1), throws); });
  add("when_told", [](Exchange& exchange) {
    if (exchange.input("q") != nullptr) throw std::out_of_range("planted");
    const json::object schema{{"type", "object"}, {"properties", json::object()}};
    exchange.need({{"q", "elicitation/create", {{"message", "q"}, {"requestedSchema", schema}}}});
  });
  const auto expect_internal = [&](int id) {
    EXPECT_EQ(outlet_.sent.back().message.at("id"), id);
    EXPECT_EQ(outlet_.sent.back().message.at("error").at("code"), k_internal_error);
    EXPECT_EQ(core().under_way(), 0U);
    EXPECT_THAT(logged_.back(), HasSubstr("planted"));
  };
  initialize(k_legacy_version, elicits());
  ask(1001, "tools/call", tool("at_once"));
  expect_internal(1001);
  ask(1002, "tools/call", tool("when_answered"));
  core().answered(outlet_.asked.back().call, {NodeAnswer::Kind::ok, json::object()});
  expect_internal(1002);
  ask(1003, "tools/call", tool("when_woken"));
  core().woken(outlet_.wakes.back().timer);
  expect_internal(1003);
  const auto asked = ask(1004, "tools/call", tool("when_told"));
  core().receive(3,
                 json::serialize(json::object{
                     {"jsonrpc", "2.0"}, {"id", asked.back().message.at("id")}, {"result", {{"action", "accept"}}}}));
  expect_internal(1004);
  EXPECT_EQ(text_of(result("tools/call", tool("echo", {{"text", "still here"}}))), "still here");
}

// ---- subscriptions ----

TEST_F(McpCoreTest, tells_a_legacy_session_of_the_resources_it_subscribed_to) {
  initialize();
  EXPECT_EQ(outlet_.watched, Outlet::Watch::lists);
  EXPECT_EQ(error_code("resources/subscribe", {{"uri", "skein://none"}}), k_resource_not_found);
  result("resources/subscribe", {{"uri", "skein://tree"}});
  EXPECT_EQ(outlet_.watched, Outlet::Watch::everything);
  core().changed({Change::Kind::resource, "skein://tasks/1"});
  const std::size_t before = outlet_.sent.size();
  core().changed({Change::Kind::resource, "skein://tree"});
  ASSERT_EQ(outlet_.sent.size(), before + 1);
  EXPECT_EQ(outlet_.sent.back().to, k_own_stream);
  EXPECT_EQ(outlet_.sent.back().message.at("params").at("uri"), "skein://tree");
  // Again too soon: told once, later.
  core().changed({Change::Kind::resource, "skein://tree"});
  core().changed({Change::Kind::resource, "skein://tree"});
  EXPECT_EQ(outlet_.sent.size(), before + 1);
  core().woken(outlet_.wakes.back().timer);
  EXPECT_EQ(outlet_.sent.size(), before + 2);
  core().woken(outlet_.wakes.back().timer);
  result("resources/unsubscribe", {{"uri", "skein://tree"}});
  const std::size_t after = outlet_.sent.size();
  core().changed({Change::Kind::resource, "skein://tree"});
  EXPECT_EQ(outlet_.sent.size(), after);
}

TEST_F(McpCoreTest, acknowledges_a_listen_and_sends_what_was_asked_for_under_its_id) {
  const json::object wanted{{"toolsListChanged", true}, {"resourceSubscriptions", json::array{"skein://tree"}}};
  auto sent = ask("listen:0", "subscriptions/listen", modern({{"notifications", wanted}}), 21);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].message.at("method"), "notifications/subscriptions/acknowledged");
  EXPECT_EQ(sent[0].message.at("params").at("notifications"), wanted);
  EXPECT_EQ(outlet_.watched, Outlet::Watch::everything);
  core().changed({Change::Kind::prompts, ""});
  core().changed({Change::Kind::tools, ""});
  core().changed({Change::Kind::resource, "skein://tree"});
  ASSERT_EQ(outlet_.sent.size(), 3U);
  for (const Sent& each : outlet_.sent) {
    EXPECT_EQ(each.to, 21U);
    EXPECT_EQ(each.message.at("params").at("_meta").at(k_meta_subscription), "listen:0");
    EXPECT_FALSE(each.is_last);
  }
  core().shut_down();
  EXPECT_TRUE(outlet_.sent.back().is_last);
  EXPECT_EQ(outlet_.sent.back().message.at("result").at("_meta").at(k_meta_subscription), "listen:0");
  EXPECT_EQ(outlet_.watched, Outlet::Watch::nothing);
}

TEST_F(McpCoreTest, tells_of_all_that_is_subscribed_to_after_changes_were_missed) {
  initialize();
  result("resources/subscribe", {{"uri", "skein://tree"}});
  ask("l", "subscriptions/listen",
      modern({{"notifications", {{"resourceSubscriptions", json::array{"skein://tasks/1"}}}}}), 21);
  const std::size_t before = outlet_.sent.size();
  core().lost_track();
  ASSERT_FALSE(outlet_.wakes.empty()) << "nobody was told";
  core().woken(outlet_.wakes.back().timer);
  std::set<std::string> told;
  for (std::size_t i = before; i < outlet_.sent.size(); ++i) {
    EXPECT_EQ(outlet_.sent[i].message.at("method"), "notifications/resources/updated");
    told.emplace(outlet_.sent[i].message.at("params").at("uri").as_string());
  }
  EXPECT_THAT(told, ElementsAre("skein://tasks/1", "skein://tree"));
}

TEST_F(McpCoreTest, bounds_what_is_listened_to) {
  json::array many(k_subscriptions_max + 1, json::value("skein://tree"));
  EXPECT_EQ(error_code("subscriptions/listen", modern({{"notifications", {{"resourceSubscriptions", many}}}})),
            k_invalid_params);
  EXPECT_EQ(error_code("subscriptions/listen", modern()), k_invalid_params);
  for (std::size_t i = 0; i < k_listens_max; ++i) {
    ask(1000 + i, "subscriptions/listen", modern({{"notifications", json::object()}}));
  }
  EXPECT_EQ(error_code("subscriptions/listen", modern({{"notifications", json::object()}})), k_internal_error);
}

TEST_F(McpCoreTest, logs_what_the_client_wants_to_hear) {
  catalog_->add(Tool{"loud", "", "Logs", json::parse(R"({"type":"object"})"), {}, {}, [](Exchange& exchange) {
                       exchange.log("debug", "t", "d");
                       exchange.log("warning", "t", "w");
                       exchange.finish(text_result("loud"));
                     }});
  const auto levels = [](const std::vector<Sent>& sent) {
    std::vector<std::string> all;
    for (const Sent& each : sent) {
      if (!each.is_last) all.emplace_back(each.message.at("params").at("level").as_string());
    }
    return all;
  };
  EXPECT_THAT(levels(ask("m", "tools/call", modern(tool("loud")))), ElementsAre());
  json::object params = modern(tool("loud"));
  params["_meta"].as_object()[k_meta_log_level] = "debug";
  EXPECT_THAT(levels(ask("m", "tools/call", params)), ElementsAre("debug", "warning"));
  initialize();
  EXPECT_THAT(levels(ask("m", "tools/call", tool("loud"))), ElementsAre("warning"));
  result("logging/setLevel", {{"level", "debug"}});
  EXPECT_THAT(levels(ask("m", "tools/call", tool("loud"))), ElementsAre("debug", "warning"));
  EXPECT_EQ(error_code("logging/setLevel", {{"level", "loud"}}), k_invalid_params);
}

// ---- catalog ----

TEST_F(McpCoreTest, refuses_to_offer_what_clients_trip_over) {
  const auto tool_named = [](std::string name, const char* schema) {
    return Tool{std::move(name), "", "", json::parse(schema), {}, {}, {}};
  };
  EXPECT_THROW(catalog_->add(tool_named("echo", R"({"type":"object"})")), std::invalid_argument);
  EXPECT_THROW(catalog_->add(tool_named("has space", R"({"type":"object"})")), std::invalid_argument);
  EXPECT_THROW(catalog_->add(tool_named(std::string(65, 'a'), R"({"type":"object"})")), std::invalid_argument);
  EXPECT_THROW(catalog_->add(tool_named("a", R"({"anyOf":[{"type":"object"}]})")), std::invalid_argument);
  EXPECT_THROW(catalog_->add(tool_named("a", R"({"type":"object","required":null})")), std::invalid_argument);
  EXPECT_NO_THROW(catalog_->add(tool_named("a", R"({"type":"object"})")));
}

}  // namespace
}  // namespace skein::inline v0::mcp
