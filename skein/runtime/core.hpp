// The inside of a Runtime: slots, names, timers, blocking pool and one of two schedulers. Not for users.
//
// Threads of the program hold it by shared pointer, so that one that never returns outlives the Runtime harmlessly.
// A process is touched only by the thread that runs its turn; everything else reaches it through its mailbox.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "skein/base/pause_clock.hpp"
#include "skein/base/random.hpp"
#include "skein/runtime/blocking_pool.hpp"
#include "skein/runtime/call.hpp"
#include "skein/runtime/names.hpp"
#include "skein/runtime/options.hpp"
#include "skein/runtime/slot_table.hpp"
#include "skein/runtime/timer_wheel.hpp"
#include "skein/runtime/trace.hpp"

namespace skein::inline v0::detail {

class Workers;
struct Worker;
class Deterministic;

// What a thread is doing for a runtime.
struct Turn {
  Core* core = nullptr;
  Slot* running = nullptr;
  Worker* worker = nullptr;        // nullptr: not a thread of the scheduler
  std::int64_t timed_since = 0;    // steady clock, ns; 0: this turn is not timed
  std::int32_t budget = 0;         // left of this turn; sending to the busy costs more
  Slot* sink = nullptr;            // whom it floods in this turn, not itself
  std::uint32_t sent_to_long = 0;  // messages of this turn to long queues
  SlotTable::Cache* slots = nullptr;
  bool leaves_mail = false;  // first handles what it took before, as if its last turn were still going on
};
inline constinit thread_local Turn t_turn{};

class Core : public std::enable_shared_from_this<Core> {
 public:
  explicit Core(RuntimeOptions chosen);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const RuntimeOptions options;
  SlotTable table;
  Names names;
  Traces traces;
  BlockingPool blocking;

  // Exactly one of the two.
  std::unique_ptr<Workers> workers;
  std::unique_ptr<Deterministic> deterministic;

  // Stands still while the whole program is stopped; see pause_clock.hpp.
  [[nodiscard]] Instant now() const;

  // Makes a process runnable: one that was just made, or one that got mail.
  void schedule_new(Slot& slot);
  void schedule_woken(Slot& slot);
  // The one that runs, whose budget is spent. `waits`: it only worked off what its flood had cost.
  void schedule_again(Slot& slot, bool waits);

  std::optional<TimerRef> add_timer(Instant at, Timer timer);
  bool cancel_timer(TimerRef ref);
  // Sends what is due; returns when to call again.
  Instant fire_timers(Instant now_instant);

  // Reports a handler or an ending process that takes too long; aborts with a dump if so chosen.
  void report_stuck(const StuckReport& report) const;
  // From now on it is watched how long the process takes to end.
  void note_ending(Pid pid, bool terminating);
  void forget_ending(Pid pid);
  // Reports processes that are to end and have waited longer than stuck_limit, each once.
  void watch_ending(Instant now_instant);
  [[nodiscard]] std::string name_of(Pid pid);

  std::mutex timer_mutex;
  std::condition_variable timer_changed;
  TimerWheel wheel;
  Instant timer_wakes_at = Instant::max();  // when the clock thread looks next; guarded by timer_mutex
  bool clock_sleeps_long = false;           // without timers it need not look for pauses; guarded by timer_mutex

  std::atomic<bool> stopping{false};
  std::atomic<std::uint32_t> ending{0};  // processes that are to end and wait

  struct Ending {
    Instant since;
    bool terminating = false;  // waits in its terminate handler; else for its blocking jobs
    bool reported = false;
  };
  std::mutex ending_mutex;
  std::map<std::uint64_t, Ending> ending_pids;  // by Pid bits

  // On cache lines of its own, behind what every message reads: the clock thread writes to it.
  alignas(64) mutable PauseClock clock;
};

// Runs one turn of a process: takes its mail, handles messages until the budget is spent, and lets it rest, puts it
// back in the queue, or buries it. `node_type` of what is being handled is published through the worker.
void run_turn(Core& core, Slot& slot);

// Parts of a turn, in signals.cpp and death.cpp.
void take_mail(Core& core, Slot& slot);
void append(Slot& slot, MessageNode* node);
[[nodiscard]] MessageNode* pop_queued(Slot& slot);
// Writes down how many messages wait, for senders and introspection. At the end of each turn, at the latest.
inline void count_popped(Slot& slot) {
  if (slot.popped == 0) return;
  slot.queued.store(slot.queued.load(std::memory_order_relaxed) - slot.popped, std::memory_order_relaxed);
  slot.popped = 0;
}
// The most that ever waited, or a continuation. Of one that waited alone and was handled there is no note.
[[nodiscard]] inline std::uint32_t high_water_of(const Slot& slot) {
  const std::uint32_t alone = slot.handled.load(std::memory_order_relaxed) != 0 ? 1 : 0;
  return std::max(slot.high_water.load(std::memory_order_relaxed), alone);
}
// `died`: with `reason`, and the message was in its mailbox; otherwise nobody was there.
void answer_for_the_dead(Core& core, MessageNode* node, const ExitReason& reason, bool died = false) noexcept;
// Frees answers that nobody will await: the handler that asked is done.
void drop_early(Slot& slot);
void request_exit(Slot& slot, ExitReason reason, bool run_terminate);
[[nodiscard]] const ExitReason& exit_reason(const Slot& slot);
// Destroys frames and state. True when nothing is left to wait for: then bury() must follow.
[[nodiscard]] bool destroy_process(Core& core, Slot& slot);
// Closes the mailbox, frees the name and the slot, tells everybody. The slot must not be touched afterwards.
void bury(Core& core, Slot& slot);

// Links and monitors of one process.
[[nodiscard]] bool has_link(const Slot& slot, Pid other);
void add_link(Slot& slot, Pid other);
bool remove_link(Slot& slot, Pid other);
void add_watcher(Slot& slot, Watcher watcher);
void remove_watcher(Slot& slot, Watcher watcher);
void add_monitor(Slot& slot, std::uint64_t ref, Pid whom);
[[nodiscard]] bool has_monitor(const Slot& slot, std::uint64_t ref);
// Whom it monitored, or nobody.
Pid remove_monitor(Slot& slot, std::uint64_t ref);

inline constexpr std::int32_t k_largest_debt = 60'000;  // of budget; a turn that owes more than this pays no more
// The first sends of a turn to long queues are free, so that an occasional sender is not throttled. A process in debt
// gets no free sends: many senders that flood one process together must wait for it too.
inline constexpr std::uint32_t k_unpriced_sends = 16;
inline constexpr std::uint32_t k_sampled_turns = 64;
inline constexpr std::uint8_t k_uncounted = 64;  // messages handled before it is written down that they are gone
inline constexpr std::uint64_t k_yield_ref = UINT64_MAX;

}  // namespace skein::inline v0::detail
