// Restarts, lost messages, limits, and random inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::ErrorClass;
using ledger::State;
using testing::Contains;
using testing::IsEmpty;
using Event = DispatchEvent::Kind;

TEST(DispatcherCoreRestart, a_run_whose_agent_still_has_it_goes_on_with_its_fence) {
  CoreWorld world;
  auto& agent = world.begin_with_run();
  const TaskRef ref = world.ref(1);
  world.restart();
  world.pass(10s, false);
  world.join(1);
  EXPECT_EQ(world.ref(1), ref);
  EXPECT_THAT(agent.asked, Contains(ref)) << "its outcome may have been lost with the old dispatcher";
  world.complete(1, ref);
  EXPECT_EQ(world.state(1), State::completed);
}

TEST(DispatcherCoreRestart, an_agent_that_announced_itself_before_the_state_was_known_keeps_its_run) {
  CoreWorld world;
  world.begin_with_run();
  const TaskRef ref = world.ref(1);
  world.lose_dispatcher();
  world.join(1);
  world.begin();
  EXPECT_EQ(world.ref(1), ref);
  world.complete(1, ref);
  EXPECT_EQ(world.state(1), State::completed);
}

TEST(DispatcherCoreRestart, a_run_its_agent_no_longer_has_is_requeued_without_cost) {
  CoreWorld world;
  auto& agent = world.begin_with_run();
  const auto fence = world.ref(1).fence;
  agent.held.clear();
  world.restart();
  world.join(1);
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_GT(world.ref(1).fence, fence);
  EXPECT_EQ(world.task(1).attempts, 0U);
}

TEST(DispatcherCoreRestart, a_run_whose_agent_never_comes_back_gets_a_full_lease_and_then_another_agent) {
  CoreWorld world;
  world.begin_with_run();
  const auto fence = world.ref(1).fence;
  world.agents.clear();
  world.restart();
  world.join(2);
  world.pass(29s);
  EXPECT_EQ(world.ref(1).fence, fence);
  world.pass(2s);
  EXPECT_EQ(world.where(1), "agent2");
  EXPECT_EQ(world.task(1).attempts, 0U) << "a node's crash costs none";
}

TEST(DispatcherCoreRestart, a_run_of_an_earlier_program_has_no_lease) {
  CoreWorld world;
  world.begin_with_run();
  world.agents.clear();
  const auto fence = world.ref(1).fence;
  world.end_program(fence);
  world.restart();
  world.join(2);
  world.settle();
  EXPECT_EQ(world.where(1), "agent2");
  EXPECT_EQ(world.task(1).attempts, 0U) << "a node's crash costs none";
  EXPECT_GT(world.ref(1).fence, fence);
}

TEST(DispatcherCoreRestart, an_agent_back_before_its_last_outcome_is_decided_has_all_its_places) {
  CoreWorld world;
  world.begin_with_run();
  world.is_held = true;
  world.complete(1, world.ref(1));
  world.step();
  world.crash(1);
  world.join(1);
  world.is_held = false;
  world.settle();
  ASSERT_EQ(world.state(1), State::completed);
  world.submit(2);
  world.settle();
  EXPECT_EQ(world.where(2), "agent1");
}

TEST(DispatcherCoreRestart, an_assign_applied_after_the_old_dispatcher_fell_is_found_in_the_state) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.is_held = true;
  world.submit(1);
  world.step();
  ASSERT_EQ(world.pending(), 1U);
  world.apply_next();
  world.is_held = false;
  world.restart();
  ASSERT_EQ(world.where(1), "agent1");
  world.join(1);
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.agents[1].held.size(), 1U);
}

TEST(DispatcherCoreRestart, nothing_is_appended_once_another_has_taken_over) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.submit(1);
  world.run(ledger::TakeDispatch{"other", world.moment.wall});
  const auto before = world.appends;
  world.submit(2);
  world.settle();
  EXPECT_TRUE(world.core->is_deposed());
  EXPECT_EQ(world.appends, before);
  EXPECT_EQ(world.count(Event::deposed), 1U);
}

TEST(DispatcherCoreMail, an_order_that_was_lost_is_sent_again) {
  CoreWorld world;
  auto& agent = world.begin_with_run();
  const TaskRef ref = world.ref(1);
  agent.held.clear();
  world.pass(4s);
  EXPECT_THAT(agent.held, Contains(testing::Key(ref)));
}

TEST(DispatcherCoreMail, an_order_not_yet_sent_outlives_an_announcement) {
  CoreWorld world;
  world.begin();
  auto& agent = world.join_function(1, 2);
  world.is_held = true;
  world.submit(1);
  world.step();
  ASSERT_TRUE(world.apply_next());
  // Its order is in the mail when the agent announces itself once more.
  world.join_function(1, 2);
  world.step();
  EXPECT_EQ(world.pending(), 0U) << "nothing is requeued";
  ASSERT_TRUE(agent.held.contains(world.ref(1)));
  world.is_held = false;
  world.complete(1, world.ref(1));
  EXPECT_EQ(world.state(1), ledger::State::completed);
}

TEST(DispatcherCoreMail, an_outcome_is_not_settled_while_the_end_of_its_run_is_on_its_way) {
  CoreWorld world;
  world.begin();
  auto& agent = world.join_function(1);
  world.submit(1);
  world.settle();
  const TaskRef ref = world.ref(1);
  ASSERT_TRUE(agent.held.contains(ref));
  world.is_held = true;
  // It announces itself as one that has nothing: the order may have been on its way then.
  agent.held.clear();
  world.join_function(1);
  world.step();
  ASSERT_EQ(world.pending(), 1U) << "a requeue";
  world.complete(1, ref);
  world.step();
  EXPECT_TRUE(agent.settled.empty()) << "the ledger has not decided yet";
  world.is_held = false;
  world.settle();
  world.complete(1, ref);
  EXPECT_EQ(agent.settled, std::vector{ref});
}

TEST(DispatcherCoreMail, what_an_agent_should_not_have_is_stopped) {
  CoreWorld world;
  world.begin();
  auto& agent = world.join(1);
  agent.held.emplace(TaskRef{77, 99}, Order{});
  world.beat(1);
  ASSERT_EQ(agent.stops.size(), 1U);
  EXPECT_EQ(agent.stops[0].ref, (TaskRef{77, 99}));
  EXPECT_EQ(agent.stops[0].why, StopReason::stale);
}

TEST(DispatcherCoreMail, an_outcome_told_twice_is_appended_once) {
  CoreWorld world;
  world.begin_with_run();
  const TaskRef ref = world.ref(1);
  world.is_held = true;
  world.complete(1, ref);
  world.complete(1, ref);
  world.step();
  ASSERT_EQ(world.pending(), 1U);
  world.apply_next();
  EXPECT_EQ(ledger::decode_command(world.commands.back())->size(), 1U);
}

TEST(DispatcherCoreMail, a_newer_process_of_the_same_name_replaces_the_older) {
  CoreWorld world;
  world.begin_with_run();
  AgentReady same;
  same.name = "agent1";
  world.join(2, same);
  EXPECT_THAT(world.agents[1].held, IsEmpty()) << "the old one was not told to let go";
  EXPECT_EQ(world.where(1), "agent1");
  ASSERT_EQ(world.agents[2].held.size(), 1U);
  world.complete(2, world.ref(1));
  EXPECT_EQ(world.state(1), State::completed);
}

TEST(DispatcherCoreLimits, a_slow_journal_has_few_appends_under_way_and_room_for_completions) {
  DispatcherOptions options;
  options.appends_in_flight = 4;
  CoreWorld world(options);
  world.begin();
  world.join_wide(1, 100);
  world.submit(1);
  world.settle();
  world.is_held = true;
  for (std::uint64_t n = 2; n <= 20; ++n) {
    world.submit(n);
    world.step();
  }
  EXPECT_EQ(world.pending(), 2U) << "what is no completion gets half";
  world.complete(1, world.ref(1));
  world.step();
  EXPECT_EQ(world.pending(), 3U);
  world.is_held = false;
  world.settle();
  EXPECT_EQ(world.state(1), State::completed);
  for (std::uint64_t n = 2; n <= 20; ++n) EXPECT_EQ(world.where(n), "agent1") << n;
}

TEST(DispatcherCoreLimits, large_outcomes_are_split_into_commands_the_journal_takes) {
  CoreWorld world;
  world.begin();
  world.join_wide(1, 50);
  for (std::uint64_t n = 1; n <= 50; ++n) world.submit(n);
  world.settle();
  AgentReport report;
  const std::string large(200 << 10U, 'x');
  for (std::uint64_t n = 1; n <= 50; ++n) report.complete.push_back({world.ref(n), ledger::body_of(large)});
  world.commands.clear();
  world.core->on_report(CoreWorld::pid_of(1), std::move(report), world.moment);
  world.settle();
  for (const auto& command : world.commands) EXPECT_LT(command.size(), journal::JournalLimits{}.entry_bytes);
  for (std::uint64_t n = 1; n <= 50; ++n) EXPECT_EQ(world.state(n), State::completed) << n;
}

TEST(DispatcherCoreLimits, a_result_the_ledger_will_not_take_fails_the_task_for_good) {
  CoreWorld world;
  auto& agent = world.begin_with_run();
  const TaskRef ref = world.ref(1);
  world.complete(1, ref, std::string(300 << 10U, 'x'));
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_THAT(agent.settled, Contains(ref));
  EXPECT_EQ(world.core->runs(), 0U);
}

TEST(DispatcherCoreLimits, an_agent_with_too_many_unsettled_outcomes_gets_nothing_new) {
  CoreWorld world;
  world.begin();
  AgentReady ready;
  ready.outcome_room = 2;
  world.join(1, ready);
  for (std::uint64_t n = 1; n <= 4; ++n) world.submit(n);
  world.settle();
  world.is_held = true;
  world.complete(1, world.ref(1));
  world.step();
  world.apply_next();  // settles it and assigns the next
  world.step();
  world.complete(1, world.ref(2));
  world.step();
  EXPECT_EQ(world.core->counters().assigned, 3U);
  world.is_held = false;
  world.settle();
  EXPECT_EQ(world.where(3), "agent1");
}

TEST(DispatcherCoreLimits, idempotency_keys_are_evicted_after_their_time) {
  DispatcherOptions options;
  options.keys_kept = 10s;
  CoreWorld world(options);
  world.begin();
  auto op = world.a_task(1);
  op.spec.extras.key = "once";
  world.run(op);
  EXPECT_EQ(world.ledger.counters().keys, 1U);
  world.pass(130s);
  EXPECT_EQ(world.ledger.counters().keys, 0U);
}

TEST(DispatcherCoreLimits, a_wall_clock_that_jumps_ahead_for_a_while_evicts_no_key) {
  DispatcherOptions options;
  options.keys_kept = 1h;
  CoreWorld world(options);
  world.begin();
  auto op = world.a_task(1);
  op.spec.extras.key = "once";
  world.run(op);
  world.pass(30min);
  world.wall_ahead_ms = 25ULL * 3600 * 1000;
  world.pass(30min);
  EXPECT_EQ(world.ledger.counters().keys, 1U) << "the clock has not agreed for an hour";
  world.wall_ahead_ms = 0;
  world.pass(50min);
  EXPECT_EQ(world.ledger.counters().keys, 1U) << "it jumped again";
  world.pass(12min);
  EXPECT_EQ(world.ledger.counters().keys, 0U);
}

TEST(DispatcherCoreLimits, so_is_the_key_of_a_task_that_failed_at_once) {
  DispatcherOptions options;
  options.keys_kept = 10s;
  CoreWorld world(options);
  world.begin();
  world.submit(1);
  world.run(ledger::Cancel{CoreWorld::id_of(1), world.moment.wall, ""});
  auto op = world.a_task(2);
  op.spec.extras.key = "key";
  op.spec.extras.dependencies = {CoreWorld::id_of(1)};
  ASSERT_EQ(world.run(op).state, State::failed);
  world.pass(80s);
  EXPECT_EQ(world.ledger.find_key("default", "key"), std::nullopt);
}

TEST(DispatcherCoreLimits, ten_thousand_waiting_tasks_cost_a_round_nothing) {
  CoreWorld world;
  world.begin();
  for (std::uint64_t n = 1; n <= 9'000; ++n) world.submit(n, "nobody");
  world.is_held = false;
  world.join(1);
  world.submit(9'001);
  world.settle();
  EXPECT_EQ(world.where(9'001), "agent1");
  for (std::uint64_t n = 1; n <= 9'000; ++n) world.run(ledger::Cancel{CoreWorld::id_of(n), world.moment.wall, ""});
  world.settle();
  EXPECT_EQ(world.core->ready(), 0U);
  EXPECT_EQ(world.core->tasks(), 1U);
}

// Random inputs of all kinds, in any order; then the faults stop and everything must end.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed), world_(options(), seed) {}

  void run() {
    world_.begin();
    for (int i = 0; i < 400; ++i) {
      do_something();
      if (testing::Test::HasFailure()) return;
    }
    finish();
  }

 private:
  static DispatcherOptions options() {
    DispatcherOptions options;
    options.appends_in_flight = 3;
    options.ops_per_command = 4;
    options.age_step = 2s;
    return options;
  }
  CoreWorld::Agent* some_agent(std::uint32_t& n) {
    n = static_cast<std::uint32_t>(1 + random_.below(5));
    const auto at = world_.agents.find(n);
    return at == world_.agents.end() || !at->second.is_alive || at->second.name.empty() ? nullptr : &at->second;
  }
  TaskRef some_ref(const CoreWorld::Agent& agent) {
    if (!agent.held.empty() && random_.chance(0.9)) {
      auto at = agent.held.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random_.below(agent.held.size())));
      return at->first;
    }
    return {1 + random_.below(submitted_ + 1), 1 + random_.below(200)};
  }
  void submit() {
    auto op = world_.a_task(++submitted_, random_.chance(0.8) ? "work" : "rare");
    const std::uint16_t priorities[] = {ledger::k_low, ledger::k_normal, ledger::k_high, ledger::k_critical};
    op.spec.priority = priorities[random_.below(4)];
    if (random_.chance(0.2)) op.spec.not_before = world_.moment.wall + random_.below(3'000);
    if (random_.chance(0.1)) op.spec.deadline_at = world_.moment.wall + random_.below(20'000);
    if (random_.chance(0.2)) op.spec.timeout_ms = 1 + random_.below(2'000);
    if (random_.chance(0.1) && submitted_ > 1) {
      op.spec.extras.dependencies = {CoreWorld::id_of(1 + random_.below(submitted_ - 1))};
    }
    world_.run(op);
  }
  void join() {
    AgentReady ready;
    ready.capacity = static_cast<std::uint32_t>(1 + random_.below(4));
    ready.reports_starts = random_.chance(0.5);
    if (random_.chance(0.4)) ready.capabilities = {"work", "rare"};
    world_.join(static_cast<std::uint32_t>(1 + random_.below(5)), std::move(ready));
  }
  void do_something() {
    world_.is_held = random_.chance(0.5);
    std::uint32_t n = 0;
    CoreWorld::Agent* agent = some_agent(n);
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        submit();
        break;
      case 3:
        join();
        break;
      case 4:
        if (agent != nullptr) random_.chance(0.7) ? world_.crash(n) : world_.leave(n);
        break;
      case 5:
      case 6:
      case 7:
        if (agent != nullptr) world_.complete(n, some_ref(*agent));
        break;
      case 8:
        if (agent != nullptr) world_.fail(n, some_ref(*agent), static_cast<ErrorClass>(1 + random_.below(4)));
        break;
      case 9:
        if (agent != nullptr) world_.start(n, some_ref(*agent));
        break;
      case 10:
        if (agent != nullptr) world_.return_task(n, some_ref(*agent));
        break;
      case 11:
        if (agent != nullptr) {
          if (random_.chance(0.2)) agent->held.clear();  // it forgot everything
          world_.beat(n);
        }
        break;
      case 12:
        if (submitted_ > 0) {
          world_.run(ledger::Cancel{CoreWorld::id_of(1 + random_.below(submitted_)), world_.moment.wall, "why not"});
        }
        break;
      case 13:
        world_.run(ledger::SwarmSetState{
            "default", random_.chance(0.5) ? ledger::SwarmState::paused : ledger::SwarmState::active});
        break;
      case 14:
        if (random_.chance(0.2)) {
          world_.is_held = false;
          world_.restart();
        }
        break;
      default:
        world_.advance_to(world_.moment.now + std::chrono::milliseconds(random_.below(4'000)));
        break;
    }
    world_.step();
    if (random_.chance(0.7)) world_.apply_next();
  }
  // Every agent does what it is told, and stops what it is told to stop.
  void finish() {
    world_.is_held = false;
    world_.run(ledger::SwarmSetState{"default", ledger::SwarmState::active});
    for (std::uint32_t n = 1; n <= 5; ++n) {
      AgentReady ready;
      ready.capabilities = {"work", "rare"};
      world_.join(n, std::move(ready));
    }
    for (int i = 0; i < 300 && world_.ledger.counters().open_tasks > 0; ++i) {
      for (auto& [n, agent] : world_.agents) {
        const auto stops = std::exchange(agent.stops, {});
        for (const auto& stop : stops) world_.return_task(n, stop.ref);
        const auto held = agent.held;
        for (const auto& [ref, order] : held) world_.complete(n, ref);
      }
      world_.pass(1s);
    }
    ASSERT_EQ(world_.ledger.counters().open_tasks, 0U) << "after the faults stopped, not every task ended";
    world_.pass(40s);
    for (auto& [n, agent] : world_.agents) {
      for (const auto& stop : std::exchange(agent.stops, {})) world_.return_task(n, stop.ref);
    }
    EXPECT_EQ(world_.core->tasks(), 0U);
    EXPECT_EQ(world_.core->runs(), 0U);
    EXPECT_EQ(world_.fresh_starts, 0U) << "something did not fit";
  }

  Random random_;
  CoreWorld world_;
  std::uint64_t submitted_ = 0;
};

TEST(DispatcherCoreProperty, whatever_happens_every_task_ends_and_the_tables_agree) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace skein::dispatch
