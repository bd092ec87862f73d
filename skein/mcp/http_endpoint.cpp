#include "skein/mcp/http_endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "skein/mcp/http_rules.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr int k_come_back_ms = 500;  // for the rest of a stream

const char* const k_json_type = "application/json";
const char* const k_stream_type = "text/event-stream";
const char* const k_nothing_here = "there is nothing at this path; MCP is at /mcp and /mcp/ws, REST at /api/v1\n";
// Clients ask for these when their request was refused, and print what they are answered. Most do so without the token
// that they have, so a wrong one cannot be told from none.
const char* const k_no_oauth =
    "the token is missing or wrong, and this node has no OAuth to get one: add the header, as in --header "
    "\"Authorization: Bearer $(cat DATA/token)\"; DATA is the node's data folder\n";

std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

std::string header_text(const net::HttpRequest& request, std::string_view name) {
  const std::string* found = request.header(name);
  return found != nullptr ? *found : std::string();
}

bool has_modern_meta(const RpcMessage& message) {
  const json::object* meta = object_in(message.params, "_meta");
  return meta != nullptr && (meta->contains(k_meta_version) || meta->contains(k_meta_capabilities));
}

bool is_legacy_version(std::string_view version) {
  return std::ranges::find(k_legacy_versions, version) != k_legacy_versions.end();
}

std::string event_id(const SessionEvent& event, std::uint64_t number) {
  return event_id_text(event.stamp, event.stream, number, event.ending != nullptr ? *event.ending : "");
}

std::string event_text(const SessionEvent& event) {
  return fmt::format("id: {}\nevent: message\ndata: {}\n\n", event_id(event, event.number), *event.text);
}

// One that says nothing, so that a client has an id to come back with from the beginning.
std::string priming_text(const SessionEvent& event) {
  const std::uint64_t before = event.text != nullptr ? event.number - 1 : event.number;
  return fmt::format("id: {}\ndata: \n\n", event_id(event, before));
}

}  // namespace

HttpEndpoint::HttpEndpoint(Self self, std::shared_ptr<const HttpEndpointSetup> setup, net::HttpAnswers& answers)
    : setup_(std::move(setup)),
      answers_(answers),
      driver_(self, setup_->server, operations::anyone(), *this),
      self_(self) {}

Async<void> HttpEndpoint::on_request(Self self, net::HttpRequest request) {
  ++exchange_;
  is_streaming_ = false;
  leave_session(self);
  asked_ = nullptr;
  upgrade_.reset();
  new_session_.clear();
  session_id_ = header_text(request, "mcp-session-id");
  if (auto no = refusal(self, request)) {
    answers_.respond(std::move(*no));
    co_return;
  }
  if (request.path == k_websocket_path) {
    open_websocket(self, std::move(request));
  } else if (request.method == "POST") {
    auto posting = on_post(self, std::move(request));
    co_await posting;
  } else if (request.method == "GET") {
    auto getting = on_get(self, std::move(request));
    co_await getting;
  } else if (request.method == "DELETE") {
    auto deleting = on_delete(self, std::move(request));
    co_await deleting;
  } else {
    method_not_allowed("POST, GET, DELETE");
  }
}

std::optional<net::HttpResponse> HttpEndpoint::on_head(Self self, const net::HttpRequest& head) {
  return refusal(self, head);
}

std::optional<net::HttpResponse> HttpEndpoint::refusal(Self self, const net::HttpRequest& request) {
  if (request.path != k_mcp_path && request.path != k_websocket_path) {
    const bool misses_token = setup_->gate.login->wants_token() && is_oauth_path(request.path);
    return plain_response(net::http_status::k_not_found, misses_token ? k_no_oauth : k_nothing_here);
  }
  GateAnswer asked = admit(setup_->gate, request, self.now());
  if (asked.refusal) return std::move(asked.refusal);
  answers_.trust();
  driver_.core().act_for(std::move(asked.who));
  return std::nullopt;
}

Async<void> HttpEndpoint::on_post(Self self, net::HttpRequest request) {
  if (!is_json_type(header_text(request, "content-type"))) {
    answer_text(net::http_status::k_unsupported_media_type, "Content-Type must be application/json\n");
    co_return;
  }
  if (!accepts(request, k_json_type) && !accepts(request, k_stream_type)) {
    answer_text(net::http_status::k_not_acceptable, "Accept must allow application/json and text/event-stream\n");
    co_return;
  }
  if (looks_like_batch(request.body) && request.header("mcp-session-id") != nullptr) {
    auto posting = on_batch(self, std::move(request));
    co_await posting;
    co_return;
  }
  auto message = parse_message(request.body);
  if (!message) {
    answer_error(net::http_status::k_bad_request, message.error().id, message.error().error);
    co_return;
  }
  const std::string version = header_text(request, "mcp-protocol-version");
  const bool is_modern = has_modern_meta(*message) || version == k_modern_version;
  if (!is_modern) {
    auto posting = on_legacy_post(self, std::move(request), std::move(*message));
    co_await posting;
    co_return;
  }
  // A method that is not here is answered as that, whatever the headers say.
  const bool is_known = message->kind != RpcMessage::Kind::request || McpCore::has_method(message->method, Era::modern);
  auto fault = is_known ? header_fault(request, *message, *setup_->server->catalog) : std::nullopt;
  if (fault) {
    answer_error(net::http_status::k_bad_request, message->id, *fault);
    co_return;
  }
  driver_.core().receive(exchange_, std::move(*message), version);
}

Async<void> HttpEndpoint::on_legacy_post(Self self, net::HttpRequest request, RpcMessage message) {
  const bool is_first = message.kind == RpcMessage::Kind::request && message.method == "initialize";
  if (message.kind == RpcMessage::Kind::request) asked_ = message.id;
  const std::string version = header_text(request, "mcp-protocol-version");
  if (!version.empty() && !is_first && !is_legacy_version(version)) {
    answer_error(net::http_status::k_bad_request, message.id,
                 {k_invalid_request, fmt::format("protocol version '{}' is not supported", version), nullptr});
    co_return;
  }
  if (is_first) {
    auto session = negotiate(message.params);
    if (!session) {
      answer_error(net::http_status::k_bad_request, message.id,
                   {k_invalid_params, "initialize needs a protocolVersion", nullptr});
      co_return;
    }
    session->who = driver_.core().who()->label();
    session_id_ = new_session_ = session_id(*setup_->server->sealer, *session, random_number());
    auto starting = start_session(self, new_session_);
    const Pid started = co_await starting;
    if (!started) {
      answer_error(net::http_status::k_unavailable, message.id,
                   {k_internal_error, "too many sessions; try again later", nullptr});
      co_return;
    }
    ask_session(self, started);
  } else {
    auto finding = find_session(self, std::move(request));
    const Pid found = co_await finding;
    if (!found) co_return;
    ask_session(self, found);
  }
  self.send(session_,
            SessionPost{self.pid(), exchange_, driver_.core().who(), std::make_unique<RpcMessage>(std::move(message))});
}

// Its session knows whether it may send one.
Async<void> HttpEndpoint::on_batch(Self self, net::HttpRequest request) {
  auto batch = std::make_unique<std::string>(std::move(request.body));
  auto finding = find_session(self, std::move(request));
  const Pid found = co_await finding;
  if (!found) co_return;
  ask_session(self, found);
  self.send(session_, SessionPost{self.pid(), exchange_, driver_.core().who(), nullptr, std::move(batch)});
}

Async<void> HttpEndpoint::on_get(Self self, net::HttpRequest request) {
  if (request.header("mcp-session-id") == nullptr) {
    method_not_allowed("POST");
    co_return;
  }
  if (!accepts(request, k_stream_type)) {
    answer_text(net::http_status::k_not_acceptable, "Accept must allow text/event-stream\n");
    co_return;
  }
  const std::string* last = request.header("last-event-id");
  auto last_event = last != nullptr ? std::make_unique<std::string>(*last) : nullptr;
  auto finding = find_session(self, std::move(request));
  const Pid found = co_await finding;
  if (!found) co_return;
  ask_session(self, found);
  self.send(session_, SessionListen{self.pid(), exchange_, driver_.core().who(), std::move(last_event)});
}

Async<void> HttpEndpoint::on_delete(Self self, net::HttpRequest request) {
  const std::string id = header_text(request, "mcp-session-id");
  if (id.empty()) {
    method_not_allowed("POST");
    co_return;
  }
  auto finding = find_session(self, std::move(request));
  const Pid session = co_await finding;
  if (!session) co_return;
  setup_->sessions->end(id);
  self.send(session, SessionEnd{});
  answers_.respond({net::http_status::k_ok, {}, ""});
}

Async<Pid> HttpEndpoint::find_session(Self self, net::HttpRequest request) {
  const std::string id = header_text(request, "mcp-session-id");
  if (id.empty()) {
    answer_error(net::http_status::k_bad_request, asked_,
                 {k_invalid_request, "the header Mcp-Session-Id is missing; begin with initialize", nullptr});
    co_return Pid{};
  }
  const operations::PrincipalPtr who = driver_.core().who();
  Pid session = setup_->sessions->find(id, *who);
  const auto sealed = session ? std::nullopt : session_of(*setup_->server->sealer, id);
  if (!session && !setup_->sessions->has_ended(id) && sealed && who->has_label(sealed->who)) {
    auto starting = start_session(self, id);
    session = co_await starting;
  }
  if (!session) {
    answer_error(net::http_status::k_not_found, asked_,
                 {k_invalid_request, "there is no such session; begin with initialize", nullptr});
  }
  co_return session;
}

Async<Pid> HttpEndpoint::start_session(Self self, std::string id) {
  const Pid pool = self.whereis(k_sessions_name);
  auto shared = std::make_shared<const std::string>(std::move(id));
  auto starting = start_pool_child(self, pool, pool_arguments(shared), k_call_timeout);
  const StartChildResult started = co_await starting;
  (void)started;  // another connection may have brought it back meanwhile
  co_return setup_->sessions->find(*shared, *driver_.core().who());
}

void HttpEndpoint::ask_session(Self self, Pid session) {
  session_ = session;
  session_watch_ = self.monitor(session);
}

void HttpEndpoint::leave_session(Self self) {
  if (session_) self.demonitor(session_watch_);
  session_ = {};
  session_watch_ = {};
}

void HttpEndpoint::on_message(Self self, Message& message) {
  if (const auto* event = message.get_if<SessionEvent>()) {
    if (session_ && event->exchange == exchange_) on_event(self, *event);
    return;
  }
  if (const auto* down = message.get_if<Down>(); down != nullptr && session_ && down->ref == session_watch_) {
    return on_session_down();
  }
  if (const auto* checked = message.get_if<Checked>()) return on_checked(self, *checked);
  (void)driver_.take(message);
}

// What was asked is lost with it. A session that its client has not ended is brought back by the next request.
void HttpEndpoint::on_session_down() {
  session_ = {};
  session_watch_ = {};
  const bool is_ended = setup_->sessions->has_ended(session_id_);
  const RpcError error =
      is_ended ? RpcError{k_invalid_request, "the session has ended; begin with initialize", nullptr}
               : RpcError{k_internal_error, "the session was interrupted; check what was done, then repeat the request",
                          nullptr};
  if (!is_streaming_)
    return answer_error(is_ended ? net::http_status::k_not_found : net::http_status::k_unavailable, asked_, error);
  if (!asked_.is_null()) {
    answers_.send_event(fmt::format("event: message\ndata: {}\n\n", operations::json_text(make_error(asked_, error))));
  }
  answers_.end_stream();
}

void HttpEndpoint::on_client_gone(Self self) {
  upgrade_.reset();
  if (session_) {
    self.send(session_, SessionGone{self.pid(), exchange_});
    leave_session(self);
  } else if (!socket_) {
    driver_.core().closed(exchange_);
  }
}

void HttpEndpoint::on_shutdown(Self self) {
  driver_.core().shut_down();
  if (socket_) end_websocket(self);
}

void HttpEndpoint::on_event(Self self, const SessionEvent& event) {
  using Kind = SessionEvent::Kind;
  if (event.kind != Kind::message) leave_session(self);  // it says nothing more
  const bool is_whole = event.kind == Kind::last_message && !is_streaming_;
  if (is_whole) {
    net::HttpResponse response{event.status, {{"Content-Type", k_json_type}}, *event.text};
    if (!new_session_.empty()) response.headers.emplace_back("Mcp-Session-Id", new_session_);
    return answers_.respond(std::move(response));
  }
  if (event.kind == Kind::refused) {
    return event.text != nullptr ? answer_text(event.status, *event.text) : method_not_allowed("POST");
  }
  if (event.kind == Kind::end && !is_streaming_) return answers_.respond({net::http_status::k_accepted, {}, ""});
  if (!is_streaming_) {
    begin_stream();
    if (event.primes) answers_.send_event(priming_text(event));
  }
  if (event.text != nullptr) answers_.send_event(event_text(event));
  if (event.kind == Kind::let_go) answers_.send_event(fmt::format("retry: {}\n\n", k_come_back_ms));
  if (event.kind != Kind::message) answers_.end_stream();
}

void HttpEndpoint::begin_stream() {
  is_streaming_ = true;
  net::HttpResponse head{
      200, {{"Content-Type", k_stream_type}, {"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}, ""};
  if (!new_session_.empty()) head.headers.emplace_back("Mcp-Session-Id", new_session_);
  answers_.begin_stream(std::move(head));
}

// What was answered here, in the modern era.
void HttpEndpoint::send(StreamId to, json::object message, Outlet::Then then, int status) {
  if (socket_) return send_in_websocket(message);
  if (to != exchange_) return;
  const bool is_last = then == Outlet::Then::end;
  std::string text = operations::json_text(message);
  if (is_last && !is_streaming_) {
    return answers_.respond({status, {{"Content-Type", k_json_type}}, std::move(text)});
  }
  if (!is_streaming_) begin_stream();
  answers_.send_event(fmt::format("event: message\ndata: {}\n\n", text));
  if (is_last) answers_.end_stream();
}

void HttpEndpoint::end(StreamId stream) {
  if (stream != exchange_ || socket_) return;
  if (is_streaming_) {
    answers_.end_stream();
  } else {
    answers_.respond({net::http_status::k_accepted, {}, ""});
  }
}

void HttpEndpoint::answer_error(int status, const json::value& id, const RpcError& error) {
  answers_.respond({status, {{"Content-Type", k_json_type}}, operations::json_text(make_error(id, error))});
}

void HttpEndpoint::answer_text(int status, std::string text) {
  answers_.respond(plain_response(status, std::move(text)));
}

void HttpEndpoint::method_not_allowed(std::string_view allowed) {
  answers_.respond({net::http_status::k_method_not_allowed,
                    {{"Allow", std::string(allowed)}, {"Content-Type", "text/plain"}},
                    "this needs another method, or an Mcp-Session-Id\n"});
}

}  // namespace skein::inline v0::mcp
