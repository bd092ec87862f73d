// Scenarios of the fairness laboratory: milliseconds, minutes and hours beside each other, with good agents only.
#include "sim/fairness_scenarios.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;

bool is_critical(const LabTask& task) { return task.priority >= ledger::k_critical; }
bool is_low(const LabTask& task) { return task.priority == ledger::k_low; }
bool is_build(const LabTask& task) { return task.type == "build"; }

LabFindings nobody_beside_idle(const LabFigures& figures) {
  LabFindings findings;
  findings.at_most("longest wait beside an idle agent, s", figures.beside_idle(), k_beside_idle_s)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0)
      .shown("idle while work waited, agent s", figures.lost_agent_seconds);
  return findings;
}

LabPlan slow_is_not_ill() {
  LabPlan plan;
  plan.agent("ada");
  plan.agent("bob").starts = 60s;
  plan.agent("cy").starts = 20min;
  plan.agent("dee").starts = 40min;
  plan.load(12, {{1500ms}}).every = 2s;
  plan.load(1, {{50s}}).starts = 62s;
  auto& quick = plan.load(8, {{100ms}});
  quick.starts = 65s;
  quick.every = 5s;
  auto& all = plan.load(200, {{1s}, {5s}, {30s}, {2min}, {8min}, {20min}});
  all.starts = 2min;
  all.every = 128s;
  all.is_random = true;
  return plan;
}

LabPlan mixed_lengths() {
  LabPlan plan;
  for (const char* id : {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"}) plan.agent(id);
  plan.load(112, {{100ms, 0.8}, {15s, 0.2}}).every = 700ms;
  auto& all = plan.load(300, {{2ms, 0.5}, {2s, 0.3}, {20min, 0.2}});
  all.starts = 3min;
  all.every = 50s;
  all.is_random = true;
  plan.load(2'000, {{2ms}}).starts = 1h;
  return plan;
}

LabPlan prefetch_behind_long() {
  LabPlan plan;
  for (const char* id : {"a1", "a2", "a3"}) plan.agent(id).prefetch = 3;
  plan.load(36, {{1500ms}});
  auto& all = plan.load(120, {{100ms, 0.8}, {20min, 0.2}});
  all.starts = 1min;
  all.every = 150s;
  all.is_random = true;
  plan.load(12, {{100ms, 0.7}, {20min, 0.3}}).starts = 6h;
  return plan;
}

// One agent takes ten times as long as the others and is ill for it, and still the only one that is free at times.
LabPlan ill_and_idle() {
  LabPlan plan;
  plan.agent("quick1");
  plan.agent("quick2");
  plan.agent("slow").conduct.pace = 10;
  auto& all = plan.load(1'500, {{1s, 0.85}, {50s, 0.15}});
  all.every = 5s;
  all.is_random = true;
  return plan;
}

LabPlan critical_in_a_long_queue() {
  LabPlan plan;
  plan.agent("ada");
  plan.agent("builder", {"build"});
  plan.load(45, {{3s}}).priority = ledger::k_low;
  auto& critical = plan.load(1, {{500ms}});
  critical.starts = 100s;
  critical.priority = ledger::k_critical;
  auto& builds = plan.load(30, {{5min}});
  builds.type = "build";
  builds.priority = ledger::k_low;
  auto& urgent = plan.load(2, {{1min}});
  urgent.type = "build";
  urgent.priority = ledger::k_critical;
  urgent.starts = 61min;
  urgent.every = 40min;
  return plan;
}

LabFindings judge_critical(const LabFigures& figures) {
  LabFindings findings;
  findings
      .at_most("critical beside tasks of 3 s waited, s",
               figures.longest_wait([](const auto& task) { return is_critical(task) && !is_build(task); }), 3 + 2.5)
      .at_most("critical beside tasks of 5 min waited, s",
               figures.longest_wait([](const auto& task) { return is_critical(task) && is_build(task); }), 300 + 2.5)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

LabPlan low_is_not_starved() {
  LabPlan plan;
  plan.agent("ada");
  auto& low = plan.load(10, {{2s}});
  low.starts = 1s;
  low.every = 5s;
  low.priority = ledger::k_low;
  auto& high = plan.load(600, {{2s}});
  high.every = 1900ms;
  high.priority = ledger::k_high;
  return plan;
}

LabFindings judge_low(const LabFigures& figures) {
  LabFindings findings;
  findings.at_most("low under a stream of high waited, s", figures.longest_wait(is_low), 600)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

LabPlan preemption() {
  LabPlan plan;
  for (const char* id : {"a1", "a2", "a3", "a4"}) plan.agent(id).conduct.yields = true;
  plan.load(12, {{20min}}).priority = ledger::k_low;
  // Of those that run by then some have waited for long.
  for (const Duration at : {Duration(10min), Duration(30min), Duration(50min)}) {
    auto& critical = plan.load(2, {{30s}});
    critical.priority = ledger::k_critical;
    critical.starts = at;
  }
  return plan;
}

LabFindings judge_preemption(const LabFigures& figures) {
  LabFindings findings;
  // A task that was held ahead and began for a millisecond, when the run before it made way, has lost nothing.
  double given_back = 0;
  for (const LabRun& run : figures.runs) given_back += run.end == LabStep::gave_back && run.to - run.from > 1s ? 1 : 0;
  findings.at_most("critical beside runs that can yield waited, s", figures.longest_wait(is_critical), 2.5)
      .at_most("runs given up for six critical tasks", given_back, 6)
      .at_most("not completed", static_cast<double>(figures.not_completed()), 0);
  return findings;
}

LabPlan learning() {
  LabPlan plan;
  plan.options.strategy = Balance::q_learning;
  plan.agent("quick1");
  plan.agent("quick2");
  plan.agent("slow1").conduct.pace = 4;
  plan.agent("slow2").conduct.pace = 4;
  auto& all = plan.load(400, {{1min}});
  all.every = 125s;
  all.is_random = true;
  plan.horizon = 48h;
  return plan;
}

LabFindings judge_learning(const LabFigures& figures) {
  LabFindings findings = nobody_beside_idle(figures);
  double quick = 0;
  double all = 0;
  for (const LabRun& run : figures.runs) {
    if (run.task < figures.tasks.size() / 2) continue;
    all += 1;
    quick += run.agent < 2 ? 1 : 0;
  }
  findings.at_least("share of the quick agents, second half", all == 0 ? 0 : quick / all, 0.65);
  return findings;
}

}  // namespace

std::vector<FairnessScenario> length_scenarios() {
  return {
      {"slow_is_not_ill", "perfect answers after 1 s to 20 min, agents that join later", slow_is_not_ill,
       nobody_beside_idle},
      {"mixed_lengths", "2 ms, 2 s and 20 min, a fifth of them long, and a burst of short ones", mixed_lengths,
       nobody_beside_idle},
      {"prefetch_behind_long", "short tasks given out behind runs of 20 min, three places ahead", prefetch_behind_long,
       nobody_beside_idle},
      {"ill_and_idle", "1 s and 50 s; one agent takes ten times as long and is ill for it", ill_and_idle,
       nobody_beside_idle},
      {"critical_in_a_long_queue", "a critical task after low ones that have waited for minutes and hours",
       critical_in_a_long_queue, judge_critical},
      {"low_is_not_starved", "low tasks under an endless stream of high ones", low_is_not_starved, judge_low},
      {"preemption", "critical tasks while all agents run 20 min tasks that have waited before", preemption,
       judge_preemption},
      {"learning", "q_learning, tasks of a minute, two agents quick and two slow", learning, judge_learning},
  };
}

}  // namespace skein::sim
