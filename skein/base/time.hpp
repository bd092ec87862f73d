// Time as skein measures it: nanoseconds on a monotonic axis whose zero means nothing.
//
// Nothing that decides reads a clock: it is given `now`, so that the same code runs on virtual time. The runtime and
// drivers at the edge (sockets, OS processes, threads that wait) ask the operating system.
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

using WallMs = std::uint64_t;  // milliseconds since 1970 on a clock on the wall

// `at + after`, or the end of time when that would overflow.
[[nodiscard]] constexpr Instant later(Instant at, Duration after) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(at.time_since_epoch().count(), after.count(), &sum)) return Instant(Duration(sum));
  return after > Duration::zero() ? Instant::max() : Instant::min();
}

// `to - from`, or the longest duration when that would overflow; zero when `to` is not later.
[[nodiscard]] constexpr Duration between(Instant from, Instant to) {
  if (to <= from) return Duration::zero();
  std::int64_t gap = 0;
  if (__builtin_sub_overflow(to.time_since_epoch().count(), from.time_since_epoch().count(), &gap)) return k_forever;
  return Duration(gap);
}

}  // namespace skein::inline v0
