// Tools made from the table of operations: a tool takes the operation's parameters and gives its answer.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <map>
#include <utility>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/task_view.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/schemas.hpp"

namespace skein::inline v0::mcp {
namespace {

using operations::Operation;
using operations::Param;
using operations::Way;

json::object annotations_of(Operation::Effect effect) {
  if (effect == Operation::Effect::looks) return {{"readOnlyHint", true}, {"openWorldHint", false}};
  return {{"readOnlyHint", false},
          {"openWorldHint", false},
          {"destructiveHint", effect == Operation::Effect::destroys},
          {"idempotentHint", effect != Operation::Effect::adds}};
}

bool answers_nothing(const Operation& operation) { return operation.answer == "Done"; }

// The parameter that names what an operation is about.
std::string_view subject_of(const Operation& operation) {
  for (const Param& each : operation.params) {
    if (each.is_required && each.is_on(Way::mcp)) return each.name;
  }
  return {};
}

json::object output_schema_of(const Operation& operation) {
  const auto& types = operations::answer_types();
  if (!answers_nothing(operation)) return brief_schema_of(*find_type(operation.answer, types), types);
  json::object properties{{"done", {{"type", "string"}}}};
  if (const auto subject = subject_of(operation); !subject.empty()) properties[subject] = {{"type", "string"}};
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", json::array{"done"}}};
}

// An operation that answers nothing: the result says what was done to what.
json::object done(const Operation& operation, const json::object& arguments) {
  json::object shown{{"done", operation.name}};
  const auto subject = subject_of(operation);
  if (const json::value* given = arguments.if_contains(subject)) shown[subject] = *given;
  return shown;
}

Handler handler_of(const Operation& operation) {
  return [&operation](Exchange& exchange) {
    exchange.ask_node(operation.name, request_of(operation, exchange.arguments()),
                      [&operation](Exchange& then, const NodeAnswer& answer) {
                        if (answer.kind == NodeAnswer::Kind::part) return;
                        if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
                        if (answers_nothing(operation))
                          return then.finish(structured(done(operation, then.arguments())));
                        const json::object* object = answer.value.if_object();
                        then.finish(structured(object != nullptr ? *object : json::object{{"value", answer.value}}));
                      });
  };
}

}  // namespace

json::object request_of(const operations::Operation& operation, const json::object& arguments) {
  json::object request = arguments;
  for (const Param& each : operation.params) {
    const json::value* given = request.if_contains(each.name);
    if (given != nullptr && each.kind == Param::Kind::json) {
      request[each.name] = operations::json_text(*given);
    } else if (given == nullptr && !each.narrower.empty() && each.is_on(Way::mcp)) {
      if (json::value otherwise = default_of(each, Way::mcp); !otherwise.is_null()) request[each.name] = otherwise;
    }
  }
  return request;
}

Tool tool_of(const operations::Operation& operation) {
  Tool tool{std::string(operation.name),
            std::string(operation.title),
            std::string(operation.help.empty() ? operation.summary : operation.help),
            operations::schema_of(operation.params, Way::mcp),
            output_schema_of(operation),
            annotations_of(operation.effect),
            handler_of(operation)};
  for (const Param& each : operation.params) {
    if (each.kind == Param::Kind::json) tool.as_written = each.name;
  }
  return tool;
}

void add_operation_tools(Catalog& catalog) {
  const auto special = task_tool_handlers();
  for (const Operation& each : operations::operations()) {
    if (!each.is_on(Way::mcp)) continue;
    Tool tool = tool_of(each);
    if (const auto found = special.find(each.name); found != special.end()) tool.call = found->second;
    if (each.name == "task_submit") {
      tool.task = {TaskSupport::Mode::offered, [](const json::object& task) { return ended_task(task); }};
    }
    catalog.add(std::move(tool));
  }
}

}  // namespace skein::inline v0::mcp
