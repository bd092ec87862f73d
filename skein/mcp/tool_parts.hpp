// What the node's tools are made of: annotations, schemas from text, and how an answer of the node becomes a result.
// Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "skein/mcp/catalog.hpp"

namespace skein::inline v0::mcp {

[[nodiscard]] json::value schema_of(std::string_view text);

struct Effect {
  bool is_read_only = false;
  bool is_destructive = false;
  bool is_idempotent = false;
};
[[nodiscard]] json::object annotations(const Effect& effect);

// The same JSON as text and as structured content: some clients show a model only one of them.
[[nodiscard]] json::object structured(json::object value);
// What the node says when it does not do it, in one line that says what to do.
[[nodiscard]] std::string error_text(const json::value& error);

// A page of a list that the node answers with whole, in the order of its items' names: `limit`, `cursor` and `swarm`
// are those of the arguments.
inline constexpr std::size_t k_page_default = 20;
[[nodiscard]] json::object page_of(const json::object& given, const json::value& answer, std::string_view list,
                                   std::string_view by);

// A tool that is one operation: its arguments are the operation's, its result what `shape` makes of the answer.
using Shape = std::function<json::object(const json::value& answer)>;
[[nodiscard]] Handler one_operation(std::string op, Shape shape = {});

}  // namespace skein::inline v0::mcp
