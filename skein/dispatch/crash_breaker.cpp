#include "skein/dispatch/crash_breaker.hpp"

namespace skein::inline v0::dispatch {

CrashBreaker::Change CrashBreaker::passed(const CrashBreakerOptions& options, Duration survived, Instant now) {
  if (state_ == State::open && now >= until_) return enter(State::half_open, now, options);
  if (state_ != State::half_open) return Change::none;
  const Duration enough = std::max(2 * slowest_, options.half_open_interval);
  return survived > enough ? enter(State::closed, now, options) : Change::none;
}

bool CrashBreaker::admits(const CrashBreakerOptions& options, Instant now) const {
  if (state_ != State::half_open) return state_ == State::closed;
  if (probes_ < options.half_open_tasks) return true;
  return now >= next_probe_;
}

CrashBreaker::Change CrashBreaker::enter(State state, Instant now, const CrashBreakerOptions& options) {
  state_ = state;
  probes_ = 0;
  is_warned_ = false;
  crashed_.clear();
  next_probe_ = now;
  if (state == State::open) until_ = later(now, options.open);
  return state == State::open ? Change::opened : state == State::half_open ? Change::half_opened : Change::closed;
}

}  // namespace skein::inline v0::dispatch
