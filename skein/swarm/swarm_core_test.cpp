#include "skein/swarm/swarm_core.hpp"

#include <gtest/gtest.h>

#include <string>

#include "skein/base/random.hpp"

namespace skein::inline v0::swarm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A swarm core with the dispatcher's part played by hand.
struct World {
  SwarmCore core;
  Definition definition;
  dispatch::SwarmLoad load;
  Instant now = Instant(seconds(1000));
  std::uint32_t last_pid = 0;
  std::shared_ptr<const std::vector<std::string>> abilities =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"swarm=s", "work"});

  explicit World(std::uint32_t least = 2, std::uint32_t most = 5) {
    definition.swarm = "s";
    definition.executor = "e";
    definition.agents_min = least;
    definition.agents_max = most;
    load.swarm.name = "s";
    core.on_definition(definition);
    core.on_load(load, now);
  }
  // So many tasks wait that need nothing special.
  void queue(std::uint64_t ready) {
    load.ready = load.tasks = ready;
    load.needs = {{{"swarm=s", "work"}, ready}};
    core.on_load(load, now);
  }
  // Does what the plan says; those started announce themselves at once.
  Plan follow() {
    Plan plan = core.plan(now);
    for (const Pid pid : plan.end) {
      std::erase_if(load.agents, [&](const auto& each) { return each.pid == pid; });
      core.on_down(pid, true, now);
    }
    for (std::uint32_t i = 0; i < plan.start; ++i) {
      const Pid pid = Pid(0, ++last_pid, 1);
      core.on_started(pid, now);
      load.agents.push_back({"s-" + std::to_string(last_pid), pid, 0, false, 0, abilities, true});
    }
    core.on_load(load, now);
    return plan;
  }
  void crash(std::size_t which) {
    const Pid pid = load.agents.at(which).pid;
    load.agents.erase(load.agents.begin() + static_cast<std::ptrdiff_t>(which));
    core.on_down(pid, false, now);
  }
};

TEST(SwarmCore, starts_the_minimum_and_no_more_without_work) {
  World world;
  EXPECT_EQ(world.follow().start, 2U);
  EXPECT_EQ(world.follow().start, 0U);
  EXPECT_EQ(world.core.agents(), 2U);
}

TEST(SwarmCore, decides_nothing_before_it_knows_how_things_stand) {
  SwarmCore core;
  EXPECT_EQ(core.plan(Instant(seconds(1))).start, 0U);
  Definition definition;
  definition.executor = "e";
  core.on_definition(definition);
  EXPECT_EQ(core.plan(Instant(seconds(1))).start, 0U) << "agents of an earlier coordinator may be there";
}

TEST(SwarmCore, grows_with_the_work_up_to_the_maximum) {
  World world;
  world.follow();
  world.queue(1);
  EXPECT_EQ(world.follow().start, 0U) << "two are idle";
  for (auto& agent : world.load.agents) agent.runs = 1;
  world.queue(100);
  EXPECT_EQ(world.follow().start, 3U);
  EXPECT_EQ(world.follow().start, 0U);
}

TEST(SwarmCore, grows_for_what_waits_behind_running_tasks) {
  World world;
  world.follow();
  for (auto& agent : world.load.agents) agent.runs = 2, agent.ahead = 1;
  world.load.tasks = 4;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().start, 2U) << "two run, two wait behind them";
  world.load.swarm.state = ledger::SwarmState::paused;
  for (auto& agent : world.load.agents) agent.runs = 3, agent.ahead = 2;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().start, 0U) << "a paused swarm takes them back";
}

TEST(SwarmCore, does_not_grow_for_what_its_agents_cannot_do) {
  World world;
  world.follow();
  for (auto& agent : world.load.agents) agent.runs = 1;
  world.load.needs = {{{"gpu", "swarm=s"}, 90}, {{"swarm=s", "work"}, 1}};
  world.load.ready = world.load.tasks = 91;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().start, 1U) << "only one of them can be done";
  EXPECT_EQ(world.core.unmet(), (std::vector<std::vector<std::string>>{{"gpu", "swarm=s"}}));
  world.load.needs.clear();
  world.core.on_load(world.load, world.now);
  EXPECT_TRUE(world.core.unmet().empty());
}

TEST(SwarmCore, keeps_in_mind_what_its_agents_could_do_when_there_are_none) {
  World world(0, 5);
  world.queue(100);
  EXPECT_EQ(world.follow().start, 1U) << "nobody knows yet what they can do";
  EXPECT_EQ(world.follow().start, 4U);
  world.load.needs = {{{"gpu", "swarm=s"}, 90}};
  world.now += seconds(31);
  world.core.on_load(world.load, world.now);
  world.now += seconds(31);
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().end.size(), 5U);
  EXPECT_EQ(world.follow().start, 0U);
  world.definition.capabilities = {"gpu"};
  world.core.on_definition(world.definition);
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().start, 1U) << "new agents may be able to";
}

TEST(SwarmCore, does_not_grow_while_the_swarm_gives_nothing_out) {
  World world;
  world.follow();
  world.load.swarm.state = ledger::SwarmState::paused;
  world.queue(100);
  EXPECT_EQ(world.follow().start, 0U);
  world.load.swarm.state = ledger::SwarmState::active;
  world.load.swarm.breaker = ledger::Breaker::open;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().start, 0U);
}

TEST(SwarmCore, starts_others_for_tasks_that_paused_agents_leave) {
  World world;
  world.follow();
  for (auto& agent : world.load.agents) agent.is_paused = true;
  world.queue(0);
  EXPECT_EQ(world.follow().start, 0U) << "without work they count for the minimum";
  world.queue(2);
  EXPECT_EQ(world.follow().start, 2U);
  EXPECT_EQ(world.follow().start, 0U);
  world.queue(9);
  EXPECT_EQ(world.follow().start, 1U) << "they count for the maximum";
  world.queue(0);
  world.now += world.definition.idle_after;
  const Plan plan = world.follow();
  EXPECT_EQ(plan.end.size(), 3U);
  for (const auto& agent : world.load.agents) EXPECT_TRUE(agent.is_paused) << "whoever paused it finds it again";
}

TEST(SwarmCore, ends_paused_agents_above_the_maximum_and_of_a_drained_swarm) {
  World world;
  world.follow();
  world.load.agents[0].is_paused = true;
  world.core.on_load(world.load, world.now);
  const Pid other = world.load.agents[1].pid;
  world.definition.agents_min = world.definition.agents_max = 1;
  world.core.on_definition(world.definition);
  EXPECT_EQ(world.follow().end, std::vector<Pid>{other}) << "one that is not paused goes first";
  world.load.swarm.state = ledger::SwarmState::draining;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().end.size(), 1U);
}

TEST(SwarmCore, replaces_a_crashed_agent_at_once) {
  World world;
  world.follow();
  world.now += seconds(10);
  world.crash(0);
  EXPECT_EQ(world.follow().start, 1U);
  EXPECT_EQ(world.core.crashed(), 1U);
}

TEST(SwarmCore, replaces_those_that_die_young_ever_more_slowly) {
  World world(1, 1);
  std::vector<Duration> waits;
  for (int i = 0; i < 12; ++i) {
    Plan plan = world.follow();
    if (plan.start == 0) {
      ASSERT_NE(plan.look_at, Instant::max());
      waits.push_back(plan.look_at - world.now);
      world.now = plan.look_at;
      plan = world.follow();
    } else {
      waits.push_back(Duration(0));
    }
    ASSERT_EQ(plan.start, 1U);
    world.crash(0);
  }
  EXPECT_EQ(waits[k_young_deaths], Duration(0));
  EXPECT_EQ(waits[k_young_deaths + 1], k_hold_back);
  EXPECT_EQ(waits[k_young_deaths + 2], 2 * k_hold_back);
  for (const Duration wait : waits) EXPECT_LE(wait, k_hold_back_max);
}

// So many die at their start, one after the other; answers how long the next start is held back.
Duration held_after_deaths(World& world, std::uint32_t deaths) {
  for (std::uint32_t i = 0; i < deaths; ++i) {
    if (const Plan plan = world.follow(); plan.start == 0) {
      world.now = plan.look_at;
      world.follow();
    }
    world.crash(0);
  }
  const Plan plan = world.core.plan(world.now);
  return plan.look_at == Instant::max() ? Duration(0) : plan.look_at - world.now;
}

TEST(SwarmCore, one_that_never_announced_itself_has_died_young_however_long_that_took) {
  World world(1, 1);
  for (std::uint32_t i = 0; i <= k_young_deaths; ++i) {
    const Pid pid = Pid(0, 100 + i, 1);
    ASSERT_EQ(world.core.plan(world.now).start, 1U) << i;
    world.core.on_started(pid, world.now);
    world.now += seconds(10);
    EXPECT_FALSE(world.core.plan(world.now).is_whole) << "it is there and cannot be used";
    world.core.on_down(pid, false, world.now);
  }
  EXPECT_TRUE(world.core.is_failing());
  EXPECT_EQ(world.core.plan(world.now).start, 0U);
}

TEST(SwarmCore, agents_that_live_end_the_holding_back) {
  World world(1, 1);
  EXPECT_GT(held_after_deaths(world, 9), 2 * k_hold_back);
  EXPECT_TRUE(world.core.is_failing());
  world.now += seconds(31);
  EXPECT_EQ(world.follow().start, 1U);
  world.now += k_young - milliseconds(1);
  EXPECT_FALSE(world.follow().is_whole);
  EXPECT_TRUE(world.core.is_failing()) << "it has not lived long enough";
  world.now += milliseconds(1);
  EXPECT_TRUE(world.follow().is_whole);
  EXPECT_FALSE(world.core.is_failing());
  // It ends in order, as when it is idle or stopped by hand: that alone would not have ended the holding back.
  world.core.on_down(world.load.agents[0].pid, true, world.now);
  world.load.agents.clear();
  EXPECT_EQ(held_after_deaths(world, k_young_deaths), Duration(0));
  EXPECT_EQ(held_after_deaths(world, 1), k_hold_back);
}

TEST(SwarmCore, one_that_has_always_lived_does_not_hide_that_the_others_die_young) {
  World world(1, 2);
  world.follow();
  world.now += seconds(10);
  world.load.agents[0].runs = 1;
  world.load.agents[0].ahead = 1;
  for (std::uint32_t i = 0; i <= k_young_deaths; ++i) {
    world.core.on_load(world.load, world.now);
    ASSERT_EQ(world.follow().start, 1U) << i;
    world.crash(1);
    world.load.agents[0].ahead = 0;  // one is enough for a moment
    world.core.on_load(world.load, world.now);
    EXPECT_TRUE(world.follow().is_whole);
    world.load.agents[0].ahead = 1;
  }
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().start, 0U) << "held back";
}

TEST(SwarmCore, another_definition_ends_the_holding_back) {
  World world(1, 1);
  EXPECT_GT(held_after_deaths(world, 9), 2 * k_hold_back);
  world.definition.executor = "mended";
  world.core.on_definition(world.definition);
  EXPECT_EQ(world.follow().start, 1U);
}

TEST(SwarmCore, ends_idle_agents_beyond_the_minimum_after_their_time) {
  World world;
  world.follow();
  for (auto& agent : world.load.agents) agent.runs = 1;
  world.queue(3);
  EXPECT_EQ(world.follow().start, 3U);
  for (auto& agent : world.load.agents) agent.runs = 0;
  world.queue(0);
  world.now += world.definition.idle_after - milliseconds(1);
  EXPECT_TRUE(world.follow().end.empty());
  world.load.agents.back().runs = 1;  // busy a moment before the time
  const Pid busy = world.load.agents.back().pid;
  world.core.on_load(world.load, world.now);
  world.now += milliseconds(1);
  const Plan plan = world.follow();
  EXPECT_EQ(plan.end.size(), 3U) << "two and the busy one are wanted, or the minimum of two";
  EXPECT_EQ(std::count(plan.end.begin(), plan.end.end(), busy), 0);
  EXPECT_EQ(world.core.agents(), 2U);
}

TEST(SwarmCore, ends_the_surplus_at_once_when_the_maximum_goes_down) {
  World world(4, 5);
  world.follow();
  world.load.agents[0].runs = 1;
  world.core.on_load(world.load, world.now);
  world.definition.agents_min = world.definition.agents_max = 1;
  world.core.on_definition(world.definition);
  const Plan plan = world.follow();
  EXPECT_EQ(plan.end.size(), 3U) << "the busy one is let finish";
}

TEST(SwarmCore, replaces_all_when_they_must_be_others) {
  World world;
  world.follow();
  world.load.agents[0].runs = 1;
  world.core.on_load(world.load, world.now);
  world.definition.executor = "other";
  world.core.on_definition(world.definition);
  const Plan told = world.follow();
  EXPECT_EQ(told.retire.size(), 2U) << "they begin nothing more";
  EXPECT_EQ(told.start, 2U);
  EXPECT_EQ(world.follow().end.size(), 1U) << "the busy one finishes what it runs";
  world.load.agents[0].runs = 0;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().end.size(), 1U);
}

TEST(SwarmCore, stopping_ends_all_and_draining_ends_them_when_nothing_is_left) {
  World world;
  world.follow();
  world.load.swarm.state = ledger::SwarmState::draining;
  world.load.tasks = 1;
  world.core.on_load(world.load, world.now);
  EXPECT_TRUE(world.follow().end.empty());
  world.load.tasks = 0;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().end.size(), 2U);
  EXPECT_EQ(world.follow().start, 0U);
  World other;
  other.follow();
  other.load.agents[0].runs = 1;
  other.load.swarm.state = ledger::SwarmState::stopped;
  other.core.on_load(other.load, other.now);
  EXPECT_EQ(other.follow().end.size(), 2U);
}

TEST(SwarmCore, counts_agents_of_an_earlier_coordinator) {
  World world;
  world.core.on_started(Pid(0, 70, 1), world.now);
  world.core.on_started(Pid(0, 71, 1), world.now);
  EXPECT_EQ(world.follow().start, 0U);
}

TEST(SwarmCore, stays_within_its_limits_whatever_happens) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    World world(static_cast<std::uint32_t>(random.below(4)), static_cast<std::uint32_t>(4 + random.below(4)));
    for (int step = 0; step < 200; ++step) {
      world.now += milliseconds(random.below(5'000));
      world.queue(random.below(20));
      for (auto& agent : world.load.agents) agent.runs = static_cast<std::uint32_t>(random.below(3));
      world.core.on_load(world.load, world.now);
      if (!world.load.agents.empty() && random.below(4) == 0) world.crash(random.below(world.load.agents.size()));
      world.follow();
      ASSERT_LE(world.core.agents(), world.definition.agents_max) << "seed " << seed;
    }
    // Left alone it comes to rest with its minimum.
    world.queue(0);
    for (auto& agent : world.load.agents) agent.runs = 0;
    for (int look = 0; look < 20; ++look) {
      world.core.on_load(world.load, world.now);
      world.now += seconds(31);
      world.follow();
    }
    ASSERT_EQ(world.core.agents(), world.definition.agents_min) << "seed " << seed;
  }
}

TEST(SwarmCore, replaces_agents_of_another_definition_without_cutting_short_what_they_run) {
  World world(2, 5);
  world.follow();
  world.load.agents.at(0).runs = 1;
  world.core.on_load(world.load, world.now);
  const Pid busy = world.load.agents.at(0).pid;
  const Pid idle = world.load.agents.at(1).pid;
  world.core.replace_all();
  Plan plan = world.follow();
  EXPECT_EQ(plan.retire, (std::vector<Pid>{busy, idle})) << "neither begins anything more";
  EXPECT_TRUE(plan.end.empty()) << "a task may be on its way to them";
  EXPECT_EQ(plan.start, 2U);
  plan = world.follow();
  EXPECT_EQ(plan.end, std::vector<Pid>{idle});
  EXPECT_TRUE(plan.retire.empty()) << "they are told once";
  world.load.agents.at(0).runs = 0;
  world.core.on_load(world.load, world.now);
  EXPECT_EQ(world.follow().end, std::vector<Pid>{busy});
}

TEST(SwarmCore, a_removed_swarm_keeps_its_agents_until_it_is_empty) {
  World world(2, 5);
  world.follow();
  world.load.swarm.state = ledger::SwarmState::removed;
  world.queue(1);
  EXPECT_TRUE(world.follow().end.empty());
  world.queue(0);
  EXPECT_EQ(world.follow().end.size(), 2U);
}

TEST(SwarmCore, without_an_executor_all_agents_go_and_none_comes) {
  World world(2, 5);
  world.follow();
  world.core.let_all_go();
  EXPECT_EQ(world.follow().retire.size(), 2U);
  world.core.let_all_go();
  const Plan plan = world.follow();
  EXPECT_EQ(plan.end.size(), 2U);
  EXPECT_EQ(plan.start, 0U);
  world.core.on_definition(world.definition);
  EXPECT_EQ(world.follow().start, 2U) << "it has one again";
}

}  // namespace
}  // namespace skein::inline v0::swarm
