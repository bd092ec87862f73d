// The parts of the config that run under agents_sup: the [[agents]] and the trees of [[supervisors]], each a unit, with
// the settings that it was started from. A reload compares the units that run with those of the new config. The plan is
// pure; Deployment may be used from any thread.
//
// 1. Every unit that is started is noted here, also when a restarted supervisor starts all of its units again.
// 2. A unit that the new config changes or no longer has is ended once its agents are idle: running tasks are not
//    killed. Until then the unit counts as running.
// 3. An agent of [[agents]] that was stopped by a client stays stopped, also when its supervisor is restarted, until a
//    client starts it, a reload brings it back, or the node is restarted.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
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
  // All of one kind at once: their supervisor is started again.
  void note_all(const Units& wanted, bool are_supervisors);

  // Of an agent of [[agents]], by its id.
  void set_stopped(const std::string& agent, bool is_stopped);
  [[nodiscard]] bool is_stopped(const std::string& agent) const;

 private:
  mutable std::mutex mutex_;
  Units units_;
  std::set<std::string> stopped_;  // as many as the config names at most
};

}  // namespace skein::inline v0::node
