// A coordinator's decisions, without a clock, process or ledger: how many agents its swarm should have, which of them
// to end, when to start one in the place of one that is gone. A value; one thread at a time.
//
// Invariants after each plan():
// 1. The agents there and those being started are at least agents_min, unless the swarm is stopped, drained empty, or
//    starts are being held back, and never more than agents_max are started.
// 2. There are more agents than the minimum only if there was work for them within `idle_after`. Work is the tasks that
//    run, those that wait behind them at an agent, and those in the queue that these agents can do. Until the first
//    agent has announced its capabilities, there are no more agents than the minimum, or one.
//    A paused agent without tasks counts for the minimum and the maximum, but does no work: other agents are started
//    for tasks that wait. It is not ended for being idle.
// 3. An agent with a task is ended only when the swarm is stopped. An agent that is to be replaced is told to begin no
//    further task (Plan::retire), and ended once a later load shows that it holds none: its running task is not killed.
// 4. Agents that die young, within k_young or before they have announced themselves (a program that never says hello),
//    are replaced after longer and longer delays (k_hold_back to k_hold_back_max). The delays end when an agent dies
//    that had lived longer, when the swarm has all its agents and they live on, or when the definition changes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/swarm/definition.hpp"

namespace skein::inline v0::swarm {

inline constexpr std::uint32_t k_starts_at_once = 32;  // in one plan
inline constexpr Duration k_young = std::chrono::seconds(1);
inline constexpr Duration k_hold_back = std::chrono::milliseconds(100);
inline constexpr Duration k_hold_back_max = std::chrono::seconds(30);
inline constexpr std::uint32_t k_young_deaths = 3;  // in a row, that are replaced at once

// The actions that a coordinator is to take.
struct Plan {
  std::uint32_t start = 0;           // so many agents
  std::vector<Pid> end;              // ask these to go
  std::vector<Pid> retire;           // these are replaced: let them begin nothing more
  Instant look_at = Instant::max();  // a start is held back until then
  bool is_whole = false;             // all that should be there are, announced, and have lived for a while
};

class SwarmCore {
 public:
  void on_definition(const Definition& definition);
  // An agent found was made for another definition than the one in force: it is replaced.
  void on_other_definition(Pid agent);
  // Their executor has changed, all are replaced; or it is gone, and nobody takes their places.
  void replace_all();
  void let_all_go();
  void on_load(const dispatch::SwarmLoad& load, Instant now);
  // Being started: it counts, though the dispatcher does not know it yet.
  void on_started(Pid agent, Instant now);
  void on_start_failed(Instant now);
  // False: it was none of this swarm's.
  bool on_down(Pid agent, bool is_graceful, Instant now);

  [[nodiscard]] Plan plan(Instant now);
  // Capabilities that tasks need and none of the swarm's agents has.
  [[nodiscard]] const std::vector<std::vector<std::string>>& unmet() const { return unmet_; }

  [[nodiscard]] std::size_t agents() const { return agents_.size(); }
  [[nodiscard]] std::vector<Pid> pids() const;
  [[nodiscard]] bool has(Pid agent) const { return agents_.contains(agent); }
  // Its agents die young, so that starts are held back.
  [[nodiscard]] bool is_failing() const { return young_deaths_ > k_young_deaths; }
  [[nodiscard]] std::uint64_t refilled() const { return refilled_; }
  [[nodiscard]] std::uint64_t crashed() const { return crashed_; }

 private:
  struct Agent {
    Instant since;
    std::uint32_t runs = 0;
    std::optional<Instant> idle_since;
    bool is_announced = false;
    bool is_paused = false;
    bool is_ending = false;
    bool is_old = false;                        // made for an earlier definition
    std::optional<std::uint64_t> retired_at{};  // how many loads had come when it was told to begin nothing more
  };
  // The first agents of `idle`, as many as there are too many.
  struct Idle {
    bool is_paused = false;
    Instant since;
    Pid pid;
    auto operator<=>(const Idle&) const = default;
  };
  void end_surplus(std::vector<Idle> idle, std::uint32_t there, std::uint32_t goal, Instant now, Plan& plan);
  // Of one that is replaced. True: it may be ended now.
  [[nodiscard]] bool may_end(Pid pid, Agent& agent, Plan& plan) const;
  [[nodiscard]] std::uint32_t wanted(Instant now) const;
  void learn_abilities(const dispatch::SwarmLoad& load);
  void count_demand(const dispatch::SwarmLoad& load);
  void die_young(Instant now);
  void forget_young_deaths();

  std::optional<Definition> definition_;
  ledger::SwarmState state_ = ledger::SwarmState::active;
  std::uint64_t loads_ = 0;
  bool are_unwanted_ = false;  // the swarm has no executor any more
  std::uint64_t demand_ = 0;   // tasks that more agents could begin at once
  std::uint64_t tasks_ = 0;
  // Sets of capabilities that agents of this definition have, or had when there last were some.
  std::vector<std::shared_ptr<const std::vector<std::string>>> abilities_;
  std::vector<std::vector<std::string>> unmet_;
  std::map<Pid, Agent> agents_;
  std::uint32_t young_deaths_ = 0;
  Instant died_young_at_ = Instant::min();
  Instant held_until_ = Instant::min();
  Duration hold_back_ = k_hold_back;
  std::uint64_t refilled_ = 0;
  std::uint64_t crashed_ = 0;
};

}  // namespace skein::inline v0::swarm
