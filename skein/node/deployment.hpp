// What of the config lives under agents_sup: the [[agents]] and the trees of [[supervisors]], each with all that it was
// made from. A reload compares what is wanted with what is there. The plan is pure; Deployment may be used from any
// thread.
//
// 1. Whoever starts a unit notes it, also a supervisor that is restarted and starts all of them anew.
// 2. A unit that differs from what is wanted, or is wanted no more, is ended once its agents are idle: what runs is not
//    killed. Until then it counts as there.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "skein/node/config.hpp"

namespace skein::inline v0::node {

struct Unit {
  bool is_supervisor = false;
  std::string mark{};                 // all that it was made from; two with the same are the same
  std::vector<std::string> agents{};  // their names
};
using Units = std::map<std::string, Unit>;  // by name: "agent/ada", "supervisor/team"

// The name of the child under its supervisor: without what kind it is.
[[nodiscard]] std::string child_id_of(const std::string& unit);
[[nodiscard]] std::string agent_unit(const std::string& id);

// `mark_of` is that of an executor, see Executors.
using ExecutorMark = std::function<std::uint64_t(const std::string& executor)>;
[[nodiscard]] Units wanted_units(const Config& config, const ExecutorMark& mark_of);

struct DeploymentPlan {
  std::vector<std::string> start;
  std::vector<std::string> replace;
  std::vector<std::string> end;
  std::vector<std::string> keep;
};
[[nodiscard]] DeploymentPlan plan_deployment(const Units& there, const Units& wanted);

class Deployment {
 public:
  [[nodiscard]] Units units() const;
  void note(const std::string& name, Unit unit);
  void forget(const std::string& name);
  // All of one kind at once: their supervisor starts anew.
  void note_all(const Units& wanted, bool are_supervisors);

 private:
  mutable std::mutex mutex_;
  Units units_;
};

}  // namespace skein::inline v0::node
