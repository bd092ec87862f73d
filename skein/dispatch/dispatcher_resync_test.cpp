// What the dispatcher's core makes of agents and runs it does not know, or no longer: after a restart, a fresh start, a
// lost message.
#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"

namespace skein::dispatch {
namespace {

using namespace std::chrono_literals;
using Event = DispatchEvent::Kind;
using ledger::State;

// A run of task 1 at agent 1 that a new dispatcher finds in the state, before the agent announces itself again.
struct FoundRun : testing::Test {
  void restart_with(const AgentReady& ready) {
    world.begin();
    world.join(1, ready);
    world.submit(1);
    world.settle();
    ref = world.ref(1);
    if (ready.reports_starts) world.start(1, ref);
    world.restart();
    world.join(1, ready);
    if (ready.reports_starts) world.start(1, ref);
  }

  CoreWorld world;
  TaskRef ref;
};

TEST_F(FoundRun, has_the_timeout_of_its_executor) {
  AgentReady ready;
  ready.reports_starts = true;
  ready.attempt_timeout = 4h;
  restart_with(ready);
  world.pass(2h + 1min);
  EXPECT_EQ(world.count(Event::attempt_timed_out), 0U) << "its executor has four hours";
  world.complete(1, ref);
  EXPECT_EQ(world.state(1), State::completed);
}

TEST_F(FoundRun, has_the_timeout_of_a_function) {
  AgentReady ready;
  ready.reports_starts = true;
  ready.is_function = true;
  restart_with(ready);
  world.pass(4s);
  EXPECT_EQ(world.count(Event::attempt_timed_out), 0U);
  world.pass(2s);
  EXPECT_EQ(world.count(Event::attempt_timed_out), 1U);
}

TEST_F(FoundRun, has_a_timeout_although_its_agent_tells_no_starts) {
  AgentReady ready;
  ready.is_function = true;
  restart_with(ready);
  world.pass(6s);
  EXPECT_EQ(world.count(Event::attempt_timed_out), 1U);
}

TEST(FreshStart, an_agent_that_tells_no_starts_keeps_its_timeout) {
  CoreWorld world;
  world.begin();
  world.join_function(1);
  world.submit(1);
  world.settle();
  world.core->on_state(world.ledger.epoch(), StateView::of(*world.ledger.freeze()), world.moment);
  world.pass(6s);
  EXPECT_EQ(world.count(Event::attempt_timed_out), 1U);
}

TEST(FreshStart, an_agent_that_was_full_gets_tasks_again) {
  CoreWorld world;
  world.begin();
  AgentReady ready;
  ready.capacity = 4;
  ready.outcome_room = 2;
  world.join(1, ready);
  world.submit(1);
  world.submit(2);
  world.settle();
  const auto one = world.ref(1);
  const auto two = world.ref(2);
  world.is_held = true;
  world.complete(1, one);
  world.complete(1, two);
  world.step();
  // The two outcomes are under way, and their runs no longer known as told.
  world.core->on_state(world.ledger.epoch(), StateView::of(*world.ledger.freeze()), world.moment);
  while (world.apply_next()) {
  }
  world.is_held = false;
  for (const auto ref : {one, two}) world.return_task(1, ref);
  world.submit(3);
  world.pass(3s);
  EXPECT_EQ(world.where(3), "agent1");
}

TEST(UnknownAgent, is_asked_to_announce_itself_when_there_is_room) {
  DispatcherOptions options;
  options.agents_max = 1;
  CoreWorld world(options);
  world.begin();
  world.join(1);
  auto& second = world.join(2);
  ASSERT_EQ(world.count(Event::agent_refused), 1U);
  world.pass(5s);
  EXPECT_EQ(second.invitations, 0U);
  world.crash(1);
  world.beat(2);
  EXPECT_EQ(second.invitations, 1U);
  world.join(2);
  world.submit(1);
  world.settle();
  EXPECT_EQ(world.where(1), "agent2");
  world.pass(5s);
  EXPECT_EQ(second.invitations, 1U) << "it is known";
}

TEST(UnknownAgent, is_not_asked_when_another_has_its_name_by_now) {
  CoreWorld world;
  world.begin();
  AgentReady ready;
  ready.name = "twin";
  auto& first = world.join(1, ready);
  world.join(2, ready);
  world.pass(5s);
  EXPECT_EQ(first.invitations, 0U) << "the two would take the name from each other for ever";
}

TEST(UnknownAgent, is_not_asked_when_it_would_be_refused_again) {
  CoreWorld world;
  world.begin();
  AgentReady ready;
  ready.capabilities.assign(Router::k_agent_capabilities_max + 1, "work");
  auto& agent = world.join(1, ready);
  ASSERT_EQ(world.count(Event::agent_refused), 1U);
  world.pass(5s);
  EXPECT_EQ(agent.invitations, 0U);
}

TEST(Heartbeats, say_that_an_agent_is_paused_should_that_have_been_lost) {
  CoreWorld world;
  world.begin();
  auto& agent = world.join(1);
  agent.is_paused = true;
  world.beat(1);
  world.submit(1);
  world.settle();
  EXPECT_EQ(world.state(1), State::queued);
  agent.is_paused = false;
  world.beat(1);
  EXPECT_EQ(world.where(1), "agent1");
}

}  // namespace
}  // namespace skein::dispatch
