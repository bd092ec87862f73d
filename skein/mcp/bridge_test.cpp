#include "skein/mcp/bridge.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "skein/mcp/protocol.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/methods.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json::object refusal_of_a_stopping_node() {
  const std::string text = error_text(operations::to_json(operations::not_taken_while_draining()));
  return {{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}, {"isError", true}};
}

class BridgeTest : public testing::Test {
 protected:
  void client(const json::object& message) { bridge_.from_client(json::serialize(message), now_); }
  void node(const json::object& message) { bridge_.from_node(json::serialize(message)); }
  std::vector<json::value> for_client() { return parsed(bridge_.take_for_client()); }
  std::vector<json::value> for_node() { return parsed(bridge_.take_for_node()); }
  void pass(Duration time) {
    now_ = later(now_, time);
    bridge_.on_time(now_);
  }
  // A legacy client with its session begun.
  void begin_session() {
    bridge_.connected();
    client(make_request(0, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", json::object()}}));
    node(make_result(0, {{"protocolVersion", "2025-11-25"}}));
    client(make_notification("notifications/initialized", {}));
    for_client();
    for_node();
  }
  // The node answers everything that the bridge has said to it.
  void answer_all(const std::vector<json::value>& requests) {
    for (const json::value& each : requests) {
      if (each.as_object().contains("id")) node(make_result(each.at("id"), {}));
    }
  }

  Bridge bridge_;
  Instant now_{1h};

 private:
  static std::vector<json::value> parsed(const std::vector<std::string>& lines) {
    std::vector<json::value> all;
    for (const std::string& each : lines) all.push_back(json::parse(each));
    return all;
  }
};

TEST_F(BridgeTest, hands_everything_on_while_there_is_a_node) {
  bridge_.connected();
  const json::object asked = make_request("a", "tools/list", {});
  client(asked);
  EXPECT_THAT(for_node(), ElementsAre(asked));
  EXPECT_EQ(bridge_.owed(), 1U);
  const json::object log = make_notification("notifications/message", {{"level", "info"}});
  node(log);
  node(make_result("a", {{"tools", json::array()}}));
  EXPECT_THAT(for_client(), ElementsAre(log, make_result("a", {{"tools", json::array()}})));
  EXPECT_EQ(bridge_.owed(), 0U);
}

TEST_F(BridgeTest, answers_at_once_where_waiting_for_the_node_does_not_help) {
  client(make_request(0, "initialize", {}));
  EXPECT_THAT(for_client(), IsEmpty());
  bridge_.disconnected("the token is unknown", now_, true);
  client(make_request("b", "tools/list", {}));
  const auto told = for_client();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].at("id"), 0);
  EXPECT_EQ(told[1].at("id"), "b");
  for (const json::value& each : told) EXPECT_EQ(each.at("error").at("message"), "the token is unknown");
  EXPECT_EQ(bridge_.owed(), 0U);
  bridge_.connected();
  client(make_request("c", "tools/list", {}));
  EXPECT_THAT(for_node(), ElementsAre(make_request("c", "tools/list", {}))) << "it goes on when it was mended";
}

TEST_F(BridgeTest, says_why_the_node_closed_the_connection) {
  bridge_.connected();
  client(make_request(1, "tools/call", {{"name", "task_wait"}}));
  bridge_.closing("the token 'ci' was revoked");
  bridge_.disconnected("it is gone", now_);
  const auto told = for_client();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("id"), 1);
  EXPECT_THAT(told[0].at("error").at("message").as_string().c_str(),
              HasSubstr("before it answered: the token 'ci' was revoked. Call again once that is fixed"));
}

TEST_F(BridgeTest, answers_what_is_under_way_when_the_node_goes) {
  bridge_.connected();
  client(make_request(1, "tools/call", {{"name", "task_wait"}}));
  client(make_request("two", "tools/list", {}));
  for_node();
  bridge_.disconnected("it is gone", now_);
  const auto told = for_client();
  ASSERT_EQ(told.size(), 2U);
  for (const json::value& each : told)
    EXPECT_THAT(each.at("error").at("message").as_string().c_str(), HasSubstr("Call again"));
  EXPECT_EQ(bridge_.owed(), 0U);
  bridge_.connected();
  EXPECT_THAT(for_node(), IsEmpty()) << "what may have been done is not done again";
}

TEST_F(BridgeTest, gives_a_call_that_a_stopping_node_has_not_taken_to_the_next_node) {
  bridge_.connected();
  const json::object asked = make_request(1, "tools/call", {{"name", "task_submit"}});
  client(asked);
  for_node();
  node(make_result(1, refusal_of_a_stopping_node()));
  EXPECT_THAT(for_client(), IsEmpty());
  EXPECT_EQ(bridge_.owed(), 1U);
  EXPECT_EQ(bridge_.under_way(), 0U) << "the node owes nothing";
  client(make_request(2, "tools/list", {}));
  EXPECT_THAT(for_node(), ElementsAre(make_request(2, "tools/list", {}))) << "it answers the others";
  node(make_result(2, {}));
  EXPECT_EQ(for_client().size(), 1U);
  bridge_.disconnected("gone", now_);
  EXPECT_THAT(for_client(), IsEmpty());
  bridge_.connected();
  EXPECT_THAT(for_node(), ElementsAre(asked));
  node(make_result(1, {{"structuredContent", {{"id", "t"}}}}));
  EXPECT_THAT(for_client(), ElementsAre(make_result(1, {{"structuredContent", {{"id", "t"}}}})));
  EXPECT_EQ(bridge_.owed(), 0U);
}

TEST_F(BridgeTest, hands_a_refusal_on_when_no_other_node_comes_in_time) {
  bridge_.connected();
  client(make_request(1, "tools/call", {{"name", "task_submit"}}));
  const json::object refused = make_result(1, refusal_of_a_stopping_node());
  pass(5s);
  node(refused);
  client(make_request(1, "tools/call", {{"name", "task_submit"}}));
  EXPECT_EQ(for_client().at(0).at("error").at("message"), "a request with this id is still in progress");
  // A node that is still stopping was connected to again: the time goes on from the client's request.
  bridge_.disconnected("gone", now_);
  bridge_.connected();
  node(refused);
  pass(k_bridge_wait - 5s - 1ms);
  EXPECT_THAT(for_client(), IsEmpty());
  pass(1ms);
  EXPECT_THAT(for_client(), ElementsAre(refused));
  EXPECT_EQ(bridge_.owed(), 0U);
  EXPECT_EQ(bridge_.due(), std::nullopt);
}

TEST_F(BridgeTest, hands_on_other_errors_of_a_stopping_node) {
  bridge_.connected();
  // What was taken may have been done, and a result may have any text.
  for (const char* const name : {"code", "text"}) {
    client(make_request(1, "tools/call", {{"name", "task_submit"}}));
    json::object answer = refusal_of_a_stopping_node();
    if (std::string_view(name) == "code") {
      answer.at("content").at(0).at("text") = "the node is stopping (the journal is stopped) [stopped]";
    } else {
      answer.erase("isError");
    }
    node(make_result(1, answer));
    EXPECT_EQ(for_client().size(), 1U) << name;
    EXPECT_EQ(bridge_.owed(), 0U) << name;
  }
}

TEST_F(BridgeTest, lets_a_request_wait_for_the_node_but_not_for_ever) {
  bridge_.disconnected("start it with 'skein up'", now_);
  client(make_request(1, "tools/list", {}));
  pass(k_bridge_wait - 1ms);
  EXPECT_THAT(for_client(), IsEmpty());
  EXPECT_EQ(bridge_.due(), later(now_, 1ms));
  pass(1ms);
  const auto told = for_client();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("id"), 1);
  EXPECT_THAT(told[0].at("error").at("message").as_string().c_str(), HasSubstr("skein up"));
  client(make_request(2, "tools/list", {}));
  client(make_request(3, "ping", {}));
  bridge_.connected();
  EXPECT_THAT(for_node(), ElementsAre(make_request(2, "tools/list", {}), make_request(3, "ping", {})));
  EXPECT_EQ(bridge_.owed(), 2U);
}

TEST_F(BridgeTest, begins_the_session_of_a_legacy_client_anew) {
  begin_session();
  client(make_request(1, "logging/setLevel", {{"level", "debug"}}));
  client(make_request(2, "resources/subscribe", {{"uri", "skein://tree"}}));
  client(make_request(3, "resources/subscribe", {{"uri", "skein://tasks"}}));
  client(make_request(4, "resources/unsubscribe", {{"uri", "skein://tasks"}}));
  client(make_request(5, "resources/subscribe", {{"uri", "skein://none"}}));
  for (const int id : {1, 2, 3, 4}) node(make_result(id, {}));
  node(make_error(5, {k_resource_not_found, "no", nullptr}));
  for_client();
  for_node();
  bridge_.disconnected("gone", now_);
  EXPECT_THAT(for_client(), IsEmpty());
  client(make_request(6, "tools/list", {}));
  bridge_.connected();
  const auto said = for_node();
  ASSERT_EQ(said.size(), 5U);
  EXPECT_EQ(said[0].at("method"), "initialize");
  EXPECT_EQ(said[0].at("params").at("protocolVersion"), "2025-11-25");
  EXPECT_EQ(said[1].at("method"), "notifications/initialized");
  EXPECT_EQ(said[2].at("params"), (json::object{{"level", "debug"}}));
  EXPECT_EQ(said[3].at("params"), (json::object{{"uri", "skein://tree"}}));
  EXPECT_EQ(said[4].at("id"), 6);
  answer_all(said);
  EXPECT_THAT(for_client(), ElementsAre(make_notification("notifications/resources/updated", {{"uri", "skein://tree"}}),
                                        make_result(6, {})))
      << "the client sees only that something may have changed, and its own answer";
}

TEST_F(BridgeTest, repeats_an_initialize_that_was_not_answered) {
  bridge_.connected();
  const json::object asked = make_request(0, "initialize", {{"protocolVersion", "2025-11-25"}});
  client(asked);
  for_node();
  bridge_.disconnected("gone", now_);
  EXPECT_THAT(for_client(), IsEmpty());
  bridge_.connected();
  EXPECT_THAT(for_node(), ElementsAre(asked));
}

TEST_F(BridgeTest, goes_on_listening_for_a_modern_client) {
  bridge_.connected();
  const json::object asked =
      make_request("listen:0", "subscriptions/listen",
                   {{"notifications", {{"resourceSubscriptions", json::array{"skein://tree"}}}}});
  const json::object acknowledged =
      make_notification("notifications/subscriptions/acknowledged",
                        {{"_meta", {{k_meta_subscription, "listen:0"}}},
                         {"notifications", {{"resourceSubscriptions", json::array{"skein://tree"}}}}});
  client(asked);
  node(acknowledged);
  EXPECT_THAT(for_client(), ElementsAre(acknowledged));
  for_node();
  EXPECT_EQ(bridge_.owed(), 0U) << "it is not waited for";
  node(make_result("listen:0", {}));  // as a node that stops says it
  bridge_.disconnected("gone", now_);
  EXPECT_THAT(for_client(), IsEmpty());
  bridge_.connected();
  EXPECT_THAT(for_node(), ElementsAre(asked));
  node(acknowledged);
  const auto told = for_client();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("method"), "notifications/resources/updated");
  EXPECT_EQ(told[0].at("params").at("_meta").at(k_meta_subscription), "listen:0");
  client(make_notification("notifications/cancelled", {{"requestId", "listen:0"}}));
  bridge_.disconnected("gone", now_);
  bridge_.connected();
  EXPECT_THAT(for_node(), IsEmpty()) << "it was ended";
}

TEST_F(BridgeTest, drops_a_cancelled_request_that_waits) {
  bridge_.disconnected("gone", now_);
  client(make_request(1, "tools/list", {}));
  client(make_notification("notifications/cancelled", {{"requestId", 1}}));
  bridge_.connected();
  EXPECT_THAT(for_node(), IsEmpty());
  EXPECT_THAT(for_client(), IsEmpty());
}

TEST_F(BridgeTest, keeps_answers_from_a_node_that_did_not_ask) {
  begin_session();
  node(make_request("skein-7", "elicitation/create", {}));
  bridge_.disconnected("gone", now_);
  bridge_.connected();
  for_node();
  client(make_result("skein-7", {{"action", "accept"}}));
  EXPECT_THAT(for_node(), IsEmpty());
  node(make_request("skein-8", "elicitation/create", {}));
  client(make_result("skein-8", {{"action", "accept"}}));
  EXPECT_EQ(for_node().size(), 1U);
}

TEST_F(BridgeTest, tells_a_double_id_from_the_first) {
  bridge_.connected();
  client(make_request(1, "tools/call", {}));
  client(make_request(1, "tools/list", {}));
  node(make_error(1, {k_invalid_request, "a request with this id is still in progress", nullptr}));
  EXPECT_EQ(bridge_.owed(), 1U);
  for_client();
  bridge_.disconnected("gone", now_);
  EXPECT_EQ(for_client().size(), 1U) << "the first is still owed an answer";
}

TEST_F(BridgeTest, bounds_what_waits) {
  bridge_.disconnected("gone", now_);
  for (std::size_t i = 0; i < k_bridge_requests_max + 5; ++i) client(make_request(i, "ping", {}));
  EXPECT_EQ(for_client().size(), 5U);
  EXPECT_EQ(bridge_.owed(), k_bridge_requests_max);
  Bridge full;
  full.disconnected("gone", now_);
  for (int i = 0; i < 20; ++i) {
    full.from_client(fmt::format(R"({{"id":{},"method":"x","params":"{}"}})", i, std::string(1 << 20, 'x')), now_);
  }
  EXPECT_EQ(full.take_for_client().size(), 5U);
}

TEST_F(BridgeTest, answers_a_batch_when_there_is_no_node) {
  bridge_.disconnected("gone", now_);
  bridge_.from_client(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}])", now_);
  EXPECT_EQ(for_client().size(), 2U);
  bridge_.connected();
  bridge_.from_client(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}])", now_);
  EXPECT_EQ(bridge_.owed(), 2U);
  bridge_.from_node(R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}])");
  EXPECT_EQ(bridge_.owed(), 0U);
}

TEST_F(BridgeTest, answers_a_line_that_is_too_long_with_its_id) {
  bridge_.connected();
  bridge_.too_long(MessageGlance(R"({"method":"tools/call","params":"...","id":9})"));
  const auto told = for_client();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("id"), 9);
}

TEST_F(BridgeTest, says_what_is_wrong_with_a_line_also_without_a_node) {
  bridge_.disconnected("gone", now_);
  bridge_.from_client("no JSON", now_);
  const auto told = for_client();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("error").at("code"), k_parse_error);
}

}  // namespace
}  // namespace skein::inline v0::mcp
