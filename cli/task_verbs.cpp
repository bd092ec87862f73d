// skein submit, tasks, task show|cancel|retry|wait|logs.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <map>

#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

struct SubmitArguments {
  Session session;
  std::string type;
  std::string params;
  std::string file;
  std::string swarm = "default";
  std::string priority = "normal";
  std::string key;
  std::string trace;
  std::string agent;
  std::string agent_fallback;
  std::string route_key;
  std::uint64_t agent_wait_ms = 0;
  std::vector<std::string> capabilities;
  std::vector<std::string> after;
  std::uint64_t attempts = 4;
  std::uint64_t task_timeout_ms = 0;
  std::uint64_t delay_ms = 0;
  std::uint64_t deadline_ms = 0;
  std::uint64_t count = 1;
  bool wait = false;
};

constexpr std::chrono::milliseconds k_wait_step{50'000};   // the node's own limit on one wait
constexpr std::chrono::milliseconds k_wait_slack{10'000};  // for its answer
constexpr std::size_t k_submits_under_way = 5'000;         // of --count
constexpr std::size_t k_file_bytes_max = 1ULL << 20U;
constexpr std::uint64_t k_count_max = 100'000'000;  // of --count

json::array texts(const std::vector<std::string>& all) {
  json::array array;
  for (const std::string& each : all) array.emplace_back(each);
  return array;
}

json::object submit_params(const SubmitArguments& args) {
  json::object out{{"type", args.type}, {"priority", args.priority}, {"attempts", args.attempts}};
  // The node's own default is another where a token is bound to a swarm.
  if (args.swarm != "default") out["swarm"] = args.swarm;
  if (!args.params.empty()) out["params"] = args.params;
  if (!args.key.empty()) out["key"] = args.key;
  if (!args.trace.empty()) out["trace"] = args.trace;
  if (!args.capabilities.empty()) out["capabilities"] = texts(args.capabilities);
  if (!args.after.empty()) out["dependencies"] = texts(args.after);
  if (args.task_timeout_ms != 0) out["timeout_ms"] = args.task_timeout_ms;
  if (args.delay_ms != 0) out["delay_ms"] = args.delay_ms;
  if (args.deadline_ms != 0) out["deadline_ms"] = args.deadline_ms;
  if (!args.agent.empty()) out["agent"] = args.agent;
  if (!args.agent_fallback.empty()) out["agent_fallback"] = args.agent_fallback;
  if (args.agent_wait_ms != 0) out["agent_wait_ms"] = args.agent_wait_ms;
  if (!args.route_key.empty()) out["route_key"] = args.route_key;
  return out;
}

// From --file, where - is standard input. False: it cannot be read, and that was said.
bool read_params(SubmitArguments& args) {
  if (args.file.empty()) return true;
  std::FILE* in = args.file == "-" ? stdin : std::fopen(args.file.c_str(), "rb");
  if (in == nullptr) {
    complain(k_exit_usage, fmt::format("{}: {}; --file takes a file with the parameters as JSON, or -", args.file,
                                       std::strerror(errno)));
    return false;
  }
  char buffer[1 << 16];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), in)) > 0;) {
    args.params.append(buffer, got);
    if (args.params.size() > k_file_bytes_max) break;
  }
  const bool is_broken = std::ferror(in) != 0;
  const int why = errno;
  if (in != stdin) std::fclose(in);
  if (is_broken) {
    complain(k_exit_usage, fmt::format("{}: {}; --file takes a file with JSON, or -", args.file, std::strerror(why)));
    return false;
  }
  while (!args.params.empty() && (args.params.back() == '\n' || args.params.back() == ' ')) args.params.pop_back();
  if (args.params.empty()) {
    complain(k_exit_usage, fmt::format("{} is empty; leave --file out for a task without parameters", args.file));
    return false;
  }
  return true;
}

int exit_of(const json::value& task) {
  const std::string state = text_of(task, "state");
  return state == "completed" ? k_exit_ok : k_exit_task_failed;
}

void show_outcome(const json::value& task) {
  const std::string state = text_of(task, "state");
  if (state == "completed") {
    const std::string result = is_terminal(stdout) ? text_of(task, "result") : raw_text_of(task, "result");
    if (!result.empty()) fmt::print("{}\n", result);
    return;
  }
  std::fflush(stdout);
  const std::string id = text_of(task, "id");
  std::string why = text_of(task, "message");
  if (why.empty()) why = fmt::format("{}, no reason was given", text_of(task, "ending"));
  fmt::print(stderr, "skein: task {} {} after {} of {} attempts: {}; 'skein task logs {}' has each\n", id, state,
             count_of(task, "attempts"), count_of(task, "attempts_max"), why, id);
}

// Waits until the task ended or the time is up; the node answers each wait within its own limit.
control::ClientResult<json::value> wait_for(control::Client& client, const std::string& id,
                                            std::chrono::milliseconds timeout, bool shows_progress) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  const auto on_part = [&](const json::value& part) {
    if (shows_progress) fmt::print(stderr, "{}\n", text_of(part, "progress"));
    return true;
  };
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const auto step = std::clamp(left, std::chrono::milliseconds(0), k_wait_step);
    auto answer = client.ask("task_wait", {{"id", id}, {"timeout_ms", step.count()}, {"progress", shows_progress}},
                             step + k_wait_slack, on_part);
    if (!answer) return answer;
    if (flag_of(*answer, "finished")) return part_of(*answer, "task");
    if (left <= k_wait_step) {
      return std::unexpected(
          control::ClientError{control::ClientError::Kind::timeout,
                               {},
                               fmt::format("task {} is still {}", id, text_of(part_of(*answer, "task"), "state")),
                               fmt::format("it goes on; 'skein task wait {}' waits again", id),
                               0});
    }
  }
}

int submit_one(const SubmitArguments& args) {
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  const auto answer = client->ask("task_submit", submit_params(args), args.session.timeout());
  if (!answer) return complain(answer.error());
  const std::string id = text_of(*answer, "id");
  if (!args.wait) {
    if (args.session.json) {
      print_json(*answer);
    } else {
      fmt::print("{}\n", id);
    }
    return k_exit_ok;
  }
  if (!args.session.json && is_terminal(stderr)) fmt::print(stderr, "task {}\n", id);
  const auto task = wait_for(*client, id, args.session.timeout(), is_terminal(stderr));
  if (!task) return complain(task.error());
  if (args.session.json) {
    print_json(*task);
  } else {
    show_outcome(*task);
  }
  return exit_of(*task);
}

// Many of the same, without waiting for each answer: for load.
int submit_many(const SubmitArguments& args) {
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  const json::object params = submit_params(args);
  const auto begin = std::chrono::steady_clock::now();
  Progress progress("submitted");
  std::uint64_t sent = 0;
  std::uint64_t accepted = 0;
  std::uint64_t answered = 0;
  std::map<std::string, std::uint64_t> refused;
  std::vector<std::string> ids;
  while (answered < args.count) {
    while (sent < args.count && sent - answered < k_submits_under_way) {
      const auto id = client->send("task_submit", params);
      if (!id) return complain(id.error());
      ++sent;
    }
    auto next = client->next(args.session.timeout());
    if (!next) return complain(next.error());
    ++answered;
    if (next->result) {
      ++accepted;
      if (args.wait) ids.push_back(text_of(*next->result, "id"));
    } else {
      ++refused[next->result.error().code];
    }
    progress.show(answered, args.count);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::uint64_t completed = 0;
  std::uint64_t waited = 0;
  Progress waiting("ended");
  for (const std::string& id : ids) {
    waiting.show(waited++, ids.size());
    const auto task = wait_for(*client, id, args.session.timeout(), false);
    if (!task) return complain(task.error());
    completed += text_of(*task, "state") == "completed" ? 1 : 0;
  }
  progress.end();
  waiting.end();
  json::object report{{"accepted", accepted},
                      {"refused", answered - accepted},
                      {"seconds", took.count()},
                      {"per_second", static_cast<double>(answered) / took.count()}};
  for (const auto& [code, count] : refused) report[code] = count;
  if (args.wait) report["completed"] = completed;
  if (args.session.json) {
    print_json(report);
  } else {
    fmt::print("{} accepted, {} refused in {:.2f} s: {:.0f} a second\n", accepted, answered - accepted, took.count(),
               static_cast<double>(answered) / took.count());
    for (const auto& [code, count] : refused) fmt::print(stderr, "skein: {} refused with {}\n", count, code);
    if (args.wait) fmt::print("{} completed\n", completed);
  }
  if (accepted < answered) return k_exit_refused;
  return args.wait && completed < accepted ? k_exit_task_failed : k_exit_ok;
}

void add_submit_verb(Verb& root) {
  const auto args = std::make_shared<SubmitArguments>();
  Verb verb = root.verb("submit", "Submit a task; prints its id, or with --wait its result");
  verb.place("TYPE", args->type, "What kind of task; an agent with this capability runs it");
  verb.option("--params", args->params, "Parameters, as JSON");
  verb.option("--file", args->file, "Read the parameters from a file; - is standard input");
  verb.option("--swarm", args->swarm, "Which swarm (default: default)");
  verb.option("--priority", args->priority, "low, normal, high or critical");
  verb.option("--key", args->key, "Idempotency key: the same key again finds the first task");
  verb.option("--capability", args->capabilities, "What the agent must be able to do; may be given often");
  verb.option("--after", args->after, "A task that must be completed before; may be given often");
  verb.option("--attempts", args->attempts, "At most so many, the first included");
  verb.option("--task-timeout-ms", args->task_timeout_ms, "Of each attempt");
  verb.option("--delay-ms", args->delay_ms, "Not before this has passed");
  verb.option("--deadline-ms", args->deadline_ms, "All attempts together");
  verb.option("--trace", args->trace, "A W3C traceparent");
  verb.option("--agent", args->agent, "The only agent that may do it; the task waits for this one");
  verb.option("--agent-fallback", args->agent_fallback, "any: other agents may, after --agent-wait-ms; or none");
  verb.option("--agent-wait-ms", args->agent_wait_ms, "How long it waits for its agent before other agents may");
  verb.option("--route-key", args->route_key, "With consistent_hash the same key goes to the same agent");
  verb.option("--count", args->count, "Submit so many of the same, for load");
  verb.flag("--wait", args->wait, "Wait for the result");
  args->session.add_to(verb);
  verb.run([args] {
    if (args->count == 0 || args->count > k_count_max) {
      return complain(k_exit_usage, fmt::format("--count is from 1 to {}", k_count_max));
    }
    if (!args->params.empty() && !args->file.empty()) {
      return complain(k_exit_usage, "--params and --file both give the parameters; choose one");
    }
    if (!read_params(*args)) return static_cast<int>(k_exit_usage);
    return args->count == 1 ? submit_one(*args) : submit_many(*args);
  });
}

struct ListArguments {
  Session session;
  std::string state;
  std::string swarm;
  std::string type;
  std::string text;
  std::string cursor;
  std::uint64_t limit = 50;
  bool all = false;
};

void add_rows(Table& table, const json::value& page) {
  for (const json::value& task : list_of(page, "tasks")) {
    const std::string state = text_of(task, "state");
    table.row({text_of(task, "id"), coloured(state, colour_of(state)), text_of(task, "type"), text_of(task, "swarm"),
               fmt::format("{}", count_of(task, "priority")),
               fmt::format("{}/{}", count_of(task, "attempts"), count_of(task, "attempts_max")),
               how_long_ago(count_of(task, "submitted_at")), text_of(task, "agent"), text_of(task, "message")});
  }
}

int list(const ListArguments& args) {
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  Table table({"ID", "STATE", "TYPE", "SWARM", "PRIO", "FAILED", "AGE", "AGENT", "MESSAGE"});
  std::string cursor = args.cursor;
  do {
    json::object params{{"limit", args.limit}};
    const auto set = [&](const char* key, const std::string& value) {
      if (!value.empty()) params[key] = value;
    };
    set("state", args.state);
    set("swarm", args.swarm);
    set("type", args.type);
    set("text", args.text);
    set("cursor", cursor);
    const auto page = client->ask("task_list", params, args.session.timeout());
    if (!page) return complain(page.error());
    cursor = text_of(*page, "cursor");
    if (args.session.json && args.all) {
      for (const json::value& task : list_of(*page, "tasks")) print_json(task);
    } else if (args.session.json) {
      print_json(*page);
    } else {
      add_rows(table, *page);
    }
  } while (args.all && !cursor.empty());
  if (args.session.json) return k_exit_ok;
  table.print();
  if (!cursor.empty()) fmt::print(stderr, "more: --cursor {} or --all\n", cursor);
  return k_exit_ok;
}

void add_tasks_verb(Verb& root) {
  const auto args = std::make_shared<ListArguments>();
  Verb verb = root.verb("tasks", "List tasks: open ones first, then finished ones");
  verb.option("--state", args->state, "queued, assigned, executing, completed, failed, cancelled, blocked");
  verb.option("--swarm", args->swarm, "Of one swarm");
  verb.option("--type", args->type, "Of one type");
  verb.option("--text", args->text, "Whose params, result or message have these words");
  verb.option("--limit", args->limit, "Tasks on a page");
  verb.option("--cursor", args->cursor, "Go on where a page ended");
  verb.flag("--all", args->all, "All pages");
  args->session.add_to(verb);
  verb.run([args] { return list(*args); });
}

struct TaskArguments {
  Session session;
  std::string id;
  std::string reason;
};

void show_task(const json::value& task) {
  const auto line = [](const char* name, const std::string& value) {
    if (!value.empty()) fmt::print("{:<12} {}\n", name, value);
  };
  const std::string state = text_of(task, "state");
  line("id", text_of(task, "id"));
  line("state", coloured(state, colour_of(state)));
  line("type", text_of(task, "type"));
  line("swarm", text_of(task, "swarm"));
  for (const json::value& hop : list_of(task, "handed_on")) {
    line("handed on", fmt::format("from '{}' to '{}' after {} failed attempts, {} ago", text_of(hop, "from"),
                                  text_of(hop, "to"), count_of(hop, "attempts"), how_long_ago(count_of(hop, "at"))));
  }
  line("priority", text_of(task, "priority"));
  line("agent", text_of(task, "agent"));
  line("for agent", text_of(task, "for_agent"));
  line("waits", text_of(task, "waits"));
  if (count_of(task, "unpinned_at") != 0)
    line("fell back", "any agent may have it, since " + how_long_ago(count_of(task, "unpinned_at")) + " ago");
  line("route key", text_of(task, "route_key"));
  line("submitted", how_long_ago(count_of(task, "submitted_at")) + " ago");
  if (count_of(task, "finished_at") != 0) line("finished", how_long_ago(count_of(task, "finished_at")) + " ago");
  line("attempts", fmt::format("{} of {}", count_of(task, "attempts"), count_of(task, "attempts_max")));
  line("params", text_of(task, "params"));
  line("progress", text_of(task, "progress"));
  line("result", text_of(task, "result"));
  line("message", text_of(task, "message"));
  line("key", text_of(task, "key"));
  line("retry of", text_of(task, "retry_of"));
  line("retried as", text_of(task, "retried_as"));
}

void show_attempts(const json::value& task) {
  Table table({"ATTEMPT", "AGENT", "ERROR", "TOOK", "MESSAGE"});
  std::uint64_t number = 0;
  for (const json::value& each : list_of(task, "failed_attempts")) {
    const std::uint64_t took =
        count_of(each, "ended_at") - std::min(count_of(each, "started_at"), count_of(each, "ended_at"));
    table.row({fmt::format("{}", ++number), text_of(each, "agent"), text_of(each, "error"), how_long(took),
               text_of(each, "message")});
  }
  table.print();
}

Verb task_verb(Verb& parent, const std::string& name, const std::string& what,
               const std::shared_ptr<TaskArguments>& args) {
  Verb verb = parent.verb(name, what);
  verb.place("ID", args->id, "The task's id");
  args->session.add_to(verb);
  return verb;
}

int wait_task(const TaskArguments& args) {
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  const auto task = wait_for(*client, args.id, args.session.timeout(), is_terminal(stderr));
  if (!task) return complain(task.error());
  if (args.session.json) {
    print_json(*task);
  } else {
    show_outcome(*task);
  }
  return exit_of(*task);
}

void add_task_verb(Verb& root) {
  Verb task = root.verb("task", "Show, cancel, retry or wait for one task");
  task.needs_verb();
  const auto args = std::make_shared<TaskArguments>();
  task_verb(task, "show", "Everything about it", args).run([args] {
    return ask_and_show(args->session, "task_status", {{"id", args->id}}, show_task);
  });
  task_verb(task, "logs", "Its failed attempts: who, when, and what went wrong", args).run([args] {
    return ask_and_show(args->session, "task_status", {{"id", args->id}}, show_attempts);
  });
  Verb cancel = task_verb(task, "cancel", "Cancel it, whatever its state; what runs is stopped", args);
  cancel.option("--reason", args->reason, "Kept with the task");
  cancel.run([args] {
    return ask_and_show(args->session, "task_cancel", {{"id", args->id}, {"reason", args->reason}},
                        [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "state")); });
  });
  task_verb(task, "retry", "Submit it again as a new task; prints the new id", args).run([args] {
    return ask_and_show(args->session, "task_retry", {{"id", args->id}},
                        [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "id")); });
  });
  task_verb(task, "wait", "Wait until it ended; prints its result", args).run([args] { return wait_task(*args); });
}

}  // namespace

void add_tasks(Verb& root) {
  add_submit_verb(root);
  add_tasks_verb(root);
  add_task_verb(root);
}

}  // namespace skein::cli
