// The idempotency key of a task that replaces another. The ledger gives it to the task of a retry. A client that
// retries a task that only the archive knows submits with it: so both find the same task. A pure function.
#pragma once

#include <string>

#include "skein/ledger/task.hpp"

namespace skein::inline v0::ledger {

[[nodiscard]] inline std::string retry_key(TaskId old_task) { return "retry of " + old_task.text(); }

}  // namespace skein::inline v0::ledger
