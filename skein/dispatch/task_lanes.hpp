// Which lane of the ready queue a task waits in, and what all tasks of a lane have in common: what they need, and their
// type. Reads and changes the core's tables and queue, which outlive it. One thread at a time.
//
// A task holds on to its lane until it is forgotten or moves: to another swarm, or from one agent's lane to the one of
// all agents.
#pragma once

#include <memory>
#include <optional>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/ready_queue.hpp"

namespace skein::inline v0::dispatch {

class TaskLanes {
 public:
  TaskLanes(DispatcherTables& tables, ReadyQueue& queue, Router& router, const DispatcherOptions& options)
      : tables_(tables), queue_(queue), router_(router), options_(options) {}

  void hold(TaskRecord& record, const std::shared_ptr<const ledger::Shape>& shape);
  // It fell back to another swarm, or may have another agent than before.
  void move(TaskRecord& record, const ledger::Task& task);

  [[nodiscard]] const ReadyQueue::Need& need_of(const TaskRecord& task) const {
    return queue_.need(queue_.lane(task.lane).need);
  }
  [[nodiscard]] TypeRef type_of(const TaskRecord& task);
  // The usual time of a run of its type; nothing while that is not known.
  [[nodiscard]] std::optional<Duration> usual_run(const TaskRecord& task) { return router_.usual_run(type_of(task)); }

 private:
  DispatcherTables& tables_;
  ReadyQueue& queue_;
  Router& router_;
  const DispatcherOptions& options_;
};

}  // namespace skein::inline v0::dispatch
