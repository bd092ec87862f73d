// What operations answer, as types by name: from these come the schemas of openapi.json and of MCP's tools, and the
// tables of docs/reference/operations.md. Plain values and pure functions; any thread.
//
// A type is written in a few signs:
//   string integer number boolean object any   as in JSON Schema; `any` is every value
//   true                                       a member that is only there when it is true
//   [T]    {T}    T|null                       an array, an object with any names, or null
//   'a' 'b'                                    one of these words
//   Task                                       another type
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::operations {

struct AnswerMember {
  std::string_view name;  // "cursor?": it is not always there
  std::string type;
  std::string_view help{};

  [[nodiscard]] bool is_optional() const { return name.ends_with('?'); }
  [[nodiscard]] std::string_view key() const { return name.substr(0, name.size() - (is_optional() ? 1 : 0)); }
};

struct AnswerType {
  std::string_view name;
  std::string_view help{};
  std::vector<AnswerMember> members{};
  std::string_view base{};     // another type, whose members it has too
  std::string type{};          // of one that is no object
  std::string_view pattern{};  // likewise, of a string
  bool is_open = false;        // it may have members that are not listed here
};

// The JSON Schema of a type as written above; other types are references into `where`, such as
// "#/components/schemas/".
[[nodiscard]] boost::json::object schema_of_type(std::string_view type, std::string_view where);
// Of a whole answer, with the members of its base among `all`. Throws std::logic_error for a base that is not there.
[[nodiscard]] boost::json::object schema_of(const AnswerType& answer, const std::vector<AnswerType>& all,
                                            std::string_view where);
// Short, for models, which read every byte of it: the first members that are always there with their types, and no
// references. What is below them is an object or an array, except the items of a list.
[[nodiscard]] boost::json::object brief_schema_of(const AnswerType& answer, const std::vector<AnswerType>& all);

// The members of an answer with those of its bases first.
[[nodiscard]] std::vector<AnswerMember> members_of(const AnswerType& answer, const std::vector<AnswerType>& all);
// Null when there is none.
[[nodiscard]] const AnswerType* find_type(std::string_view name, const std::vector<AnswerType>& all);
// The names of other types in a type as written above.
[[nodiscard]] std::vector<std::string_view> types_in(std::string_view type);

}  // namespace skein::inline v0::operations
