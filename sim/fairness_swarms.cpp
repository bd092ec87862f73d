// Scenarios of the fairness laboratory: several swarms that share an executor, agents, or the work itself.
#include <algorithm>

#include <fmt/format.h>

#include "sim/fairness_scenarios.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;

constexpr const char* k_shared_model = "model";

bool is_of_b(const LabTask& task) { return task.swarm == "b"; }

void own_agents(LabPlan& plan, const std::string& swarm, int count) {
  for (int i = 1; i <= count; ++i) {
    AgentPlan& agent = plan.agent(fmt::format("{}{}", swarm, i));
    agent.swarm = swarm;
    agent.executor = k_shared_model;
  }
}

Load& load_of(LabPlan& plan, std::string swarm, std::size_t count, Duration length, Duration starts) {
  Load& load = plan.load(count, {{length}});
  load.swarm = std::move(swarm);
  load.starts = starts;
  return load;
}

// Three swarms with agents of their own, whose executor has room for four calls.
LabPlan shared_executor() {
  LabPlan plan;
  plan.options.executors = {{k_shared_model, 4}};
  Duration starts{};
  for (const std::string name : {"a", "b", "c"}) {
    plan.swarms.push_back({name, {{"executor", k_shared_model}}});
    own_agents(plan, name, 4);
    load_of(plan, name, 200, 30s, starts);
    starts += 1min;
  }
  return plan;
}

// From when until when all of them have a backlog.
LabFindings judge_equal_shares(const LabFigures& figures) {
  const auto seconds = figures.run_seconds(3min, 55min);
  LabFindings findings;
  findings
      .at_most("deviation of a swarm's share", share_deviation(seconds, {{"a", 1}, {"b", 1}, {"c", 1}}),
               k_share_deviation)
      .at_most("longest wait beside an idle agent, s", figures.beside_idle(), k_beside_idle_s)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

LabPlan shared_executor_weights() {
  LabPlan plan;
  plan.options.executors = {{k_shared_model, 4}};
  plan.swarms.push_back({"a", {{"executor", k_shared_model}, {"weight", "3"}}});
  plan.swarms.push_back({"b", {{"executor", k_shared_model}, {"weight", "1"}}});
  own_agents(plan, "a", 4);
  own_agents(plan, "b", 4);
  load_of(plan, "b", 400, 30s, 0s);
  load_of(plan, "a", 400, 30s, 30s);
  return plan;
}

LabFindings judge_weights(const LabFigures& figures) {
  const auto seconds = figures.run_seconds(2min, 55min);
  LabFindings findings;
  findings.at_most("deviation of a swarm's share", share_deviation(seconds, {{"a", 3}, {"b", 1}}), k_share_deviation)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

LabPlan late_swarm() {
  LabPlan plan;
  plan.options.executors = {{k_shared_model, 2}};
  for (const std::string name : {"a", "b"}) {
    plan.swarms.push_back({name, {{"executor", k_shared_model}}});
    own_agents(plan, name, 3);
  }
  load_of(plan, "a", 30, 1min, 0s);
  load_of(plan, "b", 1, 100ms, 5s);
  return plan;
}

LabFindings judge_late_swarm(const LabFigures& figures) {
  LabFindings findings;
  findings.at_most("the late swarm's task waited, s", figures.longest_wait(is_of_b), 62.5)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

// The same shares where swarms have no agents of their own.
LabPlan several_swarms() {
  LabPlan plan;
  for (const char* id : {"a1", "a2", "a3", "a4"}) plan.agent(id);
  Duration starts{};
  for (const std::string name : {"a", "b", "c"}) {
    plan.swarms.push_back({name, {}});
    load_of(plan, name, 200, 30s, starts);
    starts += 1min;
  }
  return plan;
}

LabPlan fallback() {
  LabPlan plan;
  plan.swarms.push_back({"b", {{"executor", "good"}}});
  plan.swarms.push_back({"a", {{"executor", "bad"}, {"fallback", "b"}}});
  for (const char* id : {"a1", "a2"}) {
    AgentPlan& agent = plan.agent(id);
    agent.swarm = "a";
    agent.conduct.bad_share = 1;
    agent.conduct.bad_after = 50ms;
    agent.is_counted = false;
  }
  for (const char* id : {"b1", "b2", "b3"}) plan.agent(id).swarm = "b";
  load_of(plan, "a", 60, 30s, 0s).every = 30s;
  load_of(plan, "b", 60, 30s, 5s).every = 30s;
  return plan;
}

LabFindings judge_fallback(const LabFigures& figures) {
  LabFindings findings;
  findings.at_most("longest wait beside an idle agent, s", figures.beside_idle(), k_beside_idle_s)
      .at_most("the taking swarm's own tasks waited, s", figures.longest_wait(is_of_b), 60)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0)
      .shown("runs wasted in the failing swarm", static_cast<double>(figures.runs.size()) - 120);
  return findings;
}

}  // namespace

std::vector<FairnessScenario> swarm_scenarios() {
  return {
      {"shared_executor", "three swarms, one executor with four places, one swarm after the other", shared_executor,
       judge_equal_shares},
      {"shared_executor_weights", "two swarms with weights 3 and 1", shared_executor_weights, judge_weights},
      {"late_swarm", "30 tasks of a minute of one swarm, then a short one of another", late_swarm, judge_late_swarm},
      {"several_swarms", "three swarms, agents that belong to nobody", several_swarms, judge_equal_shares},
      {"fallback", "the agents of one swarm fail everything, another takes over beside its own work", fallback,
       judge_fallback},
  };
}

}  // namespace skein::sim
