// What each strategy decides, without a process.
#include "skein/supervision/restart_policy.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace skein::inline v0::testing {
namespace {

using namespace std::chrono_literals;
using Kind = RestartDecision::Kind;

class RestartPolicies : public ::testing::Test {
 protected:
  Children::Index add(const std::string& id, Restart restart = Restart::permanent) {
    ChildSpec spec;
    spec.id = id;
    spec.restart = restart;
    return add(std::move(spec));
  }
  Children::Index add(ChildSpec spec) {
    const Children::Index index = children_.add(std::make_shared<const ChildSpec>(std::move(spec)));
    children_.set_running(index, Pid::from_bits(++pids_), now_);
    return index;
  }
  RestartDecision ended(Strategy strategy, Children::Index index, const ExitReason& reason) {
    return policy(strategy).ended(index, reason, now_);
  }
  RestartPolicy policy(Strategy strategy) { return {strategy, window_, children_, random_}; }

  Instant now_ = Instant{} + 1h;
  RestartWindow window_{2, 10s};
  Children children_;
  Random random_{1};
  std::uint64_t pids_ = 0;
};

const ExitReason k_crash = ExitReason::custom("crash");

TEST_F(RestartPolicies, restart_types_decide_first_under_every_strategy) {
  const auto temporary = add("temporary", Restart::temporary);
  const auto transient = add("transient", Restart::transient);
  for (const StrategyRow& row : k_strategies) {
    EXPECT_EQ(ended(row.strategy, temporary, k_crash).kind, Kind::leave) << row.name;
    EXPECT_EQ(ended(row.strategy, transient, ExitReason::normal()).kind, Kind::leave) << row.name;
    EXPECT_EQ(ended(row.strategy, transient, ExitReason::shutdown()).kind, Kind::leave) << row.name;
  }
  EXPECT_EQ(window_.last_used(), 0U) << "an end that restarts nothing is not counted";
}

TEST_F(RestartPolicies, groups_begin_where_their_strategy_says) {
  const auto a = add("a");
  const auto b = add("b");
  add("c");
  EXPECT_EQ(policy(Strategy::one_for_all).group_begin(b), a);
  EXPECT_EQ(policy(Strategy::rest_for_one).group_begin(b), b);
  for (const Strategy each : {Strategy::one_for_one, Strategy::simple_one_for_one, Strategy::escalate}) {
    EXPECT_FALSE(policy(each).has_group()) << strategy_name(each);
    EXPECT_EQ(policy(each).group_begin(b), b) << strategy_name(each);
  }
}

TEST_F(RestartPolicies, gives_up_past_the_intensity) {
  for (const Strategy each : {Strategy::one_for_one, Strategy::one_for_all, Strategy::rest_for_one}) {
    window_.clear();
    const auto child = add(std::string(strategy_name(each)));
    EXPECT_EQ(ended(each, child, k_crash).kind, Kind::restart) << strategy_name(each);
    EXPECT_EQ(ended(each, child, k_crash).kind, Kind::restart) << strategy_name(each);
    EXPECT_EQ(ended(each, child, k_crash).kind, Kind::give_up) << strategy_name(each);
    EXPECT_EQ(window_.last_used(), 2U) << "what was refused is not in the window";
  }
}

TEST_F(RestartPolicies, escalate_leaves_the_window_alone) {
  const auto child = add("a");
  EXPECT_EQ(ended(Strategy::escalate, child, k_crash).kind, Kind::escalate);
  EXPECT_EQ(window_.last_used(), 0U);
}

TEST_F(RestartPolicies, parks_an_isolated_child_ever_longer) {
  ChildSpec spec;
  spec.id = "a";
  spec.isolated = true;
  spec.budget = Budget{1, 10s, 2s};
  const auto child = add(std::move(spec));
  EXPECT_EQ(ended(Strategy::one_for_one, child, k_crash).kind, Kind::restart);
  const RestartDecision parked = ended(Strategy::one_for_one, child, k_crash);
  EXPECT_EQ(parked.kind, Kind::park);
  EXPECT_EQ(parked.delay, 2s);
  EXPECT_EQ(children_.at(child).state, ChildState::parked);
  EXPECT_EQ(window_.last_used(), 0U) << "an isolated child does not count with its siblings";
  EXPECT_EQ(policy(Strategy::one_for_one).retried(child, true, now_).kind, Kind::restart);
  EXPECT_EQ(children_.at(child).state, ChildState::restarting);
  EXPECT_EQ(policy(Strategy::one_for_one).retried(child, false, now_).kind, Kind::restart);
  const RestartDecision again = policy(Strategy::one_for_one).retried(child, false, now_);
  EXPECT_EQ(again.kind, Kind::park);
  EXPECT_EQ(again.delay, 4s);
}

TEST_F(RestartPolicies, a_budget_of_its_own_ends_the_supervisor_of_a_child_that_is_not_isolated) {
  ChildSpec spec;
  spec.id = "a";
  spec.budget = Budget{1, 10s, 2s};
  const auto child = add(std::move(spec));
  EXPECT_EQ(ended(Strategy::one_for_one, child, k_crash).kind, Kind::restart);
  EXPECT_EQ(ended(Strategy::one_for_one, child, k_crash).kind, Kind::give_up);
}

TEST_F(RestartPolicies, a_retry_is_counted_once) {
  const auto child = add("a");
  children_.set_waiting(child, ChildState::restarting);
  EXPECT_EQ(policy(Strategy::one_for_one).retried(child, true, now_).kind, Kind::restart);
  EXPECT_EQ(window_.last_used(), 0U) << "it was counted when its child ended";
  EXPECT_EQ(policy(Strategy::one_for_one).retried(child, false, now_).kind, Kind::restart);
  EXPECT_EQ(window_.last_used(), 1U);
}

TEST_F(RestartPolicies, backs_off_ever_longer_and_anew_after_a_long_run) {
  ChildSpec spec;
  spec.id = "a";
  spec.backoff = Backoff{.kind = BackoffKind::linear, .initial = 1s, .max = 10s, .jitter = 0};
  const auto child = add(std::move(spec));
  EXPECT_EQ(ended(Strategy::one_for_one, child, k_crash).delay, 1s);
  EXPECT_EQ(ended(Strategy::one_for_one, child, k_crash).delay, 2s);
  now_ += 11s;
  EXPECT_EQ(ended(Strategy::one_for_one, child, k_crash).delay, 1s);
}

TEST_F(RestartPolicies, waits_for_a_name_that_somebody_else_holds) {
  const auto child = add("a");
  EXPECT_EQ(policy(Strategy::one_for_one).start_failed(child, ChildStart::error(k_crash), now_), 0s);
  EXPECT_GT(policy(Strategy::one_for_one).start_failed(child, ChildStart::already_started(Pid::from_bits(9)), now_),
            0s);
  EXPECT_EQ(children_.at(child).troubles->history.size(), 2U);
  EXPECT_TRUE(children_.at(child).troubles->history.front().at_start);
}

}  // namespace
}  // namespace skein::inline v0::testing
