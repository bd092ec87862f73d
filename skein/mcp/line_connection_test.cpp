// MCP on TCP, a message per line: real bytes on a real socket.
#include "skein/mcp/line_connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "skein/mcp/test_login.hpp"
#include "skein/mcp/test_tcp.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class LineConnectionTest : public TcpTest {
 protected:
  void serve(const std::string& token = {}, const LineLimits& limits = {}) {
    auto setup = std::make_shared<LineSetup>();
    setup->server = make_server();
    setup->poller = poller_;
    setup->login = login_with(
        token,
        [this](const std::string& line) {
          const std::scoped_lock lock(mutex_);
          log_ += line;
        },
        LoginLimits{3, 60s});
    setup->limits = limits;
    setup->open = open_;
    listen(line_connection_template(setup), line_error("too many connections"));
  }
  static std::string request(const json::value& id, std::string_view method, json::object params = {}) {
    return modern_text(id, method, std::move(params)) + "\n";
  }
  static std::string message_of(const json::value& line) {
    const json::object* error = line.is_object() ? object_in(line.get_object(), "error") : nullptr;
    return error != nullptr ? text_in(*error, "message") : "";
  }
  std::string log() {
    const std::scoped_lock lock(mutex_);
    return log_;
  }
  std::mutex mutex_;
  std::string log_;
};

TEST_F(LineConnectionTest, lets_in_who_shows_the_token_in_the_first_line_and_answers_at_once) {
  serve("secret");
  TcpClient client(port_);
  client.send("{\"token\":\"secret\"}\r\n" + request("a", "server/discover") + request(2, "tools/list"));
  EXPECT_EQ(client.line().at("id"), "a");
  EXPECT_EQ(client.line().at("id"), 2);
  EXPECT_EQ(log(), "");
}

TEST_F(LineConnectionTest, refuses_every_other_first_line_says_why_and_closes) {
  for (const std::string& first :
       {std::string("{\"token\":\"wrong\"}\n"), std::string("{\"token\":7}\n"), std::string("\n"),
        std::string("garbage\n"), std::string("{\"token\":\"secret\",\"more\":1}\n"), request(1, "server/discover"),
        std::string(k_login_bytes_max + 1, ' ')}) {
    serve("secret");
    TcpClient client(port_);
    client.send(first + request(1, "server/discover") + std::string(200'000, 'x') + "\n");
    const json::value answer = client.line();
    const bool is_token = first == "{\"token\":\"wrong\"}\n";
    EXPECT_THAT(message_of(answer), HasSubstr(is_token ? "the token is unknown here" : "the token is missing"))
        << first.substr(0, 100);
    EXPECT_TRUE(client.is_closed()) << first.substr(0, 100);
    EXPECT_THAT(log(), HasSubstr("wrong token"));
    EXPECT_THAT(log(), Not(HasSubstr("secret")));
    for (Pid& each : {std::ref(listener_), std::ref(pool_)}) {
      stop_tree(*runtime_, each, 10s);
      each = {};
    }
  }
}

TEST_F(LineConnectionTest, does_not_wait_for_the_end_of_a_first_line_that_is_too_long) {
  serve("secret");
  TcpClient client(port_);
  client.send(std::string(k_login_bytes_max + 1, 'x'));
  EXPECT_THAT(message_of(client.line()), HasSubstr("the token is missing"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(LineConnectionTest, slows_down_who_guesses_and_still_lets_in_who_knows) {
  serve("secret");
  for (int i = 0; i < 3; ++i) {
    TcpClient client(port_);
    client.send("{\"token\":\"guess\"}\n");
    EXPECT_THAT(message_of(client.line()), HasSubstr("it was revoked or replaced, has expired"));
  }
  TcpClient fourth(port_);
  fourth.send("{\"token\":\"guess\"}\n");
  EXPECT_THAT(message_of(fourth.line()), HasSubstr("too many"));
  EXPECT_TRUE(fourth.is_closed());
  TcpClient knows(port_);
  knows.send("{\"token\":\"secret\"}\n" + request(1, "server/discover"));
  EXPECT_EQ(knows.line().at("id"), 1);
}

TEST_F(LineConnectionTest, needs_no_token_where_none_is_wanted_and_passes_one_over) {
  serve();
  TcpClient plain(port_);
  plain.send(request(1, "server/discover"));
  EXPECT_EQ(plain.line().at("id"), 1);
  TcpClient eager(port_);
  eager.send("{\"token\":\"whatever\"}\n" + request(2, "server/discover"));
  EXPECT_EQ(eager.line().at("id"), 2);
}

TEST_F(LineConnectionTest, takes_nothing_from_who_begins_with_http_where_no_token_is_wanted) {
  serve();
  for (const std::string first :
       {"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\nGET /ws HTTP/1.1\r\n\r\n", "7\n"}) {
    TcpClient client(port_);
    client.send(first + request(1, "server/discover"));
    EXPECT_THAT(message_of(client.line()), HasSubstr("the first line is not a message")) << first;
    EXPECT_EQ(client.until("\n"), "") << first;
    EXPECT_TRUE(client.is_closed()) << first;
  }
  TcpClient client(port_);
  client.send("\r\n \n " + request(2, "server/discover"));
  EXPECT_EQ(client.line().at("id"), 2) << "empty lines are passed over";
}

TEST_F(LineConnectionTest, speaks_the_legacy_era_and_survives_lines_that_are_no_messages) {
  serve();
  TcpClient client(port_);
  client.send(
      "{\"token\":\"x\"}\ngarbage\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
      "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}\r\n");
  EXPECT_EQ(client.line().at("error").at("code"), k_parse_error);
  EXPECT_EQ(client.line().at("result").at("protocolVersion"), "2025-06-18");
  std::string deep(100, '[');
  client.send(deep + "\n");
  EXPECT_TRUE(client.line().as_object().contains("error"));
  client.send("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n");
  EXPECT_EQ(client.line().at("id"), "p");
}

TEST_F(LineConnectionTest, closes_who_shows_no_token_in_time) {
  LineLimits limits;
  limits.login = 50ms;
  serve("secret", limits);
  TcpClient client(port_);
  EXPECT_THAT(message_of(client.line()), HasSubstr("in time"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(LineConnectionTest, closes_who_does_not_end_its_line_in_time) {
  LineLimits limits;
  limits.login = 50ms;
  limits.receive = 100ms;
  serve("", limits);
  TcpClient client(port_);
  client.send("{\"jsonrpc\"");
  EXPECT_THAT(message_of(client.line()), HasSubstr("the line was not completed in time"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(LineConnectionTest, closes_who_says_nothing_and_not_who_listens) {
  LineLimits limits;
  limits.login = 50ms;
  limits.idle = 200ms;
  serve("", limits);
  TcpClient listener(port_);
  listener.send(request("l", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}));
  EXPECT_EQ(listener.line().at("method"), "notifications/subscriptions/acknowledged");
  TcpClient silent(port_);
  EXPECT_TRUE(silent.is_closed());
  TcpClient other(port_);
  other.send(request(1, "tools/call", {{"name", "test_trigger_tool_change"}}));
  EXPECT_EQ(other.line().at("id"), 1);
  EXPECT_EQ(listener.line().at("method"), "notifications/tools/list_changed");
}

TEST_F(LineConnectionTest, reads_lines_that_come_in_pieces) {
  serve();
  TcpClient client(port_);
  const std::string second = request(2, "server/discover");
  client.send(request(1, "server/discover") + second.substr(0, 20));
  EXPECT_EQ(client.line().at("id"), 1);
  client.send(second.substr(20, 20));
  client.send(second.substr(40) + request(3, "server/discover") + "{");
  EXPECT_EQ(client.line().at("id"), 2);
  EXPECT_EQ(client.line().at("id"), 3);
  client.send(request(4, "server/discover").substr(1));
  EXPECT_EQ(client.line().at("id"), 4);
}

TEST_F(LineConnectionTest, says_that_a_line_is_too_long_and_closes) {
  serve();
  TcpClient client(port_);
  client.send(std::string(k_message_bytes_max + 2, 'x'));
  EXPECT_THAT(message_of(client.line()), HasSubstr("a line has more than"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(LineConnectionTest, holds_no_more_for_a_client_that_does_not_read_than_it_may) {
  LineLimits limits;
  limits.output_bytes = 256ULL << 10U;
  limits.login = 100ms;
  limits.stalled = 300ms;
  serve("", limits);
  TcpClient client(port_, 4096);
  const std::string lists = request(1, "tools/list") + request(2, "tools/list") + request(3, "tools/list");
  // As long as something fits in; a client that is not read from cannot send for ever.
  EXPECT_TRUE(tests::eventually([&] { return !client.send_what_fits(lists); }));
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; })) << "it is closed when it takes nothing";
  TcpClient next(port_);
  next.send(request(1, "server/discover"));
  EXPECT_EQ(next.line().at("id"), 1);
}

TEST_F(LineConnectionTest, closes_who_leaves_more_than_it_may) {
  LineLimits limits;
  limits.output_bytes = 256ULL << 10U;
  serve("", limits);
  TcpClient client(port_, 4096);
  client.send(endless_text() + "\n");
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 1; }));
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; })) << "long before it is stalled";
}

TEST_F(LineConnectionTest, answers_a_client_that_reads_late_completely) {
  LineLimits limits;
  limits.output_bytes = 256ULL << 10U;
  serve("", limits);
  TcpClient client(port_, 4096);
  std::string many;
  for (int i = 0; i < 200; ++i) many += request(i, "tools/list");
  ASSERT_TRUE(client.send(many));
  client.half_close();
  int got = 0;
  while (client.line().is_object()) ++got;
  EXPECT_EQ(got, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(LineConnectionTest, tells_one_connection_too_many_so) {
  connections_max_ = 1;
  serve();
  TcpClient client(port_);
  client.send(request(1, "server/discover"));
  EXPECT_EQ(client.line().at("id"), 1);
  TcpClient other(port_);
  EXPECT_THAT(message_of(other.line()), HasSubstr("too many connections"));
}

TEST_F(LineConnectionTest, tells_who_listens_when_the_node_goes_down) {
  serve();
  TcpClient client(port_);
  client.send(request("l", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}));
  client.line();
  stop_tree(*runtime_, pool_, 10s);
  EXPECT_EQ(client.line().at("id"), "l");
  EXPECT_TRUE(client.is_closed());
  pool_ = {};
}

}  // namespace
}  // namespace skein::inline v0::mcp
