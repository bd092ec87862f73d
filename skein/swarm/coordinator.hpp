// A swarm's coordinator: the process that keeps as many agents as the swarm's definition asks for. It decides nothing
// about tasks: the dispatcher routes them, the ledger holds them. What it does is in swarm_core.hpp.
//
// It keeps nothing that matters. Every `look_every` it asks the dispatcher how the swarm stands, and a new one finds
// the agents of the one before through the registry: agents outlive it, and so does what they run. Its own are marked
// as kept when they are started, whatever they are called; others that belong to the swarm are let be. Agents live in
// the node's agent pool (a supervisor, found by name; its template is pool_child<Agent, AgentMaker>).
//
// Start it as a transient child: it ends normally when the swarm is gone, or when it was stopped, or lost its executor,
// and its agents are gone.
// Its registered name is coordinator_name(swarm).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/agent/agent.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/registry/registry_table.hpp"
#include "skein/runtime/runtime.hpp"
#include "skein/swarm/definition.hpp"
#include "skein/swarm/swarm_core.hpp"

namespace skein::inline v0::swarm {

inline constexpr std::string_view k_agent_pool_name = "agent_pool";
inline constexpr std::size_t k_problems_told = 16;  // of one swarm
// Trouble that nobody has spoken of for so long is over; agents that try again do so at least every 30 s.
inline constexpr Duration k_trouble_kept = std::chrono::minutes(2);

// The seed from which an agent of a swarm is made.
struct AgentSeed {
  std::string name;
  std::string swarm;
  std::string executor;
  dispatch::Role role = dispatch::Role::worker;
  std::vector<std::string> capabilities;  // as configured
  std::uint32_t prefetch = 1;
};

struct CoordinatorSetup {
  std::shared_ptr<RegistryTable> registry;
  // Makes the executor by its name and what belongs to it; called in the pool's process. What it throws, for an
  // executor that is not there, is why the agent could not be started.
  std::function<std::unique_ptr<agent::AgentSetup>(const AgentSeed&)> make_agent;
  // A number that differs when the executor's settings do, so that its agents are replaced; 0: there is no such
  // executor, and no agent can be started. May be empty.
  std::function<std::uint64_t(const std::string& executor, const std::string& swarm)> executor_mark{};
  // Names that its agents must not have, since somebody else will be called so; may be empty.
  std::function<bool(const std::string& name)> is_reserved{};
  // Told what is wrong with the swarm at the first look and whenever that changes, together with what was before; in
  // the coordinator's process, may be empty.
  using Problems = std::vector<std::string>;
  std::function<void(const std::string& swarm, const Problems& now, const Problems& before)> on_problems{};
  std::string agent_pool = std::string(k_agent_pool_name);
  std::string dispatcher = std::string(dispatch::k_dispatcher_name);
  Duration look_every = std::chrono::milliseconds(100);
  Duration look_idle = std::chrono::milliseconds(500);  // when nothing happens
  Duration answer_limit = std::chrono::seconds(5);      // of the dispatcher and the pool
};

using agent::coordinator_name;

// What a swarm is, for people: active, paused, breaker_open, draining, stopped, removed.
[[nodiscard]] std::string_view status_of(const ledger::Swarm& swarm);

// Looks at once; answered when the resulting work has begun. For changes of an executor.
struct LookNow {
  using Answer = bool;
};

struct GetSwarmState {};
struct SwarmStatus {
  std::string name;
  std::string status;  // status_of(), or `starting` before the first look
  std::uint64_t ready = 0;
  std::uint64_t tasks = 0;
  std::uint64_t running = 0;
  std::uint32_t crashes = 0;  // in a row, that the breaker counts
  std::size_t agents = 0;
  std::uint64_t agents_started = 0;  // by this coordinator
  std::uint64_t agents_crashed = 0;  // seen by it
  std::optional<Definition> definition;
  std::vector<std::string> problems;  // of the definition, why agents cannot be started, what none of them can do
};

class Coordinator {
 public:
  // Throws std::runtime_error when the swarm has a coordinator already.
  Coordinator(Self self, std::shared_ptr<const CoordinatorSetup> setup, std::string swarm);

  struct Look {
    std::uint64_t number = 0;
  };
  Async<void> handle_continue(Self self, Look step);
  Async<void> handle_info(Self self, Message message);
  Async<bool> handle_call(Self self, LookNow request);
  SwarmStatus handle_call(Self self, GetSwarmState request);
  [[nodiscard]] std::string describe() const;

 private:
  Async<void> look(Self self);
  Async<void> follow(Self self);
  void find_agents(Self self);
  void part_from_others();
  [[nodiscard]] std::uint64_t mark_for(const Definition& definition) const;
  // The names of those that a coordinator of this swarm has started.
  [[nodiscard]] std::vector<std::string> kept_agents() const;
  [[nodiscard]] bool is_made_for_this(const std::string& name) const;
  void take_definition(const ledger::Swarm& swarm);
  void watch(Self self, Pid agent);
  void take(Self self, const dispatch::SwarmLoad& load);
  void look_after(Self self, Duration wait);
  void note_death(const ExitReason& reason);
  void note_trouble(agent::AgentTrouble trouble, Instant now);
  void forget_troubles(bool is_whole, Instant now);
  void gather_problems();
  void tell_problems();
  // Stopped, or without an executor, when it was last asked about, and its agents are gone.
  [[nodiscard]] bool is_over() const;
  void end(Self self);
  [[nodiscard]] std::string next_name();
  [[nodiscard]] AgentSeed next_seed();

  std::shared_ptr<const CoordinatorSetup> setup_;
  std::string swarm_;
  SwarmCore core_;
  std::optional<Definition> definition_;
  std::uint64_t mark_ = 0;  // what its agents are made for: the definition and the executor's settings
  bool has_executor_ = true;
  std::optional<dispatch::SwarmLoad> load_;
  boost::unordered_flat_map<std::uint64_t, Pid> watched_;  // by the id of the monitor
  std::vector<std::string> faults_;                        // of the definition
  std::optional<std::string> failing_;                     // why agents could not be started, or died at once
  // Programs that cannot be started, by executor: the agent that said so first.
  struct Trouble {
    agent::AgentTrouble said;
    Instant at;  // when an agent last said so
  };
  std::map<std::string, Trouble> troubles_;
  std::vector<std::string> problems_;  // all there are
  std::optional<std::vector<std::string>> told_;
  std::uint64_t last_number_ = 0;  // of an agent's name
  std::uint64_t looks_ = 0;
  bool is_begun_ = false;
};

}  // namespace skein::inline v0::swarm
