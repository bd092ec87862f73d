#include "skein/dispatch/preemption.hpp"

#include "skein/base/must_hold.hpp"

#include <algorithm>

namespace skein::inline v0::dispatch {

bool Preemption::may_yield(const Run& run) const {
  if (run.is_abandoned() || run.is_reported() || run.told != Told::nothing) return false;
  const TaskRecord& task = tables_.tasks[run.task];
  return task.phase == TaskPhase::running && task.effective_priority < ledger::k_critical &&
         task.times_preempted < options_.preemptions_max;
}

bool Preemption::makes_way(const AgentRecord& agent, const TaskRecord& task) const {
  if (task.priority < ledger::k_critical || !agent.reports_starts) return true;
  if (tables_.swarms[task.swarm].strategy == Balance::consistent_hash) return true;
  return std::ranges::none_of(agent.runs, [this](SlotNumber index) {
    const Run& run = tables_.runs[index];
    if (run.is_abandoned() || run.is_reported() || run.told == Told::to_yield) return false;
    const TaskRecord& its_task = tables_.tasks[run.task];
    return its_task.effective_priority >= ledger::k_critical || its_task.times_preempted >= options_.preemptions_max;
  });
}

bool Preemption::is_less_important(const Run& run, const Run& other) const {
  const std::uint16_t its_priority = tables_.tasks[run.task].effective_priority;
  const std::uint16_t other_priority = tables_.tasks[other.task].effective_priority;
  if (its_priority != other_priority) return its_priority < other_priority;
  return run.ref.fence >= other.ref.fence;
}

SlotNumber Preemption::least_important(const std::vector<std::string>& capabilities, std::string_view pinned_to) const {
  SlotNumber least = k_no_slot;
  for (SlotNumber i = 0; i < tables_.agents.slots(); ++i) {
    const AgentRecord& agent = tables_.agents[i];
    const bool is_held =
        agent.holds.has(Hold::paused) || agent.holds.has(Hold::paused_itself) || agent.holds.has(Hold::silent);
    if (!agent.pid || is_held || agent.runs.empty()) continue;
    if (!agent.has_all(capabilities) || (!pinned_to.empty() && agent.name != pinned_to)) continue;
    for (const SlotNumber index : agent.runs) {
      if (!may_yield(tables_.runs[index])) continue;
      if (least == k_no_slot || is_less_important(tables_.runs[index], tables_.runs[least])) least = index;
    }
  }
  must_hold(least == k_no_slot || may_yield(tables_.runs[least]), "preemption.hpp 3: whoever is asked may make way");
  return least;
}

SlotNumber Preemption::to_ask(TaskRecord& task, const std::vector<std::string>& capabilities,
                              std::string_view pinned_to, Instant now) {
  if (now < std::max(task.asks_again_at, next_ask_)) return k_no_slot;
  next_ask_ = later(now, options_.ask_again);
  const SlotNumber least = least_important(capabilities, pinned_to);
  // The agent that was asked may not be able to yield; then another is asked.
  if (least != k_no_slot) task.asks_again_at = later(now, options_.yield_wait);
  return least;
}

std::vector<SlotNumber> Preemption::in_the_way_of(const Run& urgent) const {
  std::vector<SlotNumber> runs;
  const AgentRecord& agent = tables_.agents[urgent.agent];
  if (tables_.tasks[urgent.task].priority < ledger::k_critical || !agent.reports_starts) return runs;
  for (const SlotNumber each : agent.runs) {
    const Run& run = tables_.runs[each];
    if (run.ref.fence < urgent.ref.fence && may_yield(run)) runs.push_back(each);
  }
  return runs;
}

}  // namespace skein::inline v0::dispatch
