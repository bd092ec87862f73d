// The judge of the fairness laboratory: what agents and clients saw of a scenario, and the figures that follow from it.
// It knows nothing of the dispatcher's books. Agents say when a run begins and ends, the ledger's changes say when a
// task may run and when it is over.
//
// A task waits from the moment it may run until a run of it begins. It waits beside an idle agent while an agent is
// up, at rest, able to do it (type, swarm, room in the executor it shares) and counted by the plan.
//
// Values; one thread. Events must be added in the order of their times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/fairness_plan.hpp"
#include "skein/base/time.hpp"

namespace skein::sim {

enum class LabStep : std::uint8_t {
  queued,     // may run from `due` on; also again, after an attempt
  began,      // a run, at an agent
  completed,  // a run has ended so
  lied,       // completed, with a result that is none
  failed,     // a run has ended so
  gave_back,  // a run was given up because the agent was asked to
  over,       // the task, as `state` says
  agent_up,
  agent_down,  // with whatever it ran
};

struct LabEvent {
  Instant at{};
  LabStep step = LabStep::queued;
  std::uint32_t task = 0;   // of the tasks the judge was told of, from 0
  std::uint32_t agent = 0;  // of the plan's
  Instant due{};
  std::string swarm{};  // of a queued task: it may be handed on
  ledger::State state = ledger::State::queued;
};

struct LabTask {
  std::string swarm;
  std::string type;
  std::uint16_t priority = ledger::k_normal;
  Duration length{};
};

struct LabRun {
  std::uint32_t task = 0;
  std::uint32_t agent = 0;
  Instant from{};
  Instant to{};
  LabStep end = LabStep::gave_back;
};

// What became of a task.
struct TaskStory {
  Instant due{};                   // first
  Instant began = Instant::max();  // first
  Instant over = Instant::max();
  ledger::State state = ledger::State::queued;
  std::uint32_t runs = 0;
  std::uint32_t last_agent = 0;
  Duration beside_idle{};  // the longest stretch
};

class LabFigures {
 public:
  using TaskFilter = std::function<bool(const LabTask&)>;

  std::vector<LabTask> tasks;
  std::vector<TaskStory> stories;  // of the tasks
  std::vector<LabRun> runs;
  double lost_agent_seconds = 0;  // agents at rest while tasks waited that they could do, by kind of task
  Instant first{};
  Instant last{};

  [[nodiscard]] std::size_t count(ledger::State state, const TaskFilter& filter = {}) const;
  // Tasks that are not over, or did not complete.
  [[nodiscard]] std::size_t not_completed(const TaskFilter& filter = {}) const;
  // The longest stretch a task waited beside an idle agent, in seconds, and whose it was.
  [[nodiscard]] double beside_idle(const TaskFilter& filter = {}) const;
  [[nodiscard]] std::uint32_t worst_task() const;
  // Tasks that did so for longer.
  [[nodiscard]] std::size_t beside_idle_longer(Duration than) const;
  // From when a task may run first until it first does, in seconds: the longest, and the median.
  [[nodiscard]] double longest_wait(const TaskFilter& filter = {}) const;
  [[nodiscard]] double median_wait(const TaskFilter& filter = {}) const;
  // Tasks that ended as failed and were last tried by that agent.
  [[nodiscard]] std::size_t failed_by(std::uint32_t agent) const;
  [[nodiscard]] std::size_t runs_at(std::uint32_t agent, LabStep end) const;
  // Seconds of runs within a time, by the swarm the task was submitted to.
  [[nodiscard]] std::map<std::string, double> run_seconds(Duration from, Duration until) const;
  // Seconds of runs of one agent within a time.
  [[nodiscard]] double busy_seconds(std::uint32_t agent, Duration from, Duration until) const;
};

// The greatest deviation of a swarm's part of the run time from its part of the weights, as a share of the latter.
[[nodiscard]] double share_deviation(const std::map<std::string, double>& run_seconds,
                                     const std::map<std::string, double>& weights);

// Sums up what was seen.
[[nodiscard]] LabFigures judge_fairness(const LabPlan& plan, std::vector<LabTask> tasks,
                                        const std::vector<LabEvent>& events);

}  // namespace skein::sim
