// Which run makes way for a critical task. Decides only; asking the agent is the core's. Reads the core's tables, which
// outlive it. One thread at a time.
//
// 1. Nobody makes way more often than preemptions_max, and no critical task makes way: nothing is put off for ever.
// 2. Of the runs that may make way, the least important does; of equals the one that began last has the least to lose.
// 3. A run that was asked to yield, told to stop or has told its outcome is not asked.
// 4. One run at a time is asked to yield for a task without a place, the next one after yield_wait; and one per
//    ask_again for all such tasks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"

namespace skein::inline v0::dispatch {

class Preemption {
 public:
  Preemption(const DispatcherTables& tables, const DispatcherOptions& options) : tables_(tables), options_(options) {}

  [[nodiscard]] bool may_yield(const Run& run) const;
  // Whether the task could begin at the agent soon. A critical one is not put behind another, or behind what has made
  // way often enough: it stays in the queue, and a run elsewhere is asked to yield. A key stays with its agent all the
  // same.
  [[nodiscard]] bool makes_way(const AgentRecord& agent, const TaskRecord& task) const;
  // The run to ask for a task that needs these capabilities, at this agent if one is named; k_no_slot: none may be.
  [[nodiscard]] SlotNumber least_important(const std::vector<std::string>& capabilities,
                                           std::string_view pinned_to) const;
  // The same for a task that found no place, which notes when it asks again; k_no_slot also while it is too early.
  [[nodiscard]] SlotNumber to_ask(TaskRecord& task, const std::vector<std::string>& capabilities,
                                  std::string_view pinned_to, Instant now);
  // The runs that came to its agent before a critical one and may yield: an agent does what it holds one after the
  // other.
  [[nodiscard]] std::vector<SlotNumber> in_the_way_of(const Run& urgent) const;

 private:
  [[nodiscard]] bool is_less_important(const Run& run, const Run& other) const;

  const DispatcherTables& tables_;
  const DispatcherOptions& options_;
  Instant next_ask_ = Instant::min();
};

}  // namespace skein::inline v0::dispatch
