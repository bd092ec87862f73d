// An agent for a C++ function, from one set of options: runtime.spawn<FunctionAgent>(std::move(options)).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/agent/agent.hpp"
#include "skein/agent/function_executor.hpp"

namespace skein::inline v0::agent {

struct FunctionAgentOptions {
  std::string name;
  dispatch::Role role = dispatch::Role::worker;
  std::vector<std::string> capabilities;
  TaskFunction function;
  std::uint32_t prefetch = 1;  // tasks that it holds besides the one at work
  std::shared_ptr<RegistryTable> registry{};
};

// Throws std::invalid_argument without a function.
[[nodiscard]] std::unique_ptr<AgentSetup> agent_setup(std::unique_ptr<FunctionAgentOptions> options);

using FunctionAgent = Agent;
using FunctionFailure = Failure;

}  // namespace skein::inline v0::agent
