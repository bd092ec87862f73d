#include "skein/base/pause_clock.hpp"

namespace skein::inline v0 {

std::int64_t PauseClock::count(std::int64_t raw) {
  const std::int64_t overdue = overdue_.load(std::memory_order_relaxed);
  if (raw > overdue) {
    version_.fetch_add(1, std::memory_order_acq_rel);
    const std::int64_t lost = lost_.load(std::memory_order_relaxed) + (raw - overdue);
    lost_.store(lost, std::memory_order_release);
    floor_.store(raw - lost, std::memory_order_relaxed);
    // Until the next look, the time that passes is no second pause: the reader has just begun to run again.
    overdue_.store(later(Instant(Duration(raw)), k_pause_look + k_pause_tolerance).time_since_epoch().count(),
                   std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }
  return std::max(raw - lost_.load(std::memory_order_relaxed), floor_.load(std::memory_order_relaxed));
}

Instant PauseClock::now_slowly(Instant raw) {
  const std::scoped_lock lock(mutex_);
  return Instant(Duration(count(raw.time_since_epoch().count())));
}

Instant PauseClock::look(Instant raw, Instant next) {
  const std::scoped_lock lock(mutex_);
  const std::int64_t time = count(raw.time_since_epoch().count());
  overdue_.store(later(next, k_pause_tolerance).time_since_epoch().count(), std::memory_order_release);
  return Instant(Duration(time));
}

}  // namespace skein::inline v0
