// The idempotency key of a task that stands in for another. The ledger gives it to what a retry makes, and whoever
// retries a task that only the archive knows submits with it: so both find the same one. A pure function.
#pragma once

#include <string>

#include "skein/ledger/task.hpp"

namespace skein::inline v0::ledger {

[[nodiscard]] inline std::string retry_key(TaskId old_task) { return "retry of " + old_task.text(); }

}  // namespace skein::inline v0::ledger
