#include "skein/mcp/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace skein::inline v0::mcp {
namespace {

using Fault = std::optional<SchemaFault>;

constexpr std::array k_annotations{
    "$schema",  "$id",       "$comment",   "title",   "description",  "default",          "format",         "examples",
    "readOnly", "writeOnly", "deprecated", "$anchor", "x-mcp-header", "contentMediaType", "contentEncoding"};
constexpr std::array k_schema_keywords{"additionalProperties", "propertyNames", "items", "not", "if", "then", "else"};
constexpr std::array k_schema_list_keywords{"prefixItems", "allOf", "anyOf", "oneOf"};
constexpr std::array k_schema_map_keywords{"properties", "$defs"};
constexpr std::array k_count_keywords{"minProperties", "maxProperties", "minItems",
                                      "maxItems",      "minLength",     "maxLength"};
constexpr std::array k_number_keywords{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};
constexpr std::array<std::string_view, 7> k_types{"null", "boolean", "object", "array", "number", "string", "integer"};

template <class List>
bool is_one_of(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

std::optional<double> number_of(const json::value& value) {
  if (const auto* whole = value.if_int64()) return static_cast<double>(*whole);
  if (const auto* whole = value.if_uint64()) return static_cast<double>(*whole);
  if (const auto* real = value.if_double()) return *real;
  return std::nullopt;
}

bool is_whole(const json::value& value) {
  if (value.is_int64() || value.is_uint64()) return true;
  const auto* real = value.if_double();
  return real != nullptr && std::isfinite(*real) && std::trunc(*real) == *real;
}

bool has_type(const json::value& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_bool();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return is_whole(value);
  return value.is_number();
}

// Code points, as JSON Schema counts.
std::size_t length_of(const json::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0U) != 0x80U; }));
}

// "#/a/b~1c" as the parts of a JSON pointer; nothing when it leads elsewhere.
const json::value* resolve(const json::value& root, std::string_view ref) {
  // A fragment of a URI may be written with percent signs; nobody writes them in schemas.
  if (ref.empty() || ref.front() != '#' || ref.find('%') != std::string_view::npos) return nullptr;
  ref.remove_prefix(1);
  const json::value* at = &root;
  while (!ref.empty()) {
    if (ref.front() != '/') return nullptr;
    ref.remove_prefix(1);
    const std::size_t end = std::min(ref.find('/'), ref.size());
    std::string part;
    for (std::size_t i = 0; i < end; ++i) {
      const bool is_escape = ref[i] == '~' && i + 1 < end;
      part += !is_escape ? ref[i] : ref[++i] == '1' ? '/' : '~';
    }
    ref.remove_prefix(end);
    const json::object* object = at->if_object();
    at = object != nullptr ? object->if_contains(part) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

// ---- compile ----

class Compiler {
 public:
  explicit Compiler(const json::value& root) : root_(root), targets_{&root} {}

  // Empty when it is good.
  std::string check(const json::value& schema, const std::string& where, std::size_t depth) {
    if (depth > k_schema_depth_max) return "the schema is nested too deep";
    if (schema.is_bool()) return {};
    const json::object* object = schema.if_object();
    if (object == nullptr) return fmt::format("{} must be an object or a boolean", where);
    for (const auto& each : *object) {
      std::string bad = keyword(each.key(), each.value(), where + "/" + std::string(each.key()), depth);
      if (!bad.empty()) return bad;
    }
    return {};
  }

 private:
  std::string keyword(std::string_view key, const json::value& value, const std::string& where, std::size_t depth) {
    // Below the root it would say what "#" means.
    if (key == "$id" && depth > 0) return where + " is not supported";
    if (is_one_of(k_annotations, key)) return {};
    if (is_one_of(k_schema_keywords, key)) return check(value, where, depth + 1);
    if (is_one_of(k_schema_list_keywords, key)) {
      const json::array* list = value.if_array();
      if (list == nullptr || list->empty()) return where + " must be a list of schemas";
      return all(*list, [&](const json::value& each) { return check(each, where, depth + 1); });
    }
    if (is_one_of(k_schema_map_keywords, key)) {
      const json::object* map = value.if_object();
      if (map == nullptr) return where + " must be an object of schemas";
      return all(*map, [&](const auto& each) {
        return check(each.value(), where + "/" + std::string(each.key()), depth + 1);
      });
    }
    if (is_one_of(k_count_keywords, key)) return is_count(value) ? "" : where + " must be a whole number";
    if (is_one_of(k_number_keywords, key)) {
      const auto number = number_of(value);
      const bool is_good = number && (key != "multipleOf" || *number > 0);
      return is_good ? "" : where + " must be a number";
    }
    if (key == "$ref") return reference(value, where, depth);
    return other(key, value, where);
  }

  // Where it leads is a schema too, wherever that stands: among annotations, say, which nobody else looks at.
  std::string reference(const json::value& value, const std::string& where, std::size_t depth) {
    const json::string* ref = value.if_string();
    const json::value* target = ref != nullptr ? resolve(root_, *ref) : nullptr;
    if (target == nullptr) return where + " must lead to a place in this schema";
    return targets_.insert(target).second ? check(*target, where, depth + 1) : std::string();
  }

  std::string other(std::string_view key, const json::value& value, const std::string& where) const {
    if (key == "const") return {};
    if (key == "enum") return value.is_array() ? "" : where + " must be a list";
    if (key == "uniqueItems") return value.is_bool() ? "" : where + " must be true or false";
    if (key == "required") return is_names(value) ? "" : where + " must be a list of names";
    if (key == "type") return is_types(value) ? "" : where + " must be a type or a list of types";
    if (key == "dependentRequired") {
      const json::object* map = value.if_object();
      const bool is_good =
          map != nullptr && std::ranges::all_of(*map, [](const auto& m) { return is_names(m.value()); });
      return is_good ? "" : where + " must be an object of lists of names";
    }
    return where + " is not supported";
  }

  template <class Range, class Fn>
  static std::string all(const Range& range, Fn fn) {
    for (const auto& each : range) {
      std::string bad = fn(each);
      if (!bad.empty()) return bad;
    }
    return {};
  }
  static bool is_count(const json::value& value) {
    const auto number = number_of(value);
    return number && *number >= 0 && is_whole(value);
  }
  static bool is_names(const json::value& value) {
    const json::array* list = value.if_array();
    return list != nullptr && std::ranges::all_of(*list, [](const json::value& each) { return each.is_string(); });
  }
  static bool is_types(const json::value& value) {
    const auto is_type = [](const json::value& each) {
      return each.is_string() && is_one_of(k_types, std::string_view(each.get_string()));
    };
    const json::array* list = value.if_array();
    return list != nullptr ? !list->empty() && std::ranges::all_of(*list, is_type) : is_type(value);
  }

  const json::value& root_;
  std::set<const json::value*> targets_;  // of references, checked or being checked
};

// ---- check ----

// The paths it names are built only when something is wrong.
struct Place {
  const Place* above = nullptr;
  std::string_view member{};
  std::size_t index = 0;
  bool is_index = false;

  [[nodiscard]] std::string path() const {
    if (above == nullptr) return {};
    return above->path() + (is_index ? fmt::format("[{}]", index) : fmt::format(".{}", member));
  }
};

class Checker {
 public:
  explicit Checker(const json::value& root) : root_(root) {}

  Fault check_all(const json::value& value) {
    const Place top;
    Fault fault = check(root_, value, top);
    // Whatever anyOf and not made of it, a check that was cut short holds for nothing.
    return is_cut_short_ ? costs_too_much(top) : fault;
  }

 private:
  Fault check(const json::value& schema, const json::value& value, const Place& at) {
    if (++steps_ > k_schema_steps_max || depth_ >= k_schema_depth_max) {
      is_cut_short_ = true;
      return costs_too_much(at);
    }
    if (const bool* whether = schema.if_bool()) return *whether ? Fault() : wrong(at, "is not allowed");
    ++depth_;
    Fault fault = check_object(schema.get_object(), value, at);
    --depth_;
    return fault;
  }

  static Fault costs_too_much(const Place& at) { return wrong(at, "costs too much to check"); }
  static Fault wrong(const Place& at, std::string what) { return SchemaFault{at.path(), std::move(what)}; }

  Fault check_object(const json::object& schema, const json::value& value, const Place& at) {
    if (const json::value* ref = schema.if_contains("$ref")) {
      if (Fault fault = check(*resolve(root_, ref->get_string()), value, at)) return fault;
    }
    if (Fault fault = check_any(schema, value, at)) return fault;
    if (const json::object* object = value.if_object()) {
      if (Fault fault = check_members(schema, *object, at)) return fault;
    } else if (const json::array* array = value.if_array()) {
      if (Fault fault = check_items(schema, *array, at)) return fault;
    } else if (const json::string* text = value.if_string()) {
      if (Fault fault = check_count(schema, "Length", length_of(*text), "characters", at)) return fault;
    } else if (const auto number = number_of(value)) {
      if (Fault fault = check_number(schema, *number, at)) return fault;
    }
    return check_logic(schema, value, at);
  }

  static Fault check_any(const json::object& schema, const json::value& value, const Place& at) {
    if (const json::value* type = schema.if_contains("type")) {
      const json::array* list = type->if_array();
      const auto fits = [&](const json::value& each) { return has_type(value, each.get_string()); };
      const bool is_good = list != nullptr ? std::ranges::any_of(*list, fits) : fits(*type);
      if (!is_good) {
        return wrong(at, list != nullptr ? "must be of a type among " + json::serialize(*type)
                                         : fmt::format("must be of type {}", std::string_view(type->get_string())));
      }
    }
    if (const json::value* all = schema.if_contains("enum")) {
      const auto is_it = [&](const json::value& each) { return equal_json(each, value); };
      if (std::ranges::none_of(all->get_array(), is_it)) return wrong(at, "must be one of " + json::serialize(*all));
    }
    if (const json::value* only = schema.if_contains("const"); only != nullptr && !equal_json(*only, value)) {
      return wrong(at, "must be " + json::serialize(*only));
    }
    return {};
  }

  Fault check_members(const json::object& schema, const json::object& object, const Place& at) {
    if (const json::value* names = schema.if_contains("required")) {
      for (const json::value& each : names->get_array()) {
        if (!object.contains(each.get_string())) {
          return wrong(at, fmt::format("must have the member '{}'", std::string_view(each.get_string())));
        }
      }
    }
    if (const json::value* map = schema.if_contains("dependentRequired")) {
      for (const auto& each : map->get_object()) {
        if (!object.contains(each.key())) continue;
        for (const json::value& name : each.value().get_array()) {
          if (object.contains(name.get_string())) continue;
          return wrong(at, fmt::format("must have the member '{}' beside '{}'", std::string_view(name.get_string()),
                                       std::string_view(each.key())));
        }
      }
    }
    if (Fault fault = check_count(schema, "Properties", object.size(), "members", at)) return fault;
    const json::value* known = schema.if_contains("properties");
    const json::value* others = schema.if_contains("additionalProperties");
    const json::value* names = schema.if_contains("propertyNames");
    for (const auto& each : object) {
      const Place below{&at, each.key()};
      if (names != nullptr) {
        if (Fault fault = check(*names, json::value(each.key()), below)) return fault;
      }
      const json::value* its = known != nullptr ? known->get_object().if_contains(each.key()) : nullptr;
      if (its == nullptr && others != nullptr && *others == false) {
        return wrong(at, fmt::format("has the member '{}', which is not known here", std::string_view(each.key())));
      }
      if (its == nullptr) its = others;
      if (its == nullptr) continue;
      if (Fault fault = check(*its, each.value(), below)) return fault;
    }
    return {};
  }

  Fault check_items(const json::object& schema, const json::array& array, const Place& at) {
    if (Fault fault = check_count(schema, "Items", array.size(), "items", at)) return fault;
    const json::value* first = schema.if_contains("prefixItems");
    const json::value* rest = schema.if_contains("items");
    const std::size_t named = first != nullptr ? first->get_array().size() : 0;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const json::value* its = i < named ? &first->get_array()[i] : rest;
      if (its == nullptr) break;
      const Place below{&at, {}, i, true};
      if (Fault fault = check(*its, array[i], below)) return fault;
    }
    const json::value* unique = schema.if_contains("uniqueItems");
    if (unique == nullptr || *unique != true) return {};
    for (std::size_t i = 0; i < array.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (++steps_ > k_schema_steps_max) {
          is_cut_short_ = true;
          return costs_too_much(at);
        }
        if (equal_json(array[i], array[j])) return wrong(at, fmt::format("has item {} twice", j));
      }
    }
    return {};
  }

  static Fault check_count(const json::object& schema, std::string_view of, std::size_t count, std::string_view what,
                           const Place& at) {
    const auto bound = [&](std::string_view side) -> std::optional<double> {
      const json::value* found = schema.if_contains(fmt::format("{}{}", side, of));
      return found != nullptr ? number_of(*found) : std::nullopt;
    };
    const auto size = static_cast<double>(count);
    if (const auto least = bound("min"); least && size < *least) {
      return wrong(at, fmt::format("must have at least {} {}", *least, what));
    }
    if (const auto most = bound("max"); most && size > *most) {
      return wrong(at, fmt::format("must have at most {} {}", *most, what));
    }
    return {};
  }

  static Fault check_number(const json::object& schema, double number, const Place& at) {
    const auto bound = [&](std::string_view key) -> std::optional<double> {
      const json::value* found = schema.if_contains(key);
      return found != nullptr ? number_of(*found) : std::nullopt;
    };
    if (const auto b = bound("minimum"); b && number < *b) return wrong(at, fmt::format("must be at least {}", *b));
    if (const auto b = bound("maximum"); b && number > *b) return wrong(at, fmt::format("must be at most {}", *b));
    if (const auto b = bound("exclusiveMinimum"); b && number <= *b) {
      return wrong(at, fmt::format("must be more than {}", *b));
    }
    if (const auto b = bound("exclusiveMaximum"); b && number >= *b) {
      return wrong(at, fmt::format("must be less than {}", *b));
    }
    if (const auto b = bound("multipleOf"); b) {
      const double quotient = number / *b;
      if (!std::isfinite(quotient) || std::trunc(quotient) != quotient) {
        return wrong(at, fmt::format("must be a multiple of {}", *b));
      }
    }
    return {};
  }

  Fault check_logic(const json::object& schema, const json::value& value, const Place& at) {
    if (const json::value* all = schema.if_contains("allOf")) {
      for (const json::value& each : all->get_array()) {
        if (Fault fault = check(each, value, at)) return fault;
      }
    }
    if (const json::value* any = schema.if_contains("anyOf")) {
      const auto holds = [&](const json::value& each) { return !check(each, value, at); };
      if (std::ranges::none_of(any->get_array(), holds)) return wrong(at, "matches none of what is allowed");
    }
    if (const json::value* one = schema.if_contains("oneOf")) {
      const auto holds = [&](const json::value& each) { return !check(each, value, at); };
      const auto count = std::ranges::count_if(one->get_array(), holds);
      if (count != 1) return wrong(at, fmt::format("must match exactly one of what is allowed, not {}", count));
    }
    if (const json::value* none = schema.if_contains("not"); none != nullptr && !check(*none, value, at)) {
      return wrong(at, "matches what is not allowed");
    }
    if (const json::value* condition = schema.if_contains("if")) {
      const json::value* then = schema.if_contains(check(*condition, value, at) ? "else" : "then");
      if (then != nullptr) return check(*then, value, at);
    }
    return {};
  }

  const json::value& root_;
  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
  bool is_cut_short_ = false;
};

}  // namespace

bool equal_json(const json::value& left, const json::value& right) {
  if (const json::array* list = left.if_array()) {
    const json::array* other = right.if_array();
    return other != nullptr && std::ranges::equal(*list, *other, equal_json);
  }
  if (const json::object* object = left.if_object()) {
    const json::object* other = right.if_object();
    if (other == nullptr || object->size() != other->size()) return false;
    return std::ranges::all_of(*object, [&](const auto& each) {
      const json::value* its = other->if_contains(each.key());
      return its != nullptr && equal_json(each.value(), *its);
    });
  }
  const auto number = number_of(left);
  const auto other = number_of(right);
  if (number && other && (left.is_double() || right.is_double())) return std::equal_to<>()(*number, *other);
  return left == right;
}

std::expected<Schema, std::string> Schema::compile(json::value schema) {
  Schema made(std::move(schema));
  std::string bad = Compiler(made.root_).check(made.root_, "#", 0);
  if (!bad.empty()) return std::unexpected(std::move(bad));
  return made;
}

std::optional<SchemaFault> Schema::check(const json::value& value) const { return Checker(root_).check_all(value); }

}  // namespace skein::inline v0::mcp
