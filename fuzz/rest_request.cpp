// What a client of REST asks: METHOD PATH?QUERY on the first line, then the body. A route is found or not; what is
// taken are params that the route knows, in UTF-8, and the same again when they are written as a query; what is refused
// says why.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "skein/base/utf8.hpp"
#include "skein/rest/routes.hpp"

namespace {

using namespace skein::rest;  // NOLINT(google-build-using-namespace)

std::string_view cut(std::string_view& text, char at) {
  const std::size_t end = std::min(text.find(at), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char each : text) out += fmt::format("%{:02X}", static_cast<unsigned char>(each));
  return out;
}

const Param* param_of(const Operation& operation, std::string_view name) {
  const auto found = std::ranges::find_if(operation.params, [&](const Param& each) {
    return each.name == name || std::ranges::find(each.older, name) != each.older.end();
  });
  return found != operation.params.end() ? &*found : nullptr;
}

std::string text_of(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (!value.is_array()) return json::serialize(value);
  std::string all;
  for (const json::value& each : value.get_array()) {
    all += (all.empty() ? "" : ",") + std::string(each.as_string());
  }
  return all;
}

// A list whose first text is empty reads otherwise; all else is the same.
bool is_plain(const json::value& value) {
  return !value.is_array() ||
         std::ranges::none_of(value.get_array(), [](const json::value& each) { return each.as_string().empty(); });
}

void check_taken(const Operation& route, const json::object& from_path, const json::object& params) {
  std::string query;
  json::object in_query = from_path;
  for (const auto& each : params) {
    const Param* param = param_of(route, each.key());
    if (param == nullptr) std::abort();
    if (place_of(route, *param) != Place::query || !is_plain(each.value())) continue;
    query += fmt::format("&{}={}", escaped(each.key()), escaped(text_of(each.value())));
    in_query[each.key()] = each.value();
  }
  skein::net::HttpRequest again;
  again.query = query;
  const auto read = read_params(route, from_path, again);
  if (!read) std::abort();
  // Besides what was given it has REST's defaults.
  for (const auto& each : in_query) {
    if (!read->contains(each.key()) || read->at(each.key()) != each.value()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view body(reinterpret_cast<const char*>(data), size);
  std::string_view target = cut(body, '\n');
  const std::string_view method = cut(target, ' ');
  const std::string_view path = cut(target, '?');
  const Match found = match(method, path);
  if (found.operation == nullptr) return 0;
  for (const auto& each : found.values) {
    if (each.value().as_string().empty() || !skein::is_utf8(std::string_view(each.value().as_string()))) std::abort();
  }
  skein::net::HttpRequest request;
  request.query = target;
  request.body = body;
  auto params = read_params(*found.operation, found.values, request);
  if (!params) {
    if (params.error().describe().empty()) std::abort();
    return 0;
  }
  check_taken(*found.operation, found.values, *params);
  const auto arguments = skein::operations::read_arguments(found.operation->params, *params);
  if (!arguments && arguments.error().describe().empty()) std::abort();
  return 0;
}
