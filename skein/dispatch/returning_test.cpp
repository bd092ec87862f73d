#include "skein/dispatch/returning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct ReturningWorld : RoutedRuleWorld {
  TypeBreakers breakers;
  Returning returning{{tables, breakers, choice, router, options}};
};

TEST(Returning, asks_for_what_a_closed_swarm_has_not_begun) {
  ReturningWorld world;
  const SlotNumber ada = world.known_agent("ada");
  const SlotNumber begun = world.run_of(world.own, ada);
  world.the(begun).become(RunState::started);
  const SlotNumber held = world.run_of(world.own, ada);
  const SlotNumber other_type = world.run_of(world.own, ada, "other");
  world.run_of(world.swarm("another"), ada);
  EXPECT_THAT(world.returning.of_swarm(world.own, "", world.at(1)), ElementsAre(held, other_type));
  EXPECT_THAT(world.returning.of_swarm(world.own, "other", world.at(1)), ElementsAre(other_type));
}

TEST(Returning, asks_for_no_run_that_was_told_to_yield_or_whose_end_is_under_way) {
  ReturningWorld world;
  const SlotNumber ada = world.known_agent("ada");
  world.the(world.run_of(world.own, ada)).tell(Told::to_yield);
  const SlotNumber ending = world.run_of(world.own, ada);
  world.tables.tasks[world.the(ending).task].become(TaskPhase::ending);
  EXPECT_THAT(world.returning.of_swarm(world.own, "", world.at(1)), IsEmpty());
}

TEST(Returning, asks_again_when_the_question_may_have_been_lost) {
  ReturningWorld world;
  world.options.return_after = 2s;
  const SlotNumber held = world.run_of(world.own, world.known_agent("ada"));
  world.the(held).return_asked_at = world.at(10);
  EXPECT_THAT(world.returning.of_swarm(world.own, "", world.at(11)), IsEmpty());
  EXPECT_THAT(world.returning.of_swarm(world.own, "", world.at(12)), ElementsAre(held));
}

TEST(Returning, asks_an_agent_that_is_gone_around_only_if_it_says_what_it_begins) {
  ReturningWorld world;
  const SlotNumber ada = world.known_agent("ada");
  const SlotNumber held = world.run_of(world.own, ada);
  EXPECT_THAT(world.returning.of_agent("ada", world.at(1)), ElementsAre(held));
  EXPECT_THAT(world.returning.of_agent("nobody", world.at(1)), IsEmpty());
  world.tables.agents[ada].reports_starts = false;
  EXPECT_THAT(world.returning.of_agent("ada", world.at(1)), IsEmpty());
}

TEST(Returning, asks_for_as_many_as_idle_agents_can_begin) {
  ReturningWorld world;
  const SlotNumber ada = world.known_agent("ada");
  world.the(world.run_of(world.own, ada)).become(RunState::started);
  const SlotNumber first = world.run_of(world.own, ada);
  world.run_of(world.own, ada);
  EXPECT_THAT(world.returning.of_waiting(world.at(5)), IsEmpty()) << "nobody else is there";
  world.known_agent("bob");
  EXPECT_THAT(world.returning.of_waiting(world.at(5)), ElementsAre(first));
  EXPECT_EQ(world.tables.tasks[world.the(first).task].returns_asked, 1);
  world.known_agent("cy");
  EXPECT_THAT(world.returning.of_waiting(world.at(5)), SizeIs(2));
}

TEST(Returning, leaves_what_waited_for_a_moment_only_and_what_was_asked_for_often_enough) {
  ReturningWorld world;
  const SlotNumber ada = world.known_agent("ada");
  world.the(world.run_of(world.own, ada)).become(RunState::started);
  const SlotNumber held = world.run_of(world.own, ada);
  world.known_agent("bob");
  world.the(held).since = world.at(5);
  EXPECT_THAT(world.returning.of_waiting(world.at(5)), IsEmpty());
  world.tables.tasks[world.the(held).task].returns_asked = world.options.returns_max;
  EXPECT_THAT(world.returning.of_waiting(world.at(9)), IsEmpty());
}

TEST(Returning, leaves_a_key_with_its_agent) {
  ReturningWorld world;
  const SlotNumber ada = world.known_agent("ada");
  world.the(world.run_of(world.own, ada)).become(RunState::started);
  world.run_of(world.own, ada);
  world.known_agent("bob");
  world.tables.swarms[world.own].strategy = Balance::consistent_hash;
  EXPECT_THAT(world.returning.of_waiting(world.at(5)), IsEmpty());
}

TEST(Returning, asks_for_all_that_is_closed_whether_anybody_is_idle_or_not) {
  ReturningWorld world;
  const SlotNumber ada = world.known_agent("ada");
  const SlotNumber one = world.run_of(world.own, ada);
  const SlotNumber two = world.run_of(world.own, ada);
  world.tables.swarms[world.own].state = ledger::SwarmState::paused;
  EXPECT_THAT(world.returning.of_waiting(world.at(1)), UnorderedElementsAre(one, two));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
