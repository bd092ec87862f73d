// The steps that a seed stands for, see ledger_model.hpp.
#include "sim/ledger_model.hpp"
#include "skein/base/random.hpp"

namespace skein::sim {

std::vector<LedgerStep> ledger_steps(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<LedgerStep> steps(count);
  for (auto& step : steps) {
    const std::uint64_t bits = random.next();
    step = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8U),
            static_cast<std::uint8_t>(bits >> 16U), static_cast<std::uint8_t>(bits >> 24U)};
  }
  // Somebody must dispatch, or little happens.
  if (!steps.empty()) steps[0] = {13, 0, 0, 0};
  return steps;
}

}  // namespace skein::sim
