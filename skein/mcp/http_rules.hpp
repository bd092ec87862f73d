// MCP's rules for an HTTP request before it is handled: which clients may ask at all, and headers that must agree with
// the body. Pure; any thread.
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

// Modern: a request has MCP-Protocol-Version, Mcp-Method, Mcp-Name and Mcp-Param-*, and they say what the body says. A
// notification needs none of them; an Mcp-Method that it has must be right.
[[nodiscard]] std::optional<RpcError> header_fault(const net::HttpRequest& request, const RpcMessage& message,
                                                   const Catalog& catalog);

// Where a client looks for OAuth: metadata of RFC 8414, RFC 9728 and OpenID, and registration by RFC 7591.
[[nodiscard]] bool is_oauth_path(std::string_view path);

// Whether a Content-Type is JSON's, whatever its params.
[[nodiscard]] bool is_json_type(std::string_view content_type);

// Whether an Accept header takes a media type.
[[nodiscard]] bool accepts(const net::HttpRequest& request, std::string_view type);

}  // namespace skein::inline v0::mcp
