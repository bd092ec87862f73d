// Why the ledger refused a task, by the member that is to blame. Pure.
//
// The ledger answers a verdict and a limit; what was sent and the limits of the moment tell which member
// went beyond it. A task that was refused does not exist, so its id is in no message.
#pragma once

#include "skein/ledger/command.hpp"
#include "skein/ledger/limits.hpp"
#include "skein/operations/error.hpp"

namespace skein::inline v0::operations {

// `limits` are those the ledger judged by.
[[nodiscard]] Error submit_refusal(const ledger::OpResult& result, const ledger::TaskSpec& sent,
                                   const ledger::Limits& limits);

}  // namespace skein::inline v0::operations
