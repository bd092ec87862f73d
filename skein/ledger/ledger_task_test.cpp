// What operations on tasks do, rule by rule.
#include <gmock/gmock.h>

#include "skein/ledger/retry_key.hpp"
#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

using testing::ElementsAre;

class LedgerTask : public TestLedger, public testing::Test {};

TEST_F(LedgerTask, a_submitted_task_is_queued_with_all_a_dispatcher_needs) {
  auto op = submit(1);
  op.spec.priority = k_high;
  op.spec.capabilities = {"x", "y"};
  op.spec.timeout_ms = 7;
  op.spec.not_before = 8;
  op.spec.deadline_at = 9;
  op.spec.extras.trace = "00-trace";
  EXPECT_EQ(run(op), (OpResult{Verdict::ok, State::queued, 0, {}}));
  const auto queued = told<TaskQueued>();
  ASSERT_EQ(queued.size(), 1U);
  const Task& task = queued[0].task;
  EXPECT_EQ(queued[0].why, TaskQueued::Why::submitted);
  EXPECT_EQ(task.id, task_id(1));
  EXPECT_EQ(task.number, 1U);
  EXPECT_EQ(*task.shape, (Shape{"default", "work", {"x", "y"}}));
  EXPECT_EQ(view_of(task.params), "{}");
  EXPECT_EQ(task.effective_priority, k_high);
  EXPECT_EQ(task.timeout_ms, 7U);
  EXPECT_EQ(task.not_before, 8U);
  EXPECT_EQ(task.deadline_at, 9U);
  EXPECT_EQ(task.submitted_at, 1000U);
  EXPECT_EQ(task.more().trace, "00-trace");
}

TEST_F(LedgerTask, runs_from_submit_to_its_result) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(fence, 1U);
  EXPECT_EQ(state(1), State::assigned);
  EXPECT_EQ(run(Start{task_id(1), fence, 2100}), (OpResult{Verdict::ok, State::executing, 0, {}}));
  EXPECT_EQ(told<TaskStarted>()[0].at, 2100U);
  EXPECT_EQ(verdict(Progress{task_id(1), fence, 2200, body_of("half")}), Verdict::ok);
  EXPECT_EQ(view_of(told<TaskProgressed>()[0].mark), "half");
  EXPECT_EQ(run(Complete{task_id(1), fence, 2300, body_of("42")}), (OpResult{Verdict::ok, State::completed, 0, {}}));
  const auto ended = told<TaskFinished>();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].was, State::executing);
  EXPECT_EQ(view_of(ended[0].finished->result), "42");
  EXPECT_EQ(ended[0].finished->finished_at, 2300U);
  EXPECT_EQ(ended[0].finished->task.fence, fence);
  EXPECT_EQ(view_of(ended[0].finished->task.agent), "a");
  EXPECT_EQ(ledger.counters().open_tasks, 0U);
  EXPECT_EQ(ledger.counters().open_bytes, 0U);
}

TEST_F(LedgerTask, an_id_is_taken_once) {
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  EXPECT_EQ(run(submit(1)), (OpResult{Verdict::duplicate_id, State::queued, 0, {}}));
}

TEST_F(LedgerTask, a_key_finds_its_first_task_in_every_state) {
  auto op = submit(1);
  op.spec.extras.key = "k";
  EXPECT_EQ(verdict(op), Verdict::ok);
  auto again = op;
  again.id = task_id(2);
  EXPECT_EQ(run(again), (OpResult{Verdict::existing, State::queued, 0, task_id(1)}));
  EXPECT_EQ(verdict(Cancel{task_id(1), 5, ""}), Verdict::ok);
  EXPECT_EQ(run(again), (OpResult{Verdict::existing, State::cancelled, 0, task_id(1)}));
  EXPECT_EQ(verdict(SwarmSetState{"default", SwarmState::stopped}), Verdict::ok);
  EXPECT_EQ(verdict(Archived{1}), Verdict::ok);
  EXPECT_EQ(run(again), (OpResult{Verdict::existing, State::cancelled, 0, task_id(1)}));
  EXPECT_EQ(ledger.find_key("default", "k"), std::pair(task_id(1), State::cancelled));
  EXPECT_EQ(run(EvictKeys{1001, 10}).number, 1U);
  EXPECT_EQ(verdict(SwarmSetState{"default", SwarmState::active}), Verdict::ok);
  EXPECT_EQ(verdict(again), Verdict::ok);
}

TEST_F(LedgerTask, a_key_belongs_to_its_swarm) {
  EXPECT_EQ(verdict(SwarmPut{"other", Origin::api, {}}), Verdict::ok);
  auto op = submit(1);
  op.spec.extras.key = "k";
  EXPECT_EQ(verdict(op), Verdict::ok);
  op.id = task_id(2);
  op.spec.swarm = "other";
  EXPECT_EQ(verdict(op), Verdict::ok);
}

TEST_F(LedgerTask, keys_are_evicted_oldest_first_by_time_count_and_limit) {
  for (std::uint64_t n = 1; n <= 4; ++n) {
    auto op = submit(n);
    op.at = n;
    op.spec.extras.key = std::to_string(n);
    EXPECT_EQ(verdict(op), Verdict::ok);
  }
  EXPECT_EQ(run(EvictKeys{4, 1}).number, 1U);
  EXPECT_EQ(told<KeysEvicted>()[0].count, 1U);
  EXPECT_EQ(run(EvictKeys{3, 10}).number, 1U);
  EXPECT_EQ(run(EvictKeys{3, 10}).number, 0U);
  EXPECT_TRUE(changes.empty());
  Limits limits;
  limits.keys = 1;
  EXPECT_EQ(verdict(SetLimits{limits}), Verdict::ok);
  auto op = submit(5);
  op.spec.extras.key = "5";
  EXPECT_EQ(verdict(op), Verdict::ok);
  EXPECT_EQ(told<KeysEvicted>()[0].count, 2U);
  EXPECT_EQ(ledger.find_key("default", "4"), std::nullopt);
  EXPECT_TRUE(ledger.find_key("default", "5"));
}

TEST_F(LedgerTask, only_the_present_epoch_decides) {
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  EXPECT_EQ(run(Assign{0, task_id(1), "a", 1}), (OpResult{Verdict::stale_epoch, std::nullopt, 0, {}}));
  const Epoch old = dispatch();
  EXPECT_EQ(old, position);
  EXPECT_EQ(told<DispatchTaken>()[0].node, "node-1");
  const Epoch present = dispatch();
  EXPECT_EQ(run(Assign{old, task_id(1), "a", 1}), (OpResult{Verdict::stale_epoch, std::nullopt, present, {}}));
  const Fence fence = assign(1);
  EXPECT_EQ(verdict(Requeue{old, task_id(1), fence, 1, RequeueReason::agent_crash, 0, false}), Verdict::stale_epoch);
  EXPECT_EQ(verdict(Expire{old, task_id(1), 1}), Verdict::stale_epoch);
  EXPECT_EQ(verdict(Age{old, {{task_id(1), std::uint16_t{60}}}}), Verdict::stale_epoch);
  EXPECT_EQ(verdict(Complete{task_id(1), fence, 3, nullptr}), Verdict::ok) << "an outcome needs no epoch";
}

TEST_F(LedgerTask, only_queued_tasks_are_assigned) {
  submitted_and_assigned(1);
  EXPECT_EQ(run(Assign{epoch, task_id(1), "b", 1}), (OpResult{Verdict::wrong_state, State::assigned, 0, {}}));
  EXPECT_EQ(verdict(Assign{epoch, task_id(9), "b", 1}), Verdict::no_such_task);
  EXPECT_EQ(verdict(submit_after(2, {1})), Verdict::ok);
  EXPECT_EQ(run(Assign{epoch, task_id(2), "b", 1}), (OpResult{Verdict::wrong_state, State::blocked, 0, {}}));
  EXPECT_EQ(verdict(submit(3)), Verdict::ok);
  EXPECT_EQ(verdict(Assign{epoch, task_id(3), "", 1}), Verdict::malformed);
}

TEST_F(LedgerTask, a_stale_fence_does_nothing) {
  const Fence first = submitted_and_assigned(1);
  EXPECT_EQ(verdict(Requeue{epoch, task_id(1), first, 1, RequeueReason::lease_expired, 0, false}), Verdict::ok);
  const std::vector<Op> late{Start{task_id(1), first, 1}, Progress{task_id(1), first, 1, nullptr},
                             Complete{task_id(1), first, 1, nullptr},
                             Fail{task_id(1), first, 1, ErrorClass::permanent, 0, ""},
                             Requeue{epoch, task_id(1), first, 1, RequeueReason::agent_crash, 0, false}};
  for (const auto& each : run(late)) EXPECT_EQ(each, (OpResult{Verdict::stale_fence, State::queued, 0, {}}));
  const Fence second = assign(1);
  EXPECT_GT(second, first);
  for (const auto& each : run(late)) EXPECT_EQ(each, (OpResult{Verdict::stale_fence, State::assigned, 0, {}}));
  EXPECT_EQ(verdict(Complete{task_id(1), second + 1, 1, nullptr}), Verdict::stale_fence);
  EXPECT_EQ(verdict(Complete{task_id(1), second, 1, nullptr}), Verdict::ok);
}

TEST_F(LedgerTask, an_outcome_told_again_with_its_fence_was_accepted_before) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(verdict(Start{task_id(1), fence, 1}), Verdict::ok);
  EXPECT_EQ(run(Start{task_id(1), fence, 1}), (OpResult{Verdict::accepted_before, State::executing, 0, {}}));
  EXPECT_EQ(verdict(Complete{task_id(1), fence, 1, body_of("first")}), Verdict::ok);
  EXPECT_EQ(run(Complete{task_id(1), fence, 2, body_of("second")}),
            (OpResult{Verdict::accepted_before, State::completed, 0, {}}));
  EXPECT_TRUE(changes.empty());
  EXPECT_EQ(view_of(finished(1)->result), "first");
  EXPECT_EQ(run(Fail{task_id(1), fence, 2, ErrorClass::transient, 0, ""}),
            (OpResult{Verdict::already_finished, State::completed, 0, {}}));
  EXPECT_EQ(verdict(Complete{task_id(1), fence + 1, 2, nullptr}), Verdict::already_finished);

  const Fence other = submitted_and_assigned(2);
  EXPECT_EQ(run(Fail{task_id(2), other, 1, ErrorClass::permanent, 0, "no"}).state, State::failed);
  EXPECT_EQ(verdict(Fail{task_id(2), other, 1, ErrorClass::permanent, 0, "no"}), Verdict::accepted_before);
}

TEST_F(LedgerTask, a_failed_attempt_goes_back_to_the_queue_until_none_is_left) {
  auto op = submit(1);
  op.spec.attempts_max = 2;
  EXPECT_EQ(verdict(op), Verdict::ok);
  dispatch();
  const Fence first = assign(1, "one");
  EXPECT_EQ(verdict(Start{task_id(1), first, 2100}), Verdict::ok);
  EXPECT_EQ(run(Fail{task_id(1), first, 2200, ErrorClass::rate_limited, 9000, "slow down"}),
            (OpResult{Verdict::ok, State::queued, 0, {}}));
  EXPECT_EQ(told<TaskQueued>()[0].why, TaskQueued::Why::failed_attempt);
  EXPECT_EQ(told<TaskQueued>()[0].task.not_before, 9000U);
  EXPECT_EQ(task(1).attempts, 1U);
  const Fence second = assign(1, "two");
  EXPECT_EQ(run(Fail{task_id(1), second, 2300, ErrorClass::timeout, 9900, "too slow"}),
            (OpResult{Verdict::ok, State::failed, 0, {}}));
  const auto dead = finished(1);
  EXPECT_EQ(dead->ending, Ending::attempts_spent);
  EXPECT_EQ(dead->message, "too slow");
  EXPECT_EQ(dead->task.attempts, 2U);
  EXPECT_THAT(*dead->task.history, ElementsAre(Attempt{"one", first, 2100, 2200, ErrorClass::rate_limited, "slow down"},
                                               Attempt{"two", second, 2000, 2300, ErrorClass::timeout, "too slow"}));
}

TEST_F(LedgerTask, a_permanent_error_is_not_retried) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(run(Fail{task_id(1), fence, 1, ErrorClass::permanent, 0, "bad params"}).state, State::failed);
  EXPECT_EQ(finished(1)->ending, Ending::permanent_error);
}

TEST_F(LedgerTask, the_history_keeps_the_last_attempts) {
  Limits limits;
  limits.history = 2;
  EXPECT_EQ(verdict(SetLimits{limits}), Verdict::ok);
  submitted_and_assigned(1);
  for (const auto* message : {"1", "2", "3"}) {
    if (state(1) == State::queued) assign(1);
    EXPECT_EQ(verdict(Fail{task_id(1), task(1).fence, 1, ErrorClass::transient, 0, message}), Verdict::ok);
  }
  ASSERT_EQ(task(1).history->size(), 2U);
  EXPECT_EQ(task(1).history->front().message, "2");
  EXPECT_EQ(task(1).attempts, 3U);
}

TEST_F(LedgerTask, a_crash_or_a_lost_lease_costs_an_attempt_and_handing_back_does_not) {
  submitted_and_assigned(1);
  const auto attempts_after = [&](RequeueReason reason) {
    EXPECT_EQ(verdict(Requeue{epoch, task_id(1), task(1).fence, 5, reason, 0, false}), Verdict::ok);
    const auto attempts = task(1).attempts;
    assign(1);
    return attempts;
  };
  EXPECT_EQ(attempts_after(RequeueReason::returned), 0U);
  EXPECT_EQ(attempts_after(RequeueReason::preempted), 0U);
  EXPECT_EQ(attempts_after(RequeueReason::agent_crash), 1U);
  EXPECT_EQ(attempts_after(RequeueReason::lease_expired), 2U);
  EXPECT_EQ(attempts_after(RequeueReason::node_crash), 2U);
  EXPECT_EQ(task(1).history->back().message, "the lease expired");
  EXPECT_EQ(task(1).deliveries, 6U);
}

TEST_F(LedgerTask, the_last_crash_ends_the_task) {
  auto op = submit(1);
  op.spec.attempts_max = 1;
  EXPECT_EQ(verdict(op), Verdict::ok);
  dispatch();
  const Fence fence = assign(1);
  EXPECT_EQ(run(Requeue{epoch, task_id(1), fence, 5, RequeueReason::agent_crash, 0, true}).state, State::failed);
  EXPECT_EQ(finished(1)->ending, Ending::attempts_spent);
  EXPECT_EQ(finished(1)->message, "the agent crashed");
}

TEST_F(LedgerTask, a_crash_that_says_why_is_queued_as_other_crashes_are) {
  for (const std::uint64_t version : {2UL, 3UL}) {
    EXPECT_EQ(verdict(LedgerVersion{version}), Verdict::ok);
    const std::uint64_t n = version * 10;
    for (std::uint64_t each = n; each <= n + 1; ++each) EXPECT_EQ(verdict(submit(each)), Verdict::ok);
    dispatch();
    const Fence fence = assign(n + 1);
    EXPECT_EQ(verdict(Fail{task_id(n + 1), fence, 5, ErrorClass::crash, 0, "gone"}), Verdict::ok);
    EXPECT_EQ(task(n + 1).history->back().message, "gone");
    EXPECT_EQ(task(n + 1).attempts, 1U);
    EXPECT_EQ(task(n + 1).order < task(n).order, version == 3) << "before all others, from version 3 on";
  }
}

TEST_F(LedgerTask, a_node_crash_is_free_up_to_ten_deliveries) {
  submitted_and_assigned(1);
  for (int crash = 1; crash <= 13; ++crash) {
    const auto answer = run(Requeue{epoch, task_id(1), task(1).fence, 5, RequeueReason::node_crash, 0, false});
    EXPECT_EQ(answer.state, State::queued) << crash;
    EXPECT_EQ(task(1).attempts, crash <= 10 ? 0U : static_cast<unsigned>(crash) - 10U) << crash;
    assign(1);
  }
  EXPECT_EQ(run(Requeue{epoch, task_id(1), task(1).fence, 5, RequeueReason::node_crash, 0, false}).state,
            State::failed);
}

TEST_F(LedgerTask, front_comes_before_all_others_and_the_last_front_first) {
  for (std::uint64_t n = 1; n <= 4; ++n) EXPECT_EQ(verdict(submit(n)), Verdict::ok);
  dispatch();
  for (const std::uint64_t n : {3UL, 4UL}) {
    const Fence fence = assign(n);
    EXPECT_EQ(verdict(Requeue{epoch, task_id(n), fence, 1, RequeueReason::agent_crash, 0, true}), Verdict::ok);
  }
  const Fence fence = assign(1);
  EXPECT_EQ(verdict(Requeue{epoch, task_id(1), fence, 1, RequeueReason::preempted, 0, false}), Verdict::ok);
  EXPECT_LT(task(4).order, task(3).order);
  EXPECT_LT(task(3).order, task(2).order);
  EXPECT_LT(task(2).order, task(1).order);
}

TEST_F(LedgerTask, ageing_changes_what_is_queued_and_passes_over_the_rest) {
  submitted_and_assigned(1);
  EXPECT_EQ(verdict(submit(2)), Verdict::ok);
  const Age age{epoch,
                {{task_id(1), std::uint16_t{99}}, {task_id(2), std::uint16_t{60}}, {task_id(7), std::uint16_t{1}}}};
  EXPECT_EQ(run(age).number, 1U);
  EXPECT_EQ(told<TaskAged>()[0].effective_priority, 60);
  EXPECT_EQ(task(2).effective_priority, 60);
  EXPECT_EQ(task(2).priority, k_normal);
  EXPECT_EQ(task(1).effective_priority, k_normal);
}

TEST_F(LedgerTask, cancel_works_in_every_open_state_and_later_answers_come_too_late) {
  submitted_and_assigned(1);
  const Fence fence = submitted_and_assigned(2);
  EXPECT_EQ(verdict(Start{task_id(2), fence, 1}), Verdict::ok);
  EXPECT_EQ(verdict(submit(3)), Verdict::ok);
  EXPECT_EQ(verdict(submit_after(4, {3})), Verdict::ok);
  for (const std::uint64_t n : {1UL, 2UL, 4UL, 3UL}) {
    const State was = state(n);
    EXPECT_EQ(run(Cancel{task_id(n), 7, "enough"}), (OpResult{Verdict::ok, State::cancelled, 0, {}}));
    EXPECT_EQ(told<TaskFinished>()[0].was, was);
    EXPECT_EQ(finished(n)->message, "enough");
    EXPECT_EQ(run(Cancel{task_id(n), 7, "again"}), (OpResult{Verdict::already_finished, State::cancelled, 0, {}}));
  }
  EXPECT_EQ(run(Complete{task_id(2), fence, 8, nullptr}),
            (OpResult{Verdict::already_finished, State::cancelled, 0, {}}));
  EXPECT_EQ(verdict(Cancel{task_id(9), 7, ""}), Verdict::no_such_task);
}

TEST_F(LedgerTask, expires_only_past_its_deadline) {
  auto op = submit(1);
  op.spec.deadline_at = 5000;
  EXPECT_EQ(verdict(op), Verdict::ok);
  EXPECT_EQ(verdict(submit(2)), Verdict::ok);
  dispatch();
  EXPECT_EQ(verdict(Expire{epoch, task_id(1), 4999}), Verdict::not_due);
  EXPECT_EQ(verdict(Expire{epoch, task_id(2), 9999}), Verdict::not_due);
  EXPECT_EQ(run(Expire{epoch, task_id(1), 5000}).state, State::failed);
  EXPECT_EQ(finished(1)->ending, Ending::deadline_passed);
}

TEST_F(LedgerTask, a_blocked_task_is_queued_when_all_it_waits_for_is_completed) {
  const Fence one = submitted_and_assigned(1);
  const Fence two = submitted_and_assigned(2);
  EXPECT_EQ(run(submit_after(3, {1, 2, 1})), (OpResult{Verdict::ok, State::blocked, 0, {}}));
  EXPECT_EQ(told<TaskBlocked>().size(), 1U);
  EXPECT_EQ(verdict(Complete{task_id(1), one, 1, nullptr}), Verdict::ok);
  EXPECT_EQ(state(3), State::blocked);
  EXPECT_EQ(verdict(Archived{1}), Verdict::ok) << "a dependency may be archived meanwhile";
  EXPECT_EQ(verdict(Complete{task_id(2), two, 1, nullptr}), Verdict::ok);
  EXPECT_EQ(told<TaskQueued>()[0].why, TaskQueued::Why::unblocked);
  EXPECT_EQ(state(3), State::queued);
  EXPECT_EQ(run(submit_after(4, {2})).state, State::queued) << "what is completed is not waited for";
}

TEST_F(LedgerTask, a_failed_or_cancelled_dependency_fails_all_that_wait_however_far) {
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  constexpr std::uint64_t k_chain = 3000;
  std::vector<Op> chain;
  for (std::uint64_t n = 2; n <= k_chain; ++n) chain.emplace_back(submit_after(n, {n - 1, 1}));
  run(chain);
  EXPECT_EQ(verdict(Cancel{task_id(1), 7, ""}), Verdict::ok);
  EXPECT_EQ(told<TaskFinished>().size(), k_chain);
  EXPECT_EQ(ledger.counters().open_tasks, 0U);
  EXPECT_EQ(finished(k_chain)->ending, Ending::dependency_failed);
  EXPECT_EQ(finished(2)->message, "dependency " + task_id(1).text() + " cancelled");
  EXPECT_EQ(run(submit_after(9000, {k_chain})).state, State::failed) << "it ends as soon as it is accepted";
}

TEST_F(LedgerTask, a_dependency_must_be_known) {
  EXPECT_EQ(run(submit_after(1, {2})), (OpResult{Verdict::no_such_dependency, std::nullopt, 0, task_id(2)}));
  EXPECT_EQ(verdict(submit_after(1, {1})), Verdict::no_such_dependency);
  EXPECT_EQ(verdict(submit(2)), Verdict::ok);
  EXPECT_EQ(verdict(Cancel{task_id(2), 1, ""}), Verdict::ok);
  EXPECT_EQ(verdict(Archived{1}), Verdict::ok);
  EXPECT_EQ(verdict(submit_after(1, {2})), Verdict::no_such_dependency);
}

TEST_F(LedgerTask, a_cancelled_waiter_is_forgotten_by_what_it_waited_for) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(verdict(submit_after(2, {1})), Verdict::ok);
  EXPECT_EQ(verdict(Cancel{task_id(2), 1, ""}), Verdict::ok);
  EXPECT_EQ(verdict(Complete{task_id(1), fence, 1, nullptr}), Verdict::ok);
  EXPECT_TRUE(told<TaskQueued>().empty());
}

TEST_F(LedgerTask, a_retry_is_a_new_task_linked_both_ways) {
  auto op = submit(1);
  op.spec.attempts_max = 1;
  op.spec.deadline_at = 10;
  op.spec.extras.key = "k";
  op.spec.extras.trace = "t";
  EXPECT_EQ(verdict(op), Verdict::ok);
  EXPECT_EQ(run(Retry{task_id(1), task_id(2), 5}), (OpResult{Verdict::wrong_state, State::queued, 0, {}}));
  EXPECT_EQ(verdict(Cancel{task_id(1), 5, ""}), Verdict::ok);
  EXPECT_EQ(run(Retry{task_id(1), task_id(2), 6}), (OpResult{Verdict::ok, State::queued, 0, {}}));
  EXPECT_EQ(told<TaskQueued>()[0].why, TaskQueued::Why::retried);
  EXPECT_EQ(told<TaskRetried>()[0].new_task, task_id(2));
  EXPECT_EQ(task(2).more().retry_of, task_id(1));
  EXPECT_EQ(task(2).more().trace, "t");
  EXPECT_EQ(task(2).more().key, retry_key(task_id(1)));
  EXPECT_EQ(task(2).deadline_at, 0U);
  EXPECT_EQ(finished(1)->retried_as, task_id(2));
  EXPECT_EQ(run(Retry{task_id(1), task_id(3), 6}), (OpResult{Verdict::existing, State::queued, 0, task_id(2)}));
  EXPECT_EQ(verdict(Retry{task_id(7), task_id(8), 6}), Verdict::no_such_task);
}

TEST_F(LedgerTask, a_retry_is_known_by_its_key_when_the_old_task_is_archived) {
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  EXPECT_EQ(verdict(Cancel{task_id(1), 5, ""}), Verdict::ok);
  EXPECT_EQ(verdict(Retry{task_id(1), task_id(2), 6}), Verdict::ok);
  EXPECT_EQ(run(Archived{1}).number, 1U);
  EXPECT_EQ(verdict(Retry{task_id(1), task_id(3), 7}), Verdict::no_such_task);
  auto again = submit(3);
  again.spec.extras.retry_of = task_id(1);
  again.spec.extras.key = retry_key(task_id(1));
  EXPECT_EQ(run(again), (OpResult{Verdict::existing, State::queued, 0, task_id(2)}));
}

TEST_F(LedgerTask, a_key_that_was_taken_stands_for_the_retry) {
  auto first = submit(2);
  first.spec.extras.key = retry_key(task_id(1));
  EXPECT_EQ(verdict(first), Verdict::ok);
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  EXPECT_EQ(verdict(Cancel{task_id(1), 5, ""}), Verdict::ok);
  EXPECT_EQ(run(Retry{task_id(1), task_id(3), 6}), (OpResult{Verdict::existing, State::queued, 0, task_id(2)}));
}

TEST_F(LedgerTask, what_is_completed_is_not_retried) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(verdict(Complete{task_id(1), fence, 1, nullptr}), Verdict::ok);
  EXPECT_EQ(run(Retry{task_id(1), task_id(2), 6}), (OpResult{Verdict::wrong_state, State::completed, 0, {}}));
}

TEST_F(LedgerTask, archived_tasks_are_dropped_up_to_the_number) {
  for (std::uint64_t n = 1; n <= 600; ++n) {
    run(std::vector<Op>{submit(n), Cancel{task_id(n), 1, ""}});
  }
  EXPECT_EQ(run(Archived{300}).number, 300U);
  EXPECT_EQ(told<TasksArchived>()[0].up_to, 300U);
  EXPECT_FALSE(ledger.find(task_id(300)));
  EXPECT_TRUE(ledger.find(task_id(301)));
  EXPECT_EQ(ledger.finished_after(0, 2).front()->finish_number, 301U);
  EXPECT_EQ(ledger.finished_after(599, 9).size(), 1U);
  EXPECT_TRUE(ledger.finished_after(600, 9).empty());
  EXPECT_EQ(run(Archived{200}).number, 0U);
  EXPECT_EQ(run(Archived{99'999}).number, 300U);
  EXPECT_EQ(ledger.counters().archived_up_to, 600U);
  EXPECT_EQ(ledger.counters().finished_bytes, 0U);
  EXPECT_EQ(verdict(submit(300)), Verdict::ok) << "an archived id is unknown again";
}

}  // namespace
}  // namespace skein::ledger
