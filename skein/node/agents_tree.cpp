#include "skein/node/agents_tree.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "skein/node/config_service.hpp"
#include "skein/node/declared_supervisors.hpp"
#include "skein/node/executors.hpp"
#include "skein/node/named_pool.hpp"
#include "skein/supervision/trees.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::inline v0::node {
namespace {

using namespace trees;
using namespace std::chrono_literals;

using Build = std::function<SupervisorSpec(const ContextPtr&)>;

// A supervisor whose spec is made each time it starts, registered under its name.
ChildSpec built_at_start(const ContextPtr& context, std::string_view name, Build build) {
  ChildSpec spec = supervisor_child(std::string(name), SupervisorSpec{});
  spec.start = [context, name = std::string(name), build = std::move(build)](Self self, const std::any&) {
    return start_linked<Supervisor>(self, name, k_supervisor_mailbox_limit, build(context));
  };
  return spec;
}

Units wanted_now(NodeContext& context) {
  return wanted_units(*context.config(),
                      [&](const std::string& executor) { return context.executors->mark_of(executor); });
}

AgentStarter agent_starter(const ContextPtr& context) {
  return [executors = context->executors](const AgentConfig& agent) -> StartFunction {
    return
        [executors, seed = seed_of(agent)](Self self, const std::any&) { return start_agent(self, *executors, seed); };
  };
}

ChildSpec declared(SupervisorSpec spec) {
  std::string name = spec.name;
  return supervisor_child(std::move(name), std::move(spec)).labelled("agent supervisor");
}

SupervisorSpec named_agents(const ContextPtr& context) {
  context->deployment.note_all(wanted_now(*context), false);
  std::vector<ChildSpec> named;
  for (const AgentConfig& each : context->config()->agents) named.push_back(named_agent_child(context, each));
  return supervisor(std::string(k_named_agents_name), one_for_one, {5, 60s}, std::move(named));
}

SupervisorSpec all_agents(const ContextPtr& context) {
  context->deployment.note_all(wanted_now(*context), true);
  std::vector<ChildSpec> children;
  if (auto watch = context->executors->owner_watch()) children.push_back(std::move(*watch).labelled("service"));
  children.push_back(registered(pool("agent_pool", {10, 60s}, agent_template()), swarm::k_agent_pool_name));
  children.push_back(built_at_start(context, k_named_agents_name, &named_agents));
  for (SupervisorSpec& each : declared_supervisors(*context->config(), agent_starter(context))) {
    children.push_back(declared(std::move(each)));
  }
  return supervisor(std::string(k_agents_sup_name), one_for_one, {5, 60s}, std::move(children));
}

}  // namespace

ChildSpec agents_sup(const ContextPtr& context) {
  return built_at_start(context, k_agents_sup_name, &all_agents).labelled("agent supervisor");
}

ChildSpec named_agent_child(const ContextPtr& context, const AgentConfig& agent) {
  ChildSpec spec = named_agent(context->executors, agent);
  spec.start = [context, id = agent.id, start = std::move(spec.start)](Self self,
                                                                       const std::any& arguments) -> ChildStarting {
    if (context->deployment.is_stopped(id)) return ChildStart::ignore();
    context->troubles.starts(id);
    return start(self, arguments);
  };
  return spec;
}

std::optional<ChildSpec> declared_supervisor_child(const ContextPtr& context, const Config& config,
                                                   const std::string& name) {
  for (SupervisorSpec& each : declared_supervisors(config, agent_starter(context))) {
    if (each.name == name) return declared(std::move(each));
  }
  return std::nullopt;
}

}  // namespace skein::inline v0::node
