#include "skein/node/agent_knowledge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "skein/base/suggestion.hpp"
#include "skein/dispatch/placement_policy.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_suggested_of = 1'000;  // names that are compared with a mistyped one

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
    return skein::suggestion(agent, {names.begin(), names.end()});
  }

  [[nodiscard]] bool may_fall_back(std::string_view type, const ledger::Placement& where) const override {
    const auto context = context_.lock();
    return !context || dispatch::policy_for(where, type, context->config()->dispatch).may_fall_back;
  }

  [[nodiscard]] std::string why_it_waits(const ledger::Task& task) const override {
    const auto context = context_.lock();
    if (!context) return {};
    const ledger::Placement& where = task.more().where();
    const auto policy = dispatch::policy_for(where, task.shape->type, context->config()->dispatch);
    const std::string then =
        policy.may_fall_back
            ? fmt::format("; any agent that can do it may have it after {} of waiting", seconds(policy.wait))
            : "; no other agent may have it";
    return state_of(*context, where.agent, task) + then;
  }

 private:
  [[nodiscard]] static std::string state_of(const NodeContext& context, const std::string& agent,
                                            const ledger::Task& task) {
    if (!context.registry->find_agent(agent)) return fmt::format("agent '{}' is not here", agent);
    const auto has = context.registry->capabilities_of(agent).value_or(std::vector<std::string>{});
    std::vector<std::string> lacking;
    for (const std::string& each : task.shape->required()) {
      if (std::ranges::find(has, each) == has.end()) lacking.push_back(each);
    }
    if (!lacking.empty()) return fmt::format("agent '{}' cannot do it: it lacks {}", agent, fmt::join(lacking, ", "));
    const auto load = context.registry->get_load(agent).value_or(0);
    if (load > 0) return fmt::format("agent '{}' has {} other task{}", agent, load, load == 1 ? "" : "s");
    return fmt::format("agent '{}' is here and takes nothing at the moment: see 'skein agent show {}'", agent, agent);
  }

  std::weak_ptr<NodeContext> context_;
};

}  // namespace

std::shared_ptr<const operations::AgentKnowledge> agent_knowledge(const ContextPtr& context) {
  return std::make_shared<NodeAgents>(context);
}

}  // namespace skein::inline v0::node
