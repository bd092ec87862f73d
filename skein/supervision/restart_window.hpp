// A sliding window of restarts: "at most `intensity` within `period`". One thread at a time.
//
// A restart is allowed while fewer than `intensity` earlier ones lie within the last `period`; one exactly `period` old
// still counts. Refused ones are not recorded. Each call costs O(1) amortised, however many restarts lie in the window;
// memory grows to at most `intensity` times eight bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

class RestartWindow {
 public:
  RestartWindow(std::uint32_t intensity, Duration period) : intensity_(intensity), period_(period) {}

  // Records a restart at `now`; false when that would be one too many.
  bool allow(Instant now) {
    expire(now);
    if (times_.size() >= intensity_) return false;
    times_.push_back(now);
    return true;
  }
  // How many restarts lie in the window.
  [[nodiscard]] std::uint32_t used(Instant now) const {
    const auto first = std::ranges::partition_point(times_, [&](Instant at) { return now - at > period_; });
    return static_cast<std::uint32_t>(times_.end() - first);
  }
  // As of the last allow().
  [[nodiscard]] std::uint32_t last_used() const { return static_cast<std::uint32_t>(times_.size()); }
  [[nodiscard]] std::uint32_t intensity() const { return intensity_; }
  [[nodiscard]] Duration period() const { return period_; }
  // The restarts so far stay counted, under the new limits.
  void change(std::uint32_t intensity, Duration period) {
    intensity_ = intensity;
    period_ = period;
  }
  void clear() { times_.clear(); }
  void release_memory() { times_.shrink_to_fit(); }

 private:
  void expire(Instant now) {
    while (!times_.empty() && now - times_.front() > period_) times_.pop_front();
  }

  std::uint32_t intensity_;
  Duration period_;
  std::deque<Instant> times_;
};

}  // namespace skein::inline v0
