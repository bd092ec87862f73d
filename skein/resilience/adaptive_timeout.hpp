// A timeout that follows what it watches: twice the 95th percentile of recent latencies, within bounds.
//
// A value. Latencies that are negative are taken as zero. Until enough are known the longest bound holds. One thread at
// a time. The percentile is exact over the window; it is found when asked for, at most once per latency told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

struct AdaptiveTimeoutOptions {
  Duration shortest = std::chrono::seconds(1);
  Duration longest = std::chrono::seconds(30);
  double factor = 2.0;
  std::size_t window = 256;
  std::size_t minimum = 16;
};

class AdaptiveTimeout {
 public:
  explicit AdaptiveTimeout(AdaptiveTimeoutOptions options = {}) : options_(options) {}

  void observe(Duration latency) {
    const Duration seen = std::max(latency, Duration::zero());
    if (ring_.size() < options_.window) {
      ring_.push_back(seen);
    } else if (!ring_.empty()) {
      ring_[next_] = seen;
      next_ = (next_ + 1) % ring_.size();
    }
    stale_ = true;
  }

  [[nodiscard]] Duration p95() {
    if (stale_ && !ring_.empty()) {
      sorted_ = ring_;
      const std::size_t at = (sorted_.size() * 95 + 99) / 100 - 1;
      std::nth_element(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(at), sorted_.end());
      p95_ = sorted_[at];
      stale_ = false;
    }
    return p95_;
  }

  [[nodiscard]] Duration timeout() {
    if (ring_.size() < options_.minimum) return options_.longest;
    const double wanted = static_cast<double>(p95().count()) * options_.factor;
    if (!(wanted < static_cast<double>(options_.longest.count()))) return options_.longest;
    return std::max(options_.shortest, Duration(static_cast<std::int64_t>(wanted)));
  }

 private:
  AdaptiveTimeoutOptions options_;
  std::vector<Duration> ring_;
  std::vector<Duration> sorted_;
  std::size_t next_ = 0;
  Duration p95_{};
  bool stale_ = false;
};

}  // namespace skein::inline v0
