#include "skein/routing/router.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "skein/routing/test_router.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_F(RouterTest, chooses_only_those_who_have_all_the_capabilities) {
  join("a", 10, "", {"work"});
  const AgentHandle both = join("b", 10, "", {"paint", "work", "paint"});
  constexpr std::string_view needed[] = {"work", "paint"};
  constexpr std::string_view turned[] = {"paint", "work", "work"};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(router_.decide({.capabilities = needed}, random_, now_)->agent, both);
    EXPECT_EQ(router_.decide({.capabilities = turned}, random_, now_)->agent, both);
  }
  EXPECT_EQ(router_.pools(), 1U) << "the same set in another order is the same pool";
}

TEST_F(RouterTest, answers_with_the_pid) {
  const AgentHandle a = join("a");
  EXPECT_EQ(decide()->pid, Pid(0, 1, 1));
  ASSERT_TRUE(router_.set_pid(a, Pid(0, 9, 2)));
  EXPECT_EQ(decide()->pid, Pid(0, 9, 2));
}

TEST_F(RouterTest, says_why_nobody_can_be_chosen) {
  EXPECT_EQ(decide().error(), RouteError::unknown_capability);
  EXPECT_EQ(router_.decide({}, random_, now_).error(), RouteError::nobody_has_them);
  const AgentHandle a = join("a", 1);
  EXPECT_TRUE(decide());
  const Assignment held = assign(a);
  EXPECT_EQ(decide().error(), RouteError::nobody_ready);
  router_.leave(a);
  EXPECT_EQ(decide().error(), RouteError::nobody_has_them);
}

TEST_F(RouterTest, goes_around_the_paused_and_the_full) {
  const AgentHandle a = join("a", 1);
  const AgentHandle b = join("b", 1);
  ASSERT_TRUE(router_.set_paused(a, true, now_));
  EXPECT_EQ(decide()->agent, b);
  EXPECT_EQ(decide()->agent, b);
  EXPECT_EQ(router_.assigned(a, now_).error(), RouteError::agent_paused);
  Assignment held = assign(b);
  EXPECT_EQ(decide().error(), RouteError::nobody_ready);
  ASSERT_TRUE(router_.set_paused(a, false, now_));
  EXPECT_EQ(decide()->agent, a);
  router_.finished(std::move(held), k_ok, now_);
  EXPECT_EQ(view(b).load, 0U);
}

TEST_F(RouterTest, round_robin_visits_all_evenly_also_while_others_come_and_go) {
  std::vector<AgentHandle> agents;
  for (int i = 0; i < 7; ++i) agents.push_back(join("agent-" + std::to_string(i)));
  std::map<std::uint32_t, int> seen;
  for (int i = 0; i < 70; ++i) ++seen[decide()->agent.index];
  for (const auto& [index, times] : seen) EXPECT_EQ(times, 10) << index;
  router_.leave(agents[3]);
  seen.clear();
  for (int i = 0; i < 60; ++i) ++seen[decide()->agent.index];
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [index, times] : seen) EXPECT_EQ(times, 10) << index;
}

TEST_F(RouterTest, round_robin_puts_no_task_behind_another_while_somebody_is_idle) {
  const AgentHandle a = join("a", 2);
  const AgentHandle b = join("b", 2);
  const AgentHandle c = join("c", 2);
  std::vector<Assignment> held;
  for (int i = 0; i < 3; ++i) held.push_back(assign(decide()->agent));
  EXPECT_EQ(view(c).load, 1U);
  router_.finished(std::move(held[1]), k_ok, now_);
  EXPECT_EQ(decide()->agent, b) << "it was a's turn, and a is at work";
  held[1] = assign(b);
  EXPECT_EQ(decide()->agent, a) << "all are at work: in turn";
  const AgentHandle avoided[] = {a};
  router_.finished(std::move(held[0]), k_ok, now_);
  EXPECT_NE(decide(Balance::round_robin, "", avoided)->agent, a) << "the idle one failed it";
  EXPECT_EQ(decide()->agent, a);
}

TEST_F(RouterTest, round_robin_takes_turns_among_the_idle) {
  const AgentHandle agents[] = {join("a", 2), join("b", 2), join("c", 2)};
  for (std::size_t i = 0; i < 12; ++i) {
    const AgentHandle agent = decide()->agent;
    EXPECT_EQ(agent, agents[i % 3]);
    router_.finished(assign(agent), k_ok, now_);
  }
}

TEST_F(RouterTest, least_connections_takes_turns_among_equals) {
  for (int i = 0; i < 4; ++i) join("agent-" + std::to_string(i));
  std::vector<Assignment> held;
  std::map<std::uint32_t, int> seen;
  for (int i = 0; i < 12; ++i) {
    const AgentHandle agent = decide(Balance::least_connections)->agent;
    ++seen[agent.index];
    held.push_back(assign(agent));
  }
  for (const auto& [index, times] : seen) EXPECT_EQ(times, 3) << index;
}

TEST_F(RouterTest, consistent_hash_keeps_a_key_where_it_is_while_the_agent_can_take_it) {
  for (int i = 0; i < 20; ++i) join("agent-" + std::to_string(i), 1);
  const AgentHandle home = decide(Balance::consistent_hash, "session-1")->agent;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(decide(Balance::consistent_hash, "session-1")->agent, home);
  Assignment held = assign(home);
  const AgentHandle away = decide(Balance::consistent_hash, "session-1")->agent;
  EXPECT_NE(away, home);
  EXPECT_EQ(decide(Balance::consistent_hash, "session-1")->agent, away);
  router_.finished(std::move(held), k_ok, now_);
  EXPECT_EQ(decide(Balance::consistent_hash, "session-1")->agent, home);
}

TEST_F(RouterTest, consistent_hash_finds_the_only_one_ready_among_many) {
  std::vector<AgentHandle> agents;
  for (int i = 0; i < 500; ++i) agents.push_back(join("agent-" + std::to_string(i)));
  for (std::size_t i = 1; i < agents.size(); ++i) ASSERT_TRUE(router_.set_paused(agents[i], true, now_));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(decide(Balance::consistent_hash, "key-" + std::to_string(i))->agent, agents[0]);
  }
}

TEST_F(RouterTest, weighted_follows_its_weights) {
  // Of three classes of agents one is good, one slow, one failing; T = 1 and values far apart, so pin the table
  // instead.
  const AgentHandle fast = join("fast", 1000);
  const AgentHandle slow = join("slow", 1000);
  run(slow, {.latency = milliseconds(100)}, 12);
  run(fast, {.latency = milliseconds(10)}, 12);
  const double wanted = router_.learned().weight(view(slow).state) /
                        (router_.learned().weight(view(slow).state) + router_.learned().weight(view(fast).state));
  ASSERT_GT(wanted, 0.05);
  ASSERT_LT(wanted, 0.5);
  int slow_ones = 0;
  constexpr int k_draws = 20'000;
  for (int i = 0; i < k_draws; ++i) slow_ones += decide(Balance::weighted)->agent == slow ? 1 : 0;
  const double deviation = std::sqrt(wanted * (1 - wanted) / k_draws);
  EXPECT_NEAR(static_cast<double>(slow_ones) / k_draws, wanted, 5 * deviation);
}

TEST_F(RouterTest, two_choices_never_takes_the_most_loaded_of_three) {
  join("a");
  join("b");
  const AgentHandle busy = join("c");
  const Assignment held = assign(busy);
  for (int i = 0; i < 500; ++i) EXPECT_NE(decide(Balance::two_choices)->agent, busy);
}

TEST_F(RouterTest, q_learning_prefers_what_has_proved_good_but_looks_at_others_too) {
  const AgentHandle good = join("good");
  const AgentHandle bad = join("bad");
  for (int i = 0; i < 3; ++i) {
    run(bad, k_broke);
    run(bad, k_ok, 2);
  }
  run(good, k_ok, 50);
  int bad_ones = 0;
  for (int i = 0; i < 2000; ++i) bad_ones += decide(Balance::q_learning)->agent == bad ? 1 : 0;
  EXPECT_GT(bad_ones, 0);
  EXPECT_LT(bad_ones, 300);
}

TEST_F(RouterTest, avoids_those_it_is_asked_to_with_every_strategy) {
  const std::vector<AgentHandle> avoid{join("a"), join("b")};
  const AgentHandle other = join("c");
  for (std::size_t i = 0; i < k_balances; ++i) {
    const auto strategy = static_cast<Balance>(i);
    for (int times = 0; times < 50; ++times) {
      const auto choice = decide(strategy, "key-" + std::to_string(times), avoid);
      ASSERT_TRUE(choice) << balance_name(strategy);
      EXPECT_EQ(choice->agent, other) << balance_name(strategy);
    }
  }
  router_.leave(other);
  for (std::size_t i = 0; i < k_balances; ++i) {
    EXPECT_EQ(decide(static_cast<Balance>(i), "key", avoid).error(), RouteError::only_avoided);
  }
}

TEST_F(RouterTest, stops_giving_work_to_who_keeps_failing_and_tries_again_after_the_reset_time) {
  const AgentHandle a = join("a");
  const AgentHandle b = join("b");
  run(a, k_broke, 5);
  EXPECT_EQ(view(a).breaker, BreakerState::open);
  EXPECT_EQ(router_.assigned(a, now_).error(), RouteError::breaker_open);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(decide()->agent, b);
  now_ += seconds(30);
  std::set<AgentHandle> seen{decide()->agent, decide()->agent};
  EXPECT_TRUE(seen.contains(a));
  EXPECT_EQ(view(a).breaker, BreakerState::half_open);
  run(a, k_ok, 2);
  EXPECT_EQ(view(a).breaker, BreakerState::closed);
}

TEST_F(RouterTest, gives_a_half_open_breaker_only_as_many_probes_as_it_allows) {
  const AgentHandle a = join("a");
  run(a, k_broke, 5);
  now_ += seconds(31);
  std::vector<Assignment> probes;
  for (int i = 0; i < 3; ++i) probes.push_back(assign(decide()->agent));
  EXPECT_EQ(decide().error(), RouteError::nobody_ready);
  router_.returned(std::move(probes.back()), now_);
  EXPECT_EQ(decide()->agent, a);
}

TEST_F(RouterTest, ignores_late_failures_of_what_was_given_before_the_breaker_opened) {
  const AgentHandle a = join("a");
  std::vector<Assignment> early;
  for (int i = 0; i < 4; ++i) early.push_back(assign(a));
  run(a, k_broke, 5);
  now_ += seconds(31);
  EXPECT_EQ(view(a).breaker, BreakerState::half_open);
  for (Assignment& each : early) router_.finished(std::move(each), k_broke, now_);
  EXPECT_EQ(view(a).breaker, BreakerState::half_open);
  EXPECT_EQ(view(a).load, 0U);
}

TEST_F(RouterTest, ignores_late_failures_also_after_the_breaker_has_closed_again) {
  const AgentHandle a = join("a", 20);
  std::vector<Assignment> early;
  for (int i = 0; i < 6; ++i) early.push_back(assign(a));
  run(a, k_broke, 5);
  now_ += seconds(31);
  run(a, k_ok, 2);
  ASSERT_EQ(view(a).breaker, BreakerState::closed);
  for (Assignment& each : early) router_.finished(std::move(each), k_broke, now_);
  EXPECT_EQ(view(a).breaker, BreakerState::closed);
}

TEST_F(RouterTest, does_not_blame_an_agent_for_tasks_that_cannot_succeed) {
  const AgentHandle a = join("a");
  run(a, {.error = RetryClass::permanent, .latency = milliseconds(1)}, 50);
  EXPECT_EQ(view(a).breaker, BreakerState::closed);
  EXPECT_DOUBLE_EQ(view(a).success, 1.0);
}

TEST_F(RouterTest, holds_back_from_a_rate_limited_agent_as_long_as_asked) {
  const AgentHandle a = join("a");
  run(a, {.error = RetryClass::rate_limited, .latency = milliseconds(1), .retry_after = seconds(20)});
  EXPECT_EQ(view(a).breaker, BreakerState::closed);
  EXPECT_EQ(decide().error(), RouteError::nobody_ready);
  now_ += seconds(19);
  EXPECT_FALSE(decide());
  now_ += seconds(1);
  EXPECT_EQ(decide()->agent, a);
  run(a, {.error = RetryClass::rate_limited, .retry_after = k_forever});
  now_ += minutes(10);
  EXPECT_EQ(decide()->agent, a);
}

TEST_F(RouterTest, goes_around_an_unhealthy_agent_and_tries_it_again_later) {
  const AgentHandle a = join("a");
  const AgentHandle b = join("b");
  run(a, {.latency = seconds(5)}, 9);
  EXPECT_EQ(view(a).readiness, Readiness::ready) << "nobody is judged on nine outcomes";
  run(a, {.latency = seconds(5)});
  EXPECT_LT(view(a).score, 0.5);
  EXPECT_EQ(view(a).readiness, Readiness::poorly);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(decide()->agent, b);
  now_ += seconds(30);
  EXPECT_EQ(view(a).readiness, Readiness::ready);
}

TEST_F(RouterTest, uses_an_unhealthy_agent_when_there_is_no_other) {
  const AgentHandle a = join("a");
  const AgentHandle b = join("b");
  run(a, {.latency = seconds(5)}, 10);
  for (std::size_t i = 0; i < k_balances; ++i) {
    ASSERT_TRUE(router_.set_paused(b, true, now_));
    EXPECT_EQ(decide(static_cast<Balance>(i), "key")->agent, a);
    ASSERT_TRUE(router_.set_paused(b, false, now_));
    EXPECT_EQ(decide(static_cast<Balance>(i), "key")->agent, b);
  }
}

TEST_F(RouterTest, gives_an_executor_no_more_calls_than_its_bulkhead_has_room_for) {
  ASSERT_TRUE(router_.add_executor("http", 2));
  const AgentHandle a = join("a", 10, "http");
  const AgentHandle b = join("b", 10, "http");
  for (std::size_t i = 0; i < k_balances; ++i) {
    const auto strategy = static_cast<Balance>(i);
    Assignment one = assign(a);
    {
      const Assignment other = assign(b);
      EXPECT_EQ(decide(strategy, "key").error(), RouteError::bulkhead_full) << balance_name(strategy);
      EXPECT_EQ(router_.assigned(a, now_).error(), RouteError::bulkhead_full);
      EXPECT_EQ(view(a).load, 1U);
    }
    EXPECT_TRUE(decide(strategy, "key")) << balance_name(strategy);
    router_.finished(std::move(one), k_ok, now_);
    ASSERT_TRUE(router_.set_load(b, 0, now_));
  }
}

TEST_F(RouterTest, finds_those_whose_executor_has_room_behind_many_whose_has_none) {
  ASSERT_TRUE(router_.add_executor("narrow", 0));
  ASSERT_TRUE(router_.add_executor("wide", 1000));
  for (int i = 0; i < 200; ++i) join("narrow-" + std::to_string(i), 10, "narrow");
  const AgentHandle wide = join("wide", 10, "wide");
  const AgentHandle own = join("own");
  std::set<AgentHandle> seen;
  for (std::size_t i = 0; i < k_balances; ++i) {
    for (int times = 0; times < 20; ++times) {
      const auto choice = decide(static_cast<Balance>(i), "key-" + std::to_string(times));
      ASSERT_TRUE(choice);
      ASSERT_TRUE(choice->agent == wide || choice->agent == own);
      seen.insert(choice->agent);
    }
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST_F(RouterTest, knows_nobody_by_a_handle_of_one_who_left) {
  const AgentHandle gone = join("a");
  Assignment held = assign(gone);
  ASSERT_TRUE(router_.leave(gone));
  EXPECT_FALSE(router_.leave(gone));
  const AgentHandle next = join("b");
  EXPECT_EQ(next.index, gone.index) << "the place is used again, or this tests nothing";
  EXPECT_EQ(router_.assigned(gone, now_).error(), RouteError::unknown_agent);
  EXPECT_EQ(router_.adopted(gone, now_).error(), RouteError::unknown_agent);
  EXPECT_FALSE(router_.finished(std::move(held), k_ok, now_));
  EXPECT_EQ(router_.set_paused(gone, true, now_).error(), RouteError::unknown_agent);
  EXPECT_EQ(router_.set_capacity(gone, 1, now_).error(), RouteError::unknown_agent);
  EXPECT_EQ(router_.set_load(gone, 1, now_).error(), RouteError::unknown_agent);
  EXPECT_EQ(router_.set_pid(gone, Pid()).error(), RouteError::unknown_agent);
  EXPECT_EQ(router_.set_capabilities(gone, {"x"}, now_).error(), RouteError::unknown_agent);
  EXPECT_FALSE(router_.view(gone, now_));
  EXPECT_EQ(router_.assigned(AgentHandle{}, now_).error(), RouteError::unknown_agent);
  EXPECT_EQ(view(next).load, 0U);
}

TEST_F(RouterTest, counts_what_an_agent_runs_already_without_asking) {
  ASSERT_TRUE(router_.add_executor("http", 1));
  const AgentHandle a = join("a", 2, "http");
  std::vector<Assignment> held;
  for (int i = 0; i < 3; ++i) held.push_back(std::move(*router_.adopted(a, now_)));
  EXPECT_EQ(view(a).load, 3U);
  for (Assignment& each : held) EXPECT_TRUE(router_.finished(std::move(each), k_ok, now_));
  EXPECT_EQ(view(a).load, 0U);
  EXPECT_TRUE(decide());
}

TEST_F(RouterTest, follows_changed_capabilities_capacity_and_load) {
  const AgentHandle a = join("a", 1);
  EXPECT_TRUE(decide());
  ASSERT_TRUE(router_.set_capabilities(a, {"rest"}, now_));
  EXPECT_EQ(decide().error(), RouteError::nobody_has_them);
  ASSERT_TRUE(router_.set_capabilities(a, {"rest", "work"}, now_));
  EXPECT_TRUE(decide());
  ASSERT_TRUE(router_.set_load(a, 1, now_));
  EXPECT_FALSE(decide());
  ASSERT_TRUE(router_.set_capacity(a, 2, now_));
  EXPECT_TRUE(decide());
}

TEST_F(RouterTest, refuses_bad_agents_with_a_reason) {
  const auto refused = [&](AgentSpec spec) { return router_.join(std::move(spec), now_).error(); };
  EXPECT_EQ(refused({.name = ""}), RouteError::bad_agent_name);
  EXPECT_EQ(refused({.name = std::string(257, 'x')}), RouteError::bad_agent_name);
  EXPECT_EQ(refused({.name = "a", .capabilities = {""}}), RouteError::bad_capability);
  EXPECT_EQ(refused({.name = "a", .capabilities = {std::string(257, 'x')}}), RouteError::bad_capability);
  EXPECT_EQ(refused({.name = "a", .capabilities = std::vector<std::string>(257, "x")}),
            RouteError::too_many_capabilities);
  EXPECT_EQ(refused({.name = "a", .capacity = 0}), RouteError::bad_capacity);
  EXPECT_EQ(refused({.name = "a", .capacity = 1024}), RouteError::bad_capacity);
  EXPECT_EQ(refused({.name = "a", .executor = "none"}), RouteError::unknown_executor);
  EXPECT_EQ(router_.agents(), 0U);
  const AgentHandle a = join("a");
  EXPECT_EQ(refused({.name = "a"}), RouteError::agent_exists);
  EXPECT_EQ(router_.set_load(a, -1, now_).error(), RouteError::bad_load);
  EXPECT_EQ(router_.set_capacity(a, 0, now_).error(), RouteError::bad_capacity);
  EXPECT_EQ(router_.find("a"), a);
  EXPECT_FALSE(router_.find("b"));
  EXPECT_EQ(router_.add_executor("").error(), RouteError::unknown_executor);
  ASSERT_TRUE(router_.add_executor("http"));
  EXPECT_EQ(router_.add_executor("http").error(), RouteError::executor_exists);
}

TEST_F(RouterTest, refuses_requests_that_ask_for_too_much) {
  join("a");
  const std::vector<std::string_view> many(Router::k_required_max + 1, "work");
  EXPECT_EQ(router_.decide({.capabilities = many}, random_, now_).error(), RouteError::too_many_capabilities);
}

TEST_F(RouterTest, survives_latencies_that_are_none_and_clocks_that_stand_or_go_back) {
  const AgentHandle a = join("a");
  for (int i = 0; i < 200; ++i) {
    router_.finished(assign(a), {.latency = std::nullopt}, now_);
    router_.finished(assign(a), {.latency = milliseconds(-100)}, Instant::min());
  }
  EXPECT_DOUBLE_EQ(view(a).slowness_ms, 0.0);
  EXPECT_TRUE(std::isfinite(view(a).score));
  EXPECT_TRUE(decide());
}

TEST(Router, holds_no_more_than_its_limits) {
  RouterOptions options;
  options.agents_max = 2;
  options.capabilities_max = 3;
  options.pools_max = 2;
  options.executors_max = 1;
  Router router(options);
  Random random(1);
  const Instant now{};
  ASSERT_TRUE(router.join({.name = "a", .capabilities = {"x", "y"}}, now));
  EXPECT_EQ(router.join({.name = "b", .capabilities = {"v", "w"}}, now).error(), RouteError::too_many_capabilities);
  ASSERT_TRUE(router.join({.name = "b", .capabilities = {"z"}}, now));
  EXPECT_EQ(router.join({.name = "c"}, now).error(), RouteError::too_many_agents);
  ASSERT_TRUE(router.add_executor("one"));
  EXPECT_EQ(router.add_executor("two").error(), RouteError::too_many_executors);
  // The pool not asked for longest makes room, and is made again when asked for.
  for (int i = 0; i < 3; ++i) {
    for (const std::string_view each : {"x", "y", "z"}) {
      const auto choice = router.decide({.capabilities = std::span(&each, 1)}, random, now);
      ASSERT_TRUE(choice);
      EXPECT_EQ(router.view(choice->agent, now)->name, each == "z" ? "b" : "a");
      EXPECT_LE(router.pools(), 2U);
    }
  }
}

TEST(Router, refuses_options_that_make_no_sense) {
  RouterOptions options;
  options.health_floor = std::nan("");
  EXPECT_THROW(Router{options}, std::invalid_argument);
  options = {};
  options.breaker.success_threshold = 0;
  EXPECT_THROW(Router{options}, std::invalid_argument);
}

TEST(Router, has_a_text_for_every_error_and_a_name_for_every_strategy) {
  for (int i = 0; i <= static_cast<int>(RouteError::only_avoided); ++i) {
    EXPECT_NE(route_error_text(static_cast<RouteError>(i)), "unknown routing error");
  }
  for (std::size_t i = 0; i < k_balances; ++i) {
    EXPECT_EQ(balance_named(balance_name(static_cast<Balance>(i))), static_cast<Balance>(i));
  }
  EXPECT_EQ(balance_named("fastest"), std::nullopt);
}

TEST_F(RouterTest, gives_no_agent_more_than_its_capacity) {
  const AgentHandle agent = join("a", 2);
  const Assignment one = assign(agent);
  const Assignment two = assign(agent);
  const auto refused = router_.assigned(agent, now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), RouteError::agent_full);
  EXPECT_EQ(view(agent).load, 2U);
  EXPECT_TRUE(router_.adopted(agent, now_)) << "what it runs already is counted all the same";
}

TEST_F(RouterTest, gives_nothing_to_an_agent_that_is_held_back) {
  const AgentHandle agent = join("a");
  run(agent, {.error = RetryClass::rate_limited, .retry_after = seconds(7)});
  const auto refused = router_.assigned(agent, now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), RouteError::agent_held);
  now_ += seconds(7);
  EXPECT_TRUE(router_.assigned(agent, now_));
}

TEST_F(RouterTest, judges_health_before_breaker_and_bulkhead) {
  ASSERT_TRUE(router_.add_executor("shared", 1));
  const AgentHandle healthy = join("healthy", 10, "shared");
  const AgentHandle poor = join("poor");
  run(poor, {.latency = seconds(2)}, 20);
  ASSERT_EQ(view(poor).readiness, Readiness::poorly);
  EXPECT_EQ(decide(Balance::least_connections)->agent, healthy);
  {
    const Assignment place = assign(healthy);
    EXPECT_EQ(decide()->agent, poor) << "the healthy have no room in their bulkhead";
  }
  run(healthy, k_broke, 5);
  ASSERT_EQ(view(healthy).breaker, BreakerState::open);
  EXPECT_EQ(decide()->agent, poor);
}

TEST_F(RouterTest, a_request_that_nobody_can_take_times_out) {
  const AgentHandle agent = join("a", 1);
  const Assignment busy = assign(agent);
  const Router::Request request{.capabilities = k_work, .since = now_};
  EXPECT_EQ(router_.decide(request, random_, now_).error(), RouteError::nobody_ready);
  now_ += seconds(5) - Duration(1);
  EXPECT_EQ(router_.decide(request, random_, now_).error(), RouteError::nobody_ready);
  now_ += Duration(1);
  EXPECT_EQ(router_.decide(request, random_, now_).error(), RouteError::timed_out);
  EXPECT_EQ(decide().error(), RouteError::nobody_ready) << "who does not say since when waits as long as it likes";
  join("b");
  EXPECT_TRUE(router_.decide(request, random_, now_)) << "late, but somebody is there";
}

class RetryingRouterTest : public RouterTest {
 protected:
  RetryingRouterTest() {
    RouterOptions options;
    options.learning.retry.explore_first = 0;
    options.learning.retry.explore_last = 0;
    router_ = Router(options);
  }
  AdaptiveRetry::Chosen choose(AgentHandle failed) {
    return router_.choose_retry({.capabilities = k_work}, failed, RetryClass::transient, milliseconds(100), {}, random_,
                                now_);
  }
};

TEST_F(RetryingRouterTest, the_learned_table_says_whether_another_agent_is_asked) {
  const AgentHandle good = join("good", 100);
  const AgentHandle bad = join("bad", 100);
  EXPECT_FALSE(choose(bad).other_agent) << "nothing is known of anybody";
  run(good, k_ok, 50);
  run(bad, k_broke, 4);
  EXPECT_TRUE(choose(bad).other_agent);
  EXPECT_FALSE(choose(good).other_agent);
  EXPECT_EQ(choose(good).delay, milliseconds(100));
  // Nobody else is there, or the one that failed is not.
  ASSERT_TRUE(router_.leave(good));
  EXPECT_FALSE(choose(bad).other_agent);
  EXPECT_TRUE(join("new", 100) != bad && choose(good).other_agent);
}

TEST_F(RetryingRouterTest, what_is_learned_of_retries_is_saved_with_the_rest) {
  const AgentHandle agent = join("a");
  for (int i = 0; i < 20; ++i) router_.retried(choose(agent), false);
  Router other;
  ASSERT_TRUE(other.learned().restore(router_.learned().save()));
  EXPECT_EQ(other.learned().save(), router_.learned().save());
  EXPECT_LT(other.learned().retry().value(RetryClass::transient, 0), 0);
}

}  // namespace
}  // namespace skein
