// Self: what a handler may do, as a value to pass around inside that process.
//
// Valid only in the process it was given to, on whichever thread runs it: never keep it in another process or thread.
// Nothing here blocks. What returns an awaitable suspends the coroutine handler; meanwhile the process takes no other
// ordinary message, while signals still get through (an exit signal destroys the waiting frames).
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "skein/base/time.hpp"
#include "skein/runtime/message.hpp"
#include "skein/runtime/options.hpp"
#include "skein/runtime/slot.hpp"

namespace skein::inline v0 {

class Self;
class Runtime;

// A process and the monitor on it.
struct Monitored {
  Pid pid;
  MonitorRef ref;
};

// A started process, or nobody when its init said ignore.
struct Started {
  Pid pid;
  [[nodiscard]] bool ignored() const { return !pid; }
};

using StartResult = std::expected<Started, StartError>;

namespace detail {

struct ProcessType;

struct SpawnRequest {
  const ProcessType* type;
  BootFunction boot;
  std::size_t bytes;
  std::size_t alignment;
};

// The runtime's side of what follows; `spawner` may be nullptr (an ordinary thread).
Slot& claim_slot(Core& core, const SpawnRequest& request, const SpawnOptions& options, Slot* spawner);
Pid launch(Core& core, Slot& slot);
// Launches it and runs its init at once. False: it ends by itself and tells its starter.
[[nodiscard]] bool launch_here(Core& core, Slot& slot);
[[nodiscard]] Pid pid_of(const Core& core, const Slot& slot);
SendResult deliver(Core& core, Pid to, MessageNode* node);
[[nodiscard]] Pid find_name(Core& core, std::string_view name);
[[nodiscard]] Instant clock_now(Core& core);
// A deadline for a wait that begins now: exact on virtual time and below a second, else up to 20 ms late, not early.
[[nodiscard]] Instant wait_deadline(Core& core, Duration timeout);
void arm_deadline(Core& core, Slot& slot);
TimerRef add_timer(Core& core, Pid to, Duration after, Duration every, std::function<MessageNode*()> make);
bool cancel_timer(Core& core, TimerRef timer);
void run_blocking(Core& core, Slot& slot, std::uint64_t ref, std::move_only_function<void()> job);
[[nodiscard]] bool budget_left(const Core& core);
void set_continuation(Slot& slot, MessageNode* node);
// The reason in a Down that waits in the queue, if it is there; costs the same however long the queue is.
[[nodiscard]] std::optional<ExitReason> take_queued_down(Slot& slot, std::uint64_t ref);
[[nodiscard]] Extension& extend(Slot& slot);
// Makes an answer that came early the one that has arrived.
[[nodiscard]] bool take_early(Slot& slot, std::uint64_t ref);

struct StartReply {
  Pid pid;
  StartError error;
  bool failed = false;
};

// Suspends until what carries `ref` arrives or the deadline passes (then nullptr).
struct Wait {
  Core* core;
  Slot* slot;
  std::uint64_t ref;
  Instant deadline;

  void suspend(std::coroutine_handle<> waiting) const {
    // First what may throw: a wait that did not begin must not meet its answer later.
    slot->deadline = deadline;
    if (deadline != Instant::max()) arm_deadline(*core, *slot);
    slot->leaf = waiting;
    slot->wait_ref = ref;
  }
  [[nodiscard]] MessageNode* arrived() const { return std::exchange(slot->arrived, nullptr); }
  // True when the answer came while something else was awaited.
  [[nodiscard]] bool is_here() const { return slot->extension != nullptr && take_early(*slot, ref); }
};

struct DownAwaiter : Wait {
  std::optional<ExitReason> found;
  bool await_ready() {
    found = take_queued_down(*slot, ref);
    return found.has_value();
  }
  void await_suspend(std::coroutine_handle<> waiting) const { suspend(waiting); }
  // The reason, or nothing when the time was up first (the monitor then still stands).
  std::optional<ExitReason> await_resume() {
    if (found) return std::move(found);
    MessageNode* node = arrived();
    if (node == nullptr) return std::nullopt;
    std::optional<ExitReason> reason(std::move(payload_as<Down>(node).reason));
    free_node(node);
    return reason;
  }
};

struct SleepAwaiter : Wait {
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiting) const { suspend(waiting); }
  void await_resume() const {}
};

struct StartAwaiter : Wait {
  Pid up = {};  // it is up already, nothing to wait for
  bool await_ready() const { return up || is_here(); }
  void await_suspend(std::coroutine_handle<> waiting) const { suspend(waiting); }
  StartResult await_resume() const {
    StartResult result = Started{up};
    if (up) return result;
    MessageNode* node = arrived();
    auto& reply = payload_as<StartReply>(node);
    if (reply.failed) {
      result = std::unexpected(std::move(reply.error));
    } else {
      result->pid = reply.pid;
    }
    free_node(node);
    return result;
  }
};

struct YieldAwaiter {
  Core* core;
  Slot* slot;
  bool await_ready() const { return budget_left(*core); }
  void await_suspend(std::coroutine_handle<> waiting) const;
  void await_resume() const {}
};

struct JobAwaiter : Wait {
  bool await_ready() const { return is_here(); }
  void await_suspend(std::coroutine_handle<> waiting) const { suspend(waiting); }
  void await_resume() const { free_node(arrived()); }
};

// The result of a blocking job, shared with the handler that awaits it. Either may end first: it must not need the job.
template <class T>
struct JobResult {
  std::optional<T> value;
  std::exception_ptr thrown;
};

template <class Job, class T>
struct ValueJob {
  Job run;
  std::shared_ptr<JobResult<T>> result;
  void operator()() {
    try {
      result->value.emplace(run());
    } catch (...) {
      result->thrown = std::current_exception();
    }
  }
};

template <class T>
struct ValueJobAwaiter : JobAwaiter {
  std::shared_ptr<JobResult<T>> result;
  // The job's value; throws what the job has thrown.
  T await_resume() const {
    JobAwaiter::await_resume();
    if (result->thrown) std::rethrow_exception(result->thrown);
    return std::move(*result->value);
  }
};

template <class S, class Request>
struct CallTraits;
template <class Answer>
struct CallAwaiter;

}  // namespace detail

class Self {
 public:
  // For the runtime.
  Self(detail::Core& core, detail::Slot& slot) : core_(&core), slot_(&slot) {}
  [[nodiscard]] detail::Core& core() const { return *core_; }
  [[nodiscard]] detail::Slot* slot() const { return slot_; }

  [[nodiscard]] Pid pid() const { return detail::pid_of(*core_, *slot_); }
  // The process that spawned or started it; nobody for an ordinary thread.
  [[nodiscard]] Pid parent() const { return Pid::from_bits(slot_->parent.load(std::memory_order_relaxed)); }
  [[nodiscard]] Instant now() const { return detail::clock_now(*core_); }

  // Sends any movable value. A dead or unknown receiver is harmless; a full mailbox is told by the result.
  template <class T>
  SendResult send(Pid to, T&& value) const {
    auto* node = detail::make_node(detail::MessageKind::info, std::forward<T>(value));
    node->from = pid();
    return detail::deliver(*core_, to, node);
  }
  template <class T>
  SendResult send(std::string_view name, T&& value) const {
    return send(detail::find_name(*core_, name), std::forward<T>(value));
  }
  // A message from nobody, after `after`; `every` > 0 repeats it. The value is copied for each. One to oneself always
  // gets in; others may find the mailbox full, of which nobody is told.
  template <class T>
  TimerRef send_after(Duration after, Pid to, T value) const {
    return send_interval_from(after, Duration::zero(), to, std::move(value));
  }
  template <class T>
  TimerRef send_interval(Duration every, Pid to, T value) const {
    return send_interval_from(every, every, to, std::move(value));
  }
  // True if it had not fired yet.
  bool cancel(TimerRef timer) const { return detail::cancel_timer(*core_, timer); }

  // Ties the two together: when one ends abnormally, the other gets its exit signal. Linking to oneself does nothing.
  void link(Pid other) const;
  void unlink(Pid other) const;
  // One Down follows, also if `other` is dead already (noproc). Monitoring twice gives two.
  [[nodiscard]] MonitorRef monitor(Pid other) const;
  // No Down of `ref` is delivered after this, not even one that waits in the queue.
  void demonitor(MonitorRef ref) const;
  // Exit signals become Exit messages, except kill.
  void trap_exit(bool trap) const { slot_->trap_exit = trap; }
  // Sends an exit signal; kill cannot be trapped.
  void exit(Pid other, ExitReason reason) const;
  // Ends this process once the handler returns or suspends; terminate runs first.
  void stop(ExitReason reason = ExitReason::normal()) const;

  bool register_name(std::string_view name) const;
  void unregister_name() const;
  [[nodiscard]] Pid whereis(std::string_view name) const { return detail::find_name(*core_, name); }

  // Makes a process T(args...); init runs in it, later. Throws SpawnError when there is no slot or the name is taken.
  template <class T, class... Args>
  Pid spawn(Args&&... args) const {
    return spawn_with<T>(SpawnOptions{}, std::forward<Args>(args)...).pid;
  }
  template <class T, class... Args>
  Pid spawn_link(Args&&... args) const {
    SpawnOptions options;
    options.link = true;
    return spawn_with<T>(options, std::forward<Args>(args)...).pid;
  }
  template <class T, class... Args>
  Monitored spawn_monitor(Args&&... args) const {
    SpawnOptions options;
    options.monitor = true;
    return spawn_with<T>(options, std::forward<Args>(args)...);
  }
  template <class T, class... Args>
  Monitored spawn_with(const SpawnOptions& options, Args&&... args) const;

  // co_await it: StartResult once init has finished. A failed start leaves no stray signal, and its name is free.
  template <class T, class... Args>
  [[nodiscard]] detail::StartAwaiter start(const SpawnOptions& options, Args&&... args) const {
    return start_process<T>(false, options, std::forward<Args>(args)...);
  }
  // The same, but this process will not be its parent.
  template <class T, class... Args>
  [[nodiscard]] detail::StartAwaiter start_orphan(const SpawnOptions& options, Args&&... args) const {
    return start_process<T>(true, options, std::forward<Args>(args)...);
  }

  // co_await it: std::expected<R, CallError>, R being what S::handle_call(Self, Request) returns.
  template <class S, class Request>
  [[nodiscard]] detail::CallAwaiter<typename detail::CallTraits<S, Request>::Answer> call(
      Pid server, Request request, Duration timeout = k_call_timeout) const;
  template <class S, class Note>
  SendResult cast(Pid server, Note note) const;
  // S::handle_continue(Self, step) runs before any other message; S is this process's own class.
  template <class S, class Step>
  void continue_with(Step step) const;

  // co_await it: std::optional<ExitReason> of the process behind the monitor; nothing when the time was up, which alone
  // ends a wait for a monitor that is none, was taken back or has given its Down.
  [[nodiscard]] detail::DownAwaiter down(MonitorRef ref, Duration timeout = k_forever) const {
    // A wait for 0 would be none at all, and not even its time-out would end it.
    const std::uint64_t awaited = ref ? ref.id : ++slot_->next_ref;
    return detail::DownAwaiter{{core_, slot_, awaited, detail::wait_deadline(*core_, timeout)}, {}};
  }
  [[nodiscard]] detail::SleepAwaiter sleep(Duration time) const {
    return detail::SleepAwaiter{{core_, slot_, ++slot_->next_ref, later(now(), time)}};
  }
  // co_await it in a long loop: lets others run when this process has used its turn.
  [[nodiscard]] detail::YieldAwaiter yield() const { return {core_, slot_}; }
  // co_await it: runs `job` on the blocking pool. The process is not dead before the job has returned; but its state
  // and frames may be destroyed before that, so the job must own what it uses. What it throws is only written to
  // standard error: catch inside.
  [[nodiscard]] detail::JobAwaiter blocking(std::move_only_function<void()> job) const {
    const std::uint64_t ref = ++slot_->next_ref;
    detail::run_blocking(*core_, *slot_, ref, std::move(job));
    return detail::JobAwaiter{{core_, slot_, ref, Instant::max()}};
  }
  // The same for a job that returns a value: co_await it for that value. What the job throws is thrown there.
  template <class Job>
    requires(!std::is_void_v<std::invoke_result_t<Job&>>)
  [[nodiscard]] detail::ValueJobAwaiter<std::decay_t<std::invoke_result_t<Job&>>> blocking(Job job) const {
    using Value = std::decay_t<std::invoke_result_t<Job&>>;
    auto result = std::make_shared<detail::JobResult<Value>>();
    return {blocking(detail::ValueJob<Job, Value>{std::move(job), result}), result};
  }

 private:
  template <class T, class... Args>
  [[nodiscard]] detail::StartAwaiter start_process(bool orphan, const SpawnOptions& options, Args&&... args) const;
  template <class T>
  TimerRef send_interval_from(Duration after, Duration every, Pid to, T value) const {
    // Shared: the wheel copies the function of an interval, and must not run T's copy constructor for that.
    auto held = std::make_shared<const T>(std::move(value));
    // A process's own time-out always gets in: one that is stuck arms no more, so they cannot flood it.
    const bool is_own = every == Duration::zero() && to == pid();
    const auto kind = is_own ? detail::MessageKind::notice : detail::MessageKind::info;
    return detail::add_timer(*core_, to, after, every,
                             [held, kind]() -> detail::MessageNode* { return detail::make_node(kind, T(*held)); });
  }

  detail::Core* core_;
  detail::Slot* slot_;
};

}  // namespace skein::inline v0
