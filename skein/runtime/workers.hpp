// The threaded scheduler: one worker per core, each with its own run queue, stealing from one another.
//
// Policy (docs/internals/performance.md says what each part is worth):
// 1. A woken process runs on the worker that woke it; new processes run newest first, woken ones oldest first, and a
//    woken one gets at least every third pop, the oldest new one every 64th, so nothing waits for ever.
// 2. Waking a sleeping thread costs more than hundreds of messages, so a sleeper is woken only for a backlog that
//    lasts or is long; a lone runnable process is stolen only from a worker whose turn lasts. A thief whom the spoils
//    do not keep busy steals less and less often.
// 3. A process that floods another with small messages is kept on the worker of that one: across cores each message
//    costs several times what sending and handling it do.
// 4. A worker that has worked and finds nothing spins for a moment, then sleeps. While the runtime is active it looks
//    around: every 2 ms after much work, down to every 32 ms when it finds nothing time and again. Once all have been
//    idle for half a second it sleeps without end.
// 5. A turn is over after turn_budget messages, or when the clock's thread has seen it at two looks, 10 ms apart: slow
//    handlers must not make a turn of seconds. After a turn that ended so, those woken from outside are next; while
//    some of them have waited for 10 ms, the turns under way are cut for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "skein/runtime/core.hpp"
#include "skein/runtime/run_queue.hpp"

namespace skein::inline v0::detail {

struct alignas(128) Worker {
  explicit Worker(SlotTable& table) : slots(table) {}

  RunQueue queue;
  // For the watch and for introspection: what runs here now. Odd turn numbers mean a turn is under way. `running` is
  // released and acquired: within a turn it may come to name a slot that was never used before.
  alignas(64) std::atomic<std::uint64_t> turn{0};
  std::atomic<const Slot*> running{nullptr};
  std::atomic<const PayloadType*> handling{nullptr};
  std::atomic<std::uint64_t> counted_turn{0};            // the last whose time the watch has counted
  std::atomic<std::uint64_t> cut_turn{0};                // the last that took too long: it ends after this message
  std::atomic<bool> stuck{false};                        // its turn has lasted longer than stuck_limit
  alignas(64) std::atomic<std::uint32_t> sleep_word{0};  // 1: asleep
  std::atomic<std::uint32_t> nap_word{0};
  SlotTable::Cache slots;
  unsigned index = 0;
  std::uint64_t backlog_since = 0;        // when its queue began to be longer than one; 0: it is not
  std::vector<std::uint64_t> seen_turns;  // of the others, at the last attempt to steal
  std::int64_t stolen_at = 0;             // when it stole what it now lives on; 0: what that was worth is known
  std::int64_t no_theft_until = 0;        // what it stole was not worth it
  std::int64_t theft_pause = 0;           // how long that lasts
  std::int64_t busy_since = 0;            // when it last came out of idleness; 0 while idle
  std::uint32_t fruitless = 0;            // looks around in vain since it was last busy for long, or was recruited
  bool is_woken = false;                  // its last sleep was ended by another
  bool took_injected = false;             // what it runs now was woken from outside
  std::thread thread;
  std::atomic<bool> exited{false};
};

inline void publish_handling(const PayloadType* type) {
  if (t_turn.worker != nullptr) t_turn.worker->handling.store(type, std::memory_order_relaxed);
}

// True once this turn has had its time: others shall run.
[[nodiscard]] inline bool is_turn_cut() {
  const Worker* worker = t_turn.worker;
  return worker != nullptr &&
         worker->cut_turn.load(std::memory_order_relaxed) == worker->turn.load(std::memory_order_relaxed);
}

class Workers {
 public:
  Workers(Core& core, unsigned count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Begins; the threads hold the core until they end.
  void start(const std::shared_ptr<Core>& core);
  // Ends the threads; those that do not end by `deadline` are left behind and counted.
  unsigned stop(Duration deadline);

  void schedule_new(Slot& slot);
  void schedule_woken(Slot& slot);
  void schedule_again(Slot& slot, bool waits);

  // What each worker has been doing for at least `limit`, by their turn numbers.
  void watch(Instant now, Duration limit);
  // The pid a worker runs at this moment and the type of what it handles.
  struct Activity {
    Pid pid;
    const PayloadType* handling;
    bool stuck;
  };
  [[nodiscard]] std::vector<Activity> activity() const;
  // The same without allocation, for a signal handler.
  template <class F>
  void each_activity(F&& call) const {
    for (const auto& worker : all_) {
      if ((worker->turn.load(std::memory_order_acquire) & 1U) == 0) continue;
      call(Activity{pid_of(core_, *worker->running.load(std::memory_order_acquire)),
                    worker->handling.load(std::memory_order_relaxed), worker->stuck.load(std::memory_order_relaxed)});
    }
  }
  [[nodiscard]] unsigned count() const { return static_cast<unsigned>(all_.size()); }

 private:
  struct Watched {
    std::uint64_t turn = 0;
    Instant since;
    Instant looked;  // up to here its time is counted
    bool warned = false;
    bool stuck = false;
  };

  void run(Worker& worker);
  Slot* next(Worker& worker);
  Slot* next_from_outside(Worker& worker, bool all);
  Slot* steal(Worker& thief);
  Slot* steal_now(Worker& thief, std::int64_t now);
  Slot* idle(Worker& worker);
  void inject(Slot& slot);
  void queue_woken(Slot& slot);
  void consider_waking(Worker& worker);
  void wake_one();
  bool wake(Worker& worker);
  [[nodiscard]] Worker& home_of(const Slot& sink, Worker& here);
  void clock_thread();

  Core& core_;
  std::vector<std::unique_ptr<Worker>> all_;
  RunQueue injected_;
  alignas(64) std::atomic<std::uint32_t> sleepers_{0};
  alignas(64) std::atomic<std::uint32_t> spinners_{0};
  alignas(64) std::atomic<std::int64_t> last_activity_{0};  // steady clock, ns
  std::thread clock_;
  std::atomic<bool> clock_exited_{false};
  std::vector<Watched> watched_;
  Instant outside_since_ = Instant::max();  // from here on the watch has seen some woken from outside wait
};

}  // namespace skein::inline v0::detail
