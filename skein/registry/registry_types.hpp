// The registry's limits and errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

#include "skein/runtime/pid.hpp"

namespace skein::inline v0 {

// No name, capability, counter, group or topic may be longer than this, whatever the limits say.
inline constexpr std::size_t k_registry_text_max = 255;
inline constexpr std::size_t k_capabilities_max = 64;

struct RegistryLimits {
  std::size_t name_bytes = k_registry_text_max;             // of an agent, counter, group or topic
  std::size_t capability_bytes = 128;                       // of one capability
  std::size_t capabilities_per_agent = k_capabilities_max;  // duplicates count
  std::size_t capabilities_per_query = k_capabilities_max;  // of query_agents
  std::uint32_t entries = 4'000'000;                        // agents, counters and group memberships together
  std::uint32_t sets = 100'000;                             // capabilities, counter names and groups in use
  std::uint32_t watches = 1'000'000;                        // on names, and as many on resources
  std::uint32_t watch_backlog = 2'000'000;  // messages that wait for a watcher, from which on it misses events
  std::uint32_t subscriptions = 1'000'000;
  std::uint32_t waits = 100'000;       // processes and threads in await_agent
  std::size_t names_at_once = 10'000;  // of register_agents
};

enum class RegistryFailure : std::uint8_t {
  already_registered,     // `holder` has it
  not_found,              //
  not_owner,              // `holder` has it
  dead_process,           // the Pid names no living process
  bad_name,               // empty, or more than `limit` bytes
  bad_capability,         // likewise
  too_many_capabilities,  // more than `limit` in one list
  too_many_names,         // more than `limit` in one list
  full,                   // `limit` entries, sets, watches, subscriptions, waits or workers are there
  load_below_zero,        // nothing was changed
  load_too_large,         // likewise
  counter_overflow,       // likewise
  no_heartbeat,           // none has been given yet
  timeout,                // nobody took the name in time
  unavailable,            // the registry's process is not running, or was restarted while one waited
};

struct RegistryError {
  RegistryFailure failure = RegistryFailure::not_found;
  Pid holder;
  std::uint64_t limit = 0;
  // One line for people: what happened and what to do.
  [[nodiscard]] std::string text() const;
};

template <class T>
using RegistryResult = std::expected<T, RegistryError>;

[[nodiscard]] inline std::unexpected<RegistryError> registry_error(RegistryFailure failure, Pid holder = {}) {
  return std::unexpected(RegistryError{failure, holder, 0});
}
[[nodiscard]] inline std::unexpected<RegistryError> registry_limit(RegistryFailure failure, std::uint64_t limit) {
  return std::unexpected(RegistryError{failure, {}, limit});
}

}  // namespace skein::inline v0
