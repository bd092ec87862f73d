// The books of the whole stack: attempts that failed, and what follows from them. See stack_account.hpp.
#include <fmt/format.h>

#include "sim/stack_account.hpp"

namespace skein::sim {

using namespace ledger;

namespace {

// How often a task may be handed on, and the version that knows of it, as docs/tasks.md promises them.
constexpr std::uint32_t k_fallbacks = 3;
constexpr std::uint64_t k_version_of_hops = 2;

}  // namespace

void StackAccount::attempt_failed(BookedTask& task, bool is_permanent, WallMs not_before, const OpResult& answer) {
  ++task.attempts;
  expect(task.attempts <= task.attempts_max, "more attempts than the task has");
  task.state = State::queued;
  task.not_before = not_before;
  if (is_permanent || task.attempts >= task.attempts_max) end(task, State::failed);
  expect(answer.state == task.state, "the failed attempt leads elsewhere");
}

void StackAccount::on(const Fail& op, const OpResult& answer) {
  BookedTask* task = running_task(op.task, op.fence, answer, State::failed);
  if (task == nullptr) return;
  if (on_accepted) on_accepted(*task, op);
  ++counts_[fmt::format("attempts failed: {}", name_of(op.error))];
  attempt_failed(*task, op.error == ledger::ErrorClass::permanent, op.retry_at, answer);
}

void StackAccount::on(const Requeue& op, const OpResult& answer) {
  if (!right_epoch(op.epoch, answer)) return;
  BookedTask* task = running_task(op.task, op.fence, answer, std::nullopt);
  if (task == nullptr) return;
  if (on_accepted) on_accepted(*task, op);
  ++counts_[fmt::format("requeued: {}", name_of(op.reason))];
  const bool has_failed = op.reason == RequeueReason::agent_crash || op.reason == RequeueReason::lease_expired ||
                          (op.reason == RequeueReason::node_crash && task->deliveries > limits_.deliveries);
  if (has_failed) return attempt_failed(*task, false, op.not_before, answer);
  task->state = State::queued;
  task->not_before = op.not_before;
  expect(answer.state == State::queued, "the requeue leads elsewhere");
}

void StackAccount::on(const FallBack& op, const OpResult& answer) {
  expect((answer.verdict == Verdict::old_version) == (version_ < k_version_of_hops), "the version is judged wrongly");
  if (version_ < k_version_of_hops || !right_epoch(op.epoch, answer)) return;
  BookedTask* task = running_task(op.task, op.fence, answer, State::failed);
  if (task == nullptr) return;
  if (on_accepted) on_accepted(*task, op);
  ++counts_[fmt::format("hand_on after {}", name_of(op.cause))];
  const bool is_reported = op.cause == FallbackCause::reported;
  if (op.cause == FallbackCause::node_crash && task->deliveries <= limits_.deliveries) {
    task->state = State::queued;
    task->not_before = 0;
    return expect(answer.state == State::queued && answer.number == 0, "a crash of the node leads elsewhere");
  }
  const bool is_permanent = is_reported && op.error == ledger::ErrorClass::permanent;
  if (is_permanent || task->attempts + 1 < task->attempts_max) {
    expect(answer.number == 0, "it is handed on too early");
    return attempt_failed(*task, is_permanent, op.retry_at, answer);
  }
  last_attempt_failed(*task, op, answer);
}

void StackAccount::last_attempt_failed(BookedTask& task, const FallBack& op, const OpResult& answer) {
  ++task.attempts;
  expect(task.attempts == task.attempts_max, "more attempts than the task has");
  const auto to = swarms_.find(op.to);
  const bool is_open = to != swarms_.end() &&
                       (to->second.state == SwarmState::active || to->second.state == SwarmState::paused) &&
                       op.to != task.swarm;
  const bool may_go = is_open && task.fallbacks < k_fallbacks && !is_full(op.to, task.bytes);
  if (!may_go) {
    ++counts_[task.fallbacks >= k_fallbacks ? "ended at the limit of hops" : "not taken over by another swarm"];
    expect(answer.state == State::failed && answer.number == 0, "it is handed on where it cannot be");
    return end(task, State::failed);
  }
  ++counts_["tasks handed on"];
  task.swarm = op.to;
  ++task.fallbacks;
  task.is_unpinned = !task.for_agent.empty();
  task.attempts = 0;
  task.state = State::queued;
  task.not_before = 0;
  expect(answer.state == State::queued && answer.number == task.fallbacks, "it is not handed on although it can be");
}

}  // namespace skein::sim
