// HTTP on a node: the children of transports_sup that serve MCP at /mcp.
#pragma once

#include <vector>

#include "skein/node/node_context.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::node {

inline constexpr std::string_view k_http_connections_name = "http_connections";

// The pools of sessions and connections, and the listener; nothing when HTTP is off.
[[nodiscard]] std::vector<ChildSpec> http_children(const ContextPtr& context, const mcp::ServerPtr& server);

}  // namespace skein::inline v0::node
