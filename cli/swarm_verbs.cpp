// skein agents, agent show|pause|resume|stop|spawn, swarms, swarm create|show|scale|pause|resume|drain|stop|remove.
#include <fmt/format.h>

#include <memory>

#include "cli/operation_verbs.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

std::string joined(const json::array& all, std::string_view between) {
  std::string text;
  for (const json::value& each : all) {
    if (!text.empty()) text += between;
    text += each.is_string() ? std::string(each.get_string()) : std::string();
  }
  return text;
}

// Why it is passed over, and until when.
std::string passed_over_text(const json::value& each) {
  const std::string type = text_of(each, "type");
  const std::uint64_t until = count_of(each, "until");
  return fmt::format("{}{}{}", type.empty() ? "" : fmt::format("type '{}': ", type), text_of(each, "detail"),
                     until == 0 ? "" : fmt::format(", until {}", time_of_day(until)));
}

std::string why_passed_over(const json::value& agent) {
  std::string words;
  for (const json::value& each : list_of(agent, "passed_over")) {
    words += fmt::format("{}{}", words.empty() ? "" : ",", text_of(each, "why"));
  }
  return words;
}

void show_agents(const json::value& answer) {
  Table table({"AGENT", "ROLE", "STATUS", "SWARM", "LOAD", "HEARD", "DONE", "FAILED", "PASSED OVER", "CAPABILITIES"});
  for (const json::value& agent : list_of(answer, "agents")) {
    const std::string status = text_of(agent, "status");
    table.row({text_of(agent, "id"), text_of(agent, "role"), coloured(status, colour_of(status)),
               text_of(agent, "swarm"), fmt::format("{}", count_of(agent, "load")),
               how_long(count_of(agent, "heartbeat_age_ms")), fmt::format("{}", count_of(agent, "completed")),
               fmt::format("{}", count_of(agent, "failed")), why_passed_over(agent),
               joined(list_of(agent, "capabilities"), " ")});
  }
  table.print();
}

void show_agent(const json::value& agent) {
  const std::string status = text_of(agent, "status");
  fmt::print("{:<12} {}\n", "agent", text_of(agent, "id"));
  fmt::print("{:<12} {}\n", "status", coloured(status, colour_of(status)));
  fmt::print("{:<12} {}\n", "role", text_of(agent, "role"));
  fmt::print("{:<12} {}\n", "swarm", text_of(agent, "swarm"));
  fmt::print("{:<12} {}\n", "executor", text_of(agent, "executor"));
  fmt::print("{:<12} {}\n", "capabilities", joined(list_of(agent, "capabilities"), " "));
  fmt::print("{:<12} {}\n", "process", text_of(agent, "pid"));
  fmt::print("{:<12} {} ({} waiting here)\n", "load", count_of(agent, "load"), count_of(agent, "queue_length"));
  if (!text_of(agent, "executing_task").empty()) fmt::print("{:<12} {}\n", "runs", text_of(agent, "executing_task"));
  for (const json::value& each : list_of(agent, "passed_over")) {
    fmt::print("{:<12} {}\n", "passed over", coloured(passed_over_text(each), Colour::yellow));
  }
  fmt::print("{:<12} {} ago\n", "heard", how_long(count_of(agent, "heartbeat_age_ms")));
  const std::uint64_t completed = count_of(agent, "completed");
  const std::uint64_t failed = count_of(agent, "failed");
  if (completed + failed == 0) {
    fmt::print("{:<12} none yet\n", "tasks");
  } else {
    fmt::print("{:<12} {} completed, {} failed, {:.0f}% success, {:.3f} ms on average\n", "tasks", completed, failed,
               number_of(agent, "success_rate") * 100, number_of(agent, "avg_latency_ms"));
  }
  if (list_of(agent, "past").empty()) return;
  Table table({"TASK", "TYPE", "END", "ATTEMPT", "TOOK"});
  for (const json::value& each : list_of(agent, "past")) {
    table.row({text_of(each, "id"), text_of(each, "type"), text_of(each, "end"), text_of(each, "attempt"),
               fmt::format("{:.3f} ms", number_of(each, "took_ms"))});
  }
  table.print();
}

void show_swarms(const json::value& answer) {
  Table table({"SWARM", "STATE", "BREAKER", "OPEN", "EXECUTOR", "AGENTS", "FROM", "PROBLEMS"});
  for (const json::value& swarm : list_of(answer, "swarms")) {
    const json::value& settings = part_of(swarm, "settings");
    const json::value& overrides = part_of(swarm, "overrides");
    const auto setting = [&](const char* key, const char* field) {
      return text_of(settings, key) + (part_of(overrides, field).is_null() ? "" : "*");
    };
    const std::string state = text_of(swarm, "state");
    const std::size_t problems = list_of(swarm, "problems").size();
    table.row({text_of(swarm, "name"), coloured(state, colour_of(state)), text_of(swarm, "breaker"),
               fmt::format("{}", count_of(swarm, "open_tasks")), setting("executor", "executor"),
               fmt::format("{} to {}", setting("min", "agents_min"), setting("max", "agents_max")),
               text_of(swarm, "origin"), problems == 0 ? "" : coloured(fmt::format("{}", problems), Colour::red)});
  }
  table.print();
}

void show_swarm(const json::value& swarm) {
  fmt::print("{:<16} {}\n{:<16} {}\n{:<16} {}\n{:<16} {}\n{:<16} {}\n", "swarm", text_of(swarm, "name"), "state",
             text_of(swarm, "state"), "breaker", text_of(swarm, "breaker"), "open tasks", count_of(swarm, "open_tasks"),
             "from", text_of(swarm, "origin"));
  if (const json::object* settings = part_of(swarm, "settings").if_object()) {
    for (const auto& each : *settings) {
      const std::string value =
          each.value().is_array() ? joined(each.value().get_array(), " ") : text_of(*settings, each.key());
      fmt::print("{:<16} {}\n", std::string_view(each.key()), value);
    }
  }
  if (const json::object* overrides = part_of(swarm, "overrides").if_object()) {
    std::string names;
    for (const auto& each : *overrides) names += (names.empty() ? "" : ", ") + std::string(each.key());
    fmt::print("{:<16} {}\n", "changed", names + " (not as defined)");
  }
  for (const json::value& each : list_of(swarm, "passed_over")) {
    fmt::print("{:<16} {}\n", "held back", coloured(passed_over_text(each), Colour::yellow));
  }
  for (const json::value& each : list_of(swarm, "problems")) {
    fmt::print("{:<16} {}\n", "problem", coloured(each.is_string() ? std::string(each.get_string()) : "", Colour::red));
  }
}

// Says in a line that it worked: "agent 'ada' is paused".
VerbParts steering(std::string_view operation, std::string_view kind, std::string_view subject, std::string_view done) {
  VerbParts parts;
  parts.run = [operation, kind, subject, done](const Invocation& invocation) {
    const auto say = [&](const json::value&) {
      fmt::print("{} '{}' {}\n", kind, text_of(invocation.params, subject), done);
    };
    return ask_and_show(invocation.session, operation, invocation.params, say);
  };
  return parts;
}

void add_agent_verbs(Verb& root) {
  add_operation(root, "agent_list", {.show = show_agents});
  Verb agent = root.verb("agent", "Show, pause, resume, stop or spawn one agent");
  agent.needs_verb();
  add_operation(root, "agent_status", {.show = show_agent});
  add_operation(root, "agent_pause", steering("agent_pause", "agent", "id", "is paused"));
  add_operation(root, "agent_resume", steering("agent_resume", "agent", "id", "is resumed"));
  add_operation(root, "agent_stop", steering("agent_stop", "agent", "id", "is stopped"));
  add_operation(root, "agent_spawn",
                {.show = [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "id")); }});
}

// The further settings that --set names, as texts. False: one makes no sense, and that was said.
bool add_fields(const std::vector<std::string>& given, json::object& params) {
  json::object fields;
  for (const std::string& each : given) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) {
      complain(k_exit_usage, fmt::format("--set {}: write key=value", each));
      return false;
    }
    fields[each.substr(0, equals)] = each.substr(equals + 1);
  }
  if (!fields.empty()) params["fields"] = std::move(fields);
  return true;
}

// A swarm made here has agents unless it is told otherwise.
VerbParts creating() {
  const auto fields = std::make_shared<std::vector<std::string>>();
  VerbParts parts;
  parts.more = [fields](Verb& verb) {
    verb.option("--set", *fields, "Another setting, key=value; may be given often");
  };
  parts.run = [fields](const Invocation& invocation) {
    json::object params = invocation.params;
    if (!params.contains("executor")) params["executor"] = "function";
    if (!add_fields(*fields, params)) return static_cast<int>(k_exit_usage);
    return ask_and_show(invocation.session, "swarm_create", params,
                        [&](const json::value&) { fmt::print("swarm '{}' is created\n", text_of(params, "name")); });
  };
  return parts;
}

void add_swarm_verbs(Verb& root) {
  add_operation(root, "swarm_list", {.show = show_swarms});
  Verb swarm = root.verb("swarm", "Create, show, change, scale, pause, resume, drain, stop or remove one swarm");
  swarm.needs_verb();
  add_operation(root, "swarm_status", {.show = show_swarm});
  add_operation(root, "swarm_create", creating());
  add_operation(root, "swarm_override", steering("swarm_override", "swarm", "name", "is changed"));
  add_operation(root, "swarm_scale", {.show = [](const json::value& answer) {
                  fmt::print("swarm '{}' has {} to {} agents\n", text_of(answer, "name"), count_of(answer, "min"),
                             count_of(answer, "max"));
                }});
  add_operation(root, "swarm_pause", steering("swarm_pause", "swarm", "name", "is paused"));
  add_operation(root, "swarm_resume", steering("swarm_resume", "swarm", "name", "is resumed"));
  add_operation(root, "swarm_drain", steering("swarm_drain", "swarm", "name", "is draining"));
  add_operation(root, "swarm_stop", steering("swarm_stop", "swarm", "name", "is stopped"));
  add_operation(root, "swarm_remove", steering("swarm_remove", "swarm", "name", "is removed"));
}

}  // namespace

void add_swarms(Verb& root) {
  add_agent_verbs(root);
  add_swarm_verbs(root);
}

}  // namespace skein::cli
