#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"

// What the dispatcher makes of a swarm's definition: agents of its own, its own breaker, and what it tells of it.
namespace skein::inline v0::dispatch {
namespace {

using ledger::State;

void put_swarm(CoreWorld& world, std::string name, ledger::Fields fields) {
  ASSERT_EQ(world.run(ledger::SwarmPut{std::move(name), ledger::Origin::api, std::move(fields)}).verdict,
            ledger::Verdict::ok);
  world.settle();
}
void submit_to(CoreWorld& world, const std::string& swarm, std::uint64_t n) {
  auto op = world.a_task(n);
  op.spec.swarm = swarm;
  ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
  world.settle();
}
AgentReady member_of(const std::string& swarm) {
  AgentReady ready;
  ready.capabilities = {"work", swarm_capability(swarm)};
  return ready;
}

TEST(DispatcherSwarms, tasks_of_a_swarm_with_an_executor_go_to_its_own_agents_only) {
  CoreWorld world;
  world.begin();
  put_swarm(world, "own", {{"executor", "e"}});
  world.join(1);  // has the capability, and belongs to nobody
  submit_to(world, "own", 1);
  EXPECT_EQ(world.state(1), State::queued);
  world.join(2, member_of("own"));
  EXPECT_EQ(world.where(1), "agent2");
}

TEST(DispatcherSwarms, its_own_agents_get_tasks_with_as_many_capabilities_as_the_ledger_takes) {
  CoreWorld world;
  world.begin();
  put_swarm(world, "own", {{"executor", "e"}});
  AgentReady ready = member_of("own");
  auto op = world.a_task(1);
  op.spec.swarm = "own";
  for (std::uint64_t i = 0; i < ledger::Limits{}.capabilities; ++i) {
    op.spec.capabilities.push_back("can" + std::to_string(i));
    ready.capabilities.push_back(op.spec.capabilities.back());
  }
  world.join(1, std::move(ready));
  ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
  world.settle();
  EXPECT_EQ(world.where(1), "agent1") << "accepted, and nobody ever gets it";
}

TEST(DispatcherSwarms, tasks_of_a_swarm_without_an_executor_go_to_whoever_can) {
  CoreWorld world;
  world.begin();
  put_swarm(world, "shared", {});
  world.join(1);
  submit_to(world, "shared", 1);
  EXPECT_EQ(world.where(1), "agent1");
}

TEST(DispatcherSwarms, a_swarm_that_gets_an_executor_keeps_its_waiting_tasks_for_its_agents) {
  CoreWorld world;
  world.begin();
  put_swarm(world, "late", {});
  submit_to(world, "late", 1);
  put_swarm(world, "late", {{"executor", "e"}});
  world.pass(std::chrono::seconds(2));
  world.join(1);
  world.pass(std::chrono::seconds(1));
  EXPECT_EQ(world.state(1), State::queued);
  world.join(2, member_of("late"));
  EXPECT_EQ(world.where(1), "agent2");
}

TEST(DispatcherSwarms, tells_how_a_swarm_stands) {
  CoreWorld world;
  world.begin();
  EXPECT_FALSE(world.core->swarm_load("own"));
  put_swarm(world, "own", {{"executor", "e"}, {"agents_min", "3"}});
  world.join(1);
  world.join(2, member_of("own"));
  for (std::uint64_t n = 1; n <= 3; ++n) submit_to(world, "own", n);
  const auto load = world.core->swarm_load("own");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->swarm.field("agents_min"), "3");
  EXPECT_EQ(load->tasks, 3U);
  EXPECT_EQ(load->ready, 2U);
  EXPECT_EQ(load->running, 1U);
  ASSERT_EQ(load->agents.size(), 1U);
  EXPECT_EQ(load->agents[0].name, "agent2");
  EXPECT_EQ(load->agents[0].runs, 1U);
  world.crash(2);
  EXPECT_TRUE(world.core->swarm_load("own")->agents.empty());
  EXPECT_EQ(world.core->swarm_load("own")->crashes, 1U);
}

TEST(DispatcherSwarms, tells_what_waits_and_what_it_needs) {
  CoreWorld world;
  world.begin();
  put_swarm(world, "own", {{"executor", "e"}});
  AgentReady ready = member_of("own");
  ready.capacity = 3;
  ready.reports_starts = true;
  world.join(1, ready);
  for (std::uint64_t n = 1; n <= 3; ++n) submit_to(world, "own", n);
  world.start(1, world.ref(1));
  auto op = world.a_task(4, "paint");
  op.spec.swarm = "own";
  ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
  world.settle();
  const auto load = world.core->swarm_load("own");
  ASSERT_EQ(load->agents.size(), 1U);
  EXPECT_EQ(load->agents[0].ahead, 2U);
  ASSERT_EQ(load->needs.size(), 1U);
  EXPECT_EQ(load->needs[0].capabilities, (std::vector<std::string>{"paint", "swarm=own"}));
  EXPECT_EQ(load->needs[0].ready, 1U);
}

TEST(DispatcherSwarms, a_swarm_may_have_a_breaker_of_its_own) {
  CoreWorld world;
  world.begin();
  put_swarm(world, "brittle", {{"breaker_crashes", "2"}, {"breaker_open_ms", "10000"}});
  submit_to(world, "brittle", 1);
  submit_to(world, "brittle", 2);
  world.join(1);
  world.join(2);
  world.crash(1);
  EXPECT_EQ(world.count(DispatchEvent::Kind::breaker_opened), 0U);
  world.crash(2);
  ASSERT_EQ(world.count(DispatchEvent::Kind::breaker_opened), 1U);
  const auto held = world.core->passed_over_types(world.moment);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].subject, "brittle");
  EXPECT_EQ(held[0].type, "work");
  EXPECT_EQ(held[0].until, world.moment.wall + 10'000);
}

TEST(DispatcherSwarms, an_agent_paused_in_the_ledger_gets_nothing_from_any_dispatcher) {
  CoreWorld world;
  world.begin();
  ASSERT_EQ(world.run(ledger::AgentPut{"agent1", {{"paused", "true"}}}).verdict, ledger::Verdict::ok);
  world.settle();
  world.join(1);
  world.submit(1);
  EXPECT_EQ(world.state(1), State::queued) << "it was paused before it came";
  world.restart();  // another dispatcher
  world.join(1);
  EXPECT_EQ(world.state(1), State::queued);
  auto passed_over = world.core->passed_over_agents("agent1", world.moment);
  ASSERT_EQ(passed_over.size(), 1U);
  EXPECT_EQ(passed_over[0].why, PassedOver::Why::paused);
  world.agents.at(1).is_paused = true;  // it was told
  world.beat(1);
  passed_over = world.core->passed_over_agents("agent1", world.moment);
  ASSERT_EQ(passed_over.size(), 1U) << "that it says so is no second reason";
  EXPECT_EQ(passed_over[0].why, PassedOver::Why::paused);
  world.agents.at(1).is_paused = false;
  world.beat(1);
  ASSERT_EQ(world.run(ledger::AgentRemove{"agent1"}).verdict, ledger::Verdict::ok);
  world.settle();
  EXPECT_EQ(world.where(1), "agent1");
}

TEST(DispatcherSwarms, a_removed_swarm_gives_out_what_it_has) {
  CoreWorld world;
  world.begin();
  put_swarm(world, "old", {});
  submit_to(world, "old", 1);
  ASSERT_EQ(world.run(ledger::SwarmSetState{"old", ledger::SwarmState::removed}).verdict, ledger::Verdict::ok);
  world.settle();
  world.join(1);
  EXPECT_EQ(world.where(1), "agent1");
}

}  // namespace
}  // namespace skein::inline v0::dispatch
