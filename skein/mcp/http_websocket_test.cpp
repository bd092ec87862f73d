// MCP in a WebSocket, over a real socket, with frames made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "skein/mcp/test_http.hpp"
#include "skein/net/test_frames.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using net::close_of;
using net::frame_of;
using testing::HasSubstr;
using testing::Not;

class HttpWebSocketTest : public HttpTcpTest {
 protected:
  static net::SeenFrame frame(TcpClient& client) {
    std::string bytes = client.bytes(2);
    while (true) {
      std::string copy = bytes;
      if (auto found = net::take_frame(copy)) return *found;
      const std::string next = client.bytes(1);
      if (next.empty()) return {};
      bytes += next;
    }
  }
  static json::value message(TcpClient& client) {
    const net::SeenFrame got = frame(client);
    return got.first == 0x81 ? json::parse(got.payload) : json::value();
  }
};

TEST_F(HttpWebSocketTest, speaks_both_eras_and_takes_what_was_sent_with_the_handshake) {
  serve();
  TcpClient client(port_);
  client.send(upgrade("Sec-WebSocket-Protocol: mcp\r\n") + frame_of(modern_text("a", "server/discover", {})));
  const std::string head = client.until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Protocol: mcp\r\n"));
  EXPECT_EQ(message(client).at("id"), "a");
  TcpClient old(port_);
  old.send(upgrade());
  EXPECT_THAT(old.until("\r\n\r\n"), Not(HasSubstr("Sec-WebSocket-Protocol")));
  old.send(frame_of(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":
                       {"protocolVersion":"2025-06-18","capabilities":{}}})"));
  EXPECT_EQ(message(old).at("result").at("protocolVersion"), "2025-06-18");
  old.send(frame_of(R"({"jsonrpc":"2.0","id":"p","method":"ping"})"));
  EXPECT_EQ(message(old).at("id"), "p");
}

TEST_F(HttpWebSocketTest, answers_long_calls_and_tells_of_changes_on_one_connection) {
  serve();
  TcpClient client(port_);
  client.send(upgrade() +
              frame_of(modern_text("l", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}})) +
              frame_of(modern_text(2, "tools/call", {{"name", "test_trigger_tool_change"}})) + frame_of("garbage") +
              frame_of("ping", {.first = 0x89}));
  client.until("\r\n\r\n");
  std::string all;
  for (int i = 0; i < 5; ++i) all += frame(client).payload + "\n";
  EXPECT_THAT(all, HasSubstr("notifications/subscriptions/acknowledged"));
  EXPECT_THAT(all, HasSubstr("notifications/tools/list_changed"));
  EXPECT_THAT(all, HasSubstr("\"id\":2"));
  EXPECT_THAT(all, HasSubstr(std::to_string(k_parse_error)));
  EXPECT_THAT(all, HasSubstr("\nping\n"));
}

TEST_F(HttpWebSocketTest, wants_the_token_in_a_header_or_where_a_browser_can_put_it) {
  serve("secret");
  const auto status = [&](const std::string& more) {
    TcpClient client(port_);
    client.send(upgrade(more));
    return client.until("\r\n\r\n").substr(0, 12);
  };
  EXPECT_EQ(status("Authorization: Bearer secret\r\n"), "HTTP/1.1 101");
  EXPECT_EQ(status("Sec-WebSocket-Protocol: mcp, bearer.secret\r\n"), "HTTP/1.1 101");
  EXPECT_EQ(status(""), "HTTP/1.1 401");
  EXPECT_EQ(status("Sec-WebSocket-Protocol: mcp, bearer.guess\r\n"), "HTTP/1.1 401");
  EXPECT_EQ(status("Authorization: Bearer guess\r\nSec-WebSocket-Protocol: bearer.secret\r\n"), "HTTP/1.1 401");
  EXPECT_EQ(status("Authorization: Bearer guess\r\n"), "HTTP/1.1 401");
  EXPECT_EQ(status("Authorization: Bearer guess\r\n"), "HTTP/1.1 429") << "guesses are few";
  EXPECT_EQ(status(""), "HTTP/1.1 401") << "who shows no token guesses nothing";
  EXPECT_EQ(status("Authorization: Bearer secret\r\nOrigin: http://evil.example\r\n"), "HTTP/1.1 403");
  EXPECT_EQ(status("Authorization: Bearer secret\r\nOrigin: http://127.0.0.1:8080\r\n"), "HTTP/1.1 101");
  TcpClient post(port_);
  post.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nSec-WebSocket-Protocol: bearer.secret\r\n\r\n");
  EXPECT_THAT(post.until("\r\n\r\n"), HasSubstr("401")) << "it is no way in for anything else";
}

TEST_F(HttpWebSocketTest, says_what_is_wrong_with_a_handshake_and_goes_on_with_http) {
  serve();
  TcpClient client(port_);
  client.send("GET /mcp/ws HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.until("Upgrade: websocket\n"), HasSubstr("426 Upgrade Required"));
  client.send(upgrade());
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("101"));
}

TEST_F(HttpWebSocketTest, ends_with_the_right_code_and_closes) {
  serve();
  const auto code = [&](const std::string& bytes) {
    TcpClient client(port_);
    client.send(upgrade() + bytes + std::string(100'000, '\x81'));
    client.until("\r\n\r\n");
    const unsigned got = frame(client).code();
    EXPECT_TRUE(client.is_closed());
    return got;
  };
  EXPECT_EQ(code(close_of(1000)), 1000U);
  EXPECT_EQ(code(frame_of("x", {.first = 0x82})), 1003U);
  EXPECT_EQ(code(frame_of("x", {.is_masked = false})), 1002U);
  EXPECT_EQ(code(frame_of("\xff")), 1007U);
  EXPECT_EQ(code(frame_of("", {.said_bytes = k_message_bytes_max + 1})), 1009U);
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; }));
}

TEST_F(HttpWebSocketTest, notices_a_client_that_is_gone) {
  serve();
  TcpClient client(port_);
  client.send(upgrade());
  client.until("\r\n\r\n");
  client.close();
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; }));
}

TEST_F(HttpWebSocketTest, does_not_read_from_a_client_that_does_not_read) {
  net::HttpConnectionLimits limits;
  limits.output_bytes = 2ULL << 20U;
  serve("", limits);
  TcpClient client(port_, 4096);
  client.send(upgrade());
  client.until("\r\n\r\n");
  std::string many;
  for (int i = 0; i < 200; ++i) many += frame_of(modern_text(i, "tools/list", {}));
  ASSERT_TRUE(client.send(many));
  std::string ids;
  for (int i = 0; i < 200; ++i) {
    const json::value got = message(client);
    ASSERT_TRUE(got.is_object()) << i;
    EXPECT_EQ(got.at("id"), i);
  }
}

TEST_F(HttpWebSocketTest, tells_who_listens_when_the_node_goes_down_and_says_1001) {
  serve();
  TcpClient client(port_);
  client.send(upgrade() +
              frame_of(modern_text("l", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}})));
  client.until("\r\n\r\n");
  EXPECT_EQ(message(client).at("method"), "notifications/subscriptions/acknowledged");
  stop_tree(*runtime_, pool_, 10s);
  EXPECT_EQ(message(client).at("id"), "l");
  EXPECT_EQ(frame(client).code(), 1001U);
  EXPECT_TRUE(client.is_closed());
  pool_ = {};
}

TEST_F(HttpWebSocketTest, answers_a_plain_request_whose_client_has_closed_its_side) {
  serve();
  TcpClient client(port_);
  client.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.half_close();
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("405"));
}

}  // namespace
}  // namespace skein::inline v0::mcp
