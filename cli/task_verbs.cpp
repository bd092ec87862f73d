// skein submit, tasks, task show|cancel|retry|wait|logs.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <map>

#include "cli/operation_verbs.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

// What submit takes besides the parameters of the operation.
struct SubmitOptions {
  std::string file;
  std::uint64_t count = 1;
  bool wait = false;
};

constexpr std::chrono::milliseconds k_wait_step{50'000};   // the node's own limit on one wait
constexpr std::chrono::milliseconds k_wait_slack{10'000};  // for its answer
constexpr std::size_t k_submits_under_way = 5'000;         // of --count
constexpr std::size_t k_file_bytes_max = 1ULL << 20U;
constexpr std::uint64_t k_count_max = 100'000'000;  // of --count

// The parameters of the task from --file, where - is standard input. False: it cannot be read, and that was said.
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
  while (!params.empty() && (params.back() == '\n' || params.back() == ' ')) params.pop_back();
  if (params.empty()) {
    complain(k_exit_usage, fmt::format("{} is empty; leave --file out for a task without parameters", file));
    return false;
  }
  request["params"] = params;
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

int submit_one(const Session& session, const json::object& params, const SubmitOptions& options) {
  auto client = control::Client::connect(session.data_folder());
  if (!client) return complain(client.error());
  const auto answer = client->ask("task_submit", params, session.timeout());
  if (!answer) return complain(answer.error());
  const std::string id = text_of(*answer, "id");
  if (!options.wait) {
    if (session.json) {
      print_json(*answer);
    } else {
      fmt::print("{}\n", id);
    }
    return k_exit_ok;
  }
  if (!session.json && is_terminal(stderr)) fmt::print(stderr, "task {}\n", id);
  const auto task = wait_for(*client, id, session.timeout(), is_terminal(stderr));
  if (!task) return complain(task.error());
  if (session.json) {
    print_json(*task);
  } else {
    show_outcome(*task);
  }
  return exit_of(*task);
}

// Many of the same, without waiting for each answer: for load.
int submit_many(const Session& session, const json::object& params, const SubmitOptions& options) {
  auto client = control::Client::connect(session.data_folder());
  if (!client) return complain(client.error());
  const auto begin = std::chrono::steady_clock::now();
  Progress progress("submitted");
  std::uint64_t sent = 0;
  std::uint64_t accepted = 0;
  std::uint64_t answered = 0;
  std::map<std::string, std::uint64_t> refused;
  std::vector<std::string> ids;
  while (answered < options.count) {
    while (sent < options.count && sent - answered < k_submits_under_way) {
      const auto id = client->send("task_submit", params);
      if (!id) return complain(id.error());
      ++sent;
    }
    auto next = client->next(session.timeout());
    if (!next) return complain(next.error());
    ++answered;
    if (next->result) {
      ++accepted;
      if (options.wait) ids.push_back(text_of(*next->result, "id"));
    } else {
      ++refused[next->result.error().code];
    }
    progress.show(answered, options.count);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::uint64_t completed = 0;
  std::uint64_t waited = 0;
  Progress waiting("ended");
  for (const std::string& id : ids) {
    waiting.show(waited++, ids.size());
    const auto task = wait_for(*client, id, session.timeout(), false);
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
  if (options.wait) report["completed"] = completed;
  if (session.json) {
    print_json(report);
  } else {
    fmt::print("{} accepted, {} refused in {:.2f} s: {:.0f} a second\n", accepted, answered - accepted, took.count(),
               static_cast<double>(answered) / took.count());
    for (const auto& [code, count] : refused) fmt::print(stderr, "skein: {} refused with {}\n", count, code);
    if (options.wait) fmt::print("{} completed\n", completed);
  }
  if (accepted < answered) return k_exit_refused;
  return options.wait && completed < accepted ? k_exit_task_failed : k_exit_ok;
}

int submit(const Invocation& invocation, const SubmitOptions& options) {
  if (options.count == 0 || options.count > k_count_max) {
    return complain(k_exit_usage, fmt::format("--count is from 1 to {}", k_count_max));
  }
  json::object params = invocation.params;
  if (params.contains("params") && !options.file.empty()) {
    return complain(k_exit_usage, "--params and --file both give the parameters; choose one");
  }
  if (!read_params(options.file, params)) return k_exit_usage;
  return options.count == 1 ? submit_one(invocation.session, params, options)
                            : submit_many(invocation.session, params, options);
}

void add_submit_verb(Verb& root) {
  const auto options = std::make_shared<SubmitOptions>();
  VerbParts parts;
  parts.more = [options](Verb& verb) {
    verb.option("--file", options->file, "Read the parameters from a file; - is standard input");
    verb.option("--count", options->count, "Submit so many of the same, for load [default: 1]");
    verb.flag("--wait", options->wait, "Wait for the result, as long as --timeout says");
  };
  parts.run = [options](const Invocation& invocation) { return submit(invocation, *options); };
  parts.timeout_help = "Give up asking the node, and with --wait waiting for the result, after this time";
  add_operation(root, "task_submit", std::move(parts));
}

void add_rows(Table& table, const json::value& page) {
  for (const json::value& task : list_of(page, "tasks")) {
    const std::string state = text_of(task, "state");
    table.row({text_of(task, "id"), coloured(state, colour_of(state)), text_of(task, "type"), text_of(task, "swarm"),
               fmt::format("{}", count_of(task, "priority")),
               fmt::format("{}/{}", count_of(task, "attempts"), count_of(task, "attempts_max")),
               how_long_ago(count_of(task, "submitted_at")), text_of(task, "agent"), text_of(task, "message")});
  }
}

// One page, or with --all every one.
int list(const Session& session, json::object params, bool wants_all) {
  auto client = control::Client::connect(session.data_folder());
  if (!client) return complain(client.error());
  Table table({"ID", "STATE", "TYPE", "SWARM", "PRIO", "ATTEMPTS", "AGE", "AGENT", "MESSAGE"});
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
      add_rows(table, *page);
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

int wait_task(const Invocation& invocation) {
  const Session& session = invocation.session;
  auto client = control::Client::connect(session.data_folder());
  if (!client) return complain(client.error());
  const auto task = wait_for(*client, text_of(invocation.params, "id"), session.timeout(), is_terminal(stderr));
  if (!task) return complain(task.error());
  if (session.json) {
    print_json(*task);
  } else {
    show_outcome(*task);
  }
  return exit_of(*task);
}

void add_logs_verb(Verb& task) {
  struct Arguments {
    Session session;
    std::string id;
  };
  const auto args = std::make_shared<Arguments>();
  Verb logs = task.verb("logs", "Show its failed attempts: who, when, and what went wrong");
  logs.place("ID", args->id, "The task's id");
  args->session.add_to(logs);
  logs.example("skein task logs 0197f0c2-0000-7000-8000-000000000000");
  logs.run([args] { return ask_and_show(args->session, "task_status", {{"id", args->id}}, show_attempts); });
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
                {.run = wait_task, .timeout_help = "Stop waiting after this time; the task goes on"});
}

}  // namespace

void add_tasks(Verb& root) {
  add_submit_verb(root);
  add_tasks_verb(root);
  add_task_verb(root);
}

}  // namespace skein::cli
