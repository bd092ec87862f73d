// A hierarchical timing wheel: adding and cancelling cost the same however many timers there are.
//
// Pure: it is told the time and says what is due. Ticks are 1 ms; a timer is never early and at most a tick late.
// Timers that fall due together come out ordered by their time, then by when they were added. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/runtime/message.hpp"
#include "skein/runtime/self.hpp"

namespace skein::inline v0::detail {

struct Timer {
  Pid to;
  Duration every{};                    // zero: once
  std::function<MessageNode*()> make;  // empty: a tick for the process itself
};

class TimerWheel {
 public:
  explicit TimerWheel(Instant start, std::size_t max_timers) : now_tick_(tick_up(start)), max_timers_(max_timers) {}

  // Nothing when there are max_timers already.
  std::optional<TimerRef> add(Instant at, Timer timer);
  // The timer if it was pending, nothing otherwise. Its value is the user's: destroy it where no lock is held.
  std::optional<Timer> cancel(TimerRef ref);

  struct Due {
    Instant at;
    std::uint64_t sequence;
    Timer timer;
    TimerRef ref;
  };
  // Takes what is due at `now` out of the wheel (an interval goes back in), in order.
  void advance(Instant now, std::vector<Due>& due);

  // No timer is due before this; Instant::max() when there is none. It may be earlier than the first one.
  [[nodiscard]] Instant next() const;
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  static constexpr unsigned k_bits = 6;
  static constexpr unsigned k_slots = 1U << k_bits;
  static constexpr unsigned k_levels = 7;
  static constexpr std::size_t k_buckets = std::size_t{k_levels} * k_slots;
  static constexpr std::uint32_t k_none = UINT32_MAX;
  static constexpr std::int64_t k_tick_ns = 1'000'000;

  struct Entry {
    Timer timer;
    Instant at;
    std::uint64_t sequence = 0;
    std::int64_t tick = 0;
    std::uint32_t generation = 1;
    std::uint32_t next = k_none;
    std::uint32_t previous = k_none;
    std::uint16_t bucket = 0;
    bool pending = false;
  };

  // The first tick at or after `at`.
  static std::int64_t tick_up(Instant at) {
    const std::int64_t ns = at.time_since_epoch().count();
    return ns / k_tick_ns + (ns % k_tick_ns > 0 ? 1 : 0);
  }
  void place(std::uint32_t index);
  void unlink(std::uint32_t index);
  void release(std::uint32_t index);
  void cascade(unsigned level);
  [[nodiscard]] std::optional<std::int64_t> next_tick() const;

  std::array<std::uint32_t, k_buckets> heads_ = filled();
  std::array<std::uint64_t, k_levels> occupied_{};
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::int64_t now_tick_;
  std::uint64_t sequence_ = 0;
  std::size_t count_ = 0;
  std::size_t max_timers_;

  static constexpr std::array<std::uint32_t, k_buckets> filled() {
    std::array<std::uint32_t, k_buckets> heads{};
    heads.fill(k_none);
    return heads;
  }
};

}  // namespace skein::inline v0::detail
