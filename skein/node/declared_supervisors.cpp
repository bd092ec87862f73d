#include "skein/node/declared_supervisors.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>

#include "skein/base/suggestion.hpp"
#include "skein/dispatch/capability.hpp"
#include "skein/supervision/tree_toml.hpp"

namespace skein::inline v0::node {
namespace {

[[noreturn]] void wrong(const std::string& message) { throw std::invalid_argument(message); }

std::string checked_executor(const Config& config, const std::string& name) {
  if (config.executors.contains(name)) return name;
  std::vector<std::string_view> known;
  known.reserve(config.executors.size());
  for (const auto& [each, value] : config.executors) known.push_back(each);
  wrong(fmt::format("there is no executor '{}'{}", name, suggestion(name, known)));
}

AgentConfig agent_of(const Config& config, const WorkerParams& params) {
  static const std::vector<std::string_view> k_known{"id", "executor", "role", "capabilities", "swarm", "prefetch"};
  AgentConfig agent;
  for (const auto& [key, value] : params) {
    if (key == "id") {
      agent.id = value;
    } else if (key == "executor") {
      agent.executor = value;
    } else if (key == "role") {
      agent.role = value;
    } else if (key == "swarm") {
      agent.swarm = value;
    } else if (key == "capabilities") {
      std::istringstream words(value);
      for (std::string word; words >> word;) {
        if (const auto problem = dispatch::capability_problem(word)) wrong(*problem);
        agent.capabilities.push_back(word);
      }
    } else if (key == "prefetch") {
      const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), agent.prefetch);
      if (error != std::errc() || rest != value.data() + value.size() || agent.prefetch > 100) {
        wrong("prefetch must be from 0 to 100");
      }
    } else {
      wrong(fmt::format("unknown param '{}'{}", key, suggestion(key, k_known)));
    }
  }
  if (agent.id.empty()) wrong("an agent needs params = { id = \"...\" }");
  if (agent.role != "worker" && agent.role != "specialist" && agent.role != "coordinator") {
    wrong(fmt::format("unknown role '{}'{}", agent.role,
                      suggestion(agent.role, {"worker", "specialist", "coordinator"})));
  }
  agent.executor = checked_executor(config, agent.executor);
  return agent;
}

std::expected<std::vector<SupervisorSpec>, std::vector<TreeFault>> build(const Config& config,
                                                                         const AgentStarter& start) {
  const auto ids = std::make_shared<std::set<std::string>>();
  for (const AgentConfig& each : config.agents) ids->insert(each.id);
  const WorkerTypes types{{"agent", [&config, &start, ids](const WorkerParams& params) {
                             const AgentConfig agent = agent_of(config, params);
                             if (!ids->insert(agent.id).second) wrong("the agent '" + agent.id + "' is defined twice");
                             return start(agent);
                           }}};
  return trees_from_toml(config.text, "supervisors", types);
}

}  // namespace

std::vector<ConfigFault> check_declared_supervisors(const Config& config) {
  const AgentStarter nobody = [](const AgentConfig&) -> StartFunction {
    return [](Self, const std::any&) -> ChildStarting { return ChildStart::ignore(); };
  };
  std::vector<ConfigFault> faults;
  const auto built = build(config, nobody);
  if (built) return faults;
  for (const TreeFault& each : built.error()) faults.push_back({each.line, "[[supervisors]] " + each.message});
  return faults;
}

std::vector<SupervisorSpec> declared_supervisors(const Config& config, const AgentStarter& start) {
  auto built = build(config, start);
  return built ? std::move(*built) : std::vector<SupervisorSpec>{};
}

}  // namespace skein::inline v0::node
