#include "skein/dispatch/dispatcher_check.hpp"

#include <vector>

#include <fmt/format.h>

namespace skein::inline v0::dispatch {

namespace {

// The numbers are those of dispatcher_core.hpp.
std::string problem_of(const DispatcherTables& tables, SlotNumber slot) {
  const TaskRecord& task = tables.tasks[slot];
  if (tables.by_number.find(task.number) != slot) return "is not to be found";
  if (task.phase == TaskPhase::none) return "is nowhere";
  const bool should_run = task.phase == TaskPhase::assigning || task.phase == TaskPhase::running;
  if (should_run && task.run == k_no_slot) return "has no run";
  if (task.phase == TaskPhase::ready && task.run != k_no_slot) return "waits and runs";
  const bool is_under_way = task.phase == TaskPhase::assigning || task.phase == TaskPhase::ending;
  if (is_under_way && task.batch == 0) return "waits for no append (3)";
  if (task.run == k_no_slot) return "";
  const Run& run = tables.runs[task.run];
  if (run.task != slot) return "has another task's run";
  if (task.phase == TaskPhase::running && run.ref.fence == 0) return "runs without a fence (1)";
  if (task.phase == TaskPhase::running && run.lease_until == Instant::max()) return "runs without a lease (5)";
  const bool is_pinned = should_run && !task.pinned_to().empty();
  if (is_pinned && tables.agents[run.agent].name != task.pinned_to()) return "is at another agent than its own (11)";
  return "";
}

std::string problem_of(const DispatcherTables& tables, const AgentRecord& agent, SlotNumber slot) {
  const bool is_away = agent.state == AgentPresence::away;
  if (is_away == static_cast<bool>(agent.pid)) return "is away and has a process, or neither";
  if (agent.pid && tables.agent_with(agent.pid) != slot) return "is not to be found by its process";
  if (is_away && !agent.name.empty() && agent.runs.empty()) return "is remembered for nothing";
  for (std::size_t i = 0; i < agent.runs.size(); ++i) {
    const Run& run = tables.runs[agent.runs[i]];
    if (run.agent != slot || run.place != i) return "has a run at the wrong place (6)";
  }
  return "";
}

}  // namespace

std::string inconsistency(const DispatcherTables& tables, const ReadyQueue& queue) {
  std::size_t counted = 0;
  std::vector<std::size_t> ready(queue.lanes().size());
  for (SlotNumber slot = 0; slot < tables.tasks.slots(); ++slot) {
    const TaskRecord& task = tables.tasks[slot];
    if (task.number == 0) continue;
    ++counted;
    if (const auto why = problem_of(tables, slot); !why.empty()) return fmt::format("task {} {}", task.number, why);
    if (task.phase == TaskPhase::ready) ++ready[task.lane];
  }
  if (counted != tables.by_number.size()) return "records and numbers differ";
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (queue.lanes()[i].ready != ready[i]) return fmt::format("lane {} has lost count of its tasks", i);
  }
  std::size_t at_agents = 0;
  for (SlotNumber slot = 0; slot < tables.agents.slots(); ++slot) {
    const AgentRecord& agent = tables.agents[slot];
    at_agents += agent.runs.size();
    if (const auto why = problem_of(tables, agent, slot); !why.empty()) {
      return fmt::format("agent '{}' {}", agent.name, why);
    }
  }
  if (at_agents != tables.runs.size()) return "runs and agents differ";
  return {};
}

}  // namespace skein::inline v0::dispatch
