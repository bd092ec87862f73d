#include "skein/rest/openapi.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <string>

#include "skein/base/version.hpp"
#include "skein/rest/routes.hpp"

namespace skein::inline v0::rest {
namespace {

json::object schema_ref(std::string_view name) { return {{"$ref", fmt::format("#/components/schemas/{}", name)}}; }

json::object schema_of_param(const Param& param) {
  json::object schema;
  switch (param.kind) {
    case Param::Kind::text:
      schema["type"] = "string";
      break;
    case Param::Kind::count:
      schema = {{"type", "integer"}, {"minimum", param.least}};
      if (param.most != 0) schema["maximum"] = param.most;
      break;
    case Param::Kind::texts:
      schema = {{"type", "array"}, {"items", {{"type", "string"}}}};
      break;
    case Param::Kind::fields:
      schema = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
      break;
    case Param::Kind::any:
      break;
  }
  if (!param.words.empty()) {
    json::array words;
    for (std::string_view rest = param.words; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      words.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    schema["enum"] = std::move(words);
  }
  if (param.in == Param::In::body) schema["description"] = param.about;
  return schema;
}

json::array parameters_of(const Route& route) {
  json::array all;
  for (const Param& each : route.params) {
    if (each.in == Param::In::body) continue;
    json::object one{{"name", each.name},
                     {"in", each.in == Param::In::path ? "path" : "query"},
                     {"required", each.is_required},
                     {"description", each.about},
                     {"schema", schema_of_param(each)}};
    if (each.kind == Param::Kind::texts) {
      one["style"] = "form";
      one["explode"] = false;
    }
    all.push_back(std::move(one));
  }
  if (route.op == "events") {
    all.push_back({{"name", "Last-Event-ID"},
                   {"in", "header"},
                   {"required", false},
                   {"description", "The id of the last event that was seen: what came after it follows"},
                   {"schema", {{"type", "string"}}}});
  }
  return all;
}

// Null when it takes none.
json::value body_of(const Route& route) {
  json::object properties;
  json::array required;
  for (const Param& each : route.params) {
    if (each.in != Param::In::body) continue;
    properties[each.name] = schema_of_param(each);
    if (each.is_required) required.emplace_back(each.name);
  }
  if (properties.empty()) return nullptr;
  const bool is_required = !required.empty();
  json::object schema{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (is_required) schema["required"] = std::move(required);
  return {{"required", is_required}, {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

json::object operation_of(const Route& route) {
  json::object out{{"operationId", route.op}, {"summary", route.about}};
  if (json::array parameters = parameters_of(route); !parameters.empty()) out["parameters"] = std::move(parameters);
  if (json::value body = body_of(route); !body.is_null()) out["requestBody"] = std::move(body);
  const char* const type = route.op == "events" ? "text/event-stream" : "application/json";
  const json::value good{{"description", route.about}, {"content", {{type, {{"schema", schema_ref(route.answer)}}}}}};
  json::object responses{{std::to_string(route.status), good}, {"default", {{"$ref", "#/components/responses/Error"}}}};
  if (route.status == 201 && schemas().at(route.answer).as_object().contains("properties") &&
      schemas().at(route.answer).at("properties").as_object().contains("existing")) {
    responses["200"] = good;
  }
  out["responses"] = std::move(responses);
  return out;
}

std::string small_method(std::string_view method) {
  std::string out(method);
  for (char& each : out) each = static_cast<char>(each + 32);
  return out;
}

json::object make_openapi() {
  json::object paths;
  for (const Route& each : routes()) {
    json::value& path = paths[each.path];
    if (!path.is_object()) path = json::object();
    path.as_object()[small_method(each.method)] = operation_of(each);
  }
  json::object error{{"description", "What went wrong, and what to do. 429 and 503 have Retry-After, 405 has Allow."},
                     {"content", {{"application/json", {{"schema", schema_ref("Error")}}}}}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "skein"},
            {"version", skein::version()},
            {"description", "The operations of a node, the same that MCP offers; see docs/rest.md."}}},
          {"servers", json::array{{{"url", k_api_path}}}},
          {"security", json::array{{{"token", json::array()}}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", schemas()},
            {"responses", {{"Error", std::move(error)}}},
            {"securitySchemes",
             {{"token",
               {{"type", "http"},
                {"scheme", "bearer"},
                {"description", "What the file 'token' in the node's data folder says"}}}}}}}};
}

}  // namespace

const json::object& openapi() {
  static const json::object k_file = make_openapi();
  return k_file;
}

}  // namespace skein::inline v0::rest
