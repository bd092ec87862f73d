// The ways to choose one of several agents that could all do a task. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace skein::inline v0 {

enum class Balance : std::uint8_t {
  round_robin,        // the one chosen longest ago, the idle before those at work
  least_connections,  // one of the least loaded, in turn
  weighted,           // at random, with weights exp(Q / T)
  consistent_hash,    // the same key goes to the same agent while that is there
  two_choices,        // two at random, the less loaded of them
  q_learning,         // the best by Q, now and then one at random
};
inline constexpr std::size_t k_balances = 6;

[[nodiscard]] constexpr std::string_view balance_name(Balance strategy) {
  switch (strategy) {
    case Balance::round_robin:
      return "round_robin";
    case Balance::least_connections:
      return "least_connections";
    case Balance::weighted:
      return "weighted";
    case Balance::consistent_hash:
      return "consistent_hash";
    case Balance::two_choices:
      return "two_choices";
    case Balance::q_learning:
      return "q_learning";
  }
  return "unknown";
}

// Nothing for a name that is none.
[[nodiscard]] constexpr std::optional<Balance> balance_named(std::string_view name) {
  for (std::size_t i = 0; i < k_balances; ++i) {
    const auto strategy = static_cast<Balance>(i);
    if (balance_name(strategy) == name) return strategy;
  }
  return std::nullopt;
}

}  // namespace skein::inline v0
