#include "skein/dispatch/dispatcher_tables.hpp"

namespace skein::inline v0::dispatch {

SlotNumber DispatcherTables::agent_named(std::string_view name) {
  if (const auto known = find_agent(name)) return *known;
  const SlotNumber slot = agents.add();
  agents[slot].name = name;
  agent_names.add(name, slot);
  return slot;
}

void DispatcherTables::forget_if_idle(SlotNumber slot) {
  const AgentRecord& agent = agents[slot];
  if (agent.pid || !agent.runs.empty() || agent.name.empty()) return;
  agent_names.remove(agent.name, slot);
  agents.remove(slot);
}

SlotNumber DispatcherTables::swarm_named(std::string_view name, Balance strategy) {
  if (const SlotNumber known = find_swarm(name); known != k_no_slot) return known;
  const SlotNumber slot = swarms.add();
  swarms[slot].name = name;
  swarms[slot].strategy = strategy;
  swarm_names.emplace(name, slot);
  return slot;
}

SlotNumber DispatcherTables::add_run(SlotNumber task, SlotNumber agent) {
  const SlotNumber index = runs.add();
  Run& run = runs[index];
  run.task = task;
  run.agent = agent;
  run.ref.number = tasks[task].number;
  run.place = static_cast<std::uint32_t>(agents[agent].runs.size());
  agents[agent].runs.push_back(index);
  tasks[task].run = index;
  return index;
}

void DispatcherTables::remove_run(SlotNumber index) {
  const Run& run = runs[index];
  if (run.task != k_no_slot) tasks[run.task].run = k_no_slot;
  AgentRecord& agent = agents[run.agent];
  agent.runs[run.place] = agent.runs.back();
  runs[agent.runs[run.place]].place = run.place;
  agent.runs.pop_back();
  runs.remove(index);
}

SlotNumber DispatcherTables::claimed(SlotNumber agent, TaskRef ref) const {
  const SlotNumber slot = by_number.find(ref.number);
  if (slot == k_no_slot) return k_no_slot;
  const SlotNumber index = tasks[slot].run;
  if (index == k_no_slot || ref.fence == 0) return k_no_slot;
  const Run& run = runs[index];
  return run.agent == agent && run.ref.fence == ref.fence ? index : k_no_slot;
}

void DispatcherTables::forget_all_tasks() {
  runs.clear();
  tasks.clear();
  by_number.clear();
  swarms.clear();
  swarm_names.clear();
  for (SlotNumber i = 0; i < agents.slots(); ++i) agents[i].runs.clear();
}

}  // namespace skein::inline v0::dispatch
