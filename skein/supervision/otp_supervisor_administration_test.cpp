// OTP's supervisor, cases 25 to 32: administration.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {

using ::testing::HasSubstr;

TEST_F(OtpSupervisor, child_adm) {
  const Pid sup = start(tree(Strategy::one_for_one, 2, 3600s, {}));
  EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0}));

  const auto started = start_child(rt, sup, worker("child1"));
  ASSERT_TRUE(started);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
  const auto twice = start_child(rt, sup, worker("child1"));
  ASSERT_EQ(failure_of(twice), "already_started");
  EXPECT_EQ(twice.error().pid, started->pid);
  EXPECT_EQ(failure_of(restart_child(rt, sup, "child1")), "running");
  EXPECT_EQ(failure_of(delete_child(rt, sup, "child1")), "running");

  EXPECT_EQ(failure_of(terminate_child(rt, sup, "child1")), "ok");
  EXPECT_FALSE(rt.is_alive(started->pid));
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "child1")), "ok") << "terminating twice is no error";
  EXPECT_EQ(failure_of(start_child(rt, sup, worker("child1"))), "already_present");
  EXPECT_EQ(state_of(sup, "child1"), "down");
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));

  const auto again = restart_child(rt, sup, "child1");
  ASSERT_TRUE(again);
  EXPECT_NE(again->pid, started->pid);
  EXPECT_EQ(failure_of(terminate_child(rt, sup, again->pid)), "not_found") << "a pid is no id";
  EXPECT_EQ(failure_of(restart_child(rt, sup, again->pid)), "not_found");
  EXPECT_EQ(failure_of(delete_child(rt, sup, again->pid)), "not_found");

  ASSERT_TRUE(terminate_child(rt, sup, "child1"));
  EXPECT_EQ(failure_of(delete_child(rt, sup, "child1")), "ok");
  EXPECT_EQ(failure_of(delete_child(rt, sup, "child1")), "not_found");
  EXPECT_EQ(failure_of(restart_child(rt, sup, "child1")), "not_found");
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "child1")), "not_found");
  EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0}));

  ASSERT_TRUE(stop_supervisor(rt, sup));
  EXPECT_EQ(failure_of(start_child(rt, sup, worker("child1"))), "noproc");
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "child1")), "noproc");
  EXPECT_EQ(failure_of(restart_child(rt, sup, "child1")), "noproc");
  EXPECT_EQ(failure_of(delete_child(rt, sup, "child1")), "noproc");
  EXPECT_EQ(which_children(rt, sup).error().failure, ChildFailure::noproc);
  EXPECT_EQ(count_children(rt, sup).error().failure, ChildFailure::noproc);
}

TEST_F(OtpSupervisor, child_adm_simple) {
  const Pid sup = start(pool(plan(), Restart::permanent, 2, 3600s));
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
  const Pid first = add_to_pool(sup);
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
  EXPECT_EQ(which_children(rt, sup)->front().pid, first);
  const Pid second = add_to_pool(sup);
  EXPECT_EQ(counts(sup), (Counts{1, 2, 0, 2}));

  EXPECT_EQ(failure_of(start_child(rt, sup, worker("child1"))), "invalid");
  EXPECT_EQ(failure_of(terminate_child(rt, sup, "c")), "simple_one_for_one");
  EXPECT_EQ(failure_of(restart_child(rt, sup, "c")), "simple_one_for_one");
  EXPECT_EQ(failure_of(delete_child(rt, sup, "c")), "simple_one_for_one");
  EXPECT_EQ(failure_of(terminate_child(rt, sup, parent)), "not_found") << "a living stranger";

  EXPECT_EQ(failure_of(terminate_child(rt, sup, first)), "ok");
  EXPECT_FALSE(rt.is_alive(first));
  EXPECT_EQ(failure_of(terminate_child(rt, sup, first)), "ok") << "it is dead, which is what was asked for";
  EXPECT_EQ(failure_of(terminate_child(rt, sup, second)), "ok");
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
}

namespace {

Async<ChildStart> start_with_info(Self self, PlanPtr how) {
  SpawnOptions options;
  options.link = true;
  auto starting = self.start<Worker>(options, how);
  const StartResult result = co_await starting;
  if (!result) co_return ChildStart::error(result.error().reason);
  co_return ChildStart::ok(result->pid, std::any(std::string("extra")));
}

struct InfoStarter {
  PlanPtr how;
  Async<ChildStart> operator()(Self self, const std::any& /*extra*/) const { return start_with_info(self, how); }
};

}  // namespace

TEST_F(OtpSupervisor, extra_return) {
  ChildSpec spec = worker("child1");
  spec.start = InfoStarter{plan()};
  const Pid sup = start(tree(Strategy::one_for_one, 2, 3600s, {spec}));
  const Pid first = pid_of(sup, "child1");
  ASSERT_TRUE(terminate_child(rt, sup, "child1"));
  const auto again = restart_child(rt, sup, "child1");
  ASSERT_TRUE(again);
  EXPECT_EQ(std::any_cast<std::string>(again->info), "extra");
  crash(again->pid);
  const Pid third = pid_of(sup, "child1");
  EXPECT_TRUE(third) << "restarted by itself";
  EXPECT_NE(third, again->pid);
  EXPECT_NE(third, first);
  ASSERT_TRUE(terminate_child(rt, sup, "child1"));
  ASSERT_TRUE(delete_child(rt, sup, "child1"));
  const auto fresh = start_child(rt, sup, spec);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(std::any_cast<std::string>(fresh->info), "extra");
}

TEST_F(OtpSupervisor, child_specs) {
  const auto field_of = [](const ChildSpec& spec) {
    const auto fault = check_spec(spec);
    return fault ? fault->field : "fine";
  };
  ChildSpec no_start = worker("a");
  no_start.start = nullptr;
  ChildSpec bad_type = worker("a");
  bad_type.type = static_cast<ChildType>(5);
  EXPECT_EQ(field_of(worker("")), "id");
  EXPECT_EQ(field_of(no_start), "start");
  EXPECT_EQ(field_of(worker("a").with(static_cast<Restart>(5))), "restart");
  EXPECT_EQ(field_of(worker("a").with(Shutdown::after(-1ms))), "shutdown");
  EXPECT_EQ(field_of(bad_type), "type");
  EXPECT_EQ(field_of(worker("a").as_significant()), "significant");
  EXPECT_EQ(field_of(worker("a").with(Backoff::fixed(-1s))), "backoff");
  EXPECT_EQ(field_of(worker("a").with(Budget{1, 0s, 1s})), "budget");

  int valid = 0;
  for (const Restart restart : {Restart::permanent, Restart::transient, Restart::temporary}) {
    for (const auto& shutdown : {std::optional<Shutdown>{}, std::optional(Shutdown::brutal_kill()),
                                 std::optional(Shutdown::after(1ms)), std::optional(Shutdown::infinity())}) {
      for (const ChildType type : {ChildType::worker, ChildType::supervisor}) {
        for (const Backoff& backoff :
             {Backoff::none(), Backoff::fixed(1s), Backoff::linear(), Backoff::exponential()}) {
          ChildSpec spec = worker("a").with(restart).with(backoff);
          spec.shutdown = shutdown;
          spec.type = type;
          EXPECT_EQ(field_of(spec), "fine");
          ++valid;
        }
      }
    }
  }
  EXPECT_EQ(valid, 96);

  const SupervisorFlags flags;
  EXPECT_EQ(check_specs(flags, std::vector{worker("a"), worker("a")})->field, "id");
  SupervisorFlags pool_flags;
  pool_flags.strategy = Strategy::simple_one_for_one;
  EXPECT_EQ(check_specs(pool_flags, std::vector<ChildSpec>{})->field, "children");
  EXPECT_EQ(check_specs(pool_flags, std::vector{worker("a"), worker("b")})->field, "children");
  EXPECT_FALSE(check_specs(pool_flags, std::vector{worker("a")}));

  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}));
  const auto refused = start_child(rt, sup, no_start);
  ASSERT_EQ(failure_of(refused), "invalid");
  EXPECT_THAT(refused.error().message, HasSubstr("start function"));
}

TEST_F(OtpSupervisor, child_specs_map) {
  for (const bool significant : {false, true}) {
    for (const Restart restart : {Restart::permanent, Restart::transient, Restart::temporary}) {
      for (const AutoShutdown mode :
           {AutoShutdown::never, AutoShutdown::any_significant, AutoShutdown::all_significant}) {
        ChildSpec spec = worker("a").with(restart);
        spec.significant = significant;
        const bool fine = !significant || (restart != Restart::permanent && mode != AutoShutdown::never);
        const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}, mode));
        EXPECT_EQ(failure_of(start_child(rt, sup, spec)), fine ? "ok" : "invalid");
        EXPECT_EQ(try_start(tree(Strategy::one_for_one, 1, 5s, {spec}, mode)).has_value(), fine);
      }
    }
  }
}

TEST_F(OtpSupervisor, sup_flags) {
  const auto field_of = [](SupervisorFlags flags) {
    const auto fault = check_flags(flags);
    return fault ? fault->field : "fine";
  };
  EXPECT_EQ(field_of({static_cast<Strategy>(50), 1, 5s, AutoShutdown::never}), "strategy");
  EXPECT_EQ(field_of({Strategy::one_for_one, k_intensity_max + 1, 5s, AutoShutdown::never}), "intensity");
  EXPECT_EQ(field_of({Strategy::one_for_one, 1, 0s, AutoShutdown::never}), "period");
  EXPECT_EQ(field_of({Strategy::one_for_one, 1, -1s, AutoShutdown::never}), "period");
  EXPECT_EQ(field_of({Strategy::one_for_one, 1, 5s, static_cast<AutoShutdown>(9)}), "auto_shutdown");
  EXPECT_EQ(field_of({Strategy::simple_one_for_one, 1, 5s, AutoShutdown::any_significant}), "auto_shutdown");
  EXPECT_EQ(field_of({Strategy::one_for_one, 0, 1ms, AutoShutdown::all_significant}), "fine");
  EXPECT_EQ(field_of({}), "fine");
  // Nothing can be set that the struct does not have, so there are no unknown flags to ignore.
  SupervisorSpec bad = tree(Strategy::one_for_one, 1, 0s, {});
  const StartResult refused = try_start(bad);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().reason.text(), HasSubstr("period must be more than 0"));
}

TEST_F(OtpSupervisor, multiple_restarts) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 1s, {worker("child1")}));
  for (int n = 0; n < 3; ++n) {
    const Pid before = pid_of(sup, "child1");
    crash(before);
    EXPECT_NE(pid_of(sup, "child1"), before);
    rt.run_for(2100ms);
  }
  EXPECT_TRUE(alive(sup));
}

TEST_F(OtpSupervisor, auto_hibernate) {
  const Pid sup = start(tree(Strategy::one_for_one, 5, 3600s, {worker("child1")}));
  const auto view = detail::find_view(rt, sup);
  ASSERT_NE(view, nullptr);
  rt.run_for(10s);
  const std::uint64_t after_init = view->memory_releases;
  EXPECT_GE(after_init, 1U);
  rt.run_for(60s);
  EXPECT_EQ(view->memory_releases, after_init) << "once is enough while nothing happens";
  EXPECT_TRUE(count_children(rt, sup));
  rt.run_for(10s);
  const std::uint64_t after_call = view->memory_releases;
  EXPECT_GT(after_call, after_init);
  crash(pid_of(sup, "child1"));
  rt.run_for(10s);
  EXPECT_GT(view->memory_releases, after_call);
  EXPECT_EQ(state_of(sup, "child1"), "running");
}

}  // namespace skein::inline v0::testing
