// The changes that an entry made, for their consumers: dispatcher, archive, event stream, waiters.
//
// After each entry that changed something the ledger hands one immutable batch to every sink, on the journal's thread,
// in the order of entries. A batch may be kept and read on any thread. A sink must not block, throw, or call the
// ledger; it passes the batch on and returns.
//
// A batch carries all that a dispatcher or an archive needs, so neither has to ask the ledger again. To begin, take
// Ledger::freeze() and add the sink in one callback of Journal::read: what is in the frozen state was before, what
// comes to the sink is after.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "skein/journal/entry.hpp"
#include "skein/ledger/command.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::ledger {

// A swarm as it stands.
struct Swarm {
  std::string name;
  Origin origin = Origin::api;
  SwarmState state = SwarmState::active;
  Breaker breaker = Breaker::closed;
  WallMs breaker_until = 0;
  Fields definition;
  Fields overrides;
  std::uint64_t open_tasks = 0;
  std::uint64_t open_bytes = 0;

  // An override, else the definition's value, else nothing.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
  [[nodiscard]] bool takes_tasks() const { return state == SwarmState::active || state == SwarmState::paused; }
  [[nodiscard]] bool gives_out_tasks() const {
    const bool is_open = state == SwarmState::active || state == SwarmState::draining || state == SwarmState::removed;
    return is_open && breaker != Breaker::open;
  }
};

struct AgentNote {
  std::string name;
  Fields fields;
};

// A task may be given out (from task.not_before on).
struct TaskQueued {
  // fell_back: task.shape->swarm is another than before, the last of its fallbacks. unpinned: it was queued before, and
  // may now go to any agent.
  enum class Why { submitted, unblocked, failed_attempt, requeued, retried, fell_back, unpinned };
  Why why = Why::submitted;
  Task task;
};
// A task was accepted and waits for its dependencies.
struct TaskBlocked {
  Task task;
};
struct TaskAssigned {
  TaskId id;
  TaskNumber number = 0;
  Fence fence = 0;
  Body agent;
  WallMs at = 0;
  std::uint32_t deliveries = 0;
};
struct TaskStarted {
  TaskId id;
  TaskNumber number = 0;
  Fence fence = 0;
  WallMs at = 0;
};
struct TaskProgressed {
  TaskId id;
  TaskNumber number = 0;
  Fence fence = 0;
  Body mark;
  WallMs at = 0;
};
// `was`: the state before, so that who ran it can be told to stop.
struct TaskFinished {
  std::shared_ptr<const FinishedTask> finished;
  State was = State::queued;
};
struct TaskAged {
  TaskId id;
  TaskNumber number = 0;
  std::uint16_t effective_priority = 0;
};
// A finished task got another that stands in for it.
struct TaskRetried {
  TaskId old_task;
  TaskId new_task;
};
// Made or changed. Its counters are of the moment; they are not told again with every task.
struct SwarmChanged {
  Swarm swarm;
};
struct SwarmRemoved {
  std::string name;
};
struct AgentChanged {
  AgentNote agent;
};
struct AgentRemoved {
  std::string name;
};
// Made, rotated or changed otherwise.
struct TokenChanged {
  Token token;
};
struct TokenRevoked {
  std::string name;
};
struct DispatchTaken {
  Epoch epoch = 0;
  std::string node;
  WallMs at = 0;
};
struct KeysEvicted {
  std::uint64_t count = 0;
};
struct TasksArchived {
  FinishNumber up_to = 0;
  std::uint64_t count = 0;
};
struct LimitsChanged {
  Limits limits;
};
struct VersionChanged {
  std::uint64_t version = 0;
};

using Change = std::variant<TaskQueued, TaskBlocked, TaskAssigned, TaskStarted, TaskProgressed, TaskFinished, TaskAged,
                            TaskRetried, SwarmChanged, SwarmRemoved, AgentChanged, AgentRemoved, DispatchTaken,
                            KeysEvicted, TasksArchived, LimitsChanged, VersionChanged, TokenChanged, TokenRevoked>;

struct ChangeBatch {
  journal::Position position = 0;
  std::vector<Change> changes;
};

class ChangeSink {
 public:
  ChangeSink() = default;
  ChangeSink(const ChangeSink&) = delete;
  ChangeSink& operator=(const ChangeSink&) = delete;
  virtual ~ChangeSink() = default;
  virtual void take(const std::shared_ptr<const ChangeBatch>& batch) = 0;
};

}  // namespace skein::inline v0::ledger
