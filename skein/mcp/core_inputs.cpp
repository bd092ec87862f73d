// Input that only the client has. In the modern era the request ends with what is needed, and comes again with it and
// with the state we gave along, which the client must not be able to make up; in the legacy era we ask while the
// request waits. The handler is the same: it is called again and finds the input.
#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <utility>

#include "skein/base/sha256.hpp"
#include "skein/mcp/core.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_state_purpose = "request-state";

struct Need {
  std::string_view method;
  std::string_view capability;
};
constexpr std::array k_needs{Need{"elicitation/create", "elicitation"}, Need{"sampling/createMessage", "sampling"},
                             Need{"roots/list", "roots"}};

std::string_view capability_for(std::string_view method) {
  for (const Need& each : k_needs) {
    if (each.method == method) return each.capability;
  }
  return {};
}

// What was asked, without what changes when it is asked again.
std::string digest_of(std::string_view method, const json::object& params) {
  json::object asked{{"method", method}};
  for (const char* key : {"name", "uri", "arguments"}) {
    const json::value* found = params.if_contains(key);
    if (found != nullptr) asked[key] = *found;
  }
  return to_hex(sha256(json::serialize(asked)));
}

}  // namespace

void McpCore::run(Exchange& exchange) {
  // From a copy: the handler may finish the exchange and with it its own function.
  const Exchange::Handler handler = exchange.handler_;
  handler(exchange);
}

bool McpCore::take_inputs(Exchange& exchange, const json::object& params) {
  if (exchange.caller_.era != Era::modern) return true;
  exchange.digest_ = digest_of(exchange.method_, params);
  const auto refused = [&](const char* why) {
    exchange.fail({k_invalid_params, why, nullptr});
    return false;
  };
  if (const json::value* given = params.if_contains("requestState")) {
    const json::string* sealed = given->if_string();
    const auto text = sealed != nullptr ? setup_.sealer->open(k_state_purpose, *sealed) : std::nullopt;
    if (!text) return refused("this requestState was not issued by this node; repeat the request without it");
    const json::value state = operations::own_json(*text);
    const json::object& sealed_state = state.as_object();
    if (!setup_.who->has_label(text_in(sealed_state, "who")) || text_in(sealed_state, "of") != exchange.digest_) {
      return refused("this requestState belongs to another request; repeat the request without it");
    }
    if (state.at("until").as_int64() < setup_.wall_s()) {
      return refused("this requestState has expired; repeat the request without it");
    }
    exchange.inputs_ = state.at("inputs").as_object();
    exchange.state_ = state.at("state");
  }
  if (const json::value* given = params.if_contains("inputResponses")) {
    const json::object* responses = given->if_object();
    if (responses == nullptr) return refused("inputResponses must be an object");
    for (const auto& each : *responses) {
      if (!each.value().is_object()) return refused("each of inputResponses must be an object");
      exchange.inputs_[each.key()] = each.value();
    }
  }
  return true;
}

void McpCore::missing_capability(Exchange& exchange, std::string_view capability) {
  if (exchange.caller_.era == Era::modern) {
    return exchange.fail({k_missing_capability, fmt::format("this needs a client with {}", capability),
                          json::object{{"requiredCapabilities", {{capability, json::object()}}}}});
  }
  exchange.finish_error(fmt::format("this needs a client that declares {}, and yours did not", capability));
}

void McpCore::need(Exchange& exchange, std::vector<InputRequest> requests, json::value state) {
  for (const InputRequest& each : requests) {
    const std::string_view capability = capability_for(each.method);
    if (!exchange.client_can(capability)) return missing_capability(exchange, capability);
  }
  exchange.state_ = std::move(state);
  if (exchange.caller_.era == Era::legacy) return ask_client(exchange, std::move(requests));
  const auto until = setup_.wall_s() + k_input_wait_max.count();
  const json::object sealed{{"who", setup_.who->label()},
                            {"of", exchange.digest_},
                            {"until", until},
                            {"inputs", exchange.inputs_},
                            {"state", exchange.state_}};
  json::object result{{"resultType", "input_required"}};
  json::object asked;
  for (InputRequest& each : requests) {
    asked[each.key] = json::object{{"method", each.method}, {"params", std::move(each.params)}};
  }
  if (!asked.empty()) result["inputRequests"] = std::move(asked);
  result["requestState"] = setup_.sealer->seal(k_state_purpose, json::serialize(sealed));
  exchange.finish(std::move(result));
}

void McpCore::ask_client(Exchange& exchange, std::vector<InputRequest> requests) {
  for (InputRequest& each : requests) {
    const std::string id = fmt::format("skein-{}", ++last_number_);
    questions_.emplace(id, Question{exchange.number_, each.key, each.method});
    exchange.waits_.insert(id);
    send(exchange, make_request(json::value(id), each.method, std::move(each.params)));
  }
  exchange.after(k_input_wait_max, [waits = exchange.waits_](Exchange& still) {
    // Another question may be open by now.
    if (still.waits_ == waits) still.finish_error("the user did not answer in time; call the tool again");
  });
}

}  // namespace skein::inline v0::mcp
