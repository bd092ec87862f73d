#include "skein/mcp/tool_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {

json::value schema_of(std::string_view text) { return json::parse(text); }

json::object annotations(const Effect& effect) {
  json::object all{{"readOnlyHint", effect.is_read_only}, {"openWorldHint", false}};
  if (!effect.is_read_only) {
    all["destructiveHint"] = effect.is_destructive;
    all["idempotentHint"] = effect.is_idempotent;
  }
  return all;
}

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

json::object page_of(const json::object& given, const json::value& answer, std::string_view list, std::string_view by) {
  std::vector<const json::object*> items;
  for (const json::value& each : answer.at(list).as_array()) {
    const bool fits = !given.contains("swarm") || given.at("swarm") == each.at("swarm");
    if (fits) items.push_back(&each.as_object());
  }
  const auto name_of = [by](const json::object* item) { return std::string_view(item->at(by).as_string()); };
  std::ranges::sort(items, {}, name_of);
  const std::size_t total = items.size();
  if (given.contains("cursor")) {
    const std::string after = text_in(given, "cursor");
    std::erase_if(items, [&](const json::object* each) { return name_of(each) <= after; });
  }
  const std::size_t limit = given.contains("limit") ? given.at("limit").to_number<std::size_t>() : k_page_default;
  json::object out{{"total", total}};
  json::array page;
  for (const json::object* each : items) {
    if (page.size() == limit) {
      out["cursor"] = page.back().at(by);
      break;
    }
    page.push_back(*each);
  }
  out[list] = std::move(page);
  return out;
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
