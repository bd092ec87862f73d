// Whether tasks of one type are given out in one swarm: crashes of the agents that ran them stop it for a while. A
// value, told of the time; the dispatcher keeps one per (swarm, type) that has seen a crash. One thread at a time.
//
// closed: tasks are given out. open: none is, for `open`. half open: they are tried out.
//
// 1. Only crashes over distinct tasks count, only those of the last `window`, and only until a task of the type
//    completes. So many of them (`crashes`) open it, unless as many runs of the type outlive them: are at work for
//    longer than the slowest of those crashes took. Where tasks take an hour, no completion in between means nothing;
//    a run that has lived through the moment at which the others fell does.
// 2. Half open, `half_open_tasks` may be at work at once, and one more per `half_open_interval`, whether the ones
//    before have ended or not: a type whose tasks take an hour is not tried one by one for hours.
// 3. It closes with the first completion, or when a run that was given out half open has outlived twice the slowest
//    crash that was counted, and half_open_interval.
// 4. A crash while it is half open opens it again.
// 5. Crashes of one type do not stop another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

struct CrashBreakerOptions {
  std::uint32_t crashes = 5;  // of agents, over distinct tasks
  std::uint32_t warning = 3;
  Duration window = std::chrono::minutes(10);
  Duration open = std::chrono::seconds(60);
  std::uint32_t half_open_tasks = 1;
  Duration half_open_interval = std::chrono::seconds(5);
};

class CrashBreaker {
 public:
  static constexpr std::size_t k_crashes_kept = 256;  // or `crashes`, if that is more

  enum class State : std::uint8_t { closed, open, half_open };
  enum class Change : std::uint8_t { none, warned, opened, half_opened, closed };

  // An agent fell over the task, at work on it for `ran`. `outliving(time)` counts the runs of this type that are at
  // work for longer than that.
  template <class Outliving>
  Change crashed(const CrashBreakerOptions& options, ledger::TaskNumber task, Duration ran, Instant now,
                 Outliving&& outliving) {
    std::erase_if(crashed_, [&](const Crash& each) { return between(each.at, now) > options.window; });
    const bool is_distinct = std::ranges::none_of(crashed_, [&](const Crash& each) { return each.task == task; });
    const std::size_t most = std::max<std::size_t>(options.crashes, k_crashes_kept);
    if (is_distinct && crashed_.size() < most) crashed_.push_back({task, ran, now});
    if (state_ == State::open) return Change::none;
    if (state_ == State::half_open) {
      slowest_ = std::max(slowest_, ran);
      return enter(State::open, now, options);
    }
    if (crashed_.size() >= options.crashes) {
      slowest_ = std::ranges::max_element(crashed_, {}, &Crash::ran)->ran;
      if (outliving(slowest_) < crashed_.size()) return enter(State::open, now, options);
    }
    if (crashed_.size() < options.warning || is_warned_) return Change::none;
    is_warned_ = true;
    return Change::warned;
  }
  Change completed(const CrashBreakerOptions& options, Instant now) {
    crashed_.clear();
    is_warned_ = false;
    return state_ == State::half_open ? enter(State::closed, now, options) : Change::none;
  }
  // `survived` is the longest time that a run given out half open is at work; zero when none is.
  Change passed(const CrashBreakerOptions& options, Duration survived, Instant now);

  // Whether a task may be given out now; then say given_out().
  [[nodiscard]] bool admits(const CrashBreakerOptions& options, Instant now) const;
  void given_out(const CrashBreakerOptions& options, Instant now) {
    if (state_ != State::half_open) return;
    ++probes_;
    next_probe_ = later(now, options.half_open_interval);
  }
  // One of those given out half open has ended.
  void probe_ended() { probes_ -= probes_ > 0 ? 1 : 0; }
  void forget_probes() { probes_ = 0; }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::size_t crashes() const { return crashed_.size(); }
  [[nodiscard]] Instant until() const { return until_; }            // open: when it is half open
  [[nodiscard]] Instant next_probe() const { return next_probe_; }  // half open: when the next task may be given out
  // Nothing is known that a new one would not say.
  [[nodiscard]] bool is_new() const { return state_ == State::closed && crashed_.empty(); }

 private:
  struct Crash {
    ledger::TaskNumber task = 0;
    Duration ran{};
    Instant at;
  };

  Change enter(State state, Instant now, const CrashBreakerOptions& options);

  std::vector<Crash> crashed_;
  Duration slowest_{};
  Instant until_ = Instant::min();
  Instant next_probe_ = Instant::min();
  std::uint32_t probes_ = 0;
  State state_ = State::closed;
  bool is_warned_ = false;
};

}  // namespace skein::inline v0::dispatch
