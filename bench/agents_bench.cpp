// The workloads of agents: how long it takes to have one, to have its task run elsewhere when it dies, to have a
// swarm's coordinator back, and what a million idle ones cost. crash_* end the process of a function agent and count
// from the kill to the task's next run on another agent. Those with OS processes are in os_agents_bench.cpp.
#include <malloc.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bench/agent_node.hpp"
#include "bench/bench_disk.hpp"
#include "bench/workload.hpp"

namespace skein::bench {
namespace {

using agent::FunctionOutcome;

constexpr std::size_t k_spawns = 20'000;
constexpr std::size_t k_crashes = 500;
constexpr std::size_t k_durable_crashes = 200;
constexpr std::size_t k_recoveries = 30;
constexpr std::uint64_t k_queued = 9'999;  // with the one that runs the swarm's limit
constexpr auto k_patience = std::chrono::seconds(20);

std::unique_ptr<agent::AgentSetup> function_setup(AgentNode& node, std::string id, agent::TaskFunction function) {
  auto setup = std::make_unique<agent::AgentSetup>();
  setup->name = std::move(id);
  setup->capabilities = {"work"};
  setup->prefetch = 0;
  setup->executor =
      std::make_unique<agent::FunctionExecutor>(std::make_shared<const agent::TaskFunction>(std::move(function)));
  setup->registry = node.registry();
  return setup;
}

// Starts agents one after the other from inside a process, as a coordinator's pool does, and writes down what each
// took until it was registered.
class Spawner {
 public:
  Spawner(Self self, AgentNode* node, std::promise<std::vector<double>>* done) : node_(node), done_(done) {
    self.continue_with<Spawner>(0);
  }
  Async<void> handle_continue(Self self, int) {
    std::vector<double> samples;
    SpawnOptions options;
    options.init_here = true;
    for (std::size_t i = 0; i < k_spawns; ++i) {
      auto setup = function_setup(*node_, "spawned-" + std::to_string(i), &agent::echo);
      const auto begin = Clock::now();
      auto starting = self.start<agent::Agent>(options, std::move(setup));
      const StartResult started = co_await starting;
      samples.push_back(us_since(begin));
      if (!started || !node_->registry()->find_agent("spawned-" + std::to_string(i))) break;
      if (i % 64 == 0) {
        auto yielding = self.yield();
        co_await yielding;
      }
    }
    done_->set_value(std::move(samples));
  }

 private:
  AgentNode* node_;
  std::promise<std::vector<double>>* done_;
};

double spawn_register_p99() {
  AgentNode node("");
  std::promise<std::vector<double>> done;
  auto samples = done.get_future();
  node.runtime().spawn<Spawner>(&node, &done);
  auto all = samples.get();
  if (all.size() != k_spawns) throw std::runtime_error("an agent could not be started");
  return percentile(std::move(all), 0.99);
}

// Where the task of the round runs, told by the agent that runs it.
class Whereabouts {
 public:
  void runs_at(std::uint64_t agent) {
    const std::scoped_lock lock(mutex_);
    agent_ = agent;
    at_ = Clock::now();
    ++runs_;
    changed_.notify_all();
  }
  struct Run {
    std::uint64_t agent = 0;
    Clock::time_point at;
  };
  // The run after `runs` of them.
  Run wait_for(std::uint64_t runs) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, k_patience, [&] { return runs_ >= runs; })) {
      throw std::runtime_error("the task did not run again in time");
    }
    return {agent_, at_};
  }
  [[nodiscard]] std::uint64_t runs() {
    const std::scoped_lock lock(mutex_);
    return runs_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t agent_ = 0;
  std::uint64_t runs_ = 0;
  Clock::time_point at_;
};

// µs from the kill of a function agent at work to the next run of its task on the other one, `rounds` times.
std::vector<double> crashes(const std::string& dir, std::size_t rounds) {
  dispatch::DispatcherOptions options;
  options.breaker_crashes = 1'000'000;  // nothing but crashes is what it is there to stop
  AgentNode node(dir, options);
  Whereabouts where;
  std::uint64_t next_agent = 0;
  const auto start = [&] {
    const std::uint64_t number = ++next_agent;
    auto setup = function_setup(node, "agent-" + std::to_string(number), [&where, number](const dispatch::Order&) {
      where.runs_at(number);
      return FunctionOutcome(agent::FunctionLater{std::chrono::hours(1), {}});
    });
    node.runtime().spawn<agent::Agent>(std::move(setup));
    node.wait_for_agent("agent-" + std::to_string(number));
  };
  start();
  start();
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::uint64_t before = where.runs();
    const auto task = node.submit("work", "null");
    const auto first = where.wait_for(before + 1);
    const Pid pid = *node.registry()->find_agent("agent-" + std::to_string(first.agent));
    const auto begin = Clock::now();
    node.runtime().exit(pid, ExitReason::kill());
    const auto second = where.wait_for(before + 2);
    samples.push_back(std::chrono::duration<double, std::micro>(second.at - begin).count());
    node.cancel(task);
    start();
  }
  return samples;
}

template <std::size_t Percent>
double crash_memory() {
  return percentile(crashes("", k_crashes), Percent / 100.0) / 1000;
}

template <std::size_t Percent>
double crash_durable() {
  const BenchDir dir("agents");
  return percentile(crashes(dir.path(), k_durable_crashes), Percent / 100.0) / 1000;
}

// The same three times over: how many syncs of the disk that was, at the median.
double crash_durable_syncs() {
  const BenchDir dir("agents");
  std::vector<double> syncs;
  SyncProbe probe(dir.path() + "/probe");
  probe.run(200, syncs);
  const double took = percentile(crashes(dir.path(), k_durable_crashes), 0.5);
  probe.run(200, syncs);
  return took / percentile(std::move(syncs), 0.5);
}

// ms from the kill of a coordinator to its successor knowing how its swarm of 10,000 tasks stands.
double coordinator_recovery() {
  AgentNode node("");
  node.set_function(
      [](const dispatch::Order&) { return FunctionOutcome(agent::FunctionLater{std::chrono::hours(1), {}}); });
  node.start_swarm("s", {{"executor", "function"}, {"agents_min", "1"}, {"agents_max", "1"}, {"prefetch", "0"}});
  node.wait_for_agent("s-1");
  for (std::uint64_t i = 0; i <= k_queued; ++i) node.submit_later("s", "work");
  node.wait_for_tasks("s", k_queued + 1);
  std::vector<double> samples;
  for (std::size_t i = 0; i < k_recoveries; ++i) {
    const Pid old_one = node.coordinator("s");
    const auto begin = Clock::now();
    node.runtime().exit(old_one, ExitReason::kill());
    for (;;) {
      const Pid pid = node.coordinator("s");
      if (pid && pid != old_one) {
        const auto state = node.runtime().call<swarm::Coordinator>(pid, swarm::GetSwarmState{});
        if (state && state->tasks == k_queued + 1 && state->agents == 1) break;
      }
      if (Clock::now() - begin > k_patience) throw std::runtime_error("the coordinator did not come back");
      std::this_thread::yield();
    }
    samples.push_back(us_since(begin) / 1000);
  }
  return percentile(std::move(samples), 0.5);
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

// Bytes per agent that is registered, announced to the dispatcher and has nothing to do. A heartbeat a minute: a
// million a second would measure the heartbeats. The next ones are started when the dispatcher knows `Together` more:
// what the messages of a rush took stays in the runtime's pools, for the next one.
template <std::size_t Count, std::size_t Together>
double idle_agents() {
  dispatch::DispatcherOptions options;
  options.agents_max = Count;
  options.silent_after = std::chrono::hours(1);
  AgentNode node("", options);
  auto common = std::make_shared<agent::AgentOptions>();
  common->heartbeat_every = std::chrono::minutes(1);
  const auto function = std::make_shared<const agent::TaskFunction>(&agent::echo);
  malloc_trim(0);
  const double before = resident_bytes();
  for (std::size_t i = 0; i < Count; ++i) {
    auto setup = std::make_unique<agent::AgentSetup>();
    setup->name = "agent-" + std::to_string(i);
    setup->capabilities = {"work"};
    setup->executor = std::make_unique<agent::FunctionExecutor>(function);
    setup->registry = node.registry();
    setup->options = common;
    node.runtime().spawn<agent::Agent>(std::move(setup));
    if ((i + 1) % Together == 0) node.wait_for_agents(i + 1);
  }
  node.wait_for_agents(Count);
  malloc_trim(0);
  return (resident_bytes() - before) / static_cast<double>(Count);
}

const Registrar k_spawn{{"agents", "spawn_register_p99", "us", &spawn_register_p99}};
const Registrar k_crash_p50{{"agents", "crash_to_reassigned_p50", "ms", &crash_memory<50>}};
const Registrar k_crash_p99{{"agents", "crash_to_reassigned_p99", "ms", &crash_memory<99>}};
const Registrar k_durable_p50{{"agents", "crash_to_reassigned_durable_p50", "ms", &crash_durable<50>}};
const Registrar k_durable_p99{{"agents", "crash_to_reassigned_durable_p99", "ms", &crash_durable<99>}};
const Registrar k_syncs{{"agents", "crash_to_reassigned_durable_syncs", "syncs", &crash_durable_syncs}};
const Registrar k_recovery{{"agents", "coordinator_recovery_10000", "ms", &coordinator_recovery}};
const Registrar k_idle_small{{"agents", "idle_agents_100000", "B/agent", &idle_agents<100'000, 1'000>}};
const Registrar k_idle{{"agents", "idle_agents_1000000", "B/agent", &idle_agents<1'000'000, 1'000>}};
const Registrar k_rush{{"agents", "idle_agents_1000000_at_once", "B/agent", &idle_agents<1'000'000, 1'000'000>}};

}  // namespace
}  // namespace skein::bench
