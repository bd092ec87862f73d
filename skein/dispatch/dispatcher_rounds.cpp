// What time brings, and the rounds in which tasks are given out.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "skein/base/must_hold.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

constexpr std::size_t k_aged_bytes = 20;  // of one task in ledger::Age, about

// Tells of what nobody was there for during so long, once.
void watch_needs(ReadyQueue& queue, Duration timeout, Instant now, DispatchOutput& output) {
  for (ReadyQueue::Need& need : queue.needs()) {
    // Not unmet at the moment: somebody may be free, but the swarm or the type of these tasks is held back.
    if (!need.in_use || need.ready == 0 || need.was_told || !need.unmet_since || !need.is_unmet) continue;
    if (now - *need.unmet_since < timeout) continue;
    need.was_told = true;
    if (!need.pinned_to.empty()) {
      output.tell(
          DispatchEvent::Kind::routing_timeout, need.pinned_to, 0,
          fmt::format("{} tasks wait for this agent, which is not here, not free, or cannot do them", need.ready));
      continue;
    }
    output.tell(DispatchEvent::Kind::routing_timeout, joined(need.capabilities), 0,
                fmt::format("{} tasks wait and no agent with these capabilities is free", need.ready));
  }
}

}  // namespace

void DispatcherCore::task_due(SlotNumber slot, const Moment& moment) {
  TaskRecord& task = tables_.tasks[slot];
  if (task.deadline_due <= moment.now) {
    if (moment.wall < task.deadline_at) {
      // The wall clock was set back; the ledger goes by what it says.
      task.deadline_due = instant_of(task.deadline_at, moment);
    } else if (task.phase != TaskPhase::ending && task.phase != TaskPhase::assigning) {
      ++counters_.expired;
      leave_queue(slot);
      task.become(TaskPhase::ending);
      outgoing_.add_for(task, slot, OpKind::end, ledger::Expire{epoch_, task.id, moment.wall}, true);
      return;
    }
  }
  if (task.phase == TaskPhase::delayed && task.wait_until <= moment.now) {
    make_ready(slot, moment);
    return;
  }
  if (task.phase == TaskPhase::ready && !task.pinned_to().empty() && task.past && task.past->unpin_at <= moment.now) {
    leave_queue(slot);
    task.become(TaskPhase::ending);
    outgoing_.add_for(task, slot, OpKind::end, ledger::Unpin{epoch_, task.id, moment.wall}, false);
    return;
  }
  if (task.phase == TaskPhase::running) {
    Run& run = tables_.runs[task.run];
    if (run.timeout_at <= moment.now) {
      attempt_timed_out(task.run, moment);
      return;
    }
    if (run.lease_until <= moment.now) {
      output_.tell(DispatchEvent::Kind::lease_expired, tables_.agents[run.agent].name, task.number);
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
  if (auto risen = ageing_.take_due(moment.now); !risen.empty()) {
    outgoing_.add({}, ledger::Age{epoch_, std::move(risen)}, false, options_.ages_at_once * k_aged_bytes);
  }
  if (const auto eviction = keys_.take_due(moment)) outgoing_.add({}, *eviction, false);
  watch_breakers(moment);
  watch_agents(moment);
  watch_needs(queue_, options_.routing_timeout, moment.now, output_);
  mail_.ask_to_return(returning_.of_waiting(moment.now), moment.now);
}

void DispatcherCore::watch_agents(const Moment& moment) {
  for (SlotNumber i = 0; i < tables_.agents.slots(); ++i) {
    AgentRecord& agent = tables_.agents[i];
    if (!agent.pid || !agent.heartbeats) continue;
    agent.heartbeats->asked(moment.now);
    // Heartbeats are judged, but an agent that sends any message is there.
    if (agent.holds.has(Hold::silent) || moment.now - agent.heard_at <= judge_->first_interval) continue;
    if (agent.heartbeats->is_available(moment.now)) continue;
    set_hold(agent, Hold::silent, true, moment);
    output_.tell(DispatchEvent::Kind::agent_silent, agent.name);
  }
}

void DispatcherCore::round(const Moment& moment) {
  if (may_be_met_ || moment.now >= next_ask_) {
    queue_.ask_again();
    may_be_met_ = false;
    next_ask_ = Instant::max();
  }
  if (queue_.ready() > 0 && outgoing_.has_room()) {
    queue_.begin_round([this](SlotNumber swarm) { return tables_.swarms[swarm].gives_out(); });
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
    const TaskRecord& task = tables_.tasks[slot];
    if (task.number != number || task.phase != TaskPhase::ending || !outgoing_.is_gathering(task.batch)) continue;
    if (task.deadline_due <= moment.now) continue;  // it expires as soon as it is queued
    const SwarmRecord& swarm = tables_.swarms[task.swarm];
    if (!swarm.gives_out() || breakers_.hold_back(task.shape())) continue;
    const ReadyQueue::Lane& lane = queue_.lane(task.lane);
    // Whose swarm shares an executor waits for its turn.
    const bool is_in_turn = lane.group >= 1 && lane.group <= options_.executors.size();
    if (queue_.need(lane.need).ready > 0 || is_in_turn || !assign_to_somebody(slot, moment)) continue;
    queue_.corrected(lane.group, task.swarm, costs_.charge(task, lane.group));
  }
}

// False when nobody is free for it.
bool DispatcherCore::give_out(const ReadyQueue::Next& next, const Moment& moment) {
  const SlotNumber slot = next.entry.slot;
  TaskRecord& task = tables_.tasks[slot];
  CrashBreaker* breaker = breakers_.of(task.shape());
  const SwarmRecord& swarm = tables_.swarms[task.swarm];
  if (breaker != nullptr && !breaker->admits(swarm.breaker_options, moment.now)) {
    queue_.close();
    if (breaker->state() == CrashBreaker::State::half_open) next_ask_ = std::min(next_ask_, breaker->next_probe());
    return true;
  }
  const ReadyQueue::Lane& lane = queue_.lane(next.lane);
  if (assign_to_somebody(slot, moment)) {
    if (breaker != nullptr && breaker->state() == CrashBreaker::State::half_open) {
      tables_.runs[task.run].is_probe = true;
      breaker->given_out(swarm.breaker_options, moment.now);
    }
    queue_.taken(costs_.charge(task, lane.group));
    return true;
  }
  if (task.priority >= ledger::k_critical) {
    const ReadyQueue::Need& need = queue_.need(lane.need);
    const SlotNumber least = preemption_.to_ask(task, need.capabilities, need.pinned_to, moment.now);
    if (least != k_no_slot) mail_.ask_to_yield(tables_.runs[least]);
  }
  queue_.unmet(moment.now);
  return false;
}

bool DispatcherCore::assign_to_somebody(SlotNumber slot, const Moment& moment) {
  TaskRecord& task = tables_.tasks[slot];
  const auto choice = choice_.choose(task, moment.now);
  const SlotNumber agent = choice ? tables_.agent_with(choice->pid) : k_no_slot;
  if (agent == k_no_slot) return false;
  auto ticket = router_.assigned(choice->agent, moment.now, lanes_.type_of(task));
  if (!ticket) return false;
  must_hold(!tables_.agents[agent].holds.any(), "dispatcher_core.hpp 10: an agent on hold gets nothing");
  const SlotNumber index = tables_.add_run(slot, agent);
  Run& run = tables_.runs[index];
  run.ticket = std::move(*ticket);
  task.become(TaskPhase::assigning);
  task.goes_to_idle = false;
  set_due(slot);
  ++counters_.assigned;
  auto& op = std::get<ledger::Assign>(assign_);
  op.epoch = epoch_;
  op.task = task.id;
  op.agent = tables_.agents[agent].name;
  op.at = moment.wall;
  task.batch = outgoing_.add({slot, OpKind::assign, task.number}, assign_, false);
  return true;
}

}  // namespace skein::inline v0::dispatch
