// OTP's supervisor, cases 16 to 24: stopping.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {
namespace {

PlanPtr slow(Duration time) {
  auto made = plan();
  made->slow = time;
  return made;
}

}  // namespace

TEST_F(OtpSupervisor, sup_stop_infinity) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s,
                             {worker("child1", slow(1h)).with(Shutdown::infinity()),
                              supervisor_child("child2", tree(Strategy::one_for_one, 1, 5s, {}))}));
  const Pid first = pid_of(sup, "child1");
  const Pid second = pid_of(sup, "child2");
  watch(first);
  watch(second);
  shut_down(sup);
  EXPECT_EQ(end_of(second), "shutdown");
  rt.run_for(59min);
  EXPECT_EQ(end_of(sup), "alive") << "it waits for as long as the child takes";
  rt.run_for(2min);
  EXPECT_EQ(end_of(first), "shutdown");
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, sup_stop_timeout) {
  const Pid sup = start(
      tree(Strategy::one_for_one, 1, 5s, {worker("busy", slow(1h)).with(Shutdown::after(1000ms)), worker("idle")}));
  const Pid busy = pid_of(sup, "busy");
  const Pid idle = pid_of(sup, "idle");
  watch(busy);
  watch(idle);
  shut_down(sup);
  rt.run_for(999ms);
  EXPECT_EQ(end_of(busy), "alive");
  rt.run_for(2ms);
  EXPECT_EQ(end_of(busy), "killed");
  EXPECT_EQ(end_of(idle), "shutdown");
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, sup_stop_timeout_dynamic) {
  auto how = plan();
  SupervisorSpec spec =
      tree(Strategy::simple_one_for_one, 1, 5s, {pool_child<Worker, PlanPtr>("c").with(Shutdown::after(1000ms))});
  const Pid sup = start(spec);
  const Pid busy = add_to_pool(sup, pool_arguments(slow(1h)));
  const Pid idle = add_to_pool(sup, pool_arguments(how));
  watch(busy);
  watch(idle);
  shut_down(sup);
  EXPECT_EQ(end_of(idle), "shutdown");
  rt.run_for(1001ms);
  EXPECT_EQ(end_of(busy), "killed");
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, sup_stop_brutal_kill) {
  auto trapping = plan();
  trapping->traps = true;
  const Pid sup = start(
      tree(Strategy::one_for_one, 1, 5s, {worker("child1", trapping).with(Shutdown::brutal_kill()), worker("child2")}));
  const Pid first = pid_of(sup, "child1");
  const Pid second = pid_of(sup, "child2");
  watch(first);
  watch(second);
  shut_down(sup);
  EXPECT_EQ(end_of(first), "killed");
  EXPECT_EQ(end_of(second), "shutdown");
  EXPECT_EQ(trapping->log->size(), 1U) << "brutal_kill runs no terminate";
}

TEST_F(OtpSupervisor, sup_stop_brutal_kill_dynamic) {
  const Pid sup =
      start(tree(Strategy::simple_one_for_one, 1, 5s, {worker("c", slow(1h)).with(Shutdown::brutal_kill())}));
  std::vector<Pid> pids;
  pids.reserve(10);
  for (int n = 0; n < 10; ++n) pids.push_back(add_to_pool(sup));
  for (const Pid pid : pids) watch(pid);
  shut_down(sup);
  for (const Pid pid : pids) EXPECT_EQ(end_of(pid), "killed");
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, sup_stop_race) {
  const std::vector<ExitReason> reasons{ExitReason::normal(), ExitReason::shutdown(), ExitReason::shutdown("term"),
                                        ExitReason::custom("odd")};
  for (const Restart restart : {Restart::permanent, Restart::transient, Restart::temporary}) {
    for (const ExitReason& reason : reasons) {
      const Pid sup = start(tree(Strategy::one_for_one, 1, 5s,
                                 {worker("a").with(restart), worker("b").with(restart), worker("c").with(restart)}));
      std::vector<Pid> pids{pid_of(sup, "a"), pid_of(sup, "b"), pid_of(sup, "c")};
      for (const Pid pid : pids) watch(pid);
      // Each ends by itself while its supervisor is told to stop; which comes first is the scheduler's choice.
      for (const Pid pid : pids) rt.send(pid, Die{reason});
      shut_down(sup);
      EXPECT_EQ(end_of(sup), "shutdown");
      for (const Pid pid : pids) {
        EXPECT_THAT(end_of(pid), ::testing::AnyOf(reason.text(), "shutdown"));
      }
    }
  }
  // Told to stop, ending with a reason of its own: that is the one seen.
  for (const ExitReason& reason : reasons) {
    auto stubborn = plan();
    stubborn->ends_with = reason;
    const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("a", stubborn)}));
    const Pid first = pid_of(sup, "a");
    watch(first);
    shut_down(sup);
    EXPECT_EQ(end_of(first), reason.text());
    EXPECT_EQ(end_of(sup), "shutdown");
  }
}

namespace {

// "stopped" is what nobody has to know, "error" what is reported.
std::vector<std::string> stops_of(const std::vector<SupervisionEvent>& events, const std::string& child) {
  std::vector<std::string> found;
  for (const SupervisionEvent& each : events) {
    if (each.child != child) continue;
    if (each.kind == EventKind::child_stopped) found.push_back("stopped " + each.reason.text());
    if (each.kind == EventKind::shutdown_error) found.push_back("error " + each.reason.text());
  }
  return found;
}

}  // namespace

// The other half of sup_stop_race: a child that was dead when its turn came is reported with its own reason.
TEST_F(OtpSupervisorMore, sup_stop_race_reports_the_reason_of_a_child_that_was_dead_already) {
  const std::vector<ExitReason> reasons{ExitReason::normal(), ExitReason::shutdown(), ExitReason::shutdown("term"),
                                        ExitReason::custom("odd")};
  for (const Restart restart : {Restart::permanent, Restart::transient, Restart::temporary}) {
    for (const ExitReason& reason : reasons) {
      SupervisorSpec spec =
          tree(Strategy::one_for_one, 1, 5s, {worker("early").with(restart), worker("slow", slow(1000ms))});
      const auto events = record(spec);
      const Pid sup = start(spec);
      const Pid early = pid_of(sup, "early");
      shut_down(sup);
      die(early, reason);
      rt.run_for(1s);
      EXPECT_EQ(end_of(sup), "shutdown");
      const bool plain = reason.is_shutdown() && !reason.has_term();
      const bool quiet = plain || (restart != Restart::permanent && reason.kind() != ExitKind::custom);
      EXPECT_THAT(stops_of(*events, "early"), ::testing::ElementsAre((quiet ? "stopped " : "error ") + reason.text()));
    }
  }
  // Having unlinked itself it left no reason.
  auto naughty = plan();
  naughty->unlinks = true;
  SupervisorSpec spec = tree(Strategy::one_for_one, 1, 5s, {worker("naughty", naughty)});
  const auto events = record(spec);
  const Pid sup = start(spec);
  die(pid_of(sup, "naughty"), ExitReason::custom("odd"));
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "naughty")), "ok");
  EXPECT_THAT(stops_of(*events, "naughty"), ::testing::ElementsAre("error noproc"));
}

TEST_F(OtpSupervisorMore, sup_stop_non_shutdown_exit_dynamic_reports_those_that_were_dead_already) {
  SupervisorSpec spec = tree(Strategy::simple_one_for_one, 1, 5s, {pool_child<Worker, PlanPtr>("c")});
  const auto events = record(spec);
  const Pid sup = start(spec);
  const Pid busy = add_to_pool(sup, pool_arguments(slow(1000ms)));
  std::vector<Pid> early;
  for (int n = 0; n < 3; ++n) early.push_back(add_to_pool(sup, pool_arguments(plan())));
  // While it stops the slow one it is told to end, and only then do the others die.
  EXPECT_EQ(failure_of(terminate_child(rt, sup, busy, 1ms)), "timeout");
  shut_down(sup);
  die(early[0], ExitReason::custom("one"));
  die(early[1], ExitReason::custom("two"));
  die(early[2], ExitReason::custom("two"));
  rt.run_for(1s);
  EXPECT_EQ(end_of(sup), "shutdown");
  EXPECT_THAT(stops_of(*events, "c"), ::testing::ElementsAre("stopped shutdown", "error one", "error two"));
  EXPECT_THAT(*events, ::testing::Contains(::testing::Field(&SupervisionEvent::count, 2U))) << "a report per reason";
}

TEST_F(OtpSupervisor, sup_stop_non_shutdown_exit_dynamic) {
  const Pid sup = start(tree(Strategy::simple_one_for_one, 1, 5s, {pool_child<Worker, PlanPtr>("c")}));
  std::map<Pid, std::string> expected;
  for (const char* reason : {"one", "two", "two"}) {
    auto stubborn = plan();
    stubborn->ends_with = ExitReason::custom(reason);
    const Pid pid = add_to_pool(sup, pool_arguments(stubborn));
    watch(pid);
    expected.emplace(pid, stubborn->ends_with->text());
  }
  shut_down(sup);
  for (const auto& [pid, reason] : expected) EXPECT_EQ(end_of(pid), reason);
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, sup_stop_manual) {
  const Pid sup =
      start(tree(Strategy::one_for_one, 1, 5s, {worker("child1"), worker("child2").with(Shutdown::brutal_kill())}));
  const Pid first = pid_of(sup, "child1");
  const Pid second = pid_of(sup, "child2");
  watch(first);
  watch(second);
  EXPECT_TRUE(stop_supervisor(rt, sup));
  EXPECT_FALSE(rt.is_alive(sup)) << "the answer comes when it is dead";
  EXPECT_EQ(end_of(sup), "normal");
  EXPECT_EQ(end_of(first), "shutdown");
  EXPECT_EQ(end_of(second), "killed");
}

TEST_F(OtpSupervisor, sup_stop_manual_timeout) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1", slow(1000ms))}));
  const Pid first = pid_of(sup, "child1");
  watch(first);
  const ChildResult stopped = stop_supervisor(rt, sup, {}, 100ms);
  EXPECT_EQ(failure_of(stopped), "timeout");
  EXPECT_EQ(end_of(sup), "alive");
  rt.run_for(1s);
  EXPECT_EQ(end_of(first), "shutdown");
  EXPECT_EQ(end_of(sup), "normal");
}

}  // namespace skein::inline v0::testing
