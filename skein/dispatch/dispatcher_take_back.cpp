// What agents hold and have not begun, asked back: its swarm or type is given out no more, or it waits behind a run
// while somebody else is idle, healthy or not. The agent decides, since it alone knows what it has begun: what runs,
// runs on.
#include <algorithm>

#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {

bool DispatcherCore::may_be_asked_back(const Run& run, const Moment& moment) const {
  if (run.is_abandoned() || run.state != RunState::held) return false;
  if (run.told != Told::nothing || tasks_[run.task].phase != TaskPhase::running) return false;
  // The question may have been lost, so it is put again.
  return !run.asked_back_at || moment.now - *run.asked_back_at >= options_.take_back_after;
}

void DispatcherCore::ask_back(Run& run, const Moment& moment) {
  run.asked_back_at = moment.now;
  mail_to(run.agent).stop.push_back({run.ref, StopReason::take_back});
}

void DispatcherCore::take_back_from_swarm(SlotNumber swarm, std::string_view type, const Moment& moment) {
  for (SlotNumber i = 0; i < runs_.slots(); ++i) {
    Run& run = runs_[i];
    if (run.agent == k_no_slot || !agents_[run.agent].pid || !may_be_asked_back(run, moment)) continue;
    const TaskRecord& task = tasks_[run.task];
    if (task.swarm == swarm && (type.empty() || task.shape().type == type)) ask_back(run, moment);
  }
}

void DispatcherCore::take_back_from_agent(std::string_view id, const Moment& moment) {
  const auto slot = find_agent(id);
  if (!slot || !agents_[*slot].pid || !agents_[*slot].reports_starts) return;
  for (const SlotNumber index : agents_[*slot].runs) {
    if (may_be_asked_back(runs_[index], moment)) ask_back(runs_[index], moment);
  }
}

// How many idle agents could begin what waits at this one.
std::size_t DispatcherCore::idle_for(const Run& run, const Moment& moment) {
  const TaskRecord& task = tasks_[run.task];
  const SwarmRecord& swarm = swarms_[task.swarm];
  const AgentRecord& agent = agents_[run.agent];
  // A key stays with its agent; a type that is being tried out is given out one by one.
  if (swarm.strategy == Balance::consistent_hash || is_held_back(task)) return 0;
  if (!task.pinned_to().empty()) {
    // When it is back it falls back.
    const PlacementPolicy policy = policy_of(task);
    if (!policy.may_fall_back || !task.past || moment.now < task.past->unpin_at) return 0;
  }
  if (moment.now - run.since < options_.take_back_after || task.times_asked_back >= options_.take_backs_max) return 0;
  if (!agent.handle) return 0;
  return router_.idle_beside(*agent.handle, request_for(task, queue_.need(queue_.lane(task.lane).need)), moment.now);
}

void DispatcherCore::take_back_waiting(const Moment& moment) {
  const auto is_closed = [this](const TaskRecord& task) {
    const SwarmRecord& swarm = swarms_[task.swarm];
    if (swarm.is_known && !swarm.gives_out()) return true;
    const CrashBreaker* breaker = breaker_of(task);
    return breaker != nullptr && breaker->state() == CrashBreaker::State::open;
  };
  bool has_closed = breakers_.any_open();
  for (SlotNumber i = 0; i < swarms_.slots() && !has_closed; ++i) {
    has_closed = swarms_[i].is_known && !swarms_[i].gives_out();
  }
  std::size_t idle = 0;
  for (SlotNumber i = 0; i < agents_.slots(); ++i) idle += agents_[i].handle && agents_[i].runs.empty() ? 1 : 0;
  if (idle == 0 && !has_closed) return;
  std::size_t asked = 0;
  std::size_t for_idle = 0;  // of them, and those asked before and not answered yet
  for (SlotNumber i = 0; i < agents_.slots() && asked < options_.take_backs_at_once; ++i) {
    const AgentRecord& agent = agents_[i];
    if (!agent.pid || agent.runs.size() < (has_closed ? 1U : 2U)) continue;
    const bool is_at_work = agent.reports_starts && std::ranges::any_of(agent.runs, [this](SlotNumber each) {
                              const Run& run = runs_[each];
                              return run.is_abandoned() || run.is_started();
                            });
    for (const SlotNumber index : agent.runs) {
      Run& run = runs_[index];
      if (!may_be_asked_back(run, moment)) {
        if (run.asked_back_at) ++for_idle;
        continue;
      }
      TaskRecord& task = tasks_[run.task];
      if (!is_closed(task)) {
        if (!is_at_work || for_idle >= idle || for_idle >= idle_for(run, moment)) continue;
        ++for_idle;
        ++task.times_asked_back;
      }
      ask_back(run, moment);
      ++asked;
    }
  }
}

}  // namespace skein::inline v0::dispatch
