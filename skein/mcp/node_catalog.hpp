// What a node offers over MCP: its tools, resources and prompts. Each is a thin way to the operations that the CLI has
// too. Made once, before anybody is served.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/mcp/catalog.hpp"
#include "skein/operations/event_stream.hpp"

namespace skein::inline v0::mcp {

[[nodiscard]] std::shared_ptr<Catalog> make_node_catalog();

// The parts of it.
void add_task_tools(Catalog& catalog);
void add_swarm_tools(Catalog& catalog);
void add_agent_tools(Catalog& catalog);
void add_node_tools(Catalog& catalog);
void add_node_resources(Catalog& catalog);
void add_node_prompts(Catalog& catalog);

// Suggests ids of tasks in this state, or in any.
[[nodiscard]] Handler completes_tasks(std::string state = {});

// The resources that have changed when this has happened.
[[nodiscard]] std::vector<Change> changes_of(const operations::Event& event);

}  // namespace skein::inline v0::mcp
