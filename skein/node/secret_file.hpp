// A secret that a node makes at its first start and keeps in its data folder, readable by its owner only.
#pragma once

#include <expected>
#include <string>

namespace skein::inline v0::node {

inline constexpr const char* k_key_file = "mcp.key";  // seals what MCP clients keep for us
inline constexpr const char* k_token_file = "token";  // what clients on the network must show

// 256 random bits in hex. The error is complete, for people: also for a file that others can read, or that is damaged.
[[nodiscard]] std::expected<std::string, std::string> secret_in(const std::string& path);
// Whole or not at all, whenever the machine stops. The error is complete, for people.
[[nodiscard]] std::expected<void, std::string> write_secret(const std::string& path, const std::string& secret);

}  // namespace skein::inline v0::node
