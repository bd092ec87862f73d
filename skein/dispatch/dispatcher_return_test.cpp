// What agents hold ahead and have not begun comes back when somebody else is idle, and when its swarm is paused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::State;
using testing::IsEmpty;
using Event = DispatchEvent::Kind;

AgentReady reporting(std::uint32_t capacity = 2) {
  AgentReady ready;
  ready.capacity = capacity;
  ready.reports_starts = true;
  return ready;
}

std::vector<TaskRef> asked_to_return(const CoreWorld::Agent& agent) {
  std::vector<TaskRef> refs;
  for (const StopTask& each : agent.stops) {
    if (each.why == StopReason::return_unbegun) refs.push_back(each.ref);
  }
  return refs;
}

// Agents 1 and 2 run tasks 1 and 2, and task 3 is ahead at agent 1. Then agent 2 has nothing left to do.
struct AheadWorld : CoreWorld {
  explicit AheadWorld(const DispatcherOptions& options = {}) : CoreWorld(options) {
    begin();
    join(1, reporting());
    join(2, reporting());
    for (std::uint64_t n = 1; n <= 2; ++n) {
      submit(n);
      settle();
    }
    start(1, ref(1));
    start(2, ref(2));
    submit(3);
    settle();
    EXPECT_EQ(where(1), "agent1");
    EXPECT_EQ(where(2), "agent2");
    EXPECT_EQ(where(3), "agent1");
  }
};

TEST(DispatcherReturn, gives_what_waits_behind_a_run_to_an_agent_that_became_idle) {
  AheadWorld world;
  const TaskRef waiting = world.ref(3);
  world.pass(10s);
  EXPECT_THAT(asked_to_return(world.agents[1]), IsEmpty()) << "nobody else was free";
  world.complete(2, world.ref(2));
  world.pass(1s);
  ASSERT_EQ(asked_to_return(world.agents[1]), std::vector<TaskRef>{waiting});
  world.return_task(1, waiting);
  EXPECT_EQ(world.where(3), "agent2");
  EXPECT_EQ(world.task(3).attempts, 0U);
  EXPECT_EQ(world.count(Event::returned), 1U);
  EXPECT_EQ(world.where(1), "agent1") << "what runs is left alone";
}

TEST(DispatcherReturn, leaves_what_has_waited_for_a_moment_only) {
  AheadWorld world;
  world.complete(2, world.ref(2));
  world.pass(500ms);
  EXPECT_THAT(asked_to_return(world.agents[1]), IsEmpty());
}

TEST(DispatcherReturn, what_was_begun_meanwhile_stays) {
  AheadWorld world;
  const TaskRef waiting = world.ref(3);
  world.complete(2, world.ref(2));
  world.pass(1s);
  ASSERT_EQ(asked_to_return(world.agents[1]).size(), 1U);
  world.start(1, waiting);  // the agent passed over the question
  world.pass(10s);
  EXPECT_EQ(asked_to_return(world.agents[1]).size(), 1U);
  world.complete(1, waiting);
  EXPECT_EQ(world.state(3), State::completed);
}

TEST(DispatcherReturn, asks_again_when_the_question_was_lost_and_not_for_ever) {
  DispatcherOptions options;
  AheadWorld world(options);
  world.complete(2, world.ref(2));
  world.pass(20s);
  EXPECT_EQ(asked_to_return(world.agents[1]).size(), options.returns_max);
}

TEST(DispatcherReturn, asks_for_no_more_than_the_idle_can_begin) {
  CoreWorld world;
  world.begin();
  world.join(1, reporting(10));
  for (std::uint64_t n = 1; n <= 8; ++n) {
    world.submit(n);
    world.settle();
  }
  world.start(1, world.ref(1));
  world.join(2, reporting(1));
  world.join(3, reporting(1));
  world.pass(1s + 500ms);
  EXPECT_EQ(asked_to_return(world.agents[1]).size(), 2U);
}

TEST(DispatcherReturn, goes_to_the_idle_one_whatever_the_strategy_and_not_for_a_key) {
  for (const Balance strategy : {Balance::least_connections, Balance::two_choices, Balance::weighted,
                                 Balance::q_learning, Balance::consistent_hash}) {
    DispatcherOptions options;
    AheadWorld world(options);
    ledger::Fields fields{{"strategy", std::string(balance_name(strategy))}};
    ASSERT_EQ(world.run(ledger::SwarmPut{"default", ledger::Origin::api, fields}).verdict, ledger::Verdict::ok);
    const TaskRef waiting = world.ref(3);
    world.complete(2, world.ref(2));
    world.pass(1s);
    if (strategy == Balance::consistent_hash) {
      EXPECT_THAT(asked_to_return(world.agents[1]), IsEmpty());
      continue;
    }
    ASSERT_EQ(asked_to_return(world.agents[1]).size(), 1U) << balance_name(strategy);
    world.return_task(1, waiting);
    EXPECT_EQ(world.where(3), "agent2") << balance_name(strategy);
  }
}

TEST(DispatcherReturn, a_paused_swarm_takes_back_what_is_not_begun) {
  AheadWorld world;
  const TaskRef waiting = world.ref(3);
  world.run(ledger::SwarmSetState{"default", ledger::SwarmState::paused});
  world.settle();
  ASSERT_EQ(asked_to_return(world.agents[1]), std::vector<TaskRef>{waiting});
  EXPECT_THAT(asked_to_return(world.agents[2]), IsEmpty()) << "what runs ends";
  world.return_task(1, waiting);
  world.complete(1, world.ref(1));
  world.pass(5s);
  EXPECT_EQ(world.state(3), State::queued);
  EXPECT_EQ(world.task(3).attempts, 0U);
  world.run(ledger::SwarmSetState{"default", ledger::SwarmState::active});
  world.settle();
  EXPECT_EQ(world.where(3), "agent1");
}

TEST(DispatcherReturn, a_new_dispatcher_asks_for_what_a_paused_swarm_still_has_at_agents) {
  AheadWorld world;
  const TaskRef waiting = world.ref(3);
  world.lose_dispatcher();
  world.run(ledger::SwarmSetState{"default", ledger::SwarmState::paused});
  world.begin();
  world.join(1, reporting());
  world.start(1, world.ref(1));
  world.pass(2s);
  EXPECT_THAT(asked_to_return(world.agents[1]), testing::Contains(waiting));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
