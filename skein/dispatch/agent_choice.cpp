#include "skein/dispatch/agent_choice.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace skein::inline v0::dispatch {
namespace {

std::string_view route_key_of(const TaskRecord& task) {
  if (task.extras) {
    if (const auto& key = task.extras->where().route_key; !key.empty()) return key;
    if (!task.extras->key.empty()) return task.extras->key;
  }
  // Its bytes are as good as its text.
  return {reinterpret_cast<const char*>(&task.id), sizeof task.id};
}

}  // namespace

Router::Request AgentChoice::request_for(const TaskRecord& task) const {
  const Balance strategy = task.goes_to_idle ? Balance::round_robin : parts_.tables.swarms[task.swarm].strategy;
  Router::Request request{parts_.lanes.need_of(task).views, strategy, {}, {}};
  if (strategy == Balance::consistent_hash) request.key = route_key_of(task);
  // The first retry may go to anybody, later ones go around those who failed it; unless it was learned what is best.
  if (const TaskPast* past = task.past.get()) {
    const bool is_choosy = past->retry ? past->retry->other_agent : past->failed_by > 1;
    if (is_choosy) request.avoid = std::span(past->failed_agents).first(std::min<std::size_t>(past->failed_by, 2));
  }
  return request;
}

std::optional<Router::Choice> AgentChoice::choose(const TaskRecord& task, Instant now) {
  const ReadyQueue::Need& need = parts_.lanes.need_of(task);
  auto choice = need.pinned_to.empty() ? same_again(task, now) : pinned(need);
  if (!choice && need.pinned_to.empty()) choice = routed(task, now);
  return choice && !would_wait(*choice, task) ? choice : std::nullopt;
}

std::optional<Router::Choice> AgentChoice::routed(const TaskRecord& task, Instant now) {
  Router::Request request = request_for(task);
  auto choice = parts_.router.decide(request, parts_.random, now);
  if (!choice && choice.error() == RouteError::only_avoided) {
    request.avoid = {};
    choice = parts_.router.decide(request, parts_.random, now);
  }
  if (!choice) return std::nullopt;
  if (task.priority < ledger::k_critical) return *choice;
  // A critical task goes around those at which it would only wait, before any run is asked to yield for it.
  std::array<AgentHandle, Router::k_avoid_max> around{};
  std::size_t count = 0;
  while (choice && count < around.size() && would_wait(*choice, task)) {
    around[count++] = choice->agent;
    request.avoid = std::span<const AgentHandle>(around).first(count);
    choice = parts_.router.decide(request, parts_.random, now);
  }
  return choice ? std::optional(*choice) : std::nullopt;
}

bool AgentChoice::would_wait(const Router::Choice& choice, const TaskRecord& task) const {
  if (task.priority < ledger::k_critical) return false;
  const SlotNumber agent = parts_.tables.agent_with(choice.pid);
  return agent != k_no_slot && !parts_.preemption.makes_way(parts_.tables.agents[agent], task);
}

// Whether it can take the task now is for the router to say.
std::optional<Router::Choice> AgentChoice::pinned(const ReadyQueue::Need& need) const {
  const auto slot = parts_.tables.find_agent(need.pinned_to);
  if (!slot) return std::nullopt;
  const AgentRecord& agent = parts_.tables.agents[*slot];
  if (!agent.pid || !agent.handle || !agent.has_all(need.capabilities)) return std::nullopt;
  return Router::Choice{*agent.handle, agent.pid};
}

// The agent that failed it last, where the learned table expects more of that one than of the others and it is idle.
std::optional<Router::Choice> AgentChoice::same_again(const TaskRecord& task, Instant now) {
  const TaskPast* past = task.past.get();
  if (past == nullptr || !past->retry || past->retry->other_agent || past->failed_by == 0) return std::nullopt;
  const AgentHandle handle = past->failed_agents[(past->failed_by - 1) % past->failed_agents.size()];
  const auto view = parts_.router.view(handle, now);
  if (!view || view->load > 0 || view->readiness == Readiness::not_now) return std::nullopt;
  const SlotNumber agent = parts_.tables.agent_with(view->pid);
  if (agent == k_no_slot) return std::nullopt;
  if (!parts_.tables.agents[agent].has_all(parts_.lanes.need_of(task).capabilities)) return std::nullopt;
  return Router::Choice{handle, view->pid};
}

}  // namespace skein::inline v0::dispatch
