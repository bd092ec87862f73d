// OTP's supervisor, cases 74 to 85: counts, temporary children, names, hanging restarts.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {
namespace {

// Starts well once, then every attempt takes 2 s and fails.
PlanPtr hanging() {
  auto made = plan();
  made->fails_from = 2;
  made->failing_takes = 2s;
  return made;
}

constexpr Restart k_temporary = Restart::temporary;

}  // namespace

TEST_F(OtpSupervisor, count_children) {
  const Pid sup = start(pool(plan(), k_temporary));
  std::vector<Pid> pids;
  pids.reserve(2000);
  for (int n = 0; n < 1000; ++n) pids.push_back(add_to_pool(sup));
  EXPECT_EQ(counts(sup), (Counts{1, 1000, 0, 1000}));
  for (int n = 0; n < 1000; ++n) pids.push_back(add_to_pool(sup));
  EXPECT_EQ(counts(sup), (Counts{1, 2000, 0, 2000}));
  for (const Pid pid : pids) rt.send(pid, Die{ExitReason::custom("odd")});
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
}

TEST_F(OtpSupervisor, count_children_supervisor) {
  SupervisorSpec spec = pool(plan(), k_temporary);
  spec.children.front().type = ChildType::supervisor;
  const Pid sup = start(spec);
  std::vector<Pid> pids;
  pids.reserve(2000);
  for (int n = 0; n < 1000; ++n) pids.push_back(add_to_pool(sup));
  EXPECT_EQ(counts(sup), (Counts{1, 1000, 1000, 0}));
  for (int n = 0; n < 1000; ++n) pids.push_back(add_to_pool(sup));
  EXPECT_EQ(counts(sup), (Counts{1, 2000, 2000, 0}));
  for (const Pid pid : pids) rt.exit(pid, ExitReason::kill());
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
}

TEST_F(OtpSupervisor, count_restarting_children) {
  const Pid sup = start(tree(Strategy::simple_one_for_one, 8, 1s, {pool_child<Worker, PlanPtr>("c")}));
  const Pid first = add_to_pool(sup, pool_arguments(hanging()));
  const Pid second = add_to_pool(sup, pool_arguments(hanging()));
  const Pid third = add_to_pool(sup, pool_arguments(plan()));
  EXPECT_EQ(counts(sup), (Counts{1, 3, 0, 3}));
  crash(first);
  EXPECT_EQ(counts(sup), (Counts{1, 2, 0, 3}));
  crash(second);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 3}));
  ASSERT_TRUE(terminate_child(rt, sup, third));
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 2}));
  ASSERT_TRUE(terminate_child(rt, sup, first));
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));
  ASSERT_TRUE(terminate_child(rt, sup, second));
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
}

TEST_F(OtpSupervisor, get_callback_module) {
  // A C++ supervisor has no callback module; the nearest is the name its spec gives it.
  SupervisorSpec spec = tree(Strategy::one_for_one, 1, 5s, {});
  spec.name = "core_sup";
  const Pid sup = start(spec);
  const auto name = supervisor_name(rt, sup);
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, "core_sup");
}

TEST_F(OtpSupervisor, do_not_save_start_parameters_for_temporary_children) {
  for (const Strategy strategy : {Strategy::one_for_one, Strategy::one_for_all, Strategy::rest_for_one}) {
    const Pid sup = start(tree(strategy, 1, 5s, {}));
    auto kept = plan();
    auto dropped = plan();
    ASSERT_TRUE(start_child(rt, sup, worker("permanent", kept)));
    ASSERT_TRUE(start_child(rt, sup, worker("temporary", dropped).with(k_temporary)));
    settle();
    EXPECT_EQ(kept.use_count(), 3) << "the test, the worker and the supervisor";
    EXPECT_EQ(dropped.use_count(), 2) << "the test and the worker";
  }
  const Pid sup =
      start(tree(Strategy::simple_one_for_one, 1, 5s, {pool_child<Worker, PlanPtr>("c").with(k_temporary)}));
  auto dropped = plan();
  add_to_pool(sup, pool_arguments(dropped));
  settle();
  EXPECT_EQ(dropped.use_count(), 2);
}

TEST_F(OtpSupervisor, do_not_save_child_specs_for_temporary_children) {
  for (const Strategy strategy : {Strategy::one_for_one, Strategy::one_for_all, Strategy::rest_for_one}) {
    const Pid sup = start(tree(strategy, 1, 5s, {}));
    const ChildSpec spec = worker("child1").with(k_temporary);
    for (const char* how : {"kill", "normal", "abnormal", "api"}) {
      const auto started = start_child(rt, sup, spec);
      ASSERT_TRUE(started) << how;
      const std::string_view end = how;
      if (end == "kill") kill(started->pid);
      if (end == "normal") die(started->pid, ExitReason::normal());
      if (end == "abnormal") die(started->pid, ExitReason::custom("odd"));
      if (end == "api") {
        EXPECT_TRUE(terminate_child(rt, sup, "child1"));
      }
      EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0})) << how;
      EXPECT_EQ(failure_of(restart_child(rt, sup, "child1")), "not_found") << how;
    }
  }
}

TEST_F(OtpSupervisor, simple_one_for_one_scale_many_temporary_children) {
  const auto time_for = [&](int many) {
    const Pid sup = start(pool(plan(), k_temporary));
    std::vector<Pid> pids;
    pids.reserve(static_cast<std::size_t>(many));
    for (int n = 0; n < many; ++n) pids.push_back(add_to_pool(sup));
    const Duration before = cpu_time();
    for (const Pid pid : pids) EXPECT_TRUE(terminate_child(rt, sup, pid));
    return cpu_time() - before;
  };
  time_for(1000);
  const Duration few = std::max(time_for(1000), Duration(100'000));
  const Duration many = time_for(10'000);
  EXPECT_LT(many, 20 * few) << "OTP's own test allows 50";
}

TEST_F(OtpSupervisor, temporary_bystander) {
  for (const Strategy strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    const Pid sup = start(tree(strategy, 10, 300s, {worker("child1"), worker("child2").with(k_temporary)}));
    const Pid bystander = pid_of(sup, "child2");
    watch(bystander);
    crash(pid_of(sup, "child1"));
    EXPECT_EQ(end_of(bystander), "shutdown");
    EXPECT_TRUE(alive(sup));
    EXPECT_EQ(state_of(sup, "child1"), "running");
    EXPECT_EQ(state_of(sup, "child2"), "absent");
  }
}

TEST_F(OtpSupervisor, simple_global_supervisor) {
  const Pid sup = start(tree(
      Strategy::one_for_one, 4, 3600s,
      {named_child<Worker>("child1", "first_name", plan()), named_child<Worker>("child2", "second_name", plan())}));
  const auto both_up = [&] {
    return rt.whereis("first_name") == pid_of(sup, "child1") && rt.whereis("second_name") == pid_of(sup, "child2") &&
           counts(sup) == Counts{2, 2, 0, 2};
  };
  EXPECT_TRUE(both_up());
  kill(rt.whereis("first_name"));
  EXPECT_TRUE(both_up());
  die(rt.whereis("first_name"), ExitReason::normal());
  EXPECT_TRUE(both_up());
  ASSERT_TRUE(terminate_child(rt, sup, "child1"));
  EXPECT_FALSE(rt.whereis("first_name"));
  ASSERT_TRUE(restart_child(rt, sup, "child1"));
  EXPECT_TRUE(both_up());
}

TEST_F(OtpSupervisor, hanging_restart_loop) {
  for (const char* strategy : {"one_for_one", "one_for_all"}) {
    const Strategy chosen = std::string_view(strategy) == "one_for_one" ? Strategy::one_for_one : Strategy::one_for_all;
    const Pid sup = start(tree(chosen, 8, 1s, {worker("child1", hanging())}));
    crash(pid_of(sup, "child1"));
    EXPECT_EQ(failure_of(start_child(rt, sup, worker("child1"))), "already_present");
    EXPECT_EQ(state_of(sup, "child1"), "restarting");
    EXPECT_EQ(failure_of(restart_child(rt, sup, "child1")), "restarting");
    EXPECT_EQ(failure_of(delete_child(rt, sup, "child1")), "restarting");
    EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));
    rt.run_for(20s);
    EXPECT_EQ(state_of(sup, "child1"), "restarting") << "it keeps trying";
    EXPECT_EQ(failure_of(terminate_child(rt, sup, "child1")), "ok");
    EXPECT_EQ(state_of(sup, "child1"), "down");
    rt.run_for(20s);
    EXPECT_EQ(state_of(sup, "child1"), "down") << "the retry is cancelled";

    const Pid second = start(tree(chosen, 8, 1s, {worker("child1", hanging())}));
    crash(pid_of(second, "child1"));
    shut_down(second);
    rt.run_for(5s);
    EXPECT_EQ(end_of(second), "shutdown");
  }
}

TEST_F(OtpSupervisor, hanging_restart_loop_rest_for_one) {
  const Pid sup =
      start(tree(Strategy::rest_for_one, 8, 1s, {worker("child1"), worker("child2", hanging()), worker("child3")}));
  const Pid first = pid_of(sup, "child1");
  const Pid third = pid_of(sup, "child3");
  crash(pid_of(sup, "child2"));
  EXPECT_EQ(failure_of(start_child(rt, sup, worker("child2"))), "already_present");
  EXPECT_EQ(state_of(sup, "child2"), "restarting");
  EXPECT_EQ(state_of(sup, "child3"), "down");
  EXPECT_FALSE(alive(third));
  EXPECT_EQ(pid_of(sup, "child1"), first);
  EXPECT_EQ(failure_of(restart_child(rt, sup, "child2")), "restarting");
  EXPECT_EQ(counts(sup), (Counts{3, 1, 0, 3}));
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "child2")), "ok");
  EXPECT_EQ(state_of(sup, "child2"), "down");
  EXPECT_EQ(state_of(sup, "child3"), "down");
  EXPECT_TRUE(alive(first));
  shut_down(sup);
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, hanging_restart_loop_simple) {
  const Pid sup = start(pool(hanging(), Restart::permanent, 8, 1s));
  const Pid first = add_to_pool(sup);
  crash(first);
  rt.run_for(5s);
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));
  EXPECT_EQ(which_children(rt, sup)->front().state, ChildState::restarting);
  EXPECT_EQ(failure_of(restart_child(rt, sup, "c")), "simple_one_for_one");
  EXPECT_EQ(failure_of(terminate_child(rt, sup, first)), "ok") << "by the pid it had";
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
  rt.run_for(5s);
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
}

}  // namespace skein::inline v0::testing
