// What the node's tools are made of: how an answer of the node becomes a result.
// Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "skein/mcp/catalog.hpp"

namespace skein::inline v0::mcp {

// The same JSON as text and as structured content: some clients show a model only one of them.
[[nodiscard]] json::object structured(json::object value);
// An error of the node as one line that says what to do.
[[nodiscard]] std::string error_text(const json::value& error);

}  // namespace skein::inline v0::mcp
