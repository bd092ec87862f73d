#include "skein/runtime/deterministic.hpp"

#include <algorithm>

#include "skein/runtime/core.hpp"

namespace skein::inline v0::detail {
namespace {

// Small turns interleave processes more finely than the threads ever do.
constexpr std::uint64_t k_largest_budget = 8;
constexpr double k_leaves_mail = 0.25;

// What a thread was doing is put back: a runtime may be driven from inside another one's process.
class TurnGuard {
 public:
  TurnGuard() : before_(t_turn) {}
  ~TurnGuard() { t_turn = before_; }
  TurnGuard(const TurnGuard&) = delete;
  TurnGuard& operator=(const TurnGuard&) = delete;

 private:
  Turn before_;
};

}  // namespace

Deterministic::Deterministic(Core& core, std::uint64_t seed) : core_(core), random_(seed), slots_(core.table) {}

void Deterministic::schedule(Slot& slot) { runnable_.push_back(&slot); }

bool Deterministic::step() {
  const std::size_t choices = runnable_.size() + jobs_.size();
  if (choices == 0) return false;
  ++steps_;
  const auto choice = static_cast<std::size_t>(random_.below(choices));
  if (choice >= runnable_.size()) {
    std::swap(jobs_[choice - runnable_.size()], jobs_.back());
    auto job = std::move(jobs_.back());
    jobs_.pop_back();
    job();
    return true;
  }
  Slot* slot = runnable_[choice];
  runnable_[choice] = runnable_.back();
  runnable_.pop_back();
  const TurnGuard guard;
  t_turn.core = &core_;
  t_turn.worker = nullptr;
  t_turn.timed_since = 0;
  t_turn.slots = &slots_;
  t_turn.running = slot;
  t_turn.budget = static_cast<std::int32_t>(1 + random_.below(k_largest_budget));
  // On threads two turns overlap, and signals of the two processes to one another cross; here that takes some help.
  t_turn.leaves_mail = random_.chance(k_leaves_mail);
  fingerprint_ = (fingerprint_ ^ pid_of(core_, *slot).bits()) * 0x9e3779b97f4a7c15ULL +
                 static_cast<std::uint64_t>(now_.time_since_epoch().count());
  run_turn(core_, *slot);
  return true;
}

void Deterministic::submit(std::move_only_function<void()> job) {
  const RuntimeOptions& options = core_.options;
  if (jobs_.size() >= options.blocking_queue + std::max(options.blocking_threads, 1U)) {
    throw BlockingQueueFull(options.blocking_queue);
  }
  jobs_.push_back(std::move(job));
}

bool Deterministic::pass_time(Instant until) {
  const Instant next = core_.wheel.next();
  if (next == Instant::max() || next > until) return false;
  if (next > now_) now_ = next;
  core_.fire_timers(now_);
  core_.watch_ending(now_);
  return true;
}

void Deterministic::pause(Duration time) {
  PauseClock& clock = core_.clock;
  const Instant raw = clock.raw_of(now_);
  const Instant next = std::min(later(now_, k_pause_look), std::max(core_.wheel.next(), now_));
  clock.look(raw, clock.raw_of(next));
  now_ = clock.now([&] { return later(raw, time); });
  clock.look(clock.raw_of(now_), Instant::max());
}

}  // namespace skein::inline v0::detail
