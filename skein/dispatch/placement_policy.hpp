// What becomes of a task that is for one agent when that agent does not take it: the task's own word, else its type's,
// else the config's. Pure functions.
#pragma once

#include <string_view>

#include "skein/base/time.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

struct PlacementPolicy {
  bool may_unpin = false;  // to any agent that can do it, after `wait`
  Duration wait{};         // from the moment it could be given out; starts over after each attempt
};

[[nodiscard]] PlacementPolicy policy_for(const ledger::Placement& where, std::string_view type,
                                         const DispatcherOptions& options);
// Of a task that is pinned.
[[nodiscard]] inline PlacementPolicy policy_of(const TaskRecord& task, const DispatcherOptions& options) {
  return policy_for(task.extras->where(), task.shape().type, options);
}
// A pinned task is ready: notes from when on any agent may have it, unless it has waited before without being begun.
void wait_for_agent(TaskRecord& task, const DispatcherOptions& options, Instant now);

}  // namespace skein::inline v0::dispatch
