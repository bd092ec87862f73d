#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "skein/mcp/node_catalog.hpp"

namespace skein::inline v0::mcp {
namespace {

void say(Exchange& exchange, std::string_view description, std::string_view text) {
  exchange.finish(
      {{"description", description},
       {"messages", json::array{json::object{{"role", "user"}, {"content", {{"type", "text"}, {"text", text}}}}}}});
}

void diagnose(Exchange& exchange) {
  say(exchange, "Find out why a task failed or waits",
      fmt::format("Find out why the skein task {} failed, or why it is not done. Read it with task_status: "
                  "failed_attempts has each attempt's agent, error and message, waits says what an open task waits "
                  "for. Look at the agents concerned with agent_status and at the tree for "
                  "restarts. Say what the cause is and whether task_retry would help; do not retry before saying so.",
                  text_in(exchange.arguments(), "task")));
}

void health(Exchange& exchange) {
  say(exchange, "Check the health of the node",
      "Check the health of this skein node. Use metrics, tree, swarm_list and task_list with state failed. Name what "
      "needs "
      "attention first: children that restart often or are parked, swarms with many open tasks, failed tasks, a "
      "journal "
      "that is low on disk. Give the numbers you saw.");
}

void delegate(Exchange& exchange) {
  say(exchange, "Split work into tasks and run them on the swarm",
      fmt::format(
          "Reach this goal with the skein swarm: {}\n\nLook at agent_list for what agents can do, split the goal "
          "into tasks of those types, submit each with task_submit and a key of its own, then task_wait for "
          "each and put the results together. A task that failed: read why before you retry it.",
          text_in(exchange.arguments(), "goal")));
}

}  // namespace

void add_node_prompts(Catalog& catalog) {
  catalog.add(Prompt{"delegate",
                     "Delegate to the swarm",
                     "Split work into tasks and run them on the swarm",
                     {{"goal", "The goal", true}},
                     delegate,
                     {},
                     {"agent_list", "task_submit", "task_wait"}});
  catalog.add(Prompt{"diagnose_task",
                     "Diagnose a task",
                     "Find out why a task failed or waits",
                     {{"task", "The task's id", true}},
                     diagnose,
                     completes_tasks({"failed", ""}),
                     {"task_status", "agent_status", "tree"}});
  catalog.add(Prompt{"node_health",
                     "Node health",
                     "Check the health of the node",
                     {},
                     health,
                     {},
                     {"metrics", "tree", "swarm_list", "task_list"}});
}

}  // namespace skein::inline v0::mcp
