// Agents for C++ functions with the real dispatcher and ledger, on virtual time.
#include <gtest/gtest.h>

#include "skein/agent/test_world.hpp"

namespace skein::agent {
namespace {

using namespace std::chrono_literals;
using dispatch::DispatchEvent;
using ledger::State;

using World = TestWorld;

TEST(AgentStack, completes_what_is_submitted_before_and_after_it_came) {
  World world;
  world.append(world.submit(1));
  world.start_dispatcher();
  world.start_agent("a");
  world.runtime.run_for(100ms);
  world.append(world.submit(2));
  world.runtime.run_for(100ms);
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.state(2), State::completed);
  EXPECT_EQ(ledger::view_of(world.view(1).finished->result), "hello");
  EXPECT_EQ(world.status().counters.refused_ops, 0U);
}

TEST(AgentStack, many_agents_share_many_tasks_in_few_appends) {
  World world;
  world.start_dispatcher();
  for (int i = 0; i < 8; ++i) world.start_agent("agent" + std::to_string(i), 100);
  world.runtime.run_for(10ms);
  for (std::uint64_t n = 1; n <= 2'000; ++n) world.append(world.submit(n));
  const auto before = world.journal.appends;
  world.runtime.run_for(2s);
  for (std::uint64_t n = 1; n <= 2'000; ++n) ASSERT_EQ(world.state(n), State::completed) << n;
  EXPECT_LT(world.journal.appends - before, 500U);
  const auto status = world.status();
  EXPECT_EQ(status.tasks, 0U);
  EXPECT_EQ(status.runs, 0U);
  EXPECT_EQ(status.counters.refused_ops, 0U);
  EXPECT_EQ(status.counters.resyncs, 0U);
}

TEST(AgentStack, a_crash_costs_the_task_at_work_an_attempt_and_the_others_nothing) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 8);
  world.runtime.run_for(10ms);
  auto bad = world.submit(1, "crash");
  bad.spec.attempts_max = 1;
  world.append(bad);
  for (std::uint64_t n = 2; n <= 6; ++n) world.append(world.submit(n));
  world.runtime.run_for(100ms);
  EXPECT_EQ(world.state(1), State::failed);
  world.start_agent("b", 8);
  world.runtime.run_for(1s);
  for (std::uint64_t n = 2; n <= 6; ++n) {
    EXPECT_EQ(world.state(n), State::completed) << n;
    EXPECT_EQ(world.view(n).finished->task.attempts, 0U) << n;
  }
}

TEST(AgentStack, a_critical_task_does_not_wait_for_the_one_at_work) {
  World world;
  world.start_dispatcher();
  world.start_agent("a");
  world.runtime.run_for(10ms);
  world.append(world.submit(1, "sleep", "3000"));
  world.runtime.run_for(100ms);
  ASSERT_EQ(world.state(1), State::executing);
  auto urgent = world.submit(2);
  urgent.spec.priority = ledger::k_critical;
  world.append(urgent);
  world.runtime.run_for(100ms);
  EXPECT_EQ(world.state(2), State::completed);
  EXPECT_TRUE(world.saw(DispatchEvent::Kind::preempted));
  world.runtime.run_for(4s);
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.view(1).finished->task.attempts, 0U);
}

TEST(AgentStack, a_killed_agent_loses_nothing) {
  World world;
  world.start_dispatcher();
  const Pid first = world.start_agent("a");
  world.runtime.run_for(10ms);
  world.append(world.submit(1, "sleep", "1000"));
  world.runtime.run_for(100ms);
  ASSERT_EQ(world.state(1), State::executing);
  world.start_agent("b");
  world.runtime.exit(first, ExitReason::kill());
  world.runtime.run_for(5ms);
  EXPECT_EQ(ledger::view_of(world.view(1).task.agent), "b") << "not given to another agent at once";
  world.runtime.run_for(2s);
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.view(1).finished->task.attempts, 1U);
}

TEST(AgentStack, a_killed_dispatcher_loses_and_revokes_nothing) {
  World world;
  const Pid old = world.start_dispatcher();
  world.start_agent("a");
  world.start_agent("b");
  world.runtime.run_for(10ms);
  world.append(world.submit(1, "sleep", "3000"));
  world.append(world.submit(2, "sleep", "50"));
  for (std::uint64_t n = 3; n <= 50; ++n) world.append(world.submit(n));
  world.runtime.run_for(20ms);
  const auto fence = world.view(1).task.fence;
  world.runtime.exit(old, ExitReason::kill());
  world.runtime.run_for(100ms);
  world.start_dispatcher();
  world.runtime.run_for(5s);
  for (std::uint64_t n = 1; n <= 50; ++n) EXPECT_EQ(world.state(n), State::completed) << n;
  EXPECT_EQ(world.view(1).finished->task.fence, fence) << "it was revoked though its agent went on";
}

TEST(AgentStack, a_dispatcher_killed_at_any_moment_still_finishes_everything) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    World world(seed);
    Random random(seed * 77);
    world.start_dispatcher();
    for (int i = 0; i < 3; ++i) world.start_agent("a" + std::to_string(i), 4);
    std::uint64_t n = 0;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 20; ++i) {
        ++n;
        world.append(random.chance(0.2) ? world.submit(n, "sleep", "40") : world.submit(n));
      }
      world.runtime.run_for(std::chrono::microseconds(random.below(5'000)));
      world.runtime.exit(world.dispatcher, ExitReason::kill());
      world.runtime.run_for(std::chrono::microseconds(1 + random.below(30'000)));
      world.start_dispatcher();
      world.runtime.run_for(std::chrono::microseconds(random.below(60'000)));
    }
    world.runtime.run_for(40s);
    for (std::uint64_t i = 1; i <= n; ++i)
      ASSERT_EQ(world.state(i), State::completed) << "seed " << seed << " task " << i;
    const auto status = world.status();
    ASSERT_EQ(status.runs, 0U) << "seed " << seed;
    ASSERT_EQ(status.counters.refused_ops, 0U) << "seed " << seed;
  }
}

TEST(AgentStack, overload_and_doubt_delay_but_lose_nothing) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 4);
  world.runtime.run_for(10ms);
  for (std::uint64_t n = 1; n <= 20; ++n) world.append(world.submit(n));
  world.journal.faults.overloaded = 5;
  world.runtime.run_for(20ms);
  world.journal.faults.unknown_lost = 3;
  world.runtime.run_for(100ms);
  world.journal.faults.unknown_applied = 3;
  world.runtime.run_for(100ms);
  world.journal.faults.overloaded_all = 3;
  world.runtime.run_for(20s);
  for (std::uint64_t n = 1; n <= 20; ++n) EXPECT_EQ(world.state(n), State::completed) << n;
  EXPECT_EQ(world.status().appends_under_way, 0U);
}

TEST(AgentStack, an_inbox_that_overflows_makes_the_dispatcher_start_afresh) {
  World world;
  dispatch::DispatcherOptions options;
  options.inbox_changes = 100;
  world.start_dispatcher(options);
  world.start_agent("a", 50);
  world.runtime.run_for(10ms);
  for (std::uint64_t n = 1; n <= 500; ++n) world.append(world.submit(n));
  world.runtime.run_for(40s);
  for (std::uint64_t n = 1; n <= 500; ++n) ASSERT_EQ(world.state(n), State::completed) << n;
  EXPECT_GT(world.status().counters.resyncs, 0U);
}

TEST(AgentStack, a_cancelled_task_is_stopped_and_its_slot_is_free_again) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 1);
  world.runtime.run_for(10ms);
  world.append(world.submit(1, "sleep", "4000"));
  world.runtime.run_for(50ms);
  ASSERT_EQ(world.state(1), State::executing);
  world.append(ledger::Cancel{id_of(1), world.wall(), "not wanted"});
  world.append(world.submit(2));
  world.runtime.run_for(100ms);
  EXPECT_EQ(world.state(1), State::cancelled);
  EXPECT_EQ(world.state(2), State::completed);
}

TEST(AgentStack, runs_longer_than_its_timeout_are_stopped_and_tried_again) {
  World world;
  world.start_dispatcher();
  world.start_agent("a", 1);
  world.runtime.run_for(10ms);
  auto slow = world.submit(1, "sleep", "500");
  slow.spec.timeout_ms = 200;
  slow.spec.attempts_max = 2;
  world.append(slow);
  world.runtime.run_for(3s);
  EXPECT_EQ(world.state(1), State::failed);
  const auto task = world.view(1).finished->task;
  ASSERT_TRUE(task.history);
  EXPECT_EQ(task.history->size(), 2U);
  EXPECT_EQ(task.history->front().error, ledger::ErrorClass::timeout);
  EXPECT_EQ(task.history->front().ended_at - task.history->front().started_at, 200U);
  EXPECT_TRUE(world.saw(DispatchEvent::Kind::attempt_timed_out));
}

TEST(AgentStack, what_is_on_its_way_to_an_agent_that_is_paused_goes_to_another) {
  // One of these moments lies between the assignment and its order.
  for (auto after = 0ms; after <= 4ms; after += 1ms) {
    World world;
    world.start_dispatcher();
    world.runtime.run_for(10ms);
    const Pid paused = world.start_agent("a");
    world.runtime.run_for(50ms);
    world.append(world.submit(1));
    world.runtime.run_for(after);
    world.runtime.send(paused, dispatch::PauseAgent{});
    world.runtime.run_for(1ms);
    world.start_agent("b");
    world.runtime.run_for(60s);
    EXPECT_EQ(world.state(1), State::completed)
        << "paused " << after.count() << " ms after the submit: at " << ledger::view_of(world.view(1).task.agent);
  }
}

TEST(AgentStack, one_paused_while_there_is_no_dispatcher_hands_back_what_it_has_not_begun) {
  World world;
  world.start_dispatcher();
  world.runtime.run_for(10ms);
  const Pid paused = world.start_agent("a");
  world.runtime.run_for(50ms);
  world.append(world.submit(1, "sleep", "3000"));
  world.append(world.submit(2));
  world.runtime.run_for(50ms);
  world.runtime.exit(world.dispatcher, ExitReason::kill());
  world.runtime.run_for(5ms);
  world.runtime.send(paused, dispatch::PauseAgent{});
  world.runtime.run_for(5ms);
  world.start_dispatcher();
  world.runtime.run_for(5s);
  ASSERT_EQ(world.state(1), State::completed);
  world.start_agent("b");
  world.runtime.run_for(60s);
  EXPECT_EQ(world.state(2), State::completed) << "at " << ledger::view_of(world.view(2).task.agent);
}

TEST(AgentStack, one_that_was_refused_for_want_of_room_is_taken_when_there_is_some) {
  World world;
  dispatch::DispatcherOptions options;
  options.agents_max = 1;
  world.start_dispatcher(options);
  world.runtime.run_for(10ms);
  const Pid first = world.start_agent("a");
  world.runtime.run_for(50ms);
  world.start_agent("b");
  world.runtime.run_for(2s);
  ASSERT_TRUE(world.saw(DispatchEvent::Kind::agent_refused));
  world.runtime.exit(first, ExitReason::kill());
  world.runtime.run_for(2s);
  world.append(world.submit(1));
  world.runtime.run_for(5s);
  EXPECT_EQ(world.state(1), State::completed);
}

TEST(AgentStack, a_node_whose_name_the_ledger_refuses_is_named_once_and_tried_again) {
  World world;
  dispatch::DispatcherOptions options;
  options.node = std::string(129, 'n');
  world.start_dispatcher(options);
  world.start_agent("a");
  world.append(world.submit(1));
  world.runtime.run_for(20s);
  std::erase_if(world.events, [](const auto& each) { return each.kind != DispatchEvent::Kind::dispatch_refused; });
  ASSERT_EQ(world.events.size(), 1U);
  EXPECT_EQ(world.events[0].detail, "the node's name is longer than the ledger's name_bytes, 128");
  ledger::Limits wider;
  wider.name_bytes = 200;
  world.append(ledger::SetLimits{wider});
  world.runtime.run_for(5s);
  EXPECT_EQ(world.state(1), State::completed);
}

TEST(AgentStack, another_dispatcher_ends_the_first) {
  World world;
  const Pid first = world.start_dispatcher();
  world.runtime.run_for(10ms);
  world.append(ledger::TakeDispatch{"elsewhere", world.wall()});
  const auto reason = world.runtime.wait_for_end(first, 1s);
  ASSERT_TRUE(reason);
  EXPECT_TRUE(reason->is_shutdown());
}

}  // namespace
}  // namespace skein::agent
