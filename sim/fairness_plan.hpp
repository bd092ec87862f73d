// What a scenario of the fairness laboratory consists of: swarms, agents and their conduct, and the tasks that clients
// submit. Plain values; times count from the start of the scenario.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/ledger/command.hpp"
#include "skein/ledger/task.hpp"

namespace skein::sim {

inline constexpr Duration k_lab_forever = std::chrono::hours(10'000);

// How the runs of an agent end that do not go well.
enum class Misdeed : std::uint8_t {
  fails,    // reports `error`
  crashes,  // takes its agent down
  lies,     // reports success, with a result that is none
};

// How an agent works. A run takes the task's own length times `pace`, unless it is one of the bad ones.
struct Conduct {
  double pace = 1;
  bool yields = false;  // gives a run back when it is asked to make way

  Misdeed misdeed = Misdeed::fails;
  double bad_share = 0;                               // of its runs
  Duration bad_after = std::chrono::milliseconds(1);  // from the begin of such a run to its end
  Duration bad_until = k_lab_forever;                 // from then on it does well
  std::string bad_type;                               // only tasks of this type; empty: of all
  ledger::ErrorClass error = ledger::ErrorClass::transient;
  std::string message = "does not work";
};

struct AgentPlan {
  std::string id;
  std::vector<std::string> types;
  Conduct conduct;
  std::string swarm;           // whose agent it is; empty: of all swarms without agents of their own
  std::string executor;        // one that agents share; empty: none
  std::uint32_t prefetch = 1;  // tasks it may hold besides the one at work
  Duration starts{};
  Duration starts_again = std::chrono::seconds(1);  // after a crash
  bool is_counted = true;  // as one that tasks should not wait beside; false for those that cannot be relied on
};

struct SwarmPlan {
  std::string name;
  ledger::Fields fields;
};

struct Length {
  Duration takes{};
  double share = 1;  // of the tasks, in proportion to the shares of the other lengths
};

// Tasks of one kind, submitted one after the other or all at once.
struct Load {
  std::string swarm = "default";
  std::string type = "work";
  std::size_t count = 1;
  std::vector<Length> lengths;
  Duration starts{};
  Duration every{};        // between two of them; zero: all at once
  bool is_random = false;  // the times between two are exponential with mean `every`
  std::uint16_t priority = ledger::k_normal;
  std::uint32_t attempts = 4;
};

struct LabPlan {
  dispatch::DispatcherOptions options;  // the defaults, but for what a scenario is about
  std::vector<SwarmPlan> swarms;
  std::vector<AgentPlan> agents;
  std::vector<Load> loads;
  Duration horizon = std::chrono::hours(24);  // whatever is not over by then is left over, and fails the scenario

  AgentPlan& agent(std::string id, std::vector<std::string> types = {"work"}) {
    agents.emplace_back();
    agents.back().id = std::move(id);
    agents.back().types = std::move(types);
    return agents.back();
  }
  Load& load(std::size_t count, std::vector<Length> lengths) {
    loads.emplace_back();
    loads.back().count = count;
    loads.back().lengths = std::move(lengths);
    return loads.back();
  }
};

}  // namespace skein::sim
