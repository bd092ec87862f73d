#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "skein/mcp/core.hpp"
#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr int k_listed_tasks = 100;
constexpr int k_listed_events = 100;

// What an operation answers, as a JSON text. Its parameters may need the uri's variable.
Handler reads(std::string op, std::string variable = {}, json::object params = {}) {
  return [op = std::move(op), variable = std::move(variable), params = std::move(params)](Exchange& exchange) {
    json::object request = params;
    if (!variable.empty()) request[variable] = exchange.variable();
    exchange.ask_node(op, std::move(request), [](Exchange& then, const NodeAnswer& answer) {
      if (answer.kind == NodeAnswer::Kind::part) return;
      if (answer.kind == NodeAnswer::Kind::error) {
        const bool is_modern = then.caller().era == Era::modern;
        return then.fail({is_modern ? k_invalid_params : k_resource_not_found, error_text(answer.value),
                          json::object{{"uri", then.name()}}});
      }
      then.finish({{"contents", json::array{json::object{{"uri", then.name()},
                                                         {"mimeType", "application/json"},
                                                         {"text", operations::json_text(answer.value)}}}}});
    });
  };
}

// Ids of tasks that begin with what was typed: of one state after the other, newest first; without a state, open ones
// before finished ones. Each state has an equal share of what is suggested, so that none hides the next. Looks at most
// at so many pages of a state: who types a few more digits finds older ones.
constexpr int k_completion_pages = 5;
constexpr int k_completion_page_tasks = 200;

struct TaskCompletion {
  std::vector<std::string> states;  // that are still to be asked for, the present one first
  std::size_t share = 0;            // of a state
  json::array fits{};
  std::size_t fits_before = 0;  // of the states before
  int pages = 0;
  bool has_more = false;
};

void complete_tasks(Exchange& exchange, const TaskCompletion& so_far, const std::string& cursor) {
  json::object request{{"limit", k_completion_page_tasks}};
  if (!so_far.states.front().empty()) request["state"] = so_far.states.front();
  if (!cursor.empty()) request["cursor"] = cursor;
  exchange.ask_node("task_list", std::move(request), [so_far](Exchange& then, const NodeAnswer& answer) {
    TaskCompletion all = so_far;
    std::string next;
    const auto is_full = [&] { return all.fits.size() - all.fits_before >= all.share; };
    if (answer.kind == NodeAnswer::Kind::ok) {
      for (const json::value& each : answer.value.at("tasks").as_array()) {
        const std::string id = text_in(each.as_object(), "id");
        const bool fits = id.starts_with(text_in(then.arguments(), "value"));
        if (!fits || std::ranges::find(all.fits, json::value(id)) != all.fits.end()) continue;
        if (is_full()) {
          all.has_more = true;
        } else {
          all.fits.emplace_back(id);
        }
      }
      next = text_in(answer.value.as_object(), "cursor");
    }
    if (!next.empty() && !is_full() && ++all.pages < k_completion_pages) return complete_tasks(then, all, next);
    all.has_more = all.has_more || !next.empty();
    all.states.erase(all.states.begin());
    all.fits_before = all.fits.size();
    all.pages = 0;
    if (!all.states.empty()) return complete_tasks(then, all, {});
    then.finish({{"completion", {{"values", std::move(all.fits)}, {"hasMore", all.has_more}}}});
  });
}

// Names among what an operation lists that begin with what was typed.
Handler completes(std::string op, std::string list, std::string key) {
  return [op = std::move(op), list = std::move(list), key = std::move(key)](Exchange& exchange) {
    exchange.ask_node(op, {}, [list, key](Exchange& then, const NodeAnswer& answer) {
      std::vector<std::string> fits;
      if (answer.kind == NodeAnswer::Kind::ok) {
        for (const json::value& each : answer.value.at(list).as_array()) {
          std::string name(each.at(key).as_string());
          if (name.starts_with(text_in(then.arguments(), "value"))) fits.push_back(std::move(name));
        }
      }
      std::ranges::sort(fits);
      json::array values;
      for (const std::string& each : fits) {
        if (values.size() < k_completions_max) values.emplace_back(each);
      }
      const bool has_more = values.size() < fits.size();
      then.finish({{"completion", {{"values", std::move(values)}, {"total", fits.size()}, {"hasMore", has_more}}}});
    });
  };
}

}  // namespace

Handler completes_tasks(std::vector<std::string> states) {
  const std::size_t share = k_completions_max / states.size();
  return [states = std::move(states), share](Exchange& exchange) { complete_tasks(exchange, {states, share}, {}); };
}

void add_node_resources(Catalog& catalog) {
  struct Listed {
    const char* name;  // and the end of its uri
    const char* title;
    const char* description;
    const char* operation;
    json::object params{};
  };
  const std::vector<Listed> lists{
      {"tree", "Supervision tree", "The supervision tree as it is now", "tree"},
      {"status", "Status", "Counters of the node, its ledger and its journal", "status"},
      {"tasks", "Tasks", "The newest hundred tasks, open ones first", "task_list", {{"limit", k_listed_tasks}}},
      {"agents", "Agents", "All agents, and what each one is doing", "agent_list"},
      {"swarms", "Swarms", "All swarms with their open tasks", "swarm_list"},
      {"events", "Events", "The last hundred events, the newest last", "event_list", {{"limit", k_listed_events}}},
  };
  for (const Listed& each : lists) {
    catalog.add(Resource{std::string("skein://") + each.name,
                         each.name,
                         each.title,
                         each.description,
                         "application/json",
                         reads(each.operation, {}, each.params),
                         {},
                         {each.operation, {}}});
  }
  const auto add_one = [&](std::string uri, std::string name, std::string title, std::string description,
                           const Resource::Source& source, Handler complete) {
    catalog.add(Resource{std::move(uri), std::move(name), std::move(title), std::move(description), "application/json",
                         reads(source.operation, source.member), std::move(complete), source});
  };
  add_one("skein://tasks/{id}", "task", "Task", "One task whole: params, result, failed attempts",
          {"task_status", "id"}, completes_tasks());
  add_one("skein://agents/{id}", "agent", "Agent", "One agent with its last tasks", {"agent_status", "id"},
          completes("agent_list", "agents", "id"));
  add_one("skein://swarms/{name}", "swarm", "Swarm", "One swarm with its definition", {"swarm_status", "name"},
          completes("swarm_list", "swarms", "name"));
}

std::vector<Change> changes_of(const operations::Event& event) {
  using Kind = operations::Event::Kind;
  std::vector<Change> all;
  const auto add = [&](std::string uri) { all.push_back({Change::Kind::resource, std::move(uri)}); };
  switch (event.kind) {
    case Kind::swarm_changed:
    case Kind::swarm_problem:
    case Kind::swarm_mended:
    case Kind::swarm_removed:
      add("skein://swarms");
      add("skein://swarms/" + event.name);
      add("skein://tree");  // it has a coordinator
      break;
    case Kind::child_restarted:
    case Kind::child_start_failed:
    case Kind::child_parked:
    case Kind::intensity_warning:
    case Kind::intensity_exceeded:
      add("skein://tree");
      break;
    case Kind::agent_changed:
    case Kind::agent_removed:
      add("skein://agents");
      add("skein://agents/" + event.name);
      add("skein://tree");
      break;
    default:
      if (!event.task.none()) {
        add("skein://tasks");
        add("skein://tasks/" + event.task.text());
        all.push_back({Change::Kind::task, event.task.text()});
      }
      break;
  }
  add("skein://status");
  add("skein://events");
  return all;
}

}  // namespace skein::inline v0::mcp
