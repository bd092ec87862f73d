// The deterministic scheduler: the same processes on one thread, in an order a seed decides, on a virtual clock.
//
// Everything random comes from the seed, so a run repeats exactly. Time passes only when nothing can run: it jumps to
// the next timer. Blocking jobs run on the same thread, at a moment the seed picks. One thread uses it at a time.
#pragma once

#include <functional>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/base/time.hpp"
#include "skein/runtime/slot.hpp"
#include "skein/runtime/slot_table.hpp"

namespace skein::inline v0::detail {

class Core;

class Deterministic {
 public:
  Deterministic(Core& core, std::uint64_t seed);

  [[gnu::cold]] void schedule(Slot& slot);
  // Throws BlockingQueueFull when as many wait as the pool would run and queue.
  void submit(std::move_only_function<void()> job);

  // Runs one process or blocking job; false when there is none. Time stands still.
  bool step();
  // Lets time pass to the next timer if that is not after `until`, and fires it; false when there is none.
  bool pass_time(Instant until);
  void set_now(Instant now) { now_ = now; }
  // The real clock goes on by `time` and nothing runs, as in a program that is stopped.
  void pause(Duration time);

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  // Folds every choice made so far into one number: equal for equal runs.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  Core& core_;
  Random random_;
  std::vector<Slot*> runnable_;
  std::vector<std::move_only_function<void()>> jobs_;
  SlotTable::Cache slots_;
  Instant now_{};
  std::uint64_t steps_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace skein::inline v0::detail
