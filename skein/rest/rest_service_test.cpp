// The service of one connection, over operations on virtual time; what it would write to the connection is kept.
#include "skein/rest/rest_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/mcp/test_login.hpp"
#include "skein/operations/test_hooks.hpp"
#include "skein/operations/test_operations.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::rest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Written and read in turns: the test looks when its connection's process has nothing to do.
class KeptAnswers final : public net::HttpAnswers {
 public:
  void respond(net::HttpResponse response) override { responses.push_back(std::move(response)); }
  void begin_stream(net::HttpResponse head) override { responses.push_back(std::move(head)); }
  void send_event(std::string_view event) override { events.emplace_back(event); }
  void end_stream() override { has_ended = true; }
  void upgrade(net::HttpResponse) override { ADD_FAILURE() << "nothing is upgraded here"; }
  void send_bytes(std::string_view) override { ADD_FAILURE() << "nothing is upgraded here"; }
  void close() override {}
  [[nodiscard]] bool is_full() const override { return full; }

  std::vector<net::HttpResponse> responses;
  std::vector<std::string> events;
  bool has_ended = false;
  bool full = false;
};

struct Ask {
  net::HttpRequest request;
};
enum class Happens : std::uint8_t { drained, client_gone, shutdown };
struct Settled {};

// What a connection does with its service.
class Host {
 public:
  Host(std::shared_ptr<const RestSetup> setup, KeptAnswers* answers)
      : service_(std::make_unique<RestService>(std::move(setup), *answers)) {}
  bool handle_call(Self /*self*/, Settled /*request*/) { return true; }
  Async<void> handle_info(Self self, Message message) {
    if (auto* ask = message.get_if<Ask>()) {
      auto answering = service_->on_request(self, std::move(ask->request));
      co_await answering;
    } else if (const auto* what = message.get_if<Happens>()) {
      if (*what == Happens::drained) service_->on_drained(self);
      if (*what == Happens::client_gone) service_->on_client_gone(self);
      if (*what == Happens::shutdown) service_->on_shutdown(self);
    } else {
      service_->on_message(self, message);
    }
  }

 private:
  std::unique_ptr<RestService> service_;
};

class RestServiceTest : public operations::OperationsTest {
 protected:
  RestServiceTest() {
    auto setup = std::make_shared<RestSetup>();
    setup->runtime = &runtime_;
    setup->hooks = hooks_;
    setup->gate.login = mcp::login_with("", {});
    host_ = runtime_.spawn<Host>(std::move(setup), &answers_);
    start();
    hooks_->ops = ops_;
  }
  ~RestServiceTest() override {
    runtime_.shutdown();
    hooks_->ops.reset();
  }

  void settle_all() {
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(runtime_.call<Host>(host_, Settled{}));
      settle();
    }
    EXPECT_TRUE(runtime_.call<Host>(host_, Settled{}));
  }
  void happens(Happens what) {
    runtime_.send(host_, what);
    settle_all();
  }
  void send(std::string method, std::string path, std::string body = {}, net::HttpRequest request = {}) {
    request.method = std::move(method);
    const std::size_t query = std::min(path.find('?'), path.size());
    request.path = std::string(k_api_path) + path.substr(0, query);
    request.query = query < path.size() ? path.substr(query + 1) : "";
    if (request.header("host") == nullptr) request.headers.emplace_back("host", "localhost");
    if (!body.empty() && request.header("content-type") == nullptr) {
      request.headers.emplace_back("content-type", "application/json");
    }
    request.body = std::move(body);
    runtime_.send(host_, Ask{std::move(request)});
    settle_all();
  }
  // The status, and the body that came with it.
  std::pair<int, json::value> ask(std::string method, std::string path, std::string body = {},
                                  net::HttpRequest request = {}) {
    const std::size_t before = answers_.responses.size();
    send(std::move(method), std::move(path), std::move(body), std::move(request));
    if (answers_.responses.size() != before + 1) {
      ADD_FAILURE() << answers_.responses.size() - before << " answers";
      return {0, nullptr};
    }
    const net::HttpResponse& last = answers_.responses.back();
    return {last.status, json::parse(last.body)};
  }
  // The status and the code of a refusal.
  std::string refusal(std::string method, std::string path, std::string body = {}, net::HttpRequest request = {}) {
    const auto [status, value] = ask(std::move(method), std::move(path), std::move(body), std::move(request));
    const json::value* error = value.is_object() ? value.get_object().if_contains("error") : nullptr;
    return std::to_string(status) + " " + (error != nullptr ? std::string(error->at("code").as_string()) : "no error");
  }
  [[nodiscard]] std::string header(std::string_view name) const {
    for (const auto& [key, value] : answers_.responses.back().headers) {
      if (key == name) return value;
    }
    return "";
  }
  std::string submitted_id() {
    const auto [status, value] = ask("POST", "/tasks", R"({"type":"echo","params":{"a":1},"key":"k"})");
    EXPECT_EQ(status, 201);
    return std::string(value.at("id").as_string());
  }
  void cancel(const std::string& id) {
    const auto state =
        call<ledger::State>([&](auto reply) { ops_->task_cancel({*ledger::TaskId::parse(id), ""}, std::move(reply)); });
    EXPECT_EQ(state.value(), ledger::State::cancelled);
    settle_all();
  }
  [[nodiscard]] std::string all_events() const {
    std::string all;
    for (const std::string& each : answers_.events) all += each;
    return all;
  }

  KeptAnswers answers_;
  std::shared_ptr<operations::TestHooks> hooks_ = std::make_shared<operations::TestHooks>();
  Runtime runtime_{tests::threaded(1)};
  Pid host_;
};

TEST_F(RestServiceTest, answers_with_what_operations_say) {
  const std::string id = submitted_id();
  const auto [again, existing] = ask("POST", "/tasks", R"({"type":"echo","params":{"a":1},"key":"k"})");
  EXPECT_EQ(again, 200) << "it was there already";
  EXPECT_EQ(existing.at("id"), json::value(id));
  const auto [found, task] = ask("GET", "/tasks/" + id);
  EXPECT_EQ(found, 200);
  EXPECT_EQ(task.at("state"), "queued");
  EXPECT_EQ(header("Content-Type"), "application/json");
  const auto [listed, page] = ask("GET", "/tasks?state=queued&limit=5");
  EXPECT_EQ(listed, 200);
  EXPECT_EQ(page.at("tasks").as_array().size(), 1U);
  const auto [cancelled, state] = ask("POST", "/tasks/" + id + "/cancel", R"({"reason":"enough"})");
  EXPECT_EQ(cancelled, 200);
  EXPECT_EQ(state.at("state"), "cancelled");
}

TEST_F(RestServiceTest, puts_two_answers_into_that_of_metrics) {
  submitted_id();
  const auto [status, value] = ask("GET", "/metrics");
  EXPECT_EQ(status, 200);
  EXPECT_EQ(value.at("node").at("name"), "tested");
  EXPECT_TRUE(value.at("work").is_object());
  EXPECT_EQ(ask("GET", "/openapi.json").second.at("openapi"), "3.1.0");
  EXPECT_EQ(ask("GET", "/agents").second.at("total"), 0);
  hooks_->shown_tree.id = "root";
  hooks_->shown_tree.supervisor.emplace();
  hooks_->shown_tree.children.resize(3);
  EXPECT_EQ(ask("GET", "/tree?children=1").second.at("children_not_shown"), 2);
}

TEST_F(RestServiceTest, refuses_what_it_does_not_know_and_says_what_to_do) {
  EXPECT_EQ(refusal("GET", "/nothing"), "404 not_found");
  EXPECT_EQ(refusal("PUT", "/tasks"), "405 method_not_allowed");
  EXPECT_EQ(header("Allow"), "GET, POST");
  net::HttpRequest plain;
  plain.headers.emplace_back("content-type", "text/plain");
  EXPECT_EQ(refusal("POST", "/tasks", R"({"type":"echo"})", plain), "415 unsupported_media_type");
  EXPECT_EQ(refusal("POST", "/tasks", "{"), "400 invalid_json");
  EXPECT_EQ(refusal("GET", "/tree?depth=33"), "400 invalid");
  EXPECT_EQ(refusal("GET", "/agents?limit=0"), "400 invalid");
  EXPECT_EQ(refusal("GET", "/tasks/no-id"), "400 invalid");
  EXPECT_EQ(refusal("GET", "/swarms/nowhere"), "404 swarm_not_found");
  EXPECT_EQ(refusal("GET", "/events?kinds=sunshine"), "400 invalid");
  EXPECT_EQ(refusal("GET", "/events?task=no-id"), "400 invalid");
  net::HttpRequest stranger;
  stranger.headers.emplace_back("host", "evil.example");
  EXPECT_EQ(refusal("GET", "/status", "", stranger), "403 forbidden");
}

TEST_F(RestServiceTest, counts_what_could_not_be_read_among_the_errors) {
  refusal("POST", "/tasks", "{");
  refusal("GET", "/agents?limit=0");
  refusal("GET", "/tasks/no-id");
  refusal("POST", "/tasks", R"({"type":"echo","prioritty":"high"})");
  const auto errors = ask("GET", "/status").second.at("errors").as_object();
  EXPECT_EQ(errors.at("invalid_json"), 1);
  EXPECT_EQ(errors.at("invalid"), 3);
}

TEST_F(RestServiceTest, says_when_to_come_back_while_the_engine_is_away) {
  hooks_->ops.reset();
  EXPECT_THAT(refusal("GET", "/tasks"), StartsWith("503 "));
  EXPECT_NE(header("Retry-After"), "");
  EXPECT_THAT(refusal("GET", "/events"), StartsWith("503 "));
  EXPECT_THAT(answers_.events, IsEmpty());
}

TEST_F(RestServiceTest, answers_a_wait_when_the_task_has_ended) {
  const std::string id = submitted_id();
  const std::size_t before = answers_.responses.size();
  send("POST", "/tasks/" + id + "/wait", R"({"timeout_ms":50000})");
  EXPECT_EQ(answers_.responses.size(), before);
  cancel(id);
  ASSERT_EQ(answers_.responses.size(), before + 1);
  EXPECT_THAT(answers_.responses.back().body, HasSubstr("\"finished\":true"));
}

TEST_F(RestServiceTest, gives_up_a_wait_whose_client_has_gone) {
  const std::string id = submitted_id();
  const std::size_t before = answers_.responses.size();
  send("POST", "/tasks/" + id + "/wait", R"({"timeout_ms":50000})");
  happens(Happens::client_gone);
  cancel(id);
  EXPECT_EQ(answers_.responses.size(), before) << "nobody waits for it";
}

TEST_F(RestServiceTest, sends_what_happens_as_events_that_can_be_resumed) {
  send("GET", "/events?kinds=task_queued");
  ASSERT_EQ(answers_.responses.size(), 1U);
  EXPECT_EQ(answers_.responses[0].status, 200);
  EXPECT_EQ(header("Content-Type"), "text/event-stream");
  EXPECT_EQ(hooks_->watching, host_);
  EXPECT_THAT(answers_.events, ElementsAre(StartsWith("retry: ")));
  const std::string id = submitted().text();
  settle_all();
  ASSERT_EQ(answers_.events.size(), 2U) << all_events();
  const std::string event = answers_.events.back();
  EXPECT_THAT(event, HasSubstr("\nevent: task_queued\ndata: {"));
  EXPECT_THAT(event, HasSubstr(id));
  // Another reader, who has seen that one; and one who has seen another node's.
  const std::string seen = event.substr(4, event.find('\n') - 4);
  happens(Happens::client_gone);
  answers_.events.clear();
  net::HttpRequest again;
  again.headers.emplace_back("last-event-id", seen);
  submitted();
  send("GET", "/events?kinds=task_queued", "", again);
  EXPECT_EQ(answers_.events.size(), 2U) << all_events();
  happens(Happens::client_gone);
  answers_.events.clear();
  net::HttpRequest stale;
  stale.headers.emplace_back("last-event-id", "dead-1");
  send("GET", "/events?kinds=task_queued", "", stale);
  ASSERT_EQ(answers_.events.size(), 4U) << all_events();
  EXPECT_EQ(answers_.events[1], "event: restarted\ndata: {}\n\n");
  happens(Happens::shutdown);
  EXPECT_TRUE(answers_.has_ended);
}

TEST_F(RestServiceTest, keeps_events_back_while_the_client_does_not_read) {
  send("GET", "/events");
  const std::size_t before = answers_.events.size();
  answers_.full = true;
  submitted();
  settle_all();
  EXPECT_EQ(answers_.events.size(), before);
  answers_.full = false;
  happens(Happens::drained);
  EXPECT_GT(answers_.events.size(), before);
  runtime_.send(host_, operations::OperationsGone{});
  settle_all();
  EXPECT_TRUE(answers_.has_ended) << "the stream ends with the engine it is of";
}

}  // namespace
}  // namespace skein::inline v0::rest
