#include "skein/rest/rest_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "skein/mcp/http_rules.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/way_words.hpp"
#include "skein/rest/openapi.hpp"

namespace skein::inline v0::rest {
namespace {

using operations::Answer;
namespace http_status = net::http_status;

constexpr int k_ms_in_s = 1000;

const char* const k_rest_json = "application/json";

struct StatusOf {
  std::string_view code;
  int status;
};
constexpr auto k_statuses = std::to_array<StatusOf>({
    {"invalid", http_status::k_bad_request},
    {"invalid_json", http_status::k_bad_request},
    {"too_large", http_status::k_content_too_large},
    {"bad_cursor", http_status::k_bad_request},
    {"task_not_found", http_status::k_not_found},
    {"swarm_not_found", http_status::k_not_found},
    {"agent_not_found", http_status::k_not_found},
    {"process_not_found", http_status::k_not_found},
    {"dependency_failed", http_status::k_unprocessable},
    {"dependency_not_found", http_status::k_unprocessable},
    {"swarm_exists", http_status::k_conflict},
    {"swarm_closed", http_status::k_conflict},
    {"swarm_busy", http_status::k_conflict},
    {"already_finished", http_status::k_conflict},
    {"wrong_state", http_status::k_conflict},
    {"queue_full", http_status::k_too_many_requests},
    {"ledger_full", http_status::k_unavailable},
    {"archive_behind", http_status::k_unavailable},
    {"overloaded", http_status::k_unavailable},
    {"not_leader", http_status::k_unavailable},
    {"unknown", http_status::k_gateway_timeout},
    {"stopped", http_status::k_unavailable},
    {"internal", http_status::k_internal_error},
    {"archive_unavailable", http_status::k_unavailable},
    {"forbidden", http_status::k_forbidden},
    {"token_not_found", http_status::k_not_found},
    {"token_exists", http_status::k_conflict},
    {"child_limit", http_status::k_conflict},
    {"key_reused", http_status::k_conflict},
});

std::string_view code_of(int status) {
  if (status == http_status::k_unauthorized) return "unauthorized";
  return status == http_status::k_forbidden ? "forbidden" : "too_many_attempts";
}

using Headers = std::vector<std::pair<std::string, std::string>>;

// What no operation says: it has no Error of its own.
net::HttpResponse refusal_of(int status, std::string_view code, std::string message, std::string_view advice,
                             Headers headers = {}) {
  json::object error{{"code", code}, {"message", std::move(message)}};
  if (!advice.empty()) error["advice"] = advice;
  headers.emplace_back("Content-Type", k_rest_json);
  return {status, std::move(headers), operations::json_text(json::object{{"error", std::move(error)}}) + "\n"};
}

}  // namespace

int status_of(std::string_view code) {
  const auto found = std::ranges::find(k_statuses, code, &StatusOf::code);
  return found != k_statuses.end() ? found->status : http_status::k_internal_error;
}

std::optional<net::HttpResponse> RestService::on_head(Self self, const net::HttpRequest& head) {
  mcp::GateAnswer asked = mcp::admit(setup_->gate, head, self.now());
  who_ = std::move(asked.who);
  auto& refused = asked.refusal;
  if (!refused) {
    answers_.trust();
    return std::nullopt;
  }
  std::string why = std::move(refused->body);
  if (why.ends_with('\n')) why.pop_back();
  std::erase_if(refused->headers, [](const auto& each) { return each.first == "Content-Type"; });
  auto answer = refusal_of(refused->status, code_of(refused->status), std::move(why), "", std::move(refused->headers));
  answer.closes = refused->closes;
  return answer;
}

Async<void> RestService::on_request(Self self, net::HttpRequest request) {
  begin(self, request);
  co_return;
}

void RestService::begin(Self self, const net::HttpRequest& request) {
  route_ = nullptr;
  if (auto refused = on_head(self, request)) return fail(std::move(*refused));
  Match found = match(request.method, request.path);
  if (found.operation == nullptr && found.allowed.empty()) {
    return fail(refusal_of(http_status::k_not_found, "not_found", fmt::format("there is nothing at {}", request.path),
                           "/api/v1/openapi.json describes all paths"));
  }
  if (found.operation == nullptr) {
    return fail(refusal_of(http_status::k_method_not_allowed, "method_not_allowed",
                           fmt::format("{} is not for this path", request.method), "use " + found.allowed,
                           {{"Allow", found.allowed}}));
  }
  if (auto no = operations::never(*who_, found.operation->name)) return refuse(*no);
  const std::string* type = request.header("content-type");
  if (!request.body.empty() && (type == nullptr || !mcp::is_json_type(*type))) {
    return fail(refusal_of(http_status::k_unsupported_media_type, "unsupported_media_type", "the body must be JSON",
                           "send Content-Type: application/json"));
  }
  auto params = read_params(*found.operation, std::move(found.values), request);
  if (!params) return refuse(params.error());
  route_ = found.operation;
  if (route_->name == "openapi") return answer(route_->rest.status, openapi());
  if (route_->name == "events") return begin_events(self, request, *params);
  ask(self, route_->name, *params);
}

void RestService::ask(Self self, std::string_view op, const json::object& params) {
  call_ = std::max(call_, k_first_rest_call) + 1;
  if (op == "task_wait") wait_ = std::make_shared<operations::WaitTicket>();
  operations::carry_out(
      op, {*setup_->hooks, params, operations::Responder(*setup_->runtime, self.pid(), call_, wait_), who_});
}

void RestService::give_up_wait() {
  const auto wait = std::exchange(wait_, nullptr);
  if (wait == nullptr) return;
  if (const auto ops = setup_->hooks->operations()) ops->give_up(*wait);
}

bool RestService::take(Self self, Message& message) {
  if (auto* answer = message.get_if<Answer>()) {
    if (answer->id < k_first_rest_call) return false;
    // What was asked by a request that nobody waits for any more is passed over.
    if (answer->id == call_ && route_ != nullptr && answer->kind != Answer::Kind::part) on_answer(*answer);
    return true;
  }
  if (const auto* ready = message.get_if<EventsReady>()) {
    if (ready->stream == call_) pump_events(self);
    return true;
  }
  if (const auto* check = message.get_if<StandingCheck>()) {
    if (check->stream == call_ && events_ != nullptr) watch_standing(self);
    return true;
  }
  if (!message.is<operations::OperationsGone>() || events_ == nullptr) return false;
  end_events();
  return true;
}

void RestService::on_answer(Answer& given) {
  wait_.reset();
  json::value value = (*given.make)();
  if (given.kind == Answer::Kind::error) return fail(std::move(value));
  operations::put_waits_in_words_for(operations::Way::rest, *who_, value);
  const json::object* object = value.if_object();
  const bool was_there = object != nullptr && object->contains("existing");
  answer(was_there ? http_status::k_ok : route_->rest.status, value);
}

void RestService::answer(int status, const json::value& value) {
  route_ = nullptr;
  answers_.respond({status, {{"Content-Type", k_rest_json}}, operations::json_text(value) + "\n"});
}

// Before any operation has seen it.
void RestService::refuse(const operations::Error& error) {
  if (const auto ops = setup_->hooks->operations()) ops->count_refused(error.code);
  fail(operations::to_json(error));
}

void RestService::fail(json::value error) {
  if (who_) operations::put_error_in_words_for(operations::Way::rest, *who_, error);
  const json::object& object = error.as_object();
  net::HttpResponse response{status_of(std::string_view(object.at("code").as_string())),
                             {{"Content-Type", k_rest_json}},
                             operations::json_text(json::object{{"error", error}}) + "\n"};
  if (const json::value* after = object.if_contains("retry_after_ms")) {
    const auto seconds = (after->to_number<std::int64_t>() + k_ms_in_s - 1) / k_ms_in_s;
    response.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  fail(std::move(response));
}

void RestService::fail(net::HttpResponse response) {
  route_ = nullptr;
  answers_.respond(std::move(response));
}

void RestService::on_client_gone(Self) {
  route_ = nullptr;
  give_up_wait();
  events_.reset();
  ops_.reset();
}

void RestService::on_shutdown(Self) {
  if (events_ != nullptr) end_events();
}

}  // namespace skein::inline v0::rest
