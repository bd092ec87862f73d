#include "skein/dispatch/attempt_timeouts.hpp"

#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;

struct TimeoutWorld : RuleWorld {
  TimeoutWorld() {
    options.types["typed"].timeout = 40s;
    options.types["learned"].timeout = 41s;
    options.types["learned"].adaptive_timeout = AdaptiveTimeoutOptions{.longest = 30s, .minimum = 4};
  }
  SlotNumber own = swarm("own");
  SlotNumber ada = agent("ada");

  AgentRecord& the_agent() { return tables.agents[ada]; }
  TaskRecord& of_type(const std::string& type) { return tables.tasks[task(own, type)]; }
};

TEST(AttemptTimeouts, takes_the_tasks_own_then_its_types_then_its_agents_then_its_executors) {
  TimeoutWorld world;
  AttemptTimeouts timeouts(world.options);
  TaskRecord& other = world.of_type("other");
  TaskRecord& typed = world.of_type("typed");
  EXPECT_EQ(timeouts.of(other, world.the_agent()), 2h);
  world.the_agent().is_function = true;
  EXPECT_EQ(timeouts.of(other, world.the_agent()), 5s);
  world.the_agent().attempt_timeout = 50s;
  EXPECT_EQ(timeouts.of(other, world.the_agent()), 50s);
  EXPECT_EQ(timeouts.of(typed, world.the_agent()), 40s);
  typed.timeout_ms = 7'000;
  EXPECT_EQ(timeouts.of(typed, world.the_agent()), 7s);
}

TEST(AttemptTimeouts, never_falls_below_the_minimum) {
  TimeoutWorld world;
  AttemptTimeouts timeouts(world.options);
  TaskRecord& hasty = world.of_type("typed");
  hasty.timeout_ms = 1;
  EXPECT_EQ(timeouts.of(hasty, world.the_agent()), world.options.timeout_minimum);
}

TEST(AttemptTimeouts, follows_what_attempts_of_a_learned_type_take) {
  TimeoutWorld world;
  AttemptTimeouts timeouts(world.options);
  const TaskRecord& learned = world.of_type("learned");
  EXPECT_EQ(timeouts.of(learned, world.the_agent()), 30s) << "the longest, while little is known";
  for (int i = 0; i < 4; ++i) timeouts.learn(learned, 5s);
  EXPECT_EQ(timeouts.of(learned, world.the_agent()), 10s) << "twice what most take";
  timeouts.learn(world.of_type("typed"), 1h);
  EXPECT_EQ(timeouts.of(world.of_type("typed"), world.the_agent()), 40s) << "nobody asked to learn that type";
}

TEST(AttemptTimeouts, begin_when_the_run_begins) {
  TimeoutWorld world;
  AttemptTimeouts timeouts(world.options);
  const SlotNumber slot = world.task(world.own, "typed");
  auto& run = world.tables.runs[world.run(slot, world.ada)];
  run.since = world.at(10);
  timeouts.set(run, world.tables.tasks[slot], world.the_agent());
  EXPECT_EQ(run.timeout_at, Instant::max()) << "it is ordered, and not yet said to have begun";
  run.become(RunState::started);
  timeouts.set(run, world.tables.tasks[slot], world.the_agent());
  EXPECT_EQ(run.timeout_at, world.at(50));
}

TEST(AttemptTimeouts, begin_with_the_order_where_starts_are_not_reported) {
  TimeoutWorld world;
  AttemptTimeouts timeouts(world.options);
  world.the_agent().reports_starts = false;
  const SlotNumber slot = world.task(world.own, "typed");
  auto& run = world.tables.runs[world.run(slot, world.ada)];
  run.since = world.at(10);
  timeouts.set(run, world.tables.tasks[slot], world.the_agent());
  EXPECT_EQ(run.timeout_at, world.at(50));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
