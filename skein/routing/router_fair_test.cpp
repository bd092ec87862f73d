// How the router judges agents: by what is usual for a type of task, the idle first, and permanent
// errors; and that nobody who has left costs those who come.
#include "skein/routing/router.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "skein/routing/test_router.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class FairRouterTest : public RouterTest {};

// circuit_breaker.cpp:69 at 400d72d: a probe older than operation_timeout (10 s) counted as failed, so an agent whose
// tasks take longer was idle for 30 s after every success.
TEST_F(FairRouterTest, a_probe_may_last_as_long_as_its_task) {
  const AgentHandle a = join("a", 1);
  run(a, k_broke, 5);
  now_ += seconds(31);
  for (int i = 0; i < 2; ++i) {
    Assignment probe = assign(decide()->agent);
    now_ += minutes(20);
    EXPECT_EQ(view(a).breaker, BreakerState::half_open);
    router_.finished(std::move(probe), {.latency = minutes(20)}, now_);
    if (i == 0) {
      EXPECT_EQ(decide()->agent, a) << "it succeeded";
    }
  }
  EXPECT_EQ(view(a).breaker, BreakerState::closed);
  EXPECT_EQ(decide()->agent, a);
}

// At 400d72d ten perfect answers of a second or more made an agent ill.
TEST_F(FairRouterTest, slow_work_is_not_poor_work) {
  const TypeRef report = router_.type("report");
  const AgentHandle a = join("a");
  const AgentHandle b = join("b");
  for (int i = 0; i < 60; ++i) {
    for (const AgentHandle each : {a, b}) {
      now_ += minutes(20);
      router_.finished(std::move(*router_.assigned(each, now_, report)), {.latency = minutes(20)}, now_);
      ASSERT_EQ(view(each).readiness, Readiness::ready) << "outcome " << i;
    }
  }
  EXPECT_EQ(router_.usual_run(report).has_value(), true);
  EXPECT_GT(view(a).score, 0.8);
}

TEST_F(FairRouterTest, who_takes_ten_times_what_is_usual_for_the_type_is_poorly) {
  const TypeRef report = router_.type("report");
  const AgentHandle slow = join("slow");
  const AgentHandle usual = join("usual");
  const auto finish = [&](AgentHandle agent, Duration took) {
    now_ += seconds(1);
    router_.finished(std::move(*router_.assigned(agent, now_, report)), {.latency = took}, now_);
  };
  for (int i = 0; i < 30; ++i) finish(usual, seconds(60));
  for (int i = 0; i < 12; ++i) finish(slow, seconds(600));
  EXPECT_EQ(view(slow).readiness, Readiness::poorly);
  EXPECT_EQ(view(usual).readiness, Readiness::ready);
}

TEST_F(FairRouterTest, an_agent_of_two_types_is_judged_by_each_types_own_usual_time) {
  const TypeRef quick = router_.type("quick");
  const TypeRef slow = router_.type("slow");
  const AgentHandle a = join("a");
  for (int i = 0; i < 100; ++i) {
    now_ += seconds(1);
    router_.finished(std::move(*router_.assigned(a, now_, quick)), {.latency = milliseconds(2)}, now_);
    router_.finished(std::move(*router_.assigned(a, now_, slow)), {.latency = minutes(20)}, now_);
    ASSERT_EQ(view(a).readiness, Readiness::ready) << i;
  }
}

// At 400d72d a task of 0.1 s waited 27 s behind one of 50 s beside an idle agent that counted as ill.
TEST_F(FairRouterTest, nobody_at_work_is_chosen_beside_an_idle_agent_whatever_its_health) {
  for (std::size_t i = 0; i < k_balances; ++i) {
    const auto strategy = static_cast<Balance>(i);
    if (strategy == Balance::consistent_hash) continue;  // a key stays with its agent
    router_ = Router();
    const AgentHandle poor = join("poor", 2);
    std::vector<AgentHandle> busy;
    std::vector<Assignment> held;
    for (int n = 0; n < 5; ++n) {
      busy.push_back(join("busy-" + std::to_string(n), 2));
      held.push_back(assign(busy.back()));
    }
    run(poor, {.latency = seconds(5)}, 10);
    ASSERT_EQ(view(poor).readiness, Readiness::poorly);
    for (int times = 0; times < 50; ++times) EXPECT_EQ(decide(strategy)->agent, poor) << balance_name(strategy);
    EXPECT_EQ(router_.idle_beside(busy[0], {.capabilities = k_work}, now_), 1U);
    const Assignment its = assign(poor);
    EXPECT_NE(decide(strategy)->agent, poor) << "all are at work: the healthy first";
    EXPECT_EQ(router_.idle_beside(busy[0], {.capabilities = k_work}, now_), 0U);
  }
}

// At 400d72d one agent that answered `permanent` at once took 19 of 40 tasks.
class BlackHoleTest : public FairRouterTest {
 protected:
  static constexpr AttemptOutcome k_never{.error = RetryClass::permanent, .latency = milliseconds(1)};
  void finish(AgentHandle agent, const AttemptOutcome& outcome) {
    auto given = router_.assigned(agent, now_, work_);
    ASSERT_TRUE(given) << route_error_text(given.error());
    router_.finished(std::move(*given), outcome, now_);
  }
  TypeRef work_ = router_.type("work");
};

TEST_F(BlackHoleTest, is_stopped_after_three_tasks_when_others_complete_the_type) {
  const AgentHandle good = join("good");
  const AgentHandle hole = join("hole");
  for (int i = 0; i < 10; ++i) finish(good, k_ok);
  for (int i = 0; i < 3; ++i) finish(hole, k_never);
  EXPECT_EQ(view(hole).breaker, BreakerState::open);
  EXPECT_TRUE(view(hole).is_suspected);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(decide()->agent, good);
  now_ += seconds(30);
  {
    auto probe = router_.assigned(hole, now_, work_);
    ASSERT_TRUE(probe);
    EXPECT_FALSE(router_.assigned(hole, now_, work_)) << "one at a time";
    router_.finished(std::move(*probe), k_never, now_);
  }
  EXPECT_EQ(view(hole).breaker, BreakerState::open) << "one probe is enough";
  EXPECT_EQ(view(hole).broken_until, now_ + seconds(120)) << "each costs a task: four times as long";
  now_ += seconds(120);
  finish(hole, k_ok);
  finish(hole, k_ok);
  EXPECT_EQ(view(hole).breaker, BreakerState::closed);
  EXPECT_FALSE(view(hole).is_suspected);
}

TEST_F(BlackHoleTest, is_stopped_before_the_others_have_ended_anything) {
  const AgentHandle good = join("good");
  const AgentHandle hole = join("hole");
  const auto under_way = router_.assigned(good, now_, work_);
  for (int i = 0; i < 3; ++i) finish(hole, k_never);
  EXPECT_EQ(view(hole).breaker, BreakerState::open);
}

TEST_F(BlackHoleTest, tasks_that_fail_everywhere_are_held_against_nobody_who_is_not_alone_with_it) {
  std::vector<AgentHandle> all;
  for (int i = 0; i < 4; ++i) all.push_back(join("agent-" + std::to_string(i)));
  for (int round = 0; round < 20; ++round) {
    for (const AgentHandle each : all) finish(each, k_never);
  }
  for (const AgentHandle each : all) EXPECT_EQ(view(each).breaker, BreakerState::closed);
}

TEST_F(BlackHoleTest, every_second_task_that_cannot_succeed_is_no_reason) {
  std::vector<AgentHandle> all;
  for (int i = 0; i < 4; ++i) all.push_back(join("agent-" + std::to_string(i)));
  std::size_t stopped = 0;
  for (int i = 0; i < 2'000; ++i) {
    const AgentHandle agent = all[random_.below(all.size())];
    now_ += seconds(1);
    auto given = router_.assigned(agent, now_, work_);
    if (!given) {
      ++stopped;
      continue;
    }
    router_.finished(std::move(*given), random_.chance(0.5) ? k_never : k_ok, now_);
  }
  EXPECT_LT(stopped, 200U) << "of 2000";
}

TEST_F(BlackHoleTest, who_works_alone_is_never_suspected) {
  const AgentHandle alone = join("alone");
  for (int i = 0; i < 50; ++i) finish(alone, k_never);
  EXPECT_EQ(view(alone).breaker, BreakerState::closed);
}

TEST_F(FairRouterTest, tells_whom_it_goes_around_and_when_no_longer) {
  using Kind = AgentChange::Kind;
  const AgentHandle a = join("a");
  run(a, k_broke, 5);
  now_ += seconds(30);
  EXPECT_TRUE(decide());
  run(a, k_ok, 2);
  const auto changes = router_.take_changes();
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].kind, Kind::breaker_opened);
  EXPECT_EQ(changes[1].kind, Kind::breaker_half_open);
  EXPECT_EQ(changes[2].kind, Kind::breaker_closed);
  EXPECT_EQ(changes[2].agent, a);
  EXPECT_TRUE(router_.take_changes().empty());
}

// Two thousand agents with 32 names of their own each, one after the other, used up the table for good.
TEST(Router, forgets_capabilities_that_nobody_has) {
  RouterOptions options;
  options.capabilities_max = 8;
  Router router(options);
  Random random(1);
  const Instant now{};
  ASSERT_TRUE(router.join({.name = "stays", .capabilities = {"work", "rest"}}, now));
  for (int i = 0; i < 100; ++i) {
    const std::string name = "only-" + std::to_string(i);
    const auto joined = router.join({.name = "goes", .capabilities = {"work", name, name + "b", name + "c"}}, now);
    ASSERT_TRUE(joined) << i << ": " << route_error_text(joined.error());
    const std::string_view needed[] = {"work", name};
    EXPECT_EQ(router.decide({.capabilities = needed}, random, now)->agent, *joined);
    ASSERT_TRUE(router.leave(*joined));
    if (i < 2) {
      EXPECT_FALSE(router.decide({.capabilities = needed}, random, now));
    }
  }
  const std::string_view rest[] = {"rest", "work"};
  EXPECT_TRUE(router.decide({.capabilities = rest}, random, now));
}

}  // namespace
}  // namespace skein
