// The end of a process: what "dead" means, in the order in which others may notice it.
#include "skein/runtime/core.hpp"
#include "skein/runtime/outside.hpp"

namespace skein::inline v0::detail {
namespace {

void send_down(Core& core, Pid dead, Watcher watcher, const ExitReason& reason) {
  MessageNode* node = make_node(MessageKind::down, Down{MonitorRef{watcher.ref}, dead, reason});
  node->from = dead;
  deliver(core, watcher.pid, node);
}

void send_exit(Core& core, Pid dead, Pid to, const ExitReason& reason) {
  MessageNode* node = make_node(MessageKind::exit_signal, Exit{dead, reason});
  node->from = dead;
  node->flag = true;
  deliver(core, to, node);
}

// The process that unlinked remembers that until this acknowledgement arrives.
void acknowledge_unlink(Core& core, Pid dead, const MessageNode* unlink) {
  MessageNode* node = new_node(MessageKind::unlink_ack);
  node->from = dead;
  node->ref = unlink->ref;
  deliver(core, unlink->from, node);
}

// What a process leaves behind. A constructor with its list: written as one value the compiler clears all of it first.
struct Remains {
  Remains(const Core& core, Slot& slot)
      : pid(pid_of(core, slot)),
        reason(exit_reason(slot)),
        extension(std::exchange(slot.extension, nullptr)),
        first_link(std::exchange(slot.first_link, Pid{})),
        first_watcher(std::exchange(slot.first_watcher, Watcher{})),
        first_monitor(std::exchange(slot.first_monitor, Watcher{})),
        spare(slot.has_spare ? &slot.spare() : nullptr),
        queue(std::exchange(slot.queue_head, nullptr)),
        current(std::exchange(slot.current, nullptr)),
        starter(Pid::from_bits(slot.parent.load(std::memory_order_relaxed))),
        start_ref(std::exchange(slot.start_ref, 0)),
        ignored(slot.ignored) {}

  Pid pid;
  ExitReason reason;
  Extension* extension;
  Pid first_link;
  Watcher first_watcher;
  Watcher first_monitor;
  Spare* spare;  // in the slot, which goes back last; nullptr: it has none
  MessageNode* queue;
  MessageNode* left = nullptr;
  MessageNode* current;
  Pid starter;
  std::uint64_t start_ref;
  bool ignored;
};

// Takes everything out of the slot but its spare place and leaves it ready for its next process.
Remains empty_slot(Core& core, Slot& slot) {
  Remains remains(core, slot);
  slot.queue_tail = nullptr;
  slot.queued.store(0, std::memory_order_relaxed);
  slot.popped = 0;
  slot.has_spare = false;
  slot.phase.store(ProcessPhase::free, std::memory_order_relaxed);
  core.table.mark_dead(slot);
  remains.left = slot.mailbox.close();
  // From here on senders see that it is dead by the generation.
  slot.generation.store(remains.pid.generation() + 1, std::memory_order_release);
  return remains;
}

void forget_link(Remains& remains, Pid other) {
  if (remains.first_link == other) remains.first_link = Pid{};
  if (remains.extension != nullptr) remains.extension->links.erase(other.bits());
}

void forget_watcher(Remains& remains, Watcher watcher) {
  if (remains.first_watcher == watcher) remains.first_watcher = Watcher{};
  if (remains.spare != nullptr) {
    for (Watcher& each : remains.spare->watchers) {
      if (each == watcher) each = Watcher{};
    }
  }
  if (remains.extension != nullptr) remains.extension->watchers.erase(watcher);
}

// What came in between the last look and the close. An unlink or demonitor there was in time.
void settle_late_mail(Core& core, Remains& remains) {
  for (MessageNode* node = remains.left; node != nullptr;) {
    MessageNode* next = node->next;
    if (node->generation != remains.pid.generation()) {
      answer_for_the_dead(core, node, ExitReason::noproc());
    } else if (node->kind == MessageKind::unlink) {
      forget_link(remains, node->from);
      acknowledge_unlink(core, remains.pid, node);
      free_node(node);
    } else if (node->kind == MessageKind::demonitor) {
      forget_watcher(remains, Watcher{node->from, node->ref});
      free_node(node);
    } else {
      answer_for_the_dead(core, node, remains.reason, true);
    }
    node = next;
  }
}

void send_demonitor(Core& core, Pid dead, Pid whom, std::uint64_t ref) {
  MessageNode* node = new_node(MessageKind::demonitor);
  node->from = dead;
  node->ref = ref;
  deliver(core, whom, node);
}

// Whom it watched need not remember it.
void drop_monitors(Core& core, const Remains& remains) {
  const Watcher& first = remains.first_monitor;
  if (first.pid) send_demonitor(core, remains.pid, first.pid, first.ref);
  if (remains.extension == nullptr) return;
  for (const auto& [ref, whom] : remains.extension->monitors) {
    if (whom) send_demonitor(core, remains.pid, whom, ref);
  }
}

void tell_starter(Core& core, const Remains& remains) {
  if (remains.start_ref == 0) return;
  StartReply reply{{}, StartError{remains.reason, {}}, !remains.ignored};
  MessageNode* node = make_node(MessageKind::start_reply, std::move(reply));
  node->from = remains.pid;
  node->ref = remains.start_ref;
  deliver(core, remains.starter, node);
}

void tell_everybody(Core& core, Remains& remains) {
  // A start that failed is told by its answer alone: no stray signal for the starter.
  const Pid starter = remains.start_ref != 0 ? remains.starter : Pid{};
  if (remains.first_link && remains.first_link != starter) {
    send_exit(core, remains.pid, remains.first_link, remains.reason);
  }
  if (remains.first_watcher.pid) send_down(core, remains.pid, remains.first_watcher, remains.reason);
  if (remains.spare != nullptr) {
    for (const Watcher& each : remains.spare->watchers) {
      if (each.pid) send_down(core, remains.pid, each, remains.reason);
    }
  }
  if (remains.extension != nullptr) {
    for (const std::uint64_t bits : remains.extension->links) {
      const Pid other = Pid::from_bits(bits);
      if (other != starter) send_exit(core, remains.pid, other, remains.reason);
    }
    for (const Watcher& watcher : remains.extension->watchers) send_down(core, remains.pid, watcher, remains.reason);
  }
}

}  // namespace

void answer_for_the_dead(Core& core, MessageNode* node, const ExitReason& reason, bool died) noexcept {
  switch (node->kind) {
    case MessageKind::request:
    case MessageKind::look:
      send_failure(core, node, died ? CallFailure::server_died : CallFailure::noproc, reason);
      return;
    case MessageKind::monitor:
      send_down(core, payload_as<Pid>(node), Watcher{node->from, node->ref}, ExitReason::noproc());
      break;
    case MessageKind::link:
      send_exit(core, payload_as<Pid>(node), node->from, ExitReason::noproc());
      break;
    case MessageKind::unlink:
      acknowledge_unlink(core, payload_as<Pid>(node), node);
      break;
    default:
      break;
  }
  free_node(node);
}

bool destroy_process(Core& core, Slot& slot) {
  slot.phase.store(ProcessPhase::ending, std::memory_order_relaxed);
  slot.stop_requested = false;
  const ProcessType* type = slot.type.load(std::memory_order_relaxed);
  if (slot.boot != nullptr) {
    slot.boot(BootStep::discard, core, slot);
    slot.boot = nullptr;
  }
  if (slot.state_alive) {
    slot.state_alive = false;
    type->destroy(slot.state);
  }
  if (slot.state_memory != StateMemory::in_slot) {
    give_memory(slot.state, slot.state_memory);
    slot.state_memory = StateMemory::in_slot;
  }
  slot.state = nullptr;
  if (slot.extension == nullptr || slot.extension->jobs == 0) return true;
  core.note_ending(pid_of(core, slot), false);
  return false;
}

void bury(Core& core, Slot& slot) {
  if (core.ending.load(std::memory_order_relaxed) != 0) core.forget_ending(pid_of(core, slot));
  if (slot.extension != nullptr && !slot.extension->name.empty()) {
    core.names.release(slot.extension->name, pid_of(core, slot));
  }
  Remains remains = empty_slot(core, slot);
  // Nothing of the slot but its spare place is used below; and it goes back only when everybody was told, so that a
  // count of living processes that reads zero means that nothing is under way.
  t_turn.running = nullptr;
  t_turn.timed_since = 0;
  settle_late_mail(core, remains);
  for (MessageNode* node = remains.queue; node != nullptr;) {
    MessageNode* next = node->next;
    answer_for_the_dead(core, node, remains.reason, true);
    node = next;
  }
  if (remains.current != nullptr) answer_for_the_dead(core, remains.current, remains.reason, true);
  tell_everybody(core, remains);
  drop_monitors(core, remains);
  if (remains.spare != nullptr && remains.spare->continuation != nullptr) free_node(remains.spare->continuation);
  if (remains.extension != nullptr) {
    if (remains.extension->continuation != nullptr) free_node(remains.extension->continuation);
    for (MessageNode* node = remains.extension->deferred_head; node != nullptr;) {
      MessageNode* next = node->next;
      send_answer(core, node);
      node = next;
    }
    if (remains.extension->tick_armed) core.cancel_timer(remains.extension->tick);
    delete remains.extension;
  }
  tell_starter(core, remains);
  core.table.release(slot, t_turn.slots);
}

}  // namespace skein::inline v0::detail
