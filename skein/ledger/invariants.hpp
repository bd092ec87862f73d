// What must hold of a ledger after every entry, counted anew from its tasks. For tests and the simulator: it looks at
// everything, so it is slow. A pure function.
#pragma once

#include <optional>
#include <string>

#include "skein/ledger/ledger.hpp"

namespace skein::inline v0::ledger {

// What is wrong, in one sentence; nothing when all holds.
[[nodiscard]] std::optional<std::string> broken_invariant(const FrozenLedger& ledger);
// The same for the limits, where none was lowered below what was there.
[[nodiscard]] std::optional<std::string> broken_limit(const FrozenLedger& ledger);

}  // namespace skein::inline v0::ledger
