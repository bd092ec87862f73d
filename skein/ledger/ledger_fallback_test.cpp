// Handing a task on to another swarm: when it happens, what is kept, and what happens where it cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

using ::testing::HasSubstr;

struct LedgerFallback : testing::Test, TestLedger {
  LedgerFallback() {
    run({LedgerVersion{2}, SwarmPut{"second", Origin::api, {}}, SwarmPut{"third", Origin::api, {}}});
    dispatch();
  }

  Fence running(std::uint64_t n, std::uint32_t attempts_max = 1, const std::string& swarm = "default") {
    auto op = submit(n);
    op.spec.swarm = swarm;
    op.spec.attempts_max = attempts_max;
    EXPECT_EQ(verdict(op), Verdict::ok);
    return assign(n);
  }
  [[nodiscard]] FallBack fall_back(std::uint64_t n, Fence fence, const std::string& to = "second") const {
    return {epoch, task_id(n), fence, 3000, FallbackCause::reported, ErrorClass::transient, 4000, "broken", to};
  }
  // Fails as soon as it is assigned, until it ends or stays where it is.
  std::string last_words(std::uint64_t n, const std::string& to) {
    const Fence fence = running(n);
    EXPECT_EQ(run(fall_back(n, fence, to)), (OpResult{Verdict::ok, State::failed, 0, {}}));
    EXPECT_EQ(finished(n)->ending, Ending::attempts_spent);
    EXPECT_TRUE(task(n).more().fallbacks.empty());
    return finished(n)->message;
  }
};

TEST_F(LedgerFallback, the_last_failed_attempt_takes_the_task_to_the_other_swarm) {
  const Fence fence = running(1);
  EXPECT_EQ(run(fall_back(1, fence)), (OpResult{Verdict::ok, State::queued, 1, {}}));
  ASSERT_EQ(told<TaskQueued>().size(), 1U);
  EXPECT_EQ(told<TaskQueued>()[0].why, TaskQueued::Why::fell_back);
  const auto handed = task(1);
  EXPECT_EQ(handed.shape->swarm, "second");
  EXPECT_EQ(handed.shape->type, "work");
  EXPECT_EQ(handed.more().fallbacks, (std::vector<FallbackStep>{{"default", 1, 3000}}));
  EXPECT_EQ(handed.attempts, 0U) << "each swarm has all attempts";
  EXPECT_EQ(handed.attempts_max, 1U);
  EXPECT_EQ(handed.not_before, 0U);
  EXPECT_EQ(handed.history->back().message, "broken") << "the history goes along";
  EXPECT_EQ(ledger.find_swarm("default")->open_tasks, 0U);
  EXPECT_EQ(ledger.find_swarm("second")->open_tasks, 1U);
  EXPECT_EQ(ledger.find_swarm("second")->open_bytes, charge_of(handed));
}

TEST_F(LedgerFallback, the_fence_grows_and_the_old_one_is_stale) {
  const Fence before = running(1);
  run(fall_back(1, before));
  EXPECT_EQ(verdict(Complete{task_id(1), before, 3001, nullptr}), Verdict::stale_fence);
  EXPECT_EQ(verdict(fall_back(1, before)), Verdict::stale_fence) << "it is done once";
  const Fence after = assign(1);
  EXPECT_GT(after, before);
  EXPECT_EQ(verdict(Complete{task_id(1), after, 3002, body_of("done")}), Verdict::ok);
  EXPECT_EQ(finished(1)->task.more().fallbacks.size(), 1U);
}

TEST_F(LedgerFallback, with_attempts_left_it_is_a_failed_attempt_like_any_other) {
  const Fence fence = running(1, 2);
  EXPECT_EQ(run(fall_back(1, fence)), (OpResult{Verdict::ok, State::queued, 0, {}}));
  EXPECT_EQ(told<TaskQueued>()[0].why, TaskQueued::Why::failed_attempt);
  EXPECT_EQ(task(1).shape->swarm, "default");
  EXPECT_EQ(task(1).attempts, 1U);
  EXPECT_EQ(task(1).not_before, 4000U);
  const Fence again = assign(1);
  EXPECT_EQ(run(fall_back(1, again)).number, 1U);
  EXPECT_EQ(task(1).more().fallbacks, (std::vector<FallbackStep>{{"default", 2, 3000}}));
}

TEST_F(LedgerFallback, a_permanent_error_ends_the_task_where_it_is) {
  auto op = fall_back(1, running(1));
  op.error = ErrorClass::permanent;
  EXPECT_EQ(run(op), (OpResult{Verdict::ok, State::failed, 0, {}}));
  EXPECT_EQ(finished(1)->ending, Ending::permanent_error);
  EXPECT_EQ(finished(1)->message, "broken");
}

TEST_F(LedgerFallback, crashes_and_leases_are_told_in_their_own_words) {
  auto op = fall_back(1, running(1));
  op.cause = FallbackCause::agent_crash;
  EXPECT_EQ(run(op).number, 1U);
  EXPECT_EQ(task(1).history->back().message, "the agent crashed");
  EXPECT_EQ(task(1).history->back().error, ErrorClass::crash);
  op = fall_back(2, running(2));
  op.cause = FallbackCause::lease_expired;
  EXPECT_EQ(run(op).number, 1U);
  EXPECT_EQ(task(2).history->back().error, ErrorClass::timeout);
}

TEST_F(LedgerFallback, a_crash_of_the_node_costs_nothing_up_to_the_limit_of_deliveries) {
  Limits limits;
  limits.deliveries = 1;
  run(SetLimits{limits});
  auto op = fall_back(1, running(1));
  op.cause = FallbackCause::node_crash;
  EXPECT_EQ(run(op), (OpResult{Verdict::ok, State::queued, 0, {}}));
  EXPECT_EQ(task(1).shape->swarm, "default");
  EXPECT_EQ(task(1).attempts, 0U);
  op.fence = assign(1);
  EXPECT_EQ(run(op).number, 1U);
  EXPECT_EQ(task(1).shape->swarm, "second");
}

TEST_F(LedgerFallback, swarms_that_name_each_other_end_at_the_limit_of_hops) {
  Fence fence = running(1);
  for (std::size_t step = 1; step <= k_fallbacks_max; ++step) {
    EXPECT_EQ(run(fall_back(1, fence, step % 2 == 1 ? "second" : "default")).number, step);
    fence = assign(1);
  }
  EXPECT_EQ(run(fall_back(1, fence, "third")), (OpResult{Verdict::ok, State::failed, 0, {}}));
  EXPECT_EQ(finished(1)->message, "broken; not handed on to swarm 'third': it was handed on 3 times, the most");
  EXPECT_EQ(finished(1)->task.more().fallbacks.size(), k_fallbacks_max);
  EXPECT_EQ(verdict(fall_back(1, fence, "third")), Verdict::accepted_before);
}

TEST_F(LedgerFallback, fails_and_says_why_where_the_swarm_cannot_take_it) {
  EXPECT_EQ(last_words(1, "nowhere"), "broken; not handed on to swarm 'nowhere': there is no such swarm");
  EXPECT_THAT(last_words(2, "default"), HasSubstr("it is there already"));
  run(SwarmSetState{"second", SwarmState::draining});
  EXPECT_THAT(last_words(3, "second"), HasSubstr("swarm 'second': it is draining"));
  run(SwarmSetState{"second", SwarmState::stopped});
  EXPECT_THAT(last_words(4, "second"), HasSubstr("swarm 'second': it is stopped"));
  run(SwarmRemove{"second"});
  EXPECT_THAT(last_words(5, "second"), HasSubstr("there is no such swarm"));
  EXPECT_THAT(last_words(6, ""), HasSubstr("there is no such swarm"));
}

TEST_F(LedgerFallback, a_paused_swarm_takes_it_and_keeps_it) {
  run(SwarmSetState{"second", SwarmState::paused});
  EXPECT_EQ(run(fall_back(1, running(1))).number, 1U);
  EXPECT_EQ(verdict(Assign{epoch, task_id(1), "a", 3001}), Verdict::swarm_closed);
}

TEST_F(LedgerFallback, a_full_queue_fails_the_task_and_is_not_passed) {
  run(SwarmPut{"second", Origin::api, {{"open_tasks", "1"}}});
  EXPECT_EQ(run(fall_back(1, running(1))).number, 1U);
  EXPECT_THAT(last_words(2, "second"), HasSubstr("its queue is full, the limit is 1 tasks"));
  EXPECT_EQ(ledger.find_swarm("second")->open_tasks, 1U);
  run(SwarmPut{"third", Origin::api, {{"open_bytes", "100"}}});
  EXPECT_THAT(last_words(3, "third"), HasSubstr("its queue is full, the limit is 100 bytes"));
}

TEST_F(LedgerFallback, a_full_ledger_does_not_matter_since_nothing_is_added) {
  Limits limits;
  limits.open_tasks = 1;
  limits.finished_tasks = 1;
  const Fence fence = running(1);
  run(SetLimits{limits});
  EXPECT_EQ(run(fall_back(1, fence)).number, 1U);
}

TEST_F(LedgerFallback, a_long_message_is_cut_so_that_the_reason_fits) {
  auto op = fall_back(1, running(1), "nowhere");
  op.message = std::string(4093, 'x') + "\xC3\xA9";
  EXPECT_EQ(run(op).state, State::failed);
  const std::string message = finished(1)->message;
  EXPECT_LE(message.size(), 4096U);
  EXPECT_TRUE(message.ends_with("x; not handed on to swarm 'nowhere': there is no such swarm")) << message;
  op = fall_back(2, running(2));
  op.message = std::string(4097, 'x');
  EXPECT_EQ(verdict(op), Verdict::too_large);
}

TEST_F(LedgerFallback, an_old_epoch_or_an_old_ledger_refuses_it) {
  auto op = fall_back(1, running(1));
  op.epoch -= 1;
  EXPECT_EQ(verdict(op), Verdict::stale_epoch);
  TestLedger old;
  const Fence fence = old.submitted_and_assigned(1);
  EXPECT_EQ(
      old.run(FallBack{old.epoch, task_id(1), fence, 1, FallbackCause::reported, ErrorClass::transient, 0, "", "s"}),
      (OpResult{Verdict::old_version, std::nullopt, 1, {}}));
}

TEST_F(LedgerFallback, its_key_and_its_retry_belong_to_the_swarm_it_was_submitted_to) {
  auto op = submit(1);
  op.spec.extras.key = "key";
  op.spec.attempts_max = 1;
  run(op);
  run(fall_back(1, assign(1)));
  EXPECT_EQ(ledger.find_key("default", "key")->first, task_id(1));
  auto again = submit(2);
  again.spec.extras.key = "key";
  EXPECT_EQ(run(again).task, task_id(1));
  EXPECT_EQ(run(fall_back(1, assign(1), "nowhere")).state, State::failed);
  EXPECT_EQ(verdict(Retry{task_id(1), task_id(3), 5000}), Verdict::ok);
  EXPECT_EQ(task(3).shape->swarm, "default");
  EXPECT_TRUE(task(3).more().fallbacks.empty());
  run(Archived{1});
  EXPECT_EQ(ledger.find_key("default", "key"), (std::pair(task_id(1), State::failed))) << "also when it is archived";
}

TEST_F(LedgerFallback, those_that_wait_for_it_go_on_waiting) {
  const Fence fence = running(1);
  EXPECT_EQ(run(submit_after(2, {1})).state, State::blocked);
  run(fall_back(1, fence));
  EXPECT_EQ(state(2), State::blocked);
  run(Complete{task_id(1), assign(1), 5000, nullptr});
  EXPECT_EQ(state(2), State::queued);
}

}  // namespace
}  // namespace skein::ledger
