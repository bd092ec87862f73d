// Legacy sessions on HTTP when they end, come back and are come back to: real bytes on a real socket.
#include "skein/mcp/http_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "skein/mcp/test_http.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// Says a word and never ends.
void says_and_waits(Exchange& exchange) { exchange.log("info", "test", json::value("a word")); }

// Says one word after the other, for a second or two.
void chatter(Exchange& exchange, int words) {
  says_and_waits(exchange);
  if (words == 0) return exchange.finish_error("enough");
  exchange.after(10ms, [words](Exchange& next) { chatter(next, words - 1); });
}

// The id of the last event.
std::string last_id(const std::string& events) {
  const auto at = events.rfind("id: ") + 4;
  return events.substr(at, events.find('\n', at) - at);
}

class HttpSessionTest : public HttpTcpTest {
 protected:
  ~HttpSessionTest() override {
    if (sessions_) stop_tree(*runtime_, sessions_, 10s);
  }
  void serve_sessions(const net::HttpConnectionLimits& limits = {}) {
    serve({}, limits);
    catalog_->add(
        Tool{"waits", "Waits", "", json::object{{"type", "object"}}, {}, {}, [this](Exchange&) { ++waiting_; }});
    catalog_->add(Tool{"says", "Says", "", json::object{{"type", "object"}}, {}, {}, says_and_waits});
    catalog_->add(Tool{"chatters", "Chatters", "", json::object{{"type", "object"}}, {}, {}, [](Exchange& exchange) {
                         chatter(exchange, 100);
                       }});
    auto setup = std::make_shared<SessionSetup>();
    setup->server = server_;
    setup->table = table_;
    sessions_ = start_supervisor(
                    *runtime_,
                    trees::pool("sessions", {100, 10s}, session_template(std::shared_ptr<const SessionSetup>(setup))),
                    k_sessions_name)
                    ->pid;
  }
  static std::string legacy(const json::object& message, const std::string& session = {}) {
    const std::string body = json::serialize(message);
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + session_header(session) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::string call(const char* tool, const std::string& session) {
    return legacy(make_request("c", "tools/call", {{"name", tool}}), session);
  }
  static std::string get(const std::string& session, const std::string& last = {}) {
    return "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + session_header(session) +
           (last.empty() ? "" : "Last-Event-ID: " + last + "\r\n") + "\r\n";
  }
  static std::string erase(const std::string& session) {
    return "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + session_header(session) + "\r\n";
  }
  // The id of a new session.
  static std::string initialized(TcpClient& client) {
    static constexpr std::string_view k_name = "Mcp-Session-Id: ";
    client.send(
        legacy(make_request(1, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", json::object()}})));
    const std::string head = client.until("\r\n\r\n");
    const std::size_t length = std::stoul(head.substr(head.find("Content-Length: ") + 16));
    EXPECT_FALSE(client.bytes(length).empty());
    const auto at = head.find(k_name) + k_name.size();
    return head.substr(at, head.find("\r\n", at) - at);
  }
  // One with a Content-Length.
  static std::string response(TcpClient& client) {
    const std::string head = client.until("\r\n\r\n");
    const auto at = head.find("Content-Length: ");
    return head + (at == std::string::npos ? "" : client.bytes(std::stoul(head.substr(at + 16))));
  }
  // The session goes on in another process, as after a restart of the node.
  void end_process(const std::string& session) {
    runtime_->exit(table_->find(session, *operations::anyone()), ExitReason::kill());
    EXPECT_TRUE(tests::eventually([&] { return !table_->find(session, *operations::anyone()); }));
  }
  bool is_waiting() const {
    return tests::eventually([&] { return waiting_ > 0; });
  }

  std::atomic<int> waiting_ = 0;
  Pid sessions_;

 private:
  static std::string session_header(const std::string& id) {
    return id.empty() ? "" : "Mcp-Session-Id: " + id + "\r\n";
  }
};

// ---- a session ends while it is asked ----

TEST_F(HttpSessionTest, answers_what_waits_when_its_client_ends_the_session) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  TcpClient streamed(port_);
  TcpClient listener(port_);
  listener.send(get(session));
  listener.until("\r\n\r\n");
  streamed.send(call("says", session));
  EXPECT_THAT(streamed.until("a word"), HasSubstr("200 OK"));
  client.send(legacy(make_request("w", "tools/call", {{"name", "waits"}}), session));
  ASSERT_TRUE(is_waiting());
  TcpClient other(port_);
  other.send(erase(session));
  EXPECT_THAT(response(other), HasSubstr("200 OK"));
  const std::string answer = response(client);
  EXPECT_THAT(answer, HasSubstr("404 Not Found"));
  EXPECT_THAT(answer, HasSubstr("\"id\":\"w\""));
  EXPECT_THAT(answer, HasSubstr("begin with initialize"));
  EXPECT_THAT(streamed.until("0\r\n\r\n"), HasSubstr("\"id\":\"c\",\"error\""));
  EXPECT_THAT(listener.until("0\r\n\r\n"), HasSubstr("0\r\n\r\n"));
}

TEST_F(HttpSessionTest, answers_what_waits_when_the_session_crashes_and_goes_on_with_the_next) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  client.send(call("waits", session));
  ASSERT_TRUE(is_waiting());
  runtime_->exit(table_->find(session, *operations::anyone()), ExitReason::kill());
  const std::string answer = response(client);
  EXPECT_THAT(answer, HasSubstr("503 Service Unavailable"));
  EXPECT_THAT(answer, HasSubstr("\"id\":\"c\""));
  EXPECT_TRUE(tests::eventually([&] { return !table_->find(session, *operations::anyone()); }));
  client.send(legacy(make_request("again", "ping", {}), session));
  EXPECT_THAT(response(client), HasSubstr("\"again\""));
}

TEST_F(HttpSessionTest, does_not_come_back_under_another_form_of_its_id) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  client.send(erase(session));
  EXPECT_THAT(response(client), HasSubstr("200 OK"));
  for (const char* more : {"", "=", "=="}) {
    client.send(legacy(make_request(2, "ping", {}), session + more));
    EXPECT_THAT(response(client), HasSubstr("404 Not Found")) << more;
  }
}

// ---- streams ----

TEST_F(HttpSessionTest, begins_the_stream_of_a_get_with_an_id_to_come_back_with) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  client.send(get(session));
  EXPECT_THAT(client.until("data: \n\n"), HasSubstr("-0-0\ndata: \n\n"));
}

TEST_F(HttpSessionTest, refuses_a_stream_that_is_over_to_who_has_seen_all_of_it) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  client.send(call("test_tool_with_logging", session));
  const std::string last = last_id(client.until("0\r\n\r\n"));
  client.send(get(session, last));
  EXPECT_THAT(response(client), HasSubstr("405 Method Not Allowed"));
}

TEST_F(HttpSessionTest, refuses_who_comes_back_for_a_request_that_it_has_cancelled) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  TcpClient caller(port_);
  caller.send(call("says", session));
  const std::string seen = last_id(caller.until("a word"));
  client.send(legacy(make_notification("notifications/cancelled", {{"requestId", "c"}}), session));
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("202 Accepted"));
  EXPECT_THAT(caller.until("0\r\n\r\n"), HasSubstr("0\r\n\r\n"));
  client.send(get(session, seen));
  EXPECT_THAT(response(client), HasSubstr("405 Method Not Allowed"));
}

// SDK 1.32 takes no error for an answer: it comes back with the id of the error, once a second for ever.
TEST_F(HttpSessionTest, refuses_who_comes_back_after_it_was_told_that_its_answer_is_lost) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  client.send(call("says", session));
  const std::string seen = last_id(client.until("a word"));
  end_process(session);
  TcpClient listener(port_);
  listener.send(get(session, seen));
  const std::string told = last_id(listener.until("0\r\n\r\n"));
  listener.send(get(session, told));
  EXPECT_THAT(response(listener), HasSubstr("405 Method Not Allowed"));
}

TEST_F(HttpSessionTest, takes_no_event_of_a_process_of_before_for_one_of_its_own) {
  serve_sessions();
  TcpClient before(port_);
  const std::string session = initialized(before);
  before.send(call("says", session));
  const std::string seen = last_id(before.until("a word"));
  end_process(session);
  TcpClient now(port_);
  now.send(legacy(make_request("first", "ping", {}), session));  // where initialize was
  EXPECT_THAT(response(now), HasSubstr("\"first\""));
  now.send(call("says", session));
  EXPECT_THAT(now.until("a word"), HasSubstr("200 OK"));
  TcpClient listener(port_);
  listener.send(get(session, seen));
  const std::string told = listener.until("0\r\n\r\n");
  EXPECT_THAT(told, Not(HasSubstr("a word"))) << "not the stream of another request";
  EXPECT_THAT(told, HasSubstr("\"id\":\"c\",\"error\""));
  EXPECT_THAT(told, HasSubstr("the node was restarted"));
}

// SDK 1 and 2 come back for the stream of the call and for the session's own, both with ids of before.
TEST_F(HttpSessionTest, streams_of_before_do_not_end_each_other) {
  serve_sessions();
  TcpClient before(port_);
  const std::string session = initialized(before);
  TcpClient own_before(port_);
  own_before.send(get(session));
  const std::string own = last_id(own_before.until("data: \n\n"));
  before.send(call("says", session));
  const std::string of_call = last_id(before.until("a word"));
  end_process(session);
  TcpClient listener(port_);
  listener.send(get(session, own));
  EXPECT_THAT(listener.until("data: \n\n"), HasSubstr("-0-0\n"));
  TcpClient caller(port_);
  caller.send(get(session, of_call));
  EXPECT_THAT(caller.until("0\r\n\r\n"), HasSubstr("call again"));
  TcpClient other(port_);
  other.send(legacy(make_request("s", "resources/subscribe", {{"uri", "test://watched-resource"}}), session));
  EXPECT_THAT(response(other), HasSubstr("200 OK"));
  server_->bulletin->post({Change::Kind::resource, "test://watched-resource"});
  EXPECT_THAT(listener.until("watched-resource"), HasSubstr("notifications/resources/updated")) << "still listening";
}

// As versions before this wrote them: the request cannot be told, and its client gives up on 405.
TEST_F(HttpSessionTest, refuses_a_stream_of_before_that_names_no_request) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  client.send(get(session, "1234-4-7"));
  EXPECT_THAT(response(client), HasSubstr("405 Method Not Allowed"));
}

TEST_F(HttpSessionTest, answers_with_the_requests_id_when_there_is_no_such_session) {
  serve_sessions();
  TcpClient client(port_);
  client.send(legacy(make_request("lost", "ping", {}), "none"));
  const std::string answer = response(client);
  EXPECT_THAT(answer, HasSubstr("404 Not Found"));
  EXPECT_THAT(answer, HasSubstr("\"id\":\"lost\""));
}

TEST_F(HttpSessionTest, sends_comments_on_a_stream_however_much_is_said_there) {
  net::HttpConnectionLimits limits;
  limits.comment_every = 100ms;
  serve_sessions(limits);
  TcpClient client(port_);
  client.send(call("chatters", initialized(client)));
  EXPECT_THAT(client.until("\r\n: \n\n"), HasSubstr("\r\n: \n\n"));
}

TEST_F(HttpSessionTest, streams_to_a_client_of_http_1_0_without_chunks) {
  serve_sessions();
  TcpClient client(port_);
  const std::string session = initialized(client);
  TcpClient old(port_);
  std::string request = get(session);
  old.send(request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0"));
  const std::string begin = old.until("data: \n\n");
  EXPECT_THAT(begin, HasSubstr("Connection: close"));
  EXPECT_THAT(begin, Not(HasSubstr("chunked")));
  EXPECT_THAT(begin, HasSubstr("\r\n\r\nid: "));
  client.send(erase(session));
  EXPECT_TRUE(old.is_closed());
}

}  // namespace
}  // namespace skein::inline v0::mcp
