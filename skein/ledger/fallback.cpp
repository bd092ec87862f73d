#include "skein/ledger/fallback.hpp"

#include <fmt/format.h>

#include "skein/ledger/limits.hpp"

namespace skein::inline v0::ledger {

std::optional<std::string> fallback_problem(std::string_view swarm, std::string_view fallback,
                                            const FallbackOf& fallback_of) {
  if (fallback.empty()) return std::nullopt;
  if (fallback == swarm) return "a swarm cannot be its own fallback";
  std::string path = fmt::format("'{}'", swarm);
  std::string next(fallback);
  for (std::size_t fallbacks = 1; fallbacks <= k_fallbacks_max; ++fallbacks) {
    path += fmt::format(" -> '{}'", next);
    if (next == swarm) return fmt::format("{} is a circle: its tasks would come back", path);
    const auto after = fallback_of(next);
    if (!after) return fmt::format("there is no swarm '{}'", next);
    if (after->empty()) return std::nullopt;
    next = *after;
  }
  if (next == swarm) return fmt::format("{} -> '{}' is a circle: its tasks would come back", path, next);
  return fmt::format("{} -> '{}' is too long: a task is handed on at most {} times", path, next, k_fallbacks_max);
}

}  // namespace skein::inline v0::ledger
