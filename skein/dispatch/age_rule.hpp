// When waiting raises a task by a class of priority. Decides only; appending the rise is the core's. Reads the core's
// tables, which outlive it. One thread at a time.
//
// 1. A task rises by one class at a time, to high at most: critical is the submitter's word, and must mean first.
// 2. It has waited for age_step at its class, or for age_runs usual runs of its type if that is longer: with tasks that
//    take minutes a fixed time would raise a whole queue to one class before the first of it has ended.
// 3. At most ages_at_once tasks rise at a time.
#pragma once

#include "skein/dispatch/ageing.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/task_lanes.hpp"
#include "skein/ledger/command.hpp"

namespace skein::inline v0::dispatch {

class AgeRule {
 public:
  AgeRule(const DispatcherTables& tables, TaskLanes& lanes, const DispatcherOptions& options)
      : tables_(tables), lanes_(lanes), options_(options) {}

  // The task waits at its class since then. `ready`: how many tasks wait in all.
  void wait(SlotNumber slot, Instant since, std::size_t ready);
  // The tasks that rise now, and to what; none of them is in it again until it has waited once more.
  [[nodiscard]] std::vector<std::pair<ledger::TaskId, std::uint16_t>> take_due(Instant now);
  void clear() { waiting_.clear(); }

 private:
  [[nodiscard]] bool is_waiting(const Ageing::Entry& entry) const;
  [[nodiscard]] Duration step_of(const TaskRecord& task);
  void add(SlotNumber slot, Instant since);

  const DispatcherTables& tables_;
  TaskLanes& lanes_;
  const DispatcherOptions& options_;
  Ageing waiting_;
};

}  // namespace skein::inline v0::dispatch
