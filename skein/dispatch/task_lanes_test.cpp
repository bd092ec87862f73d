#include "skein/dispatch/task_lanes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct LaneWorld : RoutedRuleWorld {
  // The ledger's view of the task, in another swarm or unpinned.
  ledger::Task moved(const TaskRecord& record, const std::string& its_swarm) {
    auto shape = std::make_shared<ledger::Shape>(record.shape());
    shape->swarm = its_swarm;
    ledger::Task task;
    task.number = record.number;
    task.shape = std::move(shape);
    return task;
  }
};

TEST(TaskLanes, are_shared_by_tasks_of_one_swarm_and_type) {
  LaneWorld world;
  const TaskRecord& one = world.the_task(world.task_in_lane(world.own));
  const TaskRecord& other = world.the_task(world.task_in_lane(world.own));
  const TaskRecord& another = world.the_task(world.task_in_lane(world.own, "other"));
  EXPECT_EQ(one.lane, other.lane);
  EXPECT_NE(one.lane, another.lane);
  EXPECT_THAT(world.lanes.need_of(one).capabilities, ElementsAre("work"));
}

TEST(TaskLanes, ask_for_the_agents_of_a_swarm_that_has_its_own) {
  LaneWorld world;
  world.tables.swarms[world.own].own_agents = "swarm=own";
  const TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  EXPECT_THAT(world.lanes.need_of(record).capabilities, ElementsAre("swarm=own", "work"));
}

TEST(TaskLanes, are_left_for_those_of_the_fallback_and_who_failed_the_task_is_forgotten) {
  LaneWorld world;
  TaskRecord& record = world.the_task(world.task_in_lane(world.own));
  const SlotNumber before = record.lane;
  record.its_past().failed_by = 2;
  world.lanes.move(record, world.moved(record, "other"));
  EXPECT_NE(record.lane, before);
  EXPECT_EQ(world.tables.swarms[record.swarm].name, "other");
  EXPECT_EQ(record.past->failed_by, 0U) << "whoever failed it is of the swarm that it left";
  EXPECT_EQ(world.queue.tasks_of(world.own), 0U) << "it holds on to its old lane no longer";
}

TEST(TaskLanes, are_left_by_a_task_that_is_unpinned_and_remembers_who_failed_it) {
  LaneWorld world;
  TaskRecord& record = world.tables.tasks[world.task(world.own)];
  record.extras = extras_with(pinned_at("ada"));
  world.lanes.hold(record, *record.shared_shape);
  EXPECT_EQ(world.lanes.need_of(record).pinned_to, "ada");
  record.its_past().failed_by = 1;
  world.lanes.move(record, world.moved(record, "own"));
  EXPECT_EQ(world.lanes.need_of(record).pinned_to, "");
  EXPECT_EQ(record.past->failed_by, 1U);
}

TEST(TaskLanes, know_what_is_usual_for_a_type_once_enough_runs_have_ended) {
  LaneWorld world;
  const SlotNumber ada = world.known_agent("ada");
  const TaskRecord& record = world.the_task(world.task_in_lane(world.own, "long"));
  EXPECT_FALSE(world.lanes.usual_run(record));
  world.learn_type("long", ada, 60s);
  ASSERT_TRUE(world.lanes.usual_run(record));
  EXPECT_NEAR(std::chrono::duration<double>(*world.lanes.usual_run(record)).count(), 60, 10);
}

}  // namespace
}  // namespace skein::inline v0::dispatch
