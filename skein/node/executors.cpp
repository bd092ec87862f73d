#include "skein/node/executors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <any>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "skein/agent/command_executor.hpp"
#include "skein/agent/stdio_executor.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0::node {
namespace {

constexpr Duration k_agent_shutdown = std::chrono::seconds(2);

// Runs whatever function the task's type names.
struct ByType {
  std::shared_ptr<const Functions> functions;

  agent::FunctionOutcome operator()(const dispatch::Order& order) const {
    const auto found = functions->find(order.shape->type);
    return found != functions->end() ? found->second(order) : agent::built_in(order);
  }
};

bool has_programs(const ExecutorConfig& config) { return config.kind == "command" || config.kind == "stdio"; }

agent::OsExecutorOptions os_options(const ExecutorConfig& config) {
  agent::OsExecutorOptions options;
  options.command = config.command;
  options.directory = config.directory;
  options.environment =
      agent::build_environment(config.env, config.set_env, [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        if (value == nullptr) return std::nullopt;
        return std::string(value);
      });
  const auto cpu = std::chrono::duration_cast<std::chrono::seconds>(config.cpu_max + std::chrono::milliseconds(999));
  options.limits = {.memory_bytes = config.memory_max,
                    .cpu_seconds = config.cpu_max == Duration::zero() ? 0 : static_cast<std::uint64_t>(cpu.count()),
                    .open_files = config.files_max,
                    .file_bytes = config.file_max,
                    .processes = config.processes_max};
  options.output_bytes = config.output_bytes;
  options.line_bytes = config.line_bytes;
  options.stderr_bytes = config.stderr_bytes;
  options.is_text_output = config.output == "text";
  options.term_after = config.term_after;
  options.kill_after = config.kill_after;
  options.hello_timeout = config.hello_timeout;
  options.heartbeat_timeout = config.heartbeat_timeout;
  options.umask = parse_umask(config.umask).value_or(options.umask);
  options.no_new_privs = config.no_new_privs;
  return options;
}

// The socket is in the data folder, which only programs of the node's own user may see, and is for that user alone.
void give_reach(const AgentReach& reach, const ExecutorIdentity& identity, agent::OsExecutorOptions& options) {
  options.task_token = reach.task_token;
  if (!reach.url.empty()) options.reach.push_back("SKEIN_URL=" + reach.url);
  const bool sees_socket = !identity.is_private && !identity.user;
  if (sees_socket && !reach.socket.empty()) options.reach.push_back("SKEIN_SOCKET=" + reach.socket);
}

}  // namespace

launcher::OsProcessesOptions os_processes_options(const Config& config) {
  launcher::OsProcessesOptions options;
  options.hidden = {std::filesystem::absolute(config.node.data).string()};
  // The default of a node that root runs needs none: is_private().
  options.tries_private = std::ranges::any_of(config.executors, [](const auto& each) {
    const bool is_wanted = each.second.isolate == "private" || (each.second.isolate == "auto" && ::geteuid() != 0);
    return is_wanted && has_programs(each.second);
  });
  return options;
}

Executors::Executors(const Config& config, Functions functions, std::shared_ptr<RegistryTable> registry,
                     std::shared_ptr<launcher::OsProcesses> os)
    : os_(std::move(os)),
      configs_(config.executors),
      functions_(std::make_shared<const Functions>(std::move(functions))),
      registry_(std::move(registry)) {
  agent::AgentOptions options;
  options.limits.result_bytes = config.limits.result_bytes;
  options.limits.mark_bytes = config.limits.mark_bytes;
  options.limits.stuck_after = config.node.stuck_limit;
  options_ = std::make_shared<const agent::AgentOptions>(options);
  for (auto& [name, each] : configs_) {
    if (each.kind != "function") continue;
    for (const auto& [type, function] : *functions_) {
      if (std::ranges::find(each.functions, type) == each.functions.end()) each.functions.push_back(type);
    }
  }
  if (os_) find_identities();
}

void Executors::find_identities() {
  const std::string problem = os_->private_problem();
  const uid_t own = ::geteuid();
  for (const auto& [name, config] : configs_) {
    if (!has_programs(config)) continue;
    auto user = user_of(config, name, own);
    if (!user) throw std::invalid_argument(user.error());
    const auto isolated = is_private(config, name, problem, own);
    if (!isolated) throw std::invalid_argument(isolated.error());
    const auto made = identities_.emplace(name, ExecutorIdentity{std::move(*user), *isolated}).first;
    std::string exposure = exposure_of(name, made->second, problem, own);
    if (!exposure.empty()) exposed_.push_back(std::move(exposure));
  }
}

std::unique_ptr<agent::Executor> Executors::make_executor(const std::string& name, const ExecutorConfig& config) const {
  if (config.kind == "function") {
    return std::make_unique<agent::FunctionExecutor>(std::make_shared<const agent::TaskFunction>(ByType{functions_}));
  }
  if (!os_) {
    throw std::invalid_argument(
        fmt::format("'{}' executors need the launcher: call Launcher::fork_early() first "
                    "thing in main",
                    config.kind));
  }
  auto made = std::make_shared<agent::OsExecutorOptions>(os_options(config));
  const ExecutorIdentity& identity = identities_.at(name);
  made->user = identity.user;
  made->is_private = identity.is_private;
  if (config.token) give_reach(reach_, identity, *made);
  std::shared_ptr<const agent::OsExecutorOptions> options = std::move(made);
  if (config.kind == "command") return std::make_unique<agent::CommandExecutor>(os_, std::move(options));
  return std::make_unique<agent::StdioExecutor>(os_, std::move(options));
}

std::unique_ptr<agent::AgentSetup> Executors::make(const swarm::AgentSeed& seed) const {
  const auto config = configs_.find(seed.executor);
  if (config == configs_.end()) {
    throw std::invalid_argument(
        fmt::format("agent '{}': there is no executor '{}' in the config", seed.id, seed.executor));
  }
  auto setup = std::make_unique<agent::AgentSetup>();
  setup->id = seed.id;
  setup->role = seed.role;
  setup->capabilities = capabilities_of(seed.capabilities, dispatch::name_of(seed.role), config->second);
  setup->swarm = seed.swarm;
  setup->attempt_timeout = config->second.timeout;
  if (has_programs(config->second)) setup->executor_name = seed.executor;
  if (config->second.concurrency > 0) setup->shared_executor = seed.executor;
  setup->slots = seed.slots;
  setup->is_paused = are_new_paused_;
  setup->executor = make_executor(seed.executor, config->second);
  setup->registry = registry_;
  setup->options = options_;
  return setup;
}

std::vector<std::pair<std::string, std::uint32_t>> Executors::shared() const {
  std::vector<std::pair<std::string, std::uint32_t>> all;
  for (const auto& [name, each] : configs_) {
    if (each.concurrency > 0) all.emplace_back(name, each.concurrency);
  }
  return all;
}

dispatch::Role role_named(std::string_view name) {
  if (name == "specialist") return dispatch::Role::specialist;
  return name == "coordinator" ? dispatch::Role::coordinator : dispatch::Role::worker;
}

swarm::AgentSeed seed_of(const AgentConfig& agent) {
  return {agent.id, agent.swarm, agent.executor, role_named(agent.role), agent.capabilities, agent.prefetch + 1};
}

ChildStarting start_agent(Self self, const Executors& executors, const swarm::AgentSeed& seed) {
  SpawnOptions options;
  options.link = true;
  options.init_here = true;
  const auto starting = self.start<agent::Agent>(options, executors.make(seed));
  if (starting.up) return ChildStart::ok(starting.up);
  return detail::wait_for_start(starting);
}

ChildSpec agent_template() {
  return pool_child<agent::Agent, agent::AgentMaker>("agent")
      .with(Restart::temporary)
      .with(Shutdown::after(k_agent_shutdown))
      .labelled("agent");
}

ChildSpec named_agent(std::shared_ptr<const Executors> executors, const AgentConfig& agent) {
  ChildSpec spec;
  spec.id = agent.id;
  spec.what = "Agent";
  spec.start = [executors = std::move(executors), seed = seed_of(agent)](Self self, const std::any&) {
    return start_agent(self, *executors, seed);
  };
  return std::move(spec)
      .with(Restart::permanent)
      .with(Shutdown::after(k_agent_shutdown))
      .with(Backoff::exponential())
      .as_isolated()
      .labelled("agent");
}

}  // namespace skein::inline v0::node
