// The scenarios of the fairness laboratory, each with the bounds it must keep. They run with the defaults of the
// dispatcher, but for what a scenario is about: defaults must serve milliseconds and hours alike.
#pragma once

#include <string>
#include <vector>

#include "sim/fairness_judge.hpp"
#include "sim/fairness_plan.hpp"

namespace skein::sim {

// Longer than it takes to ask back what waits behind a run (a second) and to notice that (a tick of a second).
inline constexpr double k_beside_idle_s = 2.5;
inline constexpr double k_share_deviation = 0.10;

// One figure of a scenario, and what it must be.
struct LabFinding {
  enum class Bound : std::uint8_t { at_most, at_least, none };
  std::string what;  // with its unit
  double value = 0;
  Bound bound = Bound::none;
  double limit = 0;

  [[nodiscard]] bool holds() const {
    return bound == Bound::none || (bound == Bound::at_most ? value <= limit : value >= limit);
  }
};

class LabFindings {
 public:
  LabFindings& at_most(std::string what, double value, double limit) {
    return add({std::move(what), value, LabFinding::Bound::at_most, limit});
  }
  LabFindings& at_least(std::string what, double value, double limit) {
    return add({std::move(what), value, LabFinding::Bound::at_least, limit});
  }
  LabFindings& shown(std::string what, double value) {
    return add({std::move(what), value, LabFinding::Bound::none, 0});
  }
  [[nodiscard]] const std::vector<LabFinding>& all() const { return all_; }
  [[nodiscard]] bool hold() const;

 private:
  LabFindings& add(LabFinding finding) {
    all_.push_back(std::move(finding));
    return *this;
  }
  std::vector<LabFinding> all_;
};

struct FairnessScenario {
  const char* name;
  const char* about;
  LabPlan (*plan)();
  LabFindings (*judge)(const LabFigures& figures);
};

// In the order in which they run.
[[nodiscard]] std::vector<FairnessScenario> fairness_scenarios();
// Its parts: long and short tasks beside each other; agents that are no good; swarms that share.
[[nodiscard]] std::vector<FairnessScenario> length_scenarios();
[[nodiscard]] std::vector<FairnessScenario> bad_agent_scenarios();
[[nodiscard]] std::vector<FairnessScenario> swarm_scenarios();

}  // namespace skein::sim
