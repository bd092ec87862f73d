// A monotonic clock that stands still while the whole program does.
//
// A program can be stopped from outside: SIGSTOP, a frozen control group, a suspended virtual machine, a debugger. All
// its time limits would then be over at once, although none of its parts had a turn. So somebody (the runtime's clock
// thread, the loop of a job queue) looks at this clock again and again and promises when it will look next. A look, or
// a reading, that comes later than promised by more than k_pause_tolerance shows a pause: the clock goes on from the
// end of the tolerance, and the rest is lost().
//
// Pure: the readings of the real clock ("raw") are given to it. What holds:
// 1. The clock never goes back, and never runs faster than the raw one.
// 2. Of a pause at most the time until the promised look and the tolerance count.
// 3. Without a promise (before the first, and after Instant::max()) it is the raw clock less what was lost before.
//
// now() and lost() may be called by any thread, look() by one at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

// A thread on a loaded machine is late by this much without having been stopped.
inline constexpr Duration k_pause_tolerance = std::chrono::milliseconds(500);
// Code with time limits should promise its next look at most this far ahead.
inline constexpr Duration k_pause_look = std::chrono::milliseconds(250);

class PauseClock {
 public:
  PauseClock() = default;
  PauseClock(const PauseClock&) = delete;
  PauseClock& operator=(const PauseClock&) = delete;

  // `read` gives the raw time. It is called here because it must be read after what it is compared with.
  template <class Read>
  [[nodiscard]] Instant now(Read read) {
    // Most programs are never stopped. A reader of an `overdue_` set after a pause also sees what was lost in it.
    const std::int64_t promised = overdue_.load(std::memory_order_acquire);
    if (lost_.load(std::memory_order_acquire) == 0) [[likely]] {
      const Instant raw = read();
      return raw.time_since_epoch().count() <= promised ? raw : now_slowly(raw);
    }
    return now_after_pause(read);
  }

  // The program runs; it will look again by `next`. Gives the time, as now().
  Instant look(Instant raw, Instant next);
  // A time of this clock, as a raw time, for code that waits until then.
  [[nodiscard]] Instant raw_of(Instant time) const { return later(time, lost()); }

  // In all pauses until now.
  [[nodiscard]] Duration lost() const { return Duration(lost_.load(std::memory_order_acquire)); }

 private:
  template <class Read>
  [[nodiscard]] Instant now_after_pause(Read read) {
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    const std::int64_t overdue = overdue_.load(std::memory_order_relaxed);
    const std::int64_t floor = floor_.load(std::memory_order_relaxed);
    const std::int64_t lost = lost_.load(std::memory_order_acquire);
    const std::int64_t raw = read().time_since_epoch().count();
    if (raw <= overdue && version_.load(std::memory_order_relaxed) == version && (version & 1U) == 0) [[likely]] {
      // A coarse clock may be behind for a tick after a pause.
      return Instant(Duration(std::max(raw - lost, floor)));
    }
    return now_slowly(Instant(Duration(raw)));
  }
  [[nodiscard]] Instant now_slowly(Instant raw);
  // With mutex_ held.
  std::int64_t count(std::int64_t raw);

  std::mutex mutex_;
  std::atomic<std::uint64_t> version_{0};         // odd while a pause is written down
  std::atomic<std::int64_t> overdue_{INT64_MAX};  // raw; a reading after it shows a pause
  std::atomic<std::int64_t> lost_{0};
  std::atomic<std::int64_t> floor_{INT64_MIN};  // the time at which the last pause ended
};

}  // namespace skein::inline v0
