// Which swarm may take over tasks of another, said before any task needs it. A pure function.
//
// The ledger itself takes any name: what is there when a task falls back is decided then, and k_fallbacks_max ends
// every circle. This finds what can be known when a swarm is defined.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace skein::inline v0::ledger {

// A field of a swarm's definition: the swarm that its tasks go to when their attempts are used up.
inline constexpr std::string_view k_field_fallback = "fallback";

// What a swarm names as its fallback, empty for none; nothing when there is no such swarm.
using FallbackOf = std::function<std::optional<std::string>(std::string_view swarm)>;

// Why `swarm` cannot have this fallback, in one sentence; nothing when it can, or names none.
[[nodiscard]] std::optional<std::string> fallback_problem(std::string_view swarm, std::string_view fallback,
                                                          const FallbackOf& fallback_of);

}  // namespace skein::inline v0::ledger
