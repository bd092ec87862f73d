// The version of what a program and a node say to each other on the Unix socket. Both say theirs in hello. A node
// serves programs of its own version and of the one before, in that one's form; with another version nothing further
// is asked. Pure; any thread.
//
// 1: the first. 2: agent_spawn, dump, backup and log_level answer an object instead of a text.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/operations/error.hpp"

namespace skein::inline v0::control {

inline constexpr std::uint32_t k_protocol_version = 2;
inline constexpr std::uint32_t k_oldest_protocol_version = 1;

struct ProtocolSide {
  std::string_view who;
  std::uint64_t version = 0;
};
// Says which of the two is older and what to do.
[[nodiscard]] operations::Error other_version(const ProtocolSide& program, const ProtocolSide& node);

// For a program of an earlier version that is still served: in the answer to its hello and in the node's log.
[[nodiscard]] std::string older_program_notice(std::uint64_t version);

// The version of a node that refused a program's hello in the words of version 1, which named only the number; nothing
// for any other message.
[[nodiscard]] std::optional<std::uint64_t> version_in_refusal(std::string_view message);

// Whether the operation's answer had another form in version 1, and that form of an answer.
[[nodiscard]] bool has_first_form(std::string_view op);
[[nodiscard]] boost::json::value first_form(std::string_view op, boost::json::value answer);

}  // namespace skein::inline v0::control
