#include "skein/mcp/tool_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "skein/base/suggestion.hpp"
#include "skein/base/utf8.hpp"
#include "skein/mcp/json_rpc.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_ignored_max = 20;       // named in one answer
constexpr std::size_t k_ignored_name_max = 64;  // bytes of a name

bool has_text(const json::value* list, std::string_view text) {
  const json::array* all = list != nullptr ? list->if_array() : nullptr;
  return all != nullptr && std::ranges::any_of(*all, [&](const json::value& each) {
           const json::string* word = each.if_string();
           return word != nullptr && std::string_view(*word) == text;
         });
}

// Whether a property's schema may take null. Without a type, an enum or a const it takes anything.
bool takes_null(const json::value& property) {
  const json::object* schema = property.if_object();
  if (schema == nullptr) return true;
  if (const json::value* type = schema->if_contains("type")) return *type == "null" || has_text(type, "null");
  return !schema->contains("enum") && !schema->contains("const");
}

std::string named(std::string_view given, const json::object& properties) {
  std::vector<std::string_view> known;
  for (const auto& each : properties) known.emplace_back(each.key());
  const std::string name = shown_text(given, k_ignored_name_max);
  const std::string meant = suggestion(given, known);
  return name + (meant.find("did you mean") != std::string::npos ? meant : "");
}

std::string ignored_sentence(const IgnoredArguments& ignored) {
  return fmt::format("ignored, since the tool does not have them: {}", fmt::join(ignored, ", "));
}

}  // namespace

IgnoredArguments tidy_arguments(const json::object& schema, json::object& arguments) {
  static const json::object k_no_properties;
  const json::object* found = object_in(schema, "properties");
  const json::object& properties = found != nullptr ? *found : k_no_properties;
  const json::value* others = schema.if_contains("additionalProperties");
  const bool is_closed = others != nullptr && *others == false;
  const json::value* required = schema.if_contains("required");
  IgnoredArguments ignored;
  json::object kept;
  for (auto& each : arguments) {
    const json::value* property = properties.if_contains(each.key());
    if (property == nullptr && is_closed) {
      if (ignored.size() < k_ignored_max) ignored.push_back(named(each.key(), properties));
      continue;
    }
    const bool is_as_if_absent =
        each.value().is_null() && property != nullptr && !takes_null(*property) && !has_text(required, each.key());
    if (!is_as_if_absent) kept.emplace(each.key(), std::move(each.value()));
  }
  arguments = std::move(kept);
  return ignored;
}

void tell_ignored(const IgnoredArguments& ignored, json::object& result) {
  if (ignored.empty()) return;
  json::value* content = result.if_contains("content");
  json::array* blocks = content != nullptr ? content->if_array() : nullptr;
  if (blocks == nullptr || blocks->empty()) return;
  json::object* first = blocks->front().if_object();
  if (first == nullptr || !first->contains("text")) return;
  json::value* structured = result.if_contains("structuredContent");
  if (structured != nullptr && structured->is_object()) {
    json::array names;
    for (const std::string& each : ignored) names.emplace_back(each);
    structured->get_object()["ignored"] = std::move(names);
    (*first)["text"] = operations::json_text(*structured);
    return;
  }
  (*first)["text"] = text_in(*first, "text") + "; " + ignored_sentence(ignored);
}

}  // namespace skein::inline v0::mcp
