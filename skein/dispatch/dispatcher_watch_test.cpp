// How the dispatcher's core judges agents by their heartbeats and attempts by what others of their type took, and what
// it makes of agents that say a lot or give back what they run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "skein/dispatch/core_world.hpp"

namespace skein::dispatch {
namespace {

using namespace std::chrono_literals;
using Event = DispatchEvent::Kind;
using ledger::State;

constexpr std::size_t k_enough = 16;  // latencies until an adaptive timeout is sure

class AdaptiveTimeouts : public testing::Test {
 protected:
  AdaptiveTimeouts() : world(options()) {
    world.begin();
    AgentReady ready;
    ready.capabilities = {"steady", "work"};
    ready.is_function = true;
    agent = &world.join(1, ready);
  }
  static DispatcherOptions options() {
    DispatcherOptions options;
    options.types["steady"].adaptive_timeout = AdaptiveTimeoutOptions{};
    options.types["steady"].timeout = 7s;
    return options;
  }
  // Submits one and answers which timeout it was given.
  Duration give_out(std::string type = "steady") {
    world.submit(++last, std::move(type));
    world.settle();
    return agent->held.at(world.ref(last)).timeout;
  }
  void take(Duration time) {
    give_out();
    world.pass(time);
    world.complete(1, world.ref(last));
  }

  CoreWorld world;
  CoreWorld::Agent* agent = nullptr;
  std::uint64_t last = 0;
};

TEST_F(AdaptiveTimeouts, the_longest_holds_until_enough_is_known_then_twice_the_95th_percentile) {
  for (std::size_t i = 0; i < k_enough; ++i) {
    EXPECT_EQ(give_out(), 30s) << i;
    world.pass(2s);
    world.complete(1, world.ref(last));
  }
  EXPECT_EQ(give_out(), 4s);
}

TEST_F(AdaptiveTimeouts, quick_attempts_still_get_the_shortest) {
  for (std::size_t i = 0; i < k_enough; ++i) take(10ms);
  EXPECT_EQ(give_out(), 1s);
}

TEST_F(AdaptiveTimeouts, other_types_and_a_tasks_own_timeout_are_not_touched) {
  for (std::size_t i = 0; i < k_enough; ++i) take(2s);
  EXPECT_EQ(give_out("work"), 5s);
  world.complete(1, world.ref(last));
  auto own = world.a_task(++last, "steady");
  own.spec.timeout_ms = 700;
  world.run(own);
  world.settle();
  EXPECT_EQ(agent->held.at(world.ref(last)).timeout, 700ms);
}

TEST_F(AdaptiveTimeouts, a_type_that_became_slow_gets_more_time_with_each_attempt_that_times_out) {
  for (std::size_t i = 0; i < k_enough; ++i) take(500ms);
  ASSERT_EQ(give_out(), 1s);
  const TaskRef first = world.ref(last);
  world.pass(1s);
  ASSERT_EQ(world.count(Event::attempt_timed_out), 1U);
  world.return_task(1, first);
  world.pass(1s);
  ASSERT_EQ(world.where(last), "agent1");
  EXPECT_EQ(agent->held.at(world.ref(last)).timeout, 2s);
}

TEST_F(AdaptiveTimeouts, one_that_makes_no_sense_is_refused) {
  auto broken = options();
  broken.types["steady"].adaptive_timeout->factor = 0;
  EXPECT_THROW(DispatcherCore(broken, 1), std::invalid_argument);
}

TEST(Heartbeats, an_agent_that_stops_beating_is_silent_within_five_seconds_and_gets_nothing_new) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.pass(60s);
  EXPECT_EQ(world.count(Event::agent_silent), 0U);
  world.pass(4s, false);
  EXPECT_EQ(world.count(Event::agent_silent), 0U);
  world.pass(2s, false);
  EXPECT_EQ(world.count(Event::agent_silent), 1U);
  world.submit(1);
  world.settle();
  EXPECT_EQ(world.where(1), "");
  world.beat(1);
  EXPECT_EQ(world.where(1), "agent1");
}

TEST(Heartbeats, one_that_beats_irregularly_is_given_more_time) {
  CoreWorld world;
  world.begin();
  world.join(1);
  for (int i = 0; i < 40; ++i) {
    world.pass(i % 2 == 0 ? 200ms : 3800ms, false);
    world.beat(1);
  }
  ASSERT_EQ(world.count(Event::agent_silent), 0U);
  world.pass(8s, false);
  EXPECT_EQ(world.count(Event::agent_silent), 0U) << "a regular one would be given up by now";
  world.pass(20s, false);
  EXPECT_EQ(world.count(Event::agent_silent), 1U);
}

TEST(Heartbeats, whoever_reports_is_not_silent) {
  CoreWorld world;
  world.begin_with_run();
  for (int i = 0; i < 20; ++i) {
    world.pass(500ms, false);
    AgentReport report;
    report.progress.push_back({world.ref(1), ledger::body_of("half")});
    world.core->on_report(CoreWorld::pid_of(1), std::move(report), world.moment);
    world.settle();
  }
  EXPECT_EQ(world.count(Event::agent_silent), 0U);
}

TEST(Heartbeats, a_dispatcher_that_slept_blames_nobody_for_it) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.pass(30s);
  world.advance_to(world.moment.now + 20s);  // nothing was looked at, heartbeats wait unread
  world.settle();
  EXPECT_EQ(world.count(Event::agent_silent), 0U);
  world.beat(1);
  world.pass(6s, false);
  EXPECT_EQ(world.count(Event::agent_silent), 1U);
}

TEST(Heartbeats, options_that_make_no_sense_are_refused) {
  DispatcherOptions options;
  options.silent_after = Duration::zero();
  EXPECT_THROW(DispatcherCore(options, 1), std::invalid_argument);
}

std::size_t marks_in(const std::vector<std::string>& commands) {
  std::size_t marks = 0;
  for (const auto& command : commands) {
    ledger::for_each_op(command, [&](const auto& op) { marks += op && std::holds_alternative<ledger::Progress>(*op); });
  }
  return marks;
}

void tell_progress(CoreWorld& world, std::string_view mark, std::uint64_t task = 1) {
  AgentReport report;
  report.progress.push_back({world.ref(task), ledger::body_of(mark)});
  world.core->on_report(CoreWorld::pid_of(1), std::move(report), world.moment);
}

TEST(Progress, while_the_journal_is_slow_only_the_last_mark_waits) {
  CoreWorld world;
  world.begin_with_run();
  world.is_held = true;
  for (int i = 1; i <= 1000; ++i) {
    tell_progress(world, std::to_string(i));
    world.step();
  }
  world.is_held = false;
  world.settle();
  EXPECT_EQ(marks_in(world.commands), 2U) << "the first and the last";
  EXPECT_EQ(ledger::view_of(world.task(1).mark), "1000");
  tell_progress(world, "later");
  world.settle();
  EXPECT_EQ(ledger::view_of(world.task(1).mark), "later");
}

TEST(Progress, marks_leave_room_for_completions_in_a_slow_journal) {
  DispatcherOptions options;
  options.appends_in_flight = 4;
  CoreWorld world(options);
  world.begin();
  world.join_wide(1, 10);
  for (std::uint64_t n = 1; n <= 10; ++n) world.submit(n);
  world.settle();
  world.is_held = true;
  for (std::uint64_t n = 1; n <= 9; ++n) {
    tell_progress(world, "half", n);
    world.step();
  }
  EXPECT_EQ(world.pending(), 2U) << "what is no completion gets half";
  world.complete(1, world.ref(10));
  world.step();
  EXPECT_EQ(world.pending(), 3U);
}

TEST(Progress, a_mark_that_waits_is_there_for_the_next_attempt) {
  CoreWorld world;
  auto& agent = world.begin_with_run();
  world.is_held = true;
  tell_progress(world, "a third");
  tell_progress(world, "two thirds");
  AgentReport report;
  report.failed.push_back({world.ref(1), ledger::ErrorClass::transient, "broken", {}});
  world.core->on_report(CoreWorld::pid_of(1), std::move(report), world.moment);
  world.is_held = false;
  world.pass(1s);
  ASSERT_EQ(world.where(1), "agent1");
  EXPECT_EQ(ledger::view_of(agent.held.at(world.ref(1)).mark), "two thirds");
}

TEST(Progress, a_mark_the_ledger_refuses_does_not_hold_up_the_next) {
  CoreWorld world;
  world.begin();
  world.join(1);
  world.submit(1);
  ledger::Limits limits;
  limits.mark_bytes = 8;
  world.run(ledger::SetLimits{limits});
  world.settle();
  tell_progress(world, "much too long");
  world.settle();
  tell_progress(world, "short");
  world.settle();
  EXPECT_EQ(ledger::view_of(world.task(1).mark), "short");
}

TEST(Preemption, one_that_yields_does_not_take_the_place_it_made) {
  DispatcherOptions options;
  options.appends_in_flight = 2;
  CoreWorld world(options);
  world.begin();
  AgentReady able;
  able.capabilities = {"work", "urgent"};
  auto& agent = world.join(1, able);
  AgentReady other;
  other.capabilities = {"third"};
  world.join(2, other);
  world.submit(1, "work", ledger::k_low);
  world.settle();
  world.submit(2, "urgent", ledger::k_critical);
  world.settle();
  ASSERT_EQ(agent.stops.size(), 1U);
  // The journal is busy, so the urgent task can't be given out in the step that hears of the free place.
  const TaskRef yielded = world.ref(1);
  world.is_held = true;
  world.submit(3, "third");
  world.step();
  world.return_task(1, yielded);
  world.step();
  world.is_held = false;
  world.settle();
  EXPECT_EQ(world.where(2), "agent1");
  EXPECT_EQ(world.state(1), State::queued);
}

}  // namespace
}  // namespace skein::dispatch
