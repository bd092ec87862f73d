// Where a task should run: the agent that alone may have it, when any may, and what retries and other swarms make of
// it.
#include <gtest/gtest.h>

#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

struct PlacementTest : testing::Test, TestLedger {
  PlacementTest() {
    run({LedgerVersion{k_sound_version}, SwarmPut{"second", Origin::api, {}}});
    dispatch();
  }
  static Submit placed(std::uint64_t n, Placement where) {
    auto op = submit(n);
    op.spec.attempts_max = 1;
    op.spec.extras.placement = std::make_shared<const Placement>(std::move(where));
    return op;
  }
  static Submit for_ada(std::uint64_t n, AgentFallback fallback) { return placed(n, {"ada", fallback, 0, "", 0}); }
  [[nodiscard]] Assign assign_to(std::uint64_t n, const char* agent) const { return {epoch, task_id(n), agent, 2000}; }
  [[nodiscard]] Unpin unpin(std::uint64_t n, WallMs at = 3000) const { return {epoch, task_id(n), at}; }
};

TEST_F(PlacementTest, a_pinned_task_is_assigned_to_its_agent_only) {
  ASSERT_EQ(verdict(for_ada(1, AgentFallback::none)), Verdict::ok);
  EXPECT_EQ(task(1).pinned_to(), "ada");
  EXPECT_EQ(run(assign_to(1, "bob")), (OpResult{Verdict::pinned, State::queued, 0, {}}));
  EXPECT_EQ(verdict(assign_to(1, "ada")), Verdict::ok);
}

TEST_F(PlacementTest, it_is_pinned_again_after_a_requeue) {
  ASSERT_EQ(verdict(for_ada(1, AgentFallback::none)), Verdict::ok);
  const Fence fence = assign(1, "ada");
  ASSERT_EQ(verdict(Requeue{epoch, task_id(1), fence, 2500, RequeueReason::returned, 0, true}), Verdict::ok);
  EXPECT_EQ(verdict(assign_to(1, "bob")), Verdict::pinned);
}

TEST_F(PlacementTest, unpinned_it_keeps_its_place_and_goes_to_anybody) {
  ASSERT_EQ(verdict(for_ada(1, AgentFallback::any)), Verdict::ok);
  const auto before = task(1);
  EXPECT_EQ(run(unpin(1)), (OpResult{Verdict::ok, State::queued, 0, {}}));
  ASSERT_EQ(told<TaskQueued>().size(), 1U);
  EXPECT_EQ(told<TaskQueued>()[0].why, TaskQueued::Why::unpinned);
  EXPECT_EQ(task(1).order, before.order);
  EXPECT_EQ(task(1).pinned_to(), "");
  EXPECT_EQ(task(1).more().where().agent, "ada") << "whom it was for is still known";
  EXPECT_EQ(task(1).more().where().unpinned_at, 3000U);
  EXPECT_EQ(charge_of(task(1)), charge_of(before));
  EXPECT_EQ(verdict(assign_to(1, "bob")), Verdict::ok);
}

TEST_F(PlacementTest, at_time_zero_it_is_unpinned_all_the_same) {
  ASSERT_EQ(verdict(for_ada(1, AgentFallback::any)), Verdict::ok);
  ASSERT_EQ(verdict(unpin(1, 0)), Verdict::ok);
  EXPECT_EQ(task(1).pinned_to(), "");
}

TEST_F(PlacementTest, is_unpinned_only_where_that_can_be) {
  ASSERT_EQ(verdict(for_ada(1, AgentFallback::none)), Verdict::ok);
  ASSERT_EQ(verdict(for_ada(2, AgentFallback::any)), Verdict::ok);
  ASSERT_EQ(verdict(submit(3)), Verdict::ok);
  EXPECT_EQ(verdict(unpin(1)), Verdict::not_due) << "for its agent alone";
  EXPECT_EQ(verdict(unpin(3)), Verdict::not_due) << "for any agent";
  EXPECT_EQ(verdict(unpin(9)), Verdict::no_such_task);
  EXPECT_EQ(verdict(Unpin{epoch - 1, task_id(2), 1}), Verdict::stale_epoch);
  assign(2, "ada");
  EXPECT_EQ(run(unpin(2)), (OpResult{Verdict::wrong_state, State::assigned, 0, {}}));
}

TEST_F(PlacementTest, a_retry_is_for_the_same_agent_again) {
  ASSERT_EQ(verdict(placed(1, {"ada", AgentFallback::any, 50, "customer", 0})), Verdict::ok);
  ASSERT_EQ(verdict(unpin(1)), Verdict::ok);
  const Fence fence = assign(1, "bob");
  ASSERT_EQ(verdict(Fail{task_id(1), fence, 2600, ErrorClass::permanent, 0, "broken"}), Verdict::ok);
  ASSERT_EQ(verdict(Retry{task_id(1), task_id(2), 2700}), Verdict::ok);
  EXPECT_EQ(task(2).more().where(), (Placement{"ada", AgentFallback::any, 50, "customer", 0}));
  EXPECT_EQ(task(2).pinned_to(), "ada");
}

TEST_F(PlacementTest, in_another_swarm_it_is_for_anybody_and_keeps_its_route_key) {
  ASSERT_EQ(verdict(placed(1, {"ada", AgentFallback::any, 0, "customer", 0})), Verdict::ok);
  const Fence fence = assign(1, "ada");
  const FallBack op{epoch, task_id(1), fence,   3000, FallbackCause::reported, ErrorClass::transient,
                    0,     "broken",   "second"};
  ASSERT_EQ(run(op).number, 1U);
  EXPECT_EQ(task(1).pinned_to(), "");
  EXPECT_EQ(task(1).more().where().route_key, "customer");
  EXPECT_EQ(task(1).more().fallbacks.size(), 1U);
}

TEST_F(PlacementTest, its_names_have_limits_and_count_as_bytes) {
  const auto limits = ledger.limits();
  EXPECT_EQ(run(placed(1, {std::string(limits.name_bytes + 1, 'a'), AgentFallback::any, 0, "", 0})),
            (OpResult{Verdict::too_large, std::nullopt, limits.name_bytes, {}}));
  EXPECT_EQ(run(placed(1, {"", AgentFallback::by_config, 0, std::string(limits.key_bytes + 1, 'k'), 0})),
            (OpResult{Verdict::too_large, std::nullopt, limits.key_bytes, {}}));
  ASSERT_EQ(verdict(submit(1)), Verdict::ok);
  ASSERT_EQ(verdict(placed(2, {"ada", AgentFallback::any, 0, "route", 0})), Verdict::ok);
  EXPECT_EQ(charge_of(task(2)), charge_of(task(1)) + 8);
}

TEST_F(PlacementTest, the_same_key_finds_the_first_task_wherever_that_should_run) {
  auto first = for_ada(1, AgentFallback::none);
  first.spec.extras.key = "once";
  ASSERT_EQ(verdict(first), Verdict::ok);
  auto second = placed(2, {"bob", AgentFallback::any, 0, "other", 0});
  second.spec.extras.key = "once";
  EXPECT_EQ(run(second), (OpResult{Verdict::existing, State::queued, 0, task_id(1)}));
}

TEST(LedgerPlacement, an_older_ledger_takes_none) {
  TestLedger world;
  world.run(LedgerVersion{3});
  world.dispatch();
  EXPECT_EQ(world.run(PlacementTest::for_ada(1, AgentFallback::any)),
            (OpResult{Verdict::old_version, std::nullopt, 3, {}}));
  EXPECT_EQ(world.verdict(Unpin{world.epoch, task_id(1), 1}), Verdict::old_version);
}

}  // namespace
}  // namespace skein::ledger
