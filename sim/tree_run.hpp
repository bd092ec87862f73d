// Runs a tree script on our supervisors, deterministic and in virtual time, and gives the transcript.
//
// After each command: its answer, then, when all is at rest, a line for every name whose state changed, word for word
// what the same script prints on Erlang's supervisor (tests/otp_differential/tree_script.erl).
#pragma once

#include <cstdint>
#include <string>

#include "sim/tree_script.hpp"

namespace skein::sim {

[[nodiscard]] std::string run_tree_script(const TreeScript& script, std::uint64_t seed);

}  // namespace skein::sim
