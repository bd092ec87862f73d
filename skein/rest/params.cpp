// What a request says, as the params of an operation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/base/utf8.hpp"
#include "skein/mcp/json_rpc.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/rest/routes.hpp"

namespace skein::inline v0::rest {
namespace {

using operations::Error;
using operations::invalid;
using Fault = std::optional<Error>;

const Param* find_param(const Route& route, Param::In in, std::string_view name) {
  const auto found =
      std::ranges::find_if(route.params, [&](const Param& each) { return each.in == in && each.name == name; });
  return found != route.params.end() ? &*found : nullptr;
}

std::string known(const Route& route, Param::In in) {
  std::vector<std::string_view> names;
  for (const Param& each : route.params) {
    if (each.in == in) names.push_back(each.name);
  }
  return names.empty() ? "none is taken here" : fmt::format("known here: {}", fmt::join(names, ", "));
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
  if (param.kind == Param::Kind::count) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
      return std::unexpected(invalid(fmt::format("{} must be a whole number", param.name)));
    }
    return json::value(number);
  }
  if (param.kind != Param::Kind::texts) return json::value(text);
  json::array all;
  for (const std::string& each : split(text, ',')) all.emplace_back(each);
  return json::value(std::move(all));
}

Fault read_query_member(const Route& route, const std::string& pair, json::object& params) {
  const std::size_t equals = pair.find('=');
  const bool has_value = equals != std::string::npos;
  const auto name = unescaped(has_value ? pair.substr(0, equals) : pair, true);
  const auto text = unescaped(has_value ? pair.substr(equals + 1) : "", true);
  if (!name || !text) return invalid("the query is not escaped as it should be", "escape it as %41, in UTF-8");
  const Param* param = find_param(route, Param::In::query, *name);
  if (param == nullptr) {
    return invalid(fmt::format("unknown in the query: '{}'", *name), known(route, Param::In::query));
  }
  if (params.contains(*name)) return invalid(fmt::format("{} is there twice", *name));
  auto value = query_value(*param, *text);
  if (!value) return std::move(value.error());
  params[*name] = std::move(*value);
  return std::nullopt;
}

Fault read_query(const Route& route, const std::string& query, json::object& params) {
  for (const std::string& pair : split(query, '&')) {
    if (pair.empty()) continue;
    if (auto fault = read_query_member(route, pair, params)) return fault;
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

Fault read_body(const Route& route, const std::string& body, json::object& params) {
  if (body.empty()) return std::nullopt;
  auto value = mcp::parse_json(body);
  if (!value) {
    return Error{operations::Code::invalid_json, value.error().message, "send one JSON object", {}};
  }
  json::object* object = value->if_object();
  if (object == nullptr) return invalid("the body must be a JSON object");
  for (auto& each : *object) {
    const Param* param = find_param(route, Param::In::body, each.key());
    if (param == nullptr) {
      return invalid(fmt::format("unknown member '{}'", std::string_view(each.key())), known(route, Param::In::body));
    }
    params[each.key()] = param->kind == Param::Kind::any ? json::value(written(body, each)) : std::move(each.value());
  }
  return std::nullopt;
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

std::expected<json::object, Error> read_params(const Route& route, json::object from_path,
                                               const net::HttpRequest& request) {
  json::object params = std::move(from_path);
  if (auto fault = read_query(route, request.query, params)) return std::unexpected(std::move(*fault));
  if (auto fault = read_body(route, request.body, params)) return std::unexpected(std::move(*fault));
  for (const Param& each : route.params) {
    if (each.is_required && !params.contains(each.name)) {
      return std::unexpected(invalid(fmt::format("{} is missing", each.name), known(route, each.in)));
    }
  }
  return params;
}

}  // namespace skein::inline v0::rest
