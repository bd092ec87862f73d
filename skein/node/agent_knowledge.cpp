#include "skein/node/agent_knowledge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "skein/base/suggestion.hpp"
#include "skein/dispatch/placement_policy.hpp"
#include "skein/dispatch/swarm_load.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_suggested_of = 1'000;       // names that are compared with a mistyped one
constexpr std::size_t k_agents_looked_at = 1'000;   // of those who can do a task, for what else is known of them
constexpr std::size_t k_shapes_remembered = 1'000;  // of tasks, with whether somebody can do them
constexpr Duration k_remembered_for = std::chrono::seconds(1);
constexpr std::string_view k_of_swarm = "swarm=";

std::string seconds(Duration time) { return fmt::format("{} s", std::chrono::duration<double>(time).count()); }

class NodeAgents final : public operations::AgentKnowledge {
 public:
  explicit NodeAgents(std::weak_ptr<NodeContext> context) : context_(std::move(context)) {}

  [[nodiscard]] bool is_known(const std::string& agent) const override {
    const auto context = context_.lock();
    if (!context || context->registry->find_agent(agent)) return true;
    const auto config = context->config();
    return std::ranges::find(config->agents, agent, &AgentConfig::id) != config->agents.end();
  }

  [[nodiscard]] std::string suggestion(const std::string& agent) const override {
    const auto context = context_.lock();
    if (!context) return {};
    std::vector<std::string> names = context->registry->query_agents({}).value_or(std::vector<std::string>{});
    if (names.size() > k_suggested_of) names.resize(k_suggested_of);
    for (const AgentConfig& each : context->config()->agents) names.push_back(each.id);
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);  // those of the config that run
    names.erase(repeated.begin(), repeated.end());
    return skein::suggestion(agent, {names.begin(), names.end()});
  }

  [[nodiscard]] std::optional<std::string> swarm_of(const std::string& agent) const override {
    const auto context = context_.lock();
    if (!context) return std::nullopt;
    for (const std::string& each : context->registry->capabilities_of(agent).value_or(std::vector<std::string>{})) {
      if (each.starts_with(k_of_swarm)) return each.substr(k_of_swarm.size());
    }
    const auto config = context->config();
    const auto named = std::ranges::find(config->agents, agent, &AgentConfig::id);
    if (named == config->agents.end()) return std::nullopt;
    return named->swarm;
  }

  [[nodiscard]] bool may_unpin(std::string_view type, const ledger::Placement& where) const override {
    const auto context = context_.lock();
    return !context || dispatch::policy_for(where, type, context->config()->dispatch).may_unpin;
  }

  [[nodiscard]] std::string why_it_waits(const ledger::Task& task) const override {
    const auto context = context_.lock();
    if (!context) return {};
    const ledger::Placement& where = task.more().where();
    const auto policy = dispatch::policy_for(where, task.shape->type, context->config()->dispatch);
    const std::string then =
        policy.may_unpin
            ? fmt::format("; any agent that can do it may have it after {} of waiting", seconds(policy.wait))
            : "; no other agent may have it";
    return state_of(*context, where.agent, task) + then;
  }

  [[nodiscard]] std::optional<operations::AbleAgents> able_agents(
      const ledger::Shape& shape, bool has_own_agents, const operations::PausedNames& paused) const override {
    const auto context = context_.lock();
    if (!context) return std::nullopt;
    const RegistryTable& registry = *context->registry;
    operations::AbleAgents found;
    const std::string its_swarm = dispatch::swarm_capability(shape.swarm);
    found.of_swarm = registry.find_agents_by_capability(its_swarm, k_agents_looked_at).size();
    std::vector<std::string> needed = shape.required();
    if (has_own_agents) needed.push_back(its_swarm);
    const auto able = registry.query_agents(needed).value_or(std::vector<std::string>{});
    const bool is_any_failing = context->troubles.is_any();
    for (const std::string& each : able) {
      if (is_any_failing && context->troubles.why(each)) continue;
      if (!paused.has_agent(each)) {
        if (found.able++ < k_agents_looked_at && registry.get_load(each).value_or(0) > 0) ++found.busy;
      } else {
        found.is_paused_one_kept |= has_own_agents && registry.mark_of(each).value_or(0) != 0;
        if (found.paused_count++ < operations::k_agents_named) found.paused.push_back(each);
      }
    }
    if (found.able > 0) return found;
    found.stopped = named_agents(*context, shape, has_own_agents,
                                 [&](const std::string& agent) { return context->deployment.is_stopped(agent); });
    const auto failing = named_agents(*context, shape, has_own_agents, [&](const std::string& agent) {
      return is_any_failing && context->troubles.why(agent).has_value();
    });
    if (!failing.empty()) {
      found.failing = failing.front();
      found.failing_why = context->troubles.why(failing.front()).value_or("it ended");
    }
    if (has_own_agents) found.elsewhere = swarms_that_can(registry, shape.required());
    return found;
  }

  [[nodiscard]] bool is_stopping() const override {
    const auto context = context_.lock();
    return !context || context->state == NodeState::draining || context->state == NodeState::stopping;
  }

  [[nodiscard]] bool is_likely_able(std::string_view swarm, std::span<const std::string> required,
                                    const operations::PausedNames& paused) const override {
    const auto context = context_.lock();
    if (!context) return true;
    std::string shape(swarm);
    for (const std::string& each : required) shape.append("\n").append(each);
    const Instant now = context->runtime.now();
    if (context->troubles.is_any()) return is_able_now(*context, swarm, required, paused);
    {
      const std::scoped_lock lock(mutex_);
      const auto known = remembered_.find(shape);
      const bool is_fresh = known != remembered_.end() && known->second.paused == paused.number &&
                            between(known->second.at, now) < k_remembered_for;
      if (is_fresh) return known->second.is_able;
    }
    const bool is_able = is_able_now(*context, swarm, required, paused);
    const std::scoped_lock lock(mutex_);
    if (remembered_.size() >= k_shapes_remembered) remembered_.clear();
    remembered_[std::move(shape)] = {is_able, now, paused.number};
    return is_able;
  }

 private:
  struct Remembered {
    bool is_able = true;
    Instant at{};
    std::uint64_t paused = 0;  // the number of what was paused then
  };

  // A swarm with agents of its own needs one of those; any other takes any able agent. Which of the two it is, only the
  // ledger knows: so here a swarm without any agent counts as one of the latter.
  [[nodiscard]] static bool is_able_now(const NodeContext& context, std::string_view swarm,
                                        std::span<const std::string> required, const operations::PausedNames& paused) {
    const RegistryTable& registry = *context.registry;
    std::vector<std::string> needed(required.begin(), required.end());
    const std::string its_swarm = dispatch::swarm_capability(swarm);
    if (!registry.find_agents_by_capability(its_swarm, 1).empty()) needed.push_back(its_swarm);
    const auto able = registry.query_agents(needed);
    const bool is_any_failing = context.troubles.is_any();
    if (paused.agents.empty() && !is_any_failing) return able && !able->empty();
    return able && !std::ranges::all_of(*able, [&](const std::string& each) {
             return paused.has_agent(each) || (is_any_failing && context.troubles.why(each));
           });
  }

  // Of [[agents]], those that could do it and are as `is_wanted` says.
  template <class Wanted>
  [[nodiscard]] static std::vector<std::string> named_agents(NodeContext& context, const ledger::Shape& shape,
                                                             bool has_own_agents, Wanted is_wanted) {
    std::vector<std::string> found;
    const auto config = context.config();
    for (const AgentConfig& each : config->agents) {
      const auto executor = config->executors.find(each.executor);
      const bool may_have_it = !has_own_agents || each.swarm == shape.swarm;
      if (!may_have_it || executor == config->executors.end() || !is_wanted(each.id)) continue;
      const auto has = capabilities_of(each.capabilities, each.role, executor->second);
      const auto is_had = [&](const std::string& one) { return std::ranges::find(has, one) != has.end(); };
      if (std::ranges::all_of(shape.required(), is_had)) found.push_back(each.id);
      if (found.size() == operations::k_agents_named) break;
    }
    return found;
  }

  [[nodiscard]] static std::vector<std::string> swarms_that_can(const RegistryTable& registry,
                                                                const std::vector<std::string>& required) {
    std::set<std::string> swarms;
    auto able = registry.query_agents(required).value_or(std::vector<std::string>{});
    if (able.size() > k_agents_looked_at) able.resize(k_agents_looked_at);
    for (const std::string& agent : able) {
      for (const std::string& each : registry.capabilities_of(agent).value_or(std::vector<std::string>{})) {
        if (each.starts_with(k_of_swarm)) swarms.insert(each.substr(k_of_swarm.size()));
      }
      if (swarms.size() >= operations::k_swarms_named) break;
    }
    return {swarms.begin(), swarms.end()};
  }

  [[nodiscard]] static std::string state_of(const NodeContext& context, const std::string& agent,
                                            const ledger::Task& task) {
    if (const auto why = context.troubles.why(agent)) {
      return fmt::format("agent '{}' fails each time it starts: {}", agent, *why);
    }
    if (!context.registry->find_agent(agent)) return fmt::format("agent '{}' is not running", agent);
    const auto has = context.registry->capabilities_of(agent).value_or(std::vector<std::string>{});
    std::vector<std::string> lacking;
    for (const std::string& each : task.shape->required()) {
      if (std::ranges::find(has, each) == has.end()) lacking.push_back(each);
    }
    if (!lacking.empty()) return fmt::format("agent '{}' cannot do it: it lacks {}", agent, fmt::join(lacking, ", "));
    const auto load = context.registry->get_load(agent).value_or(0);
    if (load > 0) return fmt::format("agent '{}' has {} other task{}", agent, load, load == 1 ? "" : "s");
    return fmt::format("agent '{0}' is running and accepts no tasks at the moment: see 'skein agent show {0}'", agent);
  }

  std::weak_ptr<NodeContext> context_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Remembered> remembered_;  // by swarm and what is needed
};

}  // namespace

std::shared_ptr<const operations::AgentKnowledge> agent_knowledge(const ContextPtr& context) {
  return std::make_shared<NodeAgents>(context);
}

}  // namespace skein::inline v0::node
