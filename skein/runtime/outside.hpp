// A call made by an ordinary thread: where its answer arrives and how the thread waits for it.
//
// The caller and the request share it. The answering thread hands over the node and wakes the caller; a caller that
// gave up first leaves a mark, and the answer is dropped.
#pragma once

#include <atomic>
#include <cstdint>

#include "skein/base/time.hpp"
#include "skein/runtime/message.hpp"

namespace skein::inline v0::detail {

class OutsideCall {
 public:
  // Takes the node. Called once, by the thread that answers.
  void complete(MessageNode* node);
  [[nodiscard]] bool is_complete() const { return state_.load(std::memory_order_acquire) == k_answered; }
  // Waits for the answer: spins for a moment, then sleeps. nullptr when the time was up, or soon after `down` is set:
  // then nobody is left to answer.
  MessageNode* wait(Duration timeout, const std::atomic<bool>& down);
  // The answer if it is there; marks the call as given up otherwise.
  MessageNode* take_or_abandon();
  void release() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  static constexpr std::uint32_t k_waiting = 0;
  static constexpr std::uint32_t k_asleep = 1;
  static constexpr std::uint32_t k_answered = 2;
  static constexpr std::uint32_t k_abandoned = 3;

  std::atomic<std::uint32_t> state_{k_waiting};
  std::atomic<std::uint32_t> holders_{2};
  MessageNode* answer_ = nullptr;
};

}  // namespace skein::inline v0::detail
