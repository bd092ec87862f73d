#include "skein/dispatch/dispatcher_views.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace skein::inline v0::dispatch {
namespace {

// How many tasks of the swarm wait at the agent behind another one.
std::uint32_t ahead_at(const DispatcherTables& tables, const AgentRecord& agent, SlotNumber swarm) {
  std::uint32_t held = 0;
  std::uint32_t waiting = 0;
  for (const SlotNumber index : agent.runs) {
    const Run& run = tables.runs[index];
    if (run.is_reported()) continue;
    ++held;
    if (run.task != k_no_slot && !run.is_started() && tables.tasks[run.task].swarm == swarm) ++waiting;
  }
  return held == 0 ? 0 : std::min(held - 1, waiting);
}

}  // namespace

std::optional<SwarmLoad> swarm_load(const DispatcherTables& tables, const ReadyQueue& queue,
                                    const TypeBreakers& breakers, std::string_view name) {
  const auto at = tables.swarm_names.find(name);
  if (at == tables.swarm_names.end() || !tables.swarms[at->second].is_known) return std::nullopt;
  const SwarmRecord& record = tables.swarms[at->second];
  SwarmLoad load;
  load.swarm = record.latest;
  load.ready = queue.ready_of(at->second);
  load.tasks = queue.tasks_of(at->second);
  for (const auto& [key, its] : breakers) {
    if (its.swarm == name) load.crashes = std::max(load.crashes, static_cast<std::uint32_t>(its.breaker.crashes()));
  }
  // Also when it has lost its executor: they are still there.
  const std::string own = swarm_capability(name);
  for (SlotNumber i = 0; i < tables.agents.slots(); ++i) {
    const AgentRecord& agent = tables.agents[i];
    if (!agent.pid || !agent.has(own)) continue;
    load.agents.push_back({agent.name, agent.pid, static_cast<std::uint32_t>(agent.runs.size()),
                           agent.holds.has(Hold::paused), ahead_at(tables, agent, at->second), agent.capabilities,
                           agent.is_managed});
    load.running += agent.runs.size();
  }
  if (record.own_agents.empty()) return load;
  for (const ReadyQueue::Lane& lane : queue.lanes()) {
    if (!lane.in_use || lane.swarm != at->second || lane.ready == 0 || load.needs.size() == k_needs_told) continue;
    // Another agent would be of no use to them.
    if (!queue.need(lane.need).pinned_to.empty()) continue;
    const auto& capabilities = queue.need(lane.need).capabilities;
    const auto known = std::ranges::find(load.needs, capabilities, &SwarmLoad::Need::capabilities);
    if (known != load.needs.end()) {
      known->ready += lane.ready;
    } else {
      load.needs.push_back({capabilities, lane.ready});
    }
  }
  return load;
}

std::vector<PassedOver> passed_over_agents(const DispatcherTables& tables, Router& router, std::string_view name,
                                           const Moment& moment) {
  using enum PassedOver::Why;
  std::vector<PassedOver> all;
  for (SlotNumber i = 0; i < tables.agents.slots(); ++i) {
    const AgentRecord& agent = tables.agents[i];
    if (!agent.pid || !agent.handle || (!name.empty() && agent.name != name)) continue;
    const auto view = router.view(*agent.handle, moment.now);
    if (!view) continue;
    const auto add = [&](PassedOver::Why why, Instant until, std::string detail) {
      all.push_back({agent.name, "", why, until == Instant::min() ? 0 : wall_at(until, moment), std::move(detail)});
    };
    if (agent.holds.has(Hold::paused)) add(paused, Instant::min(), "it was paused; 'skein agent resume' lets it go on");
    // An agent that somebody has paused is told, and says so.
    const bool is_of_itself = agent.holds.has(Hold::paused_itself) && !agent.holds.has(Hold::paused);
    if (is_of_itself) add(paused_itself, Instant::min(), "it has paused itself");
    if (agent.holds.has(Hold::silent)) add(silent, Instant::min(), "nothing was heard of it");
    if (agent.holds.has(Hold::outcomes_wait))
      add(results_waiting, Instant::min(), "the ledger has not decided its last outcomes yet");
    if (view->held_until > moment.now) add(rate_limited, view->held_until, "it answered that it is rate limited");
    if (view->breaker == BreakerState::open) {
      add(view->is_suspected ? suspected : breaker_open, view->broken_until,
          view->is_suspected ? "it alone fails for good what others complete" : "its tasks failed one after another");
    } else if (view->breaker == BreakerState::half_open && view->readiness == Readiness::not_now &&
               view->load < view->capacity) {
      add(breaker_half_open, Instant::min(), "it is tried out and has as many tasks as that allows");
    }
    if (view->poorly_until > moment.now) {
      add(poorly, view->poorly_until,
          fmt::format("its health is {:.2f}: {:.0f}% of its tasks succeed, and their time counts as {:.0f} ms",
                      view->score, view->success * 100, view->slowness_ms));
    }
    if (!view->has_executor_room && view->load == 0) {
      add(executor_full, Instant::min(), "the executor it shares has as many tasks as its concurrency allows");
    }
  }
  return all;
}

std::vector<PassedOver> passed_over_types(const TypeBreakers& breakers, const Moment& moment) {
  std::vector<PassedOver> all;
  for (const auto& [key, its] : breakers) {
    const auto state = its.breaker.state();
    if (state == CrashBreaker::State::closed) continue;
    const bool is_open = state == CrashBreaker::State::open;
    all.push_back(
        {its.swarm, its.type, is_open ? PassedOver::Why::crashes : PassedOver::Why::crashes_tried,
         wall_at(is_open ? its.breaker.until() : its.breaker.next_probe(), moment),
         is_open ? "agents crashed over one task after another" : "tasks are tried one by one after the crashes"});
  }
  std::ranges::sort(all, {}, [](const PassedOver& each) { return std::pair(each.subject, each.type); });
  return all;
}

}  // namespace skein::inline v0::dispatch
