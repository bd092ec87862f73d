#include "cli/task_views.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/task_ids.hpp"
#include "skein/base/time_text.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/why_waits.hpp"

namespace skein::cli {
namespace {

void line(const char* name, const std::string& value) {
  if (!value.empty()) fmt::print("{:<12} {}\n", name, value);
}

// "2026-11-18T04:20:00Z, 3.2 s ago"; nothing for 0.
std::string moment(std::uint64_t wall_ms) {
  if (wall_ms == 0) return "";
  const std::string ago = how_long_ago(wall_ms);
  return fmt::format("{}{}", moment_text(wall_ms), ago == "now" ? "" : fmt::format(", {} ago", ago));
}

std::string listed(const json::array& all) {
  std::string text;
  for (const json::value& each : all) {
    if (!text.empty()) text += ", ";
    text += each.is_string() ? std::string(each.get_string()) : "";
  }
  return text;
}

// How to say it on this command line, where the sentence fits all ways in.
std::string with_options(const json::value& task) {
  const json::array& swarms = list_of(task, "able_swarms");
  std::string text = text_of(task, "waits");
  if (!swarms.empty() && swarms.front().is_string()) {
    text += fmt::format(": --swarm {}", std::string_view(swarms.front().get_string()));
  }
  return text;
}

// As a submit names it; a node of before says only the number.
std::string priority_text(const json::value& task) {
  const std::string name = text_of(task, "priority_name");
  return name.empty() ? text_of(task, "priority") : name;
}

}  // namespace

Table task_table() { return Table({"ID", "STATE", "TYPE", "SWARM", "PRIO", "ATTEMPTS", "AGE", "AGENT", "MESSAGE"}); }

void add_task_rows(Table& table, const json::value& page) {
  for (const json::value& task : list_of(page, "tasks")) {
    const std::string state = text_of(task, "state");
    table.row({shown_id(text_of(task, "id")), coloured(state, colour_of(state)), text_of(task, "type"),
               text_of(task, "swarm"), priority_text(task),
               fmt::format("{}/{}", count_of(task, "attempts"), count_of(task, "attempts_max")),
               how_long_ago(count_of(task, "submitted_at")), text_of(task, "agent"), text_of(task, "message")});
  }
}

void show_task(const json::value& task) {
  const std::string state = text_of(task, "state");
  line("id", text_of(task, "id"));
  line("state", coloured(state, colour_of(state)));
  line("waits", with_options(task));
  line("type", text_of(task, "type"));
  line("swarm", text_of(task, "swarm"));
  for (const json::value& step : list_of(task, "handed_on")) {
    line("handed on", fmt::format("from '{}' to '{}' after {} failed attempts, {} ago", text_of(step, "from"),
                                  text_of(step, "to"), count_of(step, "attempts"), how_long_ago(count_of(step, "at"))));
  }
  line("capabilities", listed(list_of(task, "capabilities")));
  line("priority", priority_text(task));
  line("after", listed(list_of(task, "dependencies")));
  line("agent", text_of(task, "agent"));
  line("for agent", text_of(task, "for_agent"));
  if (count_of(task, "unpinned_at") != 0)
    line("fell back", "any agent may have it, since " + how_long_ago(count_of(task, "unpinned_at")) + " ago");
  line("route key", text_of(task, "route_key"));
  line("submitted", moment(count_of(task, "submitted_at")));
  line("not before", moment(count_of(task, "not_before")));
  line("started", moment(count_of(task, "started_at")));
  line("finished", moment(count_of(task, "finished_at")));
  line("deadline", moment(count_of(task, "deadline_at")));
  if (const auto timeout = count_of(task, "timeout_ms"); timeout != 0) line("timeout", how_long(timeout));
  line("attempts", fmt::format("{} of {}", count_of(task, "attempts"), count_of(task, "attempts_max")));
  line("params", text_of(task, "params"));
  line("progress", text_of(task, "progress"));
  line("result", text_of(task, "result"));
  line("message", text_of(task, "message"));
  line("key", text_of(task, "key"));
  line("trace", text_of(task, "trace"));
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

int exit_of(const json::value& task) { return text_of(task, "state") == "completed" ? k_exit_ok : k_exit_task_failed; }

void show_outcome(const json::value& task) {
  const std::string state = text_of(task, "state");
  if (state == "completed") {
    // To a terminal without the bytes that it would obey; to a program unchanged.
    const std::string result = is_terminal(stdout) ? text_of(task, "result") : raw_text_of(task, "result");
    if (!result.empty()) fmt::print("{}\n", result);
    return;
  }
  const std::string id = text_of(task, "id");
  std::string why = text_of(task, "message");
  if (why.empty()) why = fmt::format("{}, no reason was given", text_of(task, "ending"));
  const auto attempts = count_of(task, "attempts");
  if (attempts == 0) {
    complain(k_exit_task_failed, fmt::format("task {} {} before it began: {}", id, state, why));
    return;
  }
  complain(k_exit_task_failed, fmt::format("task {} {} after {} of {} attempts: {}; 'skein task logs {}' has each", id,
                                           state, attempts, count_of(task, "attempts_max"), why, id));
}

std::string warn_if_it_waits(const json::value& task, std::string said) {
  if (!operations::needs_help(text_of(task, "waits_for"))) return said;
  std::string why = with_options(task);
  if (why == said) return said;
  if (errors_are_json()) {
    fmt::print(stderr, "{}\n", operations::json_text(json::object{{"warning", why}}));
  } else {
    fmt::print(stderr, "skein: warning: the task waits: {}\n", why);
  }
  return why;
}

}  // namespace skein::cli
