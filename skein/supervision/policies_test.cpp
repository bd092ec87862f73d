// What skein's supervisors do beyond OTP's: escalate, budgets, isolated children, backoff, warnings.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {
namespace {

class Policies : public SupervisorTest {
 protected:
  static std::vector<std::string> names(const std::vector<SupervisionEvent>& events) {
    std::vector<std::string> found;
    for (const SupervisionEvent& each : events) found.emplace_back(event_name(each.kind));
    return found;
  }
};

TEST_F(Policies, escalate_ends_the_supervisor_with_the_childs_reason) {
  const SupervisorSpec below = tree(Strategy::escalate, 5, 60s, {worker("a"), worker("b").with(Restart::transient)});
  const Pid root = start(tree(Strategy::one_for_one, 5, 60s, {supervisor_child("sub", below)}));
  const Pid sub = pid_of(root, "sub");
  watch(sub);
  die(pid_of(sub, "b"), ExitReason::normal());
  EXPECT_EQ(end_of(sub), "alive") << "a transient child's normal end is no failure";
  const Pid sibling = pid_of(sub, "a");
  watch(sibling);
  die(sibling, ExitReason::custom("disk full"));
  EXPECT_EQ(end_of(sub), "disk full");
  EXPECT_EQ(state_of(root, "sub"), "running") << "its parent starts it again";
}

TEST_F(Policies, a_childs_own_budget_ends_the_supervisor_before_the_shared_one) {
  const Pid sup = start(tree(Strategy::one_for_one, 100, 60s, {worker("a").with(Budget{2, 60s, 1s}), worker("b")}));
  for (int n = 0; n < 10; ++n) crash(pid_of(sup, "b"));
  EXPECT_EQ(end_of(sup), "alive");
  crash(pid_of(sup, "a"));
  crash(pid_of(sup, "a"));
  EXPECT_EQ(end_of(sup), "alive");
  crash(pid_of(sup, "a"));
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(Policies, isolated_child_is_parked_and_never_touches_the_window) {
  auto how = plan();
  SupervisorSpec spec = tree(Strategy::one_for_one, 0, 60s, {worker("a", how).with(Budget{2, 60s, 10s}).as_isolated()});
  const auto events = record(spec);
  const Pid sup = start(spec);
  crash(pid_of(sup, "a"));
  crash(pid_of(sup, "a"));
  EXPECT_EQ(state_of(sup, "a"), "running") << "intensity 0 is the others' business";
  crash(pid_of(sup, "a"));
  EXPECT_EQ(state_of(sup, "a"), "parked");
  EXPECT_EQ(names(*events).back(), "child_parked");
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));
  rt.run_for(9900ms);
  EXPECT_EQ(state_of(sup, "a"), "parked");
  rt.run_for(200ms);
  EXPECT_EQ(state_of(sup, "a"), "running") << "tried again after its time";
  for (int n = 0; n < 3; ++n) crash(pid_of(sup, "a"));
  EXPECT_EQ(state_of(sup, "a"), "parked");
  EXPECT_EQ(events->back().delay, 20s) << "parked for twice as long";
  EXPECT_TRUE(restart_child(rt, sup, "a")) << "un-parks it";
  EXPECT_EQ(state_of(sup, "a"), "running");
  EXPECT_EQ(end_of(sup), "alive");
}

TEST_F(Policies, parking_doubles_to_ten_minutes) {
  auto failing = plan();
  failing->fails_from = 2;
  SupervisorSpec spec =
      tree(Strategy::one_for_one, 0, 60s, {worker("a", failing).with(Budget{1, 60s, 60s}).as_isolated()});
  const auto events = record(spec);
  const Pid sup = start(spec);
  crash(pid_of(sup, "a"));
  rt.run_for(1h);
  std::vector<Duration> parked;
  for (const SupervisionEvent& each : *events) {
    if (each.kind == EventKind::child_parked) parked.push_back(each.delay);
  }
  ASSERT_GE(parked.size(), 6U);
  EXPECT_EQ(parked[0], 1min);
  EXPECT_EQ(parked[1], 2min);
  EXPECT_EQ(parked[3], 8min);
  EXPECT_EQ(parked[4], 10min);
  EXPECT_EQ(parked[5], 10min);
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "a")), "ok");
  EXPECT_EQ(state_of(sup, "a"), "down");
  EXPECT_EQ(failure_of(delete_child(rt, sup, "a")), "ok");
}

TEST_F(Policies, isolated_is_refused_where_siblings_restart_together) {
  EXPECT_FALSE(try_start(tree(Strategy::one_for_all, 1, 5s, {worker("a").as_isolated()})));
  EXPECT_FALSE(try_start(tree(Strategy::rest_for_one, 1, 5s, {worker("a").as_isolated()})));
}

TEST_F(Policies, isolated_is_refused_for_a_child_that_a_reconfiguration_would_keep) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("a").as_isolated(), worker("b")}));
  const ChildResult refused = reconfigure(rt, sup, tree(Strategy::one_for_all, 1, 5s, {worker("b")}));
  ASSERT_EQ(failure_of(refused), "invalid");
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("child 'a' is kept and isolated"));
  EXPECT_EQ(failure_of(reconfigure(rt, sup, tree(Strategy::one_for_one, 2, 5s, {worker("b")}))), "ok");
  EXPECT_EQ(failure_of(reconfigure(rt, sup, tree(Strategy::one_for_all, 1, 5s, {worker("a"), worker("b")}))), "ok");
}

TEST_F(Policies, isolated_children_of_a_pool_are_parked_one_by_one) {
  SupervisorSpec spec = tree(Strategy::simple_one_for_one, 0, 60s,
                             {pool_child<Worker, PlanPtr>("c").with(Budget{1, 60s, 10s}).as_isolated()});
  const Pid sup = start(spec);
  auto failing = plan();
  failing->fails = {2};
  const Pid bad = add_to_pool(sup, pool_arguments(failing));
  const Pid good = add_to_pool(sup, pool_arguments(plan()));
  crash(bad);
  EXPECT_EQ(end_of(sup), "alive") << "intensity 0 is not touched";
  EXPECT_EQ(which_children(rt, sup)->back().state, ChildState::parked);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 2}));
  rt.run_for(10s);
  EXPECT_EQ(failing->starts, 3) << "tried again after its time, with its own arguments";
  EXPECT_EQ(counts(sup), (Counts{1, 2, 0, 2}));
  EXPECT_TRUE(alive(good));
}

TEST_F(Policies, a_start_that_fails_while_the_supervisor_starts_is_not_said_to_be_tried_again) {
  auto failing = plan();
  failing->fails = {1};
  SupervisorSpec spec = tree(Strategy::one_for_one, 5, 60s, {worker("a"), worker("b", failing)});
  const auto events = record(spec);
  EXPECT_FALSE(try_start(spec));
  EXPECT_THAT(names(*events), ::testing::ElementsAre("child_started", "child_start_failed", "child_stopped"));
  EXPECT_EQ(event_text((*events)[1]), "error sup: the start of child b failed: planned (2 children)");
}

TEST_F(Policies, backoff_waits_before_the_first_restart_and_resets_after_a_long_life) {
  const Backoff backoff = Backoff::exponential(100ms, 1s);
  const Pid sup = start(tree(Strategy::one_for_one, 100, 60s, {worker("a").with(backoff)}));
  const auto time_down = [&] {
    crash(pid_of(sup, "a"));
    EXPECT_EQ(state_of(sup, "a"), "restarting");
    const Instant before = rt.now();
    while (state_of(sup, "a") != "running") rt.run_for(1ms);
    return rt.now() - before;
  };
  EXPECT_LE(time_down(), 112ms);
  EXPECT_GE(time_down(), 180ms);
  EXPECT_GE(time_down(), 360ms);
  rt.run_for(2s);
  EXPECT_LE(time_down(), 112ms) << "it had run for longer than the longest wait";
}

TEST_F(Policies, warns_once_at_eighty_percent_of_the_intensity) {
  SupervisorSpec spec = tree(Strategy::one_for_one, 5, 60s, {worker("a")});
  const auto events = record(spec);
  const Pid sup = start(spec);
  const auto warnings = [&] { return std::ranges::count(names(*events), "intensity_warning"); };
  for (int n = 0; n < 3; ++n) crash(pid_of(sup, "a"));
  EXPECT_EQ(warnings(), 0);
  crash(pid_of(sup, "a"));
  EXPECT_EQ(warnings(), 1);
  crash(pid_of(sup, "a"));
  EXPECT_EQ(warnings(), 1);
  crash(pid_of(sup, "a"));
  EXPECT_EQ(end_of(sup), "shutdown");
  EXPECT_THAT(names(*events), ::testing::Contains("intensity_exceeded"));
  EXPECT_EQ(names(*events).back(), "supervisor_stopped");
}

TEST_F(Policies, warns_again_only_when_the_intensity_had_been_far_from_used_up) {
  SupervisorSpec spec = tree(Strategy::one_for_one, 5, 50s, {worker("a")});
  const auto events = record(spec);
  const Pid sup = start(spec);
  const auto warnings = [&] { return std::ranges::count(names(*events), "intensity_warning"); };
  // One every 13 s: three lie in the window, then four, again and again.
  for (int n = 0; n < 20; ++n) {
    crash(pid_of(sup, "a"));
    rt.run_for(13s);
  }
  EXPECT_EQ(warnings(), 1) << "it slides along the mark and does not cross it";
  rt.run_for(60s);
  for (int n = 0; n < 4; ++n) crash(pid_of(sup, "a"));
  EXPECT_EQ(warnings(), 2);
  EXPECT_EQ(end_of(sup), "alive");
}

TEST_F(Policies, the_whole_group_is_down_while_one_of_it_backs_off) {
  for (const Strategy strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    const Pid sup =
        start(tree(strategy, 5, 60s, {worker("first"), worker("bad").with(Backoff::fixed(1s)), worker("last")}));
    const Pid first = pid_of(sup, "first");
    crash(pid_of(sup, "bad"));
    const bool all = strategy == Strategy::one_for_all;
    for (int n = 0; n < 8; ++n) {
      EXPECT_EQ(state_of(sup, "bad"), "restarting");
      EXPECT_EQ(state_of(sup, "last"), "down");
      EXPECT_EQ(state_of(sup, "first"), all ? "down" : "running");
      EXPECT_EQ(alive(first), !all);
      rt.run_for(100ms);
    }
    rt.run_for(500ms);
    EXPECT_EQ(counts(sup), (Counts{3, 3, 0, 3}));
    EXPECT_EQ(pid_of(sup, "first") == first, !all);
  }
}

TEST_F(Policies, what_was_restarted_is_down_again_while_a_sibling_backs_off) {
  auto failing = plan();
  failing->fails = {2};
  const Pid sup =
      start(tree(Strategy::one_for_all, 5, 60s, {worker("a"), worker("b", failing).with(Backoff::fixed(1s))}));
  crash(pid_of(sup, "a"));
  EXPECT_EQ(state_of(sup, "b"), "restarting") << "its start failed";
  EXPECT_EQ(state_of(sup, "a"), "down");
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "b")), "ok") << "calls are served meanwhile";
  rt.run_for(1min);
  EXPECT_EQ(counts(sup), (Counts{2, 0, 0, 2})) << "the retry is off";
  EXPECT_TRUE(restart_child(rt, sup, "a"));
  EXPECT_TRUE(restart_child(rt, sup, "b"));
  EXPECT_EQ(end_of(sup), "alive");
}

TEST_F(Policies, events_of_a_sub_supervisor_reach_its_parents_sink) {
  SupervisorSpec below = tree(Strategy::one_for_one, 5, 60s, {worker("deep")});
  below.name = "below";
  SupervisorSpec spec = tree(Strategy::one_for_one, 5, 60s, {supervisor_child("sub", below)});
  const auto events = record(spec);
  const Pid root = start(spec);
  events->clear();
  crash(pid_of(pid_of(root, "sub"), "deep"));
  EXPECT_THAT(names(*events), ::testing::ElementsAre("child_terminated", "child_restarted"));
  EXPECT_EQ(events->front().supervisor, "below");
  EXPECT_THAT(event_json(events->front()), ::testing::HasSubstr(R"("child":"deep")"));
}

TEST_F(Policies, a_window_one_period_old_still_counts) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 1s, {worker("a")}));
  crash(pid_of(sup, "a"));
  rt.run_for(1s);
  crash(pid_of(sup, "a"));
  EXPECT_EQ(end_of(sup), "shutdown") << "exactly one period later";
}

}  // namespace
}  // namespace skein::inline v0::testing
