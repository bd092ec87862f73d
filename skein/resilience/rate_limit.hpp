// A rate limit: a bucket that fills at a steady rate up to a burst, and a call takes from it.
//
// A value, told of the time; a clock that stands still or goes back adds nothing and takes nothing. Exact: it counts in
// the time that tokens are worth, in integers, so no rounding adds up. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

class RateLimit {
 public:
  // `rate` calls in each `period`, of which up to `burst` at once. Throws std::invalid_argument for zeroes.
  RateLimit(std::uint32_t rate, Duration period, std::uint32_t burst)
      : cost_(rate == 0 ? Duration::zero() : period / rate), room_(cost_ * burst), full_at_(Instant::min()) {
    if (rate == 0 || burst == 0 || cost_ <= Duration::zero()) {
      throw std::invalid_argument("rate limit: rate, period and burst must be above 0, and a call worth at least 1 ns");
    }
  }

  // Takes one; zero, or how long to wait before trying again (then nothing was taken).
  [[nodiscard]] Duration take(Instant now) {
    latest_ = std::max(latest_, now);
    // The bucket is full at full_at_; each call moves that by what it costs, and `room_` ahead is empty.
    const Instant begin = std::max(full_at_, latest_);
    const Duration used = begin - latest_;
    if (used + cost_ > room_) return used + cost_ - room_;
    full_at_ = begin + cost_;
    return Duration::zero();
  }

 private:
  Duration cost_;
  Duration room_;
  Instant full_at_;
  Instant latest_ = Instant::min();
};

}  // namespace skein::inline v0
