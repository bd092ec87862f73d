// Operations on the node itself: each declaration beside its handler.
#include <algorithm>
#include <utility>

#include "skein/operations/event_stream.hpp"
#include "skein/operations/node_answers.hpp"
#include "skein/operations/pages.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::uint64_t k_kills_most = 100'000;
constexpr std::uint64_t k_processes_shown = 100;
constexpr std::uint64_t k_processes_shown_cli = 30;
constexpr std::uint64_t k_events_shown = 100;

// An answer that is one text, as a member.
Reply<std::string> as_member(const Responder& respond, std::string_view member) {
  return Reply<std::string>([respond, member](Result<std::string>&& text) {
    if (!text) return respond.fail(std::move(text.error()));
    respond.send(Answer::Kind::ok,
                 [member, text = std::move(*text)]() -> json::value { return json::object{{member, text}}; });
  });
}

Param the_target() {
  return Param::text("target", "A name, a Pid such as <0.7.1>, or a path of the tree").required().at("PROCESS");
}

void show_status(const Call& call) { call.ops->status(call.respond.reply<NodeStatus>()); }

Operation status() {
  return {
      .name = "status",
      .title = "Status",
      .summary = "Show the node's tasks, journal and limits",
      .answer = "Status",
      .rest = {"GET", "/status"},
      .needs_engine = true,
      .handler = show_status,
  };
}

void show_info(const Call& call) { call.respond.answer<NodeInfo>(call.hooks.info()); }

Operation info() {
  return {
      .name = "info",
      .title = "Node",
      .summary = "Show information about the node: version, uptime, memory, supervision",
      .answer = "Node",
      .rest = {"GET", "/node"},
      .handler = show_info,
  };
}

void show_metrics(const Call& call) {
  call.ops->status(Reply<NodeStatus>([respond = call.respond, info = call.hooks.info()](Result<NodeStatus>&& work) {
    if (!work) return respond.fail(std::move(work.error()));
    respond.send(Answer::Kind::ok, [info, work = std::make_shared<NodeStatus>(std::move(*work))]() -> json::value {
      return {{"node", to_json(info)}, {"work", to_json(*work)}};
    });
  }));
}

Operation metrics() {
  return {
      .name = "metrics",
      .title = "Metrics",
      .summary = "Show node information and status in one answer",
      .help = "Metrics of the node: version, uptime, memory; open, completed and failed tasks; the journal.",
      .answer = "Metrics",
      .is_tool = true,
      .rest = {"GET", "/metrics"},
      .needs_engine = true,
      .handler = show_metrics,
  };
}

void show_tree(const Call& call) {
  auto entry = call.hooks.tree();
  if (!entry) return call.respond.fail(std::move(entry.error()));
  const std::uint64_t depth = call.in.count("depth");
  const std::uint64_t children = call.in.count("children");
  call.respond.send(Answer::Kind::ok, [entry = std::move(*entry), depth, children]() -> json::value {
    json::value tree = own_json(tree_json(entry));
    cut_tree(tree.as_object(), depth, children);
    return tree;
  });
}

Operation tree() {
  return {
      .name = "tree",
      .title = "Supervision tree",
      .summary = "Show the supervision tree",
      .help = "The current supervision tree of the node, with the state and the restarts of each process.",
      .params = {Param::count("depth", 1, UINT64_MAX, "Number of levels to show")
                     .narrowed(Way::mcp, 20, 4)
                     .narrowed(Way::rest, k_tree_depth_max, k_tree_depth_max),
                 Param::count("children", 1, UINT64_MAX, "Maximum number of children to show for each supervisor")
                     .narrowed(Way::mcp, 200, 20)
                     .narrowed(Way::rest, k_tree_children_max, 100)},
      .answer = "Tree",
      .is_tool = true,
      .rest = {"GET", "/tree"},
      .cli = {"tree", "skein tree --depth 3"},
      .handler = show_tree,
  };
}

void restart_child(const Call& call) {
  call.hooks.tree_restart(
      call.in.text("path"), Reply<std::string>([respond = call.respond](Result<std::string>&& done) {
        if (!done) return respond.fail(std::move(done.error()));
        respond.send(Answer::Kind::ok, [what = std::move(*done)]() -> json::value { return {{"restarted", what}}; });
      }));
}

Operation tree_restart() {
  return {
      .name = "tree_restart",
      .title = "Restart a child of the tree",
      .summary = "Restart a child of the supervision tree, also if it is down or parked",
      .params =
          {Param::text("path", "Path as the tree shows it, such as agents_sup/named_agents/ada").required().at("PATH")},
      .answer = "Restarted",
      .errors = {Code::process_not_found},
      .rank = Rank::administer,
      .effect = Operation::Effect::adds,
      .rest = {"POST", "/tree/restart"},
      .cli = {"tree restart", "skein tree restart agents_sup/named_agents/ada"},
      .handler = restart_child,
  };
}

void show_processes(const Call& call) {
  auto all = call.hooks.processes();
  const std::string sort = call.in.text("sort");
  const auto by = [&](auto key) { std::ranges::sort(all, std::greater<>(), key); };
  if (sort == "time") {
    by(&ProcessInfo::handler_time);
  } else if (sort == "memory") {
    by(&ProcessInfo::memory);
  } else if (sort == "handled") {
    by(&ProcessInfo::handled);
  } else {
    by(&ProcessInfo::mailbox);
  }
  const std::size_t count = all.size();
  const std::size_t limit = call.in.count("limit");
  if (all.size() > limit) all.resize(limit);
  call.respond.send(Answer::Kind::ok, [all = std::move(all), count]() -> json::value {
    json::array shown;
    for (const ProcessInfo& each : all) shown.push_back(to_json(each));
    return {{"count", count}, {"processes", std::move(shown)}};
  });
}

Operation processes() {
  return {
      .name = "processes",
      .title = "Processes",
      .summary = "List processes, sorted by mailbox, time, memory or handled messages",
      .params = {Param::word("sort", {"mailbox", "time", "memory", "handled"}, "Sort key").or_else("mailbox"),
                 Param::count("limit", 0, k_processes_listed_max, "Maximum number of processes in the answer")
                     .or_else(k_processes_shown)
                     .narrowed(Way::cli, k_processes_listed_max, k_processes_shown_cli)},
      .answer = "Processes",
      .rest = {"GET", "/processes"},
      .cli = {"ps", "skein ps --sort memory --limit 10"},
      .handler = show_processes,
  };
}

void describe_process(const Call& call) {
  call.hooks.describe(call.in.text("target"), call.respond.reply<std::string>());
}

Operation describe() {
  return {
      .name = "describe",
      .title = "Describe a process",
      .summary = "Show the state of one process, as the process describes it",
      .params = {the_target()},
      .answer = "Text",
      .errors = {Code::process_not_found},
      .rank = Rank::administer,
      .cli = {"describe", "skein describe dispatcher"},
      .handler = describe_process,
  };
}

void trace_process(const Call& call) {
  TraceRequest request;
  request.target = call.in.text("target");
  request.messages = static_cast<std::uint32_t>(call.in.count("messages"));
  request.within = call.in.milliseconds("within_ms");
  call.hooks.trace(std::move(request), call.respond.reply<std::vector<TracedMessage>>());
}

Operation trace() {
  const TraceRequest otherwise;
  return {
      .name = "trace",
      .title = "Trace a process",
      .summary = "Show the next messages that a process receives",
      .params =
          {the_target(),
           Param::count("messages", 0, k_trace_limit, "Stop after this number of messages").or_else(otherwise.messages),
           Param::milliseconds("within_ms", "Stop after this time")
               .or_else(static_cast<std::uint64_t>(otherwise.within.count()))},
      .answer = "Trace",
      .errors = {Code::process_not_found},
      .rank = Rank::administer,
      .cli = {"trace", "skein trace dispatcher --messages 20 --within 5s"},
      .handler = trace_process,
  };
}

void write_dump(const Call& call) { call.hooks.dump(as_member(call.respond, "path")); }

Operation dump() {
  return {
      .name = "dump",
      .title = "Dump",
      .summary = "Write the state of every process to a file in the data folder and print its path",
      .answer = "Dumped",
      .rank = Rank::administer,
      .effect = Operation::Effect::adds,
      .cli = {"dump", "skein dump"},
      .handler = write_dump,
  };
}

void set_log_level(const Call& call) {
  if (call.in.has("level")) {
    auto done = call.hooks.set_log_level(call.in.text("level"));
    if (!done) return call.respond.fail(std::move(done.error()));
  }
  call.respond.send(Answer::Kind::ok, [level = call.hooks.log_level()]() -> json::value { return {{"level", level}}; });
}

Operation log_level() {
  return {
      .name = "log_level",
      .title = "Log level",
      .summary = "Show or change the level of the node's log",
      .params = {Param::word("level", {"debug", "info", "warning", "error"},
                             "New level; not given: show the current one")
                     .at("LEVEL")},
      .answer = "LogLevel",
      .rank = Rank::administer,
      .effect = Operation::Effect::sets,
      .cli = {"log-level", "skein log-level debug"},
      .handler = set_log_level,
  };
}

void kill_processes(const Call& call) {
  KillRequest request;
  request.target = call.in.text("target");
  request.signal = call.in.text("signal");
  request.count = static_cast<std::uint32_t>(call.in.count("count"));
  call.respond.answer<KillAnswer>(call.hooks.chaos_kill(request));
}

Operation chaos_kill() {
  const KillRequest otherwise;
  return {
      .name = "chaos_kill",
      .title = "Kill processes",
      .summary = "Kill processes of the supervision tree and print which",
      .params = {Param::text("target", "A path such as agents_sup/agent_pool/* or engine_sup/work_sup, a name, a Pid")
                     .required()
                     .at("TARGET"),
                 Param::word("signal", {"kill", "crash"}, "How to end them; crash can be trapped by the process")
                     .or_else(otherwise.signal),
                 Param::count("count", 0, k_kills_most,
                              "Number of processes to kill, chosen at random from those that match")
                     .or_else(otherwise.count)},
      .answer = "Killed",
      .errors = {Code::process_not_found},
      .rank = Rank::administer,
      .effect = Operation::Effect::destroys,
      .cli = {"chaos kill", "skein chaos kill 'agents_sup/agent_pool/*' --count 3"},
      .handler = kill_processes,
  };
}

void reload_config(const Call& call) { call.hooks.reload(call.respond.reply<ReloadAnswer>()); }

Operation reload() {
  return {
      .name = "reload",
      .title = "Reload the config",
      .summary = "Reload the config of the node, as SIGHUP does",
      .answer = "Reloaded",
      .rank = Rank::administer,
      .effect = Operation::Effect::sets,
      .cli = {"reload", "skein reload"},
      .handler = reload_config,
  };
}

void back_up(const Call& call) { call.hooks.backup(call.in.text("dest"), call.respond.reply<BackupAnswer>()); }

Operation backup() {
  return {
      .name = "backup",
      .title = "Back up",
      .summary = "Copy the journal and the archive of the running node into a new folder and verify the copy",
      .params = {Param::text("dest", "Folder to create").required()},
      .answer = "BackedUp",
      .rank = Rank::administer,
      .effect = Operation::Effect::adds,
      .handler = back_up,
  };
}

// In the connection's own handler, which writes the answer before anything can end it.
void stop_node(const Call& call) {
  call.respond.send(Answer::Kind::ok, [hooks = &call.hooks]() -> json::value {
    hooks->stop();
    return json::object();
  });
}

Operation stop() {
  return {
      .name = "stop",
      .title = "Stop the node",
      .summary = "Stop the node gracefully, as SIGTERM does",
      .rank = Rank::administer,
      .effect = Operation::Effect::destroys,
      .cli = {"stop", "skein stop"},
      .handler = stop_node,
  };
}

void last_events(const Call& call) {
  call.respond.send(Answer::Kind::ok, [all = call.ops->events().last(call.in.count("limit"))]() -> json::value {
    json::array shown;
    for (const Event& each : all) shown.push_back(to_json(each));
    return {{"events", std::move(shown)}};
  });
}

Operation event_list() {
  return {
      .name = "event_list",
      .title = "Last events",
      .summary = "List the last events, oldest first",
      .params = {Param::count("limit", 0, k_events_listed_max, "Maximum number of events in the answer")
                     .or_else(k_events_shown)},
      .answer = "Events",
      .rest = {"GET", "/events/last"},
      .needs_engine = true,
      .handler = last_events,
  };
}

// What the connections, and REST, carry out themselves.

Operation events() {
  return {
      .name = "events",
      .title = "Events",
      .summary = "Follow events; over REST as server-sent events, which Last-Event-ID resumes",
      .params = {Param::task_id("task", "Only events of this task"),
                 Param::texts("kinds", "Only events of these kinds, such as task_failed").as_option("kind"),
                 Param::count("after", 0, UINT64_MAX,
                              "Start after this sequence number; 0: with all events that are kept")
                     .only_on({Way::socket, Way::rest}),
                 Param::flag("follow", "Keep following new events").only_on({Way::socket, Way::cli})},
      .answer = "Event",
      .rest = {"GET", "/events"},
  };
}

Operation tree_watch() {
  return {
      .name = "tree_watch",
      .title = "Watch the tree",
      .summary = "Show the supervision tree whenever it changes",
      .params = {Param::milliseconds("every_ms", "Interval between two looks at the tree").or_else(1000)},
      .answer = "Tree",
  };
}

Operation hello() {
  return {
      .name = "hello",
      .title = "Hello",
      .summary = "Open a session on the socket and say which protocol version the program speaks",
      .params = {Param::count("version", 0, UINT32_MAX, "Version of the protocol").required(),
                 Param::text("client", "The program that asks, with its version"),
                 Param::text("token", "Use the rights of this token instead of the owner's")},
      .answer = "Hello",
  };
}

Operation cancel() {
  return {
      .name = "cancel",
      .title = "Cancel a stream",
      .summary = "End a stream of this connection",
      .params = {Param::count("id", 0, UINT64_MAX, "Id of the request that started the stream").required()},
  };
}

Operation mcp() {
  return {
      .name = "mcp",
      .title = "Speak MCP",
      .summary = "Switch this connection of the socket to MCP",
  };
}

Operation openapi() {
  return {
      .name = "openapi",
      .title = "OpenAPI",
      .summary = "Show the OpenAPI description of the REST API",
      .answer = "OpenApi",
      .is_on_socket = false,
      .rest = {"GET", "/openapi.json"},
  };
}

}  // namespace

DeclaredGroup node_operations() {
  return {"node",
          {status(),     info(),   metrics(),    tree(),       tree_restart(), processes(), describe(),
           trace(),      dump(),   log_level(),  chaos_kill(), reload(),       backup(),    stop(),
           event_list(), events(), tree_watch(), hello(),      cancel(),       mcp(),       openapi()},
          node_answers()};
}

}  // namespace skein::inline v0::operations
