#include "skein/node/executors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <any>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "skein/launcher/control_group.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0::node {
namespace {

constexpr Duration k_agent_shutdown = std::chrono::seconds(2);

std::shared_ptr<const agent::AgentOptions> agent_options(const Config& config) {
  auto options = std::make_shared<agent::AgentOptions>();
  options->heartbeat_every = config.dispatch.heartbeat_every;
  options->limits.result_bytes = config.limits.result_bytes;
  options->limits.mark_bytes = config.limits.mark_bytes;
  options->limits.stuck_after = config.node.stuck_limit;
  return options;
}

}  // namespace

launcher::OsProcessesOptions os_processes_options(const Config& config) {
  launcher::OsProcessesOptions options;
  options.hidden = {std::filesystem::absolute(config.node.data).string()};
  // The default of a node that root runs needs none: is_private(). For others a reload may bring one that does.
  options.tries_private = ::geteuid() != 0 || std::ranges::any_of(config.executors, [](const auto& each) {
                            return each.second.isolate == "private" && kind_of(each.second).runs_programs;
                          });
  return options;
}

Executors::Executors(const Config& config, Functions functions, std::shared_ptr<RegistryTable> registry,
                     std::shared_ptr<launcher::OsProcesses> os)
    : os_(std::move(os)),
      functions_(std::make_shared<const Functions>(std::move(functions))),
      registry_(std::move(registry)) {
  take(ready(config));
}

namespace {

// What a swarm that is no longer in the config needs to finish its tasks.
void keep_leaving(const Executors::Table& before, Executors::Table& table) {
  table.leaving = before.leaving;
  for (const auto& [swarm, executor] : before.swarms) {
    const auto config = before.configs.find(executor);
    if (config == before.configs.end()) continue;
    const auto identity = before.identities.find(executor);
    table.leaving[swarm] = {executor, config->second,
                            identity != before.identities.end() ? std::optional(identity->second) : std::nullopt,
                            before.marks.at(executor)};
  }
  std::erase_if(table.leaving, [&](const auto& each) {
    return table.swarms.contains(each.first) || table.configs.contains(each.second.executor);
  });
}

}  // namespace

std::shared_ptr<const Executors::Table> Executors::ready(const Config& config) const {
  const auto before = table_.get();
  auto table = std::make_shared<Table>();
  table->options = agent_options(config);
  table->configs = config.executors;
  table->last_mark = before ? before->last_mark : 0;
  for (const auto& [name, swarm] : config.swarms) table->swarms[name] = swarm.executor;
  if (before) keep_leaving(*before, *table);
  const std::string problem = os_ ? os_->private_problem() : std::string();
  const uid_t own = ::geteuid();
  for (auto& [name, each] : table->configs) {
    const ExecutorKind& kind = kind_of(each);
    if (kind.offers_functions) {
      for (const auto& [type, function] : *functions_) {
        if (std::ranges::find(each.functions, type) == each.functions.end()) each.functions.push_back(type);
      }
    }
    const auto old = before ? before->configs.find(name) : table->configs.end();
    const bool is_same = before && old != before->configs.end() && old->second == each;
    table->marks[name] = is_same ? before->marks.at(name) : ++table->last_mark;
    if (!os_ || !kind.runs_programs) continue;
    auto user = user_of(each, name, own);
    if (!user) throw std::invalid_argument(user.error());
    const auto isolated = is_private(each, name, problem, own);
    if (!isolated) throw std::invalid_argument(isolated.error());
    const auto made = table->identities.emplace(name, ExecutorIdentity{std::move(*user), *isolated}).first;
    std::string exposure = exposure_of(name, made->second, problem, own);
    if (!exposure.empty()) table->exposed.push_back(std::move(exposure));
  }
  return table;
}

bool Executors::has(const std::string& executor) const { return table_.get()->configs.contains(executor); }

std::vector<std::string> Executors::own_functions() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : *functions_) names.push_back(name);
  return names;
}

std::vector<std::string> Executors::names() const {
  std::vector<std::string> names;
  const auto table = table_.get();
  for (const auto& [name, each] : table->configs) names.push_back(name);
  return names;
}

std::uint64_t Executors::mark_of(const std::string& executor, const std::string& swarm) const {
  const auto table = table_.get();
  if (const auto mark = table->marks.find(executor); mark != table->marks.end()) return mark->second;
  const auto left = table->leaving.find(swarm);
  return left != table->leaving.end() && left->second.executor == executor ? left->second.mark : 0;
}

std::vector<std::string> Executors::exposed() const { return table_.get()->exposed; }

std::vector<std::string> Executors::unenforced() const {
  std::vector<std::string> all;
  if (!os_) return all;
  const auto& group = launcher::NodeGroup::here();
  const auto tell = [&](const std::string& name, std::string_view key, std::string_view controller,
                        std::string_view instead) {
    all.push_back(fmt::format(
        "executor '{}': {} {}: the node has no control group with the controller '{}' ({}); run it as a service with "
        "Delegate=yes, or in a container that delegates one",
        name, key, instead, controller, group.describe()));
  };
  const auto table = table_.get();
  for (const auto& [name, each] : table->configs) {
    if (!kind_of(each).runs_programs) continue;
    if (each.processes_max > 0 && !group.can_limit("pids")) tell(name, "processes_max", "pids", "is not enforced");
    if (each.memory_max > 0 && !group.can_limit("memory")) {
      tell(name, "memory_max", "memory",
           "applies to each OS process separately, not to all processes of a program together");
    }
  }
  return all;
}

std::unique_ptr<agent::Executor> Executors::make_executor(const ExecutorConfig& config,
                                                          const ExecutorIdentity* identity) const {
  const ExecutorKind& kind = kind_of(config);
  if (kind.runs_programs && !os_) {
    throw std::invalid_argument(
        fmt::format("'{}' executors need the launcher: call Launcher::fork_early() first "
                    "thing in main",
                    config.kind));
  }
  return kind.make({config, functions_, os_, identity, reach_});
}

std::unique_ptr<agent::AgentSetup> Executors::make(const swarm::AgentSeed& seed) const {
  const auto table = table_.get();
  const auto known = table->configs.find(seed.executor);
  const auto left = table->leaving.find(seed.swarm);
  const bool is_leaving = left != table->leaving.end() && left->second.executor == seed.executor;
  if (known == table->configs.end() && !is_leaving) {
    throw std::invalid_argument(
        fmt::format("agent '{}': there is no executor '{}' in the config", seed.name, seed.executor));
  }
  const ExecutorConfig& config = known != table->configs.end() ? known->second : left->second.config;
  const ExecutorIdentity* identity = nullptr;
  if (known != table->configs.end()) {
    const auto its = table->identities.find(seed.executor);
    if (its != table->identities.end()) identity = &its->second;
  } else if (left->second.identity) {
    identity = &*left->second.identity;
  }
  auto setup = std::make_unique<agent::AgentSetup>();
  setup->name = seed.name;
  setup->role = seed.role;
  setup->capabilities = capabilities_of(seed.capabilities, dispatch::name_of(seed.role), config);
  setup->swarm = seed.swarm;
  setup->attempt_timeout = config.timeout;
  if (kind_of(config).runs_programs) setup->executor_name = seed.executor;
  if (config.concurrency > 0 && known != table->configs.end()) setup->shared_executor = seed.executor;
  setup->prefetch = seed.prefetch;
  setup->is_paused = are_new_paused_;
  setup->executor = make_executor(config, identity);
  setup->registry = registry_;
  setup->options = table->options;
  return setup;
}

std::vector<std::pair<std::string, std::uint32_t>> Executors::shared() const {
  std::vector<std::pair<std::string, std::uint32_t>> all;
  const auto table = table_.get();
  for (const auto& [name, each] : table->configs) {
    if (each.concurrency > 0) all.emplace_back(name, each.concurrency);
  }
  return all;
}

dispatch::Role role_named(std::string_view name) {
  if (name == "specialist") return dispatch::Role::specialist;
  return name == "coordinator" ? dispatch::Role::coordinator : dispatch::Role::worker;
}

swarm::AgentSeed seed_of(const AgentConfig& agent) {
  return {agent.id, agent.swarm, agent.executor, role_named(agent.role), agent.capabilities, agent.prefetch};
}

ChildStarting start_agent(Self self, const Executors& executors, const swarm::AgentSeed& seed) {
  SpawnOptions options;
  options.link = true;
  options.init_here = true;
  const auto starting = self.start<agent::Agent>(options, executors.make(seed));
  if (starting.up) return ChildStart::ok(starting.up);
  return wait_for_start(starting);
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
