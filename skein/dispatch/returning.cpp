#include "skein/dispatch/returning.hpp"

#include <algorithm>
#include <iterator>

#include "skein/dispatch/placement_policy.hpp"

namespace skein::inline v0::dispatch {

bool Returning::may_be_asked(const Run& run, Instant now) const {
  if (run.is_abandoned() || run.state != RunState::held) return false;
  if (run.told != Told::nothing || parts_.tables.tasks[run.task].phase != TaskPhase::running) return false;
  return !run.return_asked_at || now - *run.return_asked_at >= parts_.options.return_after;
}

std::vector<SlotNumber> Returning::of_swarm(SlotNumber swarm, std::string_view type, Instant now) const {
  std::vector<SlotNumber> asked;
  const DispatcherTables& tables = parts_.tables;
  for (SlotNumber i = 0; i < tables.runs.slots(); ++i) {
    const Run& run = tables.runs[i];
    if (run.agent == k_no_slot || !tables.agents[run.agent].pid || !may_be_asked(run, now)) continue;
    const TaskRecord& task = tables.tasks[run.task];
    if (task.swarm == swarm && (type.empty() || task.shape().type == type)) asked.push_back(i);
  }
  return asked;
}

std::vector<SlotNumber> Returning::of_agent(std::string_view id, Instant now) const {
  std::vector<SlotNumber> asked;
  const auto slot = parts_.tables.find_agent(id);
  if (!slot) return asked;
  const AgentRecord& agent = parts_.tables.agents[*slot];
  if (!agent.pid || !agent.reports_starts) return asked;
  std::ranges::copy_if(agent.runs, std::back_inserter(asked),
                       [&](SlotNumber each) { return may_be_asked(parts_.tables.runs[each], now); });
  return asked;
}

bool Returning::is_closed(const TaskRecord& task) const {
  const SwarmRecord& swarm = parts_.tables.swarms[task.swarm];
  if (swarm.is_known && !swarm.gives_out()) return true;
  const CrashBreaker* breaker = parts_.breakers.of(task.shape());
  return breaker != nullptr && breaker->state() == CrashBreaker::State::open;
}

bool Returning::any_closed() const {
  if (parts_.breakers.any_open()) return true;
  const auto& swarms = parts_.tables.swarms;
  for (SlotNumber i = 0; i < swarms.slots(); ++i) {
    if (swarms[i].is_known && !swarms[i].gives_out()) return true;
  }
  return false;
}

// It has begun something, so what it holds besides waits.
bool Returning::is_busy(const AgentRecord& agent) const {
  return agent.reports_starts && std::ranges::any_of(agent.runs, [this](SlotNumber each) {
           const Run& run = parts_.tables.runs[each];
           return run.is_abandoned() || run.is_started();
         });
}

std::size_t Returning::idle_for(const Run& run, Instant now) const {
  const TaskRecord& task = parts_.tables.tasks[run.task];
  const AgentRecord& agent = parts_.tables.agents[run.agent];
  // A type that is being tried out is given out one by one.
  if (parts_.tables.swarms[task.swarm].strategy == Balance::consistent_hash) return 0;
  if (parts_.breakers.hold_back(task.shape())) return 0;
  if (!task.pinned_to().empty()) {
    // When it is returned it is unpinned.
    const PlacementPolicy policy = policy_of(task, parts_.options);
    if (!policy.may_unpin || !task.past || now < task.past->unpin_at) return 0;
  }
  if (now - run.since < parts_.options.return_after) return 0;
  if (task.returns_asked >= parts_.options.returns_max || !agent.handle) return 0;
  return parts_.router.idle_beside(*agent.handle, parts_.choice.request_for(task), now);
}

std::vector<SlotNumber> Returning::of_waiting(Instant now) {
  std::vector<SlotNumber> asked;
  DispatcherTables& tables = parts_.tables;
  const bool has_closed = any_closed();
  std::size_t idle = 0;
  for (SlotNumber i = 0; i < tables.agents.slots(); ++i) {
    idle += tables.agents[i].handle && tables.agents[i].runs.empty() ? 1 : 0;
  }
  if (idle == 0 && !has_closed) return asked;
  std::size_t for_idle = 0;  // of them, and those asked before and not answered yet
  for (SlotNumber i = 0; i < tables.agents.slots() && asked.size() < parts_.options.returns_at_once; ++i) {
    const AgentRecord& agent = tables.agents[i];
    if (!agent.pid || agent.runs.size() < (has_closed ? 1U : 2U)) continue;
    const bool is_at_work = is_busy(agent);
    for (const SlotNumber index : agent.runs) {
      const Run& run = tables.runs[index];
      if (!may_be_asked(run, now)) {
        if (run.return_asked_at) ++for_idle;
        continue;
      }
      TaskRecord& task = tables.tasks[run.task];
      if (!is_closed(task)) {
        if (!is_at_work || for_idle >= idle || for_idle >= idle_for(run, now)) continue;
        ++for_idle;
        ++task.returns_asked;
      }
      asked.push_back(index);
    }
  }
  return asked;
}

}  // namespace skein::inline v0::dispatch
