#include "skein/dispatch/place_costs.hpp"

#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;

struct CostWorld : RoutedRuleWorld {
  static constexpr std::uint32_t k_group = 1;
  SlotNumber other = swarm("other");
  SlotNumber ada = known_agent("ada");
  PlaceCosts costs{tables, queue, lanes};
};

TEST(PlaceCosts, charges_a_second_for_a_type_that_nobody_knows_divided_by_the_swarms_weight) {
  CostWorld world;
  world.tables.swarms[world.own].weight = 4;
  auto& run = world.the(world.run_of(world.own, world.ada));
  EXPECT_DOUBLE_EQ(world.costs.charge(world.the_task(run.task), CostWorld::k_group), 0.25);
  EXPECT_DOUBLE_EQ(run.charged, 1);
  EXPECT_EQ(run.share_swarm, world.own);
}

TEST(PlaceCosts, charges_what_is_usual_for_a_type_that_is_known) {
  CostWorld world;
  world.learn_type("long", world.ada, 60s);
  auto& run = world.the(world.run_of(world.own, world.ada, "long"));
  EXPECT_NEAR(world.costs.charge(world.the_task(run.task), CostWorld::k_group), 60, 10);
}

TEST(PlaceCosts, charges_nothing_where_nothing_is_shared) {
  CostWorld world;
  auto& run = world.the(world.run_of(world.own, world.ada));
  EXPECT_EQ(world.costs.charge(world.the_task(run.task), 0), 0);
  EXPECT_EQ(run.share_group, 0U);
  world.costs.correct(run, world.at(9));
  EXPECT_EQ(run.share_group, 0U);
}

TEST(PlaceCosts, charges_nothing_while_there_is_one_swarm) {
  RoutedRuleWorld world;
  PlaceCosts costs(world.tables, world.queue, world.lanes);
  const auto& run = world.the(world.run_of(world.own, world.known_agent("ada")));
  EXPECT_EQ(costs.charge(world.the_task(run.task), CostWorld::k_group), 0);
}

TEST(PlaceCosts, puts_the_charge_right_once_when_the_run_ends) {
  CostWorld world;
  auto& run = world.the(world.run_of(world.own, world.ada));
  static_cast<void>(world.costs.charge(world.the_task(run.task), CostWorld::k_group));
  run.become(RunState::started);
  run.since = world.at(10);
  world.costs.correct(run, world.at(15));
  EXPECT_EQ(run.share_group, 0U) << "it holds its place no longer";
}

}  // namespace
}  // namespace skein::inline v0::dispatch
