#include "skein/operations/schemas.hpp"

#include <boost/json/array.hpp>
#include <charconv>

namespace skein::inline v0::operations {
namespace {

using ParamKind = Param::Kind;

constexpr std::uint64_t k_year_of_ms = 365ULL * 24 * 3600 * 1000;

json::object number_schema(const Param& param, Way way) {
  json::object schema{{"type", "integer"}, {"minimum", param.least}};
  // A year is no limit that a model needs to know of.
  const auto most = param.most_on(way);
  const bool is_said = most != UINT64_MAX && (way != Way::mcp || most < k_year_of_ms);
  if (is_said) schema["maximum"] = most;
  return schema;
}

json::object array_of_texts() { return {{"type", "array"}, {"items", {{"type", "string"}}}}; }

json::object type_schema(const Param& param, Way way) {
  switch (param.kind) {
    case ParamKind::text:
    case ParamKind::task_id:
      break;
    case ParamKind::word: {
      json::array words;
      for (const std::string_view each : param.words) words.emplace_back(each);
      return {{"type", "string"}, {"enum", std::move(words)}};
    }
    case ParamKind::count:
    case ParamKind::milliseconds:
      return number_schema(param, way);
    case ParamKind::duration:
    case ParamKind::time:
      return {{"type", json::array{"string", "integer"}}};
    case ParamKind::flag:
      return {{"type", "boolean"}};
    case ParamKind::texts:
    case ParamKind::task_ids:
      return array_of_texts();
    case ParamKind::json:
      // Some clients refuse a member without a type.
      return {{"type", json::array{"object", "array", "string", "number", "boolean", "null"}}};
    case ParamKind::fields:
      return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  }
  json::object schema{{"type", "string"}};
  if (param.is_required) schema["minLength"] = 1;
  return schema;
}

}  // namespace

json::value default_of(const Param& param, Way way) {
  const std::string text = param.otherwise_on(way);
  if (text.empty()) return nullptr;
  if (param.kind == ParamKind::flag) return text == "true";
  if (!param.is_number()) return json::value(text);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

json::object schema_of(const Param& param, Way way) {
  json::object schema = type_schema(param, way);
  if (json::value otherwise = default_of(param, way); !otherwise.is_null()) schema["default"] = std::move(otherwise);
  schema["description"] = param.help;
  return schema;
}

json::object schema_of(const std::vector<Param>& params, Way way) {
  json::object properties;
  json::array required;
  for (const Param& each : params) {
    if (!each.is_on(way)) continue;
    properties[each.name] = schema_of(each, way);
    if (each.is_required) required.emplace_back(each.name);
  }
  json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace skein::inline v0::operations
