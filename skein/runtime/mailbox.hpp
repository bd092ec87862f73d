// A mailbox: one atomic word that is also the process's place in the scheduler.
//
// The word says: dead (nobody is there), idle (nobody runs it, nothing is queued), empty (it runs or waits to run,
// nothing new), or points to the newest of a stack of messages. Senders push with one compare-and-swap; the owner
// takes the whole stack with one exchange and reverses it. So:
// 1. The sender whose push turns idle into a message must schedule the process, and nobody else may.
// 2. Once the word says dead every later push fails: no message slips in unseen behind a death.
// 3. Messages of one sender keep their order.
// Any thread may push; take, rest and close are for the owner (the thread that runs the process).
#pragma once

#include <atomic>
#include <cstdint>

#include "skein/runtime/message.hpp"

namespace skein::inline v0::detail {

enum class PushResult : std::uint8_t { queued, wake, dead, full };

class Mailbox {
 public:
  // Of a slot that never held a process.
  Mailbox() : word_(k_dead) {}

  // Opens the mailbox of a new process that is about to be scheduled.
  void open() { word_.store(k_empty, std::memory_order_release); }

  // `limit` bounds what is queued, `taken` says how much the owner holds already; 0 means no bound.
  // The caller keeps the node when the answer is dead or full. `backlog` becomes what was queued before.
  PushResult push(MessageNode* node, std::uint32_t taken, std::uint32_t limit, std::uint32_t& backlog) {
    std::uintptr_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if (seen == k_dead) return PushResult::dead;
      MessageNode* below = seen <= k_idle ? nullptr : reinterpret_cast<MessageNode*>(seen);
      const std::uint32_t stacked = below == nullptr ? 0 : depth_of(below).load(std::memory_order_acquire);
      backlog = stacked + taken;
      if (limit != 0 && backlog >= limit) {
        // The depth may be that of another mailbox's message by now; it is ours if the word still says so.
        const std::uintptr_t again = word_.load(std::memory_order_acquire);
        if (again == seen) return PushResult::full;
        seen = again;
        continue;
      }
      node->next = below;
      depth_of(node).store(stacked + 1, std::memory_order_relaxed);
      if (word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(node), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return seen == k_idle ? PushResult::wake : PushResult::queued;
      }
    }
  }

  // All new messages as they are stacked: a pointer to the newest, whose `next` came before it; or nullptr.
  MessageNode* take_stack() {
    if (word_.load(std::memory_order_relaxed) == k_empty) return nullptr;
    const std::uintptr_t word = word_.exchange(k_empty, std::memory_order_acquire);
    return word <= k_idle ? nullptr : reinterpret_cast<MessageNode*>(word);
  }
  // How many are in a stack that was taken, about.
  [[nodiscard]] static std::uint32_t depth(MessageNode* newest) {
    return depth_of(newest).load(std::memory_order_relaxed);
  }
  // Turns a stack around and returns the oldest. `see` is shown each on the way, newest first.
  template <class See>
  static MessageNode* reversed(MessageNode* newest, See see) {
    MessageNode* oldest = nullptr;
    while (newest != nullptr) {
      MessageNode* next = newest->next;
      see(newest);
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    return oldest;
  }
  // Everything new, oldest first.
  MessageNode* take() {
    return reversed(take_stack(), [](const MessageNode*) {});
  }

  // Goes idle unless something new has come. After true the process may run elsewhere at once: touch it no more.
  [[nodiscard]] bool rest() {
    std::uintptr_t expected = k_empty;
    return word_.compare_exchange_strong(expected, k_idle, std::memory_order_release, std::memory_order_relaxed);
  }

  // Closes it for good and returns what was left, oldest first.
  MessageNode* close() {
    const std::uintptr_t word = word_.exchange(k_dead, std::memory_order_acq_rel);
    return reversed(word <= k_idle ? nullptr : reinterpret_cast<MessageNode*>(word), [](const MessageNode*) {});
  }

  // A moment's view, for introspection.
  [[nodiscard]] std::uint32_t stacked() const {
    const std::uintptr_t seen = word_.load(std::memory_order_acquire);
    return seen <= k_idle ? 0 : depth_of(reinterpret_cast<MessageNode*>(seen)).load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_dead() const { return word_.load(std::memory_order_acquire) == k_dead; }
  [[nodiscard]] bool is_idle() const { return word_.load(std::memory_order_relaxed) == k_idle; }
  [[nodiscard]] bool has_new() const { return word_.load(std::memory_order_relaxed) > k_idle; }

 private:
  static constexpr std::uintptr_t k_dead = 0;  // as fresh memory is
  static constexpr std::uintptr_t k_empty = 1;
  static constexpr std::uintptr_t k_idle = 2;

  static std::atomic_ref<std::uint32_t> depth_of(MessageNode* node) {
    return std::atomic_ref<std::uint32_t>(node->depth);
  }

  std::atomic<std::uintptr_t> word_;
};

}  // namespace skein::inline v0::detail
