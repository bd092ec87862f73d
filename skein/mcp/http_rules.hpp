// What MCP asks of an HTTP request before it is looked at: who may ask at all, and headers that say what the body says.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/mcp/catalog.hpp"
#include "skein/mcp/json_rpc.hpp"
#include "skein/net/http.hpp"

namespace skein::inline v0::mcp {

// A page that a browser loaded from elsewhere can have a name of its own lead here, and then speaks with that name:
// addresses and localhost are always good, names only if they are listed.
[[nodiscard]] bool is_host_allowed(std::string_view authority, const std::vector<std::string>& names);
[[nodiscard]] bool is_origin_allowed(std::string_view origin, const std::vector<std::string>& names);

// Modern: MCP-Protocol-Version must be there; Mcp-Method, Mcp-Name and Mcp-Param-* too, and say what the body says.
[[nodiscard]] std::optional<RpcError> header_fault(const net::HttpRequest& request, const RpcMessage& message,
                                                   const Catalog& catalog);

// Whether a Content-Type is JSON's, whatever its params.
[[nodiscard]] bool is_json_type(std::string_view content_type);

// Whether an Accept header takes a media type.
[[nodiscard]] bool accepts(const net::HttpRequest& request, std::string_view type);

}  // namespace skein::inline v0::mcp
