// Which run makes way for a critical task. Decides only; asking the agent is the core's. Reads the core's tables, which
// outlive it. One thread at a time.
//
// 1. Nobody makes way more often than preemptions_max, and no critical task makes way: nothing is put off for ever.
// 2. Of the runs that may make way, the least important does; of equals the one that began last has the least to lose.
// 3. A run that was asked to yield, told to stop or has told its outcome is not asked.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"

namespace skein::inline v0::dispatch {

class Preemption {
 public:
  struct Tables {
    const Slab<TaskRecord>& tasks;
    const Slab<Run>& runs;
    const Slab<AgentRecord>& agents;
    const Slab<SwarmRecord>& swarms;
  };
  Preemption(const Tables& tables, const DispatcherOptions& options) : tables_(tables), options_(options) {}

  [[nodiscard]] bool may_yield(const Run& run) const;
  // Whether the task could begin at the agent soon. A critical one is not put behind another, or behind what has made
  // way often enough: it stays in the queue, and a run elsewhere is asked to yield. A key stays with its agent all the
  // same.
  [[nodiscard]] bool makes_way(const AgentRecord& agent, const TaskRecord& task) const;
  // The run to ask for a task that needs these capabilities, at this agent if one is named; k_no_slot: none may be.
  [[nodiscard]] SlotNumber least_important(const std::vector<std::string>& capabilities,
                                           std::string_view pinned_to) const;

 private:
  [[nodiscard]] bool is_less_important(const Run& run, const Run& other) const;

  Tables tables_;
  const DispatcherOptions& options_;
};

}  // namespace skein::inline v0::dispatch
