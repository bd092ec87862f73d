// MCP on the Unix socket, as `skein mcp` uses it: real bytes on a real socket, a node whose answers the test holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>

#include "skein/control/test_socket.hpp"
#include "skein/mcp/node_catalog.hpp"

namespace skein::inline v0::control {
namespace {

using testing::HasSubstr;
namespace json = boost::json;

class McpSocketTest : public SocketTest {
 protected:
  RawClient attached(const SocketLimits& limits = {}) {
    auto server = std::make_shared<mcp::Server>();
    server->runtime = runtime_.get();
    server->hooks = hooks_;
    server->catalog = mcp::make_node_catalog();
    server->sealer = std::make_shared<const mcp::Sealer>("key");
    server->bulletin = std::make_shared<mcp::Bulletin>(*runtime_);
    shared_->mcp = server;
    listen(limits);
    RawClient client = greeted();
    client.send("{\"id\":2,\"op\":\"mcp\"}\n");
    EXPECT_TRUE(client.line().as_object().contains("ok"));
    return client;
  }
  static std::string request(const json::value& id, std::string_view method, json::object params) {
    params["_meta"] =
        json::object{{mcp::k_meta_version, mcp::k_modern_version}, {mcp::k_meta_capabilities, json::object()}};
    return json::serialize(mcp::make_request(id, method, std::move(params))) + "\n";
  }
};

TEST_F(McpSocketTest, is_spoken_after_it_was_asked_for) {
  RawClient client = attached();
  client.send(request("server-discover-probe-1", "server/discover", {}));
  const json::value found = client.line();
  EXPECT_EQ(found.at("id"), "server-discover-probe-1");
  EXPECT_EQ(found.at("result").at("supportedVersions").at(0), "2026-07-28");
  client.send(request(7, "tools/list", {}));
  EXPECT_EQ(client.line().at("result").at("tools").as_array().size(), 24U);
}

TEST_F(McpSocketTest, reaches_the_node) {
  RawClient client = attached();
  client.send(request(1, "tools/call", {{"name", "agent_list"}, {"arguments", json::object()}}));
  const json::value answer = client.line();
  EXPECT_EQ(answer.at("result").at("structuredContent").at("total"), 0);
  client.send(request(2, "tools/call", {{"name", "task_status"}, {"arguments", {{"id", "x"}}}}));
  const json::value away = client.line();
  EXPECT_EQ(away.at("result").at("isError"), true);
  EXPECT_THAT(std::string(away.at("result").at("content").at(0).at("text").as_string()), HasSubstr("try again"));
}

TEST_F(McpSocketTest, speaks_the_legacy_era_too_and_survives_lines_that_are_no_messages) {
  RawClient client = attached();
  client.send(
      "garbage\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
      "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}\r\n");
  EXPECT_EQ(client.line().at("error").at("code"), mcp::k_parse_error);
  EXPECT_EQ(client.line().at("result").at("protocolVersion"), "2025-06-18");
  client.send(
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n");
  EXPECT_EQ(client.line().at("id"), "p");
}

TEST_F(McpSocketTest, answers_what_was_asked_before_the_client_closed_its_side) {
  RawClient client = attached();
  client.send(request("listen", "subscriptions/listen", {{"notifications", json::object()}}) +
              request(1, "tools/call", {{"name", "swarm_list"}, {"arguments", json::object()}}));
  client.half_close();
  EXPECT_EQ(client.line().at("method"), "notifications/subscriptions/acknowledged");
  EXPECT_EQ(client.line().at("id"), 1);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(McpSocketTest, holds_back_a_client_that_asks_for_more_than_it_reads_and_answers_all) {
  SocketLimits limits;
  limits.output_bytes = 256ULL << 10U;
  RawClient client = attached(limits);
  constexpr int k_asked = 400;
  std::string all;
  for (int i = 0; i < k_asked; ++i) {
    // Some are answered at once, and some by the node, when much else waits to be read.
    all += i % 50 == 49 ? request(i, "tools/call", {{"name", "tree"}, {"arguments", json::object()}})
                        : request(i, "tools/list", {});
  }
  ASSERT_TRUE(client.send(all));
  client.half_close();
  std::set<std::int64_t> ids;
  for (int i = 0; i < k_asked; ++i) {
    const json::value answer = client.line();
    ASSERT_TRUE(answer.is_object()) << "closed after " << i << " answers";
    ids.insert(answer.at("id").as_int64());
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(k_asked));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(McpSocketTest, ends_on_a_line_that_is_too_long) {
  RawClient client = attached();
  const std::string much(mcp::k_message_bytes_max + 2, 'x');
  client.send(much);
  EXPECT_EQ(client.line().at("error").at("code"), mcp::k_invalid_request);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(McpSocketTest, tells_who_listens_when_the_node_goes_down) {
  RawClient client = attached();
  client.send(request("l", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}));
  client.line();
  stop_tree(*runtime_, pool_, std::chrono::seconds(10));
  const json::value last = client.line();
  EXPECT_EQ(last.at("id"), "l");
  EXPECT_EQ(last.at("result").at("_meta").at(mcp::k_meta_subscription), "l");
  pool_ = {};
}

TEST_F(McpSocketTest, is_refused_where_it_is_not_spoken) {
  listen();
  RawClient client = greeted();
  client.send("{\"id\":2,\"op\":\"mcp\"}\n");
  EXPECT_EQ(client.line().at("error").at("code"), "invalid");
}

}  // namespace
}  // namespace skein::inline v0::control
