// OTP's supervisor, cases 47 to 59: restart types and trees.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {
namespace {

int count_of(const std::vector<SupervisionEvent>& events, EventKind kind, EventLevel least) {
  return static_cast<int>(std::ranges::count_if(
      events, [&](const SupervisionEvent& each) { return each.kind == kind && each.level >= least; }));
}

}  // namespace

TEST_F(OtpSupervisor, external_start_no_progress_log) {
  SupervisorSpec spec = tree(Strategy::one_for_one, 1, 5s, {worker("child1")});
  const auto events = record(spec);
  const Pid sup = start(spec);
  EXPECT_EQ(count_of(*events, EventKind::child_started, EventLevel::info), 1) << "started by the supervisor itself";
  events->clear();
  ASSERT_TRUE(start_child(rt, sup, worker("child2")));
  EXPECT_EQ(count_of(*events, EventKind::child_started, EventLevel::info), 0);
  EXPECT_EQ(count_of(*events, EventKind::child_started, EventLevel::debug), 1);
}

TEST_F(OtpSupervisor, permanent_normal) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1")}));
  const Pid before = pid_of(sup, "child1");
  die(before, ExitReason::normal());
  EXPECT_EQ(state_of(sup, "child1"), "running");
  EXPECT_NE(pid_of(sup, "child1"), before);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
}

TEST_F(OtpSupervisor, transient_normal) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1").with(Restart::transient)}));
  die(pid_of(sup, "child1"), ExitReason::normal());
  EXPECT_EQ(state_of(sup, "child1"), "down");
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));
}

TEST_F(OtpSupervisor, temporary_normal) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1").with(Restart::temporary)}));
  die(pid_of(sup, "child1"), ExitReason::normal());
  EXPECT_EQ(state_of(sup, "child1"), "absent");
  EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0}));
}

TEST_F(OtpSupervisor, permanent_shutdown) {
  const Pid sup = start(tree(Strategy::one_for_one, 2, 5s, {worker("child1")}));
  for (const ExitReason& reason : {ExitReason::shutdown(), ExitReason::shutdown("term")}) {
    const Pid before = pid_of(sup, "child1");
    die(before, reason);
    EXPECT_EQ(state_of(sup, "child1"), "running");
    EXPECT_NE(pid_of(sup, "child1"), before);
  }
}

TEST_F(OtpSupervisor, transient_shutdown) {
  const Pid sup = start(tree(Strategy::one_for_one, 2, 5s, {worker("child1").with(Restart::transient)}));
  for (const ExitReason& reason : {ExitReason::shutdown(), ExitReason::shutdown("term")}) {
    die(pid_of(sup, "child1"), reason);
    EXPECT_EQ(state_of(sup, "child1"), "down");
    EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));
    ASSERT_TRUE(restart_child(rt, sup, "child1"));
  }
}

TEST_F(OtpSupervisor, temporary_shutdown) {
  const ChildSpec spec = worker("child1").with(Restart::temporary);
  const Pid sup = start(tree(Strategy::one_for_one, 2, 5s, {spec}));
  for (const ExitReason& reason : {ExitReason::shutdown(), ExitReason::shutdown("term")}) {
    die(pid_of(sup, "child1"), reason);
    EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0}));
    ASSERT_TRUE(start_child(rt, sup, spec)) << "it can be started again";
  }
}

TEST_F(OtpSupervisor, faulty_application_shutdown) {
  auto throwing = plan();
  throwing->throws = {1};
  const SupervisorSpec below = tree(Strategy::one_for_one, 1, 5s, {worker("inner", throwing)});
  const StartResult result = try_start(tree(Strategy::one_for_one, 1, 5s, {supervisor_child("sub", below)}));
  ASSERT_FALSE(result);
  const ExitReason& outer = result.error().reason;
  EXPECT_TRUE(outer.is_shutdown());
  EXPECT_EQ(outer.term(), "failed_to_start_child(sub)");
  ASSERT_NE(outer.cause(), nullptr);
  EXPECT_EQ(outer.cause()->term(), "failed_to_start_child(inner)");
  const ExitReason* crash_reason = outer.cause()->cause();
  ASSERT_NE(crash_reason, nullptr);
  EXPECT_EQ(crash_reason->kind(), ExitKind::crash);
  EXPECT_EQ(crash_reason->term(), "planned to throw");
  EXPECT_THAT(crash_reason->crash_where(), ::testing::HasSubstr("init")) << "where it was thrown";
  EXPECT_THAT(exits(), ::testing::IsEmpty());
}

TEST_F(OtpSupervisor, permanent_abnormal) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1")}));
  const Pid before = pid_of(sup, "child1");
  crash(before);
  EXPECT_NE(pid_of(sup, "child1"), before);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
}

TEST_F(OtpSupervisor, transient_abnormal) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1").with(Restart::transient)}));
  const Pid before = pid_of(sup, "child1");
  crash(before);
  EXPECT_NE(pid_of(sup, "child1"), before);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
}

TEST_F(OtpSupervisor, temporary_abnormal) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1").with(Restart::temporary)}));
  crash(pid_of(sup, "child1"));
  EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0}));
}

TEST_F(OtpSupervisor, child_unlink) {
  auto naughty = plan();
  naughty->unlinks = true;
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1", naughty)}));
  const Pid first = pid_of(sup, "child1");
  watch(first);
  const ChildResult stopped = terminate_child(rt, sup, "child1", 10s);
  EXPECT_EQ(failure_of(stopped), "ok") << "it must not hang";
  EXPECT_EQ(end_of(first), "shutdown");
  EXPECT_TRUE(alive(sup));
}

TEST_F(OtpSupervisor, tree) {
  const SupervisorSpec new_sup1 = testing::tree(Strategy::one_for_one, 2, 3600s, {});
  SupervisorSpec sup2 = testing::tree(Strategy::one_for_one, 2, 3600s, {worker("child1"), worker("child2")});
  // The root: an empty supervisor that is transient, one with two children, and a worker.
  const Pid root =
      start(testing::tree(Strategy::one_for_all, 4, 3600s,
                          {supervisor_child("sup1", new_sup1).with(Restart::permanent), supervisor_child("sup2", sup2),
                           supervisor_child("sup3", new_sup1).with(Restart::transient)}));
  const Pid first = pid_of(root, "sup1");
  ASSERT_TRUE(start_child(rt, first, worker("dynamic1")));
  ASSERT_TRUE(start_child(rt, first, worker("dynamic2")));
  EXPECT_EQ(counts(root), (Counts{3, 3, 3, 0}));
  EXPECT_EQ(counts(first), (Counts{2, 2, 0, 2}));

  ASSERT_TRUE(terminate_child(rt, root, "sup3"));
  EXPECT_EQ(counts(root), (Counts{3, 2, 3, 0}));

  // Three crashes exhaust sup2, which ends with shutdown; the root starts everything again.
  const Pid second = pid_of(root, "sup2");
  for (int n = 0; n < 3; ++n) crash(pid_of(second, "child1"));
  EXPECT_FALSE(alive(second));
  EXPECT_FALSE(alive(first)) << "one_for_all";
  EXPECT_EQ(counts(root), (Counts{3, 3, 3, 0})) << "the terminated transient supervisor is back too";
  EXPECT_EQ(counts(pid_of(root, "sup1")), (Counts{0, 0, 0, 0})) << "dynamic children are lost";
  EXPECT_EQ(counts(pid_of(root, "sup2")), (Counts{2, 2, 0, 2})) << "static ones are back";
}

}  // namespace skein::inline v0::testing
