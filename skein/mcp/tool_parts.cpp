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
  const std::string code = text_in(*object, "code");
  if (!advice.empty()) text += ": " + advice;
  text += " [" + code;
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

}  // namespace skein::inline v0::mcp
