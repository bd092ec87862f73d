// The agent: a process that holds a few tasks, runs them one after the other through its executor, and answers to the
// dispatcher.
//
// It registers its name when it is made (a name that is taken fails the start), starts its executor, and announces
// itself to the dispatcher, found by name, once the executor is ready; again whenever the dispatcher is a new one. It
// says every `heartbeat_every` what it holds, and keeps outcomes until they are settled: agents outlive dispatchers.
//
// 1. An executor that throws or says broken() ends the agent as a crash: what ran costs an attempt, what waited is
//    returned. Told to end gracefully, it lets its executor wind down and returns everything.
// 2. Many tasks go into one report: what was done within `report_every`, or until nothing is left to do.
// 3. A program that cannot be started costs no task an attempt: the agent returns what it holds, takes nothing for
//    `start_again`, and tells its swarm's coordinator why.
// 4. To restart an agent, a new setup with a new executor must be made for it.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/agent/agent_core.hpp"
#include "skein/agent/agent_state.hpp"
#include "skein/agent/executor.hpp"
#include "skein/base/rare_text.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/registry/registry_table.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::agent {

// Settings that many agents share.
struct AgentOptions {
  std::string dispatcher = std::string(dispatch::k_dispatcher_name);
  Duration heartbeat_every = dispatch::k_heartbeat_every;
  Duration connect_every = std::chrono::milliseconds(20);  // while there is no dispatcher, doubled up to the next
  Duration connect_every_max = std::chrono::seconds(1);
  Duration report_every = std::chrono::milliseconds(1);
  Duration start_again = std::chrono::seconds(1);  // after its program could not be started, doubled up to the next
  Duration start_again_max = std::chrono::seconds(30);
  Duration turn = std::chrono::milliseconds(5);  // then others get the processor, and messages are looked at
  AgentLimits limits;
};

struct AgentSetup {
  std::string name;
  dispatch::Role role = dispatch::Role::worker;
  std::vector<std::string> capabilities;  // none: the executor's own, or else those of the role
  RareText swarm{};                       // one it belongs to, and whose tasks it gets; empty: none
  bool is_managed = false;                // that swarm's coordinator started it and may end it
  bool is_paused = false;                 // from the beginning
  std::uint64_t made_for = 0;             // kept: what it was made for, its mark in the registry; never 0 then
  std::uint32_t prefetch = 1;             // tasks that it holds besides the one at work
  std::unique_ptr<Executor> executor;
  RareText executor_name{};                       // in the config, for people; may be empty
  RareText shared_executor{};                     // for a bulkhead that agents share; empty: what the executor says
  Duration attempt_timeout{};                     // of tasks and types that say nothing; zero: the dispatcher's
  std::shared_ptr<RegistryTable> registry;        // null: registered nowhere
  std::shared_ptr<const AgentOptions> options{};  // null: the defaults
};
// For supervisors, which start an agent more than once: child<Agent>("id", maker), or a pool_child<Agent, AgentMaker>.
using AgentMaker = std::function<std::unique_ptr<AgentSetup>()>;

class Agent final : private ExecutorHost {
 public:
  // Throws std::invalid_argument without an id or an executor, std::runtime_error when the name cannot be had.
  Agent(Self self, std::unique_ptr<AgentSetup> setup);
  Agent(Self self, const AgentMaker& make) : Agent(self, make()) {}
  // From anything that agent_setup(recipe) makes a setup of.
  template <class Recipe>
    requires requires(Recipe recipe) {
      { agent_setup(std::move(recipe)) } -> std::same_as<std::unique_ptr<AgentSetup>>;
    }
  Agent(Self self, Recipe recipe) : Agent(self, agent_setup(std::move(recipe))) {}

  struct Begin {};
  void handle_continue(Self self, Begin step);
  // Also dispatch::PauseAgent, ResumeAgent and UpdateConfig, from anybody.
  void handle_info(Self self, Message message);
  AgentState handle_call(Self self, GetAgentState request);
  AgentFigures handle_call(Self self, GetAgentMetrics request);
  AgentTasks handle_call(Self self, GetAgentTasks request);
  CancelAnswer handle_call(Self self, CancelExecuting request);
  UpdateAnswer handle_call(Self self, const UpdateAgent& request);
  Async<void> terminate(Self self, ExitReason reason);
  [[nodiscard]] std::string describe() const;

 private:
  struct Connect {};
  struct Beat {};
  struct Continue {};
  struct StartAgain {};
  // Its program could not be started.
  struct Trouble {
    Duration wait{};
    std::string why;
    bool holds_off = false;  // takes no task until StartAgain
  };

  // For the executor.
  [[nodiscard]] Self process() const override { return self_; }
  [[nodiscard]] const std::string& agent_name() const override { return setup_->name; }
  void ready(std::vector<std::string> capabilities) override;
  void not_ready() override { core_.set_ready(false); }
  void started(dispatch::TaskRef ref) override;
  void progress(dispatch::TaskRef ref, ledger::Body mark) override;
  void complete(dispatch::TaskRef ref, ledger::Body result) override;
  void failed(dispatch::TaskRef ref, Failure failure) override;
  void last_words(dispatch::TaskRef ref, std::string text) override;
  void returned(dispatch::TaskRef ref) override;
  void cannot_start(dispatch::TaskRef ref, std::string why) override;
  void broken(std::string why) override;

  [[nodiscard]] bool handle_own(Message message);
  // Its capabilities, and that of its swarm.
  [[nodiscard]] std::vector<std::string> announced() const;
  void register_name();
  // With other capabilities.
  void register_again();
  void connect();
  void announce();
  void set_paused(bool paused);
  void start_again();
  void tell_trouble(std::string why, bool is_ending);
  // Paused, or holding off after a start that failed.
  [[nodiscard]] bool takes_none() const { return core_.is_paused() || (trouble_ && trouble_->holds_off); }
  // Others can do what has not begun.
  void return_waiting();
  void beat();
  void step();
  void work();
  void work_soon();
  void report();
  void tell_load();
  [[nodiscard]] std::string update(const ledger::Fields& fields);
  [[nodiscard]] Instant time() { return now_ = self_.now(); }

  Self self_;
  std::unique_ptr<AgentSetup> setup_;
  AgentCore core_;
  Pid dispatcher_;
  MonitorRef watch_;
  std::uint64_t seen_ = 0;
  std::unique_ptr<Trouble> trouble_;
  Duration connect_again_{};
  Instant now_{};  // when it was last looked at
  Instant reported_at_{};
  std::uint64_t told_ended_ = 0;  // outcomes in the last AgentMetrics
  std::uint32_t told_load_ = 0;   // to the registry
  bool is_announced_ = false;     // the executor was ready once
  bool is_working_ = false;       // a Continue is under way
  bool is_broken_ = false;
};

}  // namespace skein::inline v0::agent
