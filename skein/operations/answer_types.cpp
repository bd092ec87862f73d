#include "skein/operations/answer_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <stdexcept>

namespace skein::inline v0::operations {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 5> k_plain_types{"string", "integer", "number", "boolean", "object"};
constexpr std::string_view k_or_null = "|null";

bool is_plain_type(std::string_view type) { return std::ranges::find(k_plain_types, type) != k_plain_types.end(); }
bool is_word_list(std::string_view type) { return type.starts_with('\''); }
bool is_wrapped(std::string_view type, char open) { return type.starts_with(open); }
std::string_view unwrapped(std::string_view type) { return type.substr(1, type.size() - 2); }

json::array words_in(std::string_view type) {
  json::array words;
  while (!type.empty()) {
    const std::size_t end = type.find('\'', 1);
    words.emplace_back(type.substr(1, end - 1));
    type.remove_prefix(end + 1);
    while (type.starts_with(' ')) type.remove_prefix(1);
  }
  return words;
}

json::object or_null(json::object schema) {
  const json::value* type = schema.if_contains("type");
  if (type != nullptr && type->is_string() && schema.size() == 1) return {{"type", json::array{*type, "null"}}};
  return {{"anyOf", json::array{std::move(schema), json::object{{"type", "null"}}}}};
}

// An answer with so few members is a list or a wrapper: what is in it is what a reader wants to know of.
constexpr std::size_t k_list_members = 4;
constexpr std::size_t k_shown_below = 12;
constexpr std::size_t k_brief_members = 8;

std::size_t always_there(const AnswerType& type, const std::vector<AnswerType>& all) {
  const auto members = members_of(type, all);
  return static_cast<std::size_t>(std::ranges::count_if(members, [](const auto& each) { return !each.is_optional(); }));
}

// A member's schema without anything below it.
json::object brief(std::string_view type, const std::vector<AnswerType>& all, bool shows_items) {
  if (type.ends_with(k_or_null))
    return or_null(brief(type.substr(0, type.size() - k_or_null.size()), all, shows_items));
  if (is_wrapped(type, '[')) {
    return {{"type", "array"}, {"items", brief(unwrapped(type), all, shows_items)}};
  }
  if (is_wrapped(type, '{')) return {{"type", "object"}};
  if (is_word_list(type)) return {{"type", "string"}};
  const AnswerType* named = find_type(type, all);
  if (named == nullptr) return schema_of_type(type, "");
  if (!named->type.empty()) return brief(named->type, all, false);
  if (!shows_items) return {{"type", "object"}};
  json::object schema = brief_schema_of(*named, all);
  schema.erase("required");
  return schema;
}

}  // namespace

const AnswerType* find_type(std::string_view name, const std::vector<AnswerType>& all) {
  const auto found = std::ranges::find(all, name, &AnswerType::name);
  return found != all.end() ? &*found : nullptr;
}

std::vector<std::string_view> types_in(std::string_view type) {
  if (type.ends_with(k_or_null)) type.remove_suffix(k_or_null.size());
  if (is_wrapped(type, '[') || is_wrapped(type, '{')) return types_in(unwrapped(type));
  if (is_plain_type(type) || is_word_list(type) || type == "any" || type == "true") return {};
  return {type};
}

json::object schema_of_type(std::string_view type, std::string_view where) {
  if (type.ends_with(k_or_null)) return or_null(schema_of_type(type.substr(0, type.size() - k_or_null.size()), where));
  if (is_plain_type(type)) return {{"type", type}};
  if (type == "any") return {};
  if (type == "true") return {{"const", true}};
  if (is_word_list(type)) return {{"type", "string"}, {"enum", words_in(type)}};
  if (is_wrapped(type, '[')) return {{"type", "array"}, {"items", schema_of_type(unwrapped(type), where)}};
  if (is_wrapped(type, '{')) {
    return {{"type", "object"}, {"additionalProperties", schema_of_type(unwrapped(type), where)}};
  }
  return {{"$ref", fmt::format("{}{}", where, type)}};
}

std::vector<AnswerMember> members_of(const AnswerType& answer, const std::vector<AnswerType>& all) {
  std::vector<AnswerMember> members;
  if (!answer.base.empty()) {
    const AnswerType* base = find_type(answer.base, all);
    if (base == nullptr) throw std::logic_error(fmt::format("{} has no base '{}'", answer.name, answer.base));
    members = members_of(*base, all);
  }
  members.insert(members.end(), answer.members.begin(), answer.members.end());
  return members;
}

json::object schema_of(const AnswerType& answer, const std::vector<AnswerType>& all, std::string_view where) {
  if (!answer.type.empty()) {
    json::object schema = schema_of_type(answer.type, where);
    if (!answer.pattern.empty()) schema["pattern"] = answer.pattern;
    if (!answer.help.empty()) schema["description"] = answer.help;
    return schema;
  }
  json::object schema{{"type", "object"}};
  if (!answer.help.empty()) schema["description"] = answer.help;
  json::object properties;
  json::array required;
  for (const AnswerMember& each : members_of(answer, all)) {
    json::object member = schema_of_type(each.type, where);
    if (!each.help.empty()) member["description"] = each.help;
    properties[each.key()] = std::move(member);
    if (!each.is_optional()) required.emplace_back(each.key());
  }
  schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  if (!answer.is_open) schema["additionalProperties"] = false;
  return schema;
}

json::object brief_schema_of(const AnswerType& answer, const std::vector<AnswerType>& all) {
  const auto members = members_of(answer, all);
  json::object properties;
  json::array required;
  for (const AnswerMember& each : members) {
    if (each.is_optional()) continue;
    if (properties.size() == k_brief_members) break;
    const auto types = types_in(each.type);
    const AnswerType* below = types.empty() ? nullptr : find_type(types.front(), all);
    const bool is_small =
        below != nullptr && (is_wrapped(each.type, '[') || always_there(*below, all) <= k_shown_below);
    const bool shows = members.size() <= k_list_members && is_small && below->type.empty() && below != &answer;
    properties[each.key()] = brief(each.type, all, shows);
    required.emplace_back(each.key());
  }
  json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace skein::inline v0::operations
