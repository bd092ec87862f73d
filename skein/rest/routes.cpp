#include "skein/rest/routes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace skein::inline v0::rest {
namespace {

// The parts between slashes.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

bool is_value(std::string_view part) { return part.starts_with('{'); }

// Nothing when it is another path.
std::optional<json::object> values_in(std::string_view pattern, const std::vector<std::string_view>& parts) {
  const auto wanted = parts_of(pattern);
  if (wanted.size() != parts.size()) return std::nullopt;
  json::object values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!is_value(wanted[i])) {
      if (wanted[i] != parts[i]) return std::nullopt;
      continue;
    }
    const auto value = unescaped(parts[i], false);
    if (!value || value->empty()) return std::nullopt;
    values[wanted[i].substr(1, wanted[i].size() - 2)] = *value;
  }
  return values;
}

}  // namespace

const std::vector<const Operation*>& routes() {
  static const std::vector<const Operation*> k_all = [] {
    std::vector<const Operation*> all;
    for (const Operation& each : operations::operations()) {
      if (each.is_on(operations::Way::rest)) all.push_back(&each);
    }
    return all;
  }();
  return k_all;
}

Place place_of(const Operation& operation, const Param& param) {
  const std::string in_path = "{" + std::string(param.name) + "}";
  if (operation.rest.path.find(in_path) != std::string_view::npos) return Place::path;
  const bool has_body = operation.rest.method == "POST" || operation.rest.method == "PATCH";
  return has_body ? Place::body : Place::query;
}

Match match(std::string_view method, std::string_view path) {
  Match found;
  if (!path.starts_with(k_api_path)) return found;
  const auto parts = parts_of(path.substr(k_api_path.size()));
  std::set<std::string_view> methods;
  for (const Operation* each : routes()) {
    auto values = values_in(each->rest.path, parts);
    if (!values) continue;
    if (each->rest.method == method) return {each, std::move(*values), {}};
    methods.insert(each->rest.method);
  }
  found.allowed = fmt::format("{}", fmt::join(methods, ", "));
  return found;
}

}  // namespace skein::inline v0::rest
