// What a run is charged for its place at an executor that several swarms share (fair_share.hpp): what is usual for its
// type when it is given out, and put right by what it took when it ends. Reads and changes the core's tables and queue,
// which outlive it. One thread at a time.
//
// Over a run's life its swarm is charged the time that the run held its place, divided by the swarm's weight; nothing
// for a run that was not begun.
#pragma once

#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/ready_queue.hpp"
#include "skein/dispatch/task_lanes.hpp"

namespace skein::inline v0::dispatch {

class PlaceCosts {
 public:
  PlaceCosts(DispatcherTables& tables, ReadyQueue& queue, TaskLanes& lanes)
      : tables_(tables), queue_(queue), lanes_(lanes) {}

  // Notes in the task's run what it is charged. Returns that in seconds, divided by the swarm's weight; zero when
  // nothing is shared.
  [[nodiscard]] double charge(const TaskRecord& task, std::uint32_t group);
  // The run holds its place no longer.
  void correct(Run& run, Instant now);

 private:
  DispatcherTables& tables_;
  ReadyQueue& queue_;
  TaskLanes& lanes_;
};

}  // namespace skein::inline v0::dispatch
