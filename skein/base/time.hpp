// Time as skein measures it: nanoseconds on a monotonic axis whose zero means nothing.
//
// Nothing in the project reads a clock by itself: a component is handed `now` or a source of it, so that the same code
// runs on virtual time. Only skein/runtime (and programs' main functions) ask the operating system.
#pragma once

#include <chrono>
#include <cstdint>

namespace skein::inline v0 {

using Duration = std::chrono::nanoseconds;

// The axis. It has no now(): see above.
struct MonotonicAxis {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  static constexpr bool is_steady = true;
};

using Instant = std::chrono::time_point<MonotonicAxis, Duration>;

inline constexpr Duration k_forever = Duration::max();

// `at + after`, or the end of time when that would overflow.
[[nodiscard]] constexpr Instant later(Instant at, Duration after) {
  if (after > Instant::max() - at) return Instant::max();
  return at + after;
}

}  // namespace skein::inline v0
