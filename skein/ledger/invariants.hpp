// What must hold of a ledger after every entry, counted again from its tasks. For tests and the simulator: it looks at
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
// The same where limits may have been lowered: what is past a limit that is the same before and after must not have
// grown in between, one entry.
[[nodiscard]] std::optional<std::string> grown_past_limit(const FrozenLedger& before, const FrozenLedger& after);

}  // namespace skein::inline v0::ledger
