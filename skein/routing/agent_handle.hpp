// Names an agent of one router. A plain value.
#pragma once

#include <compare>
#include <cstdint>

namespace skein::inline v0 {

// Valid while the agent is there; after it left, the same bits never come to mean another.
struct AgentHandle {
  std::uint32_t index = UINT32_MAX;
  std::uint32_t generation = 0;
  friend constexpr auto operator<=>(const AgentHandle&, const AgentHandle&) = default;
};

}  // namespace skein::inline v0
