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
  if (object == nullptr) return "the node answered with an error that cannot be read";
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

}  // namespace skein::inline v0::mcp
