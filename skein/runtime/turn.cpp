// One turn of a process: boot, messages, resumed coroutines, and the way to its end.
#include "skein/base/must_hold.hpp"
#include "skein/runtime/core.hpp"
#include "skein/runtime/workers.hpp"

namespace skein::inline v0::detail {
namespace {

constexpr PayloadType k_no_message{"", nullptr, 0};    // what a handler waits in that no message began
constexpr std::uint64_t k_long_turn_ns = 100'000'000;  // the watch has seen these; no sample stands for them

using RootHandle = std::coroutine_handle<TaskPromise<void>>;

std::string where_of(const Slot& slot) {
  std::string where(slot.type.load(std::memory_order_relaxed)->name);
  const ProcessPhase phase = slot.phase.load(std::memory_order_relaxed);
  if (phase == ProcessPhase::starting) return where + ": init";
  if (phase == ProcessPhase::terminating) return where + ": terminate";
  if (slot.current != nullptr && slot.current->type != nullptr) {
    where += ": ";
    where += slot.current->type->name;
  }
  return where;
}

void crashed(Slot& slot, const std::string& where) {
  // The reason of an end already under way gives way to what went wrong on that way.
  slot.stop_requested = false;
  request_exit(slot, ExitReason::crash_of_current_exception(where),
               slot.phase.load(std::memory_order_relaxed) == ProcessPhase::running);
}

void end_current(Core& core, Slot& slot) {
  MessageNode* node = std::exchange(slot.current, nullptr);
  if (node == nullptr) return;
  // A request is still here only if its Reply died while an exception passed through and was caught after all.
  if (node->kind == MessageKind::request) {
    send_failure(core, node, CallFailure::no_answer);
  } else {
    free_node(node);
  }
}

// Init is done, which its starter waits for.
[[gnu::noinline]] void tell_starter(Core& core, Slot& slot) {
  const Pid self = pid_of(core, slot);
  MessageNode* reply = make_node(MessageKind::start_reply, StartReply{self, {}, false});
  reply->from = self;
  reply->ref = std::exchange(slot.start_ref, 0);
  const Pid starter = Pid::from_bits(slot.parent.load(std::memory_order_relaxed));
  if (slot.orphan) slot.parent.store(0, std::memory_order_relaxed);
  deliver(core, starter, reply);
}

// A handler returned, or its coroutine did.
void handler_done(Core& core, Slot& slot) {
  // The request a process crashed on is answered when it is dead, so it outlives the terminate handler.
  if (slot.stop_requested) return;
  const ProcessPhase phase = slot.phase.load(std::memory_order_relaxed);
  if (phase == ProcessPhase::starting) {
    // Messages are taken from now on.
    slot.phase.store(ProcessPhase::running, std::memory_order_relaxed);
    if (slot.start_ref != 0) tell_starter(core, slot);
  }
  if (phase != ProcessPhase::terminating) end_current(core, slot);
}

// For introspection: no handler waits any more.
void forget_wait(const Core& core, const Slot& slot) {
  auto& waits_in = core.table.waits_in(slot);
  if (waits_in.load(std::memory_order_relaxed) != nullptr) waits_in.store(nullptr, std::memory_order_relaxed);
}

void destroy_frames(const Core& core, Slot& slot) {
  if (slot.root) {
    slot.root.destroy();
    forget_wait(core, slot);
  }
  drop_early(slot);
  slot.root = nullptr;
  slot.leaf = nullptr;
  slot.wait_ref = 0;
  slot.timed_out = false;
  if (slot.arrived != nullptr) free_node(std::exchange(slot.arrived, nullptr));
}

// Resumes the waiting coroutine and sees whether its handler is done.
void resume(Core& core, Slot& slot) {
  slot.leaf.resume();
  if (!slot.root.done()) return;
  const std::exception_ptr error = RootHandle::from_address(slot.root.address()).promise().error;
  // Known before the frame goes: a Reply in it says why it was not answered.
  if (error) {
    const std::string where = where_of(slot);
    try {
      std::rethrow_exception(error);
    } catch (...) {
      crashed(slot, where);
    }
  }
  slot.root.destroy();
  slot.root = nullptr;
  slot.leaf = nullptr;
  forget_wait(core, slot);
  drop_early(slot);
  handler_done(core, slot);
}

// `type`: of the message it handles; a handler with a Reply may have let go of that.
void begin(Core& core, Slot& slot, HandlerResult frame, const PayloadType* type) {
  if (!frame) {
    handler_done(core, slot);
    return;
  }
  slot.root = frame;
  slot.leaf = frame;
  resume(core, slot);
  if (slot.root) core.table.waits_in(slot).store(type, std::memory_order_relaxed);
}

void boot(Core& core, Slot& slot) {
  HandlerResult frame;
  try {
    frame = slot.boot(BootStep::run, core, slot);
  } catch (...) {
    crashed(slot, std::string(slot.type.load(std::memory_order_relaxed)->name) + ": init");
    return;
  }
  begin(core, slot, frame, &k_no_message);
}

std::string_view kind_name(MessageKind kind) {
  switch (kind) {
    case MessageKind::request:
      return "call";
    case MessageKind::cast:
      return "cast";
    default:
      return "info";
  }
}

void trace(Core& core, Slot& slot, const MessageNode* node) {
  const TracedMessage message{core.now(), node->from, node->type == nullptr ? "" : node->type->name,
                              kind_name(node->kind)};
  if (!core.traces.record(pid_of(core, slot), message)) slot.traced.store(false, std::memory_order_relaxed);
}

// A message that no handler takes has still waited in the queue.
void note_waited(Slot& slot) {
  if (slot.high_water.load(std::memory_order_relaxed) == 0) slot.high_water.store(1, std::memory_order_relaxed);
}

// True if the message was dealt with without a handler.
bool is_settled(Core& core, Slot& slot, MessageNode* node, const ProcessType* type) {
  switch (node->kind) {
    case MessageKind::down: {
      // Validated here, not at intake: demonitor may have come in between. Whom it was on may be nobody.
      const std::uint64_t ref = payload_as<Down>(node).ref.id;
      if (has_monitor(slot, ref)) {
        remove_monitor(slot, ref);
        return false;
      }
      free_node(node);
      return true;
    }
    case MessageKind::exit_signal: {
      // As gen_server does: a trapping server told to end by its parent terminates with that reason.
      const auto& exit = payload_as<Exit>(node);
      const Pid parent = Pid::from_bits(slot.parent.load(std::memory_order_relaxed));
      if (!slot.server_start || exit.from != parent || !parent) return false;
      request_exit(slot, exit.reason, true);
      free_node(node);
      return true;
    }
    case MessageKind::request:
      if (node->entry->server == type) return false;
      note_waited(slot);
      send_failure(core, node, CallFailure::wrong_server);
      return true;
    case MessageKind::cast:
      if (node->entry->server == type) return false;
      note_waited(slot);
      free_node(node);
      return true;
    default:
      return false;
  }
}

void handle(Core& core, Slot& slot, MessageNode* node) {
  const ProcessType* type = slot.type.load(std::memory_order_relaxed);
  if (node->kind != MessageKind::info && is_settled(core, slot, node, type)) return;
  if (slot.traced.load(std::memory_order_relaxed)) [[unlikely]]
    trace(core, slot, node);
  slot.handled.store(slot.handled.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  slot.current = node;
  const PayloadType* handled = node->type;
  publish_handling(handled);
  HandlerResult frame;
  try {
    const Self self(core, slot);
    frame = node->entry != nullptr ? node->entry->run(slot.state, self, node) : type->info(slot.state, self, node);
  } catch (...) {
    crashed(slot, where_of(slot));
    return;
  }
  begin(core, slot, frame, handled == nullptr ? &k_no_message : handled);
}

// The process was asked to end, or crashed. False when it is dead or has nothing to do but wait for its jobs.
bool go_down(Core& core, Slot& slot) {
  destroy_frames(core, slot);
  const ProcessType* type = slot.type.load(std::memory_order_relaxed);
  const ProcessPhase phase = slot.phase.load(std::memory_order_relaxed);
  if (phase == ProcessPhase::running && slot.run_terminate && slot.state_alive && type->terminate != nullptr) {
    slot.phase.store(ProcessPhase::terminating, std::memory_order_relaxed);
    slot.stop_requested = false;
    publish_handling(nullptr);
    HandlerResult frame;
    const ExitReason reason = exit_reason(slot);
    try {
      frame = type->terminate(slot.state, Self(core, slot), reason);
    } catch (...) {
      crashed(slot, std::string(type->name) + ": terminate");
    }
    if (frame) {
      slot.root = frame;
      slot.leaf = frame;
      resume(core, slot);
    }
    if (slot.root && !slot.stop_requested) {
      core.note_ending(pid_of(core, slot), true);
      return true;
    }
    destroy_frames(core, slot);
  }
  if (destroy_process(core, slot)) {
    bury(core, slot);
    return false;
  }
  return true;
}

[[nodiscard]] bool can_resume(const Slot& slot) {
  return slot.leaf && (slot.arrived != nullptr || slot.timed_out || slot.wait_ref == k_yield_ref);
}

void resume_waiting(Core& core, Slot& slot) {
  slot.timed_out = false;
  if (slot.wait_ref == k_yield_ref) slot.wait_ref = 0;
  const PayloadType* waits_in = core.table.waits_in(slot).load(std::memory_order_relaxed);
  publish_handling(waits_in == &k_no_message ? nullptr : waits_in);
  resume(core, slot);
}

MessageNode* take_continuation(Slot& slot) {
  if (slot.has_spare) return std::exchange(slot.spare().continuation, nullptr);
  if (slot.extension == nullptr) return nullptr;
  return std::exchange(slot.extension->continuation, nullptr);
}

// Does one thing. False when there is nothing to do.
bool step(Core& core, Slot& slot) {
  if (slot.leaf) {
    if (!can_resume(slot)) return false;
    resume_waiting(core, slot);
    return true;
  }
  if (slot.phase.load(std::memory_order_relaxed) != ProcessPhase::running) return false;
  MessageNode* node = take_continuation(slot);
  if (node == nullptr && slot.queue_head != nullptr) node = pop_queued(slot);
  if (node == nullptr) return false;
  handle(core, slot, node);
  return true;
}

void before_rest(Core& core, Slot& slot) {
  const ProcessType* type = slot.type.load(std::memory_order_relaxed);
  if (type->release == nullptr || slot.leaf || slot.phase.load(std::memory_order_relaxed) != ProcessPhase::running)
    return;
  Extension& extension = extend(slot);
  const std::uint32_t handled = slot.handled.load(std::memory_order_relaxed);
  if (extension.tick_armed || handled == extension.handled_at_tick) return;
  extension.handled_at_tick = handled;
  extension.tick_armed = true;
  extension.tick_at = later(core.now(), core.options.idle_release);
  const auto tick = core.add_timer(extension.tick_at, Timer{pid_of(core, slot), {}, {}});
  extension.tick_armed = tick.has_value();
  if (tick) extension.tick = *tick;
}

// One turn of k_sampled_turns is timed and stands for as many; long ones count as they are, which the watch does if it
// saw them. Only the part before the process may run elsewhere: two clock reads cost as much as a small handler does.
void stop_timing(Slot& slot) {
  if (t_turn.timed_since == 0) [[likely]]
    return;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto spent = static_cast<std::uint64_t>(now - std::exchange(t_turn.timed_since, 0));
  const Worker* worker = t_turn.worker;
  if (worker->counted_turn.load(std::memory_order_relaxed) == worker->turn.load(std::memory_order_relaxed)) return;
  const std::uint64_t stands_for = spent < k_long_turn_ns ? k_sampled_turns : 1;
  const std::uint64_t before = slot.handler_ns.load(std::memory_order_relaxed);
  slot.handler_ns.store(before + spent * stands_for, std::memory_order_relaxed);
}

// True when an exit in progress has run its terminate handler to the end.
bool terminate_finished(const Slot& slot) {
  return slot.phase.load(std::memory_order_relaxed) == ProcessPhase::terminating && !slot.root;
}

}  // namespace

bool launch_here(Core& core, Slot& slot) {
  Worker* worker = t_turn.worker;
  Slot* starter = std::exchange(t_turn.running, &slot);
  const PayloadType* handling = nullptr;
  if (worker != nullptr) {
    // If this takes too long, the new process is to blame.
    handling = worker->handling.load(std::memory_order_relaxed);
    worker->handling.store(nullptr, std::memory_order_relaxed);
    worker->running.store(&slot, std::memory_order_release);
  }
  const ProcessType* type = slot.type.load(std::memory_order_relaxed);
  try {
    slot.boot(BootStep::run, core, slot);
  } catch (...) {
    crashed(slot, std::string(type->name) + ": init");
  }
  t_turn.running = starter;
  --t_turn.budget;
  if (worker != nullptr) {
    worker->running.store(starter, std::memory_order_release);
    worker->handling.store(handling, std::memory_order_relaxed);
  }
  if (slot.stop_requested) {
    core.schedule_new(slot);
    return false;
  }
  slot.phase.store(ProcessPhase::running, std::memory_order_relaxed);
  slot.start_ref = 0;
  if (slot.orphan) slot.parent.store(0, std::memory_order_relaxed);
  const bool goes_on = type->release != nullptr || (slot.has_spare && slot.spare().continuation != nullptr) ||
                       (slot.extension != nullptr && slot.extension->continuation != nullptr);
  if (goes_on || !slot.mailbox.rest()) core.schedule_new(slot);
  return true;
}

void run_turn(Core& core, Slot& slot) {
  must_hold(slot.phase.load(std::memory_order_relaxed) != ProcessPhase::free,
            "mailbox.hpp 1: who is scheduled lives, so nobody has scheduled it twice");
  if (slot.debt != 0) {
    t_turn.budget -= std::exchange(slot.debt, std::uint16_t{0});
    t_turn.sent_to_long = k_unpriced_sends;
  }
  const bool waits = t_turn.budget <= 0;
  if (slot.boot != nullptr && !slot.mailbox.has_new()) boot(core, slot);
  bool leave_mail = t_turn.leaves_mail && slot.queue_head != nullptr;
  for (;;) {
    if (!std::exchange(leave_mail, false)) take_mail(core, slot);
    if (slot.boot != nullptr && !slot.stop_requested) boot(core, slot);
    if (slot.phase.load(std::memory_order_relaxed) == ProcessPhase::ending) {
      slot.stop_requested = false;
      if (slot.extension->jobs == 0) {
        bury(core, slot);
        return;
      }
    } else if (slot.stop_requested || terminate_finished(slot)) {
      if (!go_down(core, slot)) return;
      continue;
    }
    bool worked = false;
    while (t_turn.budget > 0 && !slot.stop_requested && step(core, slot)) {
      worked = true;
      --t_turn.budget;
      // Nobody waits for a turn when the runtime stops, and there would be no next one to end in.
      if (is_turn_cut() && !core.stopping.load(std::memory_order_relaxed)) [[unlikely]]
        t_turn.budget = std::min(t_turn.budget, 0);
    }
    if (slot.stop_requested || terminate_finished(slot)) continue;
    if (t_turn.budget <= 0) {
      // Its place is at the end of the queue, whether or not there is more to do: resting is settled on its next turn.
      stop_timing(slot);
      count_popped(slot);
      slot.debt = static_cast<std::uint16_t>(std::min(-t_turn.budget, k_largest_debt));
      core.schedule_again(slot, waits);
      return;
    }
    if (worked && slot.mailbox.has_new()) continue;
    before_rest(core, slot);
    stop_timing(slot);
    count_popped(slot);
    if (slot.mailbox.rest()) return;
  }
}

}  // namespace skein::inline v0::detail
