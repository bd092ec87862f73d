#include "skein/dispatch/dispatcher_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"

namespace skein::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::ErrorClass;
using ledger::State;
using testing::Contains;
using testing::IsEmpty;
using Event = DispatchEvent::Kind;

TEST(DispatcherCore, an_order_leaves_only_after_its_assign_was_applied) {
  CoreWorld world;
  world.begin();
  auto& agent = world.join(1);
  world.is_held = true;
  world.submit(1);
  world.step();
  ASSERT_EQ(world.pending(), 1U);
  EXPECT_THAT(agent.held, IsEmpty());
  world.apply_next();
  world.step();
  ASSERT_EQ(agent.held.size(), 1U);
  EXPECT_EQ(agent.held.begin()->first, world.ref(1));
}

TEST(DispatcherCore, an_outcome_is_settled_only_after_it_was_applied) {
  CoreWorld world;
  auto& agent = world.begin_with_run();
  world.is_held = true;
  world.complete(1, world.ref(1));
  world.step();
  EXPECT_THAT(agent.settled, IsEmpty());
  world.apply_next();
  world.step();
  EXPECT_THAT(agent.settled, Contains(world.ref(1)));
  EXPECT_EQ(world.state(1), State::completed);
}

TEST(DispatcherCore, an_agent_gets_the_next_task_in_the_append_that_completes_its_last) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.submit(1);
  world.submit(2);
  world.settle();
  const auto before = world.appends;
  world.complete(1, world.ref(1));
  EXPECT_EQ(world.appends, before + 1);
  EXPECT_EQ(world.where(2), "agent1");
}

TEST(DispatcherCore, gives_out_by_priority_then_by_order) {
  CoreWorld world;
  world.begin();
  world.submit(1, "work", ledger::k_low);
  world.submit(2);
  world.submit(3, "work", ledger::k_critical);
  world.submit(4);
  world.join(1);
  for (const std::uint64_t n : {3U, 2U, 4U, 1U}) {
    EXPECT_EQ(world.where(n), "agent1") << n;
    world.complete(1, world.ref(n));
  }
}

TEST(DispatcherCore, a_task_nobody_can_run_holds_up_no_other) {
  CoreWorld world;
  world.begin();
  for (std::uint64_t n = 1; n <= 100; ++n) world.submit(n, "nobody", ledger::k_critical);
  world.submit(101, "work", ledger::k_low);
  world.join(1);
  EXPECT_EQ(world.where(101), "agent1");
}

TEST(DispatcherCore, nobody_free_for_the_routing_timeout_is_told_once_and_the_task_stays_queued) {
  CoreWorld world;
  world.begin();
  world.submit(1, "nobody");
  world.settle();
  world.pass(4s);
  EXPECT_EQ(world.count(Event::routing_timeout), 0U);
  world.pass(20s);
  EXPECT_EQ(world.count(Event::routing_timeout), 1U);
  EXPECT_EQ(world.state(1), State::queued);
}

TEST(DispatcherCore, an_agents_crash_gives_its_tasks_to_another_in_one_append) {
  CoreWorld world;
  world.begin();
  world.join_wide(1, 3);
  for (std::uint64_t n = 1; n <= 3; ++n) world.submit(n);
  world.settle();
  world.join_wide(2, 3);
  const auto before = world.appends;
  world.crash(1);
  EXPECT_EQ(world.appends, before + 1) << "requeues and assigns are not one append";
  for (std::uint64_t n = 1; n <= 3; ++n) {
    EXPECT_EQ(world.where(n), "agent2") << n;
    EXPECT_EQ(world.task(n).attempts, 1U);
  }
}

TEST(DispatcherCore, a_task_whose_attempts_a_crash_uses_up_is_not_given_out_again) {
  CoreWorld world;
  world.begin();
  world.join(1);
  auto op = world.a_task(1);
  op.spec.attempts_max = 1;
  world.run(op);
  world.settle();
  auto& other = world.join(2);
  world.crash(1);
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_EQ(other.orders, 0U);
  EXPECT_EQ(world.core->runs(), 0U);
  world.submit(2);
  world.settle();
  EXPECT_EQ(world.where(2), "agent2") << "its slot is still taken";
}

TEST(DispatcherCore, a_requeued_task_whose_swarm_is_paused_meanwhile_waits) {
  CoreWorld world;
  world.begin_with_run();
  world.join(2);
  world.is_held = true;
  world.crash(1);
  world.step();
  world.run(ledger::SwarmSetState{"default", ledger::SwarmState::paused});
  world.is_held = false;
  world.settle();
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_EQ(world.core->ready(), 1U);
  world.run(ledger::SwarmSetState{"default", ledger::SwarmState::active});
  world.settle();
  EXPECT_EQ(world.where(1), "agent2");
  EXPECT_EQ(world.fresh_starts, 0U);
}

TEST(DispatcherCore, the_first_crash_puts_a_task_to_the_front_the_second_makes_it_wait) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.submit(1);
  world.submit(2);
  world.settle();
  world.crash(1);
  world.join(2);
  EXPECT_EQ(world.where(1), "agent2") << "task 1 was not put before task 2";
  world.crash(2);
  EXPECT_GT(world.task(1).not_before, world.moment.wall);
  world.join(3);
  EXPECT_EQ(world.where(2), "agent3");
  world.complete(3, world.ref(2));
  EXPECT_EQ(world.where(1), "");
  world.pass(1s);
  EXPECT_EQ(world.where(1), "agent3");
}

TEST(DispatcherCore, an_agent_that_leaves_gracefully_costs_nothing) {
  CoreWorld world;
  world.begin_with_run();
  world.leave(1);
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_EQ(world.task(1).attempts, 0U);
}

TEST(DispatcherCore, what_was_not_started_costs_no_attempt_when_it_is_known_what_was) {
  CoreWorld world;
  world.begin();
  AgentReady ready;
  ready.capacity = 3;
  ready.reports_starts = true;
  world.join(1, ready);
  for (std::uint64_t n = 1; n <= 3; ++n) world.submit(n);
  world.settle();
  world.start(1, world.ref(2));
  world.crash(1);
  EXPECT_EQ(world.task(1).attempts, 0U);
  EXPECT_EQ(world.task(2).attempts, 1U);
  EXPECT_EQ(world.task(3).attempts, 0U);
}

TEST(DispatcherCore, leases_are_renewed_by_heartbeats_that_name_the_task_and_expire_without) {
  CoreWorld world;
  world.begin_with_run();
  const auto fence = world.ref(1).fence;
  world.pass(120s);
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.ref(1).fence, fence);
  world.pass(29s, false);
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.ref(1).fence, fence);
  EXPECT_EQ(world.count(Event::agent_silent), 1U);
  world.pass(2s, false);
  EXPECT_EQ(world.state(1), State::queued) << "a silent agent gets nothing new";
  EXPECT_EQ(world.task(1).attempts, 1U);
  EXPECT_EQ(world.count(Event::lease_expired), 1U);
}

TEST(DispatcherCore, late_double_and_stale_outcomes_change_nothing_and_are_settled) {
  CoreWorld world;
  auto& agent = world.begin_with_run();
  const TaskRef old = world.ref(1);
  world.pass(31s, false);
  ASSERT_EQ(world.state(1), State::queued);
  world.join(2);
  const TaskRef current = world.ref(1);
  ASSERT_EQ(world.where(1), "agent2");
  world.complete(1, old, "late");
  EXPECT_EQ(world.state(1), State::assigned);
  EXPECT_THAT(agent.settled, Contains(old));
  world.complete(2, current, "right");
  world.complete(2, current, "again");
  EXPECT_EQ(ledger::view_of(world.ledger.find(CoreWorld::id_of(1))->finished->result), "right");
  EXPECT_EQ(world.core->runs(), 0U);
  EXPECT_EQ(world.core->counters().stale_reports, 2U);
  EXPECT_EQ(world.core->counters().refused_ops, 0U);
}

TEST(DispatcherCore, permanent_errors_end_a_task_and_others_are_tried_again_later) {
  CoreWorld world;
  world.begin_with_run();
  world.fail(1, world.ref(1), ErrorClass::permanent);
  EXPECT_EQ(world.state(1), State::failed);
  world.submit(2);
  world.settle();
  world.fail(1, world.ref(2), ErrorClass::transient);
  const auto delay = world.task(2).not_before - world.moment.wall;
  EXPECT_GE(delay, 90U);
  EXPECT_LE(delay, 111U);
  world.pass(200ms);
  EXPECT_EQ(world.where(2), "agent1");
  world.fail(1, world.ref(2), ErrorClass::transient);
  EXPECT_GE(world.task(2).not_before - world.moment.wall, 180U) << "the second delay is twice the first";
}

TEST(DispatcherCore, rate_limits_are_honoured) {
  CoreWorld world;
  world.begin_with_run();
  world.fail(1, world.ref(1), ErrorClass::rate_limited, 7s);
  EXPECT_GE(world.task(1).not_before, world.moment.wall + 7'000);
}

TEST(DispatcherCore, attempts_end_as_failed) {
  CoreWorld world;
  world.begin_with_run();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(world.where(1), "agent1") << i;
    world.fail(1, world.ref(1), ErrorClass::transient);
    world.pass(10s);
  }
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_EQ(world.core->tasks(), 0U);
}

TEST(DispatcherCore, timeouts_are_the_tasks_then_the_types_then_the_executors_and_at_least_the_minimum) {
  DispatcherOptions options;
  options.types["typed"].timeout = 3s;
  CoreWorld world(options);
  world.begin();
  AgentReady function;
  function.capacity = 10;
  function.is_function = true;
  function.capabilities = {"work", "typed"};
  auto& agent = world.join(1, function);
  world.submit(1);
  world.submit(2, "typed");
  auto own = world.a_task(3, "typed");
  own.spec.timeout_ms = 700;
  world.run(own);
  own = world.a_task(4);
  own.spec.timeout_ms = 1;
  world.run(own);
  world.settle();
  EXPECT_EQ(agent.held.at(world.ref(1)).timeout, 5s);
  EXPECT_EQ(agent.held.at(world.ref(2)).timeout, 3s);
  EXPECT_EQ(agent.held.at(world.ref(3)).timeout, 700ms);
  EXPECT_EQ(agent.held.at(world.ref(4)).timeout, 100ms);
  AgentReady other;
  other.capabilities = {"other"};
  auto& second = world.join(2, other);
  world.submit(5, "other");
  world.settle();
  EXPECT_EQ(second.held.at(world.ref(5)).timeout, 2h);
}

TEST(DispatcherCore, an_attempt_past_its_timeout_is_failed_and_its_agent_stays_busy_until_it_says_so) {
  CoreWorld world;
  world.begin();
  auto& agent = world.join_function(1);
  world.submit(1);
  world.settle();
  const TaskRef first = world.ref(1);
  world.pass(5s);
  ASSERT_EQ(agent.stops.size(), 1U);
  EXPECT_EQ(agent.stops[0].why, StopReason::timed_out);
  EXPECT_EQ(world.task(1).attempts, 1U);
  world.pass(10s);
  EXPECT_EQ(world.state(1), State::queued) << "its only agent has not stopped yet";
  world.return_task(1, first);
  EXPECT_EQ(world.where(1), "agent1");
}

TEST(DispatcherCore, deadlines_end_tasks_wherever_they_are) {
  CoreWorld world;
  world.begin();
  auto waiting = world.a_task(1, "nobody");
  waiting.spec.deadline_at = world.moment.wall + 2'000;
  world.run(waiting);
  auto delayed = world.a_task(2);
  delayed.spec.not_before = world.moment.wall + 60'000;
  delayed.spec.deadline_at = world.moment.wall + 3'000;
  world.run(delayed);
  auto& agent = world.join(1);
  auto running = world.a_task(3);
  running.spec.deadline_at = world.moment.wall + 4'000;
  world.run(running);
  auto blocked = world.a_task(4);
  blocked.spec.extras.dependencies = {CoreWorld::id_of(2)};
  blocked.spec.deadline_at = world.moment.wall + 1'000;
  world.run(blocked);
  world.settle();
  const TaskRef ref = world.ref(3);
  world.pass(5s);
  for (std::uint64_t n = 1; n <= 4; ++n) {
    EXPECT_EQ(world.state(n), State::failed) << n;
    EXPECT_EQ(world.ledger.find(CoreWorld::id_of(n))->finished->ending, ledger::Ending::deadline_passed) << n;
  }
  ASSERT_FALSE(agent.stops.empty());
  EXPECT_EQ(agent.stops[0].ref, ref);
  EXPECT_EQ(agent.stops[0].why, StopReason::cancelled);
  EXPECT_EQ(world.core->tasks(), 0U);
}

TEST(DispatcherCore, delayed_tasks_begin_when_their_time_has_come) {
  CoreWorld world;
  world.begin();
  world.join(1);
  auto op = world.a_task(1);
  op.spec.not_before = world.moment.wall + 1'500;
  world.run(op);
  world.settle();
  world.pass(1'499ms);
  EXPECT_EQ(world.state(1), State::queued);
  world.pass(1ms);
  EXPECT_EQ(world.where(1), "agent1");
}

TEST(DispatcherCore, waiting_raises_the_class_so_that_nothing_starves) {
  CoreWorld world;
  world.begin();
  world.submit(1, "work", ledger::k_low);
  world.pass(31s);
  EXPECT_EQ(world.task(1).effective_priority, ledger::k_normal);
  world.pass(31s);
  EXPECT_EQ(world.task(1).effective_priority, ledger::k_high);
  world.pass(100s);
  EXPECT_EQ(world.task(1).effective_priority, ledger::k_high) << "waiting makes nothing critical";
  EXPECT_EQ(world.core->counters().aged, 2U);
  world.submit(2, "work", ledger::k_high);
  world.join(1);
  EXPECT_EQ(world.where(1), "agent1") << "of equals the older goes first";
}

TEST(DispatcherCore, a_paused_swarm_gives_nothing_out_and_one_that_drains_does) {
  CoreWorld world;
  world.begin();
  world.run(ledger::SwarmPut{"s", ledger::Origin::api, {}});
  auto op = world.a_task(1);
  op.spec.swarm = "s";
  world.run(op);
  world.run(ledger::SwarmSetState{"s", ledger::SwarmState::paused});
  world.join(1);
  world.pass(1s);
  EXPECT_EQ(world.state(1), State::queued);
  world.run(ledger::SwarmSetState{"s", ledger::SwarmState::draining});
  world.settle();
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.core->counters().refused_ops, 0U);
}

TEST(DispatcherCore, an_assign_refused_because_its_swarm_was_paused_meanwhile_waits) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.is_held = true;
  world.submit(1);
  world.step();
  world.run(ledger::SwarmSetState{"default", ledger::SwarmState::paused});
  world.is_held = false;
  world.settle();
  EXPECT_EQ(world.core->counters().refused_ops, 1U);
  EXPECT_EQ(world.core->ready(), 1U);
  world.run(ledger::SwarmSetState{"default", ledger::SwarmState::active});
  world.settle();
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.fresh_starts, 0U);
}

TEST(DispatcherCore, a_critical_task_asks_the_least_important_run_to_yield) {
  CoreWorld world;
  world.begin();
  auto& low = world.join(1);
  world.submit(1, "work", ledger::k_low);
  world.settle();
  auto& normal = world.join(2);
  world.submit(2);
  world.settle();
  world.submit(3, "work", ledger::k_critical);
  world.settle();
  EXPECT_THAT(normal.stops, IsEmpty());
  ASSERT_EQ(low.stops.size(), 1U);
  EXPECT_EQ(low.stops[0].why, StopReason::yield);
  world.pass(2s);
  EXPECT_EQ(low.stops.size(), 1U) << "asked twice";
  world.return_task(1, world.ref(1));
  EXPECT_EQ(world.where(3), "agent1");
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_EQ(world.task(1).attempts, 0U);
  EXPECT_EQ(world.count(Event::preempted), 1U);
}

TEST(DispatcherCore, crashes_in_a_row_over_distinct_tasks_open_the_breaker_of_their_type) {
  CoreWorld world;
  world.begin();
  for (std::uint64_t n = 1; n <= 9; ++n) world.submit(n);
  const auto crash_one = [&](std::uint32_t agent) {
    world.join(agent);
    world.crash(agent);
  };
  crash_one(1);
  crash_one(2);
  EXPECT_EQ(world.count(Event::breaker_warning), 0U) << "the same task again is no other task";
  for (std::uint32_t i = 3; i <= 10 && world.count(Event::breaker_opened) == 0; ++i) crash_one(i);
  EXPECT_EQ(world.count(Event::breaker_warning), 1U);
  ASSERT_EQ(world.count(Event::breaker_opened), 1U);
  world.join(20);
  world.pass(58s);
  EXPECT_TRUE(world.agents[20].held.empty());
  world.pass(4s);
  EXPECT_EQ(world.count(Event::breaker_half_opened), 1U);
  AgentReady many;
  many.capacity = 5;
  world.join(21, many);
  EXPECT_EQ(world.agents[20].held.size() + world.agents[21].held.size(), 1U) << "one at a time while it is half open";
  const std::uint32_t who = world.agents[20].held.empty() ? 21 : 20;
  world.complete(who, world.agents[who].held.begin()->first);
  EXPECT_EQ(world.count(Event::breaker_closed), 1U);
  EXPECT_GT(world.agents[21].held.size(), 1U);
}

}  // namespace
}  // namespace skein::dispatch
