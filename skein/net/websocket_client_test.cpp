// The client's side of WebSocket against the server's, byte by byte.
#include "skein/net/websocket_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/base/random.hpp"
#include "skein/net/websocket.hpp"

namespace skein::inline v0::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WebSocketClientTest : public testing::Test {
 protected:
  WebSocketClientTest() : client_([random = Random(7)]() mutable { return random.next(); }) {}

  void open() {
    const std::string asked = client_.request("localhost:1", "/mcp/ws", {});
    const auto at = asked.find("Sec-WebSocket-Key: ") + 19;
    const std::string key = asked.substr(at, asked.find("\r\n", at) - at);
    receive("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSEC-WebSocket-Accept: " + websocket_accept(key) +
            "\r\n\r\n");
    ASSERT_TRUE(client_.is_open()) << client_.why();
  }
  void receive(std::string_view bytes) { client_.receive(bytes, messages_, out_); }

  WebSocketClient client_;
  std::vector<std::string> messages_;
  std::string out_;
};

TEST_F(WebSocketClientTest, asks_as_a_server_of_ours_takes_it) {
  const std::string asked = client_.request("127.0.0.1:7433", "/mcp/ws", {{"Authorization", "Bearer x"}});
  EXPECT_THAT(asked, HasSubstr("GET /mcp/ws HTTP/1.1\r\nHost: 127.0.0.1:7433\r\n"));
  EXPECT_THAT(asked, HasSubstr("Authorization: Bearer x\r\n"));
}

TEST_F(WebSocketClientTest, is_understood_by_the_server_and_understands_it) {
  open();
  WebSocket server({}, Instant{});
  for (const std::size_t bytes : {0UL, 125UL, 126UL, 65'535UL, 65'536UL, 1'000'000UL}) {
    const std::string text(bytes, 'x');
    std::optional<std::string> heard;
    std::string back;
    const std::string frame = client_.frame(text);
    EXPECT_EQ(server.receive(frame, Instant{}, heard, back), frame.size());
    EXPECT_EQ(heard, text);
    messages_.clear();
    for (const char each : WebSocket::text_frame(text)) receive({&each, 1});
    EXPECT_THAT(messages_, ElementsAre(text));
  }
  std::string goodbye;
  std::optional<std::string> none;
  (void)server.receive(client_.close(), Instant{}, none, goodbye);
  EXPECT_TRUE(server.is_over());
  receive(goodbye);
  EXPECT_TRUE(client_.is_over());
}

TEST_F(WebSocketClientTest, puts_fragments_together_and_answers_pings_between_them) {
  open();
  receive(
      std::string("\x01\x02"
                  "ab"
                  "\x89\x01"
                  "p"
                  "\x80\x01"
                  "c",
                  11));
  EXPECT_THAT(messages_, ElementsAre("abc"));
  EXPECT_EQ(static_cast<unsigned char>(out_.at(0)), 0x8aU) << "a pong";
}

TEST_F(WebSocketClientTest, tells_why_it_was_refused) {
  receive("HTTP/1.1 401 Unauthorized\r\nContent-Length: 20\r\n\r\nshow the");
  EXPECT_FALSE(client_.is_over()) << "the reason is not whole";
  receive(" node's tok\nx");
  EXPECT_TRUE(client_.is_over());
  EXPECT_EQ(client_.refused_with(), 401);
  EXPECT_EQ(client_.why(), "HTTP 401: show the node's tok");
}

TEST_F(WebSocketClientTest, goes_on_with_nobody_who_does_not_know_its_key) {
  receive("HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  EXPECT_TRUE(client_.is_over());
  EXPECT_THAT(client_.why(), HasSubstr("Sec-WebSocket-Accept"));
}

TEST_F(WebSocketClientTest, ends_at_what_a_server_may_not_send) {
  for (const std::string& bad : {std::string("SSH-2.0-x\r\n\r\n"), std::string(20'000, 'x')}) {
    WebSocketClient client([] { return 1; });
    client.receive(bad, messages_, out_);
    EXPECT_TRUE(client.is_over());
  }
  for (const std::string& bad : {std::string("\x81\x81"
                                             "mask"
                                             "x"),
                                 std::string("\xc1\x01"
                                             "x"),
                                 std::string("\x82\x01"
                                             "x"),
                                 std::string("\x80\x01"
                                             "x"),
                                 std::string("\x83\x01"
                                             "x")}) {
    client_ = WebSocketClient([] { return 1; });
    open();
    receive(bad);
    EXPECT_TRUE(client_.is_over()) << bad;
    EXPECT_THAT(messages_, IsEmpty());
  }
}

}  // namespace
}  // namespace skein::inline v0::net
