// The memory of one process: four cache lines in a table that is never moved, plus an extension for what few need. A
// state that is too large for its place there leaves that place to what would else need an extension.
//
// Only the thread that runs the process (its owner then) writes here, except for the mailbox. Fields that senders
// and introspection read meanwhile are atomics, read and written relaxed; `generation` is the gate: a sender compares
// it with the Pid's, and each message carries it too, so a push into a reused slot is found out when it is taken.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/runtime/mailbox.hpp"
#include "skein/runtime/options.hpp"
#include "skein/runtime/pool.hpp"

namespace skein::inline v0::detail {

struct ProcessType;
struct Slot;
class Core;

// Constructs the state from the arguments that wait in its memory and begins init; or only destroys the arguments.
enum class BootStep : std::uint8_t { run, discard };
using BootFunction = std::coroutine_handle<> (*)(BootStep step, Core& core, Slot& slot);

enum class ProcessPhase : std::uint8_t {
  free,
  starting,     // init has not finished
  running,      // takes messages
  terminating,  // terminate is running
  ending,       // state destroyed, waits for its blocking jobs
};

struct Watcher {
  Pid pid;
  std::uint64_t ref = 0;
  friend bool operator==(const Watcher&, const Watcher&) = default;
  friend std::size_t hash_value(const Watcher& watcher) {
    return static_cast<std::size_t>(watcher.pid.bits() + watcher.ref * 0x9E37'79B9'7F4A'7C15ULL);
  }
};

// Data that few processes need.
struct Extension {
  boost::unordered_flat_set<std::uint64_t> links;                       // beyond the first
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> unlinks;      // not yet acknowledged: Pid bits → id
  boost::unordered_flat_set<Watcher> watchers;                          // beyond those in the slot
  boost::unordered_flat_map<std::uint64_t, Pid> monitors;               // beyond the first: ref → whom
  boost::unordered_flat_map<std::uint64_t, MessageNode*> queued_downs;  // ref → the Down that waits in the queue
  std::uint32_t void_downs = 0;          // in the queue: awaited or taken back, no longer counted, for nobody
  std::uint32_t sweeps = 0;              // times that void Downs left the queue before their turn
  MessageNode* continuation = nullptr;   // handle_continue waits to run; see Spare
  MessageNode* deferred_head = nullptr;  // answers that go out when it is dead
  MessageNode* deferred_tail = nullptr;
  ExitReason reason;       // why it ends, if there is more to say than Slot::end
  std::uint32_t jobs = 0;  // blocking jobs that have not returned
  Instant tick_at;         // when its wheel entry fires; valid if tick_armed
  TimerRef tick;           // its wheel entry; valid if tick_armed
  bool tick_armed = false;
  // Answers to what its handler has asked for and not awaited yet, and what it awaits no more: by ref.
  boost::unordered_flat_map<std::uint64_t, MessageNode*> early;
  boost::unordered_flat_set<std::uint64_t> given_up;
  std::uint32_t handled_at_tick = UINT32_MAX;
  std::string name;  // registered, or empty
};

// What many processes with a large state need a little of: in the place of the state.
struct Spare {
  Watcher watchers[2];                  // beyond the first; nobody: free
  MessageNode* continuation = nullptr;  // handle_continue waits to run
};

struct alignas(64) Slot {
  // The senders' line: each push takes it away from the core the process runs on, so what the owner needs for every
  // message is elsewhere, and `queued` is written once for many messages.
  Mailbox mailbox;
  std::atomic<std::uint32_t> generation{1};
  std::atomic<std::uint32_t> queued{0};  // messages the owner has taken; those of `popped` are handled already
  std::atomic<std::uint32_t> mailbox_limit{0};
  std::atomic<std::uint8_t> full_policy{0};
  std::atomic<std::uint8_t> worker{k_no_worker};  // where it was flooded last
  std::atomic<bool> flooded{false};               // by another, since its last turn
  StateMemory state_memory = StateMemory::in_slot;
  std::uint64_t next_ref = 0;
  std::uint64_t start_ref = 0;  // who started it synchronously (its parent) waits for this
  Pid first_link;
  Watcher first_watcher;

  // Data that the owner needs for every message.
  std::atomic<const ProcessType*> type{nullptr};
  void* state = nullptr;
  Extension* extension = nullptr;
  MessageNode* queue_head = nullptr;
  MessageNode* queue_tail = nullptr;
  MessageNode* current = nullptr;  // what is being handled
  std::coroutine_handle<> leaf;    // to resume
  std::atomic<std::uint32_t> handled{0};
  std::atomic<ProcessPhase> phase{ProcessPhase::free};
  std::atomic<bool> traced{false};
  bool trap_exit : 1 = false;
  bool exact_count : 1 = false;     // few fit into the mailbox: `queued` is written for every message
  ExitKind end = ExitKind::normal;  // why it ends; with a term the whole reason is in the extension

  // What it waits for and whom it watches.
  std::uint64_t wait_ref = 0;      // the reply, DOWN or timer its coroutine awaits; 0 for none
  std::coroutine_handle<> root;    // the handler's frame; owns all the others
  MessageNode* arrived = nullptr;  // what wait_ref was waiting for
  Instant deadline;                // of the wait; Instant::max() for none
  std::atomic<std::uint64_t> parent{0};
  std::atomic<std::uint64_t> handler_ns{0};
  Watcher first_monitor;  // whom it monitors

  static constexpr std::uint8_t k_no_worker = UINT8_MAX;
  static constexpr std::size_t k_inline_bytes = 48;
  bool stop_requested : 1 = false;  // stop(reason) was called, or an exit signal took effect
  bool run_terminate : 1 = false;
  bool server_start : 1 = false;  // started synchronously: a trapped EXIT of its parent ends it
  bool timed_out : 1 = false;     // the wait ended by its deadline
  bool state_alive : 1 = false;
  bool orphan : 1 = false;                   // its starter is not its parent
  bool ignored : 1 = false;                  // init said ignore
  bool has_spare : 1 = false;                // inline_state is a Spare, from the start to the end
  std::uint8_t popped = 0;                   // messages handled since `queued` was written
  std::uint16_t debt = 0;                    // of budget, to be worked off before it runs again: it flooded somebody
  std::atomic<std::uint32_t> high_water{0};  // the most that waited, if more than one; see high_water_of()
  BootFunction boot = nullptr;  // constructs the state from the arguments kept in its place; nullptr once done
  alignas(16) std::byte inline_state[k_inline_bytes];

  // Only if has_spare.
  [[nodiscard]] Spare& spare() { return *std::launder(reinterpret_cast<Spare*>(inline_state)); }
};
static_assert(sizeof(Slot) == 256);
static_assert(sizeof(Spare) <= Slot::k_inline_bytes && std::is_trivially_destructible_v<Spare>);

}  // namespace skein::inline v0::detail
