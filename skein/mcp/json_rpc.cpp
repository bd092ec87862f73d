#include "skein/mcp/json_rpc.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "skein/mcp/message_glance.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

// Members as they stand in the text, those that are named twice counted twice. The text must be JSON.
std::size_t members_written(std::string_view text) {
  std::size_t colons = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char each = text[i];
    if (in_string && each == '\\') {
      ++i;
    } else if (each == '"') {
      in_string = !in_string;
    } else if (each == ':' && !in_string) {
      ++colons;
    }
  }
  return colons;
}

struct Contents {
  std::size_t members = 0;
  bool has_infinity = false;  // a number such as 1e999, which could be written again and never read
};

Contents contents_of(const json::value& root) {
  Contents found;
  std::vector<const json::value*> left{&root};
  while (!left.empty()) {
    const json::value& next = *left.back();
    left.pop_back();
    if (const json::array* array = next.if_array()) {
      for (const json::value& each : *array) left.push_back(&each);
    } else if (const json::object* object = next.if_object()) {
      found.members += object->size();
      for (const auto& each : *object) left.push_back(&each.value());
    } else if (const double* number = next.if_double()) {
      found.has_infinity = found.has_infinity || !std::isfinite(*number);
    }
  }
  return found;
}

bool is_id(const json::value& id) {
  if (const json::string* text = id.if_string()) return text->size() <= k_id_bytes_max;
  return id.is_int64() || id.is_uint64();
}

std::unexpected<RpcFault> no_message(json::value id, std::string why) {
  return std::unexpected(RpcFault{std::move(id), {k_invalid_request, std::move(why), nullptr}});
}

// The number of an escape such as \ud800 at the beginning; nothing when there is none.
std::optional<unsigned> escaped_unit(std::string_view text) {
  constexpr std::size_t k_digits = 4;
  if (text.size() < 2 + k_digits || !text.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const char* const end = text.data() + 2 + k_digits;
  if (std::from_chars(text.data() + 2, end, unit, 16).ptr != end) return std::nullopt;
  return unit;
}

// Half a character, which JavaScript's JSON.stringify writes when a string was cut within one, becomes U+FFFD. Nothing
// when there is none in the text.
std::optional<std::string> with_whole_characters(std::string_view text) {
  constexpr std::size_t k_escape_bytes = 6;
  const auto is_leading = [](unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; };
  const auto is_trailing = [](unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; };
  std::string out;
  bool is_mended = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto unit = escaped_unit(text.substr(at));
    std::size_t bytes = text[at] == '\\' ? 2 : 1;
    if (unit) bytes = k_escape_bytes;
    if (unit && is_leading(*unit)) {
      const auto second = escaped_unit(text.substr(at + bytes));
      if (second && is_trailing(*second)) bytes += k_escape_bytes;
    }
    const bool is_half = unit && bytes == k_escape_bytes && (is_leading(*unit) || is_trailing(*unit));
    is_mended = is_mended || is_half;
    out += is_half ? std::string_view("\\ufffd") : text.substr(at, bytes);
    at += bytes;
  }
  if (!is_mended) return std::nullopt;
  return out;
}

// Takes a member out of a message that is not needed any more.
json::value take(json::object& from, std::string_view key) {
  json::value* found = from.if_contains(key);
  return found != nullptr ? std::move(*found) : json::value();
}

}  // namespace

std::expected<json::value, RpcError> parse_json(std::string_view text, const MessageLimits& limits) {
  const auto bad = [](int code, std::string why) { return std::unexpected(RpcError{code, std::move(why), nullptr}); };
  if (text.size() > limits.bytes) {
    return bad(k_invalid_request,
               fmt::format("the message is longer than {} bytes; send smaller messages", limits.bytes));
  }
  json::error_code error;
  json::parse_options options;
  options.max_depth = limits.depth;
  json::value value = json::parse(text, error, {}, options);
  if (error == json::error::too_deep) {
    return bad(k_invalid_request, fmt::format("the message is nested more than {} levels deep", limits.depth));
  }
  if (error) return bad(k_parse_error, fmt::format("the message is not valid JSON: {}", error.message()));
  const Contents contents = contents_of(value);
  if (contents.has_infinity) return bad(k_invalid_request, "a number in the message is too large");
  if (members_written(text) != contents.members) {
    return bad(k_invalid_request, "an object in the message names a member twice; name each once");
  }
  return value;
}

namespace {

std::expected<RpcMessage, RpcFault> message_in(json::value& parsed) {
  json::object* object = parsed.if_object();
  if (object == nullptr) return no_message(nullptr, "a message is a JSON object");

  RpcMessage message;
  const bool has_id = object->contains("id");
  message.id = take(*object, "id");
  if (has_id && !is_id(message.id)) {
    return no_message(nullptr,
                      fmt::format("an id must be a whole number or a string of at most {} bytes", k_id_bytes_max));
  }
  const json::value* version = object->if_contains("jsonrpc");
  if (version == nullptr || *version != "2.0") return no_message(message.id, "jsonrpc must be \"2.0\"");

  const json::value* method = object->if_contains("method");
  if (method == nullptr) {
    const bool has_result = object->contains("result");
    if (!has_id || has_result == object->contains("error")) {
      return no_message(message.id, "a message must have a method, or an id with a result or an error");
    }
    message.kind = RpcMessage::Kind::response;
    message.result = take(*object, "result");
    message.error = take(*object, "error");
    return message;
  }
  if (!method->is_string() || method->get_string().size() > k_method_bytes_max) {
    return no_message(message.id, fmt::format("method must be a string of at most {} bytes", k_method_bytes_max));
  }
  message.kind = has_id ? RpcMessage::Kind::request : RpcMessage::Kind::notification;
  message.method = method->get_string();
  json::value params = take(*object, "params");
  if (params.is_object()) {
    message.params = std::move(params.get_object());
  } else if (object->contains("params")) {
    return std::unexpected(RpcFault{message.id, {k_invalid_params, "params must be an object", nullptr}});
  }
  return message;
}

// The handler may need to know how the numbers were written.
bool needs_text(const RpcMessage& message) {
  if (message.kind != RpcMessage::Kind::request || message.method != "tools/call") return false;
  const json::value* arguments = message.params.if_contains("arguments");
  return arguments != nullptr && operations::may_be_inexact(*arguments);
}

}  // namespace

std::expected<RpcMessage, RpcFault> parse_message(std::string_view text, const MessageLimits& limits) {
  auto parsed = parse_json(text, limits);
  std::optional<std::string> mended;
  if (!parsed && parsed.error().code == k_parse_error) mended = with_whole_characters(text);
  if (mended) {
    text = *mended;
    parsed = parse_json(text, limits);
  }
  if (!parsed) return std::unexpected(RpcFault{MessageGlance(text).id_to_answer(), std::move(parsed.error())});
  if (parsed->is_array())
    return no_message(nullptr, "only protocol version 2025-03-26 has batches; send one message at a time");
  auto message = message_in(*parsed);
  if (message && needs_text(*message)) message->written = text;
  return message;
}

bool looks_like_batch(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[';
}

std::expected<ParsedBatch, RpcFault> parse_batch(std::string_view text, const MessageLimits& limits) {
  auto parsed = parse_json(text, limits);
  if (!parsed) return std::unexpected(RpcFault{nullptr, std::move(parsed.error())});
  json::array* all = parsed->if_array();
  if (all == nullptr || all->empty() || all->size() > k_batch_max) {
    return no_message(nullptr, fmt::format("a batch must have 1 to {} messages", k_batch_max));
  }
  ParsedBatch batch;
  batch.reserve(all->size());
  std::optional<json::value> exact;
  for (json::value& each : *all) {
    auto message = message_in(each);
    if (message && needs_text(*message)) {
      if (!exact) exact = operations::exact_json(text, limits.depth);
      if (exact) message->written = operations::json_text(exact->at(batch.size()));
    }
    batch.push_back(std::move(message));
  }
  return batch;
}

json::object make_result(const json::value& id, json::object result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

json::object make_error(const json::value& id, const RpcError& error) {
  json::object body{{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  json::object message{{"jsonrpc", "2.0"}};
  if (!id.is_null()) message["id"] = id;  // MCP has no null ids
  message["error"] = std::move(body);
  return message;
}

json::object make_request(const json::value& id, std::string_view method, json::object params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

json::object make_notification(std::string_view method, json::object params) {
  json::object message{{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.empty()) message["params"] = std::move(params);
  return message;
}

const json::object* object_in(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found != nullptr ? found->if_object() : nullptr;
}

const json::string* string_in(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found != nullptr ? found->if_string() : nullptr;
}

std::string text_in(const json::object& object, std::string_view key) {
  const json::string* found = string_in(object, key);
  return found != nullptr ? std::string(*found) : std::string();
}

}  // namespace skein::inline v0::mcp
