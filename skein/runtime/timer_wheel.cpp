#include "skein/runtime/timer_wheel.hpp"

#include <algorithm>
#include <bit>

namespace skein::inline v0::detail {

// Level L holds what is due within 64^(L+1) ticks of now, in the bucket named by bits 6L..6L+5 of its tick.
void TimerWheel::place(std::uint32_t index) {
  Entry& entry = entries_[index];
  // A timer beyond the wheel waits in its last bucket and is placed again when that bucket comes round.
  // That bucket is the one before the present one, not the present one: else it would be looked at for ever.
  constexpr std::int64_t horizon = std::int64_t{k_slots - 1} << (k_bits * (k_levels - 1));
  const std::int64_t tick = std::clamp(entry.tick, now_tick_, now_tick_ + horizon);
  const auto differing = static_cast<std::uint64_t>(tick ^ now_tick_);
  unsigned level = differing == 0 ? 0 : (static_cast<unsigned>(std::bit_width(differing)) - 1) / k_bits;
  level = std::min(level, k_levels - 1);
  const auto slot = static_cast<unsigned>((tick >> (level * k_bits)) & (k_slots - 1));
  const unsigned bucket = level * k_slots + slot;
  entry.bucket = static_cast<std::uint16_t>(bucket);
  entry.previous = k_none;
  entry.next = heads_[bucket];
  if (entry.next != k_none) entries_[entry.next].previous = index;
  heads_[bucket] = index;
  occupied_[level] |= std::uint64_t{1} << slot;
}

void TimerWheel::unlink(std::uint32_t index) {
  Entry& entry = entries_[index];
  if (entry.previous != k_none) {
    entries_[entry.previous].next = entry.next;
  } else {
    heads_[entry.bucket] = entry.next;
    if (entry.next == k_none) {
      occupied_[entry.bucket / k_slots] &= ~(std::uint64_t{1} << (entry.bucket % k_slots));
    }
  }
  if (entry.next != k_none) entries_[entry.next].previous = entry.previous;
}

void TimerWheel::release(std::uint32_t index) {
  Entry& entry = entries_[index];
  entry.timer = Timer{};
  entry.pending = false;
  ++entry.generation;
  --count_;
  free_.push_back(index);
}

std::optional<TimerRef> TimerWheel::add(Instant at, Timer timer) {
  if (count_ >= max_timers_) return std::nullopt;
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[index];
  entry.timer = std::move(timer);
  entry.at = at;
  entry.tick = std::max(tick_up(at), now_tick_);
  entry.sequence = ++sequence_;
  entry.pending = true;
  ++count_;
  place(index);
  return TimerRef{index, entry.generation};
}

std::optional<Timer> TimerWheel::cancel(TimerRef ref) {
  if (ref.index >= entries_.size()) return std::nullopt;
  Entry& entry = entries_[ref.index];
  if (!entry.pending || entry.generation != ref.generation) return std::nullopt;
  unlink(ref.index);
  std::optional<Timer> cancelled(std::move(entry.timer));
  release(ref.index);
  return cancelled;
}

// The earliest tick at which a bucket of any level must be looked at.
std::optional<std::int64_t> TimerWheel::next_tick() const {
  std::optional<std::int64_t> first;
  for (unsigned level = 0; level < k_levels; ++level) {
    if (occupied_[level] == 0) continue;
    const unsigned shift = level * k_bits;
    const auto here = static_cast<unsigned>((now_tick_ >> shift) & (k_slots - 1));
    const std::uint64_t ahead = std::rotr(occupied_[level], static_cast<int>(here));
    const auto distance = static_cast<std::int64_t>(std::countr_zero(ahead));
    const std::int64_t begin = ((now_tick_ >> shift) + distance) << shift;
    const std::int64_t tick = std::max(begin, now_tick_);
    if (!first || tick < *first) first = tick;
  }
  return first;
}

Instant TimerWheel::next() const {
  const auto tick = next_tick();
  return tick ? Instant(Duration(*tick * k_tick_ns)) : Instant::max();
}

// Moves the current bucket of `level` down to the levels below.
void TimerWheel::cascade(unsigned level) {
  const auto slot = static_cast<unsigned>((now_tick_ >> (level * k_bits)) & (k_slots - 1));
  const unsigned bucket = level * k_slots + slot;
  std::uint32_t index = heads_[bucket];
  heads_[bucket] = k_none;
  occupied_[level] &= ~(std::uint64_t{1} << slot);
  while (index != k_none) {
    const std::uint32_t next = entries_[index].next;
    place(index);
    index = next;
  }
}

void TimerWheel::advance(Instant now, std::vector<Due>& due) {
  const std::int64_t target = now.time_since_epoch().count() / k_tick_ns;
  const std::size_t begin = due.size();
  std::vector<std::uint32_t> again;
  for (auto tick = next_tick(); tick && *tick <= target; tick = next_tick()) {
    now_tick_ = *tick;
    for (unsigned level = k_levels - 1; level > 0; --level) cascade(level);
    const auto slot = static_cast<unsigned>(now_tick_ & (k_slots - 1));
    std::uint32_t index = heads_[slot];
    heads_[slot] = k_none;
    occupied_[0] &= ~(std::uint64_t{1} << slot);
    while (index != k_none) {
      Entry& entry = entries_[index];
      const std::uint32_t next = entry.next;
      if (entry.tick > now_tick_) {
        again.push_back(index);
      } else if (entry.timer.every > Duration::zero()) {
        due.push_back({entry.at, entry.sequence, entry.timer, TimerRef{index, entry.generation}});
        // From when it was due, so that an interval does not drift; ticks missed meanwhile are left out.
        entry.at = std::max(entry.at + entry.timer.every, now);
        entry.tick = std::max(tick_up(entry.at), now_tick_ + 1);
        entry.sequence = ++sequence_;
        again.push_back(index);
      } else {
        due.push_back({entry.at, entry.sequence, std::move(entry.timer), TimerRef{index, entry.generation}});
        release(index);
      }
      index = next;
    }
    for (const std::uint32_t waiting : again) place(waiting);
    again.clear();
  }
  now_tick_ = std::max(now_tick_, target);
  std::sort(due.begin() + static_cast<std::ptrdiff_t>(begin), due.end(), [](const Due& left, const Due& right) {
    return left.at != right.at ? left.at < right.at : left.sequence < right.sequence;
  });
}

}  // namespace skein::inline v0::detail
