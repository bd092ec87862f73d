// Tasks that are for one agent, keys that lead to an agent, and retries that go by what was learned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "skein/dispatch/core_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::AgentFallback;
using ledger::ErrorClass;
using ledger::Placement;
using ledger::State;
using Event = DispatchEvent::Kind;

AgentReady telling_starts() {
  AgentReady ready;
  ready.capacity = 2;
  ready.reports_starts = true;
  return ready;
}

struct PinWorld : CoreWorld {
  explicit PinWorld(const DispatcherOptions& options = {}) : CoreWorld(options) { begin(); }

  void submit_placed(std::uint64_t n, Placement where, std::uint16_t priority = ledger::k_normal) {
    auto op = a_task(n);
    op.spec.priority = priority;
    op.spec.extras.placement = std::make_shared<const Placement>(std::move(where));
    ASSERT_EQ(run(op).verdict, ledger::Verdict::ok);
    settle();
  }
  void submit_for(std::uint64_t n, const std::string& agent, AgentFallback fallback = AgentFallback::by_config,
                  std::uint64_t wait_ms = 0) {
    submit_placed(n, {agent, fallback, wait_ms, "", 0});
  }
};

TEST(DispatcherPins, a_task_waits_for_its_agent_beside_an_idle_one) {
  PinWorld world;
  world.join(1);
  world.submit_for(1, "agent2");
  world.pass(10min);
  EXPECT_EQ(world.state(1), State::queued);
  world.join(2);
  EXPECT_EQ(world.where(1), "agent2");
  world.complete(2, world.ref(1));
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.core->tasks(), 0U);
}

TEST(DispatcherPins, what_waits_for_an_agent_holds_up_nobody) {
  PinWorld world;
  world.submit_for(1, "nobody");
  world.join(1);
  world.submit(2);
  world.settle();
  EXPECT_EQ(world.where(2), "agent1");
  EXPECT_EQ(world.state(1), State::queued);
}

TEST(DispatcherPins, the_agent_gets_its_tasks_in_their_order_when_it_is_free) {
  PinWorld world;
  world.join(1);
  world.join(2);
  world.submit_for(1, "agent1");
  world.submit_for(2, "agent1");
  world.submit_for(3, "agent1");
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.state(2), State::queued);
  world.complete(1, world.ref(1));
  EXPECT_EQ(world.where(2), "agent1");
  world.complete(1, world.ref(2));
  EXPECT_EQ(world.where(3), "agent1");
}

TEST(DispatcherPins, an_agent_that_cannot_do_the_type_does_not_get_it) {
  PinWorld world;
  AgentReady ready;
  ready.capabilities = {"other"};
  world.join(1, std::move(ready));
  world.submit_for(1, "agent1");
  world.pass(1min);
  EXPECT_EQ(world.state(1), State::queued);
}

TEST(DispatcherPins, after_its_wait_it_falls_back_to_any_agent) {
  PinWorld world;
  world.join(1);
  world.submit_for(1, "away", AgentFallback::any, 5'000);
  world.pass(4900ms);
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_EQ(world.count(Event::unpinned), 0U);
  world.pass(200ms);
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.count(Event::unpinned), 1U);
  EXPECT_EQ(world.core->counters().unpinned, 1U);
  EXPECT_NE(world.task(1).more().where().unpinned_at, 0U);
}

// It keeps its order, by which the queue tells its entries apart.
TEST(DispatcherPins, one_that_fell_back_is_no_longer_in_the_lane_of_its_agent) {
  PinWorld world;
  world.submit_for(1, "agent1", AgentFallback::any, 1'000);
  world.submit_for(2, "agent1", AgentFallback::none);
  world.pass(2s);
  EXPECT_EQ(world.count(Event::unpinned), 1U);
  world.join(1);
  EXPECT_EQ(world.where(1), "agent1") << "the oldest first";
  world.submit(3);
  world.settle();
  world.complete(1, world.ref(1));
  EXPECT_EQ(world.where(2), "agent1");
  world.complete(1, world.ref(2));
  EXPECT_EQ(world.where(3), "agent1");
}

TEST(DispatcherPins, an_agent_that_is_busy_is_waited_for_just_as_long) {
  PinWorld world;
  world.join(1);
  world.submit(1);
  world.settle();
  ASSERT_EQ(world.where(1), "agent1");
  world.join(2);
  world.submit_for(2, "agent1", AgentFallback::any, 3'000);
  world.pass(2900ms);
  EXPECT_EQ(world.state(2), State::queued);
  world.pass(200ms);
  EXPECT_EQ(world.where(2), "agent2");
}

TEST(DispatcherPins, what_waits_behind_a_run_of_its_agent_comes_back_when_it_may_fall_back) {
  PinWorld world;
  world.join(1, telling_starts());
  world.submit_for(1, "agent1");
  world.start(1, world.ref(1));
  world.submit_for(2, "agent1", AgentFallback::any, 10'000);
  world.submit_for(3, "agent1", AgentFallback::none);
  ASSERT_EQ(world.where(2), "agent1") << "it is held ahead";
  world.join(2, telling_starts());
  world.pass(9s);
  EXPECT_TRUE(world.agents[1].stops.empty()) << "an idle agent beside it is no reason";
  world.pass(3s);
  ASSERT_FALSE(world.agents[1].stops.empty());
  for (const StopTask& each : world.agents[1].stops) EXPECT_EQ(each.ref, world.ref(2)) << "the other one stays";
  world.return_task(1, world.ref(2));
  EXPECT_EQ(world.where(2), "agent2");
  EXPECT_EQ(world.task(2).attempts, 0U);
}

TEST(DispatcherPins, the_config_and_the_type_say_what_the_task_does_not) {
  DispatcherOptions options;
  options.agent_fallback = "any";
  options.agent_wait = 5s;
  options.types["slow"].agent_wait = 30s;
  options.types["own"].agent_fallback = AgentFallback::none;
  const Placement plain{"ada", AgentFallback::by_config, 0, "", 0};
  EXPECT_TRUE(policy_for(plain, "work", options).may_unpin);
  EXPECT_EQ(policy_for(plain, "work", options).wait, 5s);
  EXPECT_EQ(policy_for(plain, "slow", options).wait, 30s);
  EXPECT_TRUE(policy_for(plain, "slow", options).may_unpin);
  EXPECT_FALSE(policy_for(plain, "own", options).may_unpin);
  const Placement its_own{"ada", AgentFallback::any, 7, "", 0};
  EXPECT_TRUE(policy_for(its_own, "own", options).may_unpin);
  EXPECT_EQ(policy_for(its_own, "slow", options).wait, 7ms);
  EXPECT_FALSE(policy_for(plain, "work", DispatcherOptions{}).may_unpin) << "unless told, it waits";
  options.agent_fallback = "perhaps";
  EXPECT_THROW(DispatcherCore(options, 1), std::invalid_argument);
}

TEST(DispatcherPins, each_attempt_at_the_agent_gives_a_new_wait) {
  PinWorld world;
  world.join(1);
  world.join(2);
  world.submit_for(1, "agent1", AgentFallback::any, 5'000);
  ASSERT_EQ(world.where(1), "agent1");
  world.pass(20s);
  world.crash(1);
  EXPECT_EQ(world.state(1), State::queued) << "it may come back";
  world.pass(4s);
  EXPECT_EQ(world.state(1), State::queued);
  world.pass(2s);
  EXPECT_EQ(world.where(1), "agent2");
}

TEST(DispatcherPins, a_new_dispatcher_keeps_to_it) {
  PinWorld world;
  world.submit_for(1, "agent1");
  world.submit_for(2, "away", AgentFallback::any, 2'000);
  world.lose_dispatcher();
  world.begin();
  world.join(2);
  world.pass(1s);
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_EQ(world.state(2), State::queued);
  world.pass(2s);
  EXPECT_EQ(world.where(2), "agent2");
  world.join(1);
  EXPECT_EQ(world.where(1), "agent1");
}

TEST(DispatcherPins, a_critical_task_asks_its_agent_only_to_make_way) {
  PinWorld world;
  for (std::uint32_t n = 1; n <= 2; ++n) {
    AgentReady ready;
    ready.reports_starts = true;
    world.join(n, std::move(ready));
  }
  world.submit_for(1, "agent1");
  world.submit_for(2, "agent2");
  world.start(1, world.ref(1));
  world.start(2, world.ref(2));
  world.submit_placed(3, {"agent1", AgentFallback::none, 0, "", 0}, ledger::k_critical);
  world.pass(5s);
  EXPECT_FALSE(world.agents[1].stops.empty());
  EXPECT_TRUE(world.agents[2].stops.empty());
}

TEST(DispatcherPins, what_is_for_one_agent_alone_does_not_fall_back) {
  PinWorld world;
  ASSERT_EQ(world.run(ledger::SwarmPut{"second", ledger::Origin::api, {}}).verdict, ledger::Verdict::ok);
  ASSERT_EQ(world.run(ledger::SwarmPut{"default", ledger::Origin::api, {{"fallback", "second"}}}).verdict,
            ledger::Verdict::ok);
  world.settle();
  world.join(1);
  for (const auto fallback : {AgentFallback::none, AgentFallback::any}) {
    const std::uint64_t n = fallback == AgentFallback::none ? 1 : 2;
    auto op = world.a_task(n);
    op.spec.attempts_max = 1;
    op.spec.extras.placement = std::make_shared<const Placement>(Placement{"agent1", fallback, 0, "", 0});
    ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
    world.settle();
    ASSERT_EQ(world.where(n), "agent1");
    world.fail(1, world.ref(n), ErrorClass::transient);
  }
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_EQ(world.task(2).shape->swarm, "second");
}

TEST(DispatcherPins, a_swarm_does_not_grow_for_them) {
  PinWorld world;
  ASSERT_EQ(world.run(ledger::SwarmPut{"default", ledger::Origin::api, {{"executor", "e"}}}).verdict,
            ledger::Verdict::ok);
  world.settle();
  world.submit_for(1, "away");
  EXPECT_TRUE(world.core->swarm_load("default")->needs.empty());
  world.submit(2);
  world.settle();
  EXPECT_EQ(world.core->swarm_load("default")->needs.size(), 1U);
}

// By which agents the tasks were taken.
std::set<std::string> takers(PinWorld& world, std::uint64_t first, std::uint64_t last) {
  std::set<std::string> all;
  for (std::uint64_t n = first; n <= last; ++n) all.insert(world.where(n));
  return all;
}

struct HashWorld : PinWorld {
  HashWorld() : PinWorld(options()) {
    for (std::uint32_t n = 1; n <= 8; ++n) join_wide(n, 100);
  }
  static DispatcherOptions options() {
    DispatcherOptions made;
    made.strategy = Balance::consistent_hash;
    return made;
  }
};

TEST(DispatcherRouteKey, tasks_of_one_type_spread_over_the_agents) {
  HashWorld world;
  for (std::uint64_t n = 1; n <= 40; ++n) world.submit(n);
  world.settle();
  EXPECT_GE(takers(world, 1, 40).size(), 4U) << "by their ids";
}

TEST(DispatcherRouteKey, the_same_key_goes_to_the_same_agent) {
  HashWorld world;
  std::set<std::string> all;
  for (std::uint64_t key = 0; key < 8; ++key) {
    for (std::uint64_t n = key * 10 + 1; n <= key * 10 + 5; ++n) {
      world.submit_placed(n, {"", AgentFallback::by_config, 0, "customer" + std::to_string(key), 0});
    }
    const auto its = takers(world, key * 10 + 1, key * 10 + 5);
    EXPECT_EQ(its.size(), 1U);
    all.insert(its.begin(), its.end());
  }
  EXPECT_GE(all.size(), 3U);
}

TEST(DispatcherRouteKey, without_one_the_idempotency_key_counts) {
  HashWorld world;
  std::set<std::string> by_key;
  std::set<std::string> by_route;
  for (std::uint64_t n = 1; n <= 10; ++n) {
    auto op = world.a_task(n);
    op.spec.swarm = "default";
    op.spec.extras.key = "key";
    // The same key once more would be the same task, so each is completed and its key forgotten first.
    world.run(ledger::EvictKeys{~0ULL, 100});
    ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
    world.settle();
    by_key.insert(world.where(n));
    world.submit_placed(n + 100, {"", AgentFallback::by_config, 0, "key", 0});
    by_route.insert(world.where(n + 100));
  }
  EXPECT_EQ(by_key.size(), 1U);
  EXPECT_EQ(by_key, by_route) << "a key is a key";
}

DispatcherOptions learning() {
  DispatcherOptions options;
  options.adaptive_retry = true;
  options.retry.jitter = 0;
  options.router.learning.retry.explore_first = 0;
  options.router.learning.retry.explore_last = 0;
  options.router.learning.explore_first = 0;
  options.router.learning.explore_last = 0;
  return options;
}

// What agent 1 has failed goes to agent 2, as the table says, and agent 1 is the one that round robin would take.
TEST(DispatcherAdaptiveRetry, the_table_says_who_gets_the_next_attempt) {
  PinWorld world(learning());
  world.join(1);
  world.join(2);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    world.submit_for(n, "agent1");
    world.fail(1, world.ref(n), ErrorClass::permanent);
    world.submit_for(n + 10, "agent2");
    world.complete(2, world.ref(n + 10));
  }
  const auto& learned = world.core->router().learned();
  EXPECT_GT(learned.outcomes(), 0U);
  for (std::uint64_t n = 20; n < 24; ++n) {
    world.submit(n);
    world.settle();
    const std::string first = world.where(n);
    const std::uint32_t agent = first == "agent1" ? 1 : 2;
    world.fail(agent, world.ref(n), ErrorClass::transient);
    world.pass(2s);
    ASSERT_NE(world.where(n), "");
    world.complete(world.where(n) == "agent1" ? 1 : 2, world.ref(n));
  }
  EXPECT_GT(learned.retry().outcomes(), 0U) << "the retry's outcome is part of the same table";
  const std::string text = learned.save();
  PinWorld next(learning());
  ASSERT_TRUE(next.core->router().learned().restore(text));
  EXPECT_EQ(next.core->router().learned().save(), text);
}

TEST(DispatcherAdaptiveRetry, a_delay_that_was_learned_is_the_delay_of_the_next_dispatcher) {
  const auto first_delay = [](const std::string& text) {
    PinWorld world(learning());
    EXPECT_TRUE(text.empty() || world.core->router().learned().restore(text));
    world.join(1);
    world.submit(1);
    world.settle();
    world.fail(1, world.ref(1), ErrorClass::resource);
    return world.task(1).not_before - world.moment.wall;
  };
  // Short delays failed again and again, a long one helped.
  QLearning table(learning().router.learning);
  for (int i = 0; i < 50; ++i) {
    for (std::uint8_t action = 0; action < AdaptiveRetry::k_actions; ++action) {
      const bool is_long = action == 3;
      table.retry().learn({is_long ? Duration(1600ms) : Duration(100ms), false, RetryClass::resource, action}, is_long);
    }
  }
  const auto usual = first_delay("");
  const auto learned = first_delay(table.save());
  EXPECT_EQ(learned, 16 * usual) << "the sixteenfold of the policy's";
}

}  // namespace
}  // namespace skein::inline v0::dispatch
