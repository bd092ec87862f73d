#include "skein/registry/registry_types.hpp"

#include <fmt/format.h>

namespace skein::inline v0 {

std::string RegistryError::text() const {
  switch (failure) {
    case RegistryFailure::already_registered:
      return fmt::format("the name is taken by {}: unregister it first, or use register_or_locate", holder.text());
    case RegistryFailure::not_found:
      return "nobody is registered under that name: check its spelling, or wait with await_agent";
    case RegistryFailure::not_owner:
      return fmt::format("the name belongs to {}: only its owner can give it away", holder.text());
    case RegistryFailure::dead_process:
      return "that process is dead: register one that lives";
    case RegistryFailure::bad_name:
      return fmt::format("a name must have 1 to {} bytes: choose another (limit name_bytes)", limit);
    case RegistryFailure::bad_capability:
      return fmt::format("a capability must have 1 to {} bytes and not be 'any': choose another (capability_bytes)",
                         limit);
    case RegistryFailure::too_many_capabilities:
      return fmt::format("a list may name {} capabilities at most (capabilities_per_agent, capabilities_per_query)",
                         limit);
    case RegistryFailure::too_many_names:
      return fmt::format("{} names can be registered at once at most (names_at_once): register the rest after them",
                         limit);
    case RegistryFailure::full:
      return fmt::format("the registry is full ({}): raise the limit or unregister what is not needed", limit);
    case RegistryFailure::load_below_zero:
      return "the load would fall below zero: it was decremented more often than incremented";
    case RegistryFailure::load_too_large:
      return fmt::format("a load may be {} at most: decrement it when a task has ended", limit);
    case RegistryFailure::counter_overflow:
      return "the counter would overflow: set it to another value first";
    case RegistryFailure::no_heartbeat:
      return "the agent has given no heartbeat yet: call update_heartbeat";
    case RegistryFailure::timeout:
      return "nobody took the name in time: start the agent, or wait longer";
    case RegistryFailure::unavailable:
      return "the registry's process is not running: start it, then try again";
  }
  return "unknown registry failure";
}

}  // namespace skein::inline v0
