// What becomes of a task that is for one agent when that agent does not take it: the task's own word, else its type's,
// else the config's. Pure functions.
#pragma once

#include <string_view>

#include "skein/base/time.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

struct PlacementPolicy {
  bool may_fall_back = false;  // to any agent that can do it, after `wait`
  Duration wait{};             // from the moment it could be given out; anew after each attempt
};

[[nodiscard]] PlacementPolicy policy_for(const ledger::Placement& where, std::string_view type,
                                         const DispatcherOptions& options);

}  // namespace skein::inline v0::dispatch
