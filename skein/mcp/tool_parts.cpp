#include "skein/mcp/tool_parts.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {

json::object structured(json::object value) {
  const std::string text = operations::json_text(value);
  return {{"content", json::array{json::object{{"type", "text"}, {"text", text}}}},
          {"structuredContent", std::move(value)}};
}

std::string error_text(const json::value& error) {
  const json::object* object = error.if_object();
  if (object == nullptr) return "the node gave an error that cannot be read";
  std::string text = text_in(*object, "message");
  const std::string advice = text_in(*object, "advice");
  if (!advice.empty()) text += ": " + advice;
  text += fmt::format(" [{}", text_in(*object, "code"));
  if (const json::value* after = object->if_contains("retry_after_ms")) {
    text += fmt::format(", try again in {} ms", after->to_number<std::int64_t>());
  }
  return text + "]";
}

Handler one_operation(std::string op, Shape shape) {
  return [op = std::move(op), shape = std::move(shape)](Exchange& exchange) {
    exchange.ask_node(op, exchange.arguments(), [shape](Exchange& then, const NodeAnswer& answer) {
      if (answer.kind == NodeAnswer::Kind::part) return;
      if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
      if (shape) return then.finish(structured(shape(answer.value)));
      const json::object* object = answer.value.if_object();
      then.finish(structured(object != nullptr ? *object : json::object{{"value", answer.value}}));
    });
  };
}

json::object ended_task(const json::object& task) {
  json::object result = structured(shown_task(task));
  if (text_in(task, "state") == "failed") result["isError"] = true;
  return result;
}

json::object shown_task(json::object task) {
  json::array left_out;
  for (const char* key : {"params", "result"}) {
    const json::value* found = task.if_contains(key);
    if (found == nullptr || operations::json_text(*found).size() <= k_result_bytes_max) continue;
    left_out.emplace_back(key);
    task.erase(key);
  }
  if (left_out.empty()) return task;
  task["left_out"] = std::move(left_out);
  task["whole_at"] = "skein://tasks/" + text_in(task, "id");
  return task;
}

}  // namespace skein::inline v0::mcp
