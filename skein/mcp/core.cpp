#include "skein/mcp/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <exception>
#include <utility>

#include "skein/mcp/tool_parts.hpp"
#include "skein/net/http_status.hpp"

namespace skein::inline v0::mcp {
namespace {

int status_of(const RpcError& error, Era era) {
  switch (error.code) {
    case k_parse_error:
    case k_invalid_request:
    case k_header_mismatch:
    case k_missing_capability:
    case k_unsupported_version:
      return net::http_status::k_bad_request;
    case k_method_not_found:
      return era == Era::modern ? net::http_status::k_not_found : net::http_status::k_ok;
    default:
      return net::http_status::k_ok;
  }
}

const json::object* meta_of(const json::object& params) { return object_in(params, "_meta"); }

// Where a result may be kept by the client, and how long.
struct Caching {
  std::string_view method;
  int ttl_ms;
  const char* scope;
};
constexpr std::array k_cached{
    Caching{"server/discover", 300'000, "public"},
    // A token is shown what its rank and its bounds allow.
    Caching{"tools/list", 300'000, "private"},
    Caching{"prompts/list", 300'000, "private"},
    Caching{"resources/list", 300'000, "private"},
    Caching{"resources/templates/list", 300'000, "private"},
    Caching{"resources/read", 0, "private"},
};

}  // namespace

const McpCore::MethodEntry* McpCore::find_method(std::string_view name) {
  static constexpr std::array k_methods{
      MethodEntry{"initialize", true, false, &McpCore::initialize},
      MethodEntry{"ping", true, false, &McpCore::ping},
      MethodEntry{"logging/setLevel", true, false, &McpCore::set_level},
      MethodEntry{"resources/subscribe", true, false, &McpCore::subscribe},
      MethodEntry{"resources/unsubscribe", true, false, &McpCore::unsubscribe},
      MethodEntry{"server/discover", false, true, &McpCore::discover},
      MethodEntry{"subscriptions/listen", false, true, &McpCore::listen},
      MethodEntry{"tools/list", true, true, &McpCore::list_tools},
      MethodEntry{"tools/call", true, true, &McpCore::call_tool},
      MethodEntry{"prompts/list", true, true, &McpCore::list_prompts},
      MethodEntry{"prompts/get", true, true, &McpCore::get_prompt},
      MethodEntry{"resources/list", true, true, &McpCore::list_resources},
      MethodEntry{"resources/templates/list", true, true, &McpCore::list_templates},
      MethodEntry{"resources/read", true, true, &McpCore::read_resource},
      MethodEntry{"completion/complete", true, true, &McpCore::complete},
      MethodEntry{"tasks/get", false, true, &McpCore::get_task},
      MethodEntry{"tasks/update", false, true, &McpCore::update_task},
      MethodEntry{"tasks/cancel", false, true, &McpCore::cancel_task},
  };
  const auto found = std::ranges::find(k_methods, name, &MethodEntry::name);
  return found != k_methods.end() ? &*found : nullptr;
}

bool McpCore::has_method(std::string_view name, Era era) {
  const MethodEntry* method = find_method(name);
  return method != nullptr && (era == Era::modern ? method->in_modern : method->in_legacy);
}

void McpCore::receive(StreamId from, std::string_view text) {
  if (may_batch() && looks_like_batch(text)) return receive_batch(from, text);
  auto message = parse_message(text, setup_.limits);
  if (!message) return refuse(from, message.error().id, message.error().error);
  receive(from, std::move(*message));
}

void McpCore::receive(StreamId from, RpcMessage message, std::string_view header_version) {
  switch (message.kind) {
    case RpcMessage::Kind::request:
      on_request(from, message, header_version);
      break;
    case RpcMessage::Kind::notification:
      on_notification(from, message);
      break;
    case RpcMessage::Kind::response:
      on_response(from, message);
      break;
  }
  sweep();
}

void McpCore::refuse(StreamId to, const json::value& id, const RpcError& error) {
  outlet_.send(to, make_error(id, error), Outlet::Then::end, status_of(error, Era::modern));
}

bool McpCore::is_modern(const RpcMessage& message, std::string_view header_version) const {
  const json::object* meta = meta_of(message.params);
  if (meta != nullptr && (meta->contains(k_meta_version) || meta->contains(k_meta_capabilities))) return true;
  if (header_version == k_modern_version) return true;
  // Before there is a session, only these two make sense without _meta.
  return !session_ && message.method != "initialize" && message.method != "ping";
}

std::optional<RpcError> McpCore::modern_fault(const json::object& params, std::string_view header_version) const {
  const json::object* meta = meta_of(params);
  const json::string* version = meta != nullptr ? string_in(*meta, k_meta_version) : nullptr;
  const json::object* client = meta != nullptr ? object_in(*meta, k_meta_capabilities) : nullptr;
  if (version != nullptr && !header_version.empty() && std::string_view(*version) != header_version) {
    return RpcError{k_header_mismatch, "the header MCP-Protocol-Version and _meta name different versions", nullptr};
  }
  if (version == nullptr || client == nullptr) {
    RpcError error{k_invalid_params,
                   fmt::format("params._meta must have {} and {}, or the session begin with initialize", k_meta_version,
                               k_meta_capabilities),
                   nullptr};
    error.status = net::http_status::k_bad_request;
    return error;
  }
  if (std::string_view(*version) != k_modern_version) {
    json::array supported{json::value(k_modern_version)};
    for (const std::string_view each : k_legacy_versions) supported.emplace_back(each);
    return RpcError{k_unsupported_version, "this version of the protocol is not supported",
                    json::object{{"supported", std::move(supported)}, {"requested", *version}}};
  }
  return std::nullopt;
}

template <class Work>
void McpCore::guarded(Exchange& exchange, Work work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (setup_.log) {
      setup_.log(fmt::format("MCP: {} {} could not be answered: {}", exchange.method_, exchange.name_, error.what()));
    }
    fail(exchange,
         {k_internal_error, "internal error: the server could not answer this request; its log says why", nullptr});
  }
}

void McpCore::on_request(StreamId from, RpcMessage& message, std::string_view header_version) {
  const bool modern = is_modern(message, header_version);
  const auto refused = [&](const RpcError& error) {
    const int status = error.status != 0 ? error.status : status_of(error, modern ? Era::modern : Era::legacy);
    send_last(from, in_batch_, make_error(message.id, error), status);
  };
  if (modern) {
    if (auto fault = modern_fault(message.params, header_version)) return refused(*fault);
  }
  const MethodEntry* method = find_method(message.method);
  if (!has_method(message.method, modern ? Era::modern : Era::legacy)) {
    return refused({k_method_not_found, fmt::format("unknown method '{}'", message.method), nullptr});
  }
  if (exchanges_.size() >= k_requests_max) {
    return refused({k_internal_error, "too many requests are in progress; wait for some of them", nullptr});
  }
  const std::uint64_t number = ++last_number_;
  if (!by_id_.emplace(json::serialize(message.id), number).second) {
    return refused({k_invalid_request, "a request with this id is still in progress", nullptr});
  }
  auto& exchange = exchanges_[number];
  exchange.reset(new Exchange(*this, number, from, message.id));  // the constructor is private
  exchange->method_ = std::move(message.method);
  exchange->written_ = std::move(message.written);
  exchange->batch_ = in_batch_;
  Caller& caller = exchange->caller_;
  const json::object* meta = meta_of(message.params);
  if (modern) {
    caller.era = Era::modern;
    caller.version = k_modern_version;
    caller.capabilities = *object_in(*meta, k_meta_capabilities);
    const auto level = std::ranges::find(k_log_levels, text_in(*meta, k_meta_log_level));
    caller.log_level = static_cast<std::size_t>(level - k_log_levels.begin());
  } else if (session_) {
    caller.version = session_->version;
    for (const std::string& each : session_->capabilities) caller.capabilities[each] = json::object();
    caller.log_level = log_level_;
  }
  const json::value* token = meta != nullptr ? meta->if_contains("progressToken") : nullptr;
  if (token != nullptr && (token->is_string() || token->is_int64() || token->is_uint64())) {
    exchange->progress_token_ = *token;
  }
  guarded(*exchange, [&] {
    if (setup_.who->kind == operations::Principal::Kind::task) {
      return call_if_it_runs(*exchange, method->call, std::move(message.params));
    }
    (this->*method->call)(*exchange, message.params);
  });
}

void McpCore::call_if_it_runs(Exchange& exchange, Method call, json::object params) {
  const auto then = [this, call, who = setup_.who, params = std::move(params)](Exchange& asked,
                                                                               const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) {
      const bool is_void = !who->holds();
      return asked.fail({is_void ? k_invalid_request : k_internal_error, error_text(answer.value), nullptr,
                         is_void ? net::http_status::k_forbidden : 0});
    }
    if (setup_.who->label() != who->label() || setup_.who->fence != who->fence) {
      return asked.fail({k_internal_error, "another token was sent in the meantime; repeat the request", nullptr});
    }
    (this->*call)(asked, params);
  };
  exchange.ask_standing(then);
}

void McpCore::on_notification(StreamId from, const RpcMessage& message) {
  if (message.method == "notifications/cancelled") {
    const json::value* id = message.params.if_contains("requestId");
    const auto found = id != nullptr ? by_id_.find(json::serialize(*id)) : by_id_.end();
    if (found != by_id_.end()) cancel(found->second);
  }
  // Others ask for nothing.
  if (in_batch_ == 0) outlet_.end(from);
}

void McpCore::on_response(StreamId from, const RpcMessage& message) {
  if (in_batch_ == 0) outlet_.end(from);
  const json::string* id = message.id.if_string();
  const auto found = id != nullptr ? questions_.find(std::string_view(*id)) : questions_.end();
  if (found == questions_.end()) return;
  const Question question = std::move(found->second);
  questions_.erase(found);
  const auto exchange = exchanges_.find(question.exchange);
  if (exchange == exchanges_.end()) return;
  Exchange& asked = *exchange->second;
  asked.waits_.erase(std::string(*id));
  const json::object* result = message.result.if_object();
  if (result == nullptr) {
    const json::object* error = message.error.if_object();
    return asked.finish_error(fmt::format("the client did not answer {}: {}", question.method,
                                          error != nullptr ? text_in(*error, "message") : "no result"));
  }
  asked.inputs_[question.key] = *result;
  if (asked.waits_.empty()) guarded(asked, [&] { run(asked); });
}

void McpCore::answered(std::uint64_t call, const NodeAnswer& answer) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  const auto exchange = exchanges_.find(found->second.exchange);
  // Kept while there may be parts to come, and called from a copy: it may ask again.
  const Exchange::OnAnswer then = found->second.then;
  if (answer.kind != NodeAnswer::Kind::part) calls_.erase(found);
  if (exchange != exchanges_.end() && !exchange->second->is_over_) {
    guarded(*exchange->second, [&] { then(*exchange->second, answer); });
  }
  sweep();
}

void McpCore::woken(std::uint64_t timer) {
  if (timer == pause_timer_) {
    pause_timer_ = 0;
    const auto all = std::exchange(held_back_, {});
    for (const std::string& each : all) tell({Change::Kind::resource, each});
    if (!all.empty()) pause_updates();
    return;
  }
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  const Timer due = std::move(found->second);
  timers_.erase(found);
  const auto exchange = exchanges_.find(due.exchange);
  if (exchange != exchanges_.end() && !exchange->second->is_over_) {
    guarded(*exchange->second, [&] { due.then(*exchange->second); });
  }
  sweep();
}

void McpCore::closed(StreamId stream) {
  for (const auto& [number, exchange] : exchanges_) {
    // A legacy client may lose the stream and come back for the answer.
    if (exchange->stream_ == stream && exchange->caller_.era == Era::modern) cancel(number);
  }
  sweep();
}

void McpCore::cancel(std::uint64_t number) {
  Exchange& exchange = *exchanges_.at(number);
  if (exchange.is_over_) return;
  if (exchange.batch_ == 0) outlet_.end(exchange.stream_);
  end(exchange);
  if (exchange.batch_ != 0) count_down(exchange.batch_);
}

void McpCore::shut_down() {
  for (const auto& each : exchanges_) {
    Exchange& exchange = *each.second;
    if (exchange.is_listening_ && !exchange.is_over_) finish(exchange, {});
  }
  sweep();
}

void McpCore::expel(const operations::Error& why) {
  for (const auto& each : exchanges_) {
    Exchange& exchange = *each.second;
    if (exchange.is_listening_)
      fail(exchange, {k_invalid_request, why.describe(), nullptr, net::http_status::k_forbidden});
  }
  subscriptions_.clear();
  sweep();
}

void McpCore::end(Exchange& exchange) {
  exchange.is_over_ = true;
  over_.push_back(exchange.number_);
}

void McpCore::sweep() {
  for (const std::uint64_t number : std::exchange(over_, {})) {
    const auto found = exchanges_.find(number);
    if (found == exchanges_.end()) continue;
    const auto id = by_id_.find(json::serialize(found->second->id_));
    if (id != by_id_.end() && id->second == number) by_id_.erase(id);
    for (const std::string& each : found->second->waits_) questions_.erase(each);
    exchanges_.erase(found);
    std::erase_if(calls_, [&](const auto& each) {
      const bool is_unanswered = each.second.exchange == number;
      if (is_unanswered) outlet_.give_up(each.first);
      return is_unanswered;
    });
    std::erase_if(timers_, [&](const auto& each) { return each.second.exchange == number; });
  }
  watch_if_needed();
}

void McpCore::finish(Exchange& exchange, json::object result) {
  if (exchange.is_over_) return;
  tell_ignored(exchange.ignored_, result);
  if (exchange.caller_.era == Era::modern) {
    if (!result.contains("resultType")) result["resultType"] = "complete";
    json::value& meta = result["_meta"];
    if (!meta.is_object()) meta = json::object();
    meta.get_object()[k_meta_server] = server_info();
    if (exchange.is_listening_) meta.get_object()[k_meta_subscription] = exchange.id_;
    const auto cached = std::ranges::find(k_cached, exchange.method_, &Caching::method);
    if (cached != k_cached.end() && result.at("resultType") == "complete") {
      result["ttlMs"] = cached->ttl_ms;
      result["cacheScope"] = cached->scope;
    }
  }
  end(exchange);
  send_last(exchange.stream_, exchange.batch_, make_result(exchange.id_, std::move(result)), net::http_status::k_ok);
}

void McpCore::fail(Exchange& exchange, const RpcError& error) {
  if (exchange.is_over_) return;
  end(exchange);
  const int status = error.status != 0 ? error.status : status_of(error, exchange.caller_.era);
  send_last(exchange.stream_, exchange.batch_, make_error(exchange.id_, error), status);
}

}  // namespace skein::inline v0::mcp
