// Which agent gets a task: the one it is pinned to, the one that a retry returns to, or the one that the router
// chooses. Decides only; taking the place is the core's. Reads the core's tables, which outlive it. One thread at a
// time.
//
// 1. A pinned task has no other choice than its agent.
// 2. A retry goes around the agents that failed the task while there are others; the first one may go to anybody.
// 3. A critical task is not given to an agent at which it would only wait, except where its key must stay.
#pragma once

#include <optional>
#include <string_view>

#include "skein/base/random.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/preemption.hpp"
#include "skein/dispatch/task_lanes.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0::dispatch {

class AgentChoice {
 public:
  struct Parts {
    const DispatcherTables& tables;
    const TaskLanes& lanes;
    const Preemption& preemption;
    Router& router;
    Random& random;
  };
  explicit AgentChoice(const Parts& parts) : parts_(parts) {}

  // Nobody: none is free, or none could begin it soon.
  [[nodiscard]] std::optional<Router::Choice> choose(const TaskRecord& task, Instant now);
  // What the router is asked for a task.
  [[nodiscard]] Router::Request request_for(const TaskRecord& task) const;

 private:
  [[nodiscard]] std::optional<Router::Choice> routed(const TaskRecord& task, Instant now);
  [[nodiscard]] std::optional<Router::Choice> pinned(const ReadyQueue::Need& need) const;
  [[nodiscard]] std::optional<Router::Choice> same_again(const TaskRecord& task, Instant now);
  [[nodiscard]] bool would_wait(const Router::Choice& choice, const TaskRecord& task) const;

  Parts parts_;
};

}  // namespace skein::inline v0::dispatch
