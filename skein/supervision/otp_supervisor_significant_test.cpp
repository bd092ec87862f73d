// OTP's supervisor, cases 60 to 73: significant children and auto_shutdown.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {
namespace {

constexpr AutoShutdown k_never = AutoShutdown::never;
constexpr AutoShutdown k_any = AutoShutdown::any_significant;
constexpr AutoShutdown k_all = AutoShutdown::all_significant;

ChildSpec significant(const std::string& id, Restart restart) { return worker(id).with(restart).as_significant(); }

}  // namespace

TEST_F(OtpSupervisor, nonsignificant_temporary) {
  for (const AutoShutdown mode : {k_never, k_any, k_all}) {
    const ChildSpec spec = worker("a").with(Restart::temporary);
    const Pid sup = start(testing::tree(Strategy::one_for_one, 1, 3600s, {spec}, mode));
    for (const ExitReason& reason : {ExitReason::normal(), ExitReason::shutdown(), ExitReason::custom("odd")}) {
      die(pid_of(sup, "a"), reason);
      EXPECT_EQ(end_of(sup), "alive");
      EXPECT_EQ(state_of(sup, "a"), "absent");
      ASSERT_TRUE(start_child(rt, sup, spec));
    }
    ASSERT_TRUE(terminate_child(rt, sup, "a"));
    EXPECT_EQ(end_of(sup), "alive");
  }
}

TEST_F(OtpSupervisor, nonsignificant_transient) {
  for (const AutoShutdown mode : {k_never, k_any, k_all}) {
    const Pid sup = start(testing::tree(Strategy::one_for_one, 1, 3600s, {worker("a").with(Restart::transient)}, mode));
    for (const ExitReason& reason : {ExitReason::normal(), ExitReason::shutdown(), ExitReason::shutdown("t")}) {
      die(pid_of(sup, "a"), reason);
      EXPECT_EQ(end_of(sup), "alive");
      EXPECT_EQ(state_of(sup, "a"), "down");
      ASSERT_TRUE(restart_child(rt, sup, "a"));
    }
    const Pid before = pid_of(sup, "a");
    crash(before);
    EXPECT_EQ(state_of(sup, "a"), "running");
    EXPECT_NE(pid_of(sup, "a"), before);
    EXPECT_EQ(end_of(sup), "alive");
  }
}

TEST_F(OtpSupervisor, significant_temporary) {
  for (const ExitReason& reason : {ExitReason::normal(), ExitReason::shutdown(), ExitReason::custom("odd")}) {
    const Pid any =
        start(testing::tree(Strategy::one_for_one, 1, 3600s,
                            {significant("a", Restart::temporary), significant("b", Restart::temporary)}, k_any));
    const Pid sibling = pid_of(any, "b");
    watch(sibling);
    die(pid_of(any, "a"), reason);
    EXPECT_EQ(end_of(any), "shutdown");
    EXPECT_EQ(end_of(sibling), "shutdown");

    const Pid all = start(testing::tree(Strategy::one_for_one, 1, 3600s,
                                        {significant("a", Restart::temporary), significant("b", Restart::temporary),
                                         worker("c").with(Restart::temporary)},
                                        k_all));
    die(pid_of(all, "a"), reason);
    EXPECT_EQ(end_of(all), "alive");
    die(pid_of(all, "b"), reason);
    EXPECT_EQ(end_of(all), "shutdown") << "the last significant one";
  }
  for (const AutoShutdown mode : {k_any, k_all}) {
    const Pid sup = start(testing::tree(Strategy::one_for_one, 1, 3600s, {significant("a", Restart::temporary)}, mode));
    ASSERT_TRUE(terminate_child(rt, sup, "a"));
    EXPECT_EQ(end_of(sup), "alive") << "terminate_child never triggers";
  }
}

TEST_F(OtpSupervisor, significant_transient) {
  for (const ExitReason& reason : {ExitReason::normal(), ExitReason::shutdown(), ExitReason::shutdown("t")}) {
    const Pid any = start(
        testing::tree(Strategy::one_for_one, 5, 3600s, {significant("a", Restart::transient), worker("b")}, k_any));
    crash(pid_of(any, "a"));
    EXPECT_EQ(state_of(any, "a"), "running") << "an abnormal exit only restarts it";
    EXPECT_EQ(end_of(any), "alive");
    ASSERT_TRUE(terminate_child(rt, any, "a"));
    EXPECT_EQ(end_of(any), "alive");
    ASSERT_TRUE(restart_child(rt, any, "a"));
    die(pid_of(any, "a"), reason);
    EXPECT_EQ(end_of(any), "shutdown");

    const Pid all =
        start(testing::tree(Strategy::one_for_one, 5, 3600s,
                            {significant("a", Restart::transient), significant("b", Restart::transient)}, k_all));
    die(pid_of(all, "a"), reason);
    EXPECT_EQ(end_of(all), "alive");
    crash(pid_of(all, "b"));
    EXPECT_EQ(end_of(all), "alive");
    die(pid_of(all, "b"), reason);
    EXPECT_EQ(end_of(all), "shutdown");
  }
}

TEST_F(OtpSupervisor, significant_simple) {
  for (const AutoShutdown mode : {k_any, k_all}) {
    SupervisorSpec spec = pool(plan(), Restart::temporary);
    spec.flags.auto_shutdown = mode;
    EXPECT_FALSE(try_start(spec));
    spec.children.front().significant = true;
    EXPECT_FALSE(try_start(spec));
  }
  SupervisorSpec never = pool(plan(), Restart::temporary);
  EXPECT_TRUE(try_start(never));
  never.children.front().significant = true;
  EXPECT_FALSE(try_start(never));
}

TEST_F(OtpSupervisor, significant_bystander) {
  for (const AutoShutdown mode : {k_any, k_all}) {
    for (const Strategy strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
      const Pid sup = start(testing::tree(
          strategy, 5, 3600s,
          {worker("bad"), significant("transient", Restart::transient), significant("temporary", Restart::temporary)},
          mode));
      crash(pid_of(sup, "bad"));
      EXPECT_EQ(end_of(sup), "alive") << "they died because of their sibling, not by themselves";
      EXPECT_EQ(state_of(sup, "transient"), "running");
      EXPECT_EQ(state_of(sup, "temporary"), "absent");
    }
  }
}

TEST_F(OtpSupervisor, significant_escalation) {
  const SupervisorSpec below =
      testing::tree(Strategy::one_for_one, 1, 3600s, {significant("c", Restart::temporary)}, k_any);
  const Pid with = start(testing::tree(
      Strategy::one_for_one, 1, 3600s,
      {supervisor_child("b", below).with(Restart::transient).as_significant(), worker("sibling")}, k_any));
  die(pid_of(pid_of(with, "b"), "c"), ExitReason::normal());
  EXPECT_EQ(end_of(with), "shutdown");

  const Pid without =
      start(testing::tree(Strategy::one_for_one, 1, 3600s,
                          {supervisor_child("b", below).with(Restart::transient), worker("sibling")}, k_any));
  die(pid_of(pid_of(without, "b"), "c"), ExitReason::normal());
  EXPECT_EQ(end_of(without), "alive");
  EXPECT_EQ(state_of(without, "b"), "down");
  EXPECT_EQ(state_of(without, "sibling"), "running");
}

// 67 to 72: from one mode to another while children run.
class SignificantUpgrade {
 public:
  static std::vector<ChildSpec> children(AutoShutdown mode) {
    std::vector<ChildSpec> specs{worker("a").with(Restart::transient), worker("b").with(Restart::transient)};
    for (ChildSpec& each : specs) each.significant = mode != k_never;
    return specs;
  }
  static SupervisorSpec spec(AutoShutdown mode) {
    return testing::tree(Strategy::one_for_one, 1, 3600s, children(mode), mode);
  }
};

#define SKEIN_UPGRADE(FROM, TO)                                                                 \
  const Pid sup = start(SignificantUpgrade::spec(FROM));                                        \
  const Pid a = pid_of(sup, "a");                                                               \
  const Pid b = pid_of(sup, "b");                                                               \
  ASSERT_EQ(failure_of(reconfigure(rt, sup, SignificantUpgrade::spec(TO))), "ok");              \
  EXPECT_EQ(pid_of(sup, "a"), a) << "running children are untouched";                           \
  EXPECT_EQ(pid_of(sup, "b"), b);                                                               \
  SupervisorSpec refused = SignificantUpgrade::spec(k_any);                                     \
  refused.flags.auto_shutdown = k_never;                                                        \
  EXPECT_EQ(failure_of(reconfigure(rt, sup, refused)), "invalid") << "significant under never"; \
  die(a, ExitReason::normal())

TEST_F(OtpSupervisor, significant_upgrade_never_any) {
  SKEIN_UPGRADE(k_never, k_any);
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, significant_upgrade_any_never) {
  SKEIN_UPGRADE(k_any, k_never);
  EXPECT_EQ(end_of(sup), "alive");
  die(b, ExitReason::normal());
  EXPECT_EQ(end_of(sup), "alive");
}

TEST_F(OtpSupervisor, significant_upgrade_never_all) {
  SKEIN_UPGRADE(k_never, k_all);
  EXPECT_EQ(end_of(sup), "alive");
  die(b, ExitReason::normal());
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, significant_upgrade_all_never) {
  SKEIN_UPGRADE(k_all, k_never);
  EXPECT_EQ(end_of(sup), "alive");
  die(b, ExitReason::normal());
  EXPECT_EQ(end_of(sup), "alive");
}

TEST_F(OtpSupervisor, significant_upgrade_any_all) {
  SKEIN_UPGRADE(k_any, k_all);
  EXPECT_EQ(end_of(sup), "alive");
  die(b, ExitReason::normal());
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, significant_upgrade_all_any) {
  SKEIN_UPGRADE(k_all, k_any);
  EXPECT_EQ(end_of(sup), "shutdown");
}

#undef SKEIN_UPGRADE

TEST_F(OtpSupervisor, significant_upgrade_child) {
  const auto with_flag = [](bool flag, AutoShutdown mode) {
    ChildSpec a = worker("a").with(Restart::transient);
    a.significant = flag;
    return testing::tree(Strategy::one_for_one, 1, 3600s, {a, worker("b")}, mode);
  };
  const Pid off = start(with_flag(true, k_any));
  ASSERT_TRUE(reconfigure(rt, off, with_flag(false, k_any)));
  die(pid_of(off, "a"), ExitReason::normal());
  EXPECT_EQ(end_of(off), "alive") << "no longer significant";

  const Pid on = start(with_flag(false, k_any));
  ASSERT_TRUE(reconfigure(rt, on, with_flag(true, k_any)));
  die(pid_of(on, "a"), ExitReason::normal());
  EXPECT_EQ(end_of(on), "shutdown") << "significant now";

  const Pid never = start(with_flag(false, k_never));
  const ChildResult refused = reconfigure(rt, never, with_flag(true, k_never));
  EXPECT_EQ(failure_of(refused), "invalid");
  EXPECT_FALSE(get_childspec(rt, never, "a")->significant);
}

}  // namespace skein::inline v0::testing
