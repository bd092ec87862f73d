#include "skein/runtime/outside.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "skein/runtime/core.hpp"
#include "skein/runtime/futex.hpp"

namespace skein::inline v0 {

std::string CallError::text() const {
  switch (failure) {
    case CallFailure::noproc:
      return "noproc: nobody is there";
    case CallFailure::timeout:
      return "timeout: no answer in time (it may still be carried out)";
    case CallFailure::server_died:
      return "the server died: " + reason.text();
    case CallFailure::self_call:
      return "a process can't call itself";
    case CallFailure::mailbox_full:
      return "the server's mailbox is full";
    case CallFailure::wrong_server:
      return "the process there is of another type";
    case CallFailure::no_answer:
      return "the server dropped the request without an answer";
    case CallFailure::runtime_down:
      return "the runtime was shut down";
  }
  return "unknown failure";
}

namespace detail {
namespace {

constexpr Duration k_spin = std::chrono::microseconds(50);
constexpr Duration k_look_around = std::chrono::milliseconds(100);  // how often a sleeper sees whether all is over

}  // namespace

void OutsideCall::complete(MessageNode* node) {
  answer_ = node;
  const std::uint32_t before = state_.exchange(k_answered, std::memory_order_acq_rel);
  if (before == k_asleep) futex_wake(state_);
  if (before == k_abandoned) {
    free_node(node);
    answer_ = nullptr;
  }
  release();
}

MessageNode* OutsideCall::take_or_abandon() {
  std::uint32_t seen = state_.load(std::memory_order_acquire);
  while (seen != k_answered) {
    if (state_.compare_exchange_weak(seen, k_abandoned, std::memory_order_acq_rel)) return nullptr;
  }
  return answer_;
}

MessageNode* OutsideCall::wait(Duration timeout, const std::atomic<bool>& down) {
  const auto raw = [] { return Instant(Duration(std::chrono::steady_clock::now().time_since_epoch())); };
  const Instant begin = raw();
  PauseClock clock;  // its own: it must also end when the runtime's clock thread no longer looks
  const auto spent = [&] { return clock.now(raw) - begin; };
  for (unsigned round = 1; state_.load(std::memory_order_acquire) != k_answered; ++round) {
    pause_briefly();
    if (round % 64 == 0 && spent() > std::min(k_spin, timeout)) break;
  }
  std::uint32_t expected = k_waiting;
  if (state_.compare_exchange_strong(expected, k_asleep, std::memory_order_acq_rel)) {
    while (state_.load(std::memory_order_acquire) == k_asleep) {
      const Duration left = timeout == k_forever ? k_forever : timeout - spent();
      if (left <= Duration::zero() || down.load(std::memory_order_relaxed)) break;
      const Duration wait = std::min(left, k_look_around);
      clock.look(raw(), later(raw(), wait));
      futex_wait(state_, k_asleep, wait);
    }
  }
  return take_or_abandon();
}

void send_answer(Core& core, MessageNode* node) noexcept {
  Slot* by = t_turn.running;
  // The answer of a process that is about to end is sent after its death, so that the caller then finds its name free.
  if (by != nullptr && t_turn.core == &core &&
      (by->stop_requested || by->phase.load(std::memory_order_relaxed) >= ProcessPhase::terminating)) {
    Extension& extension = extend(*by);
    node->next = nullptr;
    (extension.deferred_tail == nullptr ? extension.deferred_head : extension.deferred_tail->next) = node;
    extension.deferred_tail = node;
    return;
  }
  node->kind = MessageKind::reply;
  node->entry = nullptr;
  if (OutsideCall* outside = std::exchange(node->outside, nullptr); outside != nullptr) {
    outside->complete(node);
    return;
  }
  deliver(core, std::exchange(node->from, Pid{}), node);
}

void send_failure(Core& core, MessageNode* node, CallFailure failure, ExitReason reason) noexcept {
  clear_payload(node);
  set_payload<CallError>(node, CallError{failure, std::move(reason)});
  node->flag = true;
  send_answer(core, node);
}

MessageNode* take_current(Slot& slot) { return std::exchange(slot.current, nullptr); }

void abandon(Core& core, MessageNode* node) noexcept {
  Slot* by = t_turn.running;
  const bool ends = by != nullptr && t_turn.core == &core &&
                    (by->stop_requested || by->phase.load(std::memory_order_relaxed) >= ProcessPhase::terminating);
  // An exception is on its way out, perhaps of the handler: whether the process ends is known when it arrived there.
  if (by != nullptr && t_turn.core == &core && std::uncaught_exceptions() > 0 && by->current == nullptr) {
    by->current = node;
    return;
  }
  if (ends) {
    send_failure(core, node, CallFailure::server_died, exit_reason(*by));
  } else {
    send_failure(core, node, CallFailure::no_answer);
  }
}

}  // namespace detail
}  // namespace skein::inline v0
