// JSON Schema 2020-12, the part that tools use: checks a value against a schema and says what is wrong where. Pure; a
// Schema is immutable and may be used by any thread.
//
// Known: boolean schemas, type, enum, const, properties, required, additionalProperties, propertyNames, minProperties,
// maxProperties, dependentRequired, items, prefixItems, minItems, maxItems, uniqueItems, minLength, maxLength, minimum,
// maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, allOf, anyOf, oneOf, not, if/then/else, and $ref within the
// schema ("#" and "#/..."). Annotations (title, description, default, format, examples, ...) check nothing.
//
// 1. compile() refuses any other keyword, and a $ref that leads nowhere: a schema checks all that it says, or is none.
// 2. A check costs at most k_schema_steps_max steps and goes k_schema_depth_max deep; past that the value is refused.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>

namespace skein::inline v0::mcp {

namespace json = boost::json;

inline constexpr std::size_t k_schema_steps_max = 100'000;
inline constexpr std::size_t k_schema_depth_max = 128;

// What is wrong with a value, for people and models: "arguments.priority must be one of "low", "high"".
struct SchemaFault {
  std::string where;  // a path from the root, "" for the root itself
  std::string what;
  // `root`: what the value as a whole is called.
  [[nodiscard]] std::string describe(std::string_view root) const { return std::string(root) + where + " " + what; }
};

class Schema {
 public:
  // The error says which keyword, where.
  [[nodiscard]] static std::expected<Schema, std::string> compile(json::value schema);

  // Nothing when it is valid; else the first thing that is wrong.
  [[nodiscard]] std::optional<SchemaFault> check(const json::value& value) const;
  [[nodiscard]] const json::value& text() const { return root_; }

 private:
  explicit Schema(json::value root) : root_(std::move(root)) {}
  json::value root_;
};

// As JSON Schema compares: 1 and 1.0 are equal, members have no order.
[[nodiscard]] bool equal_json(const json::value& left, const json::value& right);

}  // namespace skein::inline v0::mcp
