// What a swarm's fields in the ledger mean to its coordinator: which executor its agents name, how many of them there
// should be, what they can do. The fields themselves are in ledger/swarm_fields.hpp. Plain values and pure functions.
//
// A swarm without an executor has no agents of its own, and no coordinator; any agent that is able runs its tasks.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/ledger/change.hpp"

namespace skein::inline v0::swarm {

inline constexpr std::size_t k_name_bytes_max = 120;  // of a swarm with agents of its own: it is a capability of theirs

struct Definition {
  std::string swarm;
  std::string executor;
  dispatch::Role role = dispatch::Role::worker;
  std::vector<std::string> capabilities;  // besides the role's and the executor's own
  std::uint32_t agents_min = 5;
  std::uint32_t agents_max = 100;
  std::uint32_t prefetch = 1;
  Duration idle_after = std::chrono::seconds(30);  // agents beyond the minimum with nothing to do for so long are ended

  friend bool operator==(const Definition&, const Definition&) = default;
};

// The definition with its overrides, or what is wrong with it: one line per field, each saying what it should be.
[[nodiscard]] std::expected<Definition, std::vector<std::string>> definition_of(const ledger::Swarm& swarm);
// A number that differs where two definitions need different agents.
[[nodiscard]] std::uint64_t agent_mark(const Definition& definition);
// Whether two definitions need different agents; else only their number differs.
[[nodiscard]] bool needs_other_agents(const Definition& one, const Definition& other);

}  // namespace skein::inline v0::swarm
