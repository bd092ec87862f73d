#include "skein/mcp/bridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "skein/mcp/protocol.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/methods.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr const char* k_interrupted =
    "the node ended before it answered: it was stopped or restarted, or it crashed. Call again. Repeating task_submit "
    "with the same key is safe; without a key, look at task_list first";
constexpr std::string_view k_call = "tools/call";
constexpr std::string_view k_listen = "subscriptions/listen";
constexpr std::string_view k_acknowledged = "notifications/subscriptions/acknowledged";

// What must be said again to a new node, or is when it was not answered.
bool is_remembered(std::string_view method) {
  return method == "initialize" || method == k_listen || method == "resources/subscribe" ||
         method == "resources/unsubscribe" || method == "logging/setLevel";
}

std::string key_of(const json::value& id) {
  if (id.is_null()) return {};
  return id.is_int64() ? std::to_string(id.get_int64()) : json::serialize(id);
}

json::object params_in(std::string_view line) {
  auto message = parse_message(line);
  return message ? std::move(message->params) : json::object();
}

// Whether a node that stops has refused a call with this answer before anything of it was done.
bool says_not_taken(std::string_view line) {
  static const std::string k_refusal = error_text(operations::to_json(operations::not_taken_while_draining()));
  if (line.find(k_refusal) == std::string_view::npos) return false;
  json::error_code error;
  const json::value answer = json::parse(line, error);
  const json::value* text = error ? nullptr : answer.find_pointer("/result/content/0/text", error);
  if (text == nullptr || !text->is_string() || text->get_string() != k_refusal) return false;
  const json::value* is_error = answer.find_pointer("/result/isError", error);
  return is_error != nullptr && *is_error == true;
}

}  // namespace

std::size_t Bridge::owed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(requests_, [](const auto& each) { return each.second.method != k_listen; }));
}

std::size_t Bridge::under_way() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      requests_, [](const auto& each) { return each.second.is_sent && each.second.method != k_listen; }));
}

void Bridge::answer(const json::value& id, std::string_view why) {
  to_client_.push_back(json::serialize(make_error(id, {k_internal_error, std::string(why), nullptr})));
}

// ---- the client ----

void Bridge::from_client(std::string_view line, Instant now) {
  if (looks_like_batch(line)) return on_batch(line);
  const MessageGlance seen(line);
  const bool is_request = !seen.id().is_null() && !seen.method().empty() && !seen.is_answer();
  if (is_request) return on_request(seen, line, now);
  if (seen.is_answer()) {
    if (is_connected_ && asked_by_node_.erase(key_of(seen.id())) > 0) to_node_.emplace_back(line);
    return;
  }
  if (seen.id().is_null() && !seen.method().empty()) return on_notification(seen.method(), line);
  if (is_connected_) return to_node_.emplace_back(line), void();  // it says what is wrong
  const auto message = parse_message(line);
  if (!message) to_client_.push_back(json::serialize(make_error(message.error().id, message.error().error)));
}

void Bridge::too_long(const MessageGlance& seen) {
  const RpcError error{k_invalid_request,
                       fmt::format("a line is longer than {} bytes; send smaller messages", k_message_bytes_max),
                       nullptr};
  to_client_.push_back(json::serialize(make_error(seen.id_to_answer(), error)));
}

void Bridge::on_request(const MessageGlance& seen, std::string_view line, Instant now) {
  const std::string key = key_of(seen.id());
  const auto [at, is_new] = requests_.try_emplace(key);
  Request& request = at->second;
  if (!is_new) {
    if (!request.is_sent) return answer(seen.id(), "a request with this id is still in progress");
    ++request.doubles;
    return to_node_.emplace_back(line), void();
  }
  request.id = seen.id();
  request.method = seen.method();
  request.until = later(now, k_bridge_wait);
  const bool may_come_again = is_remembered(request.method) || request.method == k_call;
  if (may_come_again && line.size() <= k_bridge_remembered_bytes_max) request.line = line;
  if (!is_connected_) return hold(key, line);
  request.is_sent = true;
  to_node_.emplace_back(line);
}

bool Bridge::may_hold(std::string_view line) const {
  return held_.size() < k_bridge_requests_max && held_bytes_ + line.size() <= k_bridge_bytes_max;
}

void Bridge::hold(const std::string& key, std::string_view line) {
  if (is_refused_) {
    answer(requests_.at(key).id, why_);
    requests_.erase(key);
    return;
  }
  if (!may_hold(line)) {
    answer(requests_.at(key).id, "too many requests wait for the node: " + why_);
    requests_.erase(key);
    return;
  }
  held_bytes_ += line.size();
  const Instant until = requests_.at(key).until;
  const auto after = std::ranges::upper_bound(held_, until, {}, &Held::until);
  held_.insert(after, {key, std::string(line), until});
}

// Only 2025-03-26 has them. They do not wait for a node.
void Bridge::on_batch(std::string_view line) {
  const auto batch = parse_batch(line);
  for (const auto& each : batch ? *batch : ParsedBatch()) {
    if (!each || each->kind != RpcMessage::Kind::request) continue;
    if (!is_connected_) {
      answer(each->id, why_);
      continue;
    }
    Request& request = requests_[key_of(each->id)];
    request.id = each->id;
    request.method = each->method;
    request.is_sent = true;
  }
  if (is_connected_) to_node_.emplace_back(line);
}

void Bridge::on_notification(const std::string& method, std::string_view line) {
  if (method == "notifications/initialized") is_initialized_ = true;
  if (method == "notifications/cancelled") {
    const json::object params = params_in(line);
    const json::value* id = params.if_contains("requestId");
    const std::string key = id != nullptr ? key_of(*id) : std::string();
    if (requests_.erase(key) > 0) {
      std::erase_if(held_, [&](const Held& each) {
        const bool is_it = each.key == key;
        if (is_it) held_bytes_ -= each.line.size();
        return is_it;
      });
    }
  }
  if (is_connected_) to_node_.emplace_back(line);
}

// ---- the node ----

void Bridge::from_node(std::string_view line) {
  if (looks_like_batch(line)) {
    const auto batch = parse_batch(line, {.bytes = SIZE_MAX});
    for (const auto& each : batch ? *batch : ParsedBatch()) {
      if (each) requests_.erase(key_of(each->id));
    }
    return to_client_.emplace_back(line), void();
  }
  const MessageGlance seen(line);
  const std::string key = key_of(seen.id());
  if (is_swallowed(seen, key, line)) return;
  if (!key.empty() && seen.is_answer()) {
    if (is_left_to_the_next_node(key, line)) return;
    on_answer(key, seen.has_error());
  }
  if (!key.empty() && !seen.is_answer()) asked_by_node_.insert(key);
  to_client_.emplace_back(line);
}

void Bridge::on_answer(const std::string& key, bool is_error) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return;
  if (is_error && found->second.doubles > 0) {
    --found->second.doubles;  // the first is still under way
    return;
  }
  if (!is_error) remember(found->second);
  requests_.erase(found);
}

void Bridge::remember(const Request& request) {
  if (!is_remembered(request.method) || request.line.empty()) return;
  json::object params = params_in(request.line);
  if (request.method == "initialize") {
    session_ = std::move(params);
    level_.reset();
    subscriptions_.clear();
  } else if (request.method == "logging/setLevel") {
    level_ = std::move(params);
  } else if (request.method == "resources/unsubscribe") {
    subscriptions_.erase(text_in(params, "uri"));
  } else if (request.method == "resources/subscribe" && subscriptions_.size() < k_bridge_subscriptions_max) {
    subscriptions_.insert(text_in(params, "uri"));
  }
}

bool Bridge::is_left_to_the_next_node(const std::string& key, std::string_view line) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) return false;
  Request& request = found->second;
  const bool may_wait = request.method == k_call && request.is_sent && request.doubles == 0 && !request.line.empty();
  if (!may_wait || !may_hold(request.line) || !says_not_taken(line)) return false;
  request.is_sent = false;
  request.refusal = line;
  hold(key, request.line);
  return true;
}

// What answers to the bridge and not to its client.
bool Bridge::is_swallowed(const MessageGlance& seen, const std::string& key, std::string_view line) {
  if (seen.method() == k_acknowledged) return is_acknowledged_again(line);
  // A node that stops ends the listens of its clients. Here they go on with the next node.
  const auto listen = seen.is_answer() && !seen.has_error() ? requests_.find(key) : requests_.end();
  if (listen != requests_.end() && listen->second.method == k_listen && !listen->second.line.empty()) return true;
  const auto found = seen.is_answer() ? replayed_.find(key) : replayed_.end();
  if (found == replayed_.end()) return false;
  if (!found->second.uri.empty() && !seen.has_error()) tell_changed(found->second.uri, nullptr);
  replayed_.erase(found);
  return true;
}

bool Bridge::is_acknowledged_again(std::string_view line) {
  const json::object params = params_in(line);
  const json::object* meta = object_in(params, "_meta");
  const json::value* id = meta != nullptr ? meta->if_contains(k_meta_subscription) : nullptr;
  if (id == nullptr) return false;
  const std::string key = key_of(*id);
  if (const auto found = requests_.find(key); found != requests_.end()) found->second.is_again = true;
  if (acknowledged_again_.erase(key) == 0) return false;
  const json::object* filter = object_in(params, "notifications");
  const json::value* uris = filter != nullptr ? filter->if_contains("resourceSubscriptions") : nullptr;
  if (uris == nullptr || !uris->is_array()) return true;
  for (const json::value& each : uris->get_array()) {
    if (each.is_string()) tell_changed(std::string(each.get_string()), *id);
  }
  return true;
}

void Bridge::tell_changed(const std::string& uri, const json::value& subscription) {
  json::object params{{"uri", uri}};
  if (!subscription.is_null()) params["_meta"] = json::object{{k_meta_subscription, subscription}};
  to_client_.push_back(json::serialize(make_notification("notifications/resources/updated", std::move(params))));
}

// ---- coming and going ----

void Bridge::connected() {
  is_connected_ = true;
  is_refused_ = false;
  replay();
  for (const Held& each : std::exchange(held_, {})) {
    const auto found = requests_.find(each.key);
    if (found == requests_.end()) continue;
    found->second.is_sent = true;
    to_node_.push_back(each.line);
  }
  held_bytes_ = 0;
}

void Bridge::replay() {
  if (session_) {
    replay_request("initialize", *session_);
    if (is_initialized_) to_node_.push_back(json::serialize(make_notification("notifications/initialized", {})));
    if (level_) replay_request("logging/setLevel", *level_);
    for (const std::string& each : subscriptions_) replay_request("resources/subscribe", {{"uri", each}}, each);
  }
  for (auto& [key, request] : requests_) {
    if (request.method != k_listen || !request.is_again) continue;
    acknowledged_again_.insert(key);
    request.is_sent = true;
    to_node_.push_back(request.line);
  }
}

void Bridge::replay_request(std::string_view method, json::object params, std::string uri) {
  const json::value id(fmt::format("skein-bridge-{}", ++last_number_));
  replayed_[key_of(id)] = {std::move(uri)};
  to_node_.push_back(json::serialize(make_request(id, method, std::move(params))));
}

void Bridge::disconnected(std::string why, Instant now, bool is_final) {
  is_connected_ = false;
  is_refused_ = is_final;
  why_ = std::move(why);
  const std::string closing = std::exchange(closing_, {});
  const std::string interrupted = closing.empty()
                                      ? std::string(k_interrupted)
                                      : fmt::format(
                                            "the node closed the connection before it answered: {}. Call again once "
                                            "that is fixed; repeating task_submit with the same key is safe",
                                            closing);
  asked_by_node_.clear();
  replayed_.clear();
  acknowledged_again_.clear();
  to_node_.clear();
  for (auto at = requests_.begin(); at != requests_.end();) {
    Request& request = at->second;
    const bool was_sent = std::exchange(request.is_sent, false);
    const bool goes_on = !request.line.empty() && request.method == k_listen && request.is_again;
    const bool comes_again =
        !request.line.empty() && !goes_on && (request.method == "initialize" || request.method == k_listen);
    request.doubles = 0;
    const std::string key = at->first;
    const auto next = std::next(at);
    if (was_sent && comes_again) {
      request.until = later(now, k_bridge_wait);
      hold(key, std::string(request.line));
    }
    if (was_sent && !comes_again && !goes_on) {
      answer(request.id, interrupted);
      requests_.erase(at);
    }
    at = next;
  }
  if (is_refused_) answer_held();
}

void Bridge::answer_held() {
  for (const Held& each : std::exchange(held_, {})) {
    const auto found = requests_.find(each.key);
    if (found == requests_.end()) continue;
    answer(found->second.id, why_);
    requests_.erase(found);
  }
  held_bytes_ = 0;
}

void Bridge::on_time(Instant now) {
  while (!held_.empty() && held_.front().until <= now) {
    const Held gone = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= gone.line.size();
    const auto found = requests_.find(gone.key);
    if (found == requests_.end()) continue;
    const Request& request = found->second;
    if (is_connected_) {
      to_client_.push_back(request.refusal);
    } else {
      answer(request.id, why_);
    }
    requests_.erase(found);
  }
}

std::optional<Instant> Bridge::due() const {
  if (held_.empty()) return std::nullopt;
  return held_.front().until;
}

}  // namespace skein::inline v0::mcp
