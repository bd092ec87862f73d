#include "skein/rest/routes.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "skein/operations/methods.hpp"
#include "skein/rest/answers.hpp"

namespace skein::inline v0::rest {
namespace {

using In = Param::In;
using Kind = Param::Kind;

constexpr std::string_view k_states = "queued assigned executing completed failed cancelled blocked awaiting_approval";

Param in_path(std::string_view name, std::string_view about) { return {In::path, name, Kind::text, about, true}; }
Param in_query(std::string_view name, Kind kind, std::string_view about, std::string_view words = {}) {
  return {In::query, name, kind, about, false, words};
}
Param in_body(std::string_view name, Kind kind, std::string_view about, std::string_view words = {}) {
  return {In::body, name, kind, about, false, words};
}
Param from_to(Param param, std::uint64_t least, std::uint64_t most) {
  param.least = least;
  param.most = most;
  return param;
}
Param needed(Param param) {
  param.is_required = true;
  return param;
}

Param task_id() { return in_path("id", "The task's id"); }
Param swarm_name() { return in_path("name", "The swarm's name"); }
Param agent_id() { return in_path("id", "The agent's id"); }
Param page_limit() { return from_to(in_query("limit", Kind::count, "At most so many; default: 100"), 1, k_page_max); }
Param page_cursor() { return in_query("cursor", Kind::text, "Of the page before: the list goes on after it"); }

std::vector<Route> task_routes() {
  return {
      {"GET",
       "/tasks",
       "task_list",
       "Tasks, open ones first, a page at a time",
       "TaskPage",
       {in_query("state", Kind::text, "Only tasks in this state", k_states),
        in_query("swarm", Kind::text, "Only tasks of this swarm"),
        in_query("type", Kind::text, "Only tasks of this type"),
        in_query("id_prefix", Kind::text, "Only tasks whose ids begin like this"),
        in_query("text", Kind::text, "Every word begins a word of the params, the result or the message"),
        in_query("finished_from", Kind::count, "Finished at this time or later, in ms since 1970"),
        in_query("finished_before", Kind::count, "Finished before this time, in ms since 1970"), page_limit(),
        page_cursor()}},
      {"POST",
       "/tasks",
       "task_submit",
       "Submit a task; it is durable when this is answered",
       "Submitted",
       {needed(
            in_body("type", Kind::text, "What kind of work it is; without capabilities an agent must have it as one")),
        in_body("params", Kind::any, "Any JSON value, as the agent gets it"),
        in_body("swarm", Kind::text, "default: default"),
        in_body("priority", Kind::text, "default: normal", "low normal high critical"),
        in_body("key", Kind::text, "Idempotency: the same key again finds the first task"),
        in_body("capabilities", Kind::texts, "What an agent must have, instead of the type"),
        in_body("dependencies", Kind::texts, "Ids of tasks that must be completed first"),
        from_to(in_body("attempts", Kind::count, "At most so many, the first included; default: 4"), 1, 0),
        in_body("timeout_ms", Kind::count, "Of each attempt; default: the type's or the executor's"),
        in_body("delay_ms", Kind::count, "Not before this has passed"),
        in_body("deadline_ms", Kind::count, "All attempts together"), in_body("trace", Kind::text, "A W3C traceparent"),
        in_body("agent", Kind::text, "The only agent that may do it; it waits for this one"),
        in_body("agent_fallback", Kind::text,
                "any: other agents may, after agent_wait_ms; default: the type's or the config's", "none any"),
        in_body("agent_wait_ms", Kind::count,
                "How long it waits for its agent before other agents may; default: likewise"),
        in_body("route_key", Kind::text,
                "With consistent_hash the same key goes to the same agent; default: key, else id")},
       201},
      {"GET", "/tasks/{id}", "task_status", "A task with params, result and failed attempts", "Task", {task_id()}},
      {"POST",
       "/tasks/{id}/wait",
       "task_wait",
       "Wait until a task has ended; finished says whether it has",
       "Waited",
       {task_id(), in_body("timeout_ms", Kind::count, "At most so long, up to [operations] wait_max; default: 50000")}},
      {"POST",
       "/tasks/{id}/cancel",
       "task_cancel",
       "Cancel a task",
       "TaskState",
       {task_id(), in_body("reason", Kind::text, "For people")}},
      {"POST",
       "/tasks/{id}/retry",
       "task_retry",
       "A new task like one that failed or was cancelled",
       "Retried",
       {task_id()},
       201},
  };
}

std::vector<Route> swarm_routes() {
  const auto fields = in_body(
      "fields", Kind::fields,
      "executor, role, capabilities, agents_min, agents_max, prefetch, idle_after_ms or fallback, each as text");
  return {
      {"GET",
       "/swarms",
       "swarm_list",
       "Swarms by their names, a page at a time",
       "SwarmPage",
       {page_limit(), page_cursor()},
       200,
       {"swarms", "name"}},
      {"POST",
       "/swarms",
       "swarm_create",
       "Make a swarm",
       "Done",
       {needed(in_body("name", Kind::text, "Letters, digits, '-', '_' and '.'")), fields},
       201},
      {"GET", "/swarms/{name}", "swarm_status", "A swarm", "Swarm", {swarm_name()}},
      {"PATCH", "/swarms/{name}", "swarm_override", "Change fields of a swarm", "Done", {swarm_name(), fields}},
      {"DELETE", "/swarms/{name}", "swarm_remove", "Remove a swarm without open tasks", "Done", {swarm_name()}},
      {"POST",
       "/swarms/{name}/scale",
       "swarm_scale",
       "How many agents it has",
       "Done",
       {swarm_name(), needed(in_body("min", Kind::count, "At least so many agents")),
        needed(in_body("max", Kind::count, "At most so many agents"))}},
      {"POST", "/swarms/{name}/pause", "swarm_pause", "Begin no further task", "Done", {swarm_name()}},
      {"POST", "/swarms/{name}/resume", "swarm_resume", "Go on", "Done", {swarm_name()}},
      {"POST",
       "/swarms/{name}/drain",
       "swarm_drain",
       "Take no further task, finish those it has",
       "Done",
       {swarm_name()}},
      {"POST", "/swarms/{name}/stop", "swarm_stop", "Stop its agents and take no task", "Done", {swarm_name()}},
  };
}

std::vector<Route> agent_routes() {
  return {
      {"GET",
       "/agents",
       "agent_list",
       "Agents by their ids, a page at a time",
       "AgentPage",
       {in_query("swarm", Kind::text, "Only agents of this swarm"), page_limit(), page_cursor()},
       200,
       {"agents", "id"}},
      {"POST",
       "/agents",
       "agent_spawn",
       "Start an agent of an executor that the config has",
       "Spawned",
       {needed(in_body("executor", Kind::text, "Its name in the config")),
        in_body("id", Kind::text, "default: one is made"),
        in_body("role", Kind::text, "default: worker", "worker specialist coordinator"),
        in_body("swarm", Kind::text, "default: default"),
        in_body("capabilities", Kind::texts, "default: the executor's"),
        from_to(in_body("prefetch", Kind::count, "Tasks it holds ahead; default: 1"), 0, 100)},
       201},
      {"GET", "/agents/{id}", "agent_status", "An agent, with what it did last", "AgentStatus", {agent_id()}},
      {"POST", "/agents/{id}/pause", "agent_pause", "Give it no further task", "Done", {agent_id()}},
      {"POST", "/agents/{id}/resume", "agent_resume", "Go on", "Done", {agent_id()}},
      {"POST", "/agents/{id}/stop", "agent_stop", "Stop it; its task goes to another", "Done", {agent_id()}},
  };
}

std::vector<Route> node_routes() {
  return {
      {"GET", "/status", "status", "What the node has to do and has done", "Status"},
      {"GET", "/node", "info", "What the node is", "Node"},
      {"GET", "/metrics", "metrics", "Both of these in one", "Metrics"},
      {"GET",
       "/tree",
       "tree",
       "The supervision tree as it stands",
       "Tree",
       {from_to(in_query("depth", Kind::count, "Levels shown; default: 32"), 1, k_tree_depth_max),
        from_to(in_query("children", Kind::count, "Shown of each supervisor; default: 100"), 1, k_tree_children_max)}},
      {"GET",
       "/processes",
       "processes",
       "Processes, those first that have most of something",
       "Processes",
       {in_query("sort", Kind::text, "By what; default: mailbox", "mailbox time memory handled"),
        from_to(in_query("limit", Kind::count, "At most so many; default: 100"), 0,
                operations::k_processes_listed_max)}},
      {"GET",
       "/events",
       "events",
       "What happens, as server-sent events; Last-Event-ID resumes",
       "Event",
       {in_query("task", Kind::text, "Only events of this task"),
        in_query("kinds", Kind::texts, "Only events of these kinds, with commas between"),
        in_query("after", Kind::count, "Begin after this sequence; 0: with all that is kept; default: from now on")}},
      {"GET",
       "/events/last",
       "event_list",
       "What happened last, the newest at the end",
       "Events",
       {from_to(in_query("limit", Kind::count, "At most so many; default: 100"), 0, operations::k_events_listed_max)}},
      {"GET", "/openapi.json", "openapi", "This description", "OpenApi"},
  };
}

// The parts between slashes.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

bool is_value(std::string_view part) { return part.starts_with('{'); }

// Nothing when it is another path.
std::optional<json::object> values_in(std::string_view pattern, const std::vector<std::string_view>& parts) {
  const auto wanted = parts_of(pattern);
  if (wanted.size() != parts.size()) return std::nullopt;
  json::object values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!is_value(wanted[i])) {
      if (wanted[i] != parts[i]) return std::nullopt;
      continue;
    }
    const auto value = unescaped(parts[i], false);
    if (!value || value->empty()) return std::nullopt;
    values[wanted[i].substr(1, wanted[i].size() - 2)] = *value;
  }
  return values;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> k_all = [] {
    std::vector<Route> all;
    for (auto part : {task_routes(), swarm_routes(), agent_routes(), node_routes()}) {
      std::ranges::move(part, std::back_inserter(all));
    }
    return all;
  }();
  return k_all;
}

Match match(std::string_view method, std::string_view path) {
  Match found;
  if (!path.starts_with(k_api_path)) return found;
  const auto parts = parts_of(path.substr(k_api_path.size()));
  for (const Route& each : routes()) {
    auto values = values_in(each.path, parts);
    if (!values) continue;
    if (each.method == method) return {&each, std::move(*values), {}};
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += each.method;
  }
  return found;
}

}  // namespace skein::inline v0::rest
