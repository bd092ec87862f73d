// Decides which clients may ask anything over HTTP: the host and the page must be known, and the token valid. Called
// first, by every service of the node. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/mcp/login.hpp"
#include "skein/net/http.hpp"

namespace skein::inline v0::mcp {

// What a browser offers as a protocol of a WebSocket, where it cannot set the header Authorization: "bearer.TOKEN".
inline constexpr std::string_view k_bearer_protocol = "bearer.";

struct HttpGate {
  std::shared_ptr<Login> login;
  std::vector<std::string> hosts{};  // names besides addresses and localhost
};

// The client, or the answer that refuses it, as plain text.
struct GateAnswer {
  std::optional<net::HttpResponse> refusal{};
  operations::PrincipalPtr who{};  // when it is not refused
};
[[nodiscard]] GateAnswer admit(const HttpGate& gate, const net::HttpRequest& request, Instant now);

[[nodiscard]] net::HttpResponse plain_response(int status, std::string text);

}  // namespace skein::inline v0::mcp
