// What users of supervisors were bitten by, beyond OTP's own tests.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {

class Bitten : public SupervisorTest {
 protected:
  // How many processes of type Worker live.
  std::size_t workers() {
    settle();
    const auto all = rt.processes();
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [](const ProcessInfo& each) { return each.type.find("Worker") != std::string_view::npos; }));
  }
};

TEST_F(Bitten, start_function_that_blocks_does_not_outlive_its_killed_supervisor) {
  auto blocking = plan();
  blocking->init_takes = 1h;
  const Pid root = start(tree(Strategy::one_for_one, 5, 60s, {}));
  struct Asker {
    Asker(Self self, Pid sup, PlanPtr how) : sup_(sup), how_(std::move(how)) { self.send(self.pid(), 1); }
    Async<void> handle_info(Self self, Message /*message*/) {
      auto asking = start_child(self, sup_, worker("blocks", how_));
      const StartChildResult result = co_await asking;
      static_cast<void>(result);
    }
    Pid sup_;
    PlanPtr how_;
  };
  rt.spawn<Asker>(root, blocking);
  settle();
  EXPECT_EQ(workers(), 1U) << "it is being started";
  kill(root);
  EXPECT_EQ(end_of(root), "killed");
  EXPECT_EQ(workers(), 0U) << "it died with the supervisor that was starting it";

  // The same a level further down: the supervisor in between waits for the start when its own is killed.
  const Pid top =
      start(tree(Strategy::one_for_one, 5, 60s, {supervisor_child("below", tree(Strategy::one_for_one, 5, 60s, {}))}));
  const Pid below = pid_of(top, "below");
  rt.spawn<Asker>(below, blocking);
  settle();
  EXPECT_EQ(workers(), 1U);
  kill(top);
  EXPECT_EQ(end_of(top), "killed");
  EXPECT_FALSE(alive(below));
  EXPECT_EQ(workers(), 0U) << "a subtree goes with its root at any depth";
}

namespace {

struct ShortLived {
  explicit ShortLived(Self self) { self.stop(ExitReason::custom("too early")); }
};

// As careless start functions do: spawn, and link only when the child may be dead already.
Async<ChildStart> start_then_link(Self self, std::shared_ptr<int> starts) {
  ++*starts;
  const Pid pid = self.spawn<ShortLived>();
  auto sleeping = self.sleep(10ms);
  co_await sleeping;
  self.link(pid);
  co_return ChildStart::ok(pid);
}

struct CarelessStarter {
  std::shared_ptr<int> starts;
  Async<ChildStart> operator()(Self self, const std::any& /*extra*/) const { return start_then_link(self, starts); }
};

}  // namespace

TEST_F(Bitten, child_that_dies_between_its_start_and_the_link_is_noticed) {
  auto starts = std::make_shared<int>(0);
  ChildSpec spec = worker("careless");
  spec.start = CarelessStarter{starts};
  const Pid sup = start(tree(Strategy::one_for_one, 3, 60s, {spec}));
  rt.run_for(1s);
  EXPECT_EQ(*starts, 4) << "one start and three restarts";
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(Bitten, supervisor_killed_in_the_middle_of_one_for_all_leaves_nobody_behind) {
  auto slow = plan("slow");
  slow->slow = 3s;
  const SupervisorSpec below =
      tree(Strategy::one_for_all, 5, 60s, {named_child<Worker>("slow", "slow_name", slow), worker("bad")});
  const Pid root = start(tree(Strategy::one_for_one, 5, 60s, {supervisor_child("sub", below)}));
  const Pid sub = pid_of(root, "sub");
  const Pid old = rt.whereis("slow_name");
  crash(pid_of(sub, "bad"));
  EXPECT_TRUE(alive(old)) << "told to shut down, which takes it 3 s";
  kill(sub);
  EXPECT_EQ(state_of(root, "sub"), "restarting") << "not before the old subtree is dead";
  EXPECT_EQ(slow->starts, 1);
  rt.run_for(4s);
  EXPECT_FALSE(alive(old));
  EXPECT_EQ(state_of(root, "sub"), "running");
  EXPECT_NE(rt.whereis("slow_name"), old);
  EXPECT_EQ(workers(), 2U);
  EXPECT_EQ(slow->starts, 2) << "one start, no attempt that found its name taken";
}

TEST_F(Bitten, child_is_linked_until_it_is_dead_so_that_it_may_finish_when_its_supervisor_is_killed) {
  auto slow = plan("slow");
  slow->slow = 3s;
  const Pid root = start(tree(
      Strategy::one_for_one, 5, 60s,
      {supervisor_child("sub", tree(Strategy::one_for_one, 5, 60s, {worker("a", slow).with(Shutdown::infinity())}))}));
  const Pid sub = pid_of(root, "sub");
  const Pid old = pid_of(sub, "a");
  watch(old);
  EXPECT_EQ(failure_of(terminate_child(rt, sub, "a", 1ms)), "timeout");
  kill(sub);
  EXPECT_EQ(end_of(old), "alive") << "it began to end and is let finish";
  EXPECT_EQ(state_of(root, "sub"), "restarting");
  rt.run_for(4s);
  EXPECT_EQ(end_of(old), "shutdown");
  EXPECT_THAT(*slow->log, ::testing::ElementsAre("start slow", "stop slow", "start slow"));
}

TEST_F(Bitten, restart_storm_with_backoff_serves_terminate_child) {
  auto failing = plan();
  failing->fails_from = 2;
  const Pid sup =
      start(tree(Strategy::one_for_one, 1000, 1s, {worker("a", failing).with(Backoff::exponential()), worker("b")}));
  crash(pid_of(sup, "a"));
  for (int n = 0; n < 20; ++n) {
    rt.run_for(50ms);
    EXPECT_EQ(state_of(sup, "a"), "restarting");
    EXPECT_EQ(counts(sup), (Counts{2, 1, 0, 2}));
  }
  const int before = failing->starts;
  EXPECT_GE(before, 3);
  EXPECT_LE(before, 6) << "100, 200, 400 ms, ...: not a storm any more";
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "a")), "ok");
  EXPECT_EQ(state_of(sup, "a"), "down");
  rt.run_for(10min);
  EXPECT_EQ(failing->starts, before) << "the retry is off";
}

TEST_F(Bitten, constructor_that_throws_on_restart_only_exhausts_the_intensity) {
  auto throwing = plan();
  throwing->throws = {2, 3, 4};
  const Pid sup = start(tree(Strategy::one_for_one, 3, 60s, {worker("a", throwing)}));
  crash(pid_of(sup, "a"));
  EXPECT_EQ(end_of(sup), "shutdown");
  EXPECT_EQ(throwing->starts, 4) << "the fourth attempt would be one too many";

  auto recovering = plan();
  recovering->throws = {2, 3};
  const Pid other = start(tree(Strategy::one_for_one, 3, 60s, {worker("a", recovering)}));
  crash(pid_of(other, "a"));
  EXPECT_EQ(state_of(other, "a"), "running");
}

TEST_F(Bitten, child_that_ignores_shutdown_is_killed) {
  auto stubborn = plan();
  stubborn->slow = 24h;
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("a", stubborn)}));
  const Pid old = pid_of(sup, "a");
  watch(old);
  const Instant before = rt.now();
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "a")), "ok");
  EXPECT_EQ(rt.now() - before, 5000ms);
  EXPECT_EQ(end_of(old), "killed");
}

TEST_F(Bitten, ten_thousand_children_dying_at_once_come_back) {
  const Pid sup = start(pool(plan(), Restart::permanent, 10'000, 60s));
  std::vector<Pid> pids;
  pids.reserve(10'000);
  for (int n = 0; n < 10'000; ++n) pids.push_back(add_to_pool(sup));
  for (const Pid pid : pids) rt.exit(pid, ExitReason::kill());
  settle();
  EXPECT_EQ(counts(sup), (Counts{1, 10'000, 0, 10'000}));
  EXPECT_EQ(workers(), 10'000U);
  crash(which_children(rt, sup)->front().pid);
  EXPECT_EQ(end_of(sup), "shutdown") << "and not one restart more than the intensity allows";
  EXPECT_EQ(workers(), 0U);
}

TEST_F(Bitten, parent_and_child_crashing_at_the_same_instant_come_back_once) {
  auto how = plan();
  const SupervisorSpec below = tree(Strategy::one_for_one, 5, 60s, {named_child<Worker>("w", "w_name", how)});
  const Pid root = start(tree(Strategy::one_for_one, 5, 60s, {supervisor_child("sub", below)}));
  for (int n = 0; n < 5; ++n) {
    const Pid sub = pid_of(root, "sub");
    const Pid child_pid = pid_of(sub, "w");
    rt.exit(child_pid, ExitReason::kill());
    rt.exit(sub, ExitReason::kill());
    settle();
    EXPECT_EQ(state_of(root, "sub"), "running");
    EXPECT_EQ(pid_of(pid_of(root, "sub"), "w"), rt.whereis("w_name"));
    EXPECT_EQ(workers(), 1U);
  }
}

TEST_F(Bitten, reconfiguration_during_a_restart_governs_the_next_attempt) {
  auto failing = plan();
  failing->fails_from = 2;
  auto good = plan();
  const Pid sup = start(tree(Strategy::one_for_one, 100, 1s, {worker("a", failing).with(Backoff::fixed(1s))}));
  crash(pid_of(sup, "a"));
  rt.run_for(1500ms);
  ASSERT_EQ(state_of(sup, "a"), "restarting");
  ASSERT_TRUE(reconfigure(rt, sup, tree(Strategy::one_for_one, 100, 1s, {worker("a", good)})));
  EXPECT_EQ(state_of(sup, "a"), "restarting");
  rt.run_for(2s);
  EXPECT_EQ(state_of(sup, "a"), "running");
  EXPECT_EQ(good->starts, 1);
}

TEST_F(Bitten, stuck_child_under_one_for_all_delays_the_restart_and_is_never_doubled) {
  auto stuck = plan("stuck");
  stuck->slow = 24h;
  const Pid sup =
      start(tree(Strategy::one_for_all, 5, 60s,
                 {named_child<Worker>("stuck", "stuck_name", stuck).with(Shutdown::after(2000ms)), worker("bad")}));
  const Pid old = rt.whereis("stuck_name");
  crash(pid_of(sup, "bad"));
  rt.run_for(1900ms);
  EXPECT_TRUE(rt.is_alive(old));
  EXPECT_EQ(stuck->starts, 1);
  rt.run_for(200ms);
  EXPECT_FALSE(rt.is_alive(old));
  EXPECT_EQ(stuck->starts, 2);
  EXPECT_EQ(counts(sup), (Counts{2, 2, 0, 2}));
}

TEST_F(Bitten, name_taken_by_a_stranger_is_waited_for_and_not_looped_on) {
  struct Thief {
    explicit Thief(Self self) { self.register_name("wanted"); }
  };
  int retries = 0;
  SupervisorSpec spec =
      tree(Strategy::one_for_one, 50, 60s, {named_child<Worker>("a", "wanted", plan()).with(Backoff::fixed(10ms))});
  spec.sink = std::make_shared<const EventSink>([&retries](const SupervisionEvent& event) {
    if (event.kind == EventKind::child_retried) ++retries;
  });
  const Pid sup = start(spec);
  crash(pid_of(sup, "a"));
  const Pid thief = rt.spawn<Thief>();
  settle();
  ASSERT_EQ(rt.whereis("wanted"), thief);
  rt.run_for(1s);
  EXPECT_EQ(state_of(sup, "a"), "restarting");
  EXPECT_GE(retries, 9);
  EXPECT_LE(retries, 11) << "ten a second, not as fast as it can";
  kill(thief);
  rt.run_for(200ms);
  EXPECT_EQ(state_of(sup, "a"), "running");
  EXPECT_EQ(rt.whereis("wanted"), pid_of(sup, "a"));
}

TEST_F(Bitten, queued_messages_die_with_the_old_process_and_callers_get_its_reason) {
  struct Sleeper {
    struct Nap {};
    explicit Sleeper(std::shared_ptr<int> told) : told_(std::move(told)) {}
    Async<int> handle_call(Self self, Nap /*request*/) {
      auto sleeping = self.sleep(1h);
      co_await sleeping;
      co_return 1;
    }
    void handle_info(Self /*self*/, Message /*message*/) { ++*told_; }
    std::shared_ptr<int> told_;
  };
  auto told = std::make_shared<int>(0);
  const Pid sup = start(tree(Strategy::one_for_one, 5, 60s, {named_child<Sleeper>("a", "sleeper", told)}));
  const Pid old = pid_of(sup, "a");
  // Sends it messages while it naps, to its name and to its Pid, then has enough.
  struct Killer {
    Killer(Self self, Pid whom) { self.send_after(1s, self.pid(), whom); }
    void handle_info(Self self, Message message) {
      const auto* whom = message.get_if<Pid>();
      if (whom == nullptr) return;
      for (int n = 0; n < 10; ++n) self.send(n % 2 == 0 ? *whom : self.whereis("sleeper"), n);
      self.exit(*whom, ExitReason::custom("had enough"));
    }
  };
  rt.spawn<Killer>(old);
  const auto answer = rt.call<Sleeper>(old, Sleeper::Nap{}, 1min);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().failure, CallFailure::server_died);
  EXPECT_EQ(answer.error().reason, ExitReason::custom("had enough"));
  EXPECT_EQ(state_of(sup, "a"), "running");
  EXPECT_NE(pid_of(sup, "a"), old);
  EXPECT_EQ(*told, 0) << "neither handled by the old one nor handed to the new one";
  rt.send(rt.whereis("sleeper"), 1);
  settle();
  EXPECT_EQ(*told, 1);
}

TEST_F(Bitten, stranger_that_linked_itself_and_outlives_the_supervisor_does_not_hold_up_its_restart) {
  struct Stranger {
    Stranger(Self self, Pid whom) {
      self.trap_exit(true);
      self.link(whom);
    }
    void handle_info(Self /*self*/, Message /*message*/) {}
  };
  const SupervisorSpec below = tree(Strategy::one_for_one, 5, 60s, {worker("a")});
  const Pid root = start(tree(Strategy::one_for_one, 5, 60s, {supervisor_child("sub", below)}));
  const Pid sub = pid_of(root, "sub");
  const Pid stranger = rt.spawn<Stranger>(sub);
  settle();
  kill(sub);
  rt.run_for(1s);
  EXPECT_TRUE(alive(stranger)) << "it traps exits";
  EXPECT_EQ(state_of(root, "sub"), "running");
  EXPECT_NE(pid_of(root, "sub"), sub);
  EXPECT_EQ(state_of(pid_of(root, "sub"), "a"), "running");
}

TEST(BittenByOrder, killed_subtrees_come_back_whole_in_every_order) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Runtime rt(deterministic(seed));
    const auto leaf = [](const std::string& name) { return named_child<Worker>(name, name, plan()); };
    const SupervisorSpec inner = tree(Strategy::one_for_all, 50, 60s, {leaf("x"), leaf("y")});
    const SupervisorSpec middle = tree(Strategy::rest_for_one, 50, 60s, {leaf("a"), supervisor_child("inner", inner)});
    const Pid root =
        start_supervisor(rt, tree(Strategy::one_for_one, 50, 60s, {supervisor_child("middle", middle), leaf("z")}))
            ->pid;
    Random random(seed);
    for (int n = 0; n < 10; ++n) {
      const auto all = rt.processes();
      const ProcessInfo& victim = all[random.below(all.size())];
      if (victim.pid != root) rt.exit(victim.pid, ExitReason::kill());
      const std::uint64_t steps = random.below(12);
      for (std::uint64_t step = 0; step < steps; ++step) rt.step();
    }
    rt.run_for(1s);
    for (const char* name : {"a", "x", "y", "z"}) ASSERT_TRUE(rt.whereis(name)) << name << " is missing, seed " << seed;
    ASSERT_EQ(rt.process_count(), 7U) << "seed " << seed;
  }
}

}  // namespace skein::inline v0::testing
