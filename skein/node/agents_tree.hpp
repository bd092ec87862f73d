// agents_sup and what is below it: the pool of agents, the [[agents]] and the trees of [[supervisors]].
//
// Each supervisor is built from the config in force when it starts, not when the node did: one that is restarted after
// a reload starts what the reload brought. What it starts is noted in the context's Deployment.
#pragma once

#include <optional>
#include <string>

#include "skein/node/node_context.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::node {

[[nodiscard]] ChildSpec agents_sup(const ContextPtr& context);
// One of [[agents]] as a child of named_agents. It starts nothing while the agent is stopped, see Deployment.
[[nodiscard]] ChildSpec named_agent_child(const ContextPtr& context, const AgentConfig& agent);
// One of [[supervisors]] as a child of agents_sup; nothing when the config has none of that name.
[[nodiscard]] std::optional<ChildSpec> declared_supervisor_child(const ContextPtr& context, const Config& config,
                                                                 const std::string& name);

}  // namespace skein::inline v0::node
