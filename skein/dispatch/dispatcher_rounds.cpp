// What time brings, and the rounds in which tasks are given out.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "skein/dispatch/dispatcher_append.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {
namespace {

// Waiting never makes a task critical: that word is the submitter's, and it must mean first.
std::uint16_t next_class(std::uint16_t priority) {
  for (const std::uint16_t each : {ledger::k_low, ledger::k_normal, ledger::k_high}) {
    if (priority < each) return each;
  }
  return priority;
}

ledger::WallMs ms_of(Duration duration) {
  return static_cast<ledger::WallMs>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

}  // namespace

void DispatcherCore::run_due(const Moment& moment) {
  while (due_.next() <= moment.now) task_due(due_.pop(), moment);
}

void DispatcherCore::task_due(SlotNumber slot, const Moment& moment) {
  TaskRecord& task = tasks_[slot];
  if (task.deadline_due <= moment.now) {
    if (moment.wall < task.deadline_at) {
      // The wall clock was set back; the ledger goes by what it says.
      const auto left = std::min(task.deadline_at - moment.wall, k_wall_ms_max);
      task.deadline_due = later(moment.now, std::chrono::milliseconds(left));
    } else if (task.phase != TaskPhase::ending && task.phase != TaskPhase::assigning) {
      ++counters_.expired;
      leave_queue(slot);
      task.become(TaskPhase::ending);
      append_for(slot, OpKind::expire, ledger::Expire{epoch_, task.id, moment.wall}, true);
      return;
    }
  }
  if (task.phase == TaskPhase::delayed && task.wait_until <= moment.now) {
    make_ready(slot, moment);
    return;
  }
  if (task.phase == TaskPhase::ready && !task.pinned_to().empty() && task.past && task.past->unpin_at <= moment.now) {
    unpin(slot, moment);
    return;
  }
  if (task.phase == TaskPhase::running) {
    Run& run = runs_[task.run];
    if (run.timeout_at <= moment.now) {
      attempt_timed_out(task.run, moment);
      return;
    }
    if (run.lease_until <= moment.now) {
      event(DispatchEvent::Kind::lease_expired, agents_[run.agent].id, task.number);
      // Never confirmed since this dispatcher began: the node, or the agent with it, fell before.
      const bool is_orphan = !run.is_confirmed && !run.ticket;
      requeue(task.run, is_orphan ? ledger::RequeueReason::node_crash : ledger::RequeueReason::lease_expired, moment);
      return;
    }
  }
  set_due(slot);
}

void DispatcherCore::tick(const Moment& moment) {
  next_tick_ = later(moment.now, options_.tick);
  age_tasks(moment);
  evict_keys(moment);
  watch_breakers(moment);
  watch_agents(moment);
  watch_needs(moment);
  take_back_waiting(moment);
}

void DispatcherCore::age_tasks(const Moment& moment) {
  ledger::Age age{epoch_, {}};
  while (age.priorities.size() < options_.ages_at_once) {
    const auto first = ageing_.take_due(moment.now);
    if (!first) break;
    if (!is_ageing(*first)) continue;
    const TaskRecord& task = tasks_[first->slot];
    // What is usual for its type may have become known, or longer, since it began to wait.
    if (moment.now - first->since < age_step_of(task)) {
      wait_to_age(first->slot, first->since);
      continue;
    }
    const std::uint16_t raised = next_class(task.effective_priority);
    if (raised <= task.effective_priority) continue;
    age.priorities.emplace_back(task.id, raised);
    if (next_class(raised) > raised) wait_to_age(first->slot, moment.now);
  }
  if (age.priorities.empty()) return;
  outgoing_.add({}, ledger::Op(std::move(age)), false, options_.ages_at_once * 20);
}

// A key that is forgotten too early lets the same work be accepted twice. So the wall clock must have agreed with the
// steady one for as long as keys are kept: a clock that is wrong for a while, or at a start, evicts nothing.
void DispatcherCore::evict_keys(const Moment& moment) {
  const ledger::WallMs kept = ms_of(options_.keys_kept);
  const Duration agreed = wall_agreement_.look(moment.now, moment.wall);
  if (agreed < options_.keys_kept) return;
  // Once a minute is often enough for what is kept for a day.
  if (keys_ == 0 || moment.wall <= kept || (counters_.ticks++ % 60) != 0) return;
  outgoing_.add({}, ledger::EvictKeys{moment.wall - kept, options_.keys_at_once}, false);
}

void DispatcherCore::watch_agents(const Moment& moment) {
  for (SlotNumber i = 0; i < agents_.slots(); ++i) {
    AgentRecord& agent = agents_[i];
    if (!agent.pid || !agent.heartbeats) continue;
    agent.heartbeats->asked(moment.now);
    // Heartbeats are judged, but whoever says anything at all is there.
    if (agent.holds.has(Hold::silent) || moment.now - agent.heard_at <= judge_->first_interval) continue;
    if (agent.heartbeats->is_available(moment.now)) continue;
    set_hold(agent, Hold::silent, true, moment);
    event(DispatchEvent::Kind::agent_silent, agent.id);
  }
}

void DispatcherCore::watch_needs(const Moment& moment) {
  for (ReadyQueue::Need& need : queue_.needs()) {
    // Not unmet at the moment: somebody may be free, but the swarm or the type of these tasks is held back.
    if (!need.in_use || need.ready == 0 || need.was_told || !need.unmet_since || !need.is_unmet) continue;
    if (moment.now - *need.unmet_since < options_.routing_timeout) continue;
    need.was_told = true;
    if (!need.pinned_to.empty()) {
      event(DispatchEvent::Kind::routing_timeout, need.pinned_to, 0,
            fmt::format("{} tasks wait for this agent, which is not here, not free, or cannot do them", need.ready));
      continue;
    }
    event(DispatchEvent::Kind::routing_timeout, joined(need.capabilities), 0,
          fmt::format("{} tasks wait and no agent with these capabilities is free", need.ready));
  }
}

void DispatcherCore::round(const Moment& moment) {
  if (may_be_met_ || moment.now >= next_ask_) {
    queue_.ask_again();
    may_be_met_ = false;
    next_ask_ = Instant::max();
  }
  if (queue_.ready() > 0 && outgoing_.has_room()) {
    queue_.begin_round([this](SlotNumber swarm) { return swarms_[swarm].gives_out(); });
    for (std::size_t i = 0; i < options_.ops_per_round; ++i) {
      const auto next = queue_.next();
      if (!next) break;
      if (!give_out(*next, moment)) next_ask_ = std::min(next_ask_, later(moment.now, options_.ask_again));
    }
  }
  give_out_requeued(moment);
}

// What was put to the front of the queue by an operation that is not applied yet: if somebody is free although nobody
// waits, there is no need to wait for that. The assign follows in the same append.
void DispatcherCore::give_out_requeued(const Moment& moment) {
  for (const auto& [slot, number] : std::exchange(requeued_, {})) {
    const TaskRecord& task = tasks_[slot];
    if (task.number != number || task.phase != TaskPhase::ending || !outgoing_.is_gathering(task.batch)) continue;
    if (task.deadline_due <= moment.now) continue;  // it is expired as soon as it is queued
    const SwarmRecord& swarm = swarms_[task.swarm];
    if (!swarm.gives_out() || is_held_back(task)) continue;
    const ReadyQueue::Lane& lane = queue_.lane(task.lane);
    const ReadyQueue::Need& need = queue_.need(lane.need);
    // Whose swarm shares an executor waits for its turn.
    const bool is_in_turn = lane.group >= 1 && lane.group <= options_.executors.size();
    if (need.ready > 0 || is_in_turn || !assign_to_somebody(slot, need, moment)) continue;
    queue_.corrected(lane.group, task.swarm, charge(task, lane.group));
  }
}

// False when nobody is free for it.
bool DispatcherCore::give_out(const ReadyQueue::Next& next, const Moment& moment) {
  const SlotNumber slot = next.entry.slot;
  const TaskRecord& task = tasks_[slot];
  CrashBreaker* breaker = breaker_of(task);
  const SwarmRecord& swarm = swarms_[task.swarm];
  if (breaker != nullptr && !breaker->admits(swarm.breaker_options, moment.now)) {
    queue_.close();
    if (breaker->state() == CrashBreaker::State::half_open) next_ask_ = std::min(next_ask_, breaker->next_probe());
    return true;
  }
  const ReadyQueue::Lane& lane = queue_.lane(next.lane);
  const ReadyQueue::Need& need = queue_.need(lane.need);
  if (assign_to_somebody(slot, need, moment)) {
    if (breaker != nullptr && breaker->state() == CrashBreaker::State::half_open) {
      runs_[task.run].is_probe = true;
      breaker->given_out(swarm.breaker_options, moment.now);
    }
    queue_.taken(charge(task, lane.group));
    return true;
  }
  if (task.priority >= ledger::k_critical) preempt_for(slot, need, moment);
  queue_.unmet(moment.now);
  return false;
}

Router::Request DispatcherCore::request_for(const TaskRecord& task, const ReadyQueue::Need& need) const {
  const Balance strategy = task.goes_to_idle ? Balance::round_robin : swarms_[task.swarm].strategy;
  Router::Request request{need.views, strategy, {}, {}};
  if (strategy == Balance::consistent_hash) request.key = route_key_of(task);
  // The first retry may go to anybody, later ones go around those who failed it; unless it was learned what is best.
  if (const TaskPast* past = task.past.get()) {
    const bool is_choosy = past->retry ? past->retry->other_agent : past->failed_by > 1;
    if (is_choosy) request.avoid = std::span(past->failed_agents).first(std::min<std::size_t>(past->failed_by, 2));
  }
  return request;
}

std::optional<Router::Choice> DispatcherCore::agent_for(const TaskRecord& task, const ReadyQueue::Need& need,
                                                        const Moment& moment) {
  if (!need.pinned_to.empty()) return pinned_agent(need);
  if (auto same = same_agent(task, moment)) return same;
  Router::Request request = request_for(task, need);
  auto choice = router_.decide(request, random_, moment.now);
  if (!choice && choice.error() == RouteError::only_avoided) {
    request.avoid = {};
    choice = router_.decide(request, random_, moment.now);
  }
  if (!choice) return std::nullopt;
  if (task.priority < ledger::k_critical) return *choice;
  // A critical task goes around those at which it would only wait, before any run is asked to yield for it.
  std::array<AgentHandle, Router::k_avoid_max> around{};
  std::size_t count = 0;
  while (choice && count < around.size()) {
    const auto at = agent_pids_.find(choice->pid);
    if (at == agent_pids_.end() || preemption_.makes_way(agents_[at->second], task)) break;
    around[count++] = choice->agent;
    request.avoid = std::span<const AgentHandle>(around).first(count);
    choice = router_.decide(request, random_, moment.now);
  }
  return choice ? std::optional(*choice) : std::nullopt;
}

bool DispatcherCore::assign_to_somebody(SlotNumber slot, const ReadyQueue::Need& need, const Moment& moment) {
  TaskRecord& task = tasks_[slot];
  const auto choice = agent_for(task, need, moment);
  if (!choice) return false;
  const auto at = agent_pids_.find(choice->pid);
  if (at == agent_pids_.end() || !preemption_.makes_way(agents_[at->second], task)) return false;
  auto ticket = router_.assigned(choice->agent, moment.now, type_of(task));
  if (!ticket) return false;
  const SlotNumber index = add_run(slot, at->second);
  Run& run = runs_[index];
  run.ticket = std::move(*ticket);
  task.become(TaskPhase::assigning);
  task.goes_to_idle = false;
  set_due(slot);
  ++counters_.assigned;
  auto& op = std::get<ledger::Assign>(assign_);
  op.epoch = epoch_;
  op.task = task.id;
  op.agent = agents_[at->second].id;
  op.at = moment.wall;
  task.batch = outgoing_.add({slot, OpKind::assign, task.number}, assign_, false);
  return true;
}

// Asks whoever runs the least important task, and could do this one, to give it back.
void DispatcherCore::preempt_for(SlotNumber slot, const ReadyQueue::Need& need, const Moment& moment) {
  TaskRecord& task = tasks_[slot];
  if (moment.now < std::max(task.asks_again_at, next_preemption_)) return;
  next_preemption_ = later(moment.now, options_.ask_again);
  const SlotNumber least = preemption_.least_important(need.capabilities, need.pinned_to);
  if (least == k_no_slot) return;
  // Whoever was asked may not be able to; then another is.
  task.asks_again_at = later(moment.now, options_.yield_wait);
  ask_to_yield(least);
}

void DispatcherCore::ask_to_yield(SlotNumber index) {
  Run& run = runs_[index];
  run.tell(Told::to_yield);
  mail_to(run.agent).stop.push_back({run.ref, StopReason::yield});
}

// An agent does what it holds one after the other: a critical task must not wait for what came before it.
void DispatcherCore::make_way(SlotNumber index) {
  const Run& urgent = runs_[index];
  const AgentRecord& agent = agents_[urgent.agent];
  if (tasks_[urgent.task].priority < ledger::k_critical || !agent.reports_starts) return;
  for (const SlotNumber each : agent.runs) {
    const Run& run = runs_[each];
    if (run.ref.fence < urgent.ref.fence && preemption_.may_yield(run)) ask_to_yield(each);
  }
}

}  // namespace skein::inline v0::dispatch
