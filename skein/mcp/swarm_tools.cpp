#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/tool_parts.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr const char* k_swarm_schema = R"({"type":"object","properties":{"name":{"type":"string"},
  "state":{"type":"string"},"origin":{"type":"string"},"open_tasks":{"type":"integer"},
  "open_bytes":{"type":"integer"},"breaker":{"type":"string"},"definition":{"type":"object"},
  "passed_over":{"type":"array","items":{"type":"object"},
  "description":"Types of its tasks that are held back after crashes, and until when"},
  "overrides":{"type":"object"},"problems":{"type":"array","items":{"type":"string"},
  "description":"What keeps it from working as it should, and what to do; empty when all is well"}},
  "required":["name","state","open_tasks"]})";
constexpr const char* k_done_schema = R"({"type":"object","properties":{"name":{"type":"string"},
  "done":{"type":"string"}},"required":["name","done"]})";

json::value name_schema() {
  return schema_of(R"({"type":"object","properties":{"name":{"type":"string","minLength":1,
    "description":"The swarm's name, as swarm_list has it"}},"required":["name"],"additionalProperties":false})");
}

// An operation that answers nothing: the result says what was done.
Handler done(std::string op, std::string what) {
  return [op = std::move(op), what = std::move(what)](Exchange& exchange) {
    exchange.ask_node(op, exchange.arguments(), [what](Exchange& then, const NodeAnswer& answer) {
      if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
      then.finish(structured({{"name", then.arguments().at("name")}, {"done", what}}));
    });
  };
}

void create(Exchange& exchange) {
  const json::object& given = exchange.arguments();
  json::object fields;
  const auto text = [&](const char* key, const char* field) {
    if (given.contains(key)) fields[field] = given.at(key);
  };
  const auto number = [&](const char* key, const char* field) {
    if (given.contains(key)) fields[field] = std::to_string(given.at(key).to_number<std::int64_t>());
  };
  text("executor", "executor");
  text("role", "role");
  text("fallback", "fallback");
  number("min", "agents_min");
  number("max", "agents_max");
  exchange.ask_node("swarm_create", {{"name", given.at("name")}, {"fields", std::move(fields)}},
                    [](Exchange& then, const NodeAnswer& answer) {
                      if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
                      then.finish(structured({{"name", then.arguments().at("name")}, {"done", "created"}}));
                    });
}

void list_swarms(Exchange& exchange) {
  exchange.ask_node("swarm_list", {}, [](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    then.finish(structured(page_of(then.arguments(), answer.value, "swarms", "name")));
  });
}

}  // namespace

void add_swarm_tools(Catalog& catalog) {
  const auto by_name = [&](const char* name, const char* title, const char* description, const char* word,
                           const Effect& effect) {
    catalog.add(
        Tool{name, title, description, name_schema(), schema_of(k_done_schema), annotations(effect), done(name, word)});
  };
  catalog.add(Tool{"swarm_create", "Create a swarm",
                   "Makes a swarm: a queue of tasks with agents of its own. executor must be one of the node's config; "
                   "without one the swarm has no agents of its own, and others that can do its tasks run them.",
                   schema_of(R"({"type":"object","properties":{
                     "name":{"type":"string","minLength":1,"maxLength":120},
                     "executor":{"type":"string","description":"Of the node's config; 'function' is always there"},
                     "role":{"type":"string","enum":["worker","specialist","coordinator"]},
                     "min":{"type":"integer","minimum":0,"maximum":100000,
                       "description":"Agents that always run, default 5"},
                     "max":{"type":"integer","minimum":0,"maximum":100000,
                       "description":"Agents at most, default 100"},
                     "fallback":{"type":"string","minLength":1,
                       "description":"The swarm its tasks go to when their attempts are used up; must exist"}},
                     "required":["name"],"additionalProperties":false})"),
                   schema_of(k_done_schema), annotations({}), create});
  catalog.add(Tool{"swarm_list", "List swarms",
                   "Swarms by name, with their state and how many tasks are open in each, 20 in a page unless limit "
                   "says otherwise; pass the cursor of the answer to go on.",
                   schema_of(R"({"type":"object","properties":{
                     "limit":{"type":"integer","minimum":1,"maximum":100},
                     "cursor":{"type":"string","description":"Of the answer before"}},"additionalProperties":false})"),
                   schema_of(fmt::format(R"({{"type":"object","properties":{{"total":{{"type":"integer"}},
                     "cursor":{{"type":"string"}},"swarms":{{"type":"array","items":{}}}}},
                     "required":["swarms","total"]}})",
                                         k_swarm_schema)),
                   annotations({.is_read_only = true}), list_swarms});
  catalog.add(Tool{"swarm_status", "Look at a swarm",
                   "One swarm: its definition, state, open tasks, breaker and problems.", name_schema(),
                   schema_of(k_swarm_schema), annotations({.is_read_only = true}), one_operation("swarm_status")});
  catalog.add(Tool{"swarm_scale", "Scale a swarm", "Sets how few and how many agents a swarm may have.",
                   schema_of(R"({"type":"object","properties":{
                     "name":{"type":"string","minLength":1},
                     "min":{"type":"integer","minimum":0,"maximum":100000},
                     "max":{"type":"integer","minimum":0,"maximum":100000}},
                     "required":["name","min","max"],"additionalProperties":false})"),
                   schema_of(k_done_schema), annotations({.is_idempotent = true}), done("swarm_scale", "scaled")});
  by_name("swarm_pause", "Pause a swarm",
          "No further task of the swarm is begun; what runs goes on and new tasks are taken. swarm_resume undoes it.",
          "paused", {.is_idempotent = true});
  by_name("swarm_resume", "Resume a swarm", "A paused swarm begins tasks again.", "resumed", {.is_idempotent = true});
  by_name(
      "swarm_stop", "Stop a swarm",
      "Stops a swarm: it takes no new tasks, its agents end, and its open tasks wait. swarm_resume starts it again.",
      "stopped", {.is_destructive = true, .is_idempotent = true});
}

}  // namespace skein::inline v0::mcp
