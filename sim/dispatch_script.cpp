#include "sim/dispatch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "sim/dispatch_line.hpp"
#include "sim/dispatch_world.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/ledger/swarm_fields.hpp"

namespace skein::sim {
namespace {

using dispatch::DispatcherOptions;

constexpr std::string_view k_indent = "  ";  // of what was decided

template <class T>
struct Named {
  std::string_view name;
  T value;
};

template <class T, std::size_t N>
T one_of(std::string_view text, const std::array<Named<T>, N>& all) {
  std::string known;
  for (const auto& each : all) {
    if (each.name == text) return each.value;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  throw BadLine(fmt::format("'{}' is none of {}", text, known));
}

constexpr std::array<Named<Duration DispatcherOptions::*>, 11> k_times{
    {{"lease", &DispatcherOptions::lease},
     {"silent_after", &DispatcherOptions::silent_after},
     {"function_timeout", &DispatcherOptions::function_timeout},
     {"executor_timeout", &DispatcherOptions::executor_timeout},
     {"age_step", &DispatcherOptions::age_step},
     {"breaker_open", &DispatcherOptions::breaker_open},
     {"half_open_interval", &DispatcherOptions::half_open_interval},
     {"take_back_after", &DispatcherOptions::return_after},
     {"yield_wait", &DispatcherOptions::yield_wait},
     {"agent_wait", &DispatcherOptions::agent_wait},
     {"routing_timeout", &DispatcherOptions::routing_timeout}}};
constexpr std::array<Named<std::uint32_t DispatcherOptions::*>, 2> k_counts{
    {{"breaker_crashes", &DispatcherOptions::breaker_crashes}, {"age_runs", &DispatcherOptions::age_runs}}};
constexpr std::array<Named<std::uint16_t>, 4> k_priorities{
    {{"low", ledger::k_low}, {"normal", ledger::k_normal}, {"high", ledger::k_high}, {"critical", ledger::k_critical}}};
constexpr std::array<Named<ledger::ErrorClass>, 4> k_errors{{{"transient", ledger::ErrorClass::transient},
                                                             {"permanent", ledger::ErrorClass::permanent},
                                                             {"rate_limited", ledger::ErrorClass::rate_limited},
                                                             {"resource", ledger::ErrorClass::resource}}};
constexpr std::array<Named<ledger::SwarmState>, 4> k_states{{{"active", ledger::SwarmState::active},
                                                             {"paused", ledger::SwarmState::paused},
                                                             {"draining", ledger::SwarmState::draining},
                                                             {"stopped", ledger::SwarmState::stopped}}};
constexpr std::array<Named<bool>, 1> k_reported{{{"reported", true}}};
constexpr std::array<Named<bool>, 1> k_told{{{"told", true}}};

std::uint64_t ms_of(Duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

class Interpreter {
 public:
  Interpreter() { options_.retry.jitter = 0; }

  // Throws BadLine and std::invalid_argument for what the line asks.
  std::vector<std::string> run(std::string_view text);

 private:
  void option(DispatchLine& line);
  void swarm(DispatchLine& line);
  void agent(DispatchLine& line);
  void submit(DispatchLine& line);
  bool run_dispatcher(DispatchLine& line);
  bool run_operator(DispatchLine& line);
  void run_agent(DispatchLine& line);
  void fails(DispatchLine& line);
  // Made with the first line that is no option.
  DispatchWorld& world() {
    if (!world_) world_.emplace(options_);
    return *world_;
  }

  DispatcherOptions options_;
  std::optional<DispatchWorld> world_;
};

void Interpreter::option(DispatchLine& line) {
  if (world_) throw BadLine("options stand before everything else");
  if (const auto executor = line.text("executor")) {
    const auto colon = executor->find(':');
    if (colon == std::string::npos) throw BadLine("an executor is NAME:CALLS");
    options_.executors.emplace_back(executor->substr(0, colon),
                                    static_cast<std::uint32_t>(number_in(executor->substr(colon + 1))));
  }
  for (const auto& each : k_times) options_.*each.value = line.time(each.name).value_or(options_.*each.value);
  for (const auto& each : k_counts) {
    options_.*each.value = static_cast<std::uint32_t>(line.number(each.name).value_or(options_.*each.value));
  }
  line.ends_after(1);
}

void Interpreter::swarm(DispatchLine& line) {
  const std::string name = line.word(1);
  const auto state = line.text("state");
  const auto fields = ledger::stored_fields({line.rest().begin(), line.rest().end()});
  if (!fields) throw BadLine(fields.error().front());
  for (const auto& [key, value] : std::map(line.rest())) static_cast<void>(line.text(key));
  line.ends_after(2);
  // Of a swarm that is there, a state alone leaves its fields as they are.
  if (!fields->empty() || !state) world().put_swarm(name, *fields);
  if (state) world().set_swarm_state(name, one_of(*state, k_states));
}

void Interpreter::agent(DispatchLine& line) {
  const std::string name = line.word(1);
  dispatch::AgentReady ready;
  ready.capabilities = line.list("can");
  if (ready.capabilities.empty()) throw BadLine("what can it do? can=TYPE,...");
  if (const auto swarm = line.text("swarm")) ready.capabilities.push_back(dispatch::swarm_capability(*swarm));
  ready.capacity = static_cast<std::uint32_t>(line.number("capacity").value_or(1));
  ready.executor = line.text("executor").value_or("");
  ready.attempt_timeout = line.time("timeout").value_or(Duration::zero());
  if (const auto starts = line.text("starts")) ready.reports_starts = one_of(*starts, k_reported);
  if (const auto words = line.text("words")) ready.tells_last_words = one_of(*words, k_told);
  line.ends_after(2);
  world().announce(name, std::move(ready));
}

void Interpreter::submit(DispatchLine& line) {
  const std::string name = line.word(1);
  ledger::Submit op;
  op.spec.type = line.text("type").value_or("");
  op.spec.swarm = line.text("swarm").value_or(op.spec.swarm);
  if (const auto priority = line.text("priority")) op.spec.priority = one_of(*priority, k_priorities);
  op.spec.attempts_max = static_cast<std::uint32_t>(line.number("attempts").value_or(op.spec.attempts_max));
  op.spec.timeout_ms = ms_of(line.time("timeout").value_or(Duration::zero()));
  if (const auto deadline = line.time("deadline")) op.spec.deadline_at = world().wall() + ms_of(*deadline);
  if (const auto delay = line.time("delay")) op.spec.not_before = world().wall() + ms_of(*delay);
  for (const auto& each : line.list("after")) op.spec.extras.dependencies.push_back(world().task_id(each));
  if (const auto agent = line.text("agent")) {
    ledger::Placement where;
    where.agent = *agent;
    if (const auto fallback = line.text("fallback")) {
      const auto named = ledger::agent_fallback_named(*fallback);
      if (!named) throw BadLine(fmt::format("'{}' is neither any nor none", *fallback));
      where.fallback = *named;
    }
    where.wait_ms = ms_of(line.time("agent_wait").value_or(Duration::zero()));
    op.spec.extras.placement = std::make_shared<const ledger::Placement>(std::move(where));
  }
  line.ends_after(2);
  world().submit(name, std::move(op));
}

// False when the line is about something else.
bool Interpreter::run_dispatcher(DispatchLine& line) {
  const auto ends = [&](std::size_t words) -> DispatchWorld& {
    line.ends_after(words);
    return world();
  };
  if (line.is(0, "wait")) {
    ends(2).wait(time_in(line.word(1)));
  } else if (line.is(0, "hold") && line.is(1, "appends")) {
    ends(2).hold_appends();
  } else if (line.is(0, "apply")) {
    ends(1).apply_one();
  } else if (line.is(0, "release") && line.is(1, "appends")) {
    ends(2).release_appends();
  } else if (line.is(0, "dispatcher") && line.is(1, "restarts")) {
    ends(2).restart_dispatcher();
  } else if (line.is(0, "dispatcher") && line.is(1, "stalls")) {
    ends(3).stall(time_in(line.word(2)));
  } else if (line.is(0, "node") && line.is(1, "restarts")) {
    ends(2).restart_node();
  } else if (line.is(0, "node") && line.is(1, "stands") && line.is(2, "still")) {
    ends(4).stand_still(time_in(line.word(3)));
  } else if (line.is(0, "another") && line.is(1, "node") && line.is(2, "takes") && line.is(3, "over")) {
    ends(4).take_over();
  } else if (line.is(0, "wake")) {
    ends(1).tell_wake();
  } else if (line.is(0, "tasks")) {
    ends(1).tell_tasks();
  } else {
    return false;
  }
  return true;
}

bool Interpreter::run_operator(DispatchLine& line) {
  if (line.is(0, "option")) {
    option(line);
  } else if (line.is(0, "swarm")) {
    swarm(line);
  } else if (line.is(0, "agent")) {
    agent(line);
  } else if (line.is(0, "submit")) {
    submit(line);
  } else if (line.is(0, "cancel")) {
    line.ends_after(2);
    world().cancel(line.word(1));
  } else if (line.is(0, "pause") || line.is(0, "resume")) {
    line.ends_after(2);
    world().pause(line.word(1), line.is(0, "pause"));
  } else {
    return false;
  }
  return true;
}

void Interpreter::fails(DispatchLine& line) {
  dispatch::RunFailed failure;
  failure.error = one_of(line.word(3), k_errors);
  failure.message = line.words() > 4 ? line.word(4) : "";
  failure.retry_after = line.time("retry_after");
  line.ends_after(5);
  world().failed(line.word(0), line.word(2), std::move(failure));
}

void Interpreter::run_agent(DispatchLine& line) {
  const std::string& name = line.word(0);
  const std::string& verb = line.word(1);
  if (verb == "fails") return fails(line);
  const auto fence = verb == "completes" ? line.number("fence") : std::nullopt;
  const bool has_text = verb == "marks" || verb == "says";
  const bool has_task = has_text || verb == "starts" || verb == "completes" || verb == "returns" || verb == "forgets";
  line.ends_after(has_text ? 4 : (has_task || verb == "falls" ? 3 : 2));
  if (verb == "starts") return world().started(name, line.word(2));
  if (verb == "completes") return world().completed(name, line.word(2), fence);
  if (verb == "returns") return world().returned(name, line.word(2));
  if (verb == "forgets") return world().forgot(name, line.word(2));
  if (verb == "marks") return world().progressed(name, line.word(2), line.word(3));
  if (verb == "says") return world().said_last_words(name, line.word(2), line.word(3));
  if (verb == "falls" && line.is(2, "silent")) return world().fell_silent(name);
  if (verb == "beats") return world().beat(name);
  if (verb == "announces") return world().announce_again(name);
  if (verb == "crashes") return world().went_down(name, false);
  if (verb == "leaves") return world().went_down(name, true);
  throw BadLine(fmt::format("unknown command '{} {}'; sim/dispatch_script.hpp has them all", name, verb));
}

std::vector<std::string> Interpreter::run(std::string_view text) {
  DispatchLine line(text);
  if (!run_operator(line) && !run_dispatcher(line)) run_agent(line);
  if (line.is(0, "option")) return {};
  auto lines = world().take_lines();
  if (lines.empty()) lines.emplace_back("(nothing)");
  return lines;
}

}  // namespace

DispatchTranscript run_dispatch_script(std::string_view text) {
  DispatchTranscript out;
  if (text.size() > k_script_bytes_max) {
    out.problem = fmt::format("1: the script has more than {} bytes", k_script_bytes_max);
    return out;
  }
  Interpreter interpreter;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(k_indent)) continue;  // what was decided, once
    std::vector<std::string> decided;
    try {
      if (!line.empty() && line.front() != '#') decided = interpreter.run(line);
    } catch (const BadLine& problem) {
      out.problem = fmt::format("{}: {}", number, problem.what());
      return out;
    } catch (const std::invalid_argument& problem) {
      out.problem = fmt::format("{}: {}", number, problem.what());
      return out;
    }
    out.text += fmt::format("{}\n", line);
    for (const auto& each : decided) out.text += fmt::format("{}{}\n", k_indent, each);
  }
  return out;
}

}  // namespace skein::sim
