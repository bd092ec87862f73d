#include "skein/dispatch/agent_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ChoiceWorld : RoutedRuleWorld {
  AgentHandle handle(SlotNumber its_agent) { return *tables.agents[its_agent].handle; }
  // Pinned to an agent, in the lane of that agent.
  TaskRecord& pinned_to(const std::string& name) {
    TaskRecord& record = tables.tasks[task(own)];
    record.extras = extras_with(pinned_at(name));
    lanes.hold(record, *record.shared_shape);
    return record;
  }
  void failed_at(TaskRecord& record, SlotNumber its_agent) {
    TaskPast& past = record.its_past();
    past.failed_agents[past.failed_by++ % past.failed_agents.size()] = handle(its_agent);
  }
  Pid pid(SlotNumber its_agent) { return tables.agents[its_agent].pid; }
};

TEST(AgentChoice, gives_a_pinned_task_to_its_agent_and_to_nobody_else) {
  ChoiceWorld world;
  world.known_agent("ada");
  const TaskRecord& record = world.pinned_to("bob");
  EXPECT_FALSE(world.choice.choose(record, world.at(1))) << "bob is not there, ada is idle";
  const SlotNumber bob = world.known_agent("bob");
  const auto chosen = world.choice.choose(record, world.at(1));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->pid, world.pid(bob));
}

TEST(AgentChoice, goes_around_who_failed_it_from_the_second_failure_on) {
  ChoiceWorld world;
  const SlotNumber ada = world.known_agent("ada");
  const SlotNumber bob = world.known_agent("bob");
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  world.failed_at(record, ada);
  EXPECT_THAT(world.choice.request_for(record).avoid, IsEmpty()) << "the first retry may go to anybody";
  world.failed_at(record, ada);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(world.choice.choose(record, world.at(1))->pid, world.pid(bob));
  world.failed_at(record, bob);
  EXPECT_TRUE(world.choice.choose(record, world.at(1))) << "with nobody else, one that failed it has it again";
}

TEST(AgentChoice, returns_a_retry_to_its_idle_agent_where_that_was_learned_to_be_best) {
  ChoiceWorld world;
  const SlotNumber ada = world.known_agent("ada");
  const SlotNumber bob = world.known_agent("bob");
  const SlotNumber other = world.task_in_lane(world.own);
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  world.failed_at(record, bob);
  record.its_past().retry = AdaptiveRetry::Chosen{.other_agent = false};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(world.choice.choose(record, world.at(1))->pid, world.pid(bob));
  world.run(other, bob);
  auto ticket = world.router.assigned(world.handle(bob), world.at(0));
  ASSERT_TRUE(ticket);
  EXPECT_EQ(world.choice.choose(record, world.at(1))->pid, world.pid(ada)) << "bob is at work now";
  record.its_past().retry = AdaptiveRetry::Chosen{.other_agent = true};
  EXPECT_THAT(world.choice.request_for(record).avoid, ElementsAre(world.handle(bob)));
}

TEST(AgentChoice, gives_a_critical_task_to_nobody_at_whom_it_would_only_wait) {
  ChoiceWorld world;
  const SlotNumber ada = world.known_agent("ada");
  const SlotNumber bob = world.known_agent("bob");
  for (const SlotNumber each : {ada, bob}) {
    const SlotNumber run = world.run_of(world.own, each);
    world.the_task(world.the(run).task).effective_priority = ledger::k_critical;
  }
  const SlotNumber usual = world.task_in_lane(world.own);
  const TaskRecord& urgent = world.the_task(world.task_in_lane(world.own, "work", ledger::k_critical));
  EXPECT_TRUE(world.choice.choose(world.the_task(usual), world.at(1))) << "it may wait behind the run";
  EXPECT_FALSE(world.choice.choose(urgent, world.at(1)));
  const SlotNumber dora = world.known_agent("dora");
  EXPECT_EQ(world.choice.choose(urgent, world.at(1))->pid, world.pid(dora));
}

TEST(AgentChoice, asks_by_the_route_key_then_by_the_idempotency_key_then_by_the_id) {
  ChoiceWorld world;
  world.tables.swarms[world.own].strategy = Balance::consistent_hash;
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  EXPECT_EQ(world.choice.request_for(record).key.size(), sizeof record.id);
  auto extras = std::make_shared<ledger::Extras>();
  extras->key = "order-7";
  record.extras = extras;
  EXPECT_EQ(world.choice.request_for(record).key, "order-7");
  ledger::Placement where;
  where.route_key = "customer-3";
  extras->placement = std::make_shared<const ledger::Placement>(where);
  EXPECT_EQ(world.choice.request_for(record).key, "customer-3");
  record.goes_to_idle = true;
  EXPECT_EQ(world.choice.request_for(record).strategy, Balance::round_robin) << "it was returned for an idle agent";
}

}  // namespace
}  // namespace skein::inline v0::dispatch
