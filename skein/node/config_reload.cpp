#include "skein/node/config_reload.hpp"

#include <fmt/format.h>

#include <utility>

#include "skein/node/config_keys.hpp"

namespace skein::inline v0::node {

ReloadPlan plan_reload(const Config& before, const Config& read) {
  ReloadPlan plan{before, {}};
  Config& merged = plan.config;
  const auto section = [&]<class S>(std::string_view name, S& into, const S& from) {
    for (const std::string& key : take_live(into, from)) plan.needs_restart.push_back(fmt::format("{} {}", name, key));
  };
  section("[node]", merged.node, read.node);
  section("[limits]", merged.limits, read.limits);
  section("[dispatch]", merged.dispatch, read.dispatch);
  section("[journal]", merged.journal, read.journal);
  section("[archive]", merged.archive, read.archive);
  section("[operations]", merged.operations, read.operations);
  section("[socket]", merged.socket, read.socket);
  section("[http]", merged.http, read.http);
  section("[tcp]", merged.tcp, read.tcp);
  // These have tables of their own below [dispatch].
  merged.dispatch.strategy = read.dispatch.strategy;
  merged.dispatch.retry = read.dispatch.retry;
  merged.dispatch.types = read.dispatch.types;
  merged.executors = read.executors;
  merged.swarms = read.swarms;
  merged.agents = read.agents;
  merged.text = read.text;  // of [[supervisors]]
  merged.executor_lines = read.executor_lines;
  merged.misfits = read.misfits;
  return plan;
}

std::vector<std::string> changed_executors(const Config& before, const Config& after) {
  std::vector<std::string> changed;
  for (const auto& [name, executor] : after.executors) {
    const auto old = before.executors.find(name);
    if (old == before.executors.end()) {
      changed.push_back(fmt::format("executor '{}' added", name));
    } else if (old->second != executor) {
      changed.push_back(fmt::format("executor '{}' changed; its agents are replaced once idle", name));
    }
  }
  for (const auto& [name, executor] : before.executors) {
    if (!after.executors.contains(name)) changed.push_back(fmt::format("executor '{}' removed", name));
  }
  return changed;
}

}  // namespace skein::inline v0::node
