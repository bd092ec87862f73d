#include "sim/chaos_host.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "sim/host_parts.hpp"
#include "sim/stdio_programs.hpp"
#include "skein/agent/command_executor.hpp"
#include "skein/agent/stdio_executor.hpp"
#include "skein/launcher/proc_tree.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;
using operations::ask;

constexpr std::uint32_t k_restarts = 1'000'000;  // nobody is to give up here

// Works a little, and for some tasks dies at the first attempt instead of answering.
constexpr const char* k_talker = R"(def work(task):
    n = task["params"]["n"]
    time.sleep(random.random() * 0.03)
    if n % 50 == 0 and task["attempt"] == 1:
        os._exit(3)
    done(task, {"n": n})
)";
constexpr const char* k_command = "read line; sleep 0.02; echo \"$line\"";

}  // namespace

void Endings::take(const std::shared_ptr<const ledger::ChangeBatch>& batch) {
  for (const auto& change : batch->changes) {
    const auto* finished = std::get_if<ledger::TaskFinished>(&change);
    if (finished == nullptr) continue;
    const ledger::FinishedTask& task = *finished->finished;
    const std::scoped_lock lock(mutex_);
    Ending& ending = endings_[task.task.id];
    if (ending.times++ == 0) ++count_;
    ending.state = task.task.state;
    ending.deliveries = task.task.deliveries;
    ending.result = std::string(ledger::view_of(task.result));
    ending.message = task.message;
  }
}

std::map<ledger::TaskId, Endings::Ending> Endings::all() const {
  const std::scoped_lock lock(mutex_);
  return endings_;
}

ChaosHost::ChaosHost(std::uint32_t agents) : OsHost("skein-chaos", "SKEIN_CHAOS_PROGRAM") {
  agent::OsExecutorOptions options;
  options.environment = {mark_, "PATH=/usr/bin:/bin"};
  // By which tests/chaos finds whatever is left; guard, launchers and keepers have it anyway.
  if (const char* run = std::getenv("SKEIN_MARK_CHAOS")) {
    options.environment.push_back(fmt::format("SKEIN_MARK_CHAOS={}", run));
  }
  options.directory = folder_;
  options.term_after = 200ms;
  options.kill_after = 500ms;
  options.heartbeat_timeout = 3s;
  options.command = {"python3", "-S", "-E", "-c", sim::python_stdio_program(k_talker)};
  talker_ = std::make_shared<const agent::OsExecutorOptions>(options);
  options.command = {"/bin/sh", "-c", k_command};
  command_ = std::make_shared<const agent::OsExecutorOptions>(options);

  begin(&endings_);
  start_tree();
  make_swarm(k_talkers, agents);
  make_swarm(k_commands, agents);
}

ChaosHost::~ChaosHost() { end(); }

void ChaosHost::start_tree() {
  using namespace trees;
  ChildSpec dispatcher;
  dispatcher.id = "dispatcher";
  dispatcher.start = [this](Self self, const std::any&) -> ChildStarting {
    SpawnOptions options;
    options.link = true;
    options.init_here = true;
    options.name = dispatch::k_dispatcher_name;
    const auto starting = self.start<dispatch::Dispatcher>(options, dispatcher_setup());
    if (starting.up) return ChildStart::ok(starting.up);
    return wait_for_start(starting);
  };
  const SupervisorSpec agents =
      pool("agent_pool", {k_restarts, 60s},
           pool_child<agent::Agent, agent::AgentMaker>("agent").with(Restart::temporary).with(Shutdown::after(2s)));
  auto setup = std::make_shared<swarm::CoordinatorSetup>();
  setup->registry = registry_;
  setup->make_agent = [this](const swarm::AgentSeed& seed) { return make_agent(seed); };
  const std::shared_ptr<const swarm::CoordinatorSetup> common = setup;
  const SupervisorSpec swarms =
      pool("swarms", {k_restarts, 60s},
           pool_child<swarm::Coordinator, std::string>("swarm", common).with(Restart::transient));
  const SupervisorSpec work = supervisor("work", one_for_one, {k_restarts, 60s}, {dispatcher});
  if (!start_supervisor(*runtime_, work) || !start_supervisor(*runtime_, agents, swarm::k_agent_pool_name)) {
    throw std::runtime_error("the tree could not be started");
  }
  const auto started = start_supervisor(*runtime_, swarms);
  if (!started) throw std::runtime_error("the swarms could not be started: " + started.error().reason.text());
  swarms_ = started->pid;
}

void ChaosHost::make_swarm(const char* name, std::uint32_t agents) {
  operations::Fields fields;
  fields["executor"] = name;
  fields["capabilities"] = "work";
  fields["agents_min"] = fields["agents_max"] = std::to_string(agents);
  fields["breaker_crashes"] = std::to_string(k_restarts);  // it would stop the very thing that is tested
  const auto made = ask<operations::Operations::Nothing>(
      [&](auto reply) { operations_->swarm_create({name, fields}, std::move(reply)); });
  if (!made) throw std::runtime_error(made.error().describe());
  const auto started = start_pool_child(*runtime_, swarms_, pool_arguments(std::string(name)));
  if (!started) throw std::runtime_error("no coordinator: " + started.error().text());
}

std::unique_ptr<agent::AgentSetup> ChaosHost::make_agent(const swarm::AgentSeed& seed) {
  auto setup = std::make_unique<agent::AgentSetup>();
  setup->name = seed.name;
  setup->swarm = seed.swarm;
  setup->capabilities = seed.capabilities;
  setup->prefetch = seed.prefetch;
  setup->registry = registry_;
  if (seed.executor == k_talkers) {
    setup->executor = std::make_unique<agent::StdioExecutor>(os_, talker_);
  } else {
    setup->executor = std::make_unique<agent::CommandExecutor>(os_, command_);
  }
  return setup;
}

std::vector<std::string> ChaosHost::agents() const {
  return registry_->query_agents({"work"}).value_or(std::vector<std::string>{});
}

bool ChaosHost::wait_for_agents(std::size_t count, std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (agents().size() < count) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

bool ChaosHost::kill_agent(const std::string& name) {
  const auto pid = registry_->find_agent(name);
  if (pid) runtime_->exit(*pid, ExitReason::kill());
  return pid.has_value();
}

bool ChaosHost::kill_coordinator(const std::string& swarm) {
  const Pid pid = runtime_->whereis(swarm::coordinator_name(swarm));
  if (pid) runtime_->exit(pid, ExitReason::kill());
  return static_cast<bool>(pid);
}

bool ChaosHost::kill_dispatcher() {
  const Pid pid = runtime_->whereis(dispatch::k_dispatcher_name);
  if (pid) runtime_->exit(pid, ExitReason::kill());
  return static_cast<bool>(pid);
}

bool ChaosHost::kill_launcher() {
  const pid_t pid = os_->counts().launcher;
  return pid > 0 && ::kill(pid, SIGKILL) == 0;
}

bool ChaosHost::stop_launcher() {
  const pid_t pid = os_->counts().launcher;
  return pid > 0 && ::kill(pid, SIGSTOP) == 0;
}

bool ChaosHost::stop_keeper(std::uint64_t which) {
  const pid_t launcher = os_->counts().launcher;
  auto keepers = launcher::descendants(launcher::scan_processes(), launcher, {});
  std::erase_if(keepers, [launcher](const launcher::OsEntry& each) { return each.parent != launcher; });
  return launcher > 0 && !keepers.empty() && ::kill(keepers[which % keepers.size()].pid, SIGSTOP) == 0;
}

std::vector<pid_t> ChaosHost::os_processes() const { return launcher::processes_with(mark_); }

}  // namespace skein::sim
