// What a request says, as the params of an operation.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/base/comma_list.hpp"
#include "skein/base/utf8.hpp"
#include "skein/mcp/json_rpc.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/schemas.hpp"
#include "skein/rest/routes.hpp"

namespace skein::inline v0::rest {
namespace {

using operations::Error;
using operations::invalid;
using Fault = std::optional<Error>;

bool is_named(const Param& param, std::string_view name) {
  return param.name == name || std::ranges::find(param.older, name) != param.older.end();
}

std::vector<Param> params_at(const Operation& operation, Place place) {
  std::vector<Param> all;
  for (const Param& each : operation.params) {
    if (each.is_on(operations::Way::rest) && place_of(operation, each) == place) all.push_back(each);
  }
  return all;
}

const Param* find_param(const std::vector<Param>& params, std::string_view name) {
  const auto found = std::ranges::find_if(params, [&](const Param& each) { return is_named(each, name); });
  return found != params.end() ? &*found : nullptr;
}

std::optional<unsigned> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a') + 10;
  if (digit >= 'A' && digit <= 'F') return static_cast<unsigned>(digit - 'A') + 10;
  return std::nullopt;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char each : text) {
    if (each == at) {
      parts.emplace_back();
    } else {
      parts.back() += each;
    }
  }
  return parts;
}

// A query has texts only: as what they mean.
std::expected<json::value, Error> query_value(const Param& param, const std::string& text) {
  using Kind = Param::Kind;
  if (param.kind == Kind::flag && (text == "true" || text == "false")) return json::value(text == "true");
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (param.is_number() && !is_number) {
    return std::unexpected(invalid(fmt::format("{} must be {}", param.name, param.should_be())));
  }
  const bool may_be_number = param.is_number() || param.kind == Kind::duration || param.kind == Kind::time;
  if (may_be_number && is_number) return json::value(number);
  if (param.kind != Kind::texts && param.kind != Kind::task_ids) return json::value(text);
  json::array all;
  for (const std::string_view each : comma_list(text)) all.emplace_back(each);
  return json::value(std::move(all));
}

Fault read_query_member(const std::vector<Param>& known, const std::string& pair, json::object& params) {
  const std::size_t equals = pair.find('=');
  const bool has_value = equals != std::string::npos;
  const auto name = unescaped(has_value ? pair.substr(0, equals) : pair, true);
  const auto text = unescaped(has_value ? pair.substr(equals + 1) : "", true);
  if (!name || !text) return invalid("the query is not percent-encoded correctly", "encode it in UTF-8, as in %41");
  const Param* param = find_param(known, *name);
  if (param == nullptr) {
    Error unknown = operations::unknown_member(*name, known);
    unknown.message = fmt::format("unknown in the query: '{}'", *name);
    return unknown;
  }
  json::value* const there = params.if_contains(*name);
  const bool is_list = param->kind == Param::Kind::texts || param->kind == Param::Kind::task_ids;
  if (there != nullptr && !is_list) return invalid(fmt::format("{} is there twice", *name));
  auto value = query_value(*param, *text);
  if (!value) return std::move(value.error());
  if (there == nullptr) {
    params[*name] = std::move(*value);
  } else {
    for (json::value& each : value->as_array()) there->as_array().push_back(std::move(each));
  }
  return std::nullopt;
}

Fault read_query(const Operation& operation, const std::string& query, json::object& params) {
  if (query.empty()) return std::nullopt;
  const auto known = params_at(operation, Place::query);
  for (const std::string& pair : split(query, '&')) {
    if (pair.empty()) continue;
    if (auto fault = read_query_member(known, pair, params)) return fault;
  }
  return std::nullopt;
}

// A member as a text, with every number as the body has it.
std::string written(const std::string& body, const json::key_value_pair& member) {
  if (operations::may_be_inexact(member.value())) {
    const auto exact = operations::exact_json(body, mcp::k_message_depth_max);
    if (exact) return operations::json_text(exact->at(member.key()));
  }
  return operations::json_text(member.value());
}

Fault read_body(const Operation& operation, const std::string& body, json::object& params) {
  if (body.empty()) return std::nullopt;
  auto value = mcp::parse_json(body);
  if (!value) {
    return Error{operations::Code::invalid_json, value.error().message, "send one JSON object", {}};
  }
  json::object* object = value->if_object();
  if (object == nullptr) return invalid("the body must be a JSON object");
  const auto known = params_at(operation, Place::body);
  for (auto& each : *object) {
    const Param* param = find_param(known, each.key());
    if (param == nullptr) return operations::unknown_member(each.key(), known);
    params[each.key()] = param->kind == Param::Kind::json ? json::value(written(body, each)) : std::move(each.value());
  }
  return std::nullopt;
}

// Where REST has a range and a default of its own.
Fault narrow(const Param& param, json::object& params) {
  const json::value* given = params.if_contains(param.name);
  if (given == nullptr || given->is_null()) {
    if (json::value otherwise = operations::default_of(param, operations::Way::rest); !otherwise.is_null()) {
      params[param.name] = std::move(otherwise);
    }
    return std::nullopt;
  }
  json::error_code no_number;
  const auto number = given->to_number<std::uint64_t>(no_number);
  const std::uint64_t most = param.most_on(operations::Way::rest);
  if (no_number || number <= most) return std::nullopt;
  return invalid(fmt::format("{} must be a whole number from {} to {}, not {}", param.name, param.least, most, number));
}

}  // namespace

std::optional<std::string> unescaped(std::string_view text, bool is_query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && is_query) {
      out += ' ';
    } else if (text[i] == '%') {
      const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
      const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
      if (!low) return std::nullopt;
      out += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  if (!is_utf8(out) || out.find('\0') != std::string::npos) return std::nullopt;
  return out;
}

std::expected<json::object, Error> read_params(const Operation& operation, json::object from_path,
                                               const net::HttpRequest& request) {
  json::object params = std::move(from_path);
  if (auto fault = read_query(operation, request.query, params)) return std::unexpected(std::move(*fault));
  if (auto fault = read_body(operation, request.body, params)) return std::unexpected(std::move(*fault));
  for (const Param& each : operation.params) {
    if (each.narrower.empty() || !each.is_on(operations::Way::rest)) continue;
    if (auto fault = narrow(each, params)) return std::unexpected(std::move(*fault));
  }
  return params;
}

}  // namespace skein::inline v0::rest
