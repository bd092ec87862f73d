// Intake: what arrives in a mailbox is put into the queue of ordinary messages, or acts at once if it is a signal.
#include <array>

#include "skein/runtime/core.hpp"
#include "skein/runtime/outside.hpp"

namespace skein::inline v0::detail {
namespace {

constexpr std::size_t k_given_up = 256;             // waits of one handler that are over, the last of them
constexpr std::size_t k_early_answers = 1'000'000;  // to calls of one handler that it does not await yet

constexpr std::uint32_t k_void_downs = 64;  // in one queue, before it is gone through for them

void send_signal(Core& core, Pid to, MessageNode* node) { deliver(core, to, node); }

void count_queued(Slot& slot, std::uint32_t added) {
  count_popped(slot);
  const std::uint32_t queued = slot.queued.load(std::memory_order_relaxed) + added;
  slot.queued.store(queued, std::memory_order_relaxed);
  if (queued > slot.high_water.load(std::memory_order_relaxed)) {
    slot.high_water.store(queued, std::memory_order_relaxed);
  }
}

void on_exit_signal(Slot& slot, Pid self, MessageNode* node) {
  auto& exit = payload_as<Exit>(node);
  const bool over_link = node->flag;
  if (over_link && !remove_link(slot, exit.from)) {
    free_node(node);  // unlinked meanwhile
    return;
  }
  if (slot.phase.load(std::memory_order_relaxed) == ProcessPhase::ending) {
    free_node(node);
    return;
  }
  if (!over_link && exit.reason.kind() == ExitKind::kill) {
    request_exit(slot, ExitReason::killed(), false);
    free_node(node);
    return;
  }
  // Its parent was killed and it waits, perhaps for ever: a subtree goes with its root, at any depth. What has begun to
  // terminate may finish that.
  const ProcessPhase phase = slot.phase.load(std::memory_order_relaxed);
  const bool waits = phase == ProcessPhase::starting || (phase == ProcessPhase::running && slot.leaf);
  if (over_link && waits && slot.server_start && exit.reason.kind() == ExitKind::killed &&
      exit.from == Pid::from_bits(slot.parent.load(std::memory_order_relaxed))) {
    request_exit(slot, exit.reason, false);
    free_node(node);
    return;
  }
  if (slot.trap_exit) {
    append(slot, node);
    return;
  }
  if (!exit.reason.is_normal() || exit.from == self) request_exit(slot, exit.reason, false);
  free_node(node);
}

void on_unlink(Core& core, Slot& slot, Pid self, MessageNode* node) {
  remove_link(slot, node->from);
  MessageNode* ack = new_node(MessageKind::unlink_ack);
  ack->from = self;
  ack->ref = node->ref;
  send_signal(core, node->from, ack);
  free_node(node);
}

void on_down(Slot& slot, MessageNode* node) {
  const std::uint64_t ref = payload_as<Down>(node).ref.id;
  if (!has_monitor(slot, ref)) {
    free_node(node);
  } else if (slot.wait_ref == ref) {
    remove_monitor(slot, ref);
    slot.wait_ref = 0;
    slot.arrived = node;
  } else {
    extend(slot).queued_downs.emplace(ref, node);
    append(slot, node);
  }
}

void on_tick(Core& core, Slot& slot) {
  Extension& extension = extend(slot);
  extension.tick_armed = false;
  const Instant now = core.now();
  if (slot.wait_ref != 0 && slot.deadline != Instant::max()) {
    bool over = slot.deadline <= now;
    try {
      if (!over) arm_deadline(core, slot);
    } catch (const TimersExhausted&) {
      over = true;  // early, rather than never
    }
    if (over) {
      // A sleep leaves its ref here too, so these are not kept for ever: an answer that comes later still is kept until
      // its handler is done.
      if (extension.given_up.size() >= k_given_up) extension.given_up.clear();
      extension.given_up.insert(slot.wait_ref);
      slot.wait_ref = 0;
      slot.timed_out = true;
    }
    return;
  }
  const ProcessType* type = slot.type.load(std::memory_order_relaxed);
  if (type->release == nullptr || !slot.state_alive || slot.leaf) return;
  const std::uint32_t handled = slot.handled.load(std::memory_order_relaxed);
  if (handled == extension.handled_at_tick) type->release(slot.state);
}

void on_look(Core& core, Slot& slot, MessageNode* node) {
  const ProcessType* type = slot.type.load(std::memory_order_relaxed);
  std::string text = "(it has no describe())";
  if (!slot.state_alive) {
    text = "(it has no state)";
  } else if (type->describe != nullptr) {
    try {
      text = type->describe(slot.state);
    } catch (...) {
      text = "(describe() threw: " + ExitReason::crash_of_current_exception("describe").text() + ")";
    }
  }
  clear_payload(node);
  set_payload<std::string>(node, std::move(text));
  send_answer(core, node);
}

void on_answer(Slot& slot, MessageNode* node) {
  if (node->kind == MessageKind::job_done) --slot.extension->jobs;
  // Nothing was started: no exit comes over that link.
  if (node->kind == MessageKind::start_reply && !payload_as<StartReply>(node).pid) remove_link(slot, node->from);
  if (slot.wait_ref != 0 && slot.wait_ref == node->ref) {
    slot.wait_ref = 0;
    slot.arrived = node;
  } else if (slot.leaf) {
    // Its handler may have asked and not awaited it yet; else it is late.
    Extension& extension = extend(slot);
    const bool late = extension.given_up.erase(node->ref) != 0;
    // The ends of jobs and starts are limited by their own numbers, and awaited without a time-out.
    const bool fits = node->kind != MessageKind::reply || extension.early.size() < k_early_answers;
    if (late || !fits || !extension.early.emplace(node->ref, node).second) free_node(node);
  } else {
    free_node(node);  // late
  }
}

void append_all(Slot& slot, MessageNode* first, MessageNode* last, std::uint32_t count) {
  if (slot.queue_tail == nullptr) {
    slot.queue_head = first;
  } else {
    slot.queue_tail->next = first;
  }
  slot.queue_tail = last;
  count_queued(slot, count);
}

// At the limit the oldest ordinary message makes room; what a signal became stays.
void drop_oldest(Core& core, Slot& slot) {
  const std::uint32_t limit = slot.mailbox_limit.load(std::memory_order_relaxed);
  count_popped(slot);
  MessageNode** link = &slot.queue_head;
  MessageNode* previous = nullptr;
  while (*link != nullptr && slot.queued.load(std::memory_order_relaxed) > limit) {
    MessageNode* node = *link;
    if (!is_bounded(node->kind)) {
      previous = node;
      link = &node->next;
      continue;
    }
    *link = node->next;
    if (slot.queue_tail == node) slot.queue_tail = previous;
    slot.queued.store(slot.queued.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    if (node->kind == MessageKind::request) {
      send_failure(core, node, CallFailure::mailbox_full);
    } else {
      free_node(node);
    }
  }
}

bool is_void_down(const MessageNode* node) { return node->kind == MessageKind::down && node->flag; }

// Frees the void Downs that `link` leads to, up to the next message.
void sweep_at(Slot& slot, MessageNode** link, MessageNode* previous) {
  while (*link != nullptr && is_void_down(*link)) {
    MessageNode* node = *link;
    *link = node->next;
    if (slot.queue_tail == node) slot.queue_tail = previous;
    free_node(node);
    --slot.extension->void_downs;
    ++slot.extension->sweeps;
  }
}

void sweep_head(Slot& slot) { sweep_at(slot, &slot.queue_head, nullptr); }

void sweep_all(Slot& slot) {
  sweep_head(slot);
  for (MessageNode* node = slot.queue_head; node != nullptr; node = node->next) sweep_at(slot, &node->next, node);
}

// A Down that its process has awaited or taken back no longer counts as mail. It is freed with the head of the queue,
// or once there are more of them than of what waits: a handler that goes on for ever must not gather them.
void make_void(Slot& slot, MessageNode* node) {
  node->flag = true;
  count_popped(slot);
  const std::uint32_t queued = slot.queued.load(std::memory_order_relaxed) - 1;
  slot.queued.store(queued, std::memory_order_relaxed);
  const std::uint32_t voids = ++slot.extension->void_downs;
  if (voids >= k_void_downs && voids > queued) {
    sweep_all(slot);
  } else {
    sweep_head(slot);
  }
}

// The first in the queue that is for somebody; a Down is queued no more.
[[gnu::noinline]] MessageNode* find_head(Slot& slot) {
  sweep_head(slot);
  MessageNode* node = slot.queue_head;
  if (node != nullptr && node->kind == MessageKind::down) {
    slot.extension->queued_downs.erase(payload_as<Down>(node).ref.id);
  }
  return node;
}

}  // namespace

void append(Slot& slot, MessageNode* node) {
  node->next = nullptr;
  append_all(slot, node, node, 1);
}

MessageNode* pop_queued(Slot& slot) {
  MessageNode* node = slot.queue_head;
  if (node != nullptr && node->kind == MessageKind::down) node = find_head(slot);
  if (node == nullptr) return nullptr;
  slot.queue_head = node->next;
  if (slot.queue_head == nullptr) slot.queue_tail = nullptr;
  if (++slot.popped >= k_uncounted || slot.exact_count) count_popped(slot);
  return node;
}

std::optional<ExitReason> take_queued_down(Slot& slot, std::uint64_t ref) {
  if (slot.extension == nullptr) return std::nullopt;
  const auto found = slot.extension->queued_downs.find(ref);
  if (found == slot.extension->queued_downs.end()) return std::nullopt;
  MessageNode* node = found->second;
  std::optional<ExitReason> reason(std::move(payload_as<Down>(node).reason));
  slot.extension->queued_downs.erase(found);
  remove_monitor(slot, ref);
  make_void(slot, node);
  return reason;
}

// A stack of messages, some of which may be signals.
static void sort_mail(Core& core, Slot& slot, MessageNode* newest) {
  const std::uint32_t generation = slot.generation.load(std::memory_order_relaxed);
  bool ordinary = true;
  std::uint32_t count = 0;
  const auto see = [&](const MessageNode* node) {
    ordinary = ordinary && is_bounded(node->kind) && node->generation == generation;
    ++count;
  };
  // Going through a long stack takes its time; senders must see meanwhile that it counts.
  std::uint32_t counted = 0;
  if (const std::uint32_t depth = Mailbox::depth(newest); depth >= k_uncounted) {
    count_popped(slot);
    counted = depth;
    slot.queued.store(slot.queued.load(std::memory_order_relaxed) + depth, std::memory_order_relaxed);
  }
  MessageNode* node = Mailbox::reversed(newest, see);
  if (ordinary) {
    append_all(slot, node, newest, count - counted);
    node = nullptr;
  }
  const Pid self = pid_of(core, slot);
  while (node != nullptr) {
    MessageNode* next = node->next;
    if (counted != 0) {
      --counted;
      slot.queued.store(slot.queued.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    if (node->generation != generation) [[unlikely]] {
      answer_for_the_dead(core, node, ExitReason::noproc());
      node = next;
      continue;
    }
    switch (node->kind) {
      case MessageKind::info:
      case MessageKind::notice:
      case MessageKind::request:
      case MessageKind::cast:
        append(slot, node);
        break;
      case MessageKind::reply:
      case MessageKind::start_reply:
      case MessageKind::job_done:
        on_answer(slot, node);
        break;
      case MessageKind::tick:
        free_node(node);
        on_tick(core, slot);
        break;
      case MessageKind::exit_signal:
        on_exit_signal(slot, self, node);
        break;
      case MessageKind::link:
        // An unlink of ours is on its way to the sender, who had not seen it yet: it will undo this link there.
        if (slot.extension == nullptr || !slot.extension->unlinks.contains(node->from.bits())) {
          add_link(slot, node->from);
        }
        free_node(node);
        break;
      case MessageKind::unlink:
        on_unlink(core, slot, self, node);
        break;
      case MessageKind::unlink_ack:
        if (slot.extension != nullptr) {
          const auto found = slot.extension->unlinks.find(node->from.bits());
          if (found != slot.extension->unlinks.end() && found->second == node->ref) {
            slot.extension->unlinks.erase(found);
          }
        }
        free_node(node);
        break;
      case MessageKind::monitor:
        add_watcher(slot, Watcher{node->from, node->ref});
        free_node(node);
        break;
      case MessageKind::demonitor:
        remove_watcher(slot, Watcher{node->from, node->ref});
        free_node(node);
        break;
      case MessageKind::down:
        on_down(slot, node);
        break;
      case MessageKind::look:
        on_look(core, slot, node);
        break;
    }
    node = next;
  }
  // The depth is about right only: what was counted too much must not stay.
  if (counted != 0 && !ordinary) {
    slot.queued.store(slot.queued.load(std::memory_order_relaxed) - counted, std::memory_order_relaxed);
  }
  if (static_cast<FullMailbox>(slot.full_policy.load(std::memory_order_relaxed)) == FullMailbox::drop_oldest) {
    drop_oldest(core, slot);
  }
}

void take_mail(Core& core, Slot& slot) {
  MessageNode* newest = slot.mailbox.take_stack();
  if (newest == nullptr) return;
  const auto policy = static_cast<FullMailbox>(slot.full_policy.load(std::memory_order_relaxed));
  if (newest->next == nullptr && is_bounded(newest->kind) && policy != FullMailbox::drop_oldest &&
      slot.queue_head == nullptr && newest->generation == slot.generation.load(std::memory_order_relaxed)) [[likely]] {
    // One ordinary message for one who waits; high_water_of() counts it without being told.
    slot.queue_head = newest;
    slot.queue_tail = newest;
    count_popped(slot);
    slot.queued.store(slot.queued.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    sort_mail(core, slot, newest);
  }
}

bool take_early(Slot& slot, std::uint64_t ref) {
  auto& early = slot.extension->early;
  const auto found = early.find(ref);
  if (found == early.end()) return false;
  slot.arrived = found->second;
  early.erase(found);
  return true;
}

void drop_early(Slot& slot) {
  if (slot.extension == nullptr) return;
  if (!slot.extension->given_up.empty()) slot.extension->given_up.clear();
  if (slot.extension->early.empty()) return;
  for (const auto& [ref, node] : slot.extension->early) free_node(node);
  slot.extension->early.clear();
}

void request_exit(Slot& slot, ExitReason reason, bool run_terminate) {
  // kill overtakes whatever was under way; otherwise the first reason stands.
  if (slot.stop_requested && reason.kind() != ExitKind::killed) return;
  slot.stop_requested = true;
  slot.run_terminate = run_terminate;
  slot.end = reason.kind();
  if (reason.has_term() || slot.extension != nullptr) extend(slot).reason = std::move(reason);
}

const ExitReason& exit_reason(const Slot& slot) {
  static const std::array<ExitReason, 5> k_plain = {ExitReason::normal(), ExitReason::shutdown(), ExitReason::kill(),
                                                    ExitReason::killed(), ExitReason::noproc()};
  static_assert(ExitKind::noproc == ExitKind{4} && ExitKind::crash == ExitKind{5});
  if (slot.extension != nullptr && slot.extension->reason.kind() == slot.end) return slot.extension->reason;
  return k_plain[static_cast<std::size_t>(slot.end)];
}

}  // namespace skein::inline v0::detail
