// Now, on both clocks, and how a time on one of them is said on the other. Plain values.
#pragma once

#include <algorithm>
#include <chrono>

#include "skein/base/time.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

struct Moment {
  Instant now;
  ledger::WallMs wall = 0;
};

// Further ahead is as good as never: about 31 years. Keeps sums of times from overflowing.
inline constexpr ledger::WallMs k_wall_ms_max = 1'000'000'000'000;

// The monotonic time as one on the wall, as far as both clocks agree; 0 for a time that never comes.
[[nodiscard]] inline ledger::WallMs wall_at(Instant at, const Moment& moment) {
  if (at == Instant::max()) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(between(moment.now, at)).count();
  return moment.wall + std::min(static_cast<ledger::WallMs>(left), k_wall_ms_max);
}

// When so much time has passed, on the wall; 0: at once.
[[nodiscard]] inline ledger::WallMs wall_after(Duration delay, const Moment& moment) {
  if (delay <= Duration::zero()) return 0;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(delay).count();
  return moment.wall + std::min(static_cast<ledger::WallMs>(ms), k_wall_ms_max);
}

// The time on the wall as a monotonic one; now when it has passed.
[[nodiscard]] inline Instant instant_of(ledger::WallMs at, const Moment& moment) {
  if (at <= moment.wall) return moment.now;
  return later(moment.now, std::chrono::milliseconds(std::min<ledger::WallMs>(at - moment.wall, k_wall_ms_max)));
}

}  // namespace skein::inline v0::dispatch
