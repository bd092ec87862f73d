// OTP's supervisor, cases 33 to 46: strategies.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

PlanPtr failing_from(int start) {
  auto made = plan();
  made->fails_from = start;
  return made;
}

}  // namespace

TEST_F(OtpSupervisor, one_for_one) {
  const Pid sup = start(tree(Strategy::one_for_one, 2, 3600s, {worker("child1"), worker("child2")}));
  const Pid second = pid_of(sup, "child2");
  for (int n = 0; n < 2; ++n) {
    const Pid first = pid_of(sup, "child1");
    crash(first);
    EXPECT_NE(pid_of(sup, "child1"), first);
    EXPECT_EQ(pid_of(sup, "child2"), second);
    EXPECT_EQ(counts(sup), (Counts{2, 2, 0, 2}));
  }
  watch(second);
  crash(pid_of(sup, "child1"));
  EXPECT_EQ(end_of(sup), "shutdown");
  EXPECT_EQ(end_of(second), "shutdown");
}

TEST_F(OtpSupervisor, one_for_one_escalation) {
  const Pid sup = start(tree(Strategy::one_for_one, 4, 3600s, {worker("child1", failing_from(2)), worker("child2")}));
  const Pid second = pid_of(sup, "child2");
  watch(second);
  crash(pid_of(sup, "child1"));
  EXPECT_EQ(end_of(sup), "shutdown");
  EXPECT_EQ(end_of(second), "shutdown");
}

TEST_F(OtpSupervisor, one_for_all) {
  const Pid sup = start(tree(Strategy::one_for_all, 2, 3600s, {worker("child1"), worker("child2")}));
  for (int n = 0; n < 2; ++n) {
    const Pid first = pid_of(sup, "child1");
    const Pid second = pid_of(sup, "child2");
    watch(second);
    crash(first);
    EXPECT_EQ(end_of(second), "shutdown");
    EXPECT_TRUE(pid_of(sup, "child1"));
    EXPECT_TRUE(pid_of(sup, "child2"));
    EXPECT_NE(pid_of(sup, "child1"), first);
    EXPECT_NE(pid_of(sup, "child2"), second);
  }
  crash(pid_of(sup, "child1"));
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, one_for_all_escalation) {
  const Pid sup = start(tree(Strategy::one_for_all, 4, 3600s, {worker("child1"), worker("child2", failing_from(2))}));
  crash(pid_of(sup, "child1"));
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, one_for_all_other_child_fails_restart) {
  auto first = plan("1");
  first->traps = true;
  auto second = plan("2");
  second->fails = {2};
  second->log = first->log;
  const Pid sup = start(tree(Strategy::one_for_all, 3, 3600s, {worker("child1", first), worker("child2", second)}));
  first->log->clear();
  crash(pid_of(sup, "child1"));
  EXPECT_THAT(*first->log, ElementsAre("stop 1", "start 1", "stop 1", "start 1", "start 2"))
      << "child1 is stopped again because child2 failed, then both start";
  EXPECT_EQ(second->starts, 3);
  EXPECT_EQ(counts(sup), (Counts{2, 2, 0, 2}));
}

TEST_F(OtpSupervisor, simple_one_for_one) {
  const Pid sup = start(pool(plan(), Restart::permanent, 2, 3600s));
  Pid first = add_to_pool(sup);
  const Pid second = add_to_pool(sup);
  for (int n = 0; n < 2; ++n) {
    crash(first);
    EXPECT_EQ(counts(sup), (Counts{1, 2, 0, 2}));
    const auto all = which_children(rt, sup);
    for (const ChildInfo& each : *all) {
      if (each.pid != second) first = each.pid;
    }
    EXPECT_TRUE(alive(second));
  }
  watch(second);
  crash(first);
  EXPECT_EQ(end_of(second), "shutdown");
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, simple_one_for_one_shutdown) {
  auto how = plan();
  how->slow = 1000ms;
  const Pid sup = start(pool(how));
  for (int n = 0; n < 10; ++n) add_to_pool(sup);
  const Instant before = rt.now();
  EXPECT_TRUE(stop_supervisor(rt, sup));
  const Duration took = rt.now() - before;
  EXPECT_GE(took, 1000ms);
  EXPECT_LT(took, 5000ms) << "ten children one after the other would take 10 s";
  EXPECT_EQ(std::ranges::count(*how->log, "stop w"), 10);
}

namespace {

Async<ChildStart> start_pooled_with_info(Self self, PlanPtr how) {
  SpawnOptions options;
  options.link = true;
  auto starting = self.start<Worker>(options, how);
  const StartResult result = co_await starting;
  if (!result) co_return ChildStart::error(result.error().reason);
  co_return ChildStart::ok(result->pid, std::any(42));
}

struct PooledStarter {
  Async<ChildStart> operator()(Self self, const std::any& extra) const {
    return start_pooled_with_info(self, std::any_cast<PlanPtr>(extra));
  }
};

}  // namespace

TEST_F(OtpSupervisor, simple_one_for_one_extra) {
  ChildSpec spec = worker("c");
  spec.start = PooledStarter{};
  const Pid sup = start(tree(Strategy::simple_one_for_one, 2, 3600s, {spec}));
  auto how = plan();
  const auto first = start_pool_child(rt, sup, std::any(how));
  ASSERT_TRUE(first);
  EXPECT_EQ(std::any_cast<int>(first->info), 42);
  ASSERT_TRUE(start_pool_child(rt, sup, std::any(plan())));
  crash(first->pid);
  EXPECT_EQ(how->starts, 2) << "started again with its own arguments";
  EXPECT_EQ(counts(sup), (Counts{1, 2, 0, 2}));
  crash(which_children(rt, sup)->front().pid);
  EXPECT_EQ(counts(sup), (Counts{1, 2, 0, 2}));
}

TEST_F(OtpSupervisor, simple_one_for_one_escalation) {
  const Pid sup = start(tree(Strategy::simple_one_for_one, 4, 3600s, {pool_child<Worker, PlanPtr>("c")}));
  const Pid first = add_to_pool(sup, pool_arguments(failing_from(2)));
  const Pid second = add_to_pool(sup, pool_arguments(plan()));
  watch(second);
  crash(first);
  EXPECT_EQ(end_of(second), "shutdown");
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, simple_one_for_one_corruption) {
  const Pid sup =
      start(tree(Strategy::simple_one_for_one, 1, 5s, {pool_child<Worker, PlanPtr>("c").with(Restart::temporary)}));
  auto argument = plan();
  const std::weak_ptr<Plan> kept = argument;
  const Pid first = add_to_pool(sup, pool_arguments(std::move(argument)));
  EXPECT_FALSE(kept.expired()) << "the running child holds it";
  crash(first);
  EXPECT_TRUE(kept.expired()) << "nobody else does";
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
  auto other = plan();
  EXPECT_TRUE(alive(add_to_pool(sup, pool_arguments(other))));
  EXPECT_EQ(other->starts, 1);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
}

TEST_F(OtpSupervisor, simple_one_for_one_restart_ignore) {
  auto ignoring = plan();
  ignoring->ignores = {2};
  const Pid sup = start(pool(ignoring));
  crash(add_to_pool(sup));
  EXPECT_EQ(ignoring->starts, 2);
  EXPECT_THAT(*which_children(rt, sup), IsEmpty());
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
  EXPECT_TRUE(alive(sup));
}

TEST_F(OtpSupervisor, rest_for_one) {
  const Pid sup = start(tree(Strategy::rest_for_one, 2, 3600s, {worker("child1"), worker("child2"), worker("child3")}));
  const Pid first = pid_of(sup, "child1");
  for (int n = 0; n < 2; ++n) {
    const Pid second = pid_of(sup, "child2");
    const Pid third = pid_of(sup, "child3");
    watch(third);
    crash(second);
    EXPECT_EQ(end_of(third), "shutdown");
    EXPECT_EQ(pid_of(sup, "child1"), first);
    EXPECT_NE(pid_of(sup, "child2"), second);
    EXPECT_NE(pid_of(sup, "child3"), third);
    EXPECT_EQ(counts(sup), (Counts{3, 3, 0, 3}));
  }
  watch(first);
  crash(pid_of(sup, "child2"));
  EXPECT_EQ(end_of(first), "shutdown");
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, rest_for_one_escalation) {
  const Pid sup = start(tree(Strategy::rest_for_one, 4, 3600s, {worker("child1"), worker("child2", failing_from(2))}));
  crash(pid_of(sup, "child1"));
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, rest_for_one_other_child_fails_restart) {
  auto first = plan("1");
  first->traps = true;
  auto second = plan("2");
  second->fails = {2};
  second->log = first->log;
  const Pid sup = start(tree(Strategy::rest_for_one, 3, 3600s, {worker("child1", first), worker("child2", second)}));
  first->log->clear();
  crash(pid_of(sup, "child1"));
  EXPECT_THAT(*first->log, ElementsAre("stop 1", "start 1", "start 2")) << "only child2 is tried again";
  EXPECT_EQ(second->starts, 3);
  EXPECT_EQ(counts(sup), (Counts{2, 2, 0, 2}));
}

}  // namespace skein::inline v0::testing
