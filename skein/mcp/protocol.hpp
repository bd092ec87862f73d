// The words of MCP that more than one file needs: revisions, keys of _meta, and what the eras differ in. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skein::inline v0::mcp {

// Modern: every request says what it needs to be understood. Legacy: initialize makes a session first.
enum class Era : std::uint8_t { legacy, modern };

inline constexpr std::string_view k_modern_version = "2026-07-28";
inline constexpr std::string_view k_legacy_version = "2025-11-25";  // answered to those who ask for one we do not know
inline constexpr std::array<std::string_view, 3> k_legacy_versions{"2025-11-25", "2025-06-18", "2025-03-26"};

inline constexpr std::string_view k_meta_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view k_meta_capabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view k_meta_log_level = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view k_meta_server = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view k_meta_subscription = "io.modelcontextprotocol/subscriptionId";
inline constexpr std::string_view k_tasks_extension = "io.modelcontextprotocol/tasks";

// By severity; a client gets what is at least as severe as it asked for.
inline constexpr std::array<std::string_view, 8> k_log_levels{"debug", "info",     "notice", "warning",
                                                              "error", "critical", "alert",  "emergency"};

}  // namespace skein::inline v0::mcp
