// The [[supervisors]] of a config: trees of named agents with policies of their own. Pure.
#pragma once

#include <functional>
#include <vector>

#include "skein/node/config.hpp"
#include "skein/supervision/supervisor_flags.hpp"

namespace skein::inline v0::node {

// How an agent of a declared supervisor is started.
using AgentStarter = std::function<StartFunction(const AgentConfig& agent)>;

// What is wrong with them, or nothing.
[[nodiscard]] std::vector<ConfigFault> check_declared_supervisors(const Config& config);
// Only for a config that was parsed without a fault.
[[nodiscard]] std::vector<SupervisorSpec> declared_supervisors(const Config& config, const AgentStarter& start);

}  // namespace skein::inline v0::node
