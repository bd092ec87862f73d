// Time that has passed, for workloads. Any thread.
#pragma once

#include <chrono>

namespace skein::bench {

using Clock = std::chrono::steady_clock;

inline double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}
inline double seconds_since(Clock::time_point begin) { return us_since(begin) / 1e6; }

}  // namespace skein::bench
