#include "skein/node/deployment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <utility>

#include "skein/base/toml.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::string_view k_agent_prefix = "agent/";
constexpr std::string_view k_supervisor_prefix = "supervisor/";

std::string mark_of_agent(const AgentConfig& agent, const ExecutorMark& mark_of) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", agent.id, agent.executor, agent.role,
                     fmt::join(agent.capabilities, ","), agent.swarm, agent.prefetch, mark_of(agent.executor));
}

// The agents in a tree of [[supervisors]], and the marks of their executors.
void collect(const toml::node& node, const ExecutorMark& mark_of, Unit& unit) {
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& each : *array) collect(each, mark_of, unit);
    return;
  }
  const toml::table* table = node.as_table();
  if (table == nullptr) return;
  if (const toml::table* params = table->get_as<toml::table>("params")) {
    const auto text = [&](std::string_view key, std::string_view otherwise) {
      const toml::node* value = params->get(key);
      return value != nullptr ? value->value<std::string>().value_or(std::string(otherwise)) : std::string(otherwise);
    };
    unit.agents.push_back(text("id", ""));
    unit.mark += fmt::format("\n{}", mark_of(text("executor", k_function_executor)));
    return;
  }
  for (const auto& [key, each] : *table) collect(each, mark_of, unit);
}

}  // namespace

std::string child_id_of(const std::string& unit) { return unit.substr(unit.find('/') + 1); }

std::string agent_unit(const std::string& id) { return std::string(k_agent_prefix) + id; }

Units wanted_units(const Config& config, const ExecutorMark& mark_of) {
  Units units;
  for (const AgentConfig& each : config.agents) {
    units[agent_unit(each.id)] = {false, mark_of_agent(each, mark_of), {each.id}};
  }
  const toml::parse_result parsed = toml::parse(config.text);
  const toml::array* trees = parsed ? parsed.table().get_as<toml::array>("supervisors") : nullptr;
  if (trees == nullptr) return units;
  for (const toml::node& each : *trees) {
    const toml::table* tree = each.as_table();
    const toml::node* name = tree != nullptr ? tree->get("name") : nullptr;
    if (name == nullptr) continue;
    std::ostringstream text;
    text << *tree;
    Unit unit{true, text.str(), {}};
    collect(each, mark_of, unit);
    units[std::string(k_supervisor_prefix) + name->value<std::string>().value_or("")] = std::move(unit);
  }
  return units;
}

DeploymentPlan plan_deployment(const Units& there, const Units& wanted) {
  DeploymentPlan plan;
  for (const auto& [name, unit] : there) {
    const auto now = wanted.find(name);
    if (now == wanted.end()) {
      plan.end.push_back(name);
    } else {
      (now->second.mark == unit.mark ? plan.keep : plan.replace).push_back(name);
    }
  }
  for (const auto& [name, unit] : wanted) {
    if (!there.contains(name)) plan.start.push_back(name);
  }
  return plan;
}

Units Deployment::units() const {
  const std::scoped_lock lock(mutex_);
  return units_;
}

void Deployment::note(const std::string& name, Unit unit) {
  const std::scoped_lock lock(mutex_);
  units_.insert_or_assign(name, std::move(unit));
}

void Deployment::forget(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  units_.erase(name);
  stopped_.erase(child_id_of(name));
}

void Deployment::set_stopped(const std::string& agent, bool is_stopped) {
  const std::scoped_lock lock(mutex_);
  if (is_stopped) {
    stopped_.insert(agent);
  } else {
    stopped_.erase(agent);
  }
}

bool Deployment::is_stopped(const std::string& agent) const {
  const std::scoped_lock lock(mutex_);
  return stopped_.contains(agent);
}

void Deployment::note_all(const Units& wanted, bool are_supervisors) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(units_, [&](const auto& each) { return each.second.is_supervisor == are_supervisors; });
  for (const auto& [name, unit] : wanted) {
    if (unit.is_supervisor == are_supervisors) units_.insert_or_assign(name, unit);
  }
}

}  // namespace skein::inline v0::node
