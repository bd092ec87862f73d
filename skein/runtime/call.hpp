// Calls, casts and answers: a request carries the address of the handler it is for, so a server needs no table.
//
// The holder of a request owes its answer: a handler by returning, a Reply by being called. If the server dies first,
// the caller gets its exit reason, and only after the server is dead (its name free). Late answers are dropped.
// Self's members are for the process itself; a Reply may be kept, moved and given by any handler of its server.
#pragma once

#include <concepts>
#include <expected>
#include <type_traits>
#include <utility>

#include "skein/runtime/process_type.hpp"
#include "skein/runtime/self.hpp"

namespace skein::inline v0 {

enum class CallFailure : std::uint8_t {
  noproc,       // nobody there
  timeout,      // no answer in time; it may still be carried out
  server_died,  // with its exit reason
  self_call,    // a process can't wait for itself
  mailbox_full,
  wrong_server,  // the process there is of another type
  no_answer,     // the server dropped the request's Reply
  runtime_down,  // the runtime was shut down meanwhile
};

struct CallError {
  CallFailure failure = CallFailure::noproc;
  ExitReason reason;  // of server_died
  [[nodiscard]] std::string text() const;
};

// An answer that is owed. Its owner answers or moves it; destroyed unanswered, the caller learns that (or why it died).
template <class R>
class Reply;

namespace detail {

struct HandlerEntry {
  const ProcessType* server;
  HandlerResult (*run)(void* state, Self self, MessageNode* node);
};

// Sends the node back, as the reply it has become, to the caller that waits for it. Takes the node. If the process that
// answers is ending, the answer goes out when it is dead.
void send_answer(Core& core, MessageNode* node) noexcept;
void send_failure(Core& core, MessageNode* node, CallFailure failure, ExitReason reason = {}) noexcept;
// Takes the request out of the hands of the process that handles it.
[[nodiscard]] MessageNode* take_current(Slot& slot);
// A Reply died unanswered.
void abandon(Core& core, MessageNode* node) noexcept;

struct Nothing {};
template <class R>
using Stored = std::conditional_t<std::is_void_v<R>, Nothing, R>;

template <class S, class Request>
concept AnswersNow = requires(S& s, Self self, Request request) { s.handle_call(self, std::move(request)); };

template <class S, class Request>
struct CallTraits {
  static constexpr bool now = AnswersNow<S, Request>;
  template <class U>
  static auto answer_of() {
    if constexpr (AnswersNow<U, Request>) {
      using Raw = decltype(std::declval<U&>().handle_call(std::declval<Self>(), std::declval<Request>()));
      return std::type_identity<typename UnwrapTask<Raw>::type>{};
    } else {
      return std::type_identity<typename Request::Answer>{};
    }
  }
  using Answer = typename decltype(answer_of<S>())::type;
};

// The request stays with the process until the answer is in it: one that throws on its way there is the server's crash,
// of which the caller is told as of any.
template <class Answer>
void answer_current(Self self, Answer&& answer) {
  MessageNode* back = self.slot()->current;
  clear_payload(back);
  set_payload<std::decay_t<Answer>>(back, std::forward<Answer>(answer));
  send_answer(self.core(), take_current(*self.slot()));
}

template <class S, class Request>
Async<void> await_call(S* server, Self self, MessageNode* node) {
  using Answer = typename CallTraits<S, Request>::Answer;
  auto pending = server->handle_call(self, std::move(payload_as<Request>(node)));
  if constexpr (std::is_void_v<Answer>) {
    co_await pending;
    MessageNode* back = take_current(*self.slot());
    clear_payload(back);
    send_answer(self.core(), back);
  } else {
    Answer answer = co_await pending;
    answer_current(self, std::move(answer));
  }
}

template <class S, class Request>
HandlerResult run_call(void* state, Self self, MessageNode* node) {
  using Traits = CallTraits<S, Request>;
  using Answer = typename Traits::Answer;
  auto* server = static_cast<S*>(state);
  if constexpr (!Traits::now) {
    Request request(std::move(payload_as<Request>(node)));
    MessageNode* owed = take_current(*self.slot());
    clear_payload(owed);
    Reply<Answer> reply(self.core(), owed);
    using Raw = decltype(server->handle_call(self, std::move(request), std::move(reply)));
    if constexpr (UnwrapTask<Raw>::is_task) {
      return server->handle_call(self, std::move(request), std::move(reply)).release();
    } else {
      server->handle_call(self, std::move(request), std::move(reply));
    }
  } else {
    using Raw = decltype(server->handle_call(self, std::declval<Request>()));
    if constexpr (UnwrapTask<Raw>::is_task) {
      return await_call<S, Request>(server, self, node).release();
    } else if constexpr (std::is_void_v<Answer>) {
      server->handle_call(self, std::move(payload_as<Request>(node)));
      MessageNode* back = take_current(*self.slot());
      clear_payload(back);
      send_answer(self.core(), back);
    } else {
      Answer answer = server->handle_call(self, std::move(payload_as<Request>(node)));
      answer_current(self, std::move(answer));
    }
  }
  return nullptr;
}

template <class S, class Note>
HandlerResult run_cast(void* state, Self self, MessageNode* node) {
  auto* server = static_cast<S*>(state);
  using Raw = decltype(server->handle_cast(self, std::declval<Note>()));
  if constexpr (UnwrapTask<Raw>::is_task) {
    return server->handle_cast(self, std::move(payload_as<Note>(node))).release();
  } else {
    server->handle_cast(self, std::move(payload_as<Note>(node)));
    return nullptr;
  }
}

template <class S, class Step>
HandlerResult run_continue(void* state, Self self, MessageNode* node) {
  auto* server = static_cast<S*>(state);
  using Raw = decltype(server->handle_continue(self, std::declval<Step>()));
  if constexpr (UnwrapTask<Raw>::is_task) {
    return server->handle_continue(self, std::move(payload_as<Step>(node))).release();
  } else {
    server->handle_continue(self, std::move(payload_as<Step>(node)));
    return nullptr;
  }
}

template <class S, class Request>
inline constexpr HandlerEntry k_call_entry{&k_process_type<S>, &run_call<S, Request>};
template <class S, class Note>
inline constexpr HandlerEntry k_cast_entry{&k_process_type<S>, &run_cast<S, Note>};
template <class S, class Step>
inline constexpr HandlerEntry k_continue_entry{&k_process_type<S>, &run_continue<S, Step>};

template <class Answer>
std::expected<Answer, CallError> take_answer(MessageNode* node) {
  if (node->flag) {
    CallError error = std::move(payload_as<CallError>(node));
    free_node(node);
    return std::unexpected(std::move(error));
  }
  if constexpr (std::is_void_v<Answer>) {
    free_node(node);
    return {};
  } else {
    std::expected<Answer, CallError> answer(std::in_place, std::move(payload_as<Answer>(node)));
    free_node(node);
    return answer;
  }
}

template <class Answer>
struct CallAwaiter : Wait {
  CallFailure early = CallFailure::timeout;  // anything else: the request never left
  bool await_ready() const { return early != CallFailure::timeout || is_here(); }
  void await_suspend(std::coroutine_handle<> waiting) const { suspend(waiting); }
  std::expected<Answer, CallError> await_resume() const {
    MessageNode* node = arrived();
    if (node == nullptr) return std::unexpected(CallError{early, {}});
    return take_answer<Answer>(node);
  }
};

[[nodiscard]] constexpr CallFailure failure_of(SendResult sent) {
  switch (sent) {
    case SendResult::ok:
      return CallFailure::timeout;
    case SendResult::noproc:
      return CallFailure::noproc;
    case SendResult::full:
    case SendResult::dropped:
      return CallFailure::mailbox_full;
  }
  return CallFailure::noproc;
}

}  // namespace detail

template <class R>
class Reply {
 public:
  Reply(detail::Core& core, detail::MessageNode* node) : core_(&core), node_(node) {}
  Reply(Reply&& other) noexcept : core_(other.core_), node_(std::exchange(other.node_, nullptr)) {}
  Reply& operator=(Reply&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(node_, other.node_);
    return *this;
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() {
    if (node_ != nullptr) detail::abandon(*core_, node_);
  }

  // Answers; once. Later calls do nothing.
  template <class... Value>
  void operator()(Value&&... value) {
    if (node_ == nullptr) return;
    if constexpr (!std::is_void_v<R>) detail::set_payload<R>(node_, std::forward<Value>(value)...);
    detail::send_answer(*core_, std::exchange(node_, nullptr));
  }
  [[nodiscard]] Pid caller() const { return node_ == nullptr ? Pid{} : node_->from; }

 private:
  detail::Core* core_;
  detail::MessageNode* node_;
};

template <class T, class... Args>
Monitored Self::spawn_with(const SpawnOptions& options, Args&&... args) const {
  using Arguments = std::tuple<std::decay_t<Args>...>;
  static_assert(std::is_nothrow_move_constructible_v<Arguments>, "spawn arguments must move without throwing");
  const detail::SpawnRequest request{&detail::k_process_type<T>, &detail::boot_process<T, std::decay_t<Args>...>,
                                     detail::k_state_bytes<T, Arguments>,
                                     alignof(T) > alignof(Arguments) ? alignof(T) : alignof(Arguments)};
  // Made first: what a copy throws must leave no slot behind.
  Arguments arguments(std::forward<Args>(args)...);
  detail::Slot& child = detail::claim_slot(*core_, request, options, slot_);
  new (child.state) Arguments(std::move(arguments));
  const MonitorRef ref{child.first_watcher.ref};
  return Monitored{detail::launch(*core_, child), ref};
}

template <class T, class... Args>
detail::StartAwaiter Self::start_process(bool orphan, const SpawnOptions& options, Args&&... args) const {
  using Arguments = std::tuple<std::decay_t<Args>...>;
  static_assert(std::is_nothrow_move_constructible_v<Arguments>, "spawn arguments must move without throwing");
  const detail::SpawnRequest request{&detail::k_process_type<T>, &detail::boot_process<T, std::decay_t<Args>...>,
                                     detail::k_state_bytes<T, Arguments>,
                                     alignof(T) > alignof(Arguments) ? alignof(T) : alignof(Arguments)};
  if (options.monitor) throw std::invalid_argument("a start gives no MonitorRef: monitor the Pid it returns");
  Arguments arguments(std::forward<Args>(args)...);
  const std::uint64_t ref = ++slot_->next_ref;
  detail::StartAwaiter waiting{{core_, slot_, ref, Instant::max()}};
  detail::Slot* child = nullptr;
  try {
    child = &detail::claim_slot(*core_, request, options, slot_);
  } catch (const SpawnError& error) {
    // Told like any other failed start, through the mailbox.
    auto* node =
        detail::make_node(detail::MessageKind::start_reply,
                          detail::StartReply{{}, StartError{ExitReason::custom(error.what()), error.holder()}, true});
    node->ref = ref;
    detail::deliver(*core_, pid(), node);
    return waiting;
  }
  new (child->state) Arguments(std::move(arguments));
  child->start_ref = ref;
  child->server_start = true;
  child->orphan = orphan;
  if constexpr (!detail::k_init_waits<T>) {
    if (options.init_here) {
      const Pid started = detail::pid_of(*core_, *child);
      if (detail::launch_here(*core_, *child)) waiting.up = started;
      return waiting;
    }
  }
  detail::launch(*core_, *child);
  return waiting;
}

template <class S, class Request>
detail::CallAwaiter<typename detail::CallTraits<S, Request>::Answer> Self::call(Pid server, Request request,
                                                                                Duration timeout) const {
  using Answer = typename detail::CallTraits<S, Request>::Answer;
  detail::CallAwaiter<Answer> waiting{{core_, slot_, ++slot_->next_ref, Instant::max()}};
  if (server == pid()) {
    waiting.early = CallFailure::self_call;
    return waiting;
  }
  auto* node = detail::make_node(detail::MessageKind::request, std::move(request));
  node->from = pid();
  node->ref = waiting.ref;
  node->entry = &detail::k_call_entry<S, Request>;
  waiting.early = detail::failure_of(detail::deliver(*core_, server, node));
  if (timeout != k_forever) waiting.deadline = detail::wait_deadline(*core_, timeout);
  return waiting;
}

template <class S, class Note>
SendResult Self::cast(Pid server, Note note) const {
  auto* node = detail::make_node(detail::MessageKind::cast, std::move(note));
  node->from = pid();
  node->entry = &detail::k_cast_entry<S, Note>;
  return detail::deliver(*core_, server, node);
}

template <class S, class Step>
void Self::continue_with(Step step) const {
  auto* node = detail::make_node(detail::MessageKind::cast, std::move(step));
  node->entry = &detail::k_continue_entry<S, Step>;
  detail::set_continuation(*slot_, node);
}

}  // namespace skein::inline v0
