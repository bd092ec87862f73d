// What the node's tools are made of: how an answer of the node becomes a result.
// Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "skein/mcp/catalog.hpp"

namespace skein::inline v0::mcp {

inline constexpr std::size_t k_result_bytes_max = 48ULL
                                                  << 10U;  // of what a task was given or answered, in a tool's result

// The same JSON as text and as structured content: some clients show a model only one of them.
[[nodiscard]] json::object structured(json::object value);
// What the node says when it does not do it, in one line that says what to do.
[[nodiscard]] std::string error_text(const json::value& error);

// A tool that is one operation: its arguments are the operation's, its result what `shape` makes of the answer.
using Shape = std::function<json::object(const json::value& answer)>;
[[nodiscard]] Handler one_operation(std::string op, Shape shape = {});

// What a tool answers whose work was this task, now that it has ended.
[[nodiscard]] json::object ended_task(const json::object& task);
// A whole task, without what is too long to be shown: that is left out and the resource named where all of it is.
[[nodiscard]] json::object shown_task(json::object task);

}  // namespace skein::inline v0::mcp
