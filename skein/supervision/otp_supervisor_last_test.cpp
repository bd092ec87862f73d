// OTP's supervisor, cases 86 to 96: reconfiguration, order, scale, reports, which_children.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(OtpSupervisor, code_change) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 3600s, {worker("child1"), worker("gone")}));
  const Pid first = pid_of(sup, "child1");
  const Pid gone = pid_of(sup, "gone");
  const auto view = detail::find_view(rt, sup);

  const SupervisorSpec changed =
      tree(Strategy::rest_for_one, 4, 60s, {worker("child1").with(Shutdown::after(10ms)), worker("fresh")});
  ASSERT_EQ(failure_of(reconfigure(rt, sup, changed)), "ok");
  EXPECT_EQ(view->flags, changed.flags);
  EXPECT_EQ(pid_of(sup, "child1"), first) << "it runs on";
  EXPECT_EQ(get_childspec(rt, sup, "child1")->shutdown, Shutdown::after(10ms));
  EXPECT_EQ(pid_of(sup, "gone"), gone) << "a spec that is no longer mentioned is kept";
  EXPECT_EQ(state_of(sup, "fresh"), "down") << "a new one is not started";
  EXPECT_TRUE(restart_child(rt, sup, "fresh"));

  SupervisorSpec faulty = changed;
  faulty.flags.period = 0s;
  faulty.flags.intensity = 9;
  EXPECT_EQ(failure_of(reconfigure(rt, sup, faulty)), "invalid");
  faulty = changed;
  faulty.children.push_back(worker("child1"));
  EXPECT_EQ(failure_of(reconfigure(rt, sup, faulty)), "invalid");
  EXPECT_EQ(view->flags, changed.flags) << "nothing of a faulty one is taken";
  EXPECT_EQ(counts(sup), (Counts{3, 3, 0, 3}));
}

TEST_F(OtpSupervisor, code_change_map) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 3600s, {worker("child1"), worker("child2")}));
  ASSERT_TRUE(reconfigure(rt, sup, tree(Strategy::one_for_one, 3, 3600s, {worker("child1").with(Restart::transient)})));
  die(pid_of(sup, "child1"), ExitReason::normal());
  EXPECT_EQ(state_of(sup, "child1"), "down") << "the new restart type governs";
  for (int n = 0; n < 3; ++n) crash(pid_of(sup, "child2"));
  EXPECT_EQ(end_of(sup), "alive") << "the new intensity governs";
  crash(pid_of(sup, "child2"));
  EXPECT_EQ(end_of(sup), "shutdown");

  const Pid other = start(tree(Strategy::one_for_one, 1, 3600s, {worker("a")}));
  SupervisorSpec bad = tree(Strategy::one_for_one, 1, 3600s, {worker("a").with(Restart::transient).as_significant()});
  EXPECT_EQ(failure_of(reconfigure(rt, other, bad)), "invalid");
  EXPECT_EQ(failure_of(reconfigure(rt, other, pool(plan()))), "invalid") << "it can't become a pool";
  EXPECT_EQ(get_childspec(rt, other, "a")->restart, Restart::permanent);
}

TEST_F(OtpSupervisor, code_change_simple) {
  const Pid sup = start(pool(plan(), Restart::permanent, 5, 3600s));
  const Pid first = add_to_pool(sup);
  ASSERT_EQ(failure_of(reconfigure(rt, sup, pool(plan(), Restart::transient, 5, 3600s))), "ok");
  EXPECT_TRUE(alive(first));
  EXPECT_EQ(get_childspec(rt, sup, first)->restart, Restart::transient);
  die(first, ExitReason::normal());
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0})) << "as a transient one it is dropped";
}

TEST_F(OtpSupervisor, code_change_simple_map) {
  const Pid sup = start(pool(plan(), Restart::permanent, 5, 3600s));
  SupervisorSpec two = pool(plan());
  two.children.push_back(worker("d"));
  EXPECT_EQ(failure_of(reconfigure(rt, sup, two)), "invalid") << "adding a spec";
  SupervisorSpec none = pool(plan());
  none.children.clear();
  EXPECT_EQ(failure_of(reconfigure(rt, sup, none)), "invalid") << "removing it";
  auto replaced = plan();
  ASSERT_TRUE(reconfigure(rt, sup, pool(replaced, Restart::permanent, 5, 3600s)));
  add_to_pool(sup);
  EXPECT_EQ(replaced->starts, 1) << "new children are made from the new template";
}

TEST_F(OtpSupervisor, order_of_children) {
  for (const Strategy strategy : {Strategy::one_for_one, Strategy::rest_for_one}) {
    auto log = std::make_shared<std::vector<std::string>>();
    std::vector<ChildSpec> specs;
    for (const char* name : {"1", "2", "3", "4", "5"}) {
      auto how = plan(name);
      how->traps = true;
      how->log = log;
      specs.push_back(worker(name, how));
    }
    const Pid sup = start(tree(strategy, 3, 3600s, specs));
    EXPECT_THAT(*log, ElementsAre("start 1", "start 2", "start 3", "start 4", "start 5"));
    if (strategy == Strategy::rest_for_one) {
      log->clear();
      kill(pid_of(sup, "3"));
      EXPECT_THAT(*log, ElementsAre("stop 5", "stop 4", "start 3", "start 4", "start 5"));
    }
    log->clear();
    shut_down(sup);
    EXPECT_THAT(*log, ElementsAre("stop 5", "stop 4", "stop 3", "stop 2", "stop 1"));
  }
}

TEST_F(OtpSupervisor, scale_start_stop_many_children) {
  const auto time_for = [&](int many) {
    const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}));
    const PlanPtr how = plan();
    const Duration before = cpu_time();
    for (int n = 0; n < many; ++n) EXPECT_TRUE(start_child(rt, sup, worker(std::to_string(n), how)));
    EXPECT_TRUE(stop_supervisor(rt, sup));
    EXPECT_EQ(how->starts, many);
    return cpu_time() - before;
  };
  time_for(1000);
  const Duration few = time_for(1000);
  const Duration many = time_for(100'000);
  EXPECT_LT(many, 300 * few) << "100 times the children";
}

// What else must not grow with the square of the children.
TEST_F(OtpSupervisorMore, scale_kill_many_children) {
  struct Idle {
    void handle_info(Self /*self*/, Message /*message*/) {}
  };
  const auto time_for = [&](int many) {
    const SupervisorSpec below = tree(Strategy::simple_one_for_one, 1, 5s, {pool_child<Idle>("c")});
    const Pid root = start(tree(Strategy::one_for_one, 5, 60s, {supervisor_child("pool", below)}));
    const Pid killed = pid_of(root, "pool");
    for (int n = 0; n < many; ++n) add_to_pool(killed, pool_arguments());
    const Duration before = cpu_time();
    kill(killed);
    EXPECT_EQ(state_of(root, "pool"), "running") << "when what was left of it is dead";
    const Duration spent = cpu_time() - before;
    EXPECT_TRUE(stop_supervisor(rt, root));
    return spent;
  };
  time_for(1000);
  const Duration few = std::max({time_for(2000), time_for(2000), Duration(100'000)});
  EXPECT_LT(time_for(40'000), 200 * few) << "20 times the children; by the square it would be 400";
}

TEST_F(OtpSupervisorMore, scale_one_for_all_with_all_dead_at_once) {
  const auto time_for = [&](int many) {
    std::vector<ChildSpec> children;
    for (int n = 0; n < many; ++n) children.push_back(worker(std::to_string(n)));
    const Pid sup = start(tree(Strategy::one_for_all, 1, 5s, std::move(children)));
    const auto all = which_children(rt, sup);
    const Duration before = cpu_time();
    for (const ChildInfo& each : *all) rt.exit(each.pid, ExitReason::kill());
    settle();
    const Duration spent = cpu_time() - before;
    EXPECT_EQ(count_children(rt, sup)->active, static_cast<std::uint64_t>(many));
    EXPECT_TRUE(stop_supervisor(rt, sup));
    return spent;
  };
  time_for(1000);
  const Duration few = std::max({time_for(1000), time_for(1000), Duration(100'000)});
  EXPECT_LT(time_for(20'000), 100 * few) << "20 times the children; by the square it would be 400";
}

TEST_F(OtpSupervisor, format_log_1) {
  SupervisionEvent event;
  event.kind = EventKind::child_terminated;
  event.level = EventLevel::error;
  event.supervisor = "core";
  event.child = "db";
  event.reason = ExitReason::shutdown(
      "outer", ExitReason::shutdown("middle", ExitReason::crash("std::runtime_error", "innermost", "Db: init")));
  EventFormat format;
  const std::string whole = event_text(event, format);
  EXPECT_THAT(whole, HasSubstr("outer"));
  EXPECT_THAT(whole, HasSubstr("innermost"));
  format.depth = 2;
  const std::string two = event_text(event, format);
  EXPECT_THAT(two, HasSubstr("middle"));
  EXPECT_THAT(two, HasSubstr("..."));
  EXPECT_THAT(two, Not(HasSubstr("innermost")));
  format.depth = 1;
  const std::string one = event_text(event, format);
  EXPECT_THAT(one, HasSubstr("outer"));
  EXPECT_THAT(one, Not(HasSubstr("middle")));
}

TEST_F(OtpSupervisor, format_log_2) {
  SupervisionEvent event;
  event.kind = EventKind::child_terminated;
  event.level = EventLevel::error;
  event.supervisor = "core";
  event.child = "db";
  event.children = 17;
  event.reason = ExitReason::custom("first line\nsecond line");
  const std::string line = event_text(event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_THAT(line, HasSubstr("first line second line"));
  EXPECT_THAT(line, HasSubstr("(17 children)"));
  EXPECT_EQ(line.substr(0, 21), "error core: child db ");
  EventFormat several;
  several.single_line = false;
  EXPECT_NE(event_text(event, several).find('\n'), std::string::npos);
  EventFormat limited;
  limited.max_chars = 30;
  const std::string cut = event_text(event, limited);
  EXPECT_EQ(cut.size(), 30U);
  EXPECT_THAT(cut, ::testing::EndsWith("..."));
}

TEST_F(OtpSupervisor, already_started_outside_supervisor) {
  SpawnOptions options;
  options.name = "taken";
  const StartResult outside = rt.start<Worker>(options, plan());
  ASSERT_TRUE(outside);
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}));
  const auto refused = start_child(rt, sup, named_child<Worker>("child1", "taken", plan()));
  ASSERT_EQ(failure_of(refused), "already_started");
  EXPECT_EQ(refused.error().pid, outside->pid);
  EXPECT_EQ(refused.error().child, "") << "not wrapped with the spec";
  EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0}));
  EXPECT_TRUE(alive(outside->pid));
}

TEST_F(OtpSupervisor, which_children) {
  const Pid sup = start(tree(Strategy::one_for_one, 8, 1s, {}));
  EXPECT_THAT(*which_children(rt, sup), IsEmpty());
  auto hanging = plan();
  hanging->fails_from = 2;
  hanging->failing_takes = 2s;
  const auto first = start_child(rt, sup, worker("child1", hanging));
  const auto second = start_child(rt, sup, supervisor_child("child2", tree(Strategy::one_for_one, 1, 5s, {})));
  auto all = which_children(rt, sup);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].id, "child2") << "newest first";
  EXPECT_EQ((*all)[0].pid, second->pid);
  EXPECT_EQ((*all)[0].type, ChildType::supervisor);
  EXPECT_EQ((*all)[1].id, "child1");
  EXPECT_EQ((*all)[1].pid, first->pid);
  EXPECT_EQ((*all)[1].state, ChildState::running);
  crash(first->pid);
  all = which_children(rt, sup);
  EXPECT_EQ((*all)[1].state, ChildState::restarting);
  EXPECT_FALSE((*all)[1].pid);
  ASSERT_TRUE(terminate_child(rt, sup, "child1"));
  all = which_children(rt, sup);
  EXPECT_EQ((*all)[1].state, ChildState::down);
  ASSERT_TRUE(delete_child(rt, sup, "child1"));
  all = which_children(rt, sup);
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().id, "child2");
}

TEST_F(OtpSupervisor, which_children_simple_one_for_one) {
  const Pid sup = start(pool(plan(), Restart::permanent, 5, 3600s));
  EXPECT_THAT(*which_children(rt, sup), IsEmpty());
  const Pid first = add_to_pool(sup);
  const Pid second = add_to_pool(sup);
  auto all = which_children(rt, sup);
  ASSERT_EQ(all->size(), 2U);
  for (const ChildInfo& each : *all) {
    EXPECT_EQ(each.id, "") << "a pool's children have no id";
    EXPECT_EQ(each.state, ChildState::running);
    EXPECT_THAT(each.pid, ::testing::AnyOf(first, second));
  }
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "c")), "simple_one_for_one") << "only by pid";
  ASSERT_TRUE(terminate_child(rt, sup, first));
  all = which_children(rt, sup);
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().pid, second);
}

}  // namespace skein::inline v0::testing
