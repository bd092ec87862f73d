// The run queue of one worker: new processes newest first, woken ones oldest first, under one spin lock.
//
// The owner and thieves call it from any thread, except put_only, which is the owner's. A process woken while
// nothing else waits (a message and its answer going to and fro) takes a place of its own, without the lock; it was
// there first, so it also runs first. `size` may be read without the lock.
//
// Kept processes take turns with the woken ones, but are not for thieves until they have waited for k_kept_ns: a sink
// and those who flood it with small messages are slower on two cores than on one. Of several sinks a thief may have one
// at once; those who flood it follow.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "skein/runtime/futex.hpp"
#include "skein/runtime/slot.hpp"

namespace skein::inline v0::detail {

class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) pause_briefly();
    }
  }
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// A double-ended queue in a ring that grows.
template <class T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::uint32_t size() const { return end_ - begin_; }
  // The n-th from the front.
  [[nodiscard]] T& operator[](std::uint32_t n) { return ring_[(begin_ + n) & mask()]; }
  void push_back(T value) {
    if (size() == ring_.size()) grow();
    ring_[end_++ & mask()] = value;
  }
  T pop_front() { return ring_[begin_++ & mask()]; }
  T pop_back() { return ring_[--end_ & mask()]; }

 private:
  [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(ring_.size()) - 1; }
  void grow() {
    std::vector<T> larger(ring_.empty() ? 64 : ring_.size() * 2);
    const std::uint32_t count = size();
    for (std::uint32_t i = 0; i < count; ++i) larger[i] = ring_[(begin_ + i) & mask()];
    ring_ = std::move(larger);
    begin_ = 0;
    end_ = count;
  }

  std::vector<T> ring_;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
};

class RunQueue {
 public:
  static constexpr std::int64_t k_kept_ns = 200'000;

  // Each returns how many wait afterwards.
  std::uint32_t push_new(Slot* slot) {
    lock_.lock();
    newborn_.push_back(slot);
    return publish_and_unlock();
  }
  std::uint32_t push_woken(Slot* slot) {
    lock_.lock();
    woken_.push_back(slot);
    return publish_and_unlock();
  }

  // `now` is the steady clock's, as in has_for_thieves, and in steal if some are kept. A sink is one that is flooded,
  // the others flood it.
  void push_kept(Slot* slot, bool is_sink, std::int64_t now) {
    lock_.lock();
    kept_.push_back({slot, now, is_sink});
    publish_and_unlock();
  }

  // For a woken one if nothing else waits; else false, and it is to be pushed.
  [[nodiscard]] bool put_only(Slot* slot) {
    if (size_.load(std::memory_order_relaxed) != 0 || only_.load(std::memory_order_relaxed) != nullptr) return false;
    only_.store(slot, std::memory_order_release);
    return true;
  }

  // The owner's choice of what runs next, or nullptr.
  Slot* pop() {
    if (Slot* only = take_only(); only != nullptr) return only;
    if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
    lock_.lock();
    Slot* slot = nullptr;
    ++pops_;
    if ((!woken_.empty() || !kept_.empty()) && (newborn_.empty() || pops_ % 3 == 0)) {
      kept_turn_ = !kept_.empty() && (woken_.empty() || !kept_turn_);
      slot = kept_turn_ ? kept_.pop_front().slot : woken_.pop_front();
    } else if (!newborn_.empty()) {
      slot = pops_ % 64 == 0 ? newborn_.pop_front() : newborn_.pop_back();
    }
    publish_and_unlock();
    return slot;
  }

  // Takes one to run, and up to half of the rest into `into`. Of new processes the oldest, which have most ahead of
  // them. Of those that are kept, one that may go. Nothing if fewer than `at_least` wait.
  Slot* steal(std::uint32_t at_least, RunQueue& into, std::int64_t now) {
    if (size() < at_least) return nullptr;
    if (!lock_.try_lock()) return nullptr;
    const std::uint32_t waiting = woken_.size() + newborn_.size();
    const std::uint32_t enough = at_least > kept_.size() ? at_least - kept_.size() : 0;
    if (waiting == 0 || (at_least > 1 && waiting + (only_.load(std::memory_order_relaxed) != nullptr) < enough)) {
      Slot* kept = waiting == 0 ? take_kept(now) : nullptr;
      publish_and_unlock();
      return kept != nullptr || at_least > 1 ? kept : take_only();
    }
    Slot* first = nullptr;
    std::vector<Slot*> more;
    if (!newborn_.empty()) {
      first = newborn_.pop_front();
    } else {
      const std::uint32_t half = std::min((woken_.size() + 1) / 2, k_steal_most);
      first = woken_.pop_front();
      for (std::uint32_t i = 1; i < half; ++i) more.push_back(woken_.pop_front());
    }
    publish_and_unlock();
    for (Slot* slot : more) into.push_woken(slot);
    return first;
  }

  [[nodiscard]] std::uint32_t size() const {
    return size_.load(std::memory_order_relaxed) + (only_.load(std::memory_order_relaxed) != nullptr ? 1 : 0);
  }
  // More than one waits, and another worker would find something here.
  [[nodiscard]] bool has_for_thieves(std::int64_t now) {
    if (size() <= 1) return false;
    if (size_.load(std::memory_order_relaxed) != kept_size_.load(std::memory_order_relaxed)) return true;
    lock_.lock();
    const bool has = may_take_kept(now);
    lock_.unlock();
    return has;
  }

 private:
  static constexpr std::uint32_t k_steal_most = 256;
  static constexpr std::uint32_t k_sinks_sought = 64;  // so many of the kept are looked at

  struct Kept {
    Slot* slot = nullptr;
    std::int64_t since = 0;
    bool is_sink = false;
  };

  Slot* take_only() {
    if (only_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return only_.exchange(nullptr, std::memory_order_acquire);
  }
  std::uint32_t publish_and_unlock() {
    const std::uint32_t waiting = woken_.size() + newborn_.size() + kept_.size();
    size_.store(waiting, std::memory_order_relaxed);
    kept_size_.store(kept_.size(), std::memory_order_relaxed);
    lock_.unlock();
    return waiting;
  }
  // The second sink from the front; kept_.size(): there are no two.
  [[nodiscard]] std::uint32_t second_sink() {
    const std::uint32_t end = std::min(kept_.size(), k_sinks_sought);
    std::uint32_t seen = 0;
    for (std::uint32_t i = 0; i < end; ++i) {
      if (kept_[i].is_sink && ++seen == 2) return i;
    }
    return kept_.size();
  }
  [[nodiscard]] bool may_take_kept(std::int64_t now) {
    return !kept_.empty() && (now - kept_[0].since > k_kept_ns || second_sink() != kept_.size());
  }
  Slot* take_kept(std::int64_t now) {
    if (kept_.empty()) return nullptr;
    if (now - kept_[0].since > k_kept_ns) return kept_.pop_front().slot;
    const std::uint32_t found = second_sink();
    if (found == kept_.size()) return nullptr;
    Slot* slot = kept_[found].slot;
    for (std::uint32_t i = found; i > 0; --i) kept_[i] = kept_[i - 1];
    kept_.pop_front();
    return slot;
  }

  std::atomic<Slot*> only_{nullptr};
  SpinLock lock_;
  std::atomic<std::uint32_t> size_{0};
  std::atomic<std::uint32_t> kept_size_{0};
  std::uint32_t pops_ = 0;
  bool kept_turn_ = false;  // the last of the two was a kept one
  Ring<Slot*> newborn_;
  Ring<Slot*> woken_;
  Ring<Kept> kept_;
};

}  // namespace skein::inline v0::detail
