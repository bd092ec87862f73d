#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"

// What becomes of a task whose last attempt failed, in a swarm that names a fallback.
namespace skein::inline v0::dispatch {
namespace {

using ledger::ErrorClass;
using ledger::State;
using ::testing::HasSubstr;

// Swarm "default" with agent 1, whose tasks go on to "second", with agents of its own: 2 and whoever joins.
struct DispatcherFallback : testing::Test {
  CoreWorld world;

  void put_swarm(const std::string& name, const ledger::Fields& fields) {
    ASSERT_EQ(world.run(ledger::SwarmPut{name, ledger::Origin::api, fields}).verdict, ledger::Verdict::ok);
    world.settle();
  }
  void begin() {
    world.begin();
    put_swarm("second", {{"executor", "e"}});
    put_swarm("default", {{"fallback", "second"}});
    world.join(1);
  }
  void join_second(std::uint32_t n) {
    AgentReady ready;
    ready.capabilities = {"work", swarm_capability("second")};
    ready.name = "second" + std::to_string(n);
    world.join(n, std::move(ready));
  }
  void submit(std::uint64_t n, std::uint32_t attempts) {
    auto op = world.a_task(n);
    op.spec.attempts_max = attempts;
    ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
    world.settle();
  }
  std::string swarm_of(std::uint64_t n) { return world.task(n).shape->swarm; }
};

TEST_F(DispatcherFallback, the_last_failed_attempt_goes_to_the_fallback_swarm_and_completes_there) {
  begin();
  submit(1, 2);
  world.fail(1, world.ref(1), ErrorClass::transient);
  EXPECT_EQ(swarm_of(1), "default") << "one attempt is left";
  world.pass(std::chrono::seconds(1));
  ASSERT_EQ(world.where(1), "agent1");
  const auto before = world.ref(1);
  world.fail(1, before, ErrorClass::transient);
  EXPECT_EQ(swarm_of(1), "second");
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_FALSE(world.agents[1].held.contains(before)) << "its outcome is settled";
  EXPECT_EQ(world.core->swarm_load("default")->tasks, 0U);
  EXPECT_EQ(world.core->swarm_load("second")->ready, 1U);
  world.pass(std::chrono::seconds(1));
  EXPECT_EQ(world.state(1), State::queued) << "an agent of the first swarm does not get it";
  join_second(2);
  ASSERT_EQ(world.where(1), "second2");
  EXPECT_EQ(world.agents[2].held.begin()->second.attempt, 1U);
  EXPECT_EQ(world.agents[2].held.begin()->second.extras->fallbacks.size(), 1U);
  world.complete(2, world.ref(1));
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.core->counters().fell_back, 1U);
  EXPECT_EQ(world.count(DispatchEvent::Kind::fell_back), 1U);
  EXPECT_EQ(world.core->tasks(), 0U);
}

TEST_F(DispatcherFallback, it_is_given_out_at_once_when_somebody_is_free_there) {
  begin();
  join_second(2);
  submit(1, 1);
  ASSERT_EQ(world.where(1), "agent1");
  world.fail(1, world.ref(1), ErrorClass::resource);
  EXPECT_EQ(world.where(1), "second2");
}

TEST_F(DispatcherFallback, a_permanent_error_is_the_end) {
  begin();
  submit(1, 3);
  world.fail(1, world.ref(1), ErrorClass::permanent);
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_EQ(swarm_of(1), "default");
}

TEST_F(DispatcherFallback, a_crash_as_the_last_failure_hands_it_on) {
  begin();
  submit(1, 1);
  ASSERT_EQ(world.where(1), "agent1");
  world.crash(1);
  EXPECT_EQ(swarm_of(1), "second");
  EXPECT_EQ(world.task(1).history->back().message, "the agent crashed");
  join_second(2);
  EXPECT_EQ(world.where(1), "second2");
}

TEST_F(DispatcherFallback, a_crash_with_attempts_left_goes_to_another_agent_of_the_swarm) {
  begin();
  submit(1, 2);
  world.join(3);
  world.crash(1);
  EXPECT_EQ(world.where(1), "agent3");
}

TEST_F(DispatcherFallback, a_lease_that_expires_as_the_last_failure_hands_it_on) {
  begin();
  submit(1, 1);
  const auto ref = world.ref(1);
  world.pass(std::chrono::seconds(31), false);
  EXPECT_EQ(swarm_of(1), "second");
  EXPECT_EQ(world.task(1).history->back().message, "the lease expired");
  world.complete(1, ref);
  EXPECT_EQ(world.state(1), State::queued) << "whoever comes late has a stale fence";
}

TEST_F(DispatcherFallback, a_timeout_as_the_last_failure_hands_it_on) {
  begin();
  auto op = world.a_task(1);
  op.spec.attempts_max = 1;
  op.spec.timeout_ms = 200;
  ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
  world.pass(std::chrono::milliseconds(500));
  EXPECT_EQ(swarm_of(1), "second");
  EXPECT_EQ(world.task(1).history->back().error, ErrorClass::timeout);
}

TEST_F(DispatcherFallback, a_crash_of_the_node_costs_no_attempt_and_leaves_it_where_it_is) {
  begin();
  submit(1, 1);
  ASSERT_EQ(world.where(1), "agent1");
  world.agents[1].held.clear();
  world.restart();
  world.join(1);
  EXPECT_EQ(swarm_of(1), "default");
  EXPECT_EQ(world.task(1).attempts, 0U);
  EXPECT_EQ(world.where(1), "agent1");
}

TEST_F(DispatcherFallback, a_new_dispatcher_goes_on_with_what_fell_back) {
  begin();
  submit(1, 1);
  world.fail(1, world.ref(1), ErrorClass::transient);
  world.restart();
  join_second(2);
  EXPECT_EQ(world.where(1), "second2");
  EXPECT_EQ(world.core->swarm_load("second")->tasks, 1U);
}

TEST_F(DispatcherFallback, swarms_that_name_each_other_end_at_the_limit) {
  begin();
  put_swarm("second", {{"fallback", "default"}});
  submit(1, 1);
  for (std::size_t i = 0; i <= ledger::k_fallbacks_max; ++i) {
    ASSERT_EQ(world.where(1), "agent1") << i;
    world.fail(1, world.ref(1), ErrorClass::transient);
  }
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_THAT(world.ledger.find(CoreWorld::id_of(1))->finished->message, HasSubstr("handed on 3 times"));
  EXPECT_EQ(world.core->counters().fell_back, ledger::k_fallbacks_max);
}

TEST_F(DispatcherFallback, a_swarm_that_is_not_there_fails_it_with_the_reason) {
  begin();
  put_swarm("default", {{"fallback", "gone"}});
  submit(1, 1);
  world.fail(1, world.ref(1), ErrorClass::transient);
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_THAT(world.ledger.find(CoreWorld::id_of(1))->finished->message, HasSubstr("there is no such swarm"));
  EXPECT_EQ(world.core->tasks(), 0U);
}

TEST_F(DispatcherFallback, a_ledger_that_does_not_know_of_it_fails_the_task_as_before) {
  world.ledger_version = ledger::k_first_ledger_version;
  begin();
  submit(1, 1);
  world.fail(1, world.ref(1), ErrorClass::transient);
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_EQ(world.core->counters().refused_ops, 0U);
}

TEST_F(DispatcherFallback, many_at_once_all_fall_back) {
  begin();
  world.join_wide(1, 100);
  for (std::uint64_t n = 1; n <= 100; ++n) submit(n, 1);
  for (std::uint64_t n = 1; n <= 100; ++n) world.fail(1, world.ref(n), ErrorClass::transient);
  EXPECT_EQ(world.core->swarm_load("second")->ready, 100U);
  join_second(2);
  for (std::uint64_t n = 1; n <= 100; ++n) {
    ASSERT_EQ(world.where(n), "second2");
    world.complete(2, world.ref(n));
  }
  EXPECT_EQ(world.core->tasks(), 0U);
}

}  // namespace
}  // namespace skein::inline v0::dispatch
