// The run queue of one worker: new processes newest first, woken ones oldest first, under one spin lock.
//
// The owner and thieves call it from any thread, except push_woken_here, which is the owner's. A process woken while
// nothing else waits (a message and its answer going to and fro) takes a place of its own, without the lock; it was
// there first, so it also runs first. `size` may be read without the lock.
#pragma once

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

// A double-ended queue of slots in a ring that grows.
class SlotRing {
 public:
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::uint32_t size() const { return end_ - begin_; }
  void push_back(Slot* slot) {
    if (size() == ring_.size()) grow();
    ring_[end_++ & mask()] = slot;
  }
  Slot* pop_front() { return ring_[begin_++ & mask()]; }
  Slot* pop_back() { return ring_[--end_ & mask()]; }

 private:
  [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(ring_.size()) - 1; }
  void grow() {
    std::vector<Slot*> larger(ring_.empty() ? 64 : ring_.size() * 2);
    const std::uint32_t count = size();
    for (std::uint32_t i = 0; i < count; ++i) larger[i] = ring_[(begin_ + i) & mask()];
    ring_ = std::move(larger);
    begin_ = 0;
    end_ = count;
  }

  std::vector<Slot*> ring_;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
};

class RunQueue {
 public:
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

  std::uint32_t push_woken_here(Slot* slot) {
    if (size_.load(std::memory_order_relaxed) == 0 && only_.load(std::memory_order_relaxed) == nullptr) {
      only_.store(slot, std::memory_order_release);
      return 1;
    }
    return push_woken(slot);
  }

  // The owner's choice of what runs next, or nullptr.
  Slot* pop() {
    if (Slot* only = take_only(); only != nullptr) return only;
    if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
    lock_.lock();
    Slot* slot = nullptr;
    ++pops_;
    if (!woken_.empty() && (newborn_.empty() || pops_ % 3 == 0)) {
      slot = woken_.pop_front();
    } else if (!newborn_.empty()) {
      slot = pops_ % 64 == 0 ? newborn_.pop_front() : newborn_.pop_back();
    }
    publish_and_unlock();
    return slot;
  }

  // Takes one to run, and up to half of the rest into `into`. Of new processes the oldest, which have most ahead of
  // them. Nothing if fewer than `at_least` wait.
  Slot* steal(std::uint32_t at_least, RunQueue& into) {
    if (size() < at_least) return nullptr;
    if (!lock_.try_lock()) return nullptr;
    const std::uint32_t waiting = woken_.size() + newborn_.size();
    if (waiting == 0 || (at_least > 1 && waiting + (only_.load(std::memory_order_relaxed) != nullptr) < at_least)) {
      lock_.unlock();
      return at_least > 1 ? nullptr : take_only();
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

 private:
  static constexpr std::uint32_t k_steal_most = 256;

  Slot* take_only() {
    if (only_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return only_.exchange(nullptr, std::memory_order_acquire);
  }
  std::uint32_t publish_and_unlock() {
    const std::uint32_t waiting = woken_.size() + newborn_.size();
    size_.store(waiting, std::memory_order_relaxed);
    lock_.unlock();
    return waiting;
  }

  std::atomic<Slot*> only_{nullptr};
  SpinLock lock_;
  std::atomic<std::uint32_t> size_{0};
  std::uint32_t pops_ = 0;
  SlotRing newborn_;
  SlotRing woken_;
};

}  // namespace skein::inline v0::detail
