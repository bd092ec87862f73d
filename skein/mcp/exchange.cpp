#include "skein/mcp/exchange.hpp"

#include <boost/json/array.hpp>
#include <utility>

#include "skein/mcp/core.hpp"

namespace skein::inline v0::mcp {

void Exchange::finish(json::object result) { core_.finish(*this, std::move(result)); }

void Exchange::finish_error(std::string_view text) {
  finish({{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}, {"isError", true}});
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): handlers make the error where they call this
void Exchange::fail(RpcError error) { core_.fail(*this, error); }

bool Exchange::can_task() const {
  const json::object* extensions = object_in(caller_.capabilities, "extensions");
  return caller_.era == Era::modern && extensions != nullptr && object_in(*extensions, k_tasks_extension) != nullptr;
}

void Exchange::become_task(std::string id) { core_.become_task(*this, std::move(id)); }

const json::object* Exchange::input(std::string_view key) const { return object_in(inputs_, key); }

void Exchange::need(std::vector<InputRequest> requests, json::value state) {
  core_.need(*this, std::move(requests), std::move(state));
}

void Exchange::progress(double done, std::optional<double> total, std::string_view message) {
  if (is_over_ || !wants_progress() || (progress_ && done <= *progress_)) return;
  progress_ = done;
  json::object params{{"progressToken", progress_token_}, {"progress", done}};
  if (total) params["total"] = *total;
  if (!message.empty()) params["message"] = message;
  core_.send(*this, make_notification("notifications/progress", std::move(params)));
}

void Exchange::log(std::string_view level, std::string_view logger, json::value data) {
  const auto* const at = std::find(k_log_levels.begin(), k_log_levels.end(), level);
  if (is_over_ || static_cast<std::size_t>(at - k_log_levels.begin()) < caller_.log_level) return;
  core_.send(*this, make_notification("notifications/message",
                                      {{"level", level}, {"logger", logger}, {"data", std::move(data)}}));
}

void Exchange::ask_node(std::string_view op, json::object params, OnAnswer then) {
  const std::uint64_t call = ++core_.last_number_;
  core_.calls_.emplace(call, McpCore::Call{number_, std::move(then)});
  core_.outlet_.ask_node(call, op, std::move(params));
}

void Exchange::ask_standing(OnAnswer then) {
  const std::uint64_t call = ++core_.last_number_;
  core_.calls_.emplace(call, McpCore::Call{number_, std::move(then)});
  core_.outlet_.ask_standing(call);
}

void Exchange::after(std::chrono::milliseconds time, OnTime then) {
  const std::uint64_t timer = ++core_.last_number_;
  core_.timers_.emplace(timer, McpCore::Timer{number_, std::move(then)});
  core_.outlet_.wake_after(timer, time);
}

void Exchange::let_go() {
  if (caller_.era == Era::legacy) core_.outlet_.let_go(stream_);
}

void Exchange::announce(const Change& change) { core_.outlet_.announce(change); }

}  // namespace skein::inline v0::mcp
