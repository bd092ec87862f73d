// What a node knows of the agents that a task is for: whether there are such, and why the task waits for them.
// Reads the registry and the config, which never block. Any thread.
#pragma once

#include <memory>

#include "skein/node/node_context.hpp"
#include "skein/operations/requests.hpp"

namespace skein::inline v0::node {

// Refers to the context weakly: the operations may outlive it by a moment.
[[nodiscard]] std::shared_ptr<const operations::AgentKnowledge> agent_knowledge(const ContextPtr& context);

}  // namespace skein::inline v0::node
