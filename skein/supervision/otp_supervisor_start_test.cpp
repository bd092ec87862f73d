// OTP's supervisor, cases 1 to 15: starting.
#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {

using ::testing::IsEmpty;

TEST_F(OtpSupervisor, sup_start_normal) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}));
  EXPECT_TRUE(alive(sup));
  shut_down(sup);
  EXPECT_EQ(end_of(sup), "shutdown");
  ASSERT_EQ(exits().size(), 1U);
  EXPECT_EQ(exits().front(), ExitReason::shutdown());
}

TEST_F(OtpSupervisor, sup_start_ignore_init) {
  const StartResult result = try_start({}, [] { return IgnoreStart{}; });
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ignored());
  EXPECT_THAT(exits(), IsEmpty());
}

TEST_F(OtpSupervisor, sup_start_ignore_child) {
  auto ignoring = plan();
  ignoring->ignores = {1};
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}));
  const auto first = start_child(rt, sup, worker("child1", ignoring));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->ignored());
  ASSERT_TRUE(start_child(rt, sup, worker("child2")));
  EXPECT_EQ(state_of(sup, "child1"), "down");
  EXPECT_EQ(state_of(sup, "child2"), "running");
  EXPECT_EQ(counts(sup), (Counts{2, 1, 0, 2}));
}

TEST_F(OtpSupervisor, sup_start_ignore_temporary_child) {
  auto ignoring = plan();
  ignoring->ignores = {1};
  const Pid sup =
      start(tree(Strategy::one_for_one, 1, 5s,
                 {worker("child1", ignoring).with(Restart::temporary), worker("child2").with(Restart::temporary)}));
  EXPECT_EQ(state_of(sup, "child1"), "absent");
  EXPECT_EQ(state_of(sup, "child2"), "running");
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
}

TEST_F(OtpSupervisor, sup_start_ignore_temporary_child_start_child) {
  auto ignoring = plan();
  ignoring->ignores = {1};
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}));
  const auto first = start_child(rt, sup, worker("child1", ignoring).with(Restart::temporary));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->ignored());
  ASSERT_TRUE(start_child(rt, sup, worker("child2").with(Restart::temporary)));
  EXPECT_EQ(state_of(sup, "child1"), "absent");
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
}

TEST_F(OtpSupervisor, sup_start_ignore_temporary_child_start_child_simple) {
  auto ignoring = plan();
  ignoring->ignores = {1};
  const Pid sup = start(pool(ignoring, Restart::temporary));
  const auto first = start_pool_child(rt, sup);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->ignored());
  EXPECT_TRUE(add_to_pool(sup));
  EXPECT_EQ(counts(sup), (Counts{1, 1, 0, 1}));
}

TEST_F(OtpSupervisor, sup_start_ignore_permanent_child_start_child_simple) {
  auto ignoring = plan();
  ignoring->ignores = {1};
  const Pid sup = start(pool(ignoring));
  const auto first = start_pool_child(rt, sup);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->ignored());
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
  shut_down(sup);
  EXPECT_EQ(end_of(sup), "shutdown");
}

TEST_F(OtpSupervisor, sup_start_error_return) {
  SupervisorSpec bad = tree(static_cast<Strategy>(77), 1, 5s, {});
  const StartResult result = try_start({}, [bad] { return bad; });
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().reason.text(), ::testing::HasSubstr("strategy must be"));
  EXPECT_THAT(exits(), IsEmpty());
}

TEST_F(OtpSupervisor, sup_start_fail) {
  const SupervisorInit failing = []() -> std::variant<SupervisorSpec, IgnoreStart> {
    throw std::runtime_error("no config");
  };
  const StartResult result = try_start({}, failing);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason.kind(), ExitKind::crash);
  EXPECT_EQ(result.error().reason.term(), "no config");
  EXPECT_THAT(exits(), IsEmpty());
}

TEST_F(OtpSupervisor, sup_start_child_returns_error) {
  auto failing = plan();
  failing->fails = {1};
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {}));
  const auto result = start_child(rt, sup, worker("child1", failing));
  ASSERT_EQ(failure_of(result), "start_failed");
  EXPECT_EQ(result.error().reason, ExitReason::custom("planned"));
  EXPECT_EQ(result.error().child, "child1") << "wrapped with the spec it belongs to";
  EXPECT_EQ(counts(sup), (Counts{0, 0, 0, 0}));
}

TEST_F(OtpSupervisor, sup_start_restart_child_returns_error) {
  auto failing = plan();
  failing->fails = {2};
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("child1", failing)}));
  ASSERT_TRUE(terminate_child(rt, sup, "child1"));
  const auto result = restart_child(rt, sup, "child1");
  ASSERT_EQ(failure_of(result), "start_failed");
  EXPECT_EQ(result.error().reason, ExitReason::custom("planned"));
  EXPECT_EQ(state_of(sup, "child1"), "down");
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 1}));
}

TEST_F(OtpSupervisor, sup_start_child_returns_error_simple) {
  auto failing = plan();
  failing->fails = {1};
  const Pid sup = start(pool(failing));
  const auto result = start_pool_child(rt, sup);
  ASSERT_EQ(failure_of(result), "start_failed");
  EXPECT_EQ(result.error().reason, ExitReason::custom("planned"));
  EXPECT_EQ(result.error().child, "") << "a pool does not wrap the reason";
  EXPECT_EQ(counts(sup), (Counts{1, 0, 0, 0}));
}

TEST_F(OtpSupervisor, sup_start_map) {
  ChildSpec plain;
  plain.id = "child1";
  plain.start = start_function<Worker>(plan());
  ChildSpec below = supervisor_child("sub", tree(Strategy::one_for_one, 1, 5s, {}));
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {plain, below}));
  const auto spec = get_childspec(rt, sup, "child1");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->restart, Restart::permanent);
  EXPECT_EQ(spec->shutdown, Shutdown::after(5000ms));
  EXPECT_EQ(spec->type, ChildType::worker);
  EXPECT_FALSE(spec->significant);
  EXPECT_EQ(get_childspec(rt, sup, "sub")->shutdown, Shutdown::infinity());
  EXPECT_EQ(failure_of(get_childspec(rt, sup, "child2")), "not_found");
}

TEST_F(OtpSupervisor, sup_start_map_simple) {
  const Pid sup = start(pool(plan()));
  const Pid first = add_to_pool(sup);
  const Pid second = add_to_pool(sup);
  const auto by_first = get_childspec(rt, sup, first);
  const auto by_second = get_childspec(rt, sup, second);
  ASSERT_TRUE(by_first);
  ASSERT_TRUE(by_second);
  EXPECT_EQ(by_first->id, "c");
  EXPECT_EQ(by_second->id, "c");
  EXPECT_EQ(by_first->restart, Restart::permanent);
  EXPECT_EQ(failure_of(get_childspec(rt, sup, parent)), "not_found");
}

TEST_F(OtpSupervisor, sup_start_map_faulty_specs) {
  ChildSpec no_id = worker("");
  ChildSpec no_start = worker("a");
  no_start.start = nullptr;
  ChildSpec bad = worker("a").with(static_cast<Restart>(9));
  for (const ChildSpec& spec : {no_id, no_start, bad}) {
    EXPECT_FALSE(try_start(tree(Strategy::one_for_one, 1, 5s, {spec})));
  }
  EXPECT_EQ(check_spec(no_id)->field, "id");
  EXPECT_EQ(check_spec(no_start)->field, "start");
  EXPECT_EQ(check_spec(bad)->field, "restart");
  // A struct has no unknown keys: what a supervisor does not use (label) is carried along untouched.
  EXPECT_TRUE(try_start(tree(Strategy::one_for_one, 1, 5s, {worker("a").labelled("anything")})));
  EXPECT_THAT(exits(), IsEmpty());
}

}  // namespace skein::inline v0::testing
