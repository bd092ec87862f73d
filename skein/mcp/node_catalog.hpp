// What a node offers over MCP: its tools, resources and prompts. Each is a thin way to the operations that the CLI has
// too. Made once, before anybody is served.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skein/mcp/catalog.hpp"
#include "skein/operations/event_stream.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::mcp {

[[nodiscard]] std::shared_ptr<Catalog> make_node_catalog();

// The parts of it.
void add_operation_tools(Catalog& catalog);
void add_node_resources(Catalog& catalog);
void add_node_prompts(Catalog& catalog);

// Suggests ids of tasks in these states, an equal share of each; an empty text: in any.
[[nodiscard]] Handler completes_tasks(std::vector<std::string> states = {""});
// A tool as the table of operations declares it.
[[nodiscard]] Tool tool_of(const operations::Operation& operation);
// What the node is asked: the arguments of a tool with the defaults that hold over MCP, JSON values as texts.
[[nodiscard]] json::object request_of(const operations::Operation& operation, const json::object& arguments);
// Handlers of tools that do more than ask once, by name.
[[nodiscard]] std::map<std::string_view, Handler> task_tool_handlers();

// The resources that have changed when this has happened.
[[nodiscard]] std::vector<Change> changes_of(const operations::Event& event);

}  // namespace skein::inline v0::mcp
