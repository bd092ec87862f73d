#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/core_world.hpp"

// A critical task and what its agent holds besides, and agents whose names the ledger does not take.
namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Agent 1 says what it begins, and does one after the other.
struct DispatcherPreempt : testing::Test {
  CoreWorld world;

  auto& begin(std::uint32_t capacity, bool reports_starts = true) {
    world.begin();
    AgentReady ready;
    ready.capacity = capacity;
    ready.reports_starts = reports_starts;
    return world.join(1, std::move(ready));
  }
  void submit(std::uint64_t n, std::uint16_t priority) {
    world.submit(n, "work", priority);
    world.settle();
  }
  std::vector<TaskRef> asked_to_yield(std::uint32_t agent = 1) {
    std::vector<TaskRef> refs;
    for (const auto& stop : world.agents[agent].stops) {
      if (stop.why == StopReason::yield) refs.push_back(stop.ref);
    }
    return refs;
  }
};

TEST_F(DispatcherPreempt, what_is_at_work_before_a_critical_task_is_asked_to_yield) {
  begin(2);
  submit(1, ledger::k_low);
  const auto low = world.ref(1);
  world.start(1, low);
  submit(2, ledger::k_critical);
  ASSERT_EQ(world.where(2), "agent1") << "the place ahead is free";
  EXPECT_THAT(asked_to_yield(), ElementsAre(low));
  world.pass(2s);
  EXPECT_THAT(asked_to_yield(), ElementsAre(low)) << "asked twice";
  world.return_task(1, low);
  EXPECT_EQ(world.count(DispatchEvent::Kind::preempted), 1U);
  EXPECT_EQ(world.task(1).attempts, 0U);
  ASSERT_EQ(world.where(1), "agent1") << "it waits behind";
  EXPECT_GT(world.ref(1).fence, world.ref(2).fence);
  world.complete(1, world.ref(2));
  world.complete(1, world.ref(1));
  EXPECT_EQ(world.state(1), State::completed);
  EXPECT_EQ(world.core->tasks(), 0U);
}

TEST_F(DispatcherPreempt, so_is_what_is_held_ahead_of_it) {
  begin(3);
  submit(1, ledger::k_low);
  submit(2, ledger::k_normal);
  world.start(1, world.ref(1));
  submit(3, ledger::k_critical);
  EXPECT_THAT(asked_to_yield(), ::testing::UnorderedElementsAre(world.ref(1), world.ref(2)));
}

TEST_F(DispatcherPreempt, a_critical_task_with_no_place_left_gets_one_and_then_the_turn) {
  begin(2);
  submit(1, ledger::k_low);
  submit(2, ledger::k_low);
  world.start(1, world.ref(1));
  submit(3, ledger::k_critical);
  ASSERT_THAT(asked_to_yield(), ElementsAre(world.ref(2))) << "the one that has not begun";
  world.return_task(1, world.ref(2));
  ASSERT_EQ(world.where(3), "agent1");
  EXPECT_THAT(asked_to_yield(), ::testing::Contains(world.ref(1)));
}

TEST_F(DispatcherPreempt, critical_tasks_keep_their_place_and_what_has_waited_for_long_does_not) {
  world.begin();
  world.submit(1, "work", ledger::k_low);
  world.pass(100s);
  ASSERT_EQ(world.task(1).effective_priority, ledger::k_high);
  AgentReady ready;
  ready.capacity = 3;
  ready.reports_starts = true;
  world.join(1, std::move(ready));
  const auto low = world.ref(1);
  world.start(1, low);
  submit(2, ledger::k_critical);
  submit(3, ledger::k_critical);
  EXPECT_THAT(asked_to_yield(), ElementsAre(low));
}

TEST_F(DispatcherPreempt, what_has_waited_for_long_makes_way_also_when_no_other_place_is_free) {
  world.begin();
  submit(1, ledger::k_low);
  world.pass(100s);
  ASSERT_EQ(world.task(1).effective_priority, ledger::k_high);
  world.join(1);
  const auto low = world.ref(1);
  world.start(1, low);
  submit(2, ledger::k_critical);
  EXPECT_THAT(asked_to_yield(), ElementsAre(low));
}

// One agent, a task that takes 20 s, and a critical one every 10 s.
TEST_F(DispatcherPreempt, a_task_makes_way_three_times_and_then_ends) {
  begin(1);
  submit(1, ledger::k_normal);
  std::uint64_t last = 1;
  while (last < 20) {
    world.start(1, world.ref(1));
    world.pass(9s);
    const auto normal = world.ref(1);
    submit(++last, ledger::k_critical);
    if (asked_to_yield().empty() || asked_to_yield().back() != normal) break;
    world.return_task(1, normal);
    ASSERT_EQ(world.where(last), "agent1") << "what made way took the place itself";
    world.start(1, world.ref(last));
    world.pass(1s);
    world.complete(1, world.ref(last));
  }
  EXPECT_EQ(world.count(DispatchEvent::Kind::preempted), 3U) << "put off again and again";
  world.complete(1, world.ref(1));
  EXPECT_EQ(world.state(1), State::completed);
}

TEST_F(DispatcherPreempt, a_critical_task_asks_another_when_the_first_cannot_yield) {
  begin(1);
  submit(1, ledger::k_low);
  world.join(2);
  submit(2, ledger::k_normal);
  submit(3, ledger::k_critical);
  ASSERT_THAT(asked_to_yield(), ElementsAre(world.ref(1)));
  world.pass(500ms);
  ASSERT_THAT(asked_to_yield(2), IsEmpty()) << "too early";
  world.pass(2s);
  EXPECT_THAT(asked_to_yield(2), ElementsAre(world.ref(2)));
  world.return_task(2, world.ref(2));
  EXPECT_EQ(world.where(3), "agent2");
  world.pass(5s);
  EXPECT_EQ(asked_to_yield().size() + asked_to_yield(2).size(), 2U) << "asked although it has its place";
}

TEST_F(DispatcherPreempt, no_other_task_asks) {
  begin(2);
  submit(1, ledger::k_low);
  world.start(1, world.ref(1));
  submit(2, ledger::k_high);
  EXPECT_EQ(world.where(2), "agent1");
  EXPECT_THAT(asked_to_yield(), IsEmpty());
}

TEST_F(DispatcherPreempt, an_agent_that_may_do_all_at_once_is_not_asked) {
  begin(2, false);
  submit(1, ledger::k_low);
  submit(2, ledger::k_critical);
  EXPECT_THAT(asked_to_yield(), IsEmpty());
}

TEST(DispatcherNames, an_agent_whose_name_is_too_long_is_named_and_gets_nothing) {
  CoreWorld world;
  world.begin();
  AgentReady ready;
  ready.name = std::string(200, 'n');
  world.join(1, std::move(ready));
  world.submit(1);
  world.pass(5s);
  EXPECT_EQ(world.fresh_starts, 0U) << "the same is asked again and again";
  ASSERT_EQ(world.count(DispatchEvent::Kind::agent_refused), 1U);
  const auto refused = std::ranges::find(world.events, DispatchEvent::Kind::agent_refused, &DispatchEvent::kind);
  EXPECT_THAT(refused->detail, HasSubstr("name_bytes, 128"));
  world.join(2);
  EXPECT_EQ(world.where(1), "agent2");
}

}  // namespace
}  // namespace skein::inline v0::dispatch
