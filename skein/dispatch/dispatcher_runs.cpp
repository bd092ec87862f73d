// Runs: tasks at agents, their outcomes, and how they end.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/utf8.hpp"
#include "skein/dispatch/dispatcher_append.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr std::uint32_t k_attempt_max = 64;  // beyond it the delay is the longest anyway

// As the policies and the router see it.
ErrorClass class_of(ledger::ErrorClass error) {
  switch (error) {
    case ledger::ErrorClass::permanent:
      return ErrorClass::permanent;
    case ledger::ErrorClass::rate_limited:
      return ErrorClass::rate_limited;
    case ledger::ErrorClass::resource:
      return ErrorClass::resource;
    case ledger::ErrorClass::transient:
    case ledger::ErrorClass::timeout:
    case ledger::ErrorClass::crash:
      break;
  }
  return ErrorClass::transient;
}

// Of a requeue that may cost an attempt.
std::optional<ledger::HandOnCause> cause_of(ledger::RequeueReason reason) {
  using enum ledger::RequeueReason;
  if (reason == agent_crash) return ledger::HandOnCause::agent_crash;
  if (reason == lease_expired) return ledger::HandOnCause::lease_expired;
  if (reason == node_crash) return ledger::HandOnCause::node_crash;
  return std::nullopt;
}

ledger::WallMs after(const Moment& moment, Duration delay) {
  if (delay <= Duration::zero()) return 0;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(delay).count();
  return moment.wall + std::min(static_cast<ledger::WallMs>(ms), k_wall_ms_max);
}

}  // namespace

SlotNumber DispatcherCore::add_run(SlotNumber task, SlotNumber agent) {
  const SlotNumber index = runs_.add();
  Run& run = runs_[index];
  run.task = task;
  run.agent = agent;
  run.ref.number = tasks_[task].number;
  run.place = static_cast<std::uint32_t>(agents_[agent].runs.size());
  agents_[agent].runs.push_back(index);
  tasks_[task].run = index;
  return index;
}

Duration DispatcherCore::timeout_of(const TaskRecord& task, const AgentRecord& agent) {
  Duration timeout = agent.is_function ? options_.function_timeout : options_.executor_timeout;
  if (agent.attempt_timeout > Duration::zero()) timeout = agent.attempt_timeout;
  if (task.timeout_ms != 0) {
    timeout = std::chrono::milliseconds(std::min<std::uint64_t>(task.timeout_ms, k_wall_ms_max));
  } else if (const auto learned = type_timeout_.find(task.shape().type); learned != type_timeout_.end()) {
    timeout = learned->second.timeout();
  } else if (const auto type = options_.types.find(task.shape().type); type != options_.types.end()) {
    timeout = type->second.timeout.value_or(timeout);
  }
  return std::max(timeout, options_.timeout_minimum);
}

void DispatcherCore::set_timeout(Run& run) {
  const AgentRecord& agent = agents_[run.agent];
  // Of one that has not announced itself nothing is known.
  const bool is_timed = run.is_started() || (agent.pid && !agent.reports_starts);
  if (is_timed) run.timeout_at = later(run.since, timeout_of(tasks_[run.task], agent));
}

void DispatcherCore::learn_latency(const TaskRecord& task, Duration took) {
  if (type_timeout_.empty()) return;
  const auto type = type_timeout_.find(task.shape().type);
  if (type != type_timeout_.end()) type->second.observe(took);
}

Order DispatcherCore::order_for(const Run& run) {
  const TaskRecord& task = tasks_[run.task];
  Order order;
  order.ref = run.ref;
  order.id = task.id;
  order.shape = *task.shared_shape;
  order.params = task.params;
  if (task.past) order.mark = task.past->mark;
  order.extras = task.extras;
  order.timeout = timeout_of(task, agents_[run.agent]);
  order.attempt = task.attempts + 1;
  return order;
}

void DispatcherCore::deliver(SlotNumber index, const Moment& moment) {
  Run& run = runs_[index];
  const AgentRecord& agent = agents_[run.agent];
  Order order = order_for(run);
  run.since = moment.now;
  run.lease_until = later(moment.now, options_.lease);
  // Until it says it has begun, what an agent holds ahead only has its lease.
  if (!agent.reports_starts) run.timeout_at = later(moment.now, order.timeout);
  if (run.state == RunState::deciding) {
    run.become(RunState::held);
    ++counters_.delivered;
    mail_to(run.agent).run.push_back(std::move(order));
  }
  make_way(index);
  set_due(run.task);
}

void DispatcherCore::release(Run& run, const std::optional<AttemptOutcome>& outcome, const Moment& moment) {
  if (!run.ticket) return;
  Assignment ticket = std::move(*run.ticket);
  run.ticket.reset();
  correct_place_cost(run, moment);
  if (outcome) {
    router_.finished(std::move(ticket), *outcome, moment.now);
  } else {
    router_.withdrawn(std::move(ticket), moment.now);
  }
  may_be_met_ = true;
}

void DispatcherCore::end_run(SlotNumber index, const Moment& moment) {
  Run& run = runs_[index];
  std::optional<AttemptOutcome> outcome;
  if (run.timed_out_after) outcome = AttemptOutcome{ErrorClass::transient, moment.now - run.since, std::nullopt};
  release(run, outcome, moment);
  if (run.task != k_no_slot) {
    TaskRecord& task = tasks_[run.task];
    task.run = k_no_slot;
    if (run.is_probe) probe_ended(task);
  }
  correct_place_cost(run, moment);
  const SlotNumber agent_slot = run.agent;
  AgentRecord& agent = agents_[agent_slot];
  agent.runs[run.place] = agent.runs.back();
  runs_[agent.runs[run.place]].place = run.place;
  agent.runs.pop_back();
  runs_.remove(index);
  forget_if_idle(agent_slot);
}

void DispatcherCore::stop_run(Run& run, StopReason why) {
  if (run.told == Told::to_stop || !run.is_at_agent() || !agents_[run.agent].pid) return;
  run.tell(Told::to_stop);
  mail_to(run.agent).stop.push_back({run.ref, why});
}

void DispatcherCore::detach(SlotNumber index, StopReason why, const Moment& moment) {
  Run& run = runs_[index];
  if (!run.is_at_agent() || !agents_[run.agent].pid) {
    end_run(index, moment);
    return;
  }
  stop_run(run, why);
  TaskRecord& task = tasks_[run.task];
  if (run.is_probe) probe_ended(task);
  run.is_probe = false;
  task.run = k_no_slot;
  run.task = k_no_slot;
}

void DispatcherCore::settled(SlotNumber index, const Moment& moment) {
  const Run& run = runs_[index];
  AgentRecord& agent = agents_[run.agent];
  if (agent.pid) mail_to(run.agent).settled.push_back(run.ref);
  if (agent.unsettled > 0) --agent.unsettled;
  if (agent.holds.has(Hold::outcomes_wait) && agent.unsettled <= agent.outcome_room / 2) {
    set_hold(agent, Hold::outcomes_wait, false, moment);
  }
  end_run(index, moment);
}

Run* DispatcherCore::claim(SlotNumber agent, TaskRef ref) {
  const SlotNumber slot = by_number_.find(ref.number);
  if (slot == k_no_slot) return nullptr;
  const SlotNumber index = tasks_[slot].run;
  if (index == k_no_slot || ref.fence == 0) return nullptr;
  Run& run = runs_[index];
  return run.agent == agent && run.ref.fence == ref.fence ? &run : nullptr;
}

void DispatcherCore::complete(SlotNumber index, TaskComplete done, const Moment& moment) {
  Run& run = runs_[index];
  if (run.is_reported()) return;
  const bool is_decided = tasks_[run.task].phase == TaskPhase::ending;
  release(run, AttemptOutcome{.latency = moment.now - run.since}, moment);
  run.become(RunState::reported);
  learn_latency(tasks_[run.task], moment.now - run.since);
  AgentRecord& agent = agents_[run.agent];
  if (++agent.unsettled >= agent.outcome_room && !agent.holds.has(Hold::outcomes_wait)) {
    set_hold(agent, Hold::outcomes_wait, true, moment);
  }
  // Its timeout, say, is appended already: the ledger will take one of the two, and the first is first.
  if (is_decided) return;
  const SlotNumber slot = run.task;
  tasks_[slot].become(TaskPhase::ending);
  set_due(slot);
  append_for(slot, OpKind::complete,
             ledger::Complete{tasks_[slot].id, done.ref.fence, moment.wall, std::move(done.result)}, true);
}

// One mark of a run is under way at a time and the last one told goes next: an agent that says many costs no more than
// one that says few.
void DispatcherCore::mark_progress(SlotNumber index, ledger::Body mark, const Moment& moment) {
  Run& run = runs_[index];
  run.lease_until = later(moment.now, options_.lease);
  if (run.has_mark_under_way) {
    run.next_mark = std::move(mark);
  } else {
    append_mark(index, std::move(mark), moment);
  }
}

void DispatcherCore::append_mark(SlotNumber index, ledger::Body mark, const Moment& moment) {
  Run& run = runs_[index];
  run.has_mark_under_way = true;
  run.next_mark.reset();
  append_for(run.task, OpKind::progress,
             ledger::Progress{tasks_[run.task].id, run.ref.fence, moment.wall, std::move(mark)}, false);
}

void DispatcherCore::mark_applied(const OpRef& ref, const Moment& moment) {
  const SlotNumber slot = by_number_.find(ref.number);
  if (slot == k_no_slot || tasks_[slot].run == k_no_slot) return;
  Run& run = runs_[tasks_[slot].run];
  // Of an earlier run of the task, if this one has told none.
  if (!std::exchange(run.has_mark_under_way, false) || !run.next_mark || run.is_reported()) return;
  append_mark(tasks_[slot].run, *std::exchange(run.next_mark, std::nullopt), moment);
}

void DispatcherCore::fail(SlotNumber index, TaskFailed failure, const Moment& moment) {
  if (runs_[index].is_reported()) return;
  fail_attempt(index, failure.error, std::move(failure.message), failure.retry_after, true, moment);
}

// An agent that can is asked what the attempt has last said; a moment later it has failed, whether that came or not.
void DispatcherCore::attempt_timed_out(SlotNumber index, const Moment& moment) {
  Run& run = runs_[index];
  const AgentRecord& agent = agents_[run.agent];
  if (!run.timed_out_after) {
    event(DispatchEvent::Kind::attempt_timed_out, agent.id, run.ref.number);
    run.timed_out_after = run.timeout_at - run.since;
    // It took at least so long. Without this a type that became slow would never get more time.
    learn_latency(tasks_[run.task], *run.timed_out_after);
    stop_run(run, StopReason::timed_out);
    if (agent.tells_last_words && run.told == Told::to_stop) {
      run.timeout_at = later(moment.now, options_.last_words_wait);
      set_due(run.task);
      return;
    }
  }
  fail_timed_out(index, moment);
}

void DispatcherCore::fail_timed_out(SlotNumber index, const Moment& moment) {
  const Run& run = runs_[index];
  const auto limit =
      std::chrono::duration_cast<std::chrono::milliseconds>(run.timed_out_after.value_or(Duration::zero()));
  std::string message = fmt::format("no outcome within {} ms", limit.count());
  if (run.last_words && !run.last_words->empty()) message += "; it last wrote to standard error: " + *run.last_words;
  fail_attempt(index, ledger::ErrorClass::timeout, std::move(message), std::nullopt, false, moment);
}

void DispatcherCore::fail_attempt(SlotNumber index, ledger::ErrorClass error, std::string message,
                                  std::optional<Duration> retry_after, bool is_reported, const Moment& moment) {
  Run& run = runs_[index];
  const SlotNumber slot = run.task;
  TaskRecord& task = tasks_[slot];
  if (is_reported && !run.is_reported()) {
    ++agents_[run.agent].unsettled;
    release(run, AttemptOutcome{class_of(error), moment.now - run.since, retry_after}, moment);
    run.become(RunState::reported);
  }
  if (task.phase == TaskPhase::ending && task.batch != 0) return;
  ++counters_.failed_attempts;
  if (agents_[run.agent].handle) {
    TaskPast& past = task.its_past();
    past.failed_agents[past.failed_by % past.failed_agents.size()] = *agents_[run.agent].handle;
    ++past.failed_by;
  }
  if (message.size() > k_message_bytes_max) message = shown_text(message, k_message_bytes_max);
  const Duration delay = retry_delay(task, run.agent, error, retry_after, moment);
  // The next attempt begins with it.
  if (run.next_mark) append_mark(index, *std::exchange(run.next_mark, std::nullopt), moment);
  task.become(TaskPhase::ending);
  set_due(slot);
  const std::string& to = fallback_of(task);
  if (!to.empty() && error != ledger::ErrorClass::permanent) {
    append_for(slot, OpKind::hand_on,
               ledger::HandOn{epoch_, task.id, run.ref.fence, moment.wall, ledger::HandOnCause::reported, error,
                              after(moment, delay), std::move(message), to},
               true);
    return;
  }
  append_for(slot, OpKind::fail,
             ledger::Fail{task.id, run.ref.fence, moment.wall, error, after(moment, delay), std::move(message)}, true);
}

const std::string& DispatcherCore::fallback_of(const TaskRecord& task) const {
  static const std::string k_none;
  // What one agent alone may do no other swarm can.
  if (!task.pinned_to().empty() && !policy_of(task).may_fall_back) return k_none;
  const bool is_last = task.attempts + 1 >= task.attempts_max;
  return is_last && ledger_version_ >= ledger::k_hand_on_version ? swarms_[task.swarm].fallback : k_none;
}

Duration DispatcherCore::retry_delay(TaskRecord& task, SlotNumber agent, ledger::ErrorClass error,
                                     std::optional<Duration> retry_after, const Moment& moment) {
  const ErrorClass kind = class_of(error);
  if (task.past && task.past->retry) router_.retried(*std::exchange(task.past->retry, std::nullopt), false);
  if (kind == ErrorClass::permanent) return Duration::zero();
  const auto type = type_retry_.find(task.shape().type);
  const RetryPolicy& policy = type == type_retry_.end() ? retry_ : type->second;
  const std::uint32_t attempt = std::min(task.attempts + 1, k_attempt_max);
  const Duration usual = policy.next(attempt, kind, random_, retry_after).value_or(Duration::zero());
  if (!options_.adaptive_retry) return usual;
  const ReadyQueue::Need& need = queue_.need(queue_.lane(task.lane).need);
  // One that is gone has no handle, and nothing is to be expected of it.
  const AgentHandle failed = agents_[agent].handle.value_or(AgentHandle{});
  const auto chosen =
      router_.choose_retry(request_for(task, need), failed, kind, usual, retry_after, random_, moment.now);
  task.its_past().retry = chosen;
  return chosen.delay;
}

// A requeue that also says why the agent fell.
void DispatcherCore::append_crash(SlotNumber slot, const Run& run, const ledger::Requeue& op, const std::string& to) {
  constexpr auto k_crash = ledger::ErrorClass::crash;
  std::string message = shown_text("the agent crashed: " + *run.last_words, k_message_bytes_max);
  if (to.empty()) {
    append_for(slot, OpKind::requeue,
               ledger::Fail{op.task, op.fence, op.at, k_crash, op.not_before, std::move(message)}, true);
    return;
  }
  append_for(slot, OpKind::hand_on,
             ledger::HandOn{epoch_, op.task, op.fence, op.at, ledger::HandOnCause::reported, k_crash, op.not_before,
                            std::move(message), to},
             true);
}

void DispatcherCore::requeue(SlotNumber index, ledger::RequeueReason reason, const Moment& moment) {
  Run& run = runs_[index];
  const SlotNumber slot = run.task;
  TaskRecord& task = tasks_[slot];
  const bool is_costly = reason == ledger::RequeueReason::agent_crash || reason == ledger::RequeueReason::lease_expired;
  ledger::Requeue op{epoch_, task.id, run.ref.fence, moment.wall, reason, 0, true};
  if (is_costly && task.attempts > 0) {
    op.front = false;
    op.not_before = after(moment, retry_delay(task, run.agent, ledger::ErrorClass::crash, std::nullopt, moment));
  }
  ++counters_.requeued;
  task.become(TaskPhase::ending);
  set_due(slot);
  const auto cause = cause_of(reason);
  const std::string to = cause ? fallback_of(task) : std::string();
  // Where it goes is for the ledger to say: it counts the crashes of the node.
  const bool is_at_once = op.front && to.empty();
  if (reason == ledger::RequeueReason::agent_crash && run.last_words &&
      ledger_version_ >= ledger::k_crash_words_version) {
    append_crash(slot, run, op, to);
  } else if (to.empty()) {
    append_for(slot, OpKind::requeue, op, true);
  } else {
    append_for(
        slot, OpKind::hand_on,
        ledger::HandOn{epoch_, task.id, op.fence, op.at, *cause, ledger::ErrorClass::crash, op.not_before, "", to},
        true);
  }
  // The agent has it no longer: the next one may be chosen in the same append.
  if (run.is_at_agent() && agents_[run.agent].pid) return;
  end_run(index, moment);
  // One that made room for somebody more urgent must not take the place itself.
  if (is_at_once && reason != ledger::RequeueReason::preempted) requeued_.push_back({slot, task.number});
}

}  // namespace skein::inline v0::dispatch
