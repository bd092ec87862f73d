// A timeout that follows what it watches: twice the 95th percentile of recent latencies, within bounds.
//
// A value. Latencies that are negative are taken as zero. Until enough are known the longest bound holds. One thread at
// a time. The percentile is exact over the window; it is found when asked for, at most once per latency told.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

struct AdaptiveTimeoutOptions {
  Duration shortest = std::chrono::seconds(1);
  Duration longest = std::chrono::seconds(30);
  double factor = 2.0;
  std::size_t window = 256;
  std::size_t minimum = 16;

  // What is wrong with these options, or nothing.
  [[nodiscard]] std::optional<std::string> problem() const {
    if (shortest <= Duration::zero()) return "shortest must be above 0";
    if (longest < shortest) return "longest must not be below shortest";
    if (!std::isfinite(factor) || factor < 1.0) return "factor must be a number of at least 1";
    if (window == 0 || window > 1'000'000) return "window must be from 1 to 1000000";
    if (minimum == 0 || minimum > window) return "minimum must be from 1 to window";
    return std::nullopt;
  }

  friend bool operator==(const AdaptiveTimeoutOptions&, const AdaptiveTimeoutOptions&) = default;
};

class AdaptiveTimeout {
 public:
  // Throws std::invalid_argument with what problem() says.
  explicit AdaptiveTimeout(AdaptiveTimeoutOptions options = {}) : options_(options) {
    if (const auto problem = options_.problem()) throw std::invalid_argument("adaptive timeout: " + *problem);
  }

  void observe(Duration latency) {
    const Duration seen = std::max(latency, Duration::zero());
    if (ring_.size() < options_.window) {
      ring_.push_back(seen);
    } else {
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
