// A rate limit: a bucket that fills at a steady rate up to a burst, and a call takes from it.
//
// A value, told of the time; a clock that stands still or goes back adds nothing and takes nothing. Exact: it counts in
// parts of a nanosecond (one over the rate), in integers wide enough for any rate, period and burst, so no rounding
// adds up. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

class RateLimit {
 public:
  // `rate` calls in each `period`, of which up to `burst` at once. Throws std::invalid_argument for zeroes.
  RateLimit(std::uint32_t rate, Duration period, std::uint32_t burst)
      : rate_(rate), cost_(static_cast<Parts>(period.count())), room_(cost_ * burst) {
    if (rate == 0 || burst == 0 || period <= Duration::zero()) {
      throw std::invalid_argument("rate limit: rate, period and burst must be above 0");
    }
  }

  // Takes one; zero, or how long to wait before trying again (then nothing was taken).
  [[nodiscard]] Duration take(Instant now) {
    const Parts filled = static_cast<Parts>(between(latest_, now).count()) * rate_;
    used_ -= std::min(used_, filled);
    latest_ = std::max(latest_, now);
    if (used_ + cost_ <= room_) {
      used_ += cost_;
      return Duration::zero();
    }
    const Parts wait = (used_ + cost_ - room_ + rate_ - 1) / rate_;
    return Duration(static_cast<std::int64_t>(std::min<Parts>(wait, std::numeric_limits<std::int64_t>::max())));
  }

 private:
  __extension__ using Parts = unsigned __int128;
  Parts rate_;
  Parts cost_;      // of a call: what flows in meanwhile, a period's share, is rate_ parts in a nanosecond
  Parts room_;      // of the bucket
  Parts used_ = 0;  // of that
  Instant latest_ = Instant::min();
};

}  // namespace skein::inline v0
