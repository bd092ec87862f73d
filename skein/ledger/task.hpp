// A task as it stands, in the words of docs/tasks.md, as plain values.
//
// Long things (params, results, progress marks, histories) are immutable and shared, so that the ledger, its snapshots,
// the dispatcher and the archive hold the same bytes. A Task may be copied to and read on any thread; copying one costs
// some reference counts and no bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::inline v0::ledger {

// A UUID (version 7, made by the submitter), never zero.
struct TaskId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // 8-4-4-4-12 hex digits, either case; nothing for any other text.
  [[nodiscard]] static std::optional<TaskId> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  // The same without dashes.
  [[nodiscard]] std::string digits() const;
  [[nodiscard]] bool none() const { return high == 0 && low == 0; }
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

struct TaskIdHash {
  using is_avalanching = void;
  std::size_t operator()(const TaskId& id) const noexcept {
    std::uint64_t h = (id.high ^ (id.low * 0x9E3779B97F4A7C15ULL)) * 0xD6E8FEB86659FD93ULL;
    h ^= h >> 32U;
    return static_cast<std::size_t>(h * 0xD6E8FEB86659FD93ULL);
  }
};

using TaskNumber = std::uint64_t;                 // the first accepted task is 1; never used twice
using FinishNumber = std::uint64_t;               // the first finished task is 1
using Fence = std::uint64_t;                      // of one assignment; 0 means none; never used twice
using Epoch = std::uint64_t;                      // the position of the take_dispatch entry; 0 means nobody dispatches
using skein::WallMs;                              // on the clock of who appended; 0 means none
using Body = std::shared_ptr<const std::string>;  // null means empty

[[nodiscard]] inline std::string_view view_of(const Body& body) { return body ? std::string_view(*body) : ""; }
[[nodiscard]] inline Body body_of(std::string_view bytes) {
  return bytes.empty() ? nullptr : std::make_shared<const std::string>(bytes);
}

// The numbers of all enumerations here are on disk.
enum class State : std::uint8_t {
  queued = 1,
  assigned = 2,
  executing = 3,
  completed = 4,
  failed = 5,
  cancelled = 6,
  blocked = 7,            // waits for its dependencies
  awaiting_approval = 8,  // waits for a person; no operation leads there in version 1
};

[[nodiscard]] constexpr bool is_finished(State s) {
  return s == State::completed || s == State::failed || s == State::cancelled;
}
[[nodiscard]] constexpr bool is_running(State s) { return s == State::assigned || s == State::executing; }
[[nodiscard]] std::string_view name_of(State state);

// Classes of priority. What orders the queue is the effective priority, which the dispatcher raises as tasks age.
inline constexpr std::uint16_t k_low = 10;
inline constexpr std::uint16_t k_normal = 50;
inline constexpr std::uint16_t k_high = 100;
inline constexpr std::uint16_t k_critical = 200;

enum class ErrorClass : std::uint8_t {
  transient = 1,
  permanent = 2,  // never retried
  rate_limited = 3,
  resource = 4,
  timeout = 5,
  crash = 6,
};
[[nodiscard]] std::string_view name_of(ErrorClass error);

// Why a task ended as it did.
enum class Ending : std::uint8_t {
  completed = 1,
  permanent_error = 2,
  attempts_spent = 3,
  dependency_failed = 4,
  deadline_passed = 5,
  cancelled = 6,
};
[[nodiscard]] std::string_view name_of(Ending ending);

// Data that many tasks have in common and routing asks for. Shared between tasks; immutable.
struct Shape {
  std::string swarm;
  std::string type;
  std::vector<std::string> capabilities;  // as submitted; see required()

  // None given: the type is the required capability.
  [[nodiscard]] std::vector<std::string> required() const {
    return capabilities.empty() ? std::vector<std::string>{type} : capabilities;
  }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// A failed attempt.
struct Attempt {
  std::string agent;
  Fence fence = 0;
  WallMs started_at = 0;  // assigned, if it never started
  WallMs ended_at = 0;
  ErrorClass error = ErrorClass::transient;
  std::string message;

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

// A swarm that handed a task on.
struct FallbackStep {
  std::string swarm;
  std::uint32_t attempts = 0;  // that failed there
  WallMs at = 0;

  friend bool operator==(const FallbackStep&, const FallbackStep&) = default;
};

// What happens to a task that its agent did not take in time.
enum class AgentFallback : std::uint8_t {
  by_config = 0,  // what its type says, else the config
  none = 1,       // it waits on
  any = 2,        // any agent that can do it may have it
};
[[nodiscard]] std::string_view name_of(AgentFallback fallback);
// Nothing for a name that is neither "none" nor "any".
[[nodiscard]] std::optional<AgentFallback> agent_fallback_named(std::string_view name);

// Where a task should run. Immutable and shared.
struct Placement {
  std::string agent;  // the only one that may have it, while it is pinned; empty: any
  AgentFallback fallback = AgentFallback::by_config;
  std::uint64_t wait_ms = 0;  // for the agent, before the fallback; 0: what its type says, else the config
  std::string route_key;      // of consistent_hash; empty: the idempotency key, else the id
  WallMs unpinned_at = 0;     // since when any agent may have it; never in a submit

  [[nodiscard]] bool is_pinned() const { return !agent.empty() && unpinned_at == 0; }
  [[nodiscard]] bool empty() const { return agent.empty() && route_key.empty(); }
  // Only a task for an agent has something to say about that agent.
  [[nodiscard]] bool makes_sense() const {
    return !agent.empty() || (fallback == AgentFallback::by_config && wait_ms == 0 && unpinned_at == 0);
  }
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Data that few tasks have. Immutable; null when there is nothing in it.
struct Extras {
  std::vector<TaskId> dependencies;            // as submitted, each once
  std::string key;                             // the idempotency key
  std::string trace;                           // a W3C traceparent
  TaskId retry_of;                             // the finished task this one stands in for
  std::vector<FallbackStep> fallbacks;         // the swarms it left, in order; never in a submit
  std::shared_ptr<const Placement> placement;  // null: anywhere
  TaskId parent;                               // the task that submitted it; never in a submit, see Submit::child_of
  std::uint32_t depth = 0;                     // below the task at the top; 0: it has no parent

  [[nodiscard]] bool empty() const {
    return dependencies.empty() && key.empty() && trace.empty() && retry_of.none() && fallbacks.empty() && !placement &&
           parent.none();
  }
  [[nodiscard]] const Placement& where() const;  // placement, or an empty one
  friend bool operator==(const Extras& one, const Extras& other) {
    return one.dependencies == other.dependencies && one.key == other.key && one.trace == other.trace &&
           one.retry_of == other.retry_of && one.fallbacks == other.fallbacks && one.where() == other.where() &&
           one.parent == other.parent && one.depth == other.depth;
  }
};

// What a submit asks for.
struct TaskSpec {
  std::string swarm = "default";
  std::string type;
  std::vector<std::string> capabilities;
  Body params;  // JSON; the ledger does not look inside
  std::uint16_t priority = k_normal;
  std::uint32_t attempts_max = 4;
  std::uint64_t timeout_ms = 0;  // per attempt; 0: the type's or the executor's
  WallMs not_before = 0;
  WallMs deadline_at = 0;
  Extras extras;
};

// An accepted task. Its order among those of the same effective priority: lower `order` first.
struct Task {
  TaskId id;
  TaskNumber number = 0;
  std::shared_ptr<const Shape> shape;
  Body params;
  std::shared_ptr<const Extras> extras;
  std::shared_ptr<const std::vector<Attempt>> history;  // the last failed attempts; null when there was none
  Body mark;                                            // the last progress mark
  Body agent;                                           // of the current or last assignment
  Fence fence = 0;                                      // of the current or last assignment
  std::int64_t order = 0;
  std::uint64_t timeout_ms = 0;
  WallMs submitted_at = 0;
  WallMs not_before = 0;
  WallMs deadline_at = 0;
  WallMs assigned_at = 0;
  WallMs started_at = 0;
  std::uint32_t swarm_slot = 0;    // the ledger's own; means nothing to anybody else
  std::uint32_t waits_for = 0;     // dependencies still open
  std::uint32_t attempts = 0;      // failed so far, in its present swarm
  std::uint32_t attempts_max = 0;  // in each swarm
  std::uint32_t deliveries = 0;    // assignments so far
  std::uint32_t children = 0;      // tasks that it has submitted
  std::uint16_t priority = k_normal;
  std::uint16_t effective_priority = k_normal;
  State state = State::queued;

  [[nodiscard]] const Extras& more() const;  // extras, or empty ones
  // Where it was submitted to; its key is known there, and a retry of it goes there.
  [[nodiscard]] const std::string& first_swarm() const;
  // The agent that alone may have it; empty: any may.
  [[nodiscard]] std::string_view pinned_to() const;
};

// A task in its terminal state, of which it has exactly one. Immutable and shared.
struct FinishedTask {
  Task task;  // task.state is terminal; task.fence is the last one, the winning one if completed
  FinishNumber finish_number = 0;
  WallMs finished_at = 0;
  Ending ending = Ending::completed;
  Body result;
  std::string message;  // of the last failure, or the reason of the cancel
  TaskId retried_as;    // the task that stands in for this one
};

// What a task counts for in the limits in bytes, from submit to its end: a fixed part, and what was submitted.
inline constexpr std::uint64_t k_task_overhead_bytes = 512;
inline constexpr std::uint64_t k_dependency_bytes = 64;
[[nodiscard]] std::uint64_t charge_of(const Task& task);
// The same for a finished one: with its result.
[[nodiscard]] std::uint64_t charge_of(const FinishedTask& finished);

}  // namespace skein::inline v0::ledger
