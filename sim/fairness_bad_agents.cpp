// Scenarios of the fairness laboratory: agents that fail, crash, lie or recover, beside good ones.
#include "sim/fairness_scenarios.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t k_bad_one = 0;  // the plan's first agent, where there is one bad agent

AgentPlan& bad_one(LabPlan& plan, Misdeed misdeed, Duration after) {
  AgentPlan& agent = plan.agent("bad");
  agent.conduct.misdeed = misdeed;
  agent.conduct.bad_share = 1;
  agent.conduct.bad_after = after;
  agent.is_counted = false;
  return agent;
}

void three_good(LabPlan& plan) {
  for (const char* id : {"good1", "good2", "good3"}) plan.agent(id);
}

LabPlan half_open_with_long_tasks() {
  LabPlan plan;
  for (const char* id : {"a1", "a2", "a3", "a4"}) {
    Conduct& conduct = plan.agent(id).conduct;
    conduct.misdeed = Misdeed::crashes;
    conduct.bad_share = 1;
    conduct.bad_after = 100ms;
    conduct.bad_until = 8s;
  }
  plan.load(12, {{10min}});
  return plan;
}

LabFindings judge_half_open(const LabFigures& figures) {
  LabFindings findings;
  // A minute for which the breaker is open, and a minute until all agents are at work again.
  findings.at_most("longest wait beside an idle agent, s", figures.beside_idle(), 120)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0)
      .shown("idle while work waited, agent s", figures.lost_agent_seconds);
  return findings;
}

LabPlan one_types_crashes() {
  LabPlan plan;
  for (const char* id : {"a1", "a2", "a3", "a4"}) {
    Conduct& conduct = plan.agent(id, {"bad", "good"}).conduct;
    conduct.misdeed = Misdeed::crashes;
    conduct.bad_share = 1;
    conduct.bad_after = 200ms;
    conduct.bad_type = "bad";
  }
  auto& bad = plan.load(20, {{1s}});
  bad.type = "bad";
  bad.every = 500ms;
  auto& good = plan.load(60, {{2s}});
  good.type = "good";
  good.every = 3s;
  return plan;
}

LabFindings judge_one_types_crashes(const LabFigures& figures) {
  const auto is_good = [](const LabTask& task) { return task.type == "good"; };
  LabFindings findings;
  findings.at_most("other type beside an idle agent, s", figures.beside_idle(is_good), 5)
      .at_most("other type not completed", static_cast<double>(figures.not_completed(is_good)), 0)
      .shown("crashes", static_cast<double>(figures.runs.size()) - 60);
  return findings;
}

LabPlan crash_loop() {
  LabPlan plan;
  bad_one(plan, Misdeed::crashes, 50ms);
  three_good(plan);
  plan.load(80, {{2min}}).every = 45s;
  return plan;
}

LabFindings judge_crash_loop(const LabFigures& figures) {
  LabFindings findings;
  findings.at_most("longest wait beside an idle agent, s", figures.beside_idle(), k_beside_idle_s)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0)
      .shown("runs that crashed", static_cast<double>(figures.runs_at(k_bad_one, LabStep::failed)));
  return findings;
}

LabPlan black_hole_with(Duration length, std::size_t count) {
  LabPlan plan;
  Conduct& conduct = bad_one(plan, Misdeed::fails, 5ms).conduct;
  conduct.error = ledger::ErrorClass::permanent;
  conduct.message = "its answer is no JSON";
  three_good(plan);
  plan.load(count, {{length}});
  return plan;
}

LabPlan black_hole() { return black_hole_with(1200ms, 40); }
LabPlan black_hole_long() { return black_hole_with(2min, 40); }
LabPlan black_hole_for_long() {
  LabPlan plan = black_hole_with(1200ms, 3'600);
  plan.loads.front().every = 500ms;
  return plan;
}

template <int Limit>
LabFindings judge_black_hole(const LabFigures& figures) {
  LabFindings findings;
  findings.at_most("tasks failed through one bad agent", static_cast<double>(figures.failed_by(k_bad_one)), Limit)
      .at_most("longest wait beside an idle agent, s", figures.beside_idle(), k_beside_idle_s)
      .shown("of", static_cast<double>(figures.tasks.size()));
  return findings;
}

LabPlan liar() {
  LabPlan plan;
  bad_one(plan, Misdeed::lies, 5ms);
  three_good(plan);
  plan.load(400, {{1200ms}}).every = 500ms;
  return plan;
}

// Nobody but the client can know that a result is garbage: the figure is shown, and nothing is claimed.
LabFindings judge_liar(const LabFigures& figures) {
  LabFindings findings;
  findings.shown("garbage that passed as a result", static_cast<double>(figures.runs_at(k_bad_one, LabStep::lied)))
      .shown("of", static_cast<double>(figures.tasks.size()))
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

LabPlan breaker_of_an_agent_with_long_tasks() {
  LabPlan plan;
  Conduct& conduct = plan.agent("ada").conduct;
  conduct.bad_share = 1;
  conduct.bad_after = 100ms;
  conduct.bad_until = 8s;
  plan.load(40, {{12s}}).attempts = 10;
  return plan;
}

LabFindings judge_breaker_of_an_agent(const LabFigures& figures) {
  LabFindings findings;
  findings.at_least("at work from a minute on, share", figures.busy_seconds(0, 60s, 360s) / 300, 0.95)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

LabPlan flaky() {
  LabPlan plan;
  for (const char* id : {"a1", "a2", "a3", "a4"}) {
    Conduct& conduct = plan.agent(id).conduct;
    conduct.bad_share = 0.2;
    conduct.bad_after = 10s;
  }
  plan.load(300, {{30s}}).attempts = 6;
  return plan;
}

LabFindings judge_flaky(const LabFigures& figures) {
  LabFindings findings;
  double busy = 0;
  for (std::uint32_t agent = 0; agent < 4; ++agent) busy += figures.busy_seconds(agent, 0s, 30min);
  // Five failures in a row, of which each is one in five, hold an agent back for half a minute.
  findings.at_least("at work in the first half hour, share", busy / (4 * 1800), 0.95)
      .at_most("longest wait beside an idle agent, s", figures.beside_idle(), 35)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 1);
  return findings;
}

LabPlan mostly_failing() {
  LabPlan plan;
  bad_one(plan, Misdeed::fails, 50ms).conduct.bad_share = 0.7;
  three_good(plan);
  plan.load(600, {{2s}}).every = 800ms;
  return plan;
}

LabFindings judge_mostly_failing(const LabFigures& figures) {
  LabFindings findings;
  findings.at_most("longest wait beside an idle agent, s", figures.beside_idle(), k_beside_idle_s)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0)
      .shown("attempts wasted", static_cast<double>(figures.runs_at(k_bad_one, LabStep::failed)));
  return findings;
}

}  // namespace

std::vector<FairnessScenario> bad_agent_scenarios() {
  return {
      {"half_open_with_long_tasks", "all crash, then all are well; tasks of 10 min", half_open_with_long_tasks,
       judge_half_open},
      {"one_types_crashes", "tasks of one type crash every agent, those of another are well", one_types_crashes,
       judge_one_types_crashes},
      {"crash_loop", "one agent crashes with each task, three are good; tasks of 2 min", crash_loop, judge_crash_loop},
      {"black_hole", "one agent fails all at once and for good; 40 tasks of 1.2 s", black_hole, judge_black_hole<6>},
      {"black_hole_long", "the same before anybody has completed anything; tasks of 2 min", black_hole_long,
       judge_black_hole<8>},
      {"black_hole_for_long", "the same for half an hour", black_hole_for_long, judge_black_hole<20>},
      {"liar", "one agent says at once that all is done; cannot be detected", liar, judge_liar},
      {"breaker_of_an_agent_with_long_tasks", "fails at first, then does well; tasks of 12 s",
       breaker_of_an_agent_with_long_tasks, judge_breaker_of_an_agent},
      {"flaky", "all agents fail a fifth of their runs after 10 s; tasks of 30 s", flaky, judge_flaky},
      {"mostly_failing", "one agent fails 70% at once, three are good", mostly_failing, judge_mostly_failing},
  };
}

}  // namespace skein::sim
