// A node in small under attack: real journal on a real disk, ledger, operations, supervised dispatcher, registry,
// launcher, and two swarms of agents that are OS processes. Its parts can be killed one by one. To be used from one
// thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/os_host.hpp"
#include "skein/agent/os_executor.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::sim {

inline constexpr const char* k_talkers = "talkers";    // a swarm of stdio agents in Python
inline constexpr const char* k_commands = "commands";  // a swarm of command agents, one shell per task

// Every task is to end once: what the ledger says of each, as it says it.
class Endings final : public ledger::ChangeSink {
 public:
  struct Ending {
    std::uint32_t times = 0;
    std::uint32_t deliveries = 0;
    ledger::State state = ledger::State::queued;
    std::string result;
    std::string message;
  };
  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override;
  [[nodiscard]] std::map<ledger::TaskId, Ending> all() const;
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  mutable std::mutex mutex_;
  std::map<ledger::TaskId, Ending> endings_;
  std::atomic<std::size_t> count_{0};
};

class ChaosHost : public OsHost {
 public:
  // `agents` in each of the two swarms.
  explicit ChaosHost(std::uint32_t agents);
  ~ChaosHost();

  [[nodiscard]] operations::Operations& ops() { return *operations_; }
  [[nodiscard]] const Endings& endings() const { return endings_; }
  [[nodiscard]] bool wait_for_agents(std::size_t count, std::chrono::seconds limit);

  // Living agents of both swarms.
  [[nodiscard]] std::vector<std::string> agents() const;
  // Each false when there was nobody to kill at that moment.
  bool kill_agent(const std::string& name);
  bool kill_coordinator(const std::string& swarm);
  bool kill_dispatcher();
  bool kill_launcher();
  // SIGSTOP. Nobody continues them but the node.
  bool stop_launcher();
  bool stop_keeper(std::uint64_t which);
  // OS processes that agents run, found by what they have in their environment.
  [[nodiscard]] std::vector<pid_t> os_processes() const;

 private:
  void start_tree();
  void make_swarm(const char* name, std::uint32_t agents);
  [[nodiscard]] std::unique_ptr<agent::AgentSetup> make_agent(const swarm::AgentSeed& seed);

  std::shared_ptr<const agent::OsExecutorOptions> talker_;
  std::shared_ptr<const agent::OsExecutorOptions> command_;
  Endings endings_;
  Pid swarms_;
};

}  // namespace skein::sim
