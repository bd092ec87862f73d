#include "skein/dispatch/task_lanes.hpp"

namespace skein::inline v0::dispatch {

void TaskLanes::hold(TaskRecord& record, const std::shared_ptr<const ledger::Shape>& shape) {
  record.swarm = tables_.swarm_named(shape->swarm, options_.strategy);
  const SwarmRecord& swarm = tables_.swarms[record.swarm];
  const auto place = queue_.hold(shape, record.swarm, swarm.own_agents, swarm.share_group, record.pinned_to());
  record.lane = place.lane;
  record.shared_shape = place.shape;
}

void TaskLanes::move(TaskRecord& record, const ledger::Task& task) {
  const SlotNumber before = record.lane;
  const bool is_fallback = record.shape().swarm != task.shape->swarm;
  record.extras = task.extras;
  hold(record, task.shape);
  queue_.let_go(before);
  if (!record.past || !is_fallback) return;
  // The agent that failed it belongs to the swarm that the task left.
  record.past->failed_by = 0;
  record.past->retry.reset();
}

// The router's number of the type is kept as the mark of the lane.
TypeRef TaskLanes::type_of(const TaskRecord& task) {
  std::uint64_t& mark = queue_.mark(task.lane);
  TypeRef type{static_cast<std::uint32_t>(mark >> 32U) - 1, static_cast<std::uint32_t>(mark)};
  if (mark != 0 && router_.knows(type)) return type;
  type = router_.type(task.shape().type);
  mark = ((std::uint64_t{type.slot} + 1) << 32U) | type.incarnation;
  return type;
}

}  // namespace skein::inline v0::dispatch
