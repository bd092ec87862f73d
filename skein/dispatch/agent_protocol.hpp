// What agents and the dispatcher say to each other. Plain values, sent as messages; the same for an agent next door and
// one on another machine.
//
// Delivery is level-triggered. The dispatcher says what should run at an agent (Orders), the agent says what it holds
// (AgentReady, AgentHeartbeat); whatever was lost or said twice is put right by the next of them:
// 1. (number, fence) names one assignment for good. An order the agent holds already is passed over.
// 2. Orders are numbered per agent from 1 and each heartbeat says which was seen last. Orders with `full` set name all
//    that should run there: what the agent holds besides is to be stopped and forgotten.
// 3. An agent keeps an outcome until it is settled and says it again in AgentReady's or a heartbeat's `held`; the
//    dispatcher asks for it by `ask_again`.
// 4. An unknown agent that sends a heartbeat is asked to announce itself, as soon as there is room.
// 5. One message carries many tasks in either direction. In Orders `run` comes first: what is stopped as well stops.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/ledger/change.hpp"
#include "skein/ledger/command.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

// One assignment of one task.
struct TaskRef {
  ledger::TaskNumber number = 0;
  ledger::Fence fence = 0;
  friend auto operator<=>(const TaskRef&, const TaskRef&) = default;
};

enum class Role : std::uint8_t { worker, specialist, coordinator };
[[nodiscard]] constexpr std::string_view name_of(Role role) {
  switch (role) {
    case Role::specialist:
      return "specialist";
    case Role::coordinator:
      return "coordinator";
    case Role::worker:
      break;
  }
  return "worker";
}

// From the dispatcher.

struct Order {
  TaskRef ref;
  ledger::TaskId id;
  std::shared_ptr<const ledger::Shape> shape;  // its type and capabilities
  ledger::Body params;
  ledger::Body mark;                             // the progress of an earlier attempt
  std::shared_ptr<const ledger::Extras> extras;  // the trace context; may be null
  Duration timeout{};
  std::uint32_t attempt = 1;
};

enum class StopReason : std::uint8_t {
  cancelled,  // the task has ended without it
  timed_out,
  yield,           // somebody more urgent waits; return the task if that is possible
  stale,           // the assignment is no longer valid
  return_unbegun,  // return it if it is not begun; what runs goes on, and needs no answer
};

// Answered by an outcome of whatever kind once the work has stopped.
struct StopTask {
  TaskRef ref;
  StopReason why = StopReason::cancelled;
};

struct Orders {
  std::uint64_t sequence = 0;
  bool full = false;
  std::vector<Order> run;
  std::vector<StopTask> stop;
  std::vector<TaskRef> settled;    // outcomes that are decided: forget them
  std::vector<TaskRef> ask_again;  // outcomes the dispatcher has not heard or has forgotten: say them again
  bool announce = false;           // the dispatcher does not know the agent: say AgentReady again

  [[nodiscard]] bool empty() const {
    return !full && !announce && run.empty() && stop.empty() && settled.empty() && ask_again.empty();
  }
};

// A field of an agent's record in the ledger (ledger::AgentPut). While it is k_agent_is_paused, no agent of this name
// gets a task, in whichever process or dispatcher. Gone with the record.
inline constexpr std::string_view k_agent_field_paused = "paused";
inline constexpr std::string_view k_agent_is_paused = "true";
[[nodiscard]] inline bool is_paused(const ledger::AgentNote& agent) {
  const auto field = agent.fields.find(k_agent_field_paused);
  return field != agent.fields.end() && field->second == k_agent_is_paused;
}

struct PauseAgent {};   // begin nothing more
struct ResumeAgent {};  // go on
struct UpdateConfig {
  ledger::Fields fields;
};

// From agents.

struct AgentReady {
  std::string name;
  Role role = Role::worker;
  std::vector<std::string> capabilities;
  std::uint32_t capacity = 1;      // tasks it may hold at once: one at work, the others ahead
  std::string executor;            // one that agents share, with a bulkhead; empty: none
  bool is_function = false;        // the timeout of functions counts, not that of other executors
  Duration attempt_timeout{};      // instead of either; zero: none of its own
  bool reports_starts = false;     // it says RunStarted, so what was not started has cost nobody anything
  bool tells_last_words = false;   // told to stop because of a timeout, it says LastWords at once
  bool is_paused = false;          // see AgentPaused
  bool is_managed = false;         // its swarm's coordinator started it and may end it
  std::vector<TaskRef> held;       // assigned to it, running or ended and not yet settled
  std::uint32_t outcome_room = 0;  // outcomes it can keep until they are settled; 0: as many as k_outcome_room
};

struct RunStarted {
  TaskRef ref;
};
struct RunProgress {
  TaskRef ref;
  ledger::Body mark;
};
struct RunCompleted {
  TaskRef ref;
  ledger::Body result;
};
struct RunFailed {
  TaskRef ref;
  ledger::ErrorClass error = ledger::ErrorClass::transient;
  std::string message;
  std::optional<Duration> retry_after;
};

// What is known of an attempt that is about to fail: the end of what its OS process wrote to standard error, or why its
// agent falls. It goes into the history of the task.
struct LastWords {
  TaskRef ref;
  std::string text;
};

// What happened since the last one.
struct AgentReport {
  std::vector<RunStarted> started;
  std::vector<RunProgress> progress;
  std::vector<RunCompleted> complete;
  std::vector<RunFailed> failed;
  std::vector<TaskRef> returned;  // not begun, or given up when asked to yield or to stop
  std::vector<LastWords> last_words;
};

struct AgentHeartbeat {
  std::uint64_t seen = 0;  // the last Orders
  std::vector<TaskRef> held;
  bool is_paused = false;  // see AgentPaused, which may have been lost
};

// It ends gracefully. What it names is returned; what it holds besides was at work when it fell.
struct AgentTerminating {
  std::vector<TaskRef> returned;
};

// It was paused or resumed where it is: give it nothing, or again something.
struct AgentPaused {
  bool is_paused = true;
};

// Goes on living, but wants others to do these.
struct AgentReturns {
  std::vector<TaskRef> returned;
};

struct AgentMetrics {
  std::uint64_t tasks_completed = 0;
  std::uint64_t tasks_failed = 0;
  double avg_latency_ms = 0;
};

inline constexpr std::uint32_t k_agent_capacity_max = 1'000;  // tasks of one agent
inline constexpr std::uint32_t k_outcome_room = 4'096;        // outcomes waiting to be settled, of one agent
inline constexpr std::size_t k_held_max = 16'384;             // tasks in one AgentReady or AgentHeartbeat
inline constexpr std::size_t k_message_bytes_max = 4096;      // of a failure; the rest is cut off
inline constexpr Duration k_heartbeat_every = std::chrono::seconds(1);

}  // namespace skein::inline v0::dispatch
