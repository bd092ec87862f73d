// The executors of the config, by name: makes them, and the agents that use them. Any thread; what it makes belongs to
// the agent it is made for.
//
// A reload puts other settings in: first ready() finds out whether they can be had, then take() puts them in force.
// Existing agents keep the old settings until their starter replaces them; mark_of() tells that it is time.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/agent/agent.hpp"
#include "skein/agent/function_executor.hpp"
#include "skein/launcher/os_processes.hpp"
#include "skein/node/config.hpp"
#include "skein/node/executor_identity.hpp"
#include "skein/node/executor_kinds.hpp"
#include "skein/node/shared_slot.hpp"
#include "skein/supervision/child_spec.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::inline v0::node {

class Executors {
 public:
  // `functions` come besides the built-in ones and win over them.
  // Without `os` only functions can be run. Throws std::invalid_argument when an executor's user is not to be had, or
  // its isolation.
  Executors(const Config& config, Functions functions, std::shared_ptr<RegistryTable> registry,
            std::shared_ptr<launcher::OsProcesses> os);

  // The setup of an agent, with a new executor. Throws std::invalid_argument with what is wrong.
  [[nodiscard]] std::unique_ptr<agent::AgentSetup> make(const swarm::AgentSeed& seed) const;
  // How programs of executors with `token` reach the node. Before the first agent is made.
  void set_reach(AgentReach reach) { reach_ = std::move(reach); }
  // Agents are paused from their start from now on: the node drains.
  void pause_new() { are_new_paused_ = true; }
  // Settings that were found good, and are not in force yet.
  struct Table;
  // Throws std::invalid_argument as the constructor does.
  [[nodiscard]] std::shared_ptr<const Table> ready(const Config& config) const;
  void take(std::shared_ptr<const Table> table) { table_.set(std::move(table)); }

  [[nodiscard]] bool has(const std::string& executor) const;
  [[nodiscard]] std::vector<std::string> names() const;
  // The functions that it was given, besides the built-in ones.
  [[nodiscard]] std::vector<std::string> own_functions() const;
  // A number that differs whenever the executor's settings do; 0: there is none of that name. For a swarm that has left
  // the config together with its executor it stays as it was: make() still knows what its agents are made from.
  [[nodiscard]] std::uint64_t mark_of(const std::string& executor, const std::string& swarm = {}) const;
  // Why no OS process can be started, and what to do; empty: all is well, or none is ever started.
  [[nodiscard]] std::string launcher_problem() const { return os_ ? os_->problem() : std::string(); }
  // The process that watches the owners of OS processes; nothing where there are none.
  [[nodiscard]] std::optional<ChildSpec> owner_watch() const {
    return os_ ? std::optional(os_->owner_watch()) : std::nullopt;
  }
  // What agents can reach of the node, in plain words, an executor each; none: nothing that its owner would miss.
  [[nodiscard]] std::vector<std::string> exposed() const;
  // Limits of the config that cannot be enforced here, in plain words, with what to do.
  [[nodiscard]] std::vector<std::string> unenforced() const;
  // The executors with a limit on attempts at once, and that limit; for the dispatcher.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> shared() const;

 private:
  [[nodiscard]] std::unique_ptr<agent::Executor> make_executor(const ExecutorConfig& config,
                                                               const ExecutorIdentity* identity) const;

  std::shared_ptr<launcher::OsProcesses> os_;
  std::shared_ptr<const Functions> functions_;
  std::shared_ptr<RegistryTable> registry_;
  SharedSlot<const Table> table_;
  AgentReach reach_;
  std::atomic<bool> are_new_paused_ = false;
};

struct Executors::Table {
  // An executor that has left the config, for the swarm that left with it and has open tasks.
  struct Leaving {
    std::string executor;
    ExecutorConfig config;
    std::optional<ExecutorIdentity> identity;
    std::uint64_t mark = 0;
  };
  std::map<std::string, Leaving> leaving;     // by swarm
  std::map<std::string, std::string> swarms;  // of the config, and their executors
  std::map<std::string, ExecutorConfig> configs;
  std::map<std::string, ExecutorIdentity> identities;  // of those with programs
  std::map<std::string, std::uint64_t> marks;
  std::uint64_t last_mark = 0;
  std::vector<std::string> exposed;
  std::shared_ptr<const agent::AgentOptions> options;
};

// With what the OS processes of a node with this config are to be started.
[[nodiscard]] launcher::OsProcessesOptions os_processes_options(const Config& config);

[[nodiscard]] swarm::AgentSeed seed_of(const AgentConfig& agent);
[[nodiscard]] dispatch::Role role_named(std::string_view name);

// Starts one agent linked to the supervisor that runs this.
[[nodiscard]] ChildStarting start_agent(Self self, const Executors& executors, const swarm::AgentSeed& seed);
// agent_pool's template: temporary, 2 s; its children are made by an agent::AgentMaker.
[[nodiscard]] ChildSpec agent_template();
// An agent with a name: permanent, isolated, with backoff.
[[nodiscard]] ChildSpec named_agent(std::shared_ptr<const Executors> executors, const AgentConfig& agent);

}  // namespace skein::inline v0::node
