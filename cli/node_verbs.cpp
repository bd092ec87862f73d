// skein status, tree, ps, trace, dump, top, events, log-level, reload, stop, doctor: looking at a running node.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

constexpr std::chrono::hours k_follow{24 * 365};
constexpr const char* k_home = "\033[H\033[2J";

struct Arguments {
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
  std::uint64_t rounds = 0;
  bool watch = false;
  bool follow = false;
};
using ArgumentsPtr = std::shared_ptr<Arguments>;

std::string status_text(const json::value& node, const json::value& tasks) {
  std::string out;
  out += fmt::format("node      {} ({}), skein {}, pid {}, up {}\n", text_of(node, "name"),
                     coloured(text_of(node, "state"), colour_of(text_of(node, "state"))), text_of(node, "version"),
                     count_of(node, "pid"), how_long(count_of(node, "uptime_ms")));
  out += fmt::format("data      {}\n", text_of(node, "data"));
  out += fmt::format("memory    {}, {} processes\n", how_many_bytes(count_of(node, "memory_bytes")),
                     count_of(node, "processes"));
  if (tasks.is_null()) return out + "engine    not there at the moment\n";
  const json::value& journal = part_of(tasks, "journal");
  out +=
      fmt::format("tasks     {} open, {} ever; since the start {} submitted, {} completed, {} failed, {} cancelled\n",
                  count_of(tasks, "open_tasks"), count_of(tasks, "tasks_ever"), count_of(tasks, "submitted"),
                  count_of(tasks, "completed"), count_of(tasks, "failed"), count_of(tasks, "cancelled"));
  out += fmt::format("journal   position {}, snapshot {}{}\n", count_of(journal, "applied"),
                     count_of(journal, "snapshot"), flag_of(journal, "disk_low") ? ", DISK LOW" : "");
  out += fmt::format("archive   {} tasks\n", count_of(tasks, "archived"));
  out += fmt::format("swarms    {}\n", count_of(tasks, "swarms"));
  return out;
}

int status(const Arguments& args) {
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

void add_tree_lines(const json::value& entry, const std::string& indent, bool is_last, bool is_root, std::string& out) {
  const std::string id = text_of(entry, "id").empty() ? text_of(entry, "pid") : text_of(entry, "id");
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
    add_tree_lines(children[i], below, i + 1 == children.size(), false, out);
  }
}

std::string tree_lines(const json::value& tree) {
  std::string out;
  add_tree_lines(tree, "", true, true, out);
  return out;
}

int tree(const Arguments& args) {
  if (!args.watch) {
    return ask_and_show(args.session, "tree", {}, [](const json::value& all) { fmt::print("{}", tree_lines(all)); });
  }
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  const auto answer = client->ask("tree_watch", {{"every_ms", args.every_ms}}, k_follow, [&](const json::value& part) {
    if (args.session.json) {
      print_json(part);
    } else {
      fmt::print("{}{}", is_terminal(stdout) ? k_home : "", tree_lines(part));
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
               fmt::format("{:.1f} ms", number_of(each, "time_us") / 1000), how_many_bytes(count_of(each, "memory")),
               text_of(each, "state"), text_of(each, "name"), text_of(each, "type")});
  }
  table.print();
  fmt::print(stderr, "{} processes\n", count_of(answer, "count"));
}

int trace(const Arguments& args) {
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
  std::string about = text_of(event, "task");
  if (about.empty()) about = text_of(event, "name");
  fmt::print("{:>8}  {:<16} {:<36}  {} {}\n", count_of(event, "sequence"), text_of(event, "event"), about,
             text_of(event, "type"), text_of(event, "message"));
}

int events(const Arguments& args) {
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

int top(const Arguments& args) {
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  std::uint64_t last_completed = 0;
  for (std::uint64_t round = 0; args.rounds == 0 || round < args.rounds; ++round) {
    if (round > 0) std::this_thread::sleep_for(std::chrono::milliseconds(args.every_ms));
    const auto node = client->ask("info", {}, args.session.timeout());
    if (!node) return complain(node.error());
    const auto tasks = client->ask("status", {}, args.session.timeout());
    const auto agents = client->ask("agent_list", {}, args.session.timeout());
    if (args.session.json) {
      print_json(json::object{{"node", *node},
                              {"tasks", tasks ? *tasks : json::value()},
                              {"agents", agents ? part_of(*agents, "agents") : json::value()}});
      continue;
    }
    const std::uint64_t completed = tasks ? count_of(*tasks, "completed") : 0;
    std::string screen = is_terminal(stdout) ? k_home : "";
    screen += status_text(*node, tasks ? *tasks : json::value());
    const double seconds = static_cast<double>(args.every_ms) / 1000;
    if (round > 0) {
      screen += fmt::format("rate      {:.0f} completed a second\n",
                            static_cast<double>(completed - last_completed) / seconds);
    }
    last_completed = completed;
    Table table({"AGENT", "STATUS", "SWARM", "LOAD", "DONE", "FAILED", "RUNS"});
    std::size_t shown = 0;
    const json::value listed = agents ? *agents : json::value();
    for (const json::value& each : list_of(listed, "agents")) {
      if (++shown > args.limit) break;
      const std::string state = text_of(each, "status");
      table.row({text_of(each, "id"), coloured(state, colour_of(state)), text_of(each, "swarm"), text_of(each, "load"),
                 text_of(each, "completed"), text_of(each, "failed"), text_of(each, "executing_task")});
    }
    fmt::print("{}\n{}", screen, table.text());
    std::fflush(stdout);
  }
  return k_exit_ok;
}

void print_text(const json::value& answer) {
  fmt::print("{}\n", answer.is_string() ? std::string(answer.get_string()) : "");
}

int doctor(const Arguments& args) {
  const std::string data = args.session.data_folder();
  json::array checks;
  bool is_well = true;
  const auto check = [&](const std::string& what, bool ok, const std::string& detail) {
    is_well = is_well && ok;
    checks.push_back({{"check", what}, {"ok", ok}, {"detail", detail}});
    if (!args.session.json)
      fmt::print("{}  {:<14} {}\n", ok ? coloured("ok  ", Colour::green) : coloured("FAIL", Colour::red), what, detail);
  };
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::exists(data) ? data : ".", error);
  check("data folder", std::filesystem::is_directory(data, error), data);
  check("disk", space.available > 256ULL << 20U, how_many_bytes(space.available) + " free");
  auto client = control::Client::connect(data);
  check("node", client.has_value(), client ? "answers" : client.error().message + ": " + client.error().advice);
  if (client) {
    const auto begin = std::chrono::steady_clock::now();
    const auto tasks = client->ask("status", {}, args.session.timeout());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    check("engine", tasks.has_value(),
          tasks ? fmt::format("answered in {:.1f} ms", took.count()) : tasks.error().message);
    const auto agents = client->ask("agent_list", {}, args.session.timeout());
    const std::size_t count = agents ? list_of(*agents, "agents").size() : 0;
    check("agents", count > 0, fmt::format("{}", count));
    if (tasks) check("journal", !flag_of(part_of(*tasks, "journal"), "disk_low"), "writes");
  }
  if (args.session.json) print_json(json::object{{"ok", is_well}, {"checks", std::move(checks)}});
  return is_well ? k_exit_ok : k_exit_failed;
}

Verb simple(Verb& root, const std::string& name, const std::string& what, const ArgumentsPtr& args,
            int (*run)(const Arguments&)) {
  Verb verb = root.verb(name, what);
  args->session.add_to(verb);
  verb.run([args, run] { return run(*args); });
  return verb;
}

}  // namespace

void add_node(Verb& root) {
  const auto args = std::make_shared<Arguments>();
  simple(root, "status", "How the node is", args, status);
  Verb tree_verb = simple(root, "tree", "The supervision tree", args, tree);
  tree_verb.flag("--watch", args->watch, "Again whenever it changes");
  tree_verb.option("--every-ms", args->every_ms, "How often to look");
  Verb top_verb = simple(root, "top", "A live view of node, tasks and agents", args, top);
  top_verb.option("--every-ms", args->every_ms, "How often to look");
  top_verb.option("--rounds", args->rounds, "Look so often, then end; 0: until interrupted");
  top_verb.option("--limit", args->limit, "Agents shown");

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
  dump.run([args] { return ask_and_show(args->session, "dump", {}, print_text); });

  Verb events_verb = simple(root, "events", "What happened, and with --follow what happens", args, events);
  events_verb.flag("--follow", args->follow, "Go on with what happens");
  events_verb.option("--task", args->task, "Of one task");
  events_verb.option("--kind", args->kinds, "Of one kind, such as task_failed; may be given often");

  Verb level = root.verb("log-level", "Show or change the level of the node's log");
  level.optional_place("LEVEL", args->level, "debug, info, warning or error");
  args->session.add_to(level);
  level.run([args] { return ask_and_show(args->session, "log_level", {{"level", args->level}}, print_text); });

  Verb reload = root.verb("reload", "Have the node read its config again, as SIGHUP does");
  args->session.add_to(reload);
  reload.run([args] {
    return ask_and_show(args->session, "reload", {}, [](const json::value& answer) {
      for (const json::value& each : list_of(answer, "changed"))
        fmt::print("changed: {}\n", std::string_view(each.get_string()));
      for (const json::value& each : list_of(answer, "needs_restart")) {
        fmt::print(stderr, "skein: {} differs and is taken over at the next start\n",
                   std::string_view(each.get_string()));
      }
    });
  });
  Verb stop = root.verb("stop", "Let the node finish its work and end, as SIGTERM does");
  args->session.add_to(stop);
  stop.run([args] { return ask_and_show(args->session, "stop", {}, [](const json::value&) {}); });
  simple(root, "doctor", "Check the data folder, the disk and the node", args, doctor);
}

}  // namespace skein::cli
