// A TaskNode with what agents live among: a registry, a pool for agents, one for coordinators. For the workloads of
// agents; to be used by the thread that made it.
#pragma once

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/bench_disk.hpp"
#include "bench/task_node.hpp"
#include "skein/agent/function_executor.hpp"
#include "skein/registry/registry.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::bench {

class AgentNode {
 public:
  // An empty folder: everything in memory.
  explicit AgentNode(const std::string& dir, dispatch::DispatcherOptions options = {})
      : node_(dir, std::move(options)), registry_(std::make_shared<RegistryTable>(node_.runtime())) {
    using namespace trees;
    node_.runtime().spawn<Registry>(registry_);
    auto setup = std::make_shared<swarm::CoordinatorSetup>();
    setup->registry = registry_;
    setup->make_agent = [this](const swarm::AgentSeed& seed) { return make(seed); };
    const SupervisorSpec agents = pool("agent_pool", {10, std::chrono::seconds(60)},
                                       pool_child<agent::Agent, agent::AgentMaker>("agent").with(Restart::temporary));
    const std::shared_ptr<const swarm::CoordinatorSetup> common = setup;
    const SupervisorSpec swarms = pool("swarms", {k_restarts, std::chrono::seconds(60)},
                                       pool_child<swarm::Coordinator, std::string>("swarm", common)
                                           .with(Restart::transient)
                                           .with(Budget{k_restarts, std::chrono::seconds(60)})
                                           .as_isolated());
    if (!start_supervisor(node_.runtime(), agents, swarm::k_agent_pool_name)) throw std::runtime_error("no pool");
    swarms_ = start_supervisor(node_.runtime(), swarms)->pid;
  }

  [[nodiscard]] Runtime& runtime() { return node_.runtime(); }
  [[nodiscard]] const std::shared_ptr<RegistryTable>& registry() const { return registry_; }
  // What the agents of swarms run; before the first swarm.
  void set_function(agent::TaskFunction function) {
    function_ = std::make_shared<const agent::TaskFunction>(std::move(function));
  }

  ledger::TaskId submit(const std::string& type, const std::string& params) {
    operations::SubmitRequest request;
    request.type = type;
    request.params = params;
    const auto answer = operations::ask<operations::SubmitAnswer>(
        [&](auto reply) { node_.ops().task_submit(std::move(request), std::move(reply)); });
    if (!answer) throw std::runtime_error(answer.error().describe());
    return answer->id;
  }
  // Submits so many at once and waits for the end of each, which must be a good one.
  void run_tasks(const std::string& type, const std::string& params, std::size_t count) {
    std::vector<std::future<operations::Result<operations::SubmitAnswer>>> accepted;
    for (std::size_t i = 0; i < count; ++i) {
      operations::SubmitRequest request;
      request.type = type;
      request.params = params;
      auto answer = std::make_shared<std::promise<operations::Result<operations::SubmitAnswer>>>();
      accepted.push_back(answer->get_future());
      node_.ops().task_submit(std::move(request), [answer](const operations::Result<operations::SubmitAnswer>& said) {
        answer->set_value(said);
      });
    }
    for (auto& each : accepted) {
      const auto said = each.get();
      if (!said) throw std::runtime_error(said.error().describe());
      operations::WaitRequest request;
      request.id = said->id;
      request.timeout = k_patience;
      const auto ended = operations::ask<operations::WaitAnswer>(
          [&](auto reply) { node_.ops().task_wait(request, nullptr, std::move(reply)); });
      if (!ended || ended->status.task.state != ledger::State::completed) {
        throw std::runtime_error("a task was not completed");
      }
    }
  }
  void submit_later(const std::string& swarm, const std::string& type) {
    operations::SubmitRequest request;
    request.swarm = swarm;
    request.type = type;
    node_.ops().task_submit(std::move(request), [](const operations::Result<operations::SubmitAnswer>&) {});
  }
  void cancel(ledger::TaskId id) {
    const auto answer = operations::ask<operations::State>(
        [&](auto reply) { node_.ops().task_cancel({id, "measured"}, std::move(reply)); });
    if (!answer) throw std::runtime_error(answer.error().describe());
  }
  void start_swarm(const std::string& name, const operations::Fields& fields) {
    const auto made = operations::ask<operations::Operations::Nothing>(
        [&](auto reply) { node_.ops().swarm_create({name, fields}, std::move(reply)); });
    if (!made) throw std::runtime_error(made.error().describe());
    if (!start_pool_child(runtime(), swarms_, pool_arguments(name))) throw std::runtime_error("no coordinator");
  }
  [[nodiscard]] Pid coordinator(const std::string& swarm) { return runtime().whereis(swarm::coordinator_name(swarm)); }

  // Until the dispatcher knows it.
  void wait_for_agent(const std::string& id) {
    wait([&] {
      const auto pid = registry_->find_agent(id);
      const auto state = runtime().call<agent::Agent>(pid.value_or(Pid{}), agent::GetAgentState{});
      return state && state->is_connected;
    });
  }
  void wait_for_agents(std::size_t count) {
    wait([&] { return status().agents == count; });
  }
  void wait_for_tasks(const std::string& swarm, std::uint64_t count) {
    wait([&] {
      const auto load = runtime().call<dispatch::Dispatcher>(runtime().whereis(dispatch::k_dispatcher_name),
                                                             dispatch::GetSwarmLoad{swarm});
      return load && load->load && load->load->tasks == count;
    });
  }

 private:
  static constexpr std::uint32_t k_restarts = 10'000;
  static constexpr auto k_patience = std::chrono::seconds(180);

  template <class Condition>
  void wait(Condition condition) {
    const auto begin = Clock::now();
    while (!condition()) {
      if (Clock::now() - begin > k_patience) throw std::runtime_error("what was waited for did not come");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  [[nodiscard]] dispatch::DispatcherStatus status() {
    const Pid pid = runtime().whereis(dispatch::k_dispatcher_name);
    return runtime()
        .call<dispatch::Dispatcher>(pid, dispatch::GetDispatcherStatus{})
        .value_or(dispatch::DispatcherStatus{});
  }
  std::unique_ptr<agent::AgentSetup> make(const swarm::AgentSeed& seed) {
    auto setup = std::make_unique<agent::AgentSetup>();
    setup->name = seed.name;
    setup->swarm = seed.swarm;
    setup->role = seed.role;
    setup->capabilities = {"work"};
    setup->prefetch = seed.prefetch;
    setup->executor = std::make_unique<agent::FunctionExecutor>(function_);
    setup->registry = registry_;
    return setup;
  }

  TaskNode node_;
  std::shared_ptr<RegistryTable> registry_;
  std::shared_ptr<const agent::TaskFunction> function_ = std::make_shared<const agent::TaskFunction>(&agent::echo);
  Pid swarms_;
};

}  // namespace skein::bench
