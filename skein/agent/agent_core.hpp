// The tasks that an agent holds, and decisions about them: without a clock, a process or a message.
//
// The agent's process feeds it with orders, the executor's answers and heartbeats, each with the time, and takes from
// it what to begin, what to stop and what to report. Not for several threads.
//
// 1. A task held is waiting, running or ended; one at most is running. It is known by its fence, which is used once.
// 2. What ended is kept, with its outcome, until the dispatcher has settled it, and said again if that takes long.
// 3. A running task that is to stop stays running, and keeps others waiting, until the executor answers.
// 4. Everything that leaves it without an outcome is returned in a report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "skein/agent/agent_state.hpp"
#include "skein/agent/executor.hpp"
#include "skein/dispatch/agent_protocol.hpp"

namespace skein::inline v0::agent {

struct AgentLimits {
  std::size_t result_bytes = 256ULL << 10U;                  // a longer result fails its task for good
  std::size_t mark_bytes = 4096;                             // a longer progress mark is passed over
  Duration progress_every = std::chrono::milliseconds(100);  // per task; in between the newest waits
  Duration stuck_after = std::chrono::seconds(30);           // told to stop and still running: stuck
  std::uint32_t beats_until_again = 3;                       // then what is not settled is said again
};

class AgentCore {
 public:
  explicit AgentCore(const AgentLimits& limits) : limits_(&limits) {}

  // From the dispatcher.
  void take(dispatch::Orders& orders, Instant now);
  // The next task to run, which is then running; nothing while one runs, or while paused or not ready. It stays where
  // it is until the next take().
  const dispatch::Order* begin(Instant now);
  [[nodiscard]] bool has_next();

  // From the executor. False: that task is not running here.
  bool started(dispatch::TaskRef ref);
  bool progress(dispatch::TaskRef ref, ledger::Body mark, Instant now);
  bool complete(dispatch::TaskRef ref, ledger::Body result, Instant now);
  bool failed(dispatch::TaskRef ref, Failure failure, Instant now);
  bool returned(dispatch::TaskRef ref, Instant now);
  bool last_words(dispatch::TaskRef ref, std::string text);
  // The agent falls: that is what is to be said of the task at work.
  void falls(const std::string& why);
  void set_ready(bool ready) { is_ready_ = ready; }
  [[nodiscard]] bool is_ready() const { return is_ready_; }

  // The task that runs and is to stop; returned once for each time that it was asked to.
  [[nodiscard]] std::optional<dispatch::StopTask> take_stop();

  // From people.
  void set_paused(bool paused) { is_paused_ = paused; }
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  CancelAnswer cancel_executing(Instant now);
  // What waits leaves.
  [[nodiscard]] std::vector<dispatch::TaskRef> give_up_waiting();

  // Says again what was not settled for long.
  void beat(Instant now);
  [[nodiscard]] bool has_report() const;
  [[nodiscard]] dispatch::AgentReport take_report();
  // A new dispatcher will ask for what it misses.
  void forget_report() { static_cast<void>(take_report()); }

  // In order of their numbers.
  [[nodiscard]] std::vector<dispatch::TaskRef> held() const;
  // At the end: what is to be returned; what runs too, if it was not a crash.
  [[nodiscard]] std::vector<dispatch::TaskRef> left_over(bool with_running) const;
  [[nodiscard]] std::size_t load() const { return seen().held.size() - seen().ended; }
  [[nodiscard]] std::optional<dispatch::TaskRef> running() const { return seen().running; }

  // Fills in what it knows.
  void describe(AgentState& state, Instant now) const;
  [[nodiscard]] const AgentStats& stats() const { return seen().stats; }
  [[nodiscard]] AgentTasks past() const;

 private:
  enum class Stage : std::uint8_t { waiting, running, ended };
  struct Held {
    dispatch::Order order;
    Stage stage = Stage::waiting;
    bool is_started = false;  // its executor has said so
    bool is_cancelled_here = false;
    bool has_timed_out = false;  // it was told to stop for that
    std::uint32_t beats = 0;     // since it began or ended
    Instant began{};
    Instant ended{};
    std::optional<Instant> stop_since;
    Instant progress_at = Instant::min();
    ledger::Body mark;  // progress that waits
    std::variant<std::monostate, dispatch::RunCompleted, dispatch::RunFailed> outcome;
  };
  // What an agent has once it got its first orders: there may be a million that never do.
  struct Holdings {
    boost::unordered_flat_map<ledger::Fence, Held> held;
    std::vector<dispatch::TaskRef> queue;  // from queue_at on: to be begun; some may be gone
    std::size_t queue_at = 0;
    std::size_t ended = 0;
    std::optional<dispatch::TaskRef> running;
    std::optional<dispatch::StopTask> stop;
    dispatch::AgentReport report;
    AgentStats stats;
    std::vector<PastTask> past;  // a ring once it is full
    std::size_t past_at = 0;
  };

  void take_order(dispatch::Order& order);
  void stop_task(const dispatch::StopTask& stop, Instant now);
  void stop_running(Held& held, dispatch::StopReason why, Instant now);
  void say_again(const Held& held);
  void settle(dispatch::TaskRef ref);
  void return_task(dispatch::TaskRef ref);
  bool end_timed_out(dispatch::TaskRef ref, Instant now);
  void remember(PastTask past);
  void end(Held& held, Instant now);
  void skip_gone();
  [[nodiscard]] Held* find(dispatch::TaskRef ref);
  [[nodiscard]] Held* find_running(dispatch::TaskRef ref);
  [[nodiscard]] AgentStatus status(Instant now) const;
  // Nothing but zeros before the first orders.
  [[nodiscard]] const Holdings& seen() const;

  const AgentLimits* limits_;
  std::unique_ptr<Holdings> work_;
  bool is_paused_ = false;
  bool is_ready_ = false;
};

}  // namespace skein::inline v0::agent
