// What can be asked of an agent, and what it answers. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/dispatch/agent_protocol.hpp"

namespace skein::inline v0::agent {

enum class AgentStatus : std::uint8_t {
  idle,
  assigned,   // holds tasks, none has begun
  executing,  //
  done,       // all it held has ended and is not settled yet
  paused,     // begins nothing; what runs goes on
  failed,     // its executor is broken, it is about to end
  stuck,      // what it was told to stop does not stop
};
[[nodiscard]] std::string_view name_of(AgentStatus status);

enum class TaskEnd : std::uint8_t { completed, failed };

// A task that ended here and is settled.
struct PastTask {
  ledger::TaskId id;
  std::shared_ptr<const ledger::Shape> shape;
  std::uint32_t attempt = 1;
  TaskEnd end = TaskEnd::completed;
  Instant began{};
  Instant ended{};
};

// Counted since the agent began.
struct AgentStats {
  std::uint64_t tasks_completed = 0;
  std::uint64_t tasks_failed = 0;
  std::uint64_t tasks_returned = 0;
  std::uint64_t tasks_stopped = 0;  // told to stop while they ran
  Duration busy{};                  // spent on those that were completed or failed
};

struct GetAgentState {};
struct AgentState {
  std::string name;
  dispatch::Role role = dispatch::Role::worker;
  AgentStatus status = AgentStatus::idle;
  std::vector<std::string> capabilities;
  std::string swarm;  // empty: none
  std::uint32_t prefetch = 0;
  std::size_t queue_length = 0;  // waiting here
  std::size_t unsettled = 0;     // ended, and not yet accepted by the ledger
  std::optional<ledger::TaskId> executing_task;
  std::string executing_type;
  Duration executing_for{};
  bool is_connected = false;  // to a dispatcher
  std::string executor;       // in its own words
  pid_t os_pid = 0;           // of the program that it runs; 0: none
  AgentStats stats;
};

struct GetAgentMetrics {};
struct AgentFigures {
  std::uint64_t tasks_completed = 0;
  std::uint64_t tasks_failed = 0;
  std::uint64_t tasks_returned = 0;
  std::optional<double> success_rate;  // nothing while nothing has ended
  double avg_latency_ms = 0;
};

// The last k_past_tasks that ended here, the newest first.
struct GetAgentTasks {};
using AgentTasks = std::vector<PastTask>;

// Cuts short what runs: the attempt ends as a permanent failure. To cancel a task wherever it is, ask the operations.
struct CancelExecuting {};
enum class CancelAnswer : std::uint8_t { asked_to_stop, no_task_executing };

// Known fields: prefetch (0 to k_prefetch_max), capabilities (separated by commas). All are applied, or none.
struct UpdateAgent {
  ledger::Fields fields;
};
struct UpdateAnswer {
  std::string problem;  // empty: it was done
};

// The registered name of a swarm's coordinator.
[[nodiscard]] inline std::string coordinator_name(std::string_view swarm) { return "swarm/" + std::string(swarm); }

// To the coordinator of the agent's swarm: its program cannot be started, so it takes no tasks; or it can again.
struct AgentTrouble {
  std::string agent;
  std::string executor;    // by its name in the config; may be empty
  std::string why;         // empty: it is over
  bool is_ending = false;  // the agent crashes for it; else it lives and tries again
};

inline constexpr std::size_t k_past_tasks = 100;
inline constexpr std::uint32_t k_prefetch_max = 100;

// Of a role, when none are configured.
[[nodiscard]] std::vector<std::string> default_capabilities(dispatch::Role role);

}  // namespace skein::inline v0::agent
