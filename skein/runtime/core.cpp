#include "skein/runtime/core.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "skein/runtime/deterministic.hpp"
#include "skein/runtime/dump.hpp"
#include "skein/runtime/futex.hpp"
#include "skein/runtime/workers.hpp"

namespace skein::inline v0::detail {
namespace {

unsigned worker_count(const RuntimeOptions& options) {
  if (options.workers != 0) return options.workers;
  return std::max(1U, std::thread::hardware_concurrency());
}

Instant steady_now() { return Instant(Duration(std::chrono::steady_clock::now().time_since_epoch())); }

// A send to a receiver with a long queue costs the sender that much of its turns, so that a flood waits for its sink.
constexpr std::uint32_t k_priced_backlog = 256;
constexpr std::uint32_t k_highest_price = 4096;

// A mailbox for fewer messages than this counts each at once; a larger one may look up to k_uncounted fuller than it
// is.
constexpr std::uint32_t k_exact_below = 64 * k_uncounted;

}  // namespace

Core::Core(RuntimeOptions chosen)
    : options(std::move(chosen)),
      table(options.max_processes),
      blocking(options.blocking_threads, options.blocking_queue),
      wheel(options.seed ? Instant{} : steady_now(), options.max_timers) {
  if (options.seed) {
    deterministic = std::make_unique<Deterministic>(*this, *options.seed);
  } else {
    workers = std::make_unique<Workers>(*this, worker_count(options));
  }
}

// Only what never ended is left: processes whose handler or blocking job did not return in time. Their state is not
// touched, as what it points to may be gone.
Core::~Core() {
  const auto free_all = [](MessageNode* node) {
    while (node != nullptr) free_node(std::exchange(node, node->next));
  };
  for (std::uint32_t i = 0; i < table.used(); ++i) {
    Slot& slot = table.at(i);
    if (slot.phase.load(std::memory_order_relaxed) == ProcessPhase::free) continue;
    free_all(slot.mailbox.close());
    free_all(slot.queue_head);
    if (slot.has_spare && slot.spare().continuation != nullptr) free_node(slot.spare().continuation);
    if (slot.extension == nullptr) continue;
    if (slot.extension->continuation != nullptr) free_node(slot.extension->continuation);
    free_all(slot.extension->deferred_head);
    drop_early(slot);
    delete slot.extension;
  }
}

Instant Core::now() const { return deterministic ? deterministic->now() : clock.now(steady_now); }

void Core::schedule_new(Slot& slot) {
  if (workers) [[likely]] {
    workers->schedule_new(slot);
  } else {
    deterministic->schedule(slot);
  }
}

void Core::schedule_woken(Slot& slot) {
  if (workers) [[likely]] {
    workers->schedule_woken(slot);
  } else {
    deterministic->schedule(slot);
  }
}

void Core::schedule_again(Slot& slot, bool waits) {
  if (workers) {
    workers->schedule_again(slot, waits);
  } else {
    schedule_woken(slot);
  }
}

std::optional<TimerRef> Core::add_timer(Instant at, Timer timer) {
  const std::scoped_lock lock(timer_mutex);
  const auto ref = wheel.add(at, std::move(timer));
  // The clock's thread looks for pauses more often while there are timers.
  if (ref && (at < timer_wakes_at || std::exchange(clock_sleeps_long, false))) timer_changed.notify_one();
  return ref;
}

bool Core::cancel_timer(TimerRef ref) {
  std::optional<Timer> cancelled;  // goes after the lock: its value's destructor may use timers
  const std::scoped_lock lock(timer_mutex);
  cancelled = wheel.cancel(ref);
  return cancelled.has_value();
}

Instant Core::fire_timers(Instant now_instant) {
  std::vector<TimerWheel::Due> due;
  Instant next = Instant::max();
  {
    const std::scoped_lock lock(timer_mutex);
    wheel.advance(now_instant, due);
    next = wheel.next();
  }
  for (TimerWheel::Due& fired : due) {
    if (fired.timer.every > Duration::zero() && !table.is_alive(fired.timer.to)) {
      cancel_timer(fired.ref);
      continue;
    }
    MessageNode* node = nullptr;
    try {
      node = fired.timer.make ? fired.timer.make() : new_node(MessageKind::tick);
    } catch (...) {
      std::fputs(fmt::format("skein: a timer's message for {} could not be copied: {}\n", fired.timer.to.text(),
                             ExitReason::crash_of_current_exception("timer").text())
                     .c_str(),
                 stderr);
      continue;
    }
    deliver(*this, fired.timer.to, node);
  }
  return next;
}

std::string Core::name_of(Pid pid) {
  std::string found;
  names.each([&](const std::string& name, Pid holder) {
    if (holder == pid) found = name;
  });
  return found;
}

void Core::report_stuck(const StuckReport& report) const {
  if (options.report_stuck) {
    options.report_stuck(report);
  } else {
    std::fputs(fmt::format("skein: {} {} ({}) has been busy with {} for {} ms{}\n", report.pid.text(), report.name,
                           report.type, report.handling, report.for_how_long.count() / 1'000'000,
                           report.past_stuck_limit ? ": stuck" : "")
                   .c_str(),
               stderr);
  }
  if (!report.past_stuck_limit || options.on_stuck != OnStuck::abort) return;
  if (!options.dump_file.empty()) dump_to_file(const_cast<Core&>(*this), options.dump_file);
  std::fputs(fmt::format("skein: ending the program: {} is stuck (on_stuck = abort)\n", report.pid.text()).c_str(),
             stderr);
  std::abort();
}

void Core::note_ending(Pid pid, bool terminating) {
  const std::scoped_lock lock(ending_mutex);
  if (ending_pids.insert_or_assign(pid.bits(), Ending{now(), terminating, false}).second) {
    ending.fetch_add(1, std::memory_order_relaxed);
  }
}

void Core::forget_ending(Pid pid) {
  const std::scoped_lock lock(ending_mutex);
  if (ending_pids.erase(pid.bits()) != 0) ending.fetch_sub(1, std::memory_order_relaxed);
}

void Core::watch_ending(Instant now_instant) {
  if (ending.load(std::memory_order_relaxed) == 0) return;
  std::vector<StuckReport> reports;
  {
    const std::scoped_lock lock(ending_mutex);
    for (auto& [bits, entry] : ending_pids) {
      const Duration lasted = now_instant - entry.since;
      if (entry.reported || lasted < options.stuck_limit) continue;
      entry.reported = true;
      const Pid pid = Pid::from_bits(bits);
      const ProcessType* type = table.find(pid)->type.load(std::memory_order_relaxed);
      // What waits in terminate can still be killed, so that is no reason to end the program.
      reports.push_back({pid, "", std::string(type->name),
                         entry.terminating ? "a terminate that waits" : "a blocking job that does not return", lasted,
                         !entry.terminating});
    }
  }
  for (StuckReport& report : reports) {
    report.name = name_of(report.pid);
    report_stuck(report);
  }
}

Pid pid_of(const Core& core, const Slot& slot) {
  return {0, core.table.index_of(slot), slot.generation.load(std::memory_order_relaxed)};
}

Instant clock_now(Core& core) { return core.now(); }

Instant wait_deadline(Core& core, Duration timeout) {
  if (timeout == k_forever) return Instant::max();
  // The coarse clock costs a quarter of the exact one, but on a virtual machine it was seen to lag by 15 ms: its place
  // is where that is nothing, and what it may lag is added.
  constexpr Duration k_coarse_from = std::chrono::seconds(1);
  constexpr Duration k_coarseness = std::chrono::milliseconds(20);
  if (core.deterministic || timeout < k_coarse_from) return later(core.now(), timeout);
  const Instant coarse = core.clock.now([] {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return Instant(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
  });
  return later(coarse + k_coarseness, timeout);
}

Pid find_name(Core& core, std::string_view name) { return core.names.find(name); }

bool budget_left(const Core& core) { return t_turn.core != &core || (!is_turn_cut() && t_turn.budget-- > 0); }

void YieldAwaiter::await_suspend(std::coroutine_handle<> waiting) const {
  slot->leaf = waiting;
  slot->wait_ref = k_yield_ref;
  slot->deadline = Instant::max();
}

// Gives the slot back and throws if the name is taken.
static void claim_name(Core& core, Slot& slot, std::string_view name) {
  const Pid pid = pid_of(core, slot);
  const Pid holder = core.names.claim(name, pid);
  if (holder == pid) {
    extend(slot).name = name;
    return;
  }
  slot.phase.store(ProcessPhase::free, std::memory_order_relaxed);
  // It was open, if only for a moment: what came in, meant for the slot's last process, is answered.
  MessageNode* node = slot.mailbox.close();
  slot.generation.store(pid.generation() + 1, std::memory_order_release);
  while (node != nullptr) answer_for_the_dead(core, std::exchange(node, node->next), ExitReason::noproc());
  give_memory(slot.state, slot.state_memory);
  slot.state_memory = StateMemory::in_slot;
  slot.state = nullptr;
  slot.has_spare = false;
  slot.boot = nullptr;
  core.table.release(slot, t_turn.core == &core ? t_turn.slots : nullptr);
  throw SpawnError(fmt::format("the name '{}' is taken by {}", name, holder.text()), holder);
}

Slot& claim_slot(Core& core, const SpawnRequest& request, const SpawnOptions& options, Slot* spawner) {
  if (core.stopping.load(std::memory_order_relaxed)) throw SpawnError("the runtime is shutting down", Pid{});
  if (spawner == nullptr && (options.link || options.monitor)) throw SpawnError(std::string(k_nobody_to_tie), Pid{});
  const bool here = t_turn.core == &core;
  Slot* claimed = core.table.claim(here ? t_turn.slots : nullptr);
  if (claimed == nullptr) {
    throw SpawnError(fmt::format("no process slot is free (max_processes = {}): raise the limit or end some processes",
                                 core.table.capacity()),
                     Pid{});
  }
  Slot& slot = *claimed;
  const Pid pid = pid_of(core, slot);
  slot.type.store(request.type, std::memory_order_relaxed);
  slot.full_policy.store(static_cast<std::uint8_t>(options.when_full), std::memory_order_relaxed);
  const std::uint32_t limit = options.mailbox_limit != 0 ? options.mailbox_limit : core.options.mailbox_limit;
  slot.mailbox_limit.store(limit, std::memory_order_relaxed);
  slot.exact_count = limit < k_exact_below;
  slot.traced.store(false, std::memory_order_relaxed);
  slot.trap_exit = false;
  slot.handled.store(0, std::memory_order_relaxed);
  slot.high_water.store(0, std::memory_order_relaxed);
  slot.handler_ns.store(0, std::memory_order_relaxed);
  slot.next_ref = 0;
  slot.start_ref = 0;
  slot.stop_requested = false;
  slot.run_terminate = false;
  slot.server_start = false;
  slot.timed_out = false;
  slot.orphan = false;
  slot.ignored = false;
  slot.end = ExitKind::normal;
  slot.debt = 0;
  slot.flooded.store(false, std::memory_order_relaxed);
  slot.boot = request.boot;
  if (request.bytes <= Slot::k_inline_bytes && request.alignment <= 16) {
    slot.state_memory = StateMemory::in_slot;
    slot.state = slot.inline_state;
  } else {
    slot.state_memory = memory_of(request.bytes);
    slot.state = take_bytes(request.bytes);
    new (slot.inline_state) Spare{};
    slot.has_spare = true;
  }
  slot.parent.store(spawner == nullptr ? 0 : pid_of(core, *spawner).bits(), std::memory_order_relaxed);
  slot.first_link = Pid{};
  slot.first_watcher = Watcher{};
  // Open before anybody can find it by its name; it runs from launch() on.
  slot.phase.store(ProcessPhase::starting, std::memory_order_release);
  slot.mailbox.open();
  if (!options.name.empty()) claim_name(core, slot, options.name);
  if (spawner != nullptr && options.link) {
    slot.first_link = pid_of(core, *spawner);
    add_link(*spawner, pid);
  }
  if (spawner != nullptr && options.monitor) {
    const std::uint64_t ref = ++spawner->next_ref;
    slot.first_watcher = Watcher{pid_of(core, *spawner), ref};
    add_monitor(*spawner, ref, pid);
  }
  return slot;
}

Pid launch(Core& core, Slot& slot) {
  const Pid pid = pid_of(core, slot);
  core.schedule_new(slot);
  return pid;
}

// What a message to a long queue costs its sender. A process of another runtime costs nothing here: that runtime may be
// gone before this turn ends.
static void charge_for_backlog(const Core& core, Slot& slot, std::uint32_t backlog) {
  if (t_turn.worker == nullptr || t_turn.core != &core || t_turn.budget <= -k_largest_debt) return;
  if (++t_turn.sent_to_long <= k_unpriced_sends) return;
  t_turn.budget -= static_cast<std::int32_t>(std::min(backlog, k_highest_price));
  if (&slot == t_turn.running) return;
  t_turn.sink = &slot;
  slot.flooded.store(true, std::memory_order_relaxed);
}

// Of a request or an unlink the sender learns by the result; links and monitors are answered for the dead.
static SendResult nobody_there(Core& core, MessageNode* node) {
  const bool is_told =
      node->kind == MessageKind::request || node->kind == MessageKind::look || node->kind == MessageKind::unlink;
  if (!is_told) {
    answer_for_the_dead(core, node, ExitReason::noproc());
  } else {
    free_node(node);
  }
  return SendResult::noproc;
}

SendResult deliver(Core& core, Pid to, MessageNode* node) {
  Slot* slot = to ? core.table.find(to) : nullptr;
  if (slot == nullptr) return nobody_there(core, node);
  fetch_to_write(slot);
  node->generation = to.generation();
  if (slot->generation.load(std::memory_order_acquire) != to.generation()) return nobody_there(core, node);
  std::uint32_t limit = is_bounded(node->kind) ? slot->mailbox_limit.load(std::memory_order_relaxed) : 0;
  const auto policy = static_cast<FullMailbox>(slot->full_policy.load(std::memory_order_relaxed));
  if (policy == FullMailbox::drop_oldest) limit = limit > UINT32_MAX / 2 ? UINT32_MAX : limit * 2;
  std::uint32_t backlog = 0;
  const PushResult pushed = slot->mailbox.push(node, slot->queued.load(std::memory_order_relaxed), limit, backlog);
  if (backlog >= k_priced_backlog) charge_for_backlog(core, *slot, backlog);
  switch (pushed) {
    case PushResult::wake:
      core.schedule_woken(*slot);
      return SendResult::ok;
    case PushResult::queued:
      return SendResult::ok;
    case PushResult::full:
      free_node(node);
      return policy == FullMailbox::reject ? SendResult::full : SendResult::dropped;
    case PushResult::dead:
      break;
  }
  return nobody_there(core, node);
}

void arm_deadline(Core& core, Slot& slot) {
  Extension& extension = extend(slot);
  if (extension.tick_armed && extension.tick_at <= slot.deadline) return;
  const auto tick = core.add_timer(slot.deadline, Timer{pid_of(core, slot), {}, {}});
  if (!tick) throw TimersExhausted(core.options.max_timers);
  if (extension.tick_armed) core.cancel_timer(extension.tick);
  extension.tick = *tick;
  extension.tick_armed = true;
  extension.tick_at = slot.deadline;
}

TimerRef add_timer(Core& core, Pid to, Duration after, Duration every, std::function<MessageNode*()> make) {
  const auto ref = core.add_timer(later(core.now(), after), Timer{to, every, std::move(make)});
  if (!ref) throw TimersExhausted(core.options.max_timers);
  return *ref;
}

bool cancel_timer(Core& core, TimerRef timer) { return timer && core.cancel_timer(timer); }

void run_blocking(Core& core, Slot& slot, std::uint64_t ref, std::move_only_function<void()> job) {
  const Pid pid = pid_of(core, slot);
  ++extend(slot).jobs;
  auto work = [held = core.shared_from_this(), pid, ref, run = std::move(job)]() mutable {
    try {
      run();
    } catch (...) {
      std::fputs(fmt::format("skein: a blocking job of {} let an exception out: {}\n", pid.text(),
                             ExitReason::crash_of_current_exception("blocking job").text())
                     .c_str(),
                 stderr);
    }
    run = nullptr;
    MessageNode* done = new_node(MessageKind::job_done);
    done->ref = ref;
    deliver(*held, pid, done);
  };
  try {
    if (core.deterministic) {
      core.deterministic->submit(std::move(work));
    } else {
      core.blocking.submit(std::move(work));
    }
  } catch (...) {
    --slot.extension->jobs;
    throw;
  }
}

void set_continuation(Slot& slot, MessageNode* node) {
  MessageNode*& continuation = slot.has_spare ? slot.spare().continuation : extend(slot).continuation;
  if (continuation != nullptr) free_node(continuation);
  continuation = node;
}

void apply_init(Slot& slot, const Init& init) {
  if (init.is_ignore()) {
    slot.ignored = true;
    request_exit(slot, ExitReason::normal(), false);
  } else if (init.is_stop()) {
    request_exit(slot, init.reason(), false);
  }
}

}  // namespace skein::inline v0::detail
