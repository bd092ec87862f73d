#include "skein/node/agent_hooks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>

#include "skein/dispatch/capability.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/node/asker.hpp"
#include "skein/node/config_service.hpp"
#include "skein/operations/methods.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/tree_view.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::inline v0::node {
namespace {

using operations::AgentDetail;
using operations::AgentStatusAnswer;
using operations::Code;
using operations::Error;
using Nothing = operations::Operations::Nothing;

constexpr Duration k_state_wait = std::chrono::milliseconds(500);
constexpr std::size_t k_agents_shown = 10'000;
constexpr std::string_view k_swarm_prefix = "swarm=";

double milliseconds(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

bool is_named(const Config& config, const std::string& id) {
  return std::ranges::find(config.agents, id, &AgentConfig::id) != config.agents.end();
}

// What is known without asking it.
AgentDetail known_of(NodeContext& context, const std::string& id, Pid pid) {
  AgentDetail detail;
  detail.id = id;
  detail.pid = pid;
  detail.status = "unreachable";
  for (std::string& each : context.registry->capabilities_of(id).value_or(std::vector<std::string>{})) {
    if (each.starts_with(k_swarm_prefix)) {
      detail.swarm = each.substr(k_swarm_prefix.size());
    } else {
      detail.capabilities.push_back(std::move(each));
    }
  }
  std::ranges::sort(detail.capabilities);
  detail.load = context.registry->get_load(id).value_or(0);
  if (const auto heartbeat = context.registry->get_last_heartbeat(id)) {
    detail.heartbeat_age_ms = static_cast<std::uint64_t>(milliseconds(heartbeat->ago));
  }
  detail.is_named = is_named(*context.config(), id);
  return detail;
}

void add_state(AgentDetail& detail, const agent::AgentState& state) {
  detail.role = dispatch::name_of(state.role);
  detail.status = agent::name_of(state.status);
  detail.executor = state.executor;
  detail.os_pid = static_cast<std::uint64_t>(state.os_pid);
  detail.slots = 1 + state.prefetch;
  detail.queue_length = state.queue_length;
  detail.executing_task = state.executing_task;
  detail.executing_type = state.executing_type;
  detail.executing_ms = static_cast<std::uint64_t>(milliseconds(state.executing_for));
  detail.completed = state.stats.tasks_completed;
  detail.failed = state.stats.tasks_failed;
  detail.returned = state.stats.tasks_returned;
}

// One that was paused before its process, or the node, was started knows nothing of it.
void add_passed_over(AgentDetail& detail, const dispatch::PassedOver& each) {
  detail.passed_over.push_back(each);
  if (each.why == dispatch::PassedOver::Why::paused && detail.status == "idle") detail.status = "paused";
}

using AskedPassedOver =
    decltype(std::declval<Self>().call<dispatch::Dispatcher>(Pid{}, dispatch::GetPassedOver{}, k_state_wait));

// Asked together with the agents; empty when there is no dispatcher at the moment.
AskedPassedOver ask_passed_over(Self self, std::string agent) {
  return self.call<dispatch::Dispatcher>(self.whereis(dispatch::k_dispatcher_name),
                                         dispatch::GetPassedOver{std::move(agent)}, k_state_wait);
}

// Those of [[agents]] that have no process: stopped by somebody, or given up for a while by their supervisor.
void add_absent(NodeContext& context, const std::vector<std::string>& wanted, std::vector<AgentDetail>& all) {
  const auto config = context.config();
  if (config->agents.empty()) return;
  const auto tree = read_tree(context.runtime, context.runtime.whereis(k_named_agents_name));
  if (!tree) return;
  for (const AgentConfig& each : config->agents) {
    const auto entry = std::ranges::find(tree->children, each.id, &TreeEntry::id);
    if (entry == tree->children.end() || entry->state == ChildState::running) continue;
    const auto executor = config->executors.find(each.executor);
    AgentDetail detail;
    detail.id = each.id;
    detail.status = entry->state == ChildState::down ? "stopped" : child_state_name(entry->state);
    detail.role = each.role;
    detail.swarm = each.swarm;
    detail.executor = each.executor;
    if (executor != config->executors.end()) {
      detail.capabilities = capabilities_of(each.capabilities, each.role, executor->second);
    }
    std::ranges::sort(detail.capabilities);
    detail.slots = each.prefetch + 1;
    detail.is_named = true;
    const auto has = [&](const std::string& one) { return std::ranges::binary_search(detail.capabilities, one); };
    if (std::ranges::all_of(wanted, has)) all.push_back(std::move(detail));
  }
}

Async<void> gather(Self self, ContextPtr context, std::vector<std::string> capabilities,
                   operations::Reply<std::vector<AgentDetail>> reply) {
  auto found = context->registry->query_agents(capabilities);
  if (!found) {
    reply.fail(operations::invalid(found.error().text()));
    co_return;
  }
  std::vector<std::string> ids = std::move(*found);
  std::ranges::sort(ids);
  if (ids.size() > k_agents_shown) ids.resize(k_agents_shown);
  // All are asked before the first is waited for.
  using Asked = decltype(self.call<agent::Agent>(Pid{}, agent::GetAgentState{}, k_state_wait));
  std::vector<AgentDetail> all;
  std::vector<Asked> asked;
  auto asking_dispatcher = ask_passed_over(self, {});
  for (const std::string& id : ids) {
    const Pid pid = context->registry->find_agent(id).value_or(Pid{});
    if (!pid) continue;
    all.push_back(known_of(*context, id, pid));
    asked.push_back(self.call<agent::Agent>(pid, agent::GetAgentState{}, k_state_wait));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto state = co_await asked[i];
    if (state) add_state(all[i], *state);
  }
  const auto passed_over = co_await asking_dispatcher;
  if (passed_over) {
    for (const dispatch::PassedOver& each : *passed_over) {
      const auto at = std::ranges::lower_bound(all, each.subject, {}, &AgentDetail::id);
      if (at != all.end() && at->id == each.subject) add_passed_over(*at, each);
    }
  }
  add_absent(*context, capabilities, all);
  std::ranges::sort(all, {}, &AgentDetail::id);
  reply(std::move(all));
}

Async<void> look_at(Self self, ContextPtr context, std::string id, operations::Reply<AgentStatusAnswer> reply) {
  const Pid pid = context->registry->find_agent(id).value_or(Pid{});
  AgentStatusAnswer answer;
  if (!pid) {
    std::vector<AgentDetail> absent;
    add_absent(*context, {}, absent);
    const auto at = std::ranges::find(absent, id, &AgentDetail::id);
    if (at == absent.end()) {
      reply.fail(no_agent(id));
    } else {
      answer.agent = std::move(*at);
      reply(std::move(answer));
    }
    co_return;
  }
  answer.agent = known_of(*context, id, pid);
  auto asking = self.call<agent::Agent>(pid, agent::GetAgentState{}, k_state_wait);
  const auto state = co_await asking;
  if (state) add_state(answer.agent, *state);
  auto asking_dispatcher = ask_passed_over(self, id);
  const auto passed_over = co_await asking_dispatcher;
  if (passed_over) {
    for (const dispatch::PassedOver& each : *passed_over) add_passed_over(answer.agent, each);
  }
  auto measuring = self.call<agent::Agent>(pid, agent::GetAgentMetrics{}, k_state_wait);
  const auto figures = co_await measuring;
  if (figures) {
    answer.success_rate = figures->success_rate;
    answer.avg_latency_ms = figures->avg_latency_ms;
  }
  auto listing = self.call<agent::Agent>(pid, agent::GetAgentTasks{}, k_state_wait);
  const auto past = co_await listing;
  if (past) {
    for (const agent::PastTask& each : *past) {
      answer.past.push_back({each.id, each.shape ? each.shape->type : "",
                             each.end == agent::TaskEnd::completed ? "completed" : "failed", each.attempt,
                             milliseconds(between(each.began, each.ended))});
    }
  }
  reply(std::move(answer));
}

// In the ledger, so that it outlives the agent, the dispatcher and the node; and the agent itself begins nothing more.
Async<void> set_paused(Self self, ContextPtr context, std::string id, bool is_paused,
                       operations::Reply<Nothing> reply) {
  const Pid pid = context->registry->find_agent(id).value_or(Pid{});
  if (!pid && !is_named(*context->config(), id)) {
    reply.fail(no_agent(id));
    co_return;
  }
  const auto work = context->work.get();
  if (!work) {
    reply.fail(operations::engine_is_away());
    co_return;
  }
  if (is_paused) {
    self.send(pid, dispatch::PauseAgent{});
  } else {
    self.send(pid, dispatch::ResumeAgent{});
  }
  const auto is_gone = [context](const std::string& name) {
    return !context->registry->find_agent(name) && !is_named(*context->config(), name);
  };
  work->operations().agent_set_paused(std::move(id), is_paused, is_gone, std::move(reply));
}

// One that is in neither of the node's own supervisors of agents.
Error declared_agent(const std::string& id) {
  return {Code::invalid, fmt::format("agent '{}' belongs to one of [[supervisors]], which would restart it", id),
          fmt::format("'skein agent pause {}' gives it no more tasks; to remove it, delete it from skein.toml and run "
                      "'skein reload'",
                      id),
          std::chrono::milliseconds(0)};
}

Async<void> end_agent(Self self, ContextPtr context, std::string id, operations::Reply<Nothing> reply) {
  const Pid pid = context->registry->find_agent(id).value_or(Pid{});
  if (!pid) {
    reply.fail(no_agent(id));
    co_return;
  }
  const bool named = is_named(*context->config(), id);
  if (named) {
    // By its supervisor, or it would be started again. Noted first: the supervisor may be restarted meanwhile.
    context->deployment.set_stopped(id, true);
    auto ending = terminate_child(self, self.whereis(k_named_agents_name), id, k_call_timeout);
    const auto ended = co_await ending;
    if (!ended) {
      context->deployment.set_stopped(id, false);
      reply.fail({Code::internal, fmt::format("agent '{}' could not be stopped", id), "see 'skein tree'", {}});
      co_return;
    }
  } else {
    auto ending = terminate_child(self, self.whereis(swarm::k_agent_pool_name), pid, k_call_timeout);
    const auto ended = co_await ending;
    if (!ended && context->registry->find_agent(id).value_or(Pid{}) == pid) {
      reply.fail(declared_agent(id));
      co_return;
    }
    // The next agent of this name is another one: it must not begin paused.
    if (const auto work = context->work.get()) {
      work->operations().agent_set_paused(
          std::move(id), false, [](const std::string&) { return false; }, std::move(reply));
      co_return;
    }
  }
  reply(Nothing{});
}

std::optional<Error> bad_request(NodeContext& context, const operations::SpawnAgentRequest& request) {
  constexpr std::array k_roles{dispatch::Role::worker, dispatch::Role::specialist, dispatch::Role::coordinator};
  const auto is_meant = [&](dispatch::Role role) { return request.role == dispatch::name_of(role); };
  if (std::ranges::none_of(k_roles, is_meant)) {
    return operations::invalid(fmt::format("there is no role '{}'", request.role),
                               "a role is worker, specialist or coordinator");
  }
  for (const std::string& each : request.capabilities) {
    if (auto problem = dispatch::capability_problem(each)) {
      return operations::invalid(std::move(*problem), "'skein agents' lists the capabilities of other agents");
    }
  }
  if (request.id.empty()) return std::nullopt;
  if (!operations::is_plain_name(request.id)) {
    return operations::invalid(fmt::format("'{}' is not a valid name for an agent", request.id),
                               std::string(operations::k_plain_name_advice));
  }
  if (context.registry->find_agent(request.id)) {
    return operations::invalid(fmt::format("an agent '{}' already exists", request.id), "choose another name, or none");
  }
  return std::nullopt;
}

// May block.
std::optional<Error> unknown_swarm(NodeContext& context, const std::string& swarm) {
  const auto work = context.work.get();
  if (!work) return operations::engine_is_away();
  const auto swarms = operations::ask<std::vector<operations::SwarmView>>(
      [&](auto reply) { work->operations().swarm_list(std::move(reply)); });
  if (!swarms) return swarms.error();
  std::vector<std::string> known;
  for (const operations::SwarmView& each : *swarms) known.push_back(each.name);
  if (std::ranges::find(known, swarm) != known.end()) return std::nullopt;
  return Error{Code::swarm_not_found,
               fmt::format("there is no swarm '{}'; there are {}", swarm, fmt::join(known, ", ")),
               "choose one of them, or create it first", std::chrono::milliseconds(0)};
}

Async<void> begin_agent(Self self, ContextPtr context, operations::SpawnAgentRequest request,
                        operations::Reply<std::string> reply) {
  if (!context->executors->has(request.executor)) {
    reply.fail(operations::invalid(fmt::format("there is no executor '{}' in the config", request.executor),
                                   "executors are defined in skein.toml only"));
    co_return;
  }
  if (const auto bad = bad_request(*context, request)) {
    reply.fail(*bad);
    co_return;
  }
  auto looking = self.blocking([context, swarm = request.swarm] { return unknown_swarm(*context, swarm); });
  const std::optional<Error> problem = co_await looking;
  if (problem) {
    reply.fail(*problem);
    co_return;
  }
  if (request.id.empty()) request.id = fmt::format("agent-{:08x}", std::random_device{}());
  const AgentConfig config{request.id,           request.executor, request.role,
                           request.capabilities, request.swarm,    request.prefetch};
  agent::AgentMaker maker = [executors = context->executors, seed = seed_of(config)] { return executors->make(seed); };
  std::any arguments = pool_arguments(std::move(maker));
  auto starting = start_pool_child(self, self.whereis(swarm::k_agent_pool_name), std::move(arguments), k_call_timeout);
  const auto started = co_await starting;
  if (!started) {
    const ExitReason& reason = started.error().reason;
    // Of a crash only what it says: the type of an exception helps nobody who types a name.
    const std::string why = reason.term().empty() ? reason.text() : reason.term();
    reply.fail(operations::invalid(fmt::format("agent '{}' could not be started: {}", request.id, why),
                                   "is the name already in use? 'skein agents' lists the agents"));
    co_return;
  }
  reply(request.id);
}

ledger::WallMs wall_ms_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

Error no_agent(const std::string& id) {
  return {Code::agent_not_found, fmt::format("there is no agent '{}'", id), "'skein agents' lists the agents",
          std::chrono::milliseconds(0)};
}

void publish(NodeContext& context, operations::Event event) {
  event.at = wall_ms_now();
  if (const auto work = context.work.get()) work->operations().events().publish(std::move(event));
}

void publish_or_keep(NodeContext& context, operations::Event event) {
  event.at = wall_ms_now();
  if (const auto work = context.work.get()) return work->operations().events().publish(std::move(event));
  context.supervision.keep(std::move(event));
  // It may have come meanwhile, and taken what was kept before.
  const auto work = context.work.get();
  if (!work) return;
  for (auto& each : context.supervision.take_kept()) work->operations().events().publish(std::move(each));
}

void ask_agents(const ContextPtr& context, std::vector<std::string> capabilities,
                operations::Reply<std::vector<AgentDetail>> reply) {
  ask_in_process(context->runtime, &gather, context, std::move(capabilities), std::move(reply));
}
void ask_agent(const ContextPtr& context, std::string id, operations::Reply<AgentStatusAnswer> reply) {
  ask_in_process(context->runtime, &look_at, context, std::move(id), std::move(reply));
}
void pause_agent(const ContextPtr& context, std::string id, bool is_paused, operations::Reply<Nothing> reply) {
  ask_in_process(context->runtime, &set_paused, context, std::move(id), is_paused, std::move(reply));
}
void stop_agent(const ContextPtr& context, std::string id, operations::Reply<Nothing> reply) {
  ask_in_process(context->runtime, &end_agent, context, std::move(id), std::move(reply));
}
void spawn_agent(const ContextPtr& context, operations::SpawnAgentRequest request,
                 operations::Reply<std::string> reply) {
  ask_in_process(context->runtime, &begin_agent, context, std::move(request), std::move(reply));
}

}  // namespace skein::inline v0::node
