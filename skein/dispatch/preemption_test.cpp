#include "skein/dispatch/preemption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> k_work{"work"};

struct PreemptionWorld : RuleWorld {
  SlotNumber own = swarm("own");
  SlotNumber ada = agent("ada");
  SlotNumber bob = agent("bob");
  Preemption preemption{tables, options};

  SlotNumber run_of(std::uint16_t priority, SlotNumber its_agent) {
    return run(task(own, "work", priority), its_agent);
  }
};

TEST(Preemption, asks_the_least_important_run_and_of_equals_the_one_that_began_last) {
  PreemptionWorld world;
  world.run_of(ledger::k_high, world.ada);
  const SlotNumber first = world.run_of(ledger::k_low, world.ada);
  const SlotNumber last = world.run_of(ledger::k_low, world.bob);
  EXPECT_EQ(world.preemption.least_important(k_work, ""), last);
  EXPECT_EQ(world.preemption.least_important(k_work, "ada"), first) << "a pinned task has one agent";
  EXPECT_EQ(world.preemption.least_important({"other"}, ""), k_no_slot);
}

TEST(Preemption, never_asks_a_critical_task_or_one_that_made_way_often_enough) {
  PreemptionWorld world;
  world.run_of(ledger::k_critical, world.ada);
  const SlotNumber often = world.run_of(ledger::k_low, world.bob);
  world.tables.tasks[world.tables.runs[often].task].times_preempted = world.options.preemptions_max;
  EXPECT_EQ(world.preemption.least_important(k_work, ""), k_no_slot);
}

TEST(Preemption, never_asks_a_run_twice_nor_one_that_has_told_its_outcome) {
  PreemptionWorld world;
  auto& asked = world.tables.runs[world.run_of(ledger::k_low, world.ada)];
  asked.tell(Told::to_yield);
  EXPECT_FALSE(world.preemption.may_yield(asked));
  auto& told = world.tables.runs[world.run_of(ledger::k_low, world.bob)];
  EXPECT_TRUE(world.preemption.may_yield(told));
  told.become(RunState::reported);
  EXPECT_FALSE(world.preemption.may_yield(told));
}

TEST(Preemption, passes_over_agents_that_are_held) {
  PreemptionWorld world;
  world.run_of(ledger::k_low, world.ada);
  world.tables.agents[world.ada].holds.set(Hold::paused, true);
  EXPECT_EQ(world.preemption.least_important(k_work, ""), k_no_slot);
}

TEST(Preemption, asks_one_run_for_a_task_and_the_next_after_yield_wait) {
  PreemptionWorld world;
  world.options.yield_wait = 1s;
  world.options.ask_again = 100ms;
  const SlotNumber first = world.run_of(ledger::k_low, world.ada);
  const SlotNumber second = world.run_of(ledger::k_normal, world.bob);
  TaskRecord& urgent = world.tables.tasks[world.task(world.own, "work", ledger::k_critical)];
  EXPECT_EQ(world.preemption.to_ask(urgent, k_work, "", world.at(1)), first);
  world.tables.runs[first].tell(Told::to_yield);
  EXPECT_EQ(world.preemption.to_ask(urgent, k_work, "", world.at(1) + 500ms), k_no_slot);
  EXPECT_EQ(world.preemption.to_ask(urgent, k_work, "", world.at(2)), second);
}

TEST(Preemption, clears_the_way_of_a_critical_run_at_its_agent) {
  PreemptionWorld world;
  const SlotNumber before = world.run_of(ledger::k_normal, world.ada);
  world.run_of(ledger::k_normal, world.bob);
  const SlotNumber urgent = world.run_of(ledger::k_critical, world.ada);
  world.run_of(ledger::k_normal, world.ada);
  EXPECT_THAT(world.preemption.in_the_way_of(world.tables.runs[urgent]), ElementsAre(before));
  world.tables.agents[world.ada].reports_starts = false;
  EXPECT_THAT(world.preemption.in_the_way_of(world.tables.runs[urgent]), IsEmpty());
}

TEST(Preemption, puts_no_critical_task_behind_another_one) {
  PreemptionWorld world;
  world.run_of(ledger::k_critical, world.ada);
  world.run_of(ledger::k_low, world.bob);
  const TaskRecord& urgent = world.tables.tasks[world.task(world.own, "work", ledger::k_critical)];
  EXPECT_FALSE(world.preemption.makes_way(world.tables.agents[world.ada], urgent));
  EXPECT_TRUE(world.preemption.makes_way(world.tables.agents[world.bob], urgent));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
