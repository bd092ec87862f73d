// skein agents, agent show|pause|resume|stop|spawn, swarms, swarm create|show|scale|pause|resume|drain|stop|remove.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/ledger/swarm_fields.hpp"

namespace skein::cli {
namespace {

struct SwarmArguments {
  Session session;
  std::string name;
  std::string executor = "function";
  std::string role = "worker";
  std::string swarm = "default";
  std::vector<std::string> capabilities;
  std::vector<std::string> fields;
  std::string min;  // empty: not given
  std::string max;
  std::string fallback;
};
using SwarmArgumentsPtr = std::shared_ptr<SwarmArguments>;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

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
    const json::value& definition = part_of(swarm, "definition");
    const json::value& overrides = part_of(swarm, "overrides");
    const auto field = [&](const char* key) {
      const std::string over = text_of(overrides, key);
      return over.empty() ? text_of(definition, key) : over + "*";
    };
    const std::string state = text_of(swarm, "state");
    const std::size_t problems = list_of(swarm, "problems").size();
    table.row({text_of(swarm, "name"), coloured(state, colour_of(state)), text_of(swarm, "breaker"),
               fmt::format("{}", count_of(swarm, "open_tasks")), field("executor"),
               fmt::format("{} to {}", field("agents_min"), field("agents_max")), text_of(swarm, "origin"),
               problems == 0 ? "" : coloured(fmt::format("{}", problems), Colour::red)});
  }
  table.print();
}

void show_swarm(const json::value& swarm) {
  fmt::print("{:<16} {}\n{:<16} {}\n{:<16} {}\n{:<16} {}\n{:<16} {}\n", "swarm", text_of(swarm, "name"), "state",
             text_of(swarm, "state"), "breaker", text_of(swarm, "breaker"), "open tasks", count_of(swarm, "open_tasks"),
             "from", text_of(swarm, "origin"));
  const auto show = [&](const char* part, const char* mark) {
    if (const json::object* fields = part_of(swarm, part).if_object()) {
      for (const auto& [key, value] : *fields) {
        fmt::print("{:<16} {}{}\n", std::string_view(key), value.is_string() ? std::string(value.get_string()) : "",
                   mark);
      }
    }
  };
  show("definition", "");
  show("overrides", "  (override)");
  for (const json::value& each : list_of(swarm, "passed_over")) {
    fmt::print("{:<16} {}\n", "held back", coloured(passed_over_text(each), Colour::yellow));
  }
  for (const json::value& each : list_of(swarm, "problems")) {
    fmt::print("{:<16} {}\n", "problem", coloured(each.is_string() ? std::string(each.get_string()) : "", Colour::red));
  }
}

void silent(const json::value&) {}

// A verb that names one thing and prints nothing when it worked.
void simple(Verb& parent, const std::string& name, const std::string& what, const SwarmArgumentsPtr& args,
            const std::string& op, const char* key) {
  Verb verb = parent.verb(name, what);
  verb.place("NAME", args->name, "Which one");
  args->session.add_to(verb);
  verb.run([args, op, key] { return ask_and_show(args->session, op, {{key, args->name}}, silent); });
}

void add_agent_verbs(Verb& root) {
  const auto args = std::make_shared<SwarmArguments>();
  Verb agents = root.verb("agents", "List agents: status, load, heartbeat, tasks done");
  agents.option("--capability", args->capabilities, "Only agents that have all of these; may be given often");
  args->session.add_to(agents);
  agents.run([args] {
    json::array capabilities;
    for (const std::string& each : args->capabilities) capabilities.emplace_back(each);
    return ask_and_show(args->session, "agent_list", {{"capabilities", std::move(capabilities)}}, show_agents);
  });

  Verb agent = root.verb("agent", "Show, pause, resume, stop or spawn one agent");
  agent.needs_verb();
  Verb show = agent.verb("show", "Everything about it, with its last tasks");
  show.place("NAME", args->name, "Which one");
  args->session.add_to(show);
  show.run([args] { return ask_and_show(args->session, "agent_status", {{"id", args->name}}, show_agent); });
  simple(agent, "pause", "Let it begin nothing more", args, "agent_pause", "id");
  simple(agent, "resume", "Let it go on", args, "agent_resume", "id");
  simple(agent, "stop", "End it; what it holds goes to others", args, "agent_stop", "id");
  simple(agent, "cancel", "Cut short what it runs; that attempt fails for good", args, "agent_cancel", "id");
  simple(agent, "start", "Start an agent of [[agents]] that was stopped, or is parked", args, "agent_start", "id");
  Verb spawn = agent.verb("spawn", "Start one more; prints its name");
  spawn.option("--executor", args->executor, "What runs its tasks; defined in skein.toml");
  spawn.option("--name", args->name, "Its name; one is made when none is given");
  spawn.option("--role", args->role, "worker, specialist or coordinator");
  spawn.option("--swarm", args->swarm, "Whose tasks it gets");
  spawn.option("--capability", args->capabilities, "What it can do; may be given often");
  args->session.add_to(spawn);
  spawn.run([args] {
    json::object params{{"executor", args->executor}, {"role", args->role}, {"swarm", args->swarm}, {"id", args->name}};
    json::array capabilities;
    for (const std::string& each : args->capabilities) capabilities.emplace_back(each);
    params["capabilities"] = std::move(capabilities);
    return ask_and_show(args->session, "agent_spawn", params,
                        [](const json::value& answer) { fmt::print("{}\n", text_of(answer, "id")); });
  });
}

// A smaller maximum alone lowers the minimum too.
std::uint64_t usual_min(const std::string& max) {
  const std::uint64_t usual = ledger::SwarmFields{}.min;
  return std::min(usual, whole_number(max).value_or(usual));
}

int create(const SwarmArguments& args) {
  json::object fields{{"executor", args.executor},
                      {"role", args.role},
                      {"min", args.min.empty() ? std::to_string(usual_min(args.max)) : args.min},
                      {"max", args.max.empty() ? std::to_string(ledger::SwarmFields{}.max) : args.max}};
  std::string capabilities;
  for (const std::string& each : args.capabilities) capabilities += (capabilities.empty() ? "" : ",") + each;
  if (!capabilities.empty()) fields["capabilities"] = capabilities;
  if (!args.fallback.empty()) fields["fallback"] = args.fallback;
  for (const std::string& each : args.fields) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) return complain(k_exit_usage, fmt::format("--set {}: write key=value", each));
    fields[each.substr(0, equals)] = each.substr(equals + 1);
  }
  return ask_and_show(args.session, "swarm_create", {{"name", args.name}, {"fields", fields}}, silent);
}

// The field as it is in force: an override wins over the definition.
std::string field_of(const json::value& swarm, const char* key) {
  const std::string over = text_of(part_of(swarm, "overrides"), key);
  return over.empty() ? text_of(part_of(swarm, "definition"), key) : over;
}

// What is not given stays as it is.
int scale_swarm(const SwarmArguments& args) {
  if (args.min.empty() && args.max.empty()) return complain(k_exit_usage, "give --min, --max or both");
  auto client = control::Client::connect(args.session.data_folder());
  if (!client) return complain(client.error());
  const auto swarm = client->ask("swarm_status", {{"name", args.name}}, args.session.timeout());
  if (!swarm) return complain(swarm.error());
  json::object params{{"name", args.name}};
  for (const auto& [key, field, given] : {std::tuple("min", "agents_min", args.min), {"max", "agents_max", args.max}}) {
    const auto number = whole_number(given.empty() ? field_of(*swarm, field) : given);
    if (!number) return complain(k_exit_usage, fmt::format("--{} {}: give a whole number", key, given));
    params[key] = *number;
  }
  const auto answer = client->ask("swarm_scale", params, args.session.timeout());
  if (!answer) return complain(answer.error());
  if (args.session.json) print_json(params);
  return k_exit_ok;
}

void add_swarm_verbs(Verb& root) {
  const auto args = std::make_shared<SwarmArguments>();
  Verb swarms = root.verb("swarms", "List swarms");
  args->session.add_to(swarms);
  swarms.run([args] { return ask_and_show(args->session, "swarm_list", {}, show_swarms); });

  Verb swarm = root.verb("swarm", "Create, show, scale, pause, resume, drain or stop one swarm");
  swarm.needs_verb();
  Verb show = swarm.verb("show", "Everything about it");
  show.place("NAME", args->name, "Which one");
  args->session.add_to(show);
  show.run([args] { return ask_and_show(args->session, "swarm_status", {{"name", args->name}}, show_swarm); });

  Verb create_verb = swarm.verb("create", "Make one; it lives until it is removed");
  create_verb.place("NAME", args->name, "Its name");
  create_verb.option("--executor", args->executor, "What its agents run tasks with; defined in skein.toml");
  create_verb.option("--role", args->role, "worker, specialist or coordinator");
  create_verb.option("--capability", args->capabilities, "What its agents can do; may be given often");
  create_verb.option("--min", args->min, "Agents at least");
  create_verb.option("--max", args->max, "Agents at most");
  create_verb.option("--fallback", args->fallback, "The swarm its tasks go to when their attempts are used up");
  create_verb.option("--set", args->fields, "Another field of its definition, key=value; may be given often");
  args->session.add_to(create_verb);
  create_verb.run([args] { return create(*args); });

  Verb scale = swarm.verb("scale", "Change how many agents it has; one of the config goes back at the next reload");
  scale.place("NAME", args->name, "Which one");
  scale.option("--min", args->min, "Agents at least");
  scale.option("--max", args->max, "Agents at most");
  args->session.add_to(scale);
  scale.run([args] { return scale_swarm(*args); });
  simple(swarm, "pause", "Give out none of its tasks", args, "swarm_pause", "name");
  simple(swarm, "resume", "Go on", args, "swarm_resume", "name");
  simple(swarm, "drain", "Accept nothing new and finish what there is", args, "swarm_drain", "name");
  simple(swarm, "stop", "Accept nothing new and end its agents", args, "swarm_stop", "name");
  simple(swarm, "remove", "Forget a swarm that has no open tasks", args, "swarm_remove", "name");
}

}  // namespace

void add_swarms(Verb& root) {
  add_agent_verbs(root);
  add_swarm_verbs(root);
}

}  // namespace skein::cli
