// What can be asked of agents, by name. Any thread; answers come from processes of their own.
#pragma once

#include <string>
#include <vector>

#include "skein/node/node_context.hpp"
#include "skein/operations/node_hooks.hpp"

namespace skein::inline v0::node {

[[nodiscard]] operations::Error no_agent(const std::string& id);
// Those that have all of these capabilities; those of [[agents]] that have no process are among them.
void ask_agents(const ContextPtr& context, std::vector<std::string> capabilities,
                operations::Reply<std::vector<operations::AgentDetail>> reply);
void ask_agent(const ContextPtr& context, std::string id, operations::Reply<operations::AgentStatusAnswer> reply);
void pause_agent(const ContextPtr& context, std::string id, bool is_paused, operations::Reply<std::monostate> reply);
void stop_agent(const ContextPtr& context, std::string id, operations::Reply<std::monostate> reply);
void spawn_agent(const ContextPtr& context, operations::SpawnAgentRequest request,
                 operations::Reply<std::string> reply);

// Into the stream of events, with the time of now; while the engine is away, into the one of the next.
void publish_or_keep(NodeContext& context, operations::Event event);
// Into the stream of events, with the time of now; nowhere while the engine is away.
void publish(NodeContext& context, operations::Event event);

}  // namespace skein::inline v0::node
