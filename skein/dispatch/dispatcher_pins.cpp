// Tasks that are for one agent, and which agent a key or a retry leads to.
#include <string_view>

#include "skein/dispatch/dispatcher_append.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {

PlacementPolicy DispatcherCore::policy_of(const TaskRecord& task) const {
  return policy_for(task.extras->where(), task.shape().type, options_);
}

// From now on, unless it has waited before without being begun.
void DispatcherCore::wait_for_agent(TaskRecord& task, const Moment& moment) {
  if (task.past && task.past->unpin_at != Instant::max()) return;
  const PlacementPolicy policy = policy_of(task);
  if (!policy.may_fall_back) return;
  task.its_past().unpin_at = later(moment.now, policy.wait);
}

void DispatcherCore::unpin(SlotNumber slot, const Moment& moment) {
  TaskRecord& task = tasks_[slot];
  leave_queue(slot);
  task.become(TaskPhase::ending);
  append_for(slot, OpKind::unpin, ledger::Unpin{epoch_, task.id, moment.wall}, false);
}

// Whether it can take the task now is for the router to say.
std::optional<Router::Choice> DispatcherCore::pinned_agent(const ReadyQueue::Need& need) const {
  const auto slot = find_agent(need.pinned_to);
  if (!slot) return std::nullopt;
  const AgentRecord& agent = agents_[*slot];
  if (!agent.pid || !agent.handle || !agent.has_all(need.capabilities)) return std::nullopt;
  return Router::Choice{*agent.handle, agent.pid};
}

// The agent that failed it last, where the learned table expects more of that one than of the others and it is idle.
std::optional<Router::Choice> DispatcherCore::same_agent(const TaskRecord& task, const Moment& moment) {
  const TaskPast* past = task.past.get();
  if (past == nullptr || !past->retry || past->retry->other_agent || past->failed_by == 0) return std::nullopt;
  const AgentHandle handle = past->failed_agents[(past->failed_by - 1) % past->failed_agents.size()];
  const auto view = router_.view(handle, moment.now);
  if (!view || view->load > 0 || view->readiness == Readiness::not_now) return std::nullopt;
  const auto at = agent_pids_.find(view->pid);
  const ReadyQueue::Need& need = queue_.need(queue_.lane(task.lane).need);
  if (at == agent_pids_.end() || !agents_[at->second].has_all(need.capabilities)) return std::nullopt;
  return Router::Choice{handle, view->pid};
}

std::string_view DispatcherCore::route_key_of(const TaskRecord& task) {
  if (task.extras) {
    if (const auto& key = task.extras->where().route_key; !key.empty()) return key;
    if (!task.extras->key.empty()) return task.extras->key;
  }
  // Its bytes are as good as its text.
  return {reinterpret_cast<const char*>(&task.id), sizeof task.id};
}

}  // namespace skein::inline v0::dispatch
