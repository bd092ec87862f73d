// The judge on stories written by hand.
#include "sim/fairness_judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/fairness_scenarios.hpp"
#include "sim/fairness_world.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;

class FairnessJudge : public testing::Test {
 protected:
  FairnessJudge() {
    plan.agent("ada");
    plan.agent("bob");
  }
  void task(std::string swarm = "default", std::string type = "work") {
    tasks.push_back({std::move(swarm), std::move(type), ledger::k_normal, 1s});
  }
  LabEvent& at(Duration when, LabStep step, std::uint32_t agent, std::uint32_t number = 0) {
    events.push_back({Instant(when), step, number, agent, {}, {}, ledger::State::queued});
    return events.back();
  }
  void queued(Duration when, std::uint32_t number, Duration due = {}) {
    LabEvent& event = at(when, LabStep::queued, 0, number);
    event.due = Instant(due);
    event.swarm = tasks[number].swarm;
  }
  void over(Duration when, std::uint32_t number, ledger::State state) {
    at(when, LabStep::over, 0, number).state = state;
  }
  void both_up() {
    at(0s, LabStep::agent_up, 0);
    at(0s, LabStep::agent_up, 1);
  }
  LabFigures judge() { return judge_fairness(plan, tasks, events); }

  LabPlan plan;
  std::vector<LabTask> tasks;
  std::vector<LabEvent> events;
};

TEST_F(FairnessJudge, counts_the_time_a_task_waits_while_an_agent_is_at_rest) {
  both_up();
  task();
  task();
  queued(1s, 0);
  at(1s, LabStep::began, 0, 0);
  queued(2s, 1);
  at(29s, LabStep::began, 0, 1);  // behind the first, with bob at rest
  at(30s, LabStep::completed, 0);
  const auto figures = judge();
  EXPECT_DOUBLE_EQ(figures.beside_idle(), 27);
  EXPECT_EQ(figures.worst_task(), 1U);
  EXPECT_DOUBLE_EQ(figures.longest_wait(), 27);
  EXPECT_DOUBLE_EQ(figures.lost_agent_seconds, 27);
}

TEST_F(FairnessJudge, a_wait_while_all_are_at_work_is_none_beside_an_idle_agent) {
  both_up();
  for (int i = 0; i < 3; ++i) task();
  for (std::uint32_t i = 0; i < 3; ++i) queued(1s, i);
  at(1s, LabStep::began, 0, 0);
  at(1s, LabStep::began, 1, 1);
  at(61s, LabStep::completed, 1);
  at(61s, LabStep::began, 1, 2);
  const auto figures = judge();
  EXPECT_DOUBLE_EQ(figures.beside_idle(), 0);
  EXPECT_DOUBLE_EQ(figures.longest_wait(), 60);
}

TEST_F(FairnessJudge, an_agent_that_is_down_unable_not_counted_or_without_room_is_not_idle) {
  plan.agents[0].types = {"other"};
  plan.agents[1].is_counted = false;
  plan.agent("down");
  AgentPlan& one = plan.agent("one");
  one.executor = "model";
  plan.agent("two").executor = "model";
  plan.options.executors = {{"model", 1}};
  for (const std::uint32_t agent : {0U, 1U, 3U, 4U}) at(0s, LabStep::agent_up, agent);
  task();
  task();
  queued(0s, 0);
  at(0s, LabStep::began, 3, 0);
  queued(1s, 1);
  at(100s, LabStep::completed, 3);
  at(101s, LabStep::began, 4, 1);
  EXPECT_DOUBLE_EQ(judge().beside_idle(), 1);
}

TEST_F(FairnessJudge, a_task_waits_from_when_it_is_due) {
  both_up();
  task();
  queued(1s, 0, 50s);
  at(52s, LabStep::began, 0, 0);
  at(53s, LabStep::failed, 0);
  queued(53s, 0, 60s);
  over(70s, 0, ledger::State::cancelled);
  const auto figures = judge();
  EXPECT_DOUBLE_EQ(figures.longest_wait(), 2);
  EXPECT_DOUBLE_EQ(figures.beside_idle(), 10);
  EXPECT_EQ(figures.not_completed(), 1U);
}

TEST_F(FairnessJudge, only_agents_of_a_swarm_with_its_own_count_for_its_tasks) {
  plan.swarms.push_back({"own", {{"executor", "model"}}});
  plan.agents[1].swarm = "own";
  both_up();
  task("own");
  task("default");
  queued(0s, 0);
  at(0s, LabStep::began, 1, 0);
  at(10s, LabStep::completed, 1);
  queued(10s, 0);  // again, for whatever reason
  at(14s, LabStep::began, 1, 0);
  queued(20s, 1);
  at(27s, LabStep::began, 0, 1);
  const auto figures = judge();
  EXPECT_DOUBLE_EQ(figures.beside_idle([](const auto& each) { return each.swarm == "own"; }), 4);
  EXPECT_DOUBLE_EQ(figures.beside_idle([](const auto& each) { return each.swarm == "default"; }), 7);
}

TEST_F(FairnessJudge, charges_a_failed_task_to_the_agent_that_tried_it_last) {
  both_up();
  task();
  queued(0s, 0);
  at(0s, LabStep::began, 0, 0);
  at(1s, LabStep::failed, 0);
  queued(1s, 0);
  at(1s, LabStep::began, 1, 0);
  at(2s, LabStep::agent_down, 1);
  over(2s, 0, ledger::State::failed);
  const auto figures = judge();
  EXPECT_EQ(figures.failed_by(0), 0U);
  EXPECT_EQ(figures.failed_by(1), 1U);
  EXPECT_EQ(figures.runs_at(1, LabStep::failed), 1U);
}

TEST_F(FairnessJudge, shares_are_of_the_run_time_within_a_window) {
  both_up();
  task("a");
  task("b");
  queued(0s, 0);
  queued(0s, 1);
  at(0s, LabStep::began, 0, 0);
  at(10s, LabStep::began, 1, 1);
  at(20s, LabStep::completed, 0);
  at(20s, LabStep::completed, 1);
  const auto seconds = judge().run_seconds(5s, 15s);
  EXPECT_DOUBLE_EQ(seconds.at("a"), 10);
  EXPECT_DOUBLE_EQ(seconds.at("b"), 5);
  EXPECT_NEAR(share_deviation(seconds, {{"a", 2}, {"b", 1}}), 0, 1e-9);
  EXPECT_NEAR(share_deviation(seconds, {{"a", 1}, {"b", 1}}), 1.0 / 3, 1e-9);
  EXPECT_NEAR(share_deviation(seconds, {{"a", 2}, {"b", 1}, {"c", 1}}), 1, 1e-9);
}

TEST(FairnessWorld, tells_the_same_story_for_the_same_seed) {
  const auto scenarios = fairness_scenarios();
  const auto flaky = std::ranges::find(scenarios, std::string_view("flaky"), &FairnessScenario::name);
  ASSERT_NE(flaky, scenarios.end());
  const auto story = [&](std::uint64_t seed) {
    LabWorld world(flaky->plan(), seed, true);
    static_cast<void>(world.play());
    return world.trace();
  };
  const auto first = story(7);
  EXPECT_GT(first.size(), 1'000U);
  EXPECT_EQ(first, story(7));
  EXPECT_NE(first, story(8));
}

}  // namespace
}  // namespace skein::sim
