// Fair to tasks that take minutes or hours: ageing, crashes of one type, half-open types, shared executors, and who is
// passed over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::State;
using Event = DispatchEvent::Kind;

AgentReady able(std::vector<std::string> capabilities, std::uint32_t capacity = 1) {
  AgentReady ready;
  ready.capabilities = std::move(capabilities);
  ready.capacity = capacity;
  ready.reports_starts = true;
  return ready;
}

// Begins what the agent holds, in the order of its fences.
void start_all(CoreWorld& world, std::uint32_t agent) {
  const auto held = world.agents[agent].held;
  for (const auto& [ref, order] : held) world.start(agent, ref);
}

std::size_t at_work(CoreWorld& world) {
  std::size_t sum = 0;
  for (const auto& [n, agent] : world.agents) sum += agent.is_alive ? agent.held.size() : 0;
  return sum;
}

// At 400d72d one agent, 45 low tasks of 3 s; after 100 s a critical one waited for all that were left.
TEST(DispatcherFair, a_critical_task_is_first_however_long_the_others_have_waited) {
  CoreWorld world;
  world.begin();
  world.join(1, able({"work"}));
  for (std::uint64_t n = 1; n <= 45; ++n) world.submit(n, "work", ledger::k_low);
  world.settle();
  for (int i = 0; i < 33; ++i) {
    start_all(world, 1);
    world.pass(3s);
    world.complete(1, world.agents[1].held.begin()->first);
  }
  for (std::uint64_t n = 36; n <= 45; ++n) EXPECT_LE(world.task(n).effective_priority, ledger::k_high) << n;
  world.submit(100, "work", ledger::k_critical);
  start_all(world, 1);
  world.pass(3s);
  world.complete(1, world.agents[1].held.begin()->first);
  EXPECT_EQ(world.where(100), "agent1");
}

TEST(DispatcherFair, what_has_aged_is_still_preempted_by_a_critical_task) {
  DispatcherOptions options;
  options.age_step = 1s;
  CoreWorld world(options);
  world.begin();
  world.submit(1, "work", ledger::k_low);
  world.pass(10s);
  EXPECT_EQ(world.task(1).effective_priority, ledger::k_high);
  EXPECT_EQ(world.task(1).priority, ledger::k_low);
  world.join(1, able({"work"}));
  ASSERT_EQ(world.where(1), "agent1");
  start_all(world, 1);
  world.submit(2, "work", ledger::k_critical);
  world.pass(1s);
  ASSERT_FALSE(world.agents[1].stops.empty());
  EXPECT_EQ(world.agents[1].stops[0].why, StopReason::yield);
}

// Two critical tasks came to one agent, one behind the other, beside an agent whose run could yield.
TEST(DispatcherFair, a_critical_task_is_not_put_behind_another_one) {
  CoreWorld world;
  world.begin();
  for (std::uint32_t n = 1; n <= 2; ++n) world.join(n, able({"work"}, 2));
  for (std::uint64_t n = 1; n <= 2; ++n) world.submit(n, "work", ledger::k_low);
  world.settle();
  for (std::uint32_t n = 1; n <= 2; ++n) start_all(world, n);
  world.submit(11, "work", ledger::k_critical);
  world.settle();
  world.submit(12, "work", ledger::k_critical);
  world.settle();
  EXPECT_NE(world.where(11), "");
  EXPECT_NE(world.where(12), "");
  EXPECT_NE(world.where(11), world.where(12));
  for (std::uint32_t n = 1; n <= 2; ++n) {
    ASSERT_EQ(world.agents[n].stops.size(), 1U);
    EXPECT_EQ(world.agents[n].stops[0].why, StopReason::yield);
  }
  world.submit(13, "work", ledger::k_critical);
  world.settle();
  // What made way leaves a place behind a critical task: it is not for another critical one.
  const std::uint64_t low = world.where(1) == world.where(11) ? 1 : 2;
  const std::uint32_t agent = world.where(11) == "agent1" ? 1 : 2;
  world.return_task(agent, world.ref(low));
  EXPECT_EQ(world.state(13), State::queued) << "it would only wait there";
  world.start(agent, world.ref(11));
  world.complete(agent, world.ref(11));
  EXPECT_EQ(world.where(13), fmt::format("agent{}", agent));
}

TEST(DispatcherFair, tasks_of_a_slow_type_age_by_what_is_usual_for_it) {
  CoreWorld world;
  world.begin();
  world.join(1, able({"slow"}));
  for (std::uint64_t n = 1; n <= 8; ++n) world.submit(n, "slow");
  world.settle();
  for (int i = 0; i < 6; ++i) {
    start_all(world, 1);
    world.pass(2min);
    world.complete(1, world.agents[1].held.begin()->first);
  }
  start_all(world, 1);
  world.submit(20, "slow", ledger::k_low);
  world.pass(15min);
  EXPECT_EQ(world.task(20).effective_priority, ledger::k_low) << "ten runs of two minutes are not over";
  world.pass(10min);
  EXPECT_EQ(world.task(20).effective_priority, ledger::k_normal);
}

// At 400d72d crashes of one type stopped all types of the swarm.
TEST(DispatcherFair, crashes_over_one_type_do_not_stop_the_others) {
  CoreWorld world;
  world.begin();
  for (std::uint64_t n = 1; n <= 9; ++n) world.submit(n, "bad");
  for (std::uint32_t n = 1; n <= 12 && world.count(Event::breaker_opened) == 0; ++n) {
    world.join(n, able({"bad"}));
    start_all(world, n);
    world.crash(n);
    world.pass(1s);
  }
  ASSERT_EQ(world.count(Event::breaker_opened), 1U);
  world.join(50, able({"bad", "good"}));
  world.submit(100, "good");
  world.settle();
  EXPECT_EQ(world.where(100), "agent50");
  EXPECT_EQ(world.agents[50].held.size(), 1U);
}

// At 400d72d five bad agents stopped a type that others were well at work on.
TEST(DispatcherFair, crashes_that_others_of_the_type_outlive_stop_nothing) {
  CoreWorld world;
  world.begin();
  for (std::uint64_t n = 1; n <= 20; ++n) world.submit(n);
  for (std::uint32_t n = 1; n <= 6; ++n) {
    world.join(n, able({"work"}));
    start_all(world, n);
  }
  world.pass(5min);
  // Each task is tried twice at once, so these fall over five distinct ones.
  for (std::uint32_t n = 11; n <= 20; ++n) {
    world.join(n, able({"work"}));
    start_all(world, n);
    world.pass(1s);
    world.crash(n);
    world.pass(2s);
  }
  EXPECT_EQ(world.count(Event::breaker_opened), 0U);
  EXPECT_EQ(world.count(Event::breaker_warning), 1U);
}

struct HalfOpenWorld : CoreWorld {
  // Four agents idle, ten tasks waiting, the type half open after crashes a second into the run.
  HalfOpenWorld() {
    begin();
    for (std::uint64_t n = 1; n <= 20; ++n) submit(n);
    for (std::uint32_t n = 1; n <= 12 && count(Event::breaker_opened) == 0; ++n) {
      join(n, able({"work"}));
      start_all(*this, n);
      pass(1s);
      crash(n);
      pass(3s);
    }
    EXPECT_EQ(count(Event::breaker_opened), 1U);
    for (std::uint32_t n = 21; n <= 24; ++n) join(n, able({"work"}));
    for (int i = 0; i < 70 && count(Event::breaker_half_opened) == 0; ++i) pass(1s);
    EXPECT_EQ(count(Event::breaker_half_opened), 1U);
  }
  void start_agents() {
    for (std::uint32_t n = 21; n <= 24; ++n) start_all(*this, n);
  }
};

// At 400d72d with tasks of ten minutes, one ran and three agents were idle for ten minutes.
TEST(DispatcherFair,
     a_half_open_type_gives_out_one_more_task_per_interval_and_closes_once_a_run_has_outlived_the_crashes) {
  HalfOpenWorld world;
  world.settle();
  EXPECT_EQ(at_work(world), 1U);
  world.start_agents();
  world.pass(5s + 100ms);
  EXPECT_GE(at_work(world), 2U) << "by time, not by completion";
  world.start_agents();
  world.pass(6s);
  EXPECT_EQ(world.count(Event::breaker_closed), 1U) << "nothing completed, but a run has outlived the crashes";
  EXPECT_EQ(at_work(world), 4U);
}

TEST(DispatcherFair, a_crash_while_half_open_opens_the_type_again) {
  HalfOpenWorld world;
  world.settle();
  ASSERT_EQ(at_work(world), 1U);
  for (std::uint32_t n = 21; n <= 24; ++n) {
    if (world.agents[n].held.empty()) continue;
    start_all(world, n);
    world.crash(n);
    break;
  }
  EXPECT_EQ(world.count(Event::breaker_opened), 2U);
  world.pass(30s);
  EXPECT_EQ(at_work(world), 0U);
}

TEST(DispatcherFair, a_swarms_breaker_that_an_earlier_version_left_is_closed_when_its_time_is_up) {
  CoreWorld world;
  world.begin();
  world.run(ledger::SwarmSetBreaker{"default", ledger::Breaker::open, world.moment.wall + 5'000});
  world.submit(1);
  world.join(1);
  world.pass(3s);
  EXPECT_EQ(world.state(1), State::queued);
  world.pass(4s);
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.ledger.find_swarm("default")->breaker, ledger::Breaker::closed);
  world.run(ledger::SwarmSetBreaker{"default", ledger::Breaker::half_open, 0});
  world.pass(2s);
  EXPECT_EQ(world.ledger.find_swarm("default")->breaker, ledger::Breaker::closed);
}

struct SharedWorld : CoreWorld {
  explicit SharedWorld(const std::string& weight_of_a = "1") : CoreWorld(options()) {
    begin();
    put("a", weight_of_a);
    put("b", "1");
    for (std::uint32_t n = 1; n <= 3; ++n) join(n, member("a"));
    for (std::uint32_t n = 11; n <= 13; ++n) join(n, member("b"));
  }
  static DispatcherOptions options() {
    DispatcherOptions options;
    options.executors = {{"model", 2}};
    return options;
  }
  static AgentReady member(const std::string& swarm) {
    AgentReady ready = able({"work", swarm_capability(swarm)});
    ready.executor = "model";
    return ready;
  }
  void put(const std::string& name, const std::string& weight) {
    ledger::Fields fields{{"executor", "model"}, {"weight", weight}};
    EXPECT_EQ(run(ledger::SwarmPut{name, ledger::Origin::api, fields}).verdict, ledger::Verdict::ok);
    settle();
  }
  void submit_to(const std::string& swarm, std::uint64_t n, std::uint16_t priority = ledger::k_normal) {
    auto op = a_task(n);
    op.spec.swarm = swarm;
    op.spec.priority = priority;
    EXPECT_EQ(run(op).verdict, ledger::Verdict::ok);
    settle();
  }
  void start_all_agents() {
    for (const auto& [n, agent] : agents) start_all(*this, n);
  }
  // Whatever has begun before the last pass ends; returns how many of each swarm.
  std::pair<int, int> complete_all() {
    std::pair<int, int> ended;
    std::vector<std::pair<std::uint32_t, TaskRef>> all;
    for (const auto& [n, agent] : agents) {
      for (const auto& [ref, order] : agent.held) all.emplace_back(n, ref);
    }
    for (const auto& [n, ref] : all) {
      ++(n < 10 ? ended.first : ended.second);
      complete(n, ref);
    }
    return ended;
  }
};

TEST(DispatcherFair, a_swarm_that_comes_late_to_a_shared_executor_waits_for_one_place_and_not_for_a_queue) {
  SharedWorld world;
  for (std::uint64_t n = 1; n <= 30; ++n) world.submit_to("a", n);
  world.start_all_agents();
  world.pass(100s);  // the others have aged
  world.submit_to("b", 100);
  EXPECT_EQ(world.state(100), State::queued);
  const auto first = world.agents[1].held.empty() ? 2U : 1U;
  world.complete(first, world.agents[first].held.begin()->first);
  EXPECT_NE(world.where(100), "") << "the next place is its";
}

TEST(DispatcherFair, swarms_share_an_executor_by_weight) {
  SharedWorld world("3");
  for (std::uint64_t n = 1; n <= 300; ++n) world.submit_to("a", n);
  for (std::uint64_t n = 301; n <= 600; ++n) world.submit_to("b", n);
  int a = 0;
  int b = 0;
  for (int i = 0; i < 100; ++i) {
    world.start_all_agents();
    world.pass(5s);
    const auto [of_a, of_b] = world.complete_all();
    a += of_a;
    b += of_b;
  }
  ASSERT_EQ(a + b, 200);
  EXPECT_NEAR(a, 150, 8);
}

TEST(DispatcherFair, tells_who_is_passed_over_why_and_until_when) {
  CoreWorld world;
  world.begin();
  world.join(1);
  for (std::uint64_t n = 1; n <= 5; ++n) {
    auto op = world.a_task(n);
    op.spec.attempts_max = 1;
    ASSERT_EQ(world.run(op).verdict, ledger::Verdict::ok);
    world.settle();
    world.fail(1, world.ref(n), ledger::ErrorClass::transient);
  }
  const auto all = world.core->passed_over_agents("", world.moment);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].subject, "agent1");
  EXPECT_EQ(all[0].why, PassedOver::Why::breaker_open);
  EXPECT_EQ(all[0].until, world.moment.wall + 30'000);
  EXPECT_EQ(world.count(Event::agent_passed_over), 1U);
  world.run(ledger::AgentPut{"agent1", {{"paused", "true"}}});
  world.settle();
  EXPECT_EQ(world.core->passed_over_agents("agent1", world.moment).size(), 2U);
  EXPECT_TRUE(world.core->passed_over_agents("nobody", world.moment).empty());
  world.run(ledger::AgentRemove{"agent1"});
  world.settle();
  world.submit(9);
  world.pass(31s);
  EXPECT_EQ(world.where(9), "agent1");
  EXPECT_EQ(world.count(Event::agent_back), 1U);
  EXPECT_TRUE(world.core->passed_over_agents("", world.moment).empty());
}

}  // namespace
}  // namespace skein::inline v0::dispatch
