// Changing one agent that is there, or bringing back one that was stopped; and restarting any child of the tree. Like
// agent_hooks.hpp: any thread, nothing blocks, every Reply is answered once.
#pragma once

#include <string>

#include "skein/node/node_context.hpp"
#include "skein/operations/node_hooks.hpp"

namespace skein::inline v0::node {

// Starts an agent of [[agents]] that is down or parked.
void start_agent_again(const ContextPtr& context, std::string id,
                       operations::Reply<operations::Operations::Nothing> reply);
// Sets prefetch and capabilities of one agent, until it is restarted.
void update_agent(const ContextPtr& context, operations::UpdateAgentRequest request,
                  operations::Reply<operations::Operations::Nothing> reply);
// Cuts short what it runs: the attempt fails for good.
void cancel_agent(const ContextPtr& context, std::string id, operations::Reply<operations::CancelAgentAnswer> reply);
// Restarts the child at a path of the tree, as 'skein tree' shows it; starts one that is down or parked. Answers the
// path and the new Pid.
void restart_in_tree(const ContextPtr& context, std::string path, operations::Reply<std::string> reply);

}  // namespace skein::inline v0::node
