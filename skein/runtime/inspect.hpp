// What other layers may see of a runtime's inside: supervision, the registry and the simulators. Programs use Self and
// Runtime instead.
//
// `detail::` belongs to the runtime: tests/tidy refuses it in other layers, and headers that declare nothing else.
// Whatever another layer needs of it is declared here, under a name that says what for.
//
// A function that takes a Self is for that process, inside its handlers; one that takes a Runtime is for any thread
// unless it says otherwise. Nothing here changes a process, and nothing waits.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "skein/runtime/call.hpp"
#include "skein/runtime/self.hpp"

namespace skein::inline v0::inspect {

// Whether a process is there at all: also while it ends, until nothing of it is left. Runtime::is_alive() says no
// earlier, before anybody is told of the death.
[[nodiscard]] bool is_present(Self self, Pid pid);
// Whether this process started that one, which is still present.
[[nodiscard]] bool is_started_by(Self self, Pid pid);

// Whom this process is linked to, its parent included.
[[nodiscard]] std::vector<Pid> links(Self self);
[[nodiscard]] bool has_link(Self self, Pid other);

// Which runtime, for those who keep something about each: a Runtime has no room for what the layers above keep.
class RuntimeRef {
 public:
  RuntimeRef(Self self) : core_(&self.core()) {}  // NOLINT: code that has a Self or a Runtime may have this
  RuntimeRef(const Runtime& runtime);             // NOLINT
  // Differs between all runtimes that exist at the same time; a later one may have the key of one that is gone.
  [[nodiscard]] const void* key() const { return core_; }
  // Expires with the runtime; key() of another runtime is never what it points to.
  [[nodiscard]] std::weak_ptr<const void> life() const;

 private:
  detail::Core* core_;
};

// Why processes ended whose Exit messages wait in this process's queue.
//
// Reads the queue without taking anything from it; looking for many costs as much as reading the queue once. Valid
// within one handler, while nobody takes messages: call begin() when a new one starts to ask. When Downs that the
// handler has awaited leave the queue, it is read again from the start.
class QueuedExits {
 public:
  void begin() {
    last_ = nullptr;
    reasons_.clear();
  }
  [[nodiscard]] std::optional<ExitReason> find(Self self, Pid pid) {
    const detail::Slot& slot = *self.slot();
    const std::uint32_t sweeps = slot.extension == nullptr ? 0 : slot.extension->sweeps;
    if (std::exchange(sweeps_, sweeps) != sweeps) last_ = nullptr;
    const detail::MessageNode* node = last_ == nullptr ? slot.queue_head : last_->next;
    for (; node != nullptr; node = node->next) {
      last_ = node;
      if (node->kind != detail::MessageKind::exit_signal) continue;
      const auto& exit = detail::payload_as<Exit>(const_cast<detail::MessageNode*>(node));
      reasons_.insert_or_assign(exit.from, exit.reason);
    }
    const auto found = reasons_.find(pid);
    if (found == reasons_.end()) return std::nullopt;
    return found->second;
  }

 private:
  const detail::MessageNode* last_ = nullptr;  // up to here the queue was read
  std::uint32_t sweeps_ = 0;                   // as they were then
  boost::unordered_flat_map<Pid, ExitReason, std::hash<Pid>> reasons_;
};

// What a handler awaits after Self::start() and Self::call(), and what a server answers a request with: for layers that
// offer starts and calls of their own.
using StartAwaiter = detail::StartAwaiter;
template <class Answer>
using CallAwaiter = detail::CallAwaiter<Answer>;
template <class Server, class Request>
using AnswerOf = typename detail::CallTraits<Server, Request>::Answer;

// The identity of a message's type: equal addresses, equal types.
using PayloadType = detail::PayloadType;
template <class T>
[[nodiscard]] constexpr const PayloadType* payload_type() {
  return &detail::k_payload_type<T>;
}

// Deterministic runtimes only, on the thread that drives them: virtual time for simulators.
// To the next timer if that is not after `until`, which fires; false when there is none.
bool pass_time(Runtime& runtime, Instant until);
// Sets the clock; what becomes due fires when time passes next, as if nobody had a turn meanwhile.
void set_now(Runtime& runtime, Instant now);

}  // namespace skein::inline v0::inspect
