#include "skein/dispatch/dispatcher_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DispatcherTables, keep_the_slot_of_a_task_and_of_an_agent_until_they_are_forgotten) {
  RuleWorld world;
  EXPECT_EQ(world.tables.task_numbered(7), world.tables.task_numbered(7));
  const SlotNumber ada = world.tables.agent_named("ada");
  EXPECT_EQ(world.tables.find_agent("ada"), ada);
  world.tables.forget_if_idle(ada);
  EXPECT_EQ(world.tables.find_agent("ada"), std::nullopt);
  EXPECT_EQ(world.tables.agent_named("bob"), ada) << "a free slot is used again";
}

TEST(DispatcherTables, remember_an_agent_that_is_there_or_has_a_run) {
  RuleWorld world;
  const SlotNumber ada = world.agent("ada");
  world.tables.forget_if_idle(ada);
  EXPECT_TRUE(world.tables.find_agent("ada"));
  const SlotNumber run = world.run(world.task(world.swarm("own")), ada);
  world.tables.agents[ada].pid = Pid();
  world.tables.forget_if_idle(ada);
  EXPECT_TRUE(world.tables.find_agent("ada"));
  world.tables.remove_run(run);
  world.tables.forget_if_idle(ada);
  EXPECT_FALSE(world.tables.find_agent("ada"));
}

TEST(DispatcherTables, keep_the_places_of_an_agents_runs_when_one_of_them_goes) {
  RuleWorld world;
  const SlotNumber own = world.swarm("own");
  const SlotNumber ada = world.agent("ada");
  const SlotNumber first = world.run(world.task(own), ada);
  const SlotNumber second = world.run(world.task(own), ada);
  const SlotNumber third = world.run(world.task(own), ada);
  world.tables.remove_run(first);
  EXPECT_THAT(world.tables.agents[ada].runs, ElementsAre(third, second));
  EXPECT_EQ(world.tables.runs[third].place, 0U);
  EXPECT_EQ(world.tables.runs[second].place, 1U);
}

TEST(DispatcherTables, know_a_run_by_its_agent_and_its_fence_alone) {
  RuleWorld world;
  const SlotNumber own = world.swarm("own");
  const SlotNumber ada = world.agent("ada");
  const SlotNumber bob = world.agent("bob");
  const SlotNumber run = world.run(world.task(own), ada);
  TaskRef ref = world.tables.runs[run].ref;
  EXPECT_EQ(world.tables.claimed(ada, ref), run);
  EXPECT_EQ(world.tables.claimed(bob, ref), k_no_slot);
  EXPECT_EQ(world.tables.run_at(ada, ref), run);
  ref.fence += 1;
  EXPECT_EQ(world.tables.claimed(ada, ref), k_no_slot) << "an older or newer assignment is another run";
}

TEST(DispatcherTables, forget_tasks_and_swarms_and_keep_agents) {
  RuleWorld world;
  const SlotNumber ada = world.agent("ada");
  world.run(world.task(world.swarm("own")), ada);
  world.tables.forget_all_tasks();
  EXPECT_EQ(world.tables.tasks.size(), 0U);
  EXPECT_EQ(world.tables.find_swarm("own"), k_no_slot);
  EXPECT_EQ(world.tables.find_agent("ada"), ada);
  EXPECT_THAT(world.tables.agents[ada].runs, IsEmpty());
}

}  // namespace
}  // namespace skein::inline v0::dispatch
