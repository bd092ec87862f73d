// A message of an MCP client: what is taken is written again as a text that is taken the same; what is refused has an
// error of JSON-RPC, and an id that came, or none.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "skein/mcp/json_rpc.hpp"

namespace {

using namespace skein::mcp;  // NOLINT(google-build-using-namespace)

constexpr MessageLimits k_limits{.bytes = 4096, .depth = 16};

bool is_id(const json::value& id) { return id.is_string() || id.is_int64() || id.is_uint64(); }

// The last digit of a number may differ: the parser rounds it once.
bool are_same(const json::value& left, const json::value& right) {
  if (left.is_double() && right.is_double()) {
    const double most = std::max(std::abs(left.get_double()), std::abs(right.get_double()));
    return std::abs(left.get_double() - right.get_double()) <= most * 1e-14;
  }
  if (const json::array* list = left.if_array()) {
    return right.is_array() && std::ranges::equal(*list, right.get_array(), are_same);
  }
  const json::object* object = left.if_object();
  if (object == nullptr) return left == right;
  const json::object* other = right.if_object();
  if (other == nullptr || other->size() != object->size()) return false;
  return std::ranges::all_of(*object, [&](const auto& each) {
    const json::value* its = other->if_contains(each.key());
    return its != nullptr && are_same(each.value(), *its);
  });
}

json::object written(const RpcMessage& message) {
  switch (message.kind) {
    case RpcMessage::Kind::request:
      return make_request(message.id, message.method, message.params);
    case RpcMessage::Kind::notification:
      return make_notification(message.method, message.params);
    case RpcMessage::Kind::response:
      break;
  }
  json::object all{{"jsonrpc", "2.0"}, {"id", message.id}};
  all[message.error.is_null() ? "result" : "error"] = message.error.is_null() ? message.result : message.error;
  return all;
}

void check_taken(const RpcMessage& message) {
  if ((message.kind == RpcMessage::Kind::notification) != message.id.is_null()) std::abort();
  if (!message.id.is_null() && !is_id(message.id)) std::abort();
  // Written without white space and with fewer escapes; only numbers can become longer.
  const auto again = parse_message(json::serialize(written(message)), {.bytes = 16 * k_limits.bytes, .depth = 17});
  if (!again || again->kind != message.kind || again->method != message.method) std::abort();
  if (again->id != message.id || !are_same(again->result, message.result)) std::abort();
  if (!are_same(again->params, message.params)) std::abort();
}

void check_refused(const RpcFault& fault) {
  const int code = fault.error.code;
  if (code != k_parse_error && code != k_invalid_request && code != k_invalid_params) std::abort();
  if (fault.error.message.empty() || (!fault.id.is_null() && !is_id(fault.id))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = parse_message(text, k_limits)) {
    check_taken(*message);
  } else {
    check_refused(message.error());
  }
  return 0;
}
