#include "skein/rest/openapi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <string>

#include "skein/base/version.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/schemas.hpp"
#include "skein/rest/rest_service.hpp"
#include "skein/rest/routes.hpp"

namespace skein::inline v0::rest {
namespace {

using operations::Way;

constexpr std::string_view k_schemas_at = "#/components/schemas/";

json::object schema_ref(std::string_view name) { return {{"$ref", fmt::format("{}{}", k_schemas_at, name)}}; }

json::array parameters_of(const Operation& operation) {
  json::array all;
  for (const Param& each : operation.params) {
    const Place place = place_of(operation, each);
    if (!each.is_on(Way::rest) || place == Place::body) continue;
    json::object schema = operations::schema_of(each, Way::rest);
    schema.erase("description");
    json::object one{{"name", each.name},
                     {"in", place == Place::path ? "path" : "query"},
                     {"required", place == Place::path || each.is_required},
                     {"description", each.help},
                     {"schema", std::move(schema)}};
    if (each.kind == Param::Kind::texts) {
      one["style"] = "form";
      one["explode"] = false;
    }
    all.push_back(std::move(one));
  }
  if (operation.name == "events") {
    all.push_back({{"name", "Last-Event-ID"},
                   {"in", "header"},
                   {"required", false},
                   {"description", "The id of the last event that was seen: what came after it follows"},
                   {"schema", {{"type", "string"}}}});
  }
  return all;
}

// Null when it takes none.
json::value body_of(const Operation& operation) {
  std::vector<Param> in_body;
  for (const Param& each : operation.params) {
    if (each.is_on(Way::rest) && place_of(operation, each) == Place::body) in_body.push_back(each);
  }
  if (in_body.empty()) return nullptr;
  json::object schema = operations::schema_of(in_body, Way::rest);
  const bool is_required = schema.contains("required");
  return {{"required", is_required}, {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

// The errors of its own, by status; those that any operation can give are the default.
void add_errors(const Operation& operation, json::object& responses) {
  std::map<int, std::string> codes;
  for (const operations::Code each : operation.errors) {
    std::string& names = codes[status_of(operations::name_of(each))];
    names += (names.empty() ? "" : ", ") + std::string(operations::name_of(each));
  }
  for (const auto& [status, names] : codes) {
    responses[std::to_string(status)] = {{"description", names},
                                         {"content", {{"application/json", {{"schema", schema_ref("Error")}}}}}};
  }
  responses["default"] = {{"$ref", "#/components/responses/Error"}};
}

bool may_exist(const Operation& operation) {
  const auto& types = operations::answer_types();
  const auto members = operations::members_of(*operations::find_type(operation.answer, types), types);
  return std::ranges::any_of(members, [](const auto& each) { return each.key() == "existing"; });
}

json::object operation_of(const Operation& operation) {
  json::object out{{"operationId", operation.name}, {"summary", operation.summary}};
  if (!operation.help.empty()) out["description"] = operation.help;
  out["x-rank"] = ledger::name_of(operation.rank);
  if (json::array parameters = parameters_of(operation); !parameters.empty()) out["parameters"] = std::move(parameters);
  if (json::value body = body_of(operation); !body.is_null()) out["requestBody"] = std::move(body);
  const char* const type = operation.name == "events" ? "text/event-stream" : "application/json";
  const json::value good{{"description", operation.summary},
                         {"content", {{type, {{"schema", schema_ref(operation.answer)}}}}}};
  json::object responses{{std::to_string(operation.rest.status), good}};
  if (operation.rest.status == net::http_status::k_created && may_exist(operation)) responses["200"] = good;
  add_errors(operation, responses);
  out["responses"] = std::move(responses);
  return out;
}

json::object make_schemas() {
  const auto& types = operations::answer_types();
  json::object all;
  for (const operations::AnswerType& each : types) all[each.name] = operations::schema_of(each, types, k_schemas_at);
  return all;
}

std::string small_method(std::string_view method) {
  std::string out(method);
  for (char& each : out) each = static_cast<char>(each + 32);
  return out;
}

json::object make_openapi() {
  json::object paths;
  for (const Operation* each : routes()) {
    json::value& path = paths[each->rest.path];
    if (!path.is_object()) path = json::object();
    path.as_object()[small_method(each->rest.method)] = operation_of(*each);
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
           {{"schemas", make_schemas()},
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
