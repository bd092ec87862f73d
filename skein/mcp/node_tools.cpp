#include <boost/json/array.hpp>
#include <utility>

#include "skein/base/version.hpp"
#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/tool_parts.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::int64_t k_tree_depth_default = 4;
constexpr std::int64_t k_tree_children_default = 20;

// A tree of thousands of agents is cut to what can be read; what is missing is counted.
json::object cut(const json::object& entry, std::int64_t depth, std::int64_t children_max) {
  json::object out;
  for (const char* key : {"id", "type", "state", "what", "label", "pid", "restarts", "mailbox", "isolated"}) {
    if (const json::value* found = entry.if_contains(key)) out[key] = *found;
  }
  const json::value* below = entry.if_contains("children");
  if (below == nullptr || !below->is_array() || below->get_array().empty()) return out;
  const json::array& all = below->get_array();
  json::array shown;
  if (depth > 1) {
    for (const json::value& each : all) {
      if (static_cast<std::int64_t>(shown.size()) == children_max) break;
      shown.push_back(cut(each.as_object(), depth - 1, children_max));
    }
  }
  if (shown.size() < all.size()) out["children_not_shown"] = all.size() - shown.size();
  if (!shown.empty()) out["children"] = std::move(shown);
  return out;
}

void tree(Exchange& exchange) {
  exchange.ask_node("tree", {}, [](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    const auto given = [&](const char* key, std::int64_t otherwise) {
      const json::value* found = then.arguments().if_contains(key);
      return found != nullptr ? found->to_number<std::int64_t>() : otherwise;
    };
    then.finish(structured({{"tree", cut(answer.value.as_object(), given("depth", k_tree_depth_default),
                                         given("children", k_tree_children_default))}}));
  });
}

void metrics(Exchange& exchange) {
  exchange.ask_node("info", {}, [](Exchange& then, const NodeAnswer& info) {
    if (info.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(info.value));
    then.ask_node("status", {}, [node = info.value](Exchange& last, const NodeAnswer& status) {
      if (status.kind == NodeAnswer::Kind::error) return last.finish_error(error_text(status.value));
      last.finish(structured({{"node", node}, {"work", status.value}}));
    });
  });
}

}  // namespace

void add_node_tools(Catalog& catalog) {
  catalog.add(Tool{"tree", "Supervision tree",
                   "The node's supervision tree as it stands: who supervises whom, state and restarts of each.",
                   schema_of(R"({"type":"object","properties":{
                     "depth":{"type":"integer","minimum":1,"maximum":20,"description":"default: 4"},
                     "children":{"type":"integer","minimum":1,"maximum":200,
                                 "description":"Shown of each supervisor, default: 20"}},
                     "additionalProperties":false})"),
                   schema_of(R"({"type":"object","properties":{"tree":{"type":"object"}},"required":["tree"]})"),
                   annotations({.is_read_only = true}), tree});
  catalog.add(Tool{"metrics", "Metrics",
                   "How the node does: version, uptime, memory; open, completed and failed tasks; the journal.",
                   schema_of(R"({"type":"object","properties":{},"additionalProperties":false})"),
                   schema_of(R"({"type":"object","properties":{"node":{"type":"object"},"work":{"type":"object"}},
                     "required":["node","work"]})"),
                   annotations({.is_read_only = true}), metrics});
}

std::shared_ptr<Catalog> make_node_catalog() {
  auto catalog = std::make_shared<Catalog>();
  catalog->server_version = skein::version();
  catalog->instructions =
      "skein runs tasks on a swarm of supervised agents, so that no crash loses work. Submit work with task_submit, "
      "then "
      "call task_wait with the id until finished is true. task_list and agent_list show what goes on; tree and metrics "
      "show how the node does. An error says what to do next.";
  add_task_tools(*catalog);
  add_swarm_tools(*catalog);
  add_agent_tools(*catalog);
  add_node_tools(*catalog);
  add_node_resources(*catalog);
  add_node_prompts(*catalog);
  return catalog;
}

}  // namespace skein::inline v0::mcp
