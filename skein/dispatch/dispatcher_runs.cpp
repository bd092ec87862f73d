// Runs: tasks at agents, their outcomes, and how they end.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "skein/base/must_hold.hpp"
#include "skein/base/utf8.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {

void DispatcherCore::deliver(SlotNumber index, const Moment& moment) {
  Run& run = tables_.runs[index];
  const AgentRecord& agent = tables_.agents[run.agent];
  const TaskRecord& task = tables_.tasks[run.task];
  const Duration timeout = timeouts_.of(task, agent);
  run.since = moment.now;
  run.lease_until = later(moment.now, options_.lease);
  // Until it says it has begun, what an agent holds ahead only has its lease.
  if (!agent.reports_starts) run.timeout_at = later(moment.now, timeout);
  if (run.state == RunState::deciding) {
    run.become(RunState::held);
    ++counters_.delivered;
    mail_.to(run.agent).run.push_back(order_for(run, task, timeout));
  }
  for (const SlotNumber each : preemption_.in_the_way_of(run)) mail_.ask_to_yield(tables_.runs[each]);
  set_due(run.task);
}

void DispatcherCore::release(Run& run, const std::optional<AttemptOutcome>& outcome, const Moment& moment) {
  if (!run.ticket) return;
  Assignment ticket = std::move(*run.ticket);
  run.ticket.reset();
  costs_.correct(run, moment.now);
  if (outcome) {
    router_.finished(std::move(ticket), *outcome, moment.now);
  } else {
    router_.returned(std::move(ticket), moment.now);
  }
  may_be_met_ = true;
}

void DispatcherCore::end_run(SlotNumber index, const Moment& moment) {
  Run& run = tables_.runs[index];
  std::optional<AttemptOutcome> outcome;
  if (run.timed_out_after) outcome = AttemptOutcome{RetryClass::transient, moment.now - run.since, std::nullopt};
  release(run, outcome, moment);
  if (run.is_probe && !run.is_abandoned()) breakers_.probe_ended(tables_.tasks[run.task].shape());
  costs_.correct(run, moment.now);
  const SlotNumber agent = run.agent;
  tables_.remove_run(index);
  tables_.forget_if_idle(agent);
}

void DispatcherCore::detach(SlotNumber index, StopReason why, const Moment& moment) {
  Run& run = tables_.runs[index];
  if (!run.is_at_agent() || !tables_.agents[run.agent].pid) {
    end_run(index, moment);
    return;
  }
  mail_.stop(run, why);
  TaskRecord& task = tables_.tasks[run.task];
  if (std::exchange(run.is_probe, false)) breakers_.probe_ended(task.shape());
  task.run = k_no_slot;
  run.task = k_no_slot;
}

void DispatcherCore::settled(SlotNumber index, const Moment& moment) {
  const Run& run = tables_.runs[index];
  must_hold(run.is_reported(), "dispatcher_core.hpp 2: there is an outcome, and it was decided");
  AgentRecord& agent = tables_.agents[run.agent];
  if (agent.pid) mail_.to(run.agent).settled.push_back(run.ref);
  if (agent.unsettled > 0) --agent.unsettled;
  if (agent.holds.has(Hold::outcomes_wait) && agent.unsettled <= agent.outcome_room / 2) {
    set_hold(agent, Hold::outcomes_wait, false, moment);
  }
  end_run(index, moment);
}

void DispatcherCore::complete(SlotNumber index, RunCompleted done, const Moment& moment) {
  Run& run = tables_.runs[index];
  if (run.is_reported()) return;
  const bool is_decided = tables_.tasks[run.task].phase == TaskPhase::ending;
  release(run, AttemptOutcome{.latency = moment.now - run.since}, moment);
  run.become(RunState::reported);
  timeouts_.learn(tables_.tasks[run.task], moment.now - run.since);
  AgentRecord& agent = tables_.agents[run.agent];
  if (++agent.unsettled >= agent.outcome_room && !agent.holds.has(Hold::outcomes_wait)) {
    set_hold(agent, Hold::outcomes_wait, true, moment);
  }
  // Its timeout, for example, is already appended. The ledger accepts whichever comes first in the log.
  if (is_decided) return;
  const SlotNumber slot = run.task;
  TaskRecord& task = tables_.tasks[slot];
  task.become(TaskPhase::ending);
  set_due(slot);
  outgoing_.add_for(task, slot, OpKind::complete,
                    ledger::Complete{task.id, done.ref.fence, moment.wall, std::move(done.result)}, true);
}

// An agent that can is asked what the attempt has last said; a moment later it has failed, whether that came or not.
void DispatcherCore::attempt_timed_out(SlotNumber index, const Moment& moment) {
  Run& run = tables_.runs[index];
  const AgentRecord& agent = tables_.agents[run.agent];
  if (!run.timed_out_after) {
    output_.tell(DispatchEvent::Kind::attempt_timed_out, agent.name, run.ref.number);
    run.timed_out_after = run.timeout_at - run.since;
    // It took at least so long. Without this a type that became slow would never get more time.
    timeouts_.learn(tables_.tasks[run.task], *run.timed_out_after);
    mail_.stop(run, StopReason::timed_out);
    if (agent.tells_last_words && run.told == Told::to_stop) {
      run.timeout_at = later(moment.now, options_.last_words_wait);
      set_due(run.task);
      return;
    }
  }
  fail_timed_out(index, moment);
}

void DispatcherCore::fail_timed_out(SlotNumber index, const Moment& moment) {
  const Run& run = tables_.runs[index];
  const auto limit =
      std::chrono::duration_cast<std::chrono::milliseconds>(run.timed_out_after.value_or(Duration::zero()));
  std::string message = fmt::format("no outcome within {} ms", limit.count());
  if (run.last_words && !run.last_words->empty()) message += "; it last wrote to standard error: " + *run.last_words;
  fail_attempt(index, ledger::ErrorClass::timeout, std::move(message), std::nullopt, false, moment);
}

void DispatcherCore::fail_attempt(SlotNumber index, ledger::ErrorClass error, std::string message,
                                  std::optional<Duration> retry_after, bool is_reported, const Moment& moment) {
  Run& run = tables_.runs[index];
  const SlotNumber slot = run.task;
  TaskRecord& task = tables_.tasks[slot];
  if (is_reported && !run.is_reported()) {
    ++tables_.agents[run.agent].unsettled;
    release(run, AttemptOutcome{class_of(error), moment.now - run.since, retry_after}, moment);
    run.become(RunState::reported);
  }
  if (task.phase == TaskPhase::ending && task.batch != 0) return;
  ++counters_.failed_attempts;
  if (tables_.agents[run.agent].handle) {
    TaskPast& past = task.its_past();
    past.failed_agents[past.failed_by % past.failed_agents.size()] = *tables_.agents[run.agent].handle;
    ++past.failed_by;
  }
  if (message.size() > k_message_bytes_max) message = shown_text(message, k_message_bytes_max);
  const Duration delay = delays_.next(task, tables_.agents[run.agent], error, retry_after, moment.now);
  marks_.append_last(index, moment);
  task.become(TaskPhase::ending);
  set_due(slot);
  ledger::Fail op{task.id, run.ref.fence, moment.wall, error, wall_after(delay, moment), std::move(message)};
  outgoing_.add_for(task, slot, OpKind::end, fallback_.failed(task, epoch_, std::move(op)), true);
}

void DispatcherCore::requeue(SlotNumber index, ledger::RequeueReason reason, const Moment& moment) {
  Run& run = tables_.runs[index];
  const SlotNumber slot = run.task;
  TaskRecord& task = tables_.tasks[slot];
  const bool is_costly = reason == ledger::RequeueReason::agent_crash || reason == ledger::RequeueReason::lease_expired;
  ledger::Requeue op{epoch_, task.id, run.ref.fence, moment.wall, reason, 0, true};
  if (is_costly && task.attempts > 0) {
    op.front = false;
    const Duration delay =
        delays_.next(task, tables_.agents[run.agent], ledger::ErrorClass::crash, std::nullopt, moment.now);
    op.not_before = wall_after(delay, moment);
  }
  ++counters_.requeued;
  task.become(TaskPhase::ending);
  set_due(slot);
  ledger::Op appended = fallback_.requeued(task, op, run.last_words.get());
  // Where a fallback leads is for the ledger to say: it counts the crashes of the node.
  const bool is_at_once = op.front && !std::holds_alternative<ledger::FallBack>(appended);
  outgoing_.add_for(task, slot, OpKind::end, std::move(appended), true);
  // The agent has it no longer: the next one may be chosen in the same append.
  if (run.is_at_agent() && tables_.agents[run.agent].pid) return;
  end_run(index, moment);
  // One that made room for somebody more urgent must not take the place itself.
  if (is_at_once && reason != ledger::RequeueReason::preempted) requeued_.push_back({slot, task.number});
}

}  // namespace skein::inline v0::dispatch
