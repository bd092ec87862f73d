#include "skein/operations/why_waits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "skein/base/duration_text.hpp"
#include "skein/base/time_text.hpp"
#include "skein/dispatch/swarm_load.hpp"

namespace skein::inline v0::operations {
namespace {

using ledger::State;
using ledger::SwarmState;
using ledger::WallMs;

std::string at_and_in(WallMs at, WallMs now) {
  return fmt::format("{} (in {})", moment_text(at), duration_text(at > now ? at - now : 0));
}

std::string count_of(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  all.reserve(names.size());
  for (const std::string& each : names) all.push_back(fmt::format("'{}'", each));
  return fmt::format("{}", fmt::join(all, " and "));
}

WaitReason blocked(const WaitFacts& facts) {
  const auto& open = facts.dependencies;
  std::vector<std::string> named;
  for (const auto& [id, state] : open) {
    if (named.size() == k_dependencies_named) break;
    named.push_back(fmt::format("{} ({})", id.text(), ledger::name_of(state)));
  }
  const std::size_t more = open.size() - named.size();
  return {WaitCause::dependencies,
          fmt::format("{} must be completed first{}{}{}", count_of(open.size(), "task"), named.empty() ? "" : ": ",
                      fmt::join(named, ", "), more == 0 ? "" : fmt::format(" and {} more", more))};
}

WaitReason delayed(const WaitFacts& facts) {
  const ledger::Task& task = facts.task;
  const std::string when = at_and_in(task.not_before, facts.now);
  if (task.attempts == 0) return {WaitCause::not_before, "it is delayed until " + when};
  return {WaitCause::not_before, fmt::format("attempt {} of {} begins at {}; the one before failed", task.attempts + 1,
                                             task.attempts_max, when)};
}

constexpr std::uint64_t k_agents_max_default = 100;  // of a swarm that does not say

// Its swarm starts another agent in the place of the paused ones.
bool grows(const WaitFacts& facts) {
  const AbleAgents& agents = *facts.agents;
  if (!agents.is_paused_one_kept || facts.swarm == nullptr || !facts.problem.empty()) return false;
  const auto most = facts.swarm->field("agents_max");
  std::uint64_t number = k_agents_max_default;
  if (most) std::from_chars(most->data(), most->data() + most->size(), number);
  return agents.of_swarm < number;
}

// Agents that could do it, but must be resumed or started first.
std::optional<WaitReason> held_by_somebody(const WaitFacts& facts) {
  const AbleAgents& agents = *facts.agents;
  const auto more = [&](std::uint64_t all) {
    return all <= k_agents_named ? std::string() : fmt::format(" and {} more", all - k_agents_named);
  };
  if (!agents.paused.empty()) {
    const bool is_one = agents.paused_count == 1;
    const bool is_growing = grows(facts);
    const std::string what_then = is_growing ? std::string("; another is started for it")
                                             : fmt::format(": 'skein agent resume {}'", agents.paused.front());
    return WaitReason{is_growing ? WaitCause::no_agent : WaitCause::agents_paused,
                      fmt::format("{} {}{} can do it and {} paused{}", is_one ? "agent" : "agents",
                                  quoted(agents.paused), more(agents.paused_count), is_one ? "is" : "are", what_then)};
  }
  if (!agents.failing.empty()) {
    return WaitReason{
        WaitCause::agents_failing,
        fmt::format("agent '{0}' can do it, but fails each time it starts: {1}; see 'skein agent show {0}' "
                    "and the node's log",
                    agents.failing, agents.failing_why)};
  }
  if (agents.stopped.empty()) return std::nullopt;
  const bool is_one = agents.stopped.size() == 1;
  return WaitReason{WaitCause::agents_stopped,
                    fmt::format("{} {} can do it and {} stopped: 'skein agent start {}'", is_one ? "agent" : "agents",
                                quoted(agents.stopped), is_one ? "is" : "are", agents.stopped.front())};
}

// No agent that may have it can do it.
WaitReason unable(const WaitFacts& facts) {
  const ledger::Task& task = facts.task;
  const AbleAgents& agents = *facts.agents;
  const std::string& swarm = task.shape->swarm;
  const bool has_own = facts.swarm != nullptr && dispatch::has_own_agents(*facts.swarm);
  if (auto held = held_by_somebody(facts)) return std::move(*held);
  if (has_own && agents.of_swarm == 0) {
    const std::string why = facts.problem.empty() ? "; one is started for it" : ": " + facts.problem;
    return {facts.problem.empty() ? WaitCause::no_agent : WaitCause::no_able_agent,
            fmt::format("swarm '{}' has no agents at the moment{}", swarm, why)};
  }
  const std::string what = quoted(task.shape->required());
  std::string text = has_own ? fmt::format("no agent of swarm '{}' can do {}", swarm, what)
                             : fmt::format("no agent of this node can do {}", what);
  if (!agents.elsewhere.empty()) {
    text += fmt::format("; {} {} can", agents.elsewhere.size() == 1 ? "swarm" : "swarms", quoted(agents.elsewhere));
  } else if (has_own) {
    text += ", nor can any other agent of this node";
  }
  return {WaitCause::no_able_agent, std::move(text), agents.elsewhere};
}

WaitReason for_an_agent(const WaitFacts& facts) {
  if (!facts.agents) return {};
  const AbleAgents& agents = *facts.agents;
  if (agents.able == 0) return unable(facts);
  if (agents.busy >= agents.able) {
    return {WaitCause::busy, agents.able == 1 ? std::string("the one agent that can do it is busy")
                                              : fmt::format("all {} agents that can do it are busy", agents.able)};
  }
  const std::string free = fmt::format("{} that can do it {} free", count_of(agents.able - agents.busy, "agent"),
                                       agents.able - agents.busy == 1 ? "is" : "are");
  if (!facts.problem.empty()) return {WaitCause::soon, fmt::format("{}, but its swarm says: {}", free, facts.problem)};
  return {WaitCause::soon, free + ": it begins in a moment, unless they are passed over"};
}

}  // namespace

std::string_view name_of(WaitCause cause) {
  static constexpr std::string_view k_names[] = {"none",          "dependencies",   "swarm_stopped",  "swarm_paused",
                                                 "not_before",    "swarm_breaker",  "type_held_back", "its_agent",
                                                 "no_able_agent", "no_agent",       "busy",           "soon",
                                                 "agents_paused", "agents_stopped", "agents_failing", "node_stopping"};
  static_assert(std::size(k_names) == static_cast<std::size_t>(k_last_wait_cause) + 1);
  return k_names[static_cast<std::size_t>(cause)];
}

bool needs_help(WaitCause cause) {
  return cause == WaitCause::swarm_stopped || cause == WaitCause::swarm_paused || cause == WaitCause::no_able_agent ||
         cause == WaitCause::agents_paused || cause == WaitCause::agents_stopped || cause == WaitCause::agents_failing;
}

bool needs_help(std::string_view cause) {
  for (auto number = 0; number <= static_cast<int>(k_last_wait_cause); ++number) {
    if (name_of(static_cast<WaitCause>(number)) == cause) return needs_help(static_cast<WaitCause>(number));
  }
  return false;
}

bool PausedNames::has_agent(std::string_view name) const { return std::ranges::binary_search(agents, name); }
bool PausedNames::has_swarm(std::string_view name) const { return std::ranges::binary_search(swarms, name); }

WaitReason why_it_waits(const WaitFacts& facts) {
  const ledger::Task& task = facts.task;
  if (task.state == State::blocked) return blocked(facts);
  const bool is_unstarted = task.state == State::assigned || task.state == State::queued;
  if (is_unstarted && facts.is_stopping) {
    return {WaitCause::node_stopping, "the node is stopping: the task runs after the node's next start"};
  }
  if (task.state == State::assigned) {
    return {WaitCause::busy,
            fmt::format("agent '{}' has it and begins it after what it runs now", ledger::view_of(task.agent))};
  }
  if (task.state != State::queued || !task.shape) return {};
  const std::string& name = task.shape->swarm;
  if (facts.swarm != nullptr && facts.swarm->state == SwarmState::stopped) {
    return {WaitCause::swarm_stopped, fmt::format("swarm '{0}' is stopped: 'skein swarm resume {0}'", name)};
  }
  if (facts.swarm != nullptr && facts.swarm->state == SwarmState::paused) {
    return {WaitCause::swarm_paused, fmt::format("swarm '{0}' is paused: 'skein swarm resume {0}'", name)};
  }
  if (task.not_before > facts.now) return delayed(facts);
  if (facts.swarm != nullptr && facts.swarm->breaker == ledger::Breaker::open) {
    return {WaitCause::swarm_breaker, fmt::format("the breaker of swarm '{}' is open until {}", name,
                                                  at_and_in(facts.swarm->breaker_until, facts.now))};
  }
  if (facts.held != nullptr) {
    const std::string until =
        facts.held->until == 0 ? "" : fmt::format(" until {}", at_and_in(facts.held->until, facts.now));
    return {WaitCause::type_held_back, fmt::format("tasks of type '{}' are held back in swarm '{}'{}: {}",
                                                   task.shape->type, name, until, facts.held->detail)};
  }
  if (!facts.its_agent.empty()) return {WaitCause::its_agent, facts.its_agent};
  return for_an_agent(facts);
}

}  // namespace skein::inline v0::operations
