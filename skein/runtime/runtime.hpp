// Runtime: where processes live, seen from an ordinary thread (main, tests, other libraries).
//
// With a seed in its options it is deterministic: one thread, virtual time, and whatever waits here (call, start, run)
// drives it; otherwise its own threads do, and every member may be called from any thread. Inside a process use Self.
// Never call what waits from inside a process: it would block a worker.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/runtime/call.hpp"
#include "skein/runtime/options.hpp"
#include "skein/runtime/outside.hpp"
#include "skein/runtime/process_info.hpp"
#include "skein/runtime/self.hpp"
#include "skein/runtime/trace.hpp"

namespace skein::inline v0 {

// How a shutdown went.
struct ShutdownReport {
  bool clean = true;
  static constexpr std::size_t k_named = 1'000;
  std::vector<ProcessInfo> stuck;  // who had not ended by the deadline: the first k_named
  std::size_t stuck_count = 0;     // how many those were in all
  [[nodiscard]] std::string text() const;
};

namespace detail {

// Runs a coroutine function as a process and keeps what it returns for the thread that waits.
template <class R>
struct RunRequest {
  using Answer = R;
  std::move_only_function<Async<R>(Self)> body;
};

template <class R>
struct Runner {
  Async<R> handle_call(Self self, RunRequest<R> request) {
    Async<R> running = request.body(self);
    // Stopping before the answer: it goes out when this process is dead.
    if constexpr (std::is_void_v<R>) {
      co_await running;
      self.stop();
    } else {
      R result = co_await running;
      self.stop();
      co_return result;
    }
  }
};

}  // namespace detail

class Runtime {
 public:
  // Throws std::invalid_argument for an option out of its range, std::system_error when the operating system gives no
  // address space or threads.
  explicit Runtime(RuntimeOptions options = {});
  // shutdown() with its default deadline, if that was not done yet.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Makes a process T(args...). Throws SpawnError.
  template <class T, class... Args>
  Pid spawn(Args&&... args) {
    return spawn_with<T>(SpawnOptions{}, std::forward<Args>(args)...);
  }
  template <class T, class... Args>
  Pid spawn_with(const SpawnOptions& options, Args&&... args) {
    using Arguments = std::tuple<std::decay_t<Args>...>;
    static_assert(std::is_nothrow_move_constructible_v<Arguments>, "spawn arguments must move without throwing");
    const detail::SpawnRequest request{&detail::k_process_type<T>, &detail::boot_process<T, std::decay_t<Args>...>,
                                       detail::k_state_bytes<T, Arguments>,
                                       alignof(T) > alignof(Arguments) ? alignof(T) : alignof(Arguments)};
    Arguments arguments(std::forward<Args>(args)...);
    detail::Slot& child = detail::claim_slot(core(), request, options, nullptr);
    new (child.state) Arguments(std::move(arguments));
    return detail::launch(core(), child);
  }
  // Waits until its init has finished. The process has no parent and is linked to nobody.
  template <class T, class... Args>
  StartResult start(const SpawnOptions& options, Args&&... args);

  template <class T>
  SendResult send(Pid to, T&& value) {
    return detail::deliver(core(), to, detail::make_node(detail::MessageKind::info, std::forward<T>(value)));
  }
  // Gets in also when the mailbox is full, as a Down does. For what is told once, and by one who limits how much.
  template <class T>
  SendResult notify(Pid to, T&& value) {
    return detail::deliver(core(), to, detail::make_node(detail::MessageKind::notice, std::forward<T>(value)));
  }
  template <class S, class Note>
  SendResult cast(Pid server, Note note) {
    auto* node = detail::make_node(detail::MessageKind::cast, std::move(note));
    node->entry = &detail::k_cast_entry<S, Note>;
    return detail::deliver(core(), server, node);
  }
  // Blocks until S::handle_call(Self, Request) has answered.
  template <class S, class Request>
  std::expected<typename detail::CallTraits<S, Request>::Answer, CallError> call(Pid server, Request request,
                                                                                 Duration timeout = k_call_timeout) {
    using Answer = typename detail::CallTraits<S, Request>::Answer;
    auto* node = detail::make_node(detail::MessageKind::request, std::move(request));
    node->entry = &detail::k_call_entry<S, Request>;
    auto answer = wait_for_answer(server, node, timeout);
    if (!answer) return std::unexpected(std::move(answer.error()));
    return detail::take_answer<Answer>(*answer);
  }
  // Runs a coroutine function in a process of its own and waits for what it returns; an error is how it died. Throws
  // SpawnError when there can be no such process.
  template <class R, class... Params, class... Args>
  std::expected<R, CallError> run(Async<R> (*body)(Self, Params...), Args&&... args);

  void exit(Pid pid, ExitReason reason);
  [[nodiscard]] Pid whereis(std::string_view name);
  [[nodiscard]] bool is_alive(Pid pid) const;
  // Blocks until the process is dead; its reason (noproc if it was already), or nothing when the time was up. Takes a
  // process of its own while `pid` lives: throws SpawnError when there can be none.
  std::optional<ExitReason> wait_for_end(Pid pid, Duration timeout = k_forever);
  [[nodiscard]] Instant now() const;

  // Introspection; none of it disturbs a process, except that describe() asks it.
  [[nodiscard]] std::vector<ProcessInfo> processes();
  [[nodiscard]] std::optional<ProcessInfo> info(Pid pid);
  [[nodiscard]] std::uint32_t process_count() const;
  [[nodiscard]] std::uint32_t mailbox_length(Pid pid) const;
  std::expected<std::string, CallError> describe(Pid pid, Duration timeout = k_call_timeout);
  // Records the next messages of a process; false when it is dead or k_traces_limit processes are traced.
  bool trace(Pid pid, std::size_t messages);
  std::vector<TracedMessage> end_trace(Pid pid);
  bool dump(const std::string& path);
  // Writes a dump when a fatal signal ends the program; RuntimeOptions::dump_file does so from the start.
  bool dump_on_fatal_signal(const std::string& path);

  // Tells every process to shut down, those without a parent first; kills what has not ended after half the time, and
  // names what is left at the deadline. Always ends. Afterwards nothing can be spawned; another call, also one made
  // meanwhile, gets the same report.
  ShutdownReport shutdown(Duration deadline = std::chrono::seconds(5));

  // Deterministic runtimes only.
  // One process or blocking job; false when nothing can run at this moment of virtual time.
  bool step();
  // Runs until nothing can run without time passing, or `limit` steps were made; returns their number.
  std::uint64_t run_ready(std::uint64_t limit = k_step_limit);
  // Runs and lets time pass, at most `time`; the clock stands there afterwards. Returns the number of steps.
  std::uint64_t run_for(Duration time, std::uint64_t limit = k_step_limit);
  // Runs and lets time pass until neither work nor timers are left.
  std::uint64_t run_until_idle(std::uint64_t limit = k_step_limit);
  [[nodiscard]] std::uint64_t fingerprint() const;
  static constexpr std::uint64_t k_step_limit = 100'000'000;

  [[nodiscard]] detail::Core& core() const { return *core_; }

 private:
  void end_processes(Duration deadline);
  std::expected<detail::MessageNode*, CallError> wait_for_answer(Pid server, detail::MessageNode* node,
                                                                 Duration timeout);
  detail::MessageNode* drive_until(detail::OutsideCall& call, Duration timeout);

  std::shared_ptr<detail::Core> core_;
  std::mutex shutdown_mutex_;
  std::optional<ShutdownReport> ended_;  // guarded by shutdown_mutex_
};

namespace detail {

template <class T, class... Args>
Async<StartResult> start_outside(Self self, SpawnOptions options, std::string name, Args... args) {
  options.name = name;
  auto starting = self.start_orphan<T>(options, std::move(args)...);
  co_return co_await starting;
}

}  // namespace detail

template <class R, class... Params, class... Args>
std::expected<R, CallError> Runtime::run(Async<R> (*body)(Self, Params...), Args&&... args) {
  detail::RunRequest<R> request;
  request.body = [body, held = std::tuple<std::decay_t<Params>...>(std::forward<Args>(args)...)](Self self) mutable {
    return std::apply([&](auto&... each) { return body(self, std::move(each)...); }, held);
  };
  const Pid runner = spawn<detail::Runner<R>>();
  return call<detail::Runner<R>>(runner, std::move(request), k_forever);
}

template <class T, class... Args>
StartResult Runtime::start(const SpawnOptions& options, Args&&... args) {
  if (options.link || options.monitor) {
    return std::unexpected(StartError{ExitReason::custom(std::string(k_nobody_to_tie)), {}});
  }
  try {
    // Only what start_outside takes by value travels: the options' name is a view.
    auto result = run(&detail::start_outside<T, std::decay_t<Args>...>, options, std::string(options.name),
                      std::forward<Args>(args)...);
    if (!result) return std::unexpected(StartError{ExitReason::custom(result.error().text()), {}});
    return std::move(*result);
  } catch (const SpawnError& error) {
    // There is no room, or no time, even for the process that would start it.
    return std::unexpected(StartError{ExitReason::custom(error.what()), error.holder()});
  }
}

}  // namespace skein::inline v0
