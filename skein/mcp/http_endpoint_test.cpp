// MCP on HTTP over a real socket: a listener, its connections and sessions, and a client that sends raw bytes.
#include "skein/mcp/http_endpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>

#include "skein/mcp/fixtures.hpp"
#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/test_login.hpp"
#include "skein/net/listener.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/net/test_client.hpp"
#include "skein/operations/test_hooks.hpp"
#include "skein/runtime/testing.hpp"
#include "skein/supervision/child.hpp"
#include "skein/supervision/stop_tree.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class HttpClient : public net::TestClient {
 public:
  using TestClient::TestClient;
  void send(std::string_view text) const { ASSERT_TRUE(TestClient::send(text)); }

  struct Response {
    int status = 0;
    std::string head;
    std::string body;
    [[nodiscard]] json::value parsed() const { return json::parse(body); }
    [[nodiscard]] std::string header(const std::string& name) const {
      const auto at = head.find("\r\n" + name + ": ");
      if (at == std::string::npos) return {};
      const auto from = at + name.size() + 4;
      return head.substr(from, head.find("\r\n", from) - from);
    }
  };
  // One with a Content-Length.
  Response response() {
    Response got;
    got.head = until("\r\n\r\n");
    if (got.head.size() > 12) got.status = std::stoi(got.head.substr(9, 3));
    const std::string length = got.header("Content-Length");
    got.body = bytes(length.empty() ? 0 : std::stoul(length));
    return got;
  }
};

class HttpEndpointTest : public testing::Test {
 protected:
  ~HttpEndpointTest() override {
    for (const Pid each : {listener_, connections_, sessions_}) {
      if (each) stop_tree(*runtime_, each, 10s);
    }
    runtime_.reset();
  }
  void serve(const std::string& token = {}, const net::HttpConnectionLimits& limits = {}) {
    const auto catalog = make_node_catalog();
    add_conformance_fixtures(*catalog);
    server_->runtime = runtime_.get();
    server_->hooks = hooks_;
    server_->catalog = catalog;
    server_->sealer = std::make_shared<const Sealer>("key");
    server_->bulletin = std::make_shared<Bulletin>(*runtime_);
    auto endpoint = std::make_shared<HttpEndpointSetup>();
    endpoint->server = server_;
    endpoint->sessions = table_;
    endpoint->gate.login = login_with(token, nullptr, LoginLimits{3, 60s});
    auto setup = std::make_shared<net::HttpSetup>();
    setup->poller = poller_;
    setup->limits = limits;
    setup->open = open_;
    setup->make_service = [endpoint = std::shared_ptr<const HttpEndpointSetup>(endpoint)](Self self,
                                                                                          net::HttpAnswers& answers) {
      return std::make_unique<HttpEndpoint>(self, endpoint, answers);
    };
    ChildSpec connection =
        pool_child<net::HttpConnection, net::ClientPtr>("connection", std::shared_ptr<const net::HttpSetup>(setup))
            .with(Restart::temporary);
    connections_ = start_supervisor(*runtime_, trees::pool("http", {100, 10s}, std::move(connection)), "http")->pid;
    start_sessions();
    auto listener = std::make_shared<net::ListenerSetup>();
    listener->where = "test";
    listener->open = [this] {
      auto fd = net::listen_on({"127.0.0.1", 0}, 16);
      if (fd) port_ = net::port_of(fd->get());
      return fd;
    };
    listener->busy = net::http_text({503, {}, ""}, false);
    listener->pool = "http";
    listener->connections_max = connections_max_;
    listener->connections = open_;
    listener->poller = poller_;
    listener_ =
        start_supervisor(
            *runtime_,
            trees::supervisor("listening", trees::one_for_one, {5, 60s},
                              {child<net::Listener>("listener", std::shared_ptr<const net::ListenerSetup>(listener))}))
            ->pid;
  }
  void start_sessions() {
    auto sessions = std::make_shared<SessionSetup>();
    sessions->server = server_;
    sessions->table = table_;
    sessions_ = start_supervisor(*runtime_,
                                 trees::pool("sessions", {100, 10s},
                                             session_template(std::shared_ptr<const SessionSetup>(sessions))),
                                 k_sessions_name)
                    ->pid;
  }
  static std::string post(const json::object& message, const std::string& headers = {}) {
    const std::string body = json::serialize(message);
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::string modern(const json::value& id, const std::string& method, json::object params) {
    std::string headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n";
    if (params.contains("name")) headers += "Mcp-Name: " + text_in(params, "name") + "\r\n";
    json::value& meta = params["_meta"];
    if (!meta.is_object()) meta = json::object();
    meta.get_object()[k_meta_version] = k_modern_version;
    meta.get_object()[k_meta_capabilities] = json::object();
    return post(make_request(id, method, std::move(params)), headers);
  }
  // A session, and the header that names it.
  std::string initialized(HttpClient& client, json::object capabilities = {}) {
    client.send(post(
        make_request(1, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", std::move(capabilities)}})));
    const auto response = client.response();
    EXPECT_EQ(response.status, 200) << response.body;
    return "Mcp-Session-Id: " + response.header("Mcp-Session-Id") + "\r\n";
  }

  std::unique_ptr<Runtime> runtime_ = std::make_unique<Runtime>();
  std::shared_ptr<net::FdPoller> poller_ = std::make_shared<net::FdPoller>(*runtime_);
  std::shared_ptr<operations::TestHooks> hooks_ = std::make_shared<operations::TestHooks>();
  std::shared_ptr<Server> server_ = std::make_shared<Server>();
  std::shared_ptr<SessionTable> table_ = std::make_shared<SessionTable>();
  std::shared_ptr<std::atomic<std::uint32_t>> open_ = std::make_shared<std::atomic<std::uint32_t>>(0);
  std::uint32_t connections_max_ = 100;
  std::uint16_t port_ = 0;
  Pid listener_;
  Pid connections_;
  Pid sessions_;
};

// ---- batches ----

TEST_F(HttpEndpointTest, answers_a_batch_of_2025_03_26_on_one_stream) {
  serve();
  HttpClient client(port_);
  const auto begin = [&](const char* version) {
    client.send(post(make_request(1, "initialize", {{"protocolVersion", version}, {"capabilities", json::object()}})));
    return "Mcp-Session-Id: " + client.response().header("Mcp-Session-Id") + "\r\n";
  };
  const std::string body = R"([{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"tools/call",
    "params":{"name":"test_simple_text"}}])";
  const auto batch = [&](const std::string& session) {
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + session +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  client.send(batch(begin("2025-03-26")));
  const std::string events = client.until("0\r\n\r\n");
  EXPECT_THAT(events, HasSubstr("\"id\":2"));
  EXPECT_THAT(events, HasSubstr("\"id\":3"));
  client.send(batch(begin("2025-11-25")));
  const auto refused = client.response();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.parsed().at("error").at("code"), k_invalid_request);
  client.send(batch({}));
  EXPECT_EQ(client.response().status, 400);
}

// ---- modern ----

TEST_F(HttpEndpointTest, answers_modern_requests_one_after_the_other_on_one_connection) {
  serve();
  HttpClient client(port_);
  client.send(modern(1, "server/discover", {}) + modern("b", "tools/call", {{"name", "test_simple_text"}}));
  const auto first = client.response();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.parsed().at("result").at("supportedVersions").at(0), "2026-07-28");
  const auto second = client.response();
  EXPECT_EQ(second.parsed().at("id"), "b");
  EXPECT_EQ(second.header("Mcp-Session-Id"), "");
}

TEST_F(HttpEndpointTest, streams_when_there_is_more_than_the_answer) {
  serve();
  HttpClient client(port_);
  client.send(modern(1, "tools/call", {{"name", "test_tool_with_progress"}, {"_meta", {{"progressToken", 7}}}}));
  const std::string head = client.until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(head, HasSubstr("X-Accel-Buffering: no"));
  const std::string events = client.until("0\r\n\r\n");
  EXPECT_THAT(events, HasSubstr("\"progress\":50"));
  EXPECT_THAT(events, HasSubstr("\"resultType\":\"complete\""));
  client.send(modern(2, "server/discover", {}));
  EXPECT_EQ(client.response().status, 200) << "the connection goes on";
}

TEST_F(HttpEndpointTest, gives_each_error_its_status) {
  serve();
  HttpClient client(port_);
  client.send(modern(1, "no/such", {}));
  EXPECT_EQ(client.response().status, 404);
  client.send(modern(1, "tasks/result", {{"taskId", "without the header Mcp-Name"}}));
  EXPECT_EQ(client.response().status, 404);
  client.send(modern(1, "tasks/get", {{"taskId", "without the header Mcp-Name"}}));
  EXPECT_EQ(client.response().status, 400);
  client.send(
      post(make_request(1, "tools/list", {}), "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"));
  const auto no_meta = client.response();
  EXPECT_EQ(no_meta.status, 400);
  EXPECT_EQ(no_meta.parsed().at("error").at("code"), k_invalid_params);
  client.send(post({{"a", 1}}));
  EXPECT_EQ(client.response().status, 400);
  client.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(client.response().status, 415);
  client.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.response().status, 405);
  client.send("PUT /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.response().status, 405);
  client.send("GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.response().status, 404);
  client.send(post(make_notification("notifications/whatever", {})));
  EXPECT_EQ(client.response().status, 400) << "without a session and without _meta";
}

TEST_F(HttpEndpointTest, takes_a_closed_stream_as_the_end_of_a_listen) {
  serve();
  HttpClient client(port_);
  client.send(modern("l", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}));
  EXPECT_THAT(client.until("acknowledged"), HasSubstr("200 OK"));
  HttpClient other(port_);
  other.send(modern(1, "tools/call", {{"name", "test_trigger_tool_change"}}));
  EXPECT_EQ(other.response().status, 200);
  EXPECT_THAT(client.until("tools/list_changed"), HasSubstr("tools/list_changed"));
  client.close();
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 1; }));
}

// ---- legacy ----

TEST_F(HttpEndpointTest, keeps_a_legacy_session_across_connections) {
  serve();
  HttpClient client(port_);
  const std::string session = initialized(client);
  HttpClient other(port_);
  other.send(post(make_notification("notifications/initialized", {}), session));
  EXPECT_EQ(other.response().status, 202);
  other.send(post(make_request("x", "ping", {}), session));
  EXPECT_EQ(other.response().parsed().at("id"), "x");
  other.send(post(make_request(2, "tools/list", {})));
  EXPECT_EQ(other.response().status, 400) << "without the session's id";
  other.send(post(make_request(2, "tools/list", {}), "Mcp-Session-Id: made-up\r\n"));
  EXPECT_EQ(other.response().status, 404);
  other.send(post(make_request(2, "ping", {}), session + "MCP-Protocol-Version: 1999-01-01\r\n"));
  EXPECT_EQ(other.response().status, 400);
}

TEST_F(HttpEndpointTest, brings_a_session_back_after_a_restart_and_not_after_its_client_ended_it) {
  serve();
  HttpClient client(port_);
  const std::string session = initialized(client);
  stop_tree(*runtime_, sessions_, 10s);
  EXPECT_EQ(table_->size(), 0U);
  start_sessions();
  client.send(post(make_request(2, "tools/list", {}), session));
  EXPECT_EQ(client.response().status, 200);
  client.send("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + session + "\r\n");
  EXPECT_EQ(client.response().status, 200);
  client.send(post(make_request(3, "tools/list", {}), session));
  EXPECT_EQ(client.response().status, 404);
}

TEST_F(HttpEndpointTest, asks_a_legacy_client_on_the_stream_of_its_request) {
  serve();
  HttpClient client(port_);
  const std::string session = initialized(client, {{"elicitation", json::object()}});
  client.send(
      post(make_request(2, "tools/call", {{"name", "test_elicitation"}, {"arguments", {{"message", "hi"}}}}), session));
  const std::string asked = client.until("\"required\":[\"username\",\"email\"]}}}\n\n");
  EXPECT_THAT(asked, HasSubstr("id: ")) << "an event to come back with";
  const auto at = asked.find("\"id\":\"") + 6;
  const std::string id = asked.substr(at, asked.find('"', at) - at);
  HttpClient other(port_);
  other.send(post(make_result(json::value(id), {{"action", "accept"}}), session));
  EXPECT_EQ(other.response().status, 202);
  EXPECT_THAT(client.until("0\r\n\r\n"), HasSubstr("User response"));
}

TEST_F(HttpEndpointTest, lets_a_legacy_client_come_back_for_its_answer) {
  serve();
  HttpClient client(port_);
  const std::string session = initialized(client);
  client.send(post(make_request(2, "tools/call", {{"name", "test_reconnection"}}), session));
  const std::string events = client.until("0\r\n\r\n");
  EXPECT_THAT(events, HasSubstr("retry: 500"));
  const auto at = events.find("id: ") + 4;
  const std::string last = events.substr(at, events.find('\n', at) - at);
  client.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nLast-Event-ID: " + last + "\r\n" +
              session + "\r\n");
  EXPECT_THAT(client.until("0\r\n\r\n"), HasSubstr("Answered after the stream was closed"));
}

TEST_F(HttpEndpointTest, tells_a_legacy_session_of_changes_on_its_own_stream) {
  serve();
  HttpClient client(port_);
  const std::string session = initialized(client);
  HttpClient listener(port_);
  listener.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + session + "\r\n");
  listener.until("\r\n\r\n");
  client.send(post(make_request(2, "ping", {}), session));
  client.response();  // the session has taken the listener in by now or does before the next
  client.send(post(make_request(3, "tools/call", {{"name", "test_trigger_tool_change"}}), session));
  EXPECT_EQ(client.response().status, 200);
  EXPECT_THAT(listener.until("tools/list_changed"), HasSubstr("tools/list_changed"));
}

// ---- who may ask ----

TEST_F(HttpEndpointTest, wants_the_token_and_slows_down_who_guesses) {
  serve("secret");
  const std::string request = modern(1, "server/discover", {});
  const auto with = [&](const std::string& token) {
    std::string text = request;
    return text.insert(text.find("Content-Type"), "Authorization: Bearer " + token + "\r\n");
  };
  HttpClient knows(port_);
  knows.send(with("secret"));
  EXPECT_EQ(knows.response().status, 200);
  HttpClient shows_none(port_);
  shows_none.send(request);
  const auto refused = shows_none.response();
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.header("WWW-Authenticate"), StartsWith(R"(Bearer realm="skein", error="invalid_token", )"));
  EXPECT_THAT(refused.header("WWW-Authenticate"), HasSubstr(R"(error_description="the token is )"));
  EXPECT_TRUE(shows_none.is_closed());
  for (const int status : {401, 401, 401, 429, 429}) {  // who showed none has not guessed
    HttpClient guesser(port_);
    guesser.send(with("guess") + with("another") + with("secret"));
    EXPECT_EQ(guesser.response().status, status);
    EXPECT_EQ(guesser.response().status, 0) << "a guess costs a connection";
    EXPECT_TRUE(guesser.is_closed());
  }
  knows.send(with("secret"));
  EXPECT_EQ(knows.response().status, 200);
}

TEST_F(HttpEndpointTest, refuses_pages_from_elsewhere_before_it_looks_at_the_token) {
  serve("secret");
  HttpClient client(port_);
  client.send("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.response().status, 403);
  client.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.response().status, 403);
}

// ---- bad days ----

TEST_F(HttpEndpointTest, closes_after_what_is_no_http_and_serves_the_next) {
  serve();
  HttpClient client(port_);
  client.send("\x16\x03\x01 this is TLS, say\r\n\r\n");
  EXPECT_EQ(client.response().status, 400);
  EXPECT_TRUE(client.is_closed());
  HttpClient next(port_);
  next.send(modern(1, "server/discover", {}));
  EXPECT_EQ(next.response().status, 200);
}

TEST_F(HttpEndpointTest, answers_a_client_that_closed_its_side_and_says_100_continue) {
  serve();
  HttpClient client(port_);
  std::string text = modern(1, "server/discover", {});
  text.insert(text.find("Content-Type"), "Expect: 100-continue\r\n");
  const auto body = text.find("\r\n\r\n") + 4;
  client.send(text.substr(0, body));
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("100 Continue"));
  client.send(text.substr(body));
  EXPECT_EQ(client.response().status, 200);
}

TEST_F(HttpEndpointTest, answers_all_that_was_asked_before_the_client_closed_its_side) {
  serve();
  HttpClient client(port_);
  constexpr int k_asked = 50;
  std::string all;
  for (int i = 1; i <= k_asked; ++i) all += modern(i, "server/discover", {});
  client.send(all + "POST /mcp HTTP/1.1\r\nHost: loc");
  client.half_close();
  for (int i = 1; i <= k_asked; ++i) {
    const auto response = client.response();
    ASSERT_EQ(response.status, 200) << i;
    EXPECT_EQ(response.parsed().at("id"), i);
  }
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; }));
}

TEST_F(HttpEndpointTest, says_what_was_wrong_to_a_client_that_goes_on_sending) {
  net::HttpConnectionLimits limits;
  limits.request.body_bytes = 4096;
  serve({}, limits);
  HttpClient client(port_);
  client.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  client.send(std::string(1'000'000, 'x'));
  EXPECT_EQ(client.response().status, 413);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpEndpointTest, does_not_wait_for_the_body_of_a_stranger) {
  serve("secret");
  HttpClient client(port_);
  client.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  EXPECT_EQ(client.response().status, 401);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpEndpointTest, sends_no_body_to_who_asked_for_the_head) {
  serve();
  HttpClient client(port_);
  client.send("HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n" + modern(1, "server/discover", {}));
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("405"));
  EXPECT_EQ(client.response().status, 200);
}

TEST_F(HttpEndpointTest, closes_who_is_silent_and_tells_who_is_slow) {
  net::HttpConnectionLimits limits;
  limits.idle = 1s;
  limits.receive = 1s;
  serve({}, limits);
  HttpClient silent(port_);
  HttpClient slow(port_);
  slow.send("POST /mcp HTTP/1.1\r\nHost");
  EXPECT_EQ(slow.response().status, 408);
  EXPECT_TRUE(slow.is_closed());
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; }));
}

TEST_F(HttpEndpointTest, tells_one_connection_too_many_so) {
  connections_max_ = 1;
  serve();
  HttpClient client(port_);
  client.send(modern(1, "server/discover", {}));
  EXPECT_EQ(client.response().status, 200);
  HttpClient other(port_);
  EXPECT_EQ(other.response().status, 503);
}

}  // namespace
}  // namespace skein::inline v0::mcp
