// The tables of the dispatcher's core: tasks, runs, agents and swarms, and how each is found. Plain data; the rules
// that read and change it are the core's and its values'. One thread at a time.
//
// 1. A task is found by its number, an agent by its name and, while it is there, by its process, a swarm by its name.
// 2. A run is in the list of its agent, at its place, and a task's run names that task. A run without a task is
//    abandoned and stays with its agent.
// 3. An agent without a process is remembered only while it has runs.
// inconsistency() in dispatcher_check.hpp checks all of it.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "skein/dispatch/dispatcher_records.hpp"
#include "skein/dispatch/number_index.hpp"
#include "skein/routing/id_index.hpp"

namespace skein::inline v0::dispatch {

struct DispatcherTables {
  // The task's slot, a new one if it has none yet.
  SlotNumber task_numbered(ledger::TaskNumber number) {
    SlotNumber slot = by_number.find(number);
    if (slot == k_no_slot) {
      slot = tasks.add();
      by_number.add(number, slot);
    }
    return slot;
  }
  [[nodiscard]] std::optional<SlotNumber> find_agent(std::string_view name) const {
    return agent_names.find(name, [this](SlotNumber slot) -> const std::string& { return agents[slot].name; });
  }
  // The agent's slot, a new one if nobody of that name is known.
  SlotNumber agent_named(std::string_view name);
  void forget_if_idle(SlotNumber agent);
  [[nodiscard]] SlotNumber agent_with(Pid pid) const {
    const auto at = agent_pids.find(pid);
    return at == agent_pids.end() ? k_no_slot : at->second;
  }
  [[nodiscard]] SlotNumber find_swarm(std::string_view name) const {
    const auto at = swarm_names.find(name);
    return at == swarm_names.end() ? k_no_slot : at->second;
  }
  // The swarm's slot, a new one with this strategy if it was never heard of.
  SlotNumber swarm_named(std::string_view name, Balance strategy);

  SlotNumber add_run(SlotNumber task, SlotNumber agent);
  // Out of its task's record and its agent's list.
  void remove_run(SlotNumber run);
  // The run of a task that the agent has under this fence; k_no_slot: the assignment is not its own (any more).
  [[nodiscard]] SlotNumber claimed(SlotNumber agent, TaskRef ref) const;
  // Any run of the agent under this fence, also an abandoned one.
  [[nodiscard]] SlotNumber run_at(SlotNumber agent, TaskRef ref) const {
    const auto& its = agents[agent].runs;
    const auto at = std::ranges::find_if(its, [&](SlotNumber each) { return runs[each].ref == ref; });
    return at == its.end() ? k_no_slot : *at;
  }
  // Tasks, runs and swarms; agents stay, without runs.
  void forget_all_tasks();

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  Slab<TaskRecord> tasks;
  NumberIndex by_number;
  Slab<Run> runs;
  Slab<AgentRecord> agents;
  IdIndex agent_names;
  boost::unordered_flat_map<Pid, SlotNumber, std::hash<Pid>> agent_pids;
  Slab<SwarmRecord> swarms;
  std::unordered_map<std::string, SlotNumber, TextHash, std::equal_to<>> swarm_names;
};

}  // namespace skein::inline v0::dispatch
