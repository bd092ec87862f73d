// skein submit, tasks, task show|cancel|retry|wait|logs.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

#include "cli/operation_verbs.hpp"
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

// What submit takes besides the parameters of the operation.
struct SubmitOptions {
  std::string file;
  std::uint64_t count = 1;
  bool wait = false;
};

constexpr std::size_t k_file_bytes_max = 1ULL << 20U;
constexpr std::uint64_t k_count_max = 100'000'000;  // of --count

// `said`: what was said of why it waits.
int wait_and_show(const Session& session, control::Client& client, const std::string& id, std::string said) {
  TaskWait wait(session, client);
  wait.warn_of_waits(std::move(said));
  const auto task = wait.wait_for(id, is_terminal(stderr));
  if (!task) return complain(task.error());
  if (session.json) {
    print_json(*task);
  } else {
    show_outcome(*task);
  }
  return exit_of(*task);
}

// From --file, where - is standard input. False: it cannot be read, and that was said.
bool read_params(const std::string& file, json::object& request) {
  if (file.empty()) return true;
  std::FILE* in = file == "-" ? stdin : std::fopen(file.c_str(), "rb");
  if (in == nullptr) {
    complain(k_exit_usage,
             fmt::format("{}: {}; --file takes a file with the parameters as JSON, or -", file, std::strerror(errno)));
    return false;
  }
  std::string params;
  char buffer[1 << 16];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), in)) > 0;) {
    params.append(buffer, got);
    if (params.size() > k_file_bytes_max) break;
  }
  const bool is_broken = std::ferror(in) != 0;
  const int why = errno;
  if (in != stdin) std::fclose(in);
  if (is_broken) {
    complain(k_exit_usage, fmt::format("{}: {}; --file takes a file with JSON, or -", file, std::strerror(why)));
    return false;
  }
  if (params.size() > k_file_bytes_max) {
    complain(k_exit_usage, fmt::format("{} has more than {} bytes; params are JSON of at most [limits] params_bytes",
                                       file, k_file_bytes_max));
    return false;
  }
  if (!is_utf8(params)) {
    complain(k_exit_usage, fmt::format("{} is not text in UTF-8; --file takes a file with JSON, or -", file));
    return false;
  }
  while (!params.empty() && (params.back() == '\n' || params.back() == ' ')) params.pop_back();
  if (params.empty()) {
    complain(k_exit_usage, fmt::format("{} is empty; leave --file out for a task without parameters", file));
    return false;
  }
  request["params"] = params;
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

int submit_one(const Session& session, const json::object& params, const SubmitOptions& options) {
  auto client = connect(session);
  if (!client) return complain(client.error());
  const auto answer = client->ask("task_submit", params, session.timeout());
  if (!answer) return complain(answer.error());
  const std::string id = text_of(*answer, "id");
  if (options.wait) say_id(session, id);
  std::string said;
  if (const auto task = client->ask("task_status", {{"id", id}}, session.timeout())) said = warn_if_it_waits(*task);
  if (!options.wait) {
    if (session.json) {
      print_json(*answer);
    } else {
      fmt::print("{}\n", id);
    }
    return k_exit_ok;
  }
  return wait_and_show(session, *client, id, std::move(said));
}

int submit(const Invocation& invocation, const SubmitOptions& options) {
  if (options.count == 0 || options.count > k_count_max) {
    return complain(k_exit_usage, fmt::format("--count is from 1 to {}", k_count_max));
  }
  json::object params = invocation.params;
  if (options.count > 1 && params.contains("key")) {
    return complain(k_exit_usage, "--key makes one task of all the copies that --count asks for; choose one");
  }
  if (params.contains("params") && !options.file.empty()) {
    return complain(k_exit_usage, "--params and --file both give the parameters; choose one");
  }
  if (!read_params(options.file, params)) return k_exit_usage;
  return options.count == 1 ? submit_one(invocation.session, params, options)
                            : submit_many(invocation.session, params, options.count, options.wait);
}

void add_submit_verb(Verb& root) {
  const auto options = std::make_shared<SubmitOptions>();
  VerbParts parts;
  parts.more = [options](Verb& verb) {
    verb.option("--file", options->file, "Read the parameters from a file; - is standard input");
    verb.option("--count", options->count, "Submit this many copies of the task, to generate load [default: 1]");
    verb.flag("--wait", options->wait, "Wait for the result, at most for --timeout");
  };
  parts.run = [options](const Invocation& invocation) { return submit(invocation, *options); };
  parts.timeout_help = "Give up waiting for the node, and with --wait for the result, after this time";
  add_operation(root, "task_submit", std::move(parts));
}

// One page, or with --all every one.
int list(const Session& session, json::object params, bool wants_all) {
  auto client = connect(session);
  if (!client) return complain(client.error());
  Table table = task_table();
  std::string cursor;
  do {
    if (!cursor.empty()) params["cursor"] = cursor;
    const auto page = client->ask("task_list", params, session.timeout());
    if (!page) return complain(page.error());
    cursor = text_of(*page, "cursor");
    if (session.json && wants_all) {
      for (const json::value& task : list_of(*page, "tasks")) print_json(task);
    } else if (session.json) {
      print_json(*page);
    } else {
      add_task_rows(table, *page);
    }
  } while (wants_all && !cursor.empty());
  if (session.json) return k_exit_ok;
  table.print();
  if (!cursor.empty()) fmt::print(stderr, "more: --cursor {} or --all\n", cursor);
  return k_exit_ok;
}

void add_tasks_verb(Verb& root) {
  const auto wants_all = std::make_shared<bool>(false);
  VerbParts parts;
  parts.more = [wants_all](Verb& verb) { verb.flag("--all", *wants_all, "All pages"); };
  parts.run = [wants_all](const Invocation& invocation) {
    return list(invocation.session, invocation.params, *wants_all);
  };
  add_operation(root, "task_list", std::move(parts));
}

int wait_task(const Invocation& invocation) {
  const Session& session = invocation.session;
  const std::string id = text_of(invocation.params, "id");
  auto client = connect(session);
  if (!client) return complain(client.error());
  std::string said;
  if (const auto task = client->ask("task_status", {{"id", id}}, session.timeout())) said = warn_if_it_waits(*task);
  return wait_and_show(session, *client, id, std::move(said));
}

void add_logs_verb(Verb& task) {
  struct Arguments {
    Session session;
    std::string id;
  };
  const auto args = std::make_shared<Arguments>();
  Verb logs = task.verb("logs", "Show the failed attempts of a task: agent, time and error");
  logs.place("ID", args->id, "The task's id, or the beginning of it");
  args->session.add_to(logs);
  logs.example("skein task logs 0197f0c2-0000-7000-8000-000000000000");
  logs.run([args] {
    auto client = connect(args->session);
    if (!client) return complain(client.error());
    const auto id = whole_id(*client, args->session, args->id);
    if (!id) return complain(id.error());
    return ask_and_show(args->session, "task_status", {{"id", *id}}, show_attempts);
  });
}

// One member of the answer, on a line.
VerbParts showing(const char* member) {
  return {.show = [member](const json::value& answer) { fmt::print("{}\n", text_of(answer, member)); }};
}

void add_task_verb(Verb& root) {
  Verb task = root.verb("task", "Show, cancel, retry or wait for one task");
  task.needs_verb();
  add_operation(root, "task_status", {.show = show_task});
  add_logs_verb(task);
  add_operation(root, "task_cancel", showing("state"));
  add_operation(root, "task_retry", showing("id"));
  add_operation(root, "task_wait",
                {.run = wait_task, .timeout_help = "Stop waiting after this time; the task keeps running"});
}

}  // namespace

void add_tasks(Verb& root) {
  add_submit_verb(root);
  add_tasks_verb(root);
  add_task_verb(root);
}

}  // namespace skein::cli
