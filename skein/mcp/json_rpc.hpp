// JSON-RPC 2.0 as MCP speaks it: a text becomes a request, a notification or a response, or the error that answers it.
// Pure; any thread.
//
// 1. A message is at most MessageLimits::bytes long and nested `depth` deep, is UTF-8, and no object in it names a
//    member twice: what one reader would see and another not cannot pass.
// 2. Ids go back as they came: a string, or a whole number.
// 3. A text that is no message is answered with the id it has, where that can be read. Half a character (a lone
//    surrogate as an escape) is read as U+FFFD.
// 4. Several messages in an array are taken by parse_batch() alone: only the revision 2025-03-26 has them.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::mcp {

namespace json = boost::json;

inline constexpr std::size_t k_message_bytes_max = 4ULL << 20U;
inline constexpr std::size_t k_message_depth_max = 64;
inline constexpr std::size_t k_id_bytes_max = 256;      // of a string as an id
inline constexpr std::size_t k_method_bytes_max = 256;  // of a method's name
inline constexpr std::size_t k_batch_max = 100;         // messages in one

struct MessageLimits {
  std::size_t bytes = k_message_bytes_max;
  std::size_t depth = k_message_depth_max;
};

enum RpcCode : int {
  k_parse_error = -32700,
  k_invalid_request = -32600,
  k_method_not_found = -32601,
  k_invalid_params = -32602,
  k_internal_error = -32603,
  k_resource_not_found = -32002,   // legacy only
  k_header_mismatch = -32020,      // modern only, as the next two
  k_missing_capability = -32021,   //
  k_unsupported_version = -32022,  //
};

struct RpcError {
  int code = k_internal_error;
  std::string message{};
  json::value data{};  // null: none
  int status = 0;      // on HTTP; 0: as the code has it
};

struct RpcMessage {
  enum class Kind : std::uint8_t { request, notification, response };
  Kind kind = Kind::notification;
  json::value id{};      // of a request or a response
  std::string method{};  // of a request or a notification
  json::object params{};
  std::string written{};  // the text of a tools/call, if a number in its arguments may be another than it says
  json::value result{};   // of a response; or
  json::value error{};    // what the other side says went wrong
};

// A text that is no message, and the id to answer with: null when it could not be read.
struct RpcFault {
  json::value id{};
  RpcError error;
};

[[nodiscard]] std::expected<RpcMessage, RpcFault> parse_message(std::string_view text,
                                                                const MessageLimits& limits = {});
// The messages of an array, each as it would have been alone; the fault is of the array itself.
using ParsedBatch = std::vector<std::expected<RpcMessage, RpcFault>>;
[[nodiscard]] std::expected<ParsedBatch, RpcFault> parse_batch(std::string_view text, const MessageLimits& limits = {});
[[nodiscard]] bool looks_like_batch(std::string_view text);
// Any JSON text within the limits.
[[nodiscard]] std::expected<json::value, RpcError> parse_json(std::string_view text, const MessageLimits& limits = {});

[[nodiscard]] json::object make_result(const json::value& id, json::object result);
[[nodiscard]] json::object make_error(const json::value& id, const RpcError& error);
[[nodiscard]] json::object make_request(const json::value& id, std::string_view method, json::object params);
[[nodiscard]] json::object make_notification(std::string_view method, json::object params);

// Members of an object: null when it is none of that kind.
[[nodiscard]] const json::object* object_in(const json::object& object, std::string_view key);
[[nodiscard]] const json::string* string_in(const json::object& object, std::string_view key);
[[nodiscard]] std::string text_in(const json::object& object, std::string_view key);

}  // namespace skein::inline v0::mcp
