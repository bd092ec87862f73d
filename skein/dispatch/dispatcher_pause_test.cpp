// What a pause costs: of the dispatcher alone, and of the whole program.
#include <gtest/gtest.h>

#include <chrono>

#include "skein/dispatch/core_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::State;
using Event = DispatchEvent::Kind;

// The clock goes on and nobody has a turn.
void miss(CoreWorld& world, Duration time) { world.advance_to(world.moment.now + time); }

TEST(DispatcherPause, a_step_that_comes_late_gives_every_run_a_full_lease) {
  CoreWorld world;
  world.begin_with_run();
  world.pass(5s);
  const auto given = world.ref(1);
  miss(world, 35s);
  world.settle();  // what the agent said meanwhile is not read yet
  EXPECT_EQ(world.where(1), "agent1");
  EXPECT_EQ(world.ref(1), given);
  EXPECT_EQ(world.count(Event::was_late), 1U);
  world.complete(1, given, "done meanwhile");
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.task(1).attempts, 0U);
}

TEST(DispatcherPause, an_agent_that_stays_silent_afterwards_loses_its_lease_a_full_lease_later) {
  CoreWorld world;
  world.begin_with_run();
  miss(world, 100s);
  world.settle();
  world.pass(29s, false);
  EXPECT_EQ(world.where(1), "agent1");
  world.pass(2s, false);
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_EQ(world.count(Event::lease_expired), 1U);
}

TEST(DispatcherPause, what_was_missed_does_not_count_for_the_timeout_of_an_attempt) {
  DispatcherOptions options;
  options.executor_timeout = 20s;
  CoreWorld world(options);
  world.begin_with_run();
  world.pass(10s);
  miss(world, 60s);
  world.settle();
  EXPECT_EQ(world.count(Event::attempt_timed_out), 0U);
  world.pass(8s);
  EXPECT_EQ(world.count(Event::attempt_timed_out), 0U);
  world.pass(3s);
  EXPECT_EQ(world.count(Event::attempt_timed_out), 1U);
}

TEST(DispatcherPause, a_step_that_is_a_little_late_gives_nothing) {
  CoreWorld world;
  world.begin_with_run();
  for (int i = 0; i < 20; ++i) {
    miss(world, 2s);
    world.settle();
  }
  EXPECT_EQ(world.count(Event::was_late), 0U);
  EXPECT_EQ(world.state(1), State::queued) << "nothing was heard of the agent for 40 s";
}

TEST(DispatcherPause, a_short_lease_is_forgiven_already_after_a_quarter_of_it) {
  DispatcherOptions options;
  options.lease = 2s;
  CoreWorld world(options);
  world.begin_with_run();
  miss(world, 2500ms);
  world.settle();
  EXPECT_EQ(world.where(1), "agent1");
}

TEST(DispatcherPause, runs_of_a_program_that_has_ended_get_no_lease_from_it) {
  CoreWorld world;
  world.begin_with_run();
  world.end_program(world.ref(1).fence);
  world.lose_dispatcher();
  world.is_held = true;
  world.begin();
  miss(world, 60s);
  world.is_held = false;
  world.settle();
  EXPECT_EQ(world.state(1), State::queued);
  EXPECT_EQ(world.task(1).attempts, 0U);
}

TEST(DispatcherPause, deadlines_and_delays_go_by_the_wall_although_the_clock_stood_still) {
  CoreWorld world;
  world.begin();
  auto with_deadline = world.a_task(1, "nobody does this");
  with_deadline.spec.deadline_at = world.moment.wall + 60'000;
  ASSERT_EQ(world.run(with_deadline).verdict, ledger::Verdict::ok);
  auto delayed = world.a_task(2);
  delayed.spec.not_before = world.moment.wall + 60'000;
  ASSERT_EQ(world.run(delayed).verdict, ledger::Verdict::ok);
  world.join(1);
  world.pass(1s);
  ASSERT_EQ(world.state(2), State::queued);
  world.moment.wall += 120'000;
  world.core->on_time_lost(120s, world.moment);
  world.settle();
  EXPECT_EQ(world.state(1), State::failed);
  EXPECT_EQ(world.where(2), "agent1");
  EXPECT_EQ(world.count(Event::was_paused), 1U);
}

TEST(DispatcherPause, a_pause_of_the_program_takes_nothing_from_leases_and_timeouts) {
  DispatcherOptions options;
  options.executor_timeout = 20s;
  CoreWorld world(options);
  world.begin_with_run();
  world.pass(10s);
  world.core->on_time_lost(3600s, world.moment);
  world.settle();
  EXPECT_EQ(world.where(1), "agent1");
  world.pass(9s);
  EXPECT_EQ(world.where(1), "agent1");
}

}  // namespace
}  // namespace skein::inline v0::dispatch
