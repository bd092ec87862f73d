// TCP on a node: the children of transports_sup that serve MCP with a message per line.
#pragma once

#include <string_view>
#include <vector>

#include "skein/node/node_context.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::node {

inline constexpr std::string_view k_tcp_connections_name = "tcp_connections";

// The pool of connections and the listener; nothing when TCP is off.
[[nodiscard]] std::vector<ChildSpec> tcp_children(const ContextPtr& context, const mcp::ServerPtr& server);

}  // namespace skein::inline v0::node
