// The version of what a program and a node say to each other on the Unix socket. Both say theirs in hello; with another
// one nothing further is asked. Pure; any thread.
//
// 1: the first. 2: agent_spawn, dump, backup and log_level answer an object instead of a text.
#pragma once

#include <cstdint>
#include <string_view>

#include "skein/operations/error.hpp"

namespace skein::inline v0::control {

inline constexpr std::uint32_t k_protocol_version = 2;

struct ProtocolSide {
  std::string_view who;
  std::uint64_t version = 0;
};
// Says which of the two is older and what to do.
[[nodiscard]] operations::Error other_version(const ProtocolSide& program, const ProtocolSide& node);

}  // namespace skein::inline v0::control
