// How long the wall clock has gone as fast as the steady clock. Code that forgets by age asks here, so that a wall
// clock that jumps, or is wrong for a while, makes nothing old.
//
// Every jump restarts the time, and so does a start: a clock that was wrong at the start is trusted only after it
// has not jumped for the whole time. Between looks the clocks may come apart by k_tolerance and a thousandth of
// the time since they were first compared.
//
// A plain value: no clock is read here.
#pragma once

#include <chrono>
#include <optional>

#include "skein/base/time.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

class WallAgreement {
 public:
  static constexpr Duration k_tolerance = std::chrono::minutes(1);

  // Compares both clocks. Answers how long they have agreed.
  Duration look(Instant now, ledger::WallMs wall) {
    if (!since_) return begin(now, wall);
    const Duration steady = now - *since_;
    const Duration walled =
        std::chrono::milliseconds(static_cast<std::int64_t>(wall) - static_cast<std::int64_t>(wall_then_));
    const Duration apart = walled > steady ? walled - steady : steady - walled;
    return apart > k_tolerance + steady / 1000 ? begin(now, wall) : steady;
  }

 private:
  Duration begin(Instant now, ledger::WallMs wall) {
    since_ = now;
    wall_then_ = wall;
    return Duration::zero();
  }

  std::optional<Instant> since_;
  ledger::WallMs wall_then_ = 0;
};

}  // namespace skein::inline v0::dispatch
