// skein status, tree, ps, trace, dump, events, log-level, reload, stop: looking at a running node and steering it.
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <limits>
#include <map>

#include "cli/node_views.hpp"
#include "cli/operation_verbs.hpp"
#include "cli/screen.hpp"
#include "cli/session.hpp"
#include "cli/task_ids.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/base/time_text.hpp"

namespace skein::cli {
namespace {

constexpr std::chrono::hours k_follow{24 * 365};
constexpr std::uint64_t k_watch_min_ms = 50;
constexpr std::uint64_t k_named_processes_max = 10'000;

struct NodeArguments {
  Session session;
  std::string task;
  std::vector<std::string> kinds;
  std::uint64_t events_limit = 1'000;
  std::uint64_t since_ms = 0;
  std::uint64_t every_ms = 1000;
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
  if (const std::string log = text_of(node, "log"); !log.empty()) out += fmt::format("log       {}\n", log);
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
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  const auto node = client->ask("info", {}, args.session.timeout());
  if (!node) return complain(node.error());
  const auto tasks = client->ask("status", {}, args.session.timeout());
  if (!tasks && tasks.error().kind != control::ClientError::Kind::refused) return complain(tasks.error());
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

// On a terminal: drawn again whenever it has changed, in a screen of its own.
int watch_tree(const NodeArguments& args, control::Client& client, const json::object& params,
               const std::function<std::string(const json::value&)>& lines) {
  const std::chrono::milliseconds every(std::max(args.every_ms, k_watch_min_ms));
  auto screen = std::make_unique<Screen>();
  do {
    const auto tree = client.ask("tree", params, args.session.timeout());
    if (!tree) {
      screen.reset();
      return complain(tree.error());
    }
    Screen::draw(lines(*tree), coloured("q ends this", Colour::dim));
  } while (screen->wait(every));
  return k_exit_ok;
}

int tree(const NodeArguments& args, const json::object& params) {
  // Names are asked for on a connection of their own: the first one may be in the middle of a stream.
  auto to_ask = connect(args.session);
  if (!to_ask) return complain(to_ask.error());
  const auto lines = [&](const json::value& all) {
    return tree_lines(all, names_by_pid(*to_ask, args.session.timeout()));
  };
  if (!args.watch) {
    return ask_and_show(args.session, "tree", params, [&](const json::value& all) { fmt::print("{}", lines(all)); });
  }
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  if (is_terminal(stdout) && !args.session.json) return watch_tree(args, *client, params, lines);
  const auto answer = client->ask("tree_watch", {{"every_ms", args.every_ms}}, k_follow, [&](const json::value& part) {
    if (args.session.json) {
      print_json(part);
    } else {
      fmt::print("{}", lines(part));
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

void show_trace(const json::value& answer) {
  Table table({"AFTER", "FROM", "KIND", "TYPE"});
  for (const json::value& each : list_of(answer, "messages")) {
    table.row({fmt::format("{:.3f} ms", number_of(each, "after_us") / 1000), text_of(each, "from"),
               text_of(each, "kind"), text_of(each, "type")});
  }
  table.print();
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
  std::ranges::replace(what, '\n', ' ');
  fmt::print("{:>8}  {:<24} {:<15} {:<36}  {}\n", count_of(event, "sequence"), moment_text(count_of(event, "at")),
             text_of(event, "event"), task.empty() ? name : task, what);
}

// Of what is kept, the last ones only.
class LastEvents {
 public:
  explicit LastEvents(const NodeArguments& args) : limit_(args.events_limit), is_json_(args.session.json) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto now_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
    if (args.since_ms > 0) from_ = now_ms - std::min(now_ms, args.since_ms);
  }
  void take(const json::value& event) {
    if (const auto at = count_of(event, "at"); at != 0 && at < from_) return;
    ++seen_;
    last_.push_back(event);
    if (limit_ != 0 && last_.size() > limit_) last_.pop_front();
  }
  void show() {
    for (const json::value& each : last_) is_json_ ? print_json(each) : show_event(each);
    if (seen_ > last_.size() && !is_json_) {
      fmt::print(stderr, "the last {} of {} events; --limit 0 shows all that are kept\n", last_.size(), seen_);
    }
  }

 private:
  std::deque<json::value> last_;
  std::uint64_t limit_;
  std::uint64_t from_ = 0;
  std::uint64_t seen_ = 0;
  bool is_json_;
};

int events(const NodeArguments& args) {
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  json::object params{{"follow", args.follow}};
  if (!args.task.empty()) {
    auto id = whole_id(*client, args.session, args.task);
    if (!id) return complain(id.error());
    params["task"] = *id;
  }
  json::array kinds;
  for (const std::string& each : args.kinds) kinds.emplace_back(each);
  if (!kinds.empty()) params["kinds"] = std::move(kinds);
  LastEvents last(args);
  const auto on_part = [&](const json::value& part) {
    if (!args.follow) {
      last.take(part);
    } else if (args.session.json) {
      print_json(part);
    } else {
      show_event(part);
      std::fflush(stdout);
    }
    return true;
  };
  const auto answer = client->ask("events", params, args.follow ? k_follow : args.session.timeout(), on_part);
  if (!answer) return complain(answer.error());
  last.show();
  return k_exit_ok;
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
  auto client = connect(session);
  if (!client) return complain(client.error());
  const auto node = client->ask("info", {}, session.timeout());
  if (!node) return complain(node.error());
  const auto answer = client->ask("stop", {}, session.timeout());
  if (!answer) return complain(answer.error());
  if (!is_gone_within(static_cast<int>(count_of(*node, "pid")), session.timeout_ms)) {
    return complain(k_exit_timeout, "the node still finishes its work; it ends by itself");
  }
  if (session.json) {
    print_json(*answer);
  } else {
    fmt::print("the node has stopped\n");
  }
  return k_exit_ok;
}

int reload(const Invocation& invocation) {
  const int code = ask_and_show(invocation.session, "reload", {}, [](const json::value& answer) {
    for (const json::value& each : list_of(answer, "changed")) {
      fmt::print("changed: {}\n", std::string_view(each.get_string()));
    }
    if (list_of(answer, "changed").empty()) fmt::print("nothing has changed\n");
    for (const json::value& each : list_of(answer, "needs_restart")) {
      fmt::print(stderr, "skein: {} differs and is taken over at the next start\n",
                 std::string_view(each.get_string()));
    }
  });
  return code == k_exit_usage ? static_cast<int>(k_exit_config) : code;
}

}  // namespace

void add_node(Verb& root) {
  const auto args = std::make_shared<NodeArguments>();
  simple(root, "status", "Show node status", args, status);
  VerbParts tree_parts;
  tree_parts.more = [args](Verb& verb) {
    verb.flag("--watch", args->watch, "Redraw on change");
    verb.time("--every", args->every_ms, "Refresh interval");
  };
  tree_parts.run = [args](const Invocation& invocation) {
    args->session = invocation.session;
    return tree(*args, invocation.params);
  };
  add_operation(root, "tree", std::move(tree_parts));
  add_top(root);
  add_operation(root, "processes", {.show = show_processes});
  add_operation(root, "trace", {.show = show_trace});
  add_operation(root, "dump", {.show = [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "path")); }});

  Verb events_verb = simple(root, "events", "Show events; with --follow, keep showing new ones", args, events);
  events_verb.flag("--follow", args->follow, "Keep following new events");
  events_verb.filled("--task", args->task, "Only events of this task");
  events_verb.option("--kind", args->kinds, "Only events of this kind, such as task_failed; may be repeated");
  events_verb.option("--limit", args->events_limit, "Only the last N events; 0: all that are kept [default: 1000]");
  events_verb.time("--since", args->since_ms, "Only events that are not older than this; 0s: all");

  add_operation(root, "log_level",
                {.show = [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "level")); }});
  add_operation(root, "reload", {.run = reload});
  add_operation(root, "stop", {.run = [](const Invocation& invocation) { return stop_node(invocation.session); }});
  add_doctor(root);
}

}  // namespace skein::cli
