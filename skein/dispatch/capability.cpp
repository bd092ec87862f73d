#include "skein/dispatch/capability.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "skein/registry/registry_table.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr std::size_t k_shown_bytes = 40;
// See swarm_load.hpp.
constexpr std::string_view k_own_prefixes[] = {"swarm="};

}  // namespace

std::optional<std::string> capability_text_problem(std::string_view capability) {
  if (capability.empty()) return "a capability is empty; leave it out";
  const auto is_odd = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == ','; };
  if (std::ranges::none_of(capability, is_odd)) return std::nullopt;
  return fmt::format("the capability '{}' has a space, a comma or a control character; use '-' or '_' instead",
                     capability.substr(0, k_shown_bytes));
}

std::optional<std::string> capability_problem(std::string_view capability) {
  if (auto problem = capability_text_problem(capability)) return problem;
  return stored_capability_problem(capability);
}

std::optional<std::string> stored_capability_problem(std::string_view capability) {
  if (capability.empty()) return "a capability is empty; leave it out";
  if (capability.size() > Router::k_capability_bytes_max) {
    return fmt::format("the capability '{}...' has {} bytes; at most {} are allowed",
                       capability.substr(0, k_shown_bytes), capability.size(), Router::k_capability_bytes_max);
  }
  if (capability == k_any_capability) {
    return fmt::format("the capability '{}' is reserved, every agent has it; name what the agent can do", capability);
  }
  for (const std::string_view prefix : k_own_prefixes) {
    if (!capability.starts_with(prefix)) continue;
    return fmt::format("the capability '{}' is reserved: those that begin with '{}' are the node's own", capability,
                       prefix);
  }
  return std::nullopt;
}

}  // namespace skein::inline v0::dispatch
