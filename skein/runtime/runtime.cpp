#include "skein/runtime/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <limits>
#include <stdexcept>
#include <thread>

#include "skein/runtime/core.hpp"
#include "skein/runtime/deterministic.hpp"
#include "skein/runtime/dump.hpp"
#include "skein/runtime/fatal_dump.hpp"
#include "skein/runtime/workers.hpp"

namespace skein::inline v0 {
namespace {

Async<std::optional<ExitReason>> watch_end(Self self, Pid pid, Duration timeout) {
  const MonitorRef ref = self.monitor(pid);
  auto waiting = self.down(ref, timeout);
  std::optional<ExitReason> reason = co_await waiting;
  co_return reason;
}

// A runtime that could run nothing, or would grow without a limit, is not made.
RuntimeOptions checked(RuntimeOptions options) {
  const auto refuse = [](std::string_view name, std::uint32_t value, std::uint32_t most) {
    throw std::invalid_argument(fmt::format("RuntimeOptions::{} is {}; it may be 1 to {}", name, value, most));
  };
  constexpr auto k_most = std::numeric_limits<std::uint32_t>::max();
  if (options.max_processes == 0) refuse("max_processes", 0, Pid::k_slot_max);
  if (options.mailbox_limit == 0) refuse("mailbox_limit", 0, k_most);
  if (options.turn_budget == 0 || options.turn_budget > k_turn_budget_max) {
    refuse("turn_budget", options.turn_budget, k_turn_budget_max);
  }
  return options;
}

}  // namespace

std::string ShutdownReport::text() const {
  if (clean) return "every process ended";
  std::string text = fmt::format("{} did not end in time:", stuck_count);
  for (const ProcessInfo& info : stuck) {
    text += fmt::format(" {}{}{} ({}, {}{}{})", info.pid.text(), info.name.empty() ? "" : " ", info.name, info.type,
                        state_name(info.state), info.handling.empty() ? "" : ", handling ", info.handling);
  }
  return text;
}

Runtime::Runtime(RuntimeOptions options) : core_(std::make_shared<detail::Core>(checked(std::move(options)))) {
  if (core_->workers) core_->workers->start(core_);
  if (!core_->options.dump_file.empty()) detail::install_fatal_dump(*core_, core_->options.dump_file);
}

Runtime::~Runtime() {
  shutdown();
  detail::remove_fatal_dump(*core_);
  // Jobs that never ran hold the core; dropping them breaks that circle.
  core_->deterministic.reset();
}

Instant Runtime::now() const { return core_->now(); }

void Runtime::exit(Pid pid, ExitReason reason) {
  detail::deliver(*core_, pid, detail::make_node(detail::MessageKind::exit_signal, Exit{{}, std::move(reason)}));
}

Pid Runtime::whereis(std::string_view name) { return core_->names.find(name); }

bool Runtime::is_alive(Pid pid) const { return core_->table.is_alive(pid); }

std::optional<ExitReason> Runtime::wait_for_end(Pid pid, Duration timeout) {
  using Reason = std::optional<ExitReason>;
  if (!is_alive(pid)) return ExitReason::noproc();
  constexpr Duration k_margin = std::chrono::milliseconds(100);
  const Pid watcher = spawn<detail::Runner<Reason>>();
  detail::RunRequest<Reason> request{[pid, timeout](Self self) { return watch_end(self, pid, timeout); }};
  // With every worker stuck nobody watches; this thread then gives up by itself.
  const Duration patience = timeout > k_forever - k_margin ? k_forever : timeout + k_margin;
  auto reason = call<detail::Runner<Reason>>(watcher, std::move(request), patience);
  if (reason) return std::move(*reason);
  exit(watcher, ExitReason::kill());
  return std::nullopt;
}

std::expected<detail::MessageNode*, CallError> Runtime::wait_for_answer(Pid server, detail::MessageNode* node,
                                                                        Duration timeout) {
  auto* call = new detail::OutsideCall;
  node->outside = call;
  const SendResult sent = detail::deliver(*core_, server, node);
  if (sent != SendResult::ok) {
    call->release();
    call->release();
    return std::unexpected(CallError{detail::failure_of(sent), {}});
  }
  detail::MessageNode* answer =
      core_->deterministic ? drive_until(*call, timeout) : call->wait(timeout, core_->stopping);
  call->release();
  if (answer == nullptr) {
    const bool down = core_->stopping.load(std::memory_order_relaxed);
    return std::unexpected(CallError{down ? CallFailure::runtime_down : CallFailure::timeout, {}});
  }
  return answer;
}

detail::MessageNode* Runtime::drive_until(detail::OutsideCall& call, Duration timeout) {
  detail::Deterministic& scheduler = *core_->deterministic;
  const Instant deadline = timeout == k_forever ? Instant::max() : later(scheduler.now(), timeout);
  while (!call.is_complete()) {
    if (scheduler.step()) continue;
    if (scheduler.pass_time(deadline)) continue;
    if (deadline != Instant::max()) scheduler.set_now(deadline);
    break;
  }
  return call.take_or_abandon();
}

std::vector<ProcessInfo> Runtime::processes() { return detail::list_processes(*core_); }

std::optional<ProcessInfo> Runtime::info(Pid pid) {
  if (!is_alive(pid)) return std::nullopt;
  for (ProcessInfo& info : processes()) {
    if (info.pid == pid) return std::move(info);
  }
  return std::nullopt;
}

std::uint32_t Runtime::process_count() const { return core_->table.alive(); }

std::uint32_t Runtime::mailbox_length(Pid pid) const {
  if (!is_alive(pid)) return 0;
  const detail::Slot& slot = *core_->table.find(pid);
  return slot.queued.load(std::memory_order_relaxed) + slot.mailbox.stacked();
}

std::expected<std::string, CallError> Runtime::describe(Pid pid, Duration timeout) {
  detail::MessageNode* node = detail::new_node(detail::MessageKind::look);
  auto answer = wait_for_answer(pid, node, timeout);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return detail::take_answer<std::string>(*answer);
}

bool Runtime::trace(Pid pid, std::size_t messages) {
  if (!is_alive(pid) || !core_->traces.begin(pid, messages)) return false;
  core_->table.find(pid)->traced.store(true, std::memory_order_relaxed);
  return true;
}

std::vector<TracedMessage> Runtime::end_trace(Pid pid) {
  if (is_alive(pid)) core_->table.find(pid)->traced.store(false, std::memory_order_relaxed);
  return core_->traces.end(pid);
}

bool Runtime::dump(const std::string& path) { return detail::dump_to_file(*core_, path); }

bool Runtime::dump_on_fatal_signal(const std::string& path) { return detail::install_fatal_dump(*core_, path); }

namespace {

// Whom a shutdown has told already: asking twice would only fill the mailbox of one who traps.
class Told {
 public:
  explicit Told(detail::Core& core) : core_(core) {}

  // Those without a living parent, or everybody.
  void shut_down(bool everybody) { tell(told_, everybody, ExitReason::shutdown()); }
  void kill_everybody() { tell(killed_, true, ExitReason::kill()); }

 private:
  using Pids = boost::unordered_flat_set<std::uint64_t>;

  void tell(Pids& told, bool everybody, const ExitReason& reason) {
    const std::uint32_t used = core_.table.used();
    for (std::uint32_t i = 0; i < used; ++i) {
      const detail::Slot& slot = core_.table.at(i);
      if (slot.phase.load(std::memory_order_acquire) == detail::ProcessPhase::free) continue;
      const Pid parent = Pid::from_bits(slot.parent.load(std::memory_order_relaxed));
      if (!everybody && core_.table.is_alive(parent)) continue;
      const Pid pid = detail::pid_of(core_, slot);
      if (!told.insert(pid.bits()).second) continue;
      detail::deliver(core_, pid, detail::make_node(detail::MessageKind::exit_signal, Exit{{}, reason}));
    }
  }

  detail::Core& core_;
  Pids told_;
  Pids killed_;
};

}  // namespace

// First those without a parent: a supervisor ends its children in its own order, and whom an ended parent leaves
// behind is next. Then everybody; then kill, more than once, as processes may have been spawned meanwhile.
void Runtime::end_processes(Duration deadline) {
  constexpr int k_parts = 20;
  constexpr int k_everybody_from = 6;
  constexpr int k_kill_from = 10;
  constexpr Duration k_longest_look = std::chrono::milliseconds(20);
  constexpr std::uint64_t k_steps = 1'000'000;  // of a part, on virtual time: one that floods itself lets none pass
  Told told(*core_);
  const auto tell = [&told](std::int64_t part) {
    if (part >= k_kill_from) {
      told.kill_everybody();
    } else {
      told.shut_down(part >= k_everybody_from);
    }
  };
  if (core_->deterministic) {
    for (int part = 0; part < k_parts && process_count() != 0; ++part) {
      tell(part);
      run_for(deadline / k_parts, k_steps);
    }
    return;
  }
  const Instant begin = core_->now();
  Duration look = std::chrono::microseconds(200);
  while (process_count() != 0) {
    const Duration spent = core_->now() - begin;
    if (spent >= deadline) break;
    tell(spent / std::max(deadline / k_parts, Duration(1)));
    std::this_thread::sleep_for(std::min(look, deadline - spent));
    look = std::min(2 * look, k_longest_look);
  }
}

ShutdownReport Runtime::shutdown(Duration deadline) {
  const std::scoped_lock lock(shutdown_mutex_);
  if (ended_) return *ended_;
  end_processes(deadline);
  core_->stopping.store(true, std::memory_order_relaxed);
  ShutdownReport report;
  report.stuck = detail::list_processes(*core_, ShutdownReport::k_named);
  // With room left in the list it is whole; who was just being buried does not count.
  report.stuck_count = report.stuck.size();
  if (report.stuck_count == ShutdownReport::k_named) {
    report.stuck_count = std::max<std::size_t>(report.stuck_count, process_count());
  }
  if (core_->workers) core_->workers->stop(std::chrono::milliseconds(200));
  core_->blocking.stop();
  report.clean = report.stuck.empty();
  ended_ = report;
  return report;
}

bool Runtime::step() { return core_->deterministic && core_->deterministic->step(); }

std::uint64_t Runtime::run_ready(std::uint64_t limit) {
  std::uint64_t steps = 0;
  while (steps < limit && step()) ++steps;
  return steps;
}

std::uint64_t Runtime::run_for(Duration time, std::uint64_t limit) {
  if (!core_->deterministic) return 0;
  detail::Deterministic& scheduler = *core_->deterministic;
  const Instant until = later(scheduler.now(), time);
  std::uint64_t steps = 0;
  while (steps < limit) {
    if (scheduler.step()) {
      ++steps;
    } else if (!scheduler.pass_time(until)) {
      break;
    }
  }
  if (scheduler.now() < until) scheduler.set_now(until);
  return steps;
}

std::uint64_t Runtime::run_until_idle(std::uint64_t limit) {
  if (!core_->deterministic) return 0;
  detail::Deterministic& scheduler = *core_->deterministic;
  std::uint64_t steps = 0;
  while (steps < limit) {
    if (scheduler.step()) {
      ++steps;
    } else if (!scheduler.pass_time(Instant::max())) {
      break;
    }
  }
  return steps;
}

std::uint64_t Runtime::fingerprint() const { return core_->deterministic ? core_->deterministic->fingerprint() : 0; }

}  // namespace skein::inline v0
