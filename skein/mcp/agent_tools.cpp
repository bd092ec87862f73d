#include <boost/json/array.hpp>
#include <utility>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/tool_parts.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr const char* k_agent_schema = R"({"type":"object","properties":{"id":{"type":"string"},
  "role":{"type":"string"},"status":{"type":"string"},"swarm":{"type":"string"},"executor":{"type":"string"},
  "load":{"type":"integer"},"completed":{"type":"integer"},"failed":{"type":"integer"},
  "executing_task":{"type":"string"},"passed_over":{"type":"array","items":{"type":"object"},
  "description":"Why it gets no tasks, or comes after others, and until when; empty when it gets its share"}},
  "required":["id","status","swarm"]})";
constexpr const char* k_agent_done_schema = R"({"type":"object","properties":{"id":{"type":"string"},
  "done":{"type":"string"}},"required":["id","done"]})";

json::value agent_id_schema() {
  return schema_of(R"({"type":"object","properties":{"id":{"type":"string","minLength":1,
    "description":"The agent's id, as agent_list has it"}},"required":["id"],"additionalProperties":false})");
}

Handler agent_done(std::string op, std::string what) {
  return [op = std::move(op), what = std::move(what)](Exchange& exchange) {
    exchange.ask_node(op, exchange.arguments(), [what](Exchange& then, const NodeAnswer& answer) {
      if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
      then.finish(structured({{"id", then.arguments().at("id")}, {"done", what}}));
    });
  };
}

void list_agents(Exchange& exchange) {
  exchange.ask_node("agent_list", {}, [](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    then.finish(structured(page_of(then.arguments(), answer.value, "agents", "id")));
  });
}

}  // namespace

void add_agent_tools(Catalog& catalog) {
  catalog.add(
      Tool{"agent_spawn", "Start an agent",
           "Starts one more agent and answers its id. executor must be one of the node's config: no command "
           "line can be given here.",
           schema_of(R"({"type":"object","properties":{
                     "executor":{"type":"string","minLength":1},
                     "id":{"type":"string","description":"default: one is made"},
                     "role":{"type":"string","enum":["worker","specialist","coordinator"]},
                     "swarm":{"type":"string","description":"default: default"},
                     "capabilities":{"type":"array","items":{"type":"string"}},
                     "prefetch":{"type":"integer","minimum":1,"maximum":100}},
                     "required":["executor"],"additionalProperties":false})"),
           schema_of(R"({"type":"object","properties":{"id":{"type":"string"}},"required":["id"]})"), annotations({}),
           one_operation("agent_spawn", [](const json::value& answer) { return json::object{{"id", answer}}; })});
  catalog.add(Tool{"agent_list", "List agents",
                   "Agents by id, 20 in a page unless limit says otherwise; pass the cursor of the answer to go on.",
                   schema_of(R"({"type":"object","properties":{
                     "swarm":{"type":"string"},
                     "limit":{"type":"integer","minimum":1,"maximum":100},
                     "cursor":{"type":"string","description":"Of the answer before"}},"additionalProperties":false})"),
                   schema_of(std::string(R"({"type":"object","properties":{"total":{"type":"integer"},
                     "cursor":{"type":"string"},"agents":{"type":"array","items":)") +
                             k_agent_schema + R"(}},"required":["agents","total"]})"),
                   annotations({.is_read_only = true}), list_agents});
  catalog.add(Tool{"agent_status", "Look at an agent",
                   "One agent: what it runs, how it has done so far, and its last tasks.", agent_id_schema(),
                   schema_of(k_agent_schema), annotations({.is_read_only = true}), one_operation("agent_status")});
  catalog.add(Tool{"agent_pause", "Pause an agent",
                   "The agent finishes what it runs and gets nothing more. agent_resume undoes it.", agent_id_schema(),
                   schema_of(k_agent_done_schema), annotations({.is_idempotent = true}),
                   agent_done("agent_pause", "paused")});
  catalog.add(Tool{"agent_resume", "Resume an agent", "A paused agent gets tasks again.", agent_id_schema(),
                   schema_of(k_agent_done_schema), annotations({.is_idempotent = true}),
                   agent_done("agent_resume", "resumed")});
  catalog.add(Tool{"agent_stop", "Stop an agent",
                   "Ends an agent; what it ran goes to another. An agent that the config names comes back.",
                   agent_id_schema(), schema_of(k_agent_done_schema),
                   annotations({.is_destructive = true, .is_idempotent = true}), agent_done("agent_stop", "stopped")});
}

}  // namespace skein::inline v0::mcp
