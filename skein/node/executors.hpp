// The executors of the config, by name: makes them, and the agents that use them. Any thread; what it makes belongs to
// the agent it is made for.
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
#include "skein/supervision/child_spec.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::inline v0::node {

// C++ functions by the type of task they run.
using Functions = std::map<std::string, agent::TaskFunction, std::less<>>;

// How an agent's program reaches the node with the token of its task.
struct AgentReach {
  std::function<std::string(ledger::TaskId task, ledger::Fence fence)> task_token{};
  std::string url{};     // empty: HTTP is off
  std::string socket{};  // for those that see the data folder
};

class Executors {
 public:
  // `functions` come besides the built-in ones and win over them.
  // Without `os` only functions can be run. Throws std::invalid_argument when an executor's user is not to be had, or
  // its isolation.
  Executors(const Config& config, Functions functions, std::shared_ptr<RegistryTable> registry,
            std::shared_ptr<launcher::OsProcesses> os);

  // What an agent is started with, with a new executor. Throws std::invalid_argument with what is wrong.
  [[nodiscard]] std::unique_ptr<agent::AgentSetup> make(const swarm::AgentSeed& seed) const;
  // How programs of executors with `token` reach the node. Before the first agent is made.
  void set_reach(AgentReach reach) { reach_ = std::move(reach); }
  // Agents are paused from their start from now on: the node drains.
  void pause_new() { are_new_paused_ = true; }
  [[nodiscard]] bool has(const std::string& executor) const { return configs_.contains(executor); }
  // Why no OS process can be started, and what to do; empty: all is well, or none is ever started.
  [[nodiscard]] std::string launcher_problem() const { return os_ ? os_->problem() : std::string(); }
  // What watches over the owners of OS processes; nothing where there are none.
  [[nodiscard]] std::optional<ChildSpec> owner_watch() const {
    return os_ ? std::optional(os_->owner_watch()) : std::nullopt;
  }
  // What agents can reach of the node, in plain words, an executor each; none: nothing that its owner would miss.
  [[nodiscard]] const std::vector<std::string>& exposed() const { return exposed_; }
  // Those with a limit on attempts at once, and that limit; for the dispatcher.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> shared() const;

 private:
  void find_identities();
  [[nodiscard]] std::unique_ptr<agent::Executor> make_executor(const std::string& name,
                                                               const ExecutorConfig& config) const;

  std::shared_ptr<launcher::OsProcesses> os_;
  std::map<std::string, ExecutorConfig> configs_;
  std::map<std::string, ExecutorIdentity> identities_;  // of those with programs
  std::vector<std::string> exposed_;
  std::shared_ptr<const Functions> functions_;
  std::shared_ptr<RegistryTable> registry_;
  std::shared_ptr<const agent::AgentOptions> options_;
  AgentReach reach_;
  std::atomic<bool> are_new_paused_ = false;
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
