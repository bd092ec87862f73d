// skein status, tree, ps, trace, dump, events, log-level, reload, stop: looking at a running node and steering it.
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

#include "cli/node_views.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

constexpr std::chrono::hours k_follow{24 * 365};
constexpr const char* k_home = "\033[H\033[2J";
constexpr std::uint64_t k_named_processes_max = 10'000;

struct NodeArguments {
  Session session;
  std::string target;
  std::string sort = "mailbox";
  std::string task;
  std::string level;
  std::vector<std::string> kinds;
  std::uint64_t limit = 30;
  std::uint64_t every_ms = 1000;
  std::uint64_t messages = 100;
  std::uint64_t within_ms = 1000;
  bool watch = false;
  bool follow = false;
};
using NodeArgumentsPtr = std::shared_ptr<NodeArguments>;

}  // namespace

std::string status_text(const json::value& node, const json::value& tasks) {
  std::string out;
  out += fmt::format("node      {} ({}), skein {}, pid {}, up {}\n", text_of(node, "name"),
                     coloured(text_of(node, "state"), colour_of(text_of(node, "state"))), text_of(node, "version"),
                     count_of(node, "pid"), how_long(count_of(node, "uptime_ms")));
  out += fmt::format("data      {}\n", text_of(node, "data"));
  out +=
      fmt::format("memory    {}, {} processes, {} of processor time\n", how_many_bytes(count_of(node, "memory_bytes")),
                  count_of(node, "processes"), how_long(count_of(node, "cpu_ms")));
  const json::value& descriptors = part_of(node, "descriptors");
  out += fmt::format("open      {} of {} descriptors, {} of {} connections without a token{}\n",
                     count_of(descriptors, "used"), count_of(descriptors, "total"),
                     count_of(descriptors, "unauthenticated"), count_of(descriptors, "unauthenticated_max"),
                     count_of(descriptors, "refused") == 0
                         ? ""
                         : fmt::format("; {} times there was no room", count_of(descriptors, "refused")));
  if (const auto lost = count_of(node, "time_lost_ms"); lost > 0) {
    out += fmt::format("stopped   {} in all, in which nothing of it ran\n", how_long(lost));
  }
  if (const std::string problem = text_of(node, "launcher_problem"); !problem.empty()) {
    out += fmt::format("launcher  {}: {}\n", coloured("not there", Colour::red), problem);
  }
  const json::value& figures = part_of(node, "supervision");
  if (const auto restarts = count_of(figures, "restarts"); restarts > 0 || count_of(figures, "failed_starts") > 0) {
    out += fmt::format("restarts  {}, {} starts failed, {} parked, {} near their limit, {} supervisors gave up\n",
                       restarts, count_of(figures, "failed_starts"), count_of(figures, "parkings"),
                       count_of(figures, "intensity_warnings"), count_of(figures, "gave_up"));
  }
  if (tasks.is_null()) return out + "engine    not there at the moment\n";
  const json::value& journal = part_of(tasks, "journal");
  out +=
      fmt::format("tasks     {} open, {} ever; since the start {} submitted, {} completed, {} failed, {} cancelled\n",
                  count_of(tasks, "open_tasks"), count_of(tasks, "tasks_ever"), count_of(tasks, "submitted"),
                  count_of(tasks, "completed"), count_of(tasks, "failed"), count_of(tasks, "cancelled"));
  if (const auto repeated = count_of(tasks, "repeated"); repeated > 0) {
    out += fmt::format("repeated  {} submits and retries answered with a task that was there\n", repeated);
  }
  out += fmt::format("journal   position {}, snapshot {}{}\n", count_of(journal, "applied"),
                     count_of(journal, "snapshot"), flag_of(journal, "disk_low") ? ", DISK LOW" : "");
  const json::value& archive = part_of(tasks, "archive");
  out += fmt::format("archive   {} tasks{}{}{}\n", count_of(tasks, "archived"),
                     count_of(archive, "lost") > 0 ? fmt::format(", {} lost", count_of(archive, "lost")) : "",
                     count_of(archive, "damaged") > 0 ? fmt::format(", {} DAMAGED", count_of(archive, "damaged")) : "",
                     text_of(archive, "failing").empty() ? "" : ", FAILING: " + text_of(archive, "failing"));
  out += fmt::format("swarms    {}\n", count_of(tasks, "swarms"));
  return out;
}

namespace {

int status(const NodeArguments& args) {
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  const auto node = client->ask("info", {}, args.session.timeout());
  if (!node) return complain(node.error());
  const auto tasks = client->ask("status", {}, args.session.timeout());
  if (args.session.json) {
    print_json(json::object{{"node", *node}, {"tasks", tasks ? *tasks : json::value()}});
  } else {
    fmt::print("{}", status_text(*node, tasks ? *tasks : json::value()));
  }
  return k_exit_ok;
}

// What children of pools are called: agents by id, others by their registered names.
using NamesByPid = std::map<std::string, std::string>;

NamesByPid names_by_pid(control::Client& client, std::chrono::milliseconds timeout) {
  NamesByPid names;
  if (const auto all = client.ask("processes", {{"limit", k_named_processes_max}}, timeout)) {
    for (const json::value& each : list_of(*all, "processes")) names[text_of(each, "pid")] = text_of(each, "name");
  }
  if (const auto agents = client.ask("agent_list", {}, timeout)) {
    for (const json::value& each : list_of(*agents, "agents")) names[text_of(each, "pid")] = text_of(each, "id");
  }
  return names;
}

void add_tree_lines(const json::value& entry, const NamesByPid& names, const std::string& indent, bool is_last,
                    bool is_root, std::string& out) {
  const std::string pid = text_of(entry, "pid");
  std::string id = text_of(entry, "id");
  if (id.empty()) {
    const auto named = names.find(pid);
    id = named == names.end() || named->second.empty() ? pid : named->second + "  " + coloured(pid, Colour::dim);
  }
  const std::string state = text_of(entry, "state");
  out += indent;
  if (!is_root) out += is_last ? "└─ " : "├─ ";
  out += coloured(id, part_of(entry, "strategy").is_null() ? Colour::plain : Colour::bold);
  if (!part_of(entry, "strategy").is_null()) {
    out += coloured(fmt::format("  {} {}/{}", text_of(entry, "strategy"), count_of(entry, "intensity"),
                                count_of(entry, "period_ns") / 1'000'000'000),
                    Colour::dim);
  }
  if (state != "running") out += "  " + coloured(state, colour_of(state));
  if (const auto restarts = count_of(entry, "restarts"); restarts > 0) out += fmt::format("  restarted {}×", restarts);
  out += '\n';
  const json::array& children = list_of(entry, "children");
  const std::string below = is_root ? indent : indent + (is_last ? "   " : "│  ");
  for (std::size_t i = 0; i < children.size(); ++i) {
    add_tree_lines(children[i], names, below, i + 1 == children.size(), false, out);
  }
}

std::string tree_lines(const json::value& tree, const NamesByPid& names) {
  std::string out;
  add_tree_lines(tree, names, "", true, true, out);
  return out;
}

int tree(const NodeArguments& args) {
  // Names are asked for on a connection of their own: the first one may be in the middle of a stream.
  auto to_ask = control::Client::connect(args.session.data_folder());
  if (!to_ask) return complain(to_ask.error());
  const auto lines = [&](const json::value& all) {
    return tree_lines(all, names_by_pid(*to_ask, args.session.timeout()));
  };
  if (!args.watch) {
    return ask_and_show(args.session, "tree", {}, [&](const json::value& all) { fmt::print("{}", lines(all)); });
  }
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  const auto answer = client->ask("tree_watch", {{"every_ms", args.every_ms}}, k_follow, [&](const json::value& part) {
    if (args.session.json) {
      print_json(part);
    } else {
      fmt::print("{}{}", is_terminal(stdout) ? k_home : "", lines(part));
      std::fflush(stdout);
    }
    return true;
  });
  return answer ? static_cast<int>(k_exit_ok) : complain(answer.error());
}

void show_processes(const json::value& answer) {
  Table table({"PID", "MAILBOX", "MOST", "HANDLED", "TIME", "MEMORY", "STATE", "NAME", "TYPE"});
  for (const json::value& each : list_of(answer, "processes")) {
    table.row({text_of(each, "pid"), text_of(each, "mailbox"), text_of(each, "high_water"), text_of(each, "handled"),
               fmt::format("{:.3f} ms", number_of(each, "time_us") / 1000), how_many_bytes(count_of(each, "memory")),
               text_of(each, "state"), text_of(each, "name"), text_of(each, "type")});
  }
  table.print();
  fmt::print(stderr, "{} processes\n", count_of(answer, "count"));
}

int trace(const NodeArguments& args) {
  const json::object params{{"target", args.target}, {"messages", args.messages}, {"within_ms", args.within_ms}};
  return ask_and_show(args.session, "trace", params, [](const json::value& answer) {
    Table table({"AFTER", "FROM", "KIND", "TYPE"});
    for (const json::value& each : list_of(answer, "messages")) {
      table.row({fmt::format("{:.3f} ms", number_of(each, "after_us") / 1000), text_of(each, "from"),
                 text_of(each, "kind"), text_of(each, "type")});
    }
    table.print();
  });
}

void show_event(const json::value& event) {
  if (const auto missed = count_of(event, "missed"); missed > 0) {
    fmt::print(stderr, "skein: {} events were missed\n", missed);
    return;
  }
  const std::string task = text_of(event, "task");
  const std::string name = text_of(event, "name");
  std::string what = text_of(event, "type");
  const auto add = [&](const std::string& more) { what += (what.empty() || more.empty() ? "" : " ") + more; };
  // For an assignment the name is the agent's; for the task's other events its swarm's.
  if (text_of(event, "event") == "task_assigned") add("to " + name);
  if (text_of(event, "event") == "task_handed_on") {
    add(fmt::format("from '{}' to '{}'", text_of(event, "message"), name));
  } else if (text_of(event, "event") == "task_unpinned") {
    add(fmt::format("from agent '{}': any agent may have it", text_of(event, "message")));
  } else {
    add(text_of(event, "message"));
  }
  fmt::print("{:>8}  {:<12} {:<15} {:<36}  {}\n", count_of(event, "sequence"), time_of_day(count_of(event, "at")),
             text_of(event, "event"), task.empty() ? name : task, what);
}

int events(const NodeArguments& args) {
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  json::object params{{"follow", args.follow}};
  if (!args.task.empty()) params["task"] = args.task;
  json::array kinds;
  for (const std::string& each : args.kinds) kinds.emplace_back(each);
  if (!kinds.empty()) params["kinds"] = std::move(kinds);
  const auto answer =
      client->ask("events", params, args.follow ? k_follow : args.session.timeout(), [&](const json::value& part) {
        if (args.session.json) {
          print_json(part);
        } else {
          show_event(part);
          std::fflush(stdout);
        }
        return true;
      });
  return answer ? static_cast<int>(k_exit_ok) : complain(answer.error());
}

Verb simple(Verb& root, const std::string& name, const std::string& what, const NodeArgumentsPtr& args,
            int (*run)(const NodeArguments&)) {
  Verb verb = root.verb(name, what);
  args->session.add_to(verb);
  verb.run([args, run] { return run(*args); });
  return verb;
}

// False when it is still there after that time.
bool is_gone_within(int os_pid, std::uint64_t milliseconds) {
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, os_pid, 0));
  if (process < 0) return true;
  pollfd ends{process, POLLIN, 0};
  const auto wait = std::min<std::uint64_t>(milliseconds, std::numeric_limits<int>::max());
  const bool is_gone = ::poll(&ends, 1, static_cast<int>(wait)) != 0;
  ::close(process);
  return is_gone;
}

// Until the node's OS process is gone: then the data folder is free for the next.
int stop_node(const Session& session) {
  auto client = control::Client::connect(session.data_folder());
  if (!client) return complain(client.error());
  const auto node = client->ask("info", {}, session.timeout());
  if (!node) return complain(node.error());
  const auto answer = client->ask("stop", {}, session.timeout());
  if (!answer) return complain(answer.error());
  if (!is_gone_within(static_cast<int>(count_of(*node, "pid")), session.timeout_ms)) {
    return complain(k_exit_timeout, "the node still finishes its work; it ends by itself");
  }
  if (session.json) print_json(*answer);
  return k_exit_ok;
}

}  // namespace

void add_node(Verb& root) {
  const auto args = std::make_shared<NodeArguments>();
  simple(root, "status", "How the node is", args, status);
  Verb tree_verb = simple(root, "tree", "The supervision tree", args, tree);
  tree_verb.flag("--watch", args->watch, "Again whenever it changes");
  tree_verb.option("--every-ms", args->every_ms, "How often to look");
  Verb restart = tree_verb.verb("restart", "Restart one child of it, also one that is down or parked");
  restart.place("PATH", args->target, "As the tree shows it, such as agents_sup/named_agents/ada");
  args->session.add_to(restart);
  restart.run([args] {
    return ask_and_show(args->session, "tree_restart", {{"path", args->target}},
                        [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "restarted")); });
  });
  add_top(root);

  Verb ps = root.verb("ps", "Processes by mailbox, time or memory");
  ps.option("--sort", args->sort, "mailbox, time, memory or handled");
  ps.option("--limit", args->limit, "How many");
  args->session.add_to(ps);
  ps.run([args] {
    return ask_and_show(args->session, "processes", {{"sort", args->sort}, {"limit", args->limit}}, show_processes);
  });

  Verb trace_verb = simple(root, "trace", "The next messages of a process", args, trace);
  trace_verb.place("PROCESS", args->target, "A name, a Pid such as <0.7.1>, or a path of the tree");
  trace_verb.option("--messages", args->messages, "At most so many");
  trace_verb.option("--within-ms", args->within_ms, "For so long");

  Verb dump = root.verb("dump", "Write the state of every process to a file; prints its path");
  args->session.add_to(dump);
  dump.run([args] {
    return ask_and_show(args->session, "dump", {},
                        [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "path")); });
  });

  Verb events_verb = simple(root, "events", "What happened, and with --follow what happens", args, events);
  events_verb.flag("--follow", args->follow, "Go on with what happens");
  events_verb.option("--task", args->task, "Of one task");
  events_verb.option("--kind", args->kinds, "Of one kind, such as task_failed; may be given often");

  Verb level = root.verb("log-level", "Show or change the level of the node's log");
  level.optional_place("LEVEL", args->level, "debug, info, warning or error");
  args->session.add_to(level);
  level.run([args] {
    return ask_and_show(args->session, "log_level", {{"level", args->level}},
                        [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "level")); });
  });

  Verb reload = root.verb("reload", "Have the node read its config again, as SIGHUP does");
  args->session.add_to(reload);
  reload.run([args] {
    const int code = ask_and_show(args->session, "reload", {}, [](const json::value& answer) {
      for (const json::value& each : list_of(answer, "changed"))
        fmt::print("changed: {}\n", std::string_view(each.get_string()));
      for (const json::value& each : list_of(answer, "needs_restart")) {
        fmt::print(stderr, "skein: {} differs and is taken over at the next start\n",
                   std::string_view(each.get_string()));
      }
    });
    return code == k_exit_usage ? static_cast<int>(k_exit_config) : code;
  });
  Verb stop = root.verb("stop", "Let the node finish its work and end, as SIGTERM does");
  args->session.add_to(stop);
  stop.run([args] { return stop_node(args->session); });
  add_doctor(root);
}

}  // namespace skein::cli
