// skein agents, agent show|pause|resume|stop|spawn, swarms, swarm create|show|scale|pause|resume|drain|stop|remove.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/operation_verbs.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/base/natural_order.hpp"
#include "skein/ledger/swarm_fields.hpp"

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

// A copy, in the order in which people count.
json::array sorted_by(const json::array& all, const char* key) {
  json::array sorted = all;
  std::ranges::sort(sorted, [key](const json::value& a, const json::value& b) {
    return natural_less(text_of(a, key), text_of(b, key));
  });
  return sorted;
}

// One of [[agents]] that does not run is never heard.
std::string heard(const json::value& agent, std::string_view ago) {
  const std::string status = text_of(agent, "status");
  const bool has_process = status != "stopped" && status != "parked" && status != "restarting";
  return has_process ? how_long(count_of(agent, "heartbeat_age_ms")) + std::string(ago) : "-";
}

void show_agents(const json::value& answer) {
  Table table({"AGENT", "ROLE", "STATUS", "SWARM", "LOAD", "HEARD", "DONE", "FAILED", "PASSED OVER", "CAPABILITIES"});
  for (const json::value& agent : sorted_by(list_of(answer, "agents"), "id")) {
    const std::string status = text_of(agent, "status");
    table.row({text_of(agent, "id"), text_of(agent, "role"), coloured(status, colour_of(status)),
               text_of(agent, "swarm"), fmt::format("{}", count_of(agent, "load")), heard(agent, ""),
               fmt::format("{}", count_of(agent, "completed")), fmt::format("{}", count_of(agent, "failed")),
               why_passed_over(agent), joined(list_of(agent, "capabilities"), " ")});
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
  if (const std::uint64_t pid = count_of(agent, "os_pid"); pid != 0) fmt::print("{:<12} {}\n", "os pid", pid);
  // Its slots are the task that it runs and those ahead; unknown of one that did not answer.
  const std::uint64_t slots = count_of(agent, "slots");
  fmt::print("{:<12} {}\n", "prefetch", slots == 0 ? "-" : fmt::format("{}", slots - 1));
  fmt::print("{:<12} {} ({} waiting here)\n", "load", count_of(agent, "load"), count_of(agent, "queue_length"));
  if (!text_of(agent, "executing_task").empty()) {
    fmt::print("{:<12} {} ({}, for {})\n", "runs", text_of(agent, "executing_task"), text_of(agent, "executing_type"),
               how_long(count_of(agent, "executing_ms")));
  }
  for (const json::value& each : list_of(agent, "passed_over")) {
    fmt::print("{:<12} {}\n", "passed over", coloured(passed_over_text(each), Colour::yellow));
  }
  fmt::print("{:<12} {}\n", "heard", heard(agent, " ago"));
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

// How many agents it has at least and at most; a star for what is not as it was defined. Nothing: it has none of its
// own.
std::string agents_of(const json::value& swarm) {
  const json::value& definition = part_of(swarm, "definition");
  const json::value& overrides = part_of(swarm, "overrides");
  const json::value& settings = part_of(swarm, "settings");
  const auto field = [&](const char* key, const char* stored) {
    const std::string over = text_of(overrides, stored);
    return text_of(settings, key) + (over.empty() || over == text_of(definition, stored) ? "" : "*");
  };
  if (text_of(settings, "executor").empty()) return "-";
  return fmt::format("{} to {}", field("min", "agents_min"), field("max", "agents_max"));
}

// 'default' is there also when nobody has defined it.
std::string origin_of(const json::value& swarm) {
  const json::object* definition = part_of(swarm, "definition").if_object();
  const bool is_undefined = definition == nullptr || definition->empty();
  return text_of(swarm, "name") == "default" && is_undefined ? "built in" : text_of(swarm, "origin");
}

void show_swarms(const json::value& answer) {
  Table table({"SWARM", "STATE", "BREAKER", "OPEN", "EXECUTOR", "AGENTS", "FROM", "PROBLEMS"});
  bool has_star = false;
  for (const json::value& swarm : sorted_by(list_of(answer, "swarms"), "name")) {
    const std::string over = text_of(part_of(swarm, "overrides"), "executor");
    const std::string executor = over.empty() ? text_of(part_of(swarm, "definition"), "executor") : over;
    const std::string state = text_of(swarm, "state");
    const std::size_t problems = list_of(swarm, "problems").size();
    const std::string agents = agents_of(swarm);
    has_star = has_star || agents.find('*') != std::string::npos;
    table.row({text_of(swarm, "name"), coloured(state, colour_of(state)), text_of(swarm, "breaker"),
               fmt::format("{}", count_of(swarm, "open_tasks")), executor.empty() ? "-" : executor, agents,
               origin_of(swarm), problems == 0 ? "" : coloured(fmt::format("{}", problems), Colour::red)});
  }
  table.print();
  if (has_star)
    fmt::print(stderr, "* changed at run time ('skein swarm scale'); a reload undoes it for swarms of the config\n");
}

void show_swarm(const json::value& swarm) {
  fmt::print("{:<16} {}\n{:<16} {}\n{:<16} {}\n{:<16} {}\n{:<16} {}\n", "swarm", text_of(swarm, "name"), "state",
             text_of(swarm, "state"), "breaker", text_of(swarm, "breaker"), "open tasks", count_of(swarm, "open_tasks"),
             "from", origin_of(swarm));
  if (const json::object* settings = part_of(swarm, "settings").if_object()) {
    for (const auto& each : *settings) {
      const std::string value =
          each.value().is_array() ? joined(each.value().get_array(), " ") : text_of(*settings, each.key());
      fmt::print("{:<16} {}\n", std::string_view(each.key()), value);
    }
  }
  if (const json::object* overrides = part_of(swarm, "overrides").if_object()) {
    std::string names;
    for (const auto& each : *overrides) {
      const ledger::SwarmField* field = ledger::find_swarm_field(each.key());
      names +=
          fmt::format("{}{}", names.empty() ? "" : ", ", field != nullptr ? field->name : std::string_view(each.key()));
    }
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

void show_cancelled(const json::value& answer) {
  const std::string task = text_of(answer, "task");
  if (task.empty()) return fmt::print("it ran nothing\n");
  fmt::print("task {} is cut short\n", task);
}

void add_agent_verbs(Verb& root) {
  add_operation(root, "agent_list", {.show = show_agents});
  Verb agent = root.verb("agent", "Show, pause, resume, stop, start, change or spawn one agent");
  agent.needs_verb();
  add_operation(root, "agent_status", {.show = show_agent});
  add_operation(root, "agent_pause", steering("agent_pause", "agent", "id", "is paused"));
  add_operation(root, "agent_resume", steering("agent_resume", "agent", "id", "is resumed"));
  add_operation(root, "agent_stop", steering("agent_stop", "agent", "id", "is stopped"));
  add_operation(root, "agent_start", steering("agent_start", "agent", "id", "is started"));
  add_operation(root, "agent_update", steering("agent_update", "agent", "id", "is changed"));
  add_operation(root, "agent_cancel", {.show = show_cancelled});
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
  parts.more = [fields](Verb& verb) { verb.option("--set", *fields, "Another setting, key=value; may be repeated"); };
  parts.run = [fields](const Invocation& invocation) {
    json::object params = invocation.params;
    if (!params.contains("executor")) params["executor"] = "function";
    if (!add_fields(*fields, params)) return static_cast<int>(k_exit_usage);
    return ask_and_show(invocation.session, "swarm_create", params,
                        [&](const json::value&) { fmt::print("swarm '{}' is created\n", text_of(params, "name")); });
  };
  return parts;
}

// One of the config comes back as long as the config has it.
int remove_swarm(const Invocation& invocation) {
  const Session& session = invocation.session;
  auto client = connect(session);
  if (!client) return complain(client.error());
  const auto swarm = client->ask("swarm_status", invocation.params, session.timeout());
  if (!swarm) return complain(swarm.error());
  const auto answer = client->ask("swarm_remove", invocation.params, session.timeout());
  if (!answer) return complain(answer.error());
  if (session.json) {
    print_json(*answer);
    return k_exit_ok;
  }
  fmt::print("swarm '{}' is removed\n", text_of(invocation.params, "name"));
  if (text_of(*swarm, "origin") == "config") {
    fmt::print(stderr,
               "skein: the config defines it: unless it is taken out there, the next reload or start makes it again\n");
  }
  return k_exit_ok;
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
  add_operation(root, "swarm_remove", {.run = remove_swarm});
}

}  // namespace

void add_swarms(Verb& root) {
  add_agent_verbs(root);
  add_swarm_verbs(root);
}

}  // namespace skein::cli
