// skein submit, tasks, task show|cancel|retry|wait|logs.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

#include "cli/session.hpp"
#include "cli/submit_many.hpp"
#include "cli/task_ids.hpp"
#include "cli/task_views.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/waiting.hpp"
#include "skein/base/utf8.hpp"

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

constexpr std::size_t k_file_bytes_max = 1ULL << 20U;
constexpr std::uint64_t k_count_max = 100'000'000;  // of --count

json::array texts(const std::vector<std::string>& all) {
  json::array array;
  for (const std::string& each : all) array.emplace_back(each);
  return array;
}

// Ids of other tasks may be short.
control::ClientResult<json::object> submit_params(control::Client& client, const SubmitArguments& args) {
  json::object out{
      {"type", args.type}, {"swarm", args.swarm}, {"priority", args.priority}, {"attempts", args.attempts}};
  if (!args.params.empty()) out["params"] = args.params;
  if (!args.key.empty()) out["key"] = args.key;
  if (!args.trace.empty()) out["trace"] = args.trace;
  if (!args.capabilities.empty()) out["capabilities"] = texts(args.capabilities);
  json::array after;
  for (const std::string& each : args.after) {
    auto id = whole_id(client, args.session, each);
    if (!id) return std::unexpected(std::move(id.error()));
    after.emplace_back(std::move(*id));
  }
  if (!after.empty()) out["dependencies"] = std::move(after);
  if (args.task_timeout_ms != 0) out["timeout_ms"] = args.task_timeout_ms;
  if (args.delay_ms != 0) out["delay_ms"] = args.delay_ms;
  if (args.deadline_ms != 0) out["deadline_ms"] = args.deadline_ms;
  if (!args.agent.empty()) out["agent"] = args.agent;
  if (!args.agent_fallback.empty()) out["agent_fallback"] = args.agent_fallback;
  if (args.agent_wait_ms != 0) out["agent_wait_ms"] = args.agent_wait_ms;
  if (!args.route_key.empty()) out["route_key"] = args.route_key;
  return out;
}

int wait_and_show(const Session& session, control::Client& client, const std::string& id) {
  const auto task = TaskWait(session, client).wait_for(id, is_terminal(stderr));
  if (!task) return complain(task.error());
  if (session.json) {
    print_json(*task);
  } else {
    show_outcome(*task);
  }
  return exit_of(*task);
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
  if (args.params.size() > k_file_bytes_max) {
    complain(k_exit_usage, fmt::format("{} has more than {} bytes; params are JSON of at most [limits] params_bytes",
                                       args.file, k_file_bytes_max));
    return false;
  }
  if (!is_utf8(args.params)) {
    complain(k_exit_usage, fmt::format("{} is not text in UTF-8; --file takes a file with JSON, or -", args.file));
    return false;
  }
  while (!args.params.empty() && (args.params.back() == '\n' || args.params.back() == ' ')) args.params.pop_back();
  if (args.params.empty()) {
    complain(k_exit_usage, fmt::format("{} is empty; leave --file out for a task without parameters", args.file));
    return false;
  }
  return true;
}

// Before the wait, so that it is known whatever happens. Standard output stays the result's.
void say_id(const Session& session, const std::string& id) {
  if (session.json) {
    fmt::print(stderr, "{{\"id\":\"{}\"}}\n", id);
  } else {
    fmt::print(stderr, "task {}\n", id);
  }
}

int submit_one(const SubmitArguments& args) {
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  auto params = submit_params(*client, args);
  if (!params) return complain(params.error());
  const auto answer = client->ask("task_submit", *params, args.session.timeout());
  if (!answer) return complain(answer.error());
  const std::string id = text_of(*answer, "id");
  if (args.wait) say_id(args.session, id);
  if (const auto task = client->ask("task_status", {{"id", id}}, args.session.timeout())) warn_if_it_waits(*task);
  if (!args.wait) {
    if (args.session.json) {
      print_json(*answer);
    } else {
      fmt::print("{}\n", id);
    }
    return k_exit_ok;
  }
  return wait_and_show(args.session, *client, id);
}

int submit_more(const SubmitArguments& args) {
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  const auto params = submit_params(*client, args);
  if (!params) return complain(params.error());
  return submit_many(args.session, *params, args.count, args.wait);
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
    return args->count == 1 ? submit_one(*args) : submit_more(*args);
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

int list(const ListArguments& args) {
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  Table table = task_table();
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
      add_task_rows(table, *page);
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

Verb task_verb(Verb& parent, const std::string& name, const std::string& what,
               const std::shared_ptr<TaskArguments>& args) {
  Verb verb = parent.verb(name, what);
  verb.place("ID", args->id, "The task's id, or the beginning of it");
  args->session.add_to(verb);
  return verb;
}

// With the whole id of the task that was meant.
int ask_about(const TaskArguments& args, std::string_view op, json::object params,
              const std::function<void(const json::value&)>& show) {
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  auto id = whole_id(*client, args.session, args.id);
  if (!id) return complain(id.error());
  params["id"] = std::move(*id);
  const auto answer = client->ask(op, params, args.session.timeout());
  if (!answer) return complain(answer.error());
  if (args.session.json) {
    print_json(*answer);
  } else {
    show(*answer);
  }
  return k_exit_ok;
}

int wait_task(const TaskArguments& args) {
  auto client = connect(args.session);
  if (!client) return complain(client.error());
  const auto id = whole_id(*client, args.session, args.id);
  if (!id) return complain(id.error());
  if (const auto task = client->ask("task_status", {{"id", *id}}, args.session.timeout())) warn_if_it_waits(*task);
  return wait_and_show(args.session, *client, *id);
}

void add_task_verb(Verb& root) {
  Verb task = root.verb("task", "Show, cancel, retry or wait for one task");
  task.needs_verb();
  const auto args = std::make_shared<TaskArguments>();
  task_verb(task, "show", "Everything about it", args).run([args] {
    return ask_about(*args, "task_status", {}, show_task);
  });
  task_verb(task, "logs", "Its failed attempts: who, when, and what went wrong", args).run([args] {
    return ask_about(*args, "task_status", {}, show_attempts);
  });
  Verb cancel = task_verb(task, "cancel", "Cancel it, whatever its state; what runs is stopped", args);
  cancel.option("--reason", args->reason, "Kept with the task");
  cancel.run([args] {
    return ask_about(*args, "task_cancel", {{"reason", args->reason}},
                     [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "state")); });
  });
  task_verb(task, "retry", "Submit it again as a new task; prints the new id", args).run([args] {
    return ask_about(*args, "task_retry", {},
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
