#include "skein/node/agent_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "skein/agent/agent.hpp"
#include "skein/dispatch/capability.hpp"
#include "skein/node/agent_hooks.hpp"
#include "skein/node/asker.hpp"
#include "skein/node/config_service.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/tree_view.hpp"

namespace skein::inline v0::node {
namespace {

using operations::Code;
using operations::Error;
using Nothing = operations::Operations::Nothing;

constexpr Duration k_restart_wait = std::chrono::seconds(60);  // a child may take its time to stop

Error no_answer(const std::string& id) {
  return {Code::stopped, fmt::format("agent '{}' did not answer", id), "try again; 'skein agent show' shows its state",
          std::chrono::milliseconds(100)};
}

Error runs_already(const std::string& id) {
  return {Code::wrong_state, fmt::format("agent '{}' is already running", id),
          "'skein agent resume' resumes a paused agent", std::chrono::milliseconds(0)};
}

Async<void> begin_again(Self self, ContextPtr context, std::string id, operations::Reply<Nothing> reply) {
  const auto config = context->config();
  const bool is_named = std::ranges::find(config->agents, id, &AgentConfig::id) != config->agents.end();
  if (!is_named) {
    const bool is_there = context->registry->find_agent(id).has_value();
    reply.fail(is_there ? runs_already(id)
                        : Error{Code::agent_not_found, fmt::format("the config has no agent '{}'", id),
                                "only agents of [[agents]] can be started again; 'skein agent spawn' starts another, "
                                "and swarms start theirs by themselves",
                                std::chrono::milliseconds(0)});
    co_return;
  }
  context->deployment.set_stopped(id, false);
  auto starting = restart_child(self, self.whereis(k_named_agents_name), id, k_call_timeout);
  const auto started = co_await starting;
  if (started) {
    reply(Nothing{});
    co_return;
  }
  const ChildFailure failure = started.error().failure;
  if (failure == ChildFailure::running) {
    reply.fail(runs_already(id));
  } else if (failure == ChildFailure::restarting) {
    reply.fail({Code::wrong_state, fmt::format("agent '{}' is being started", id), "wait for it",
                std::chrono::milliseconds(0)});
  } else {
    reply.fail({Code::internal, fmt::format("agent '{}' could not be started: {}", id, started.error().text()),
                "see 'skein tree' and the node's log", std::chrono::milliseconds(0)});
  }
}

Async<void> change_agent(Self self, ContextPtr context, operations::UpdateAgentRequest request,
                         operations::Reply<Nothing> reply) {
  const Pid pid = context->registry->find_agent(request.id).value_or(Pid{});
  if (!pid) {
    reply.fail(no_agent(request.id));
    co_return;
  }
  ledger::Fields fields;
  if (request.prefetch) fields["prefetch"] = std::to_string(*request.prefetch);
  if (!request.capabilities.empty()) fields["capabilities"] = fmt::format("{}", fmt::join(request.capabilities, ","));
  if (fields.empty()) {
    reply.fail(operations::invalid("the request changes nothing", "give prefetch, capabilities or both"));
    co_return;
  }
  for (const std::string& each : request.capabilities) {
    if (auto problem = dispatch::capability_problem(each)) {
      reply.fail(operations::invalid(std::move(*problem), "'skein agents' lists the capabilities of other agents"));
      co_return;
    }
  }
  agent::UpdateAgent change{std::move(fields)};
  auto asking = self.call<agent::Agent>(pid, std::move(change), k_call_timeout);
  const auto answer = co_await asking;
  if (!answer) {
    reply.fail(no_answer(request.id));
  } else if (!answer->problem.empty()) {
    reply.fail(operations::invalid(fmt::format("agent '{}': {}", request.id, answer->problem)));
  } else {
    reply(Nothing{});
  }
}

Async<void> cut_short(Self self, ContextPtr context, std::string id,
                      operations::Reply<operations::CancelAgentAnswer> reply) {
  const Pid pid = context->registry->find_agent(id).value_or(Pid{});
  if (!pid) {
    reply.fail(no_agent(id));
    co_return;
  }
  auto looking = self.call<agent::Agent>(pid, agent::GetAgentState{}, k_call_timeout);
  const auto state = co_await looking;
  auto asking = self.call<agent::Agent>(pid, agent::CancelExecuting{}, k_call_timeout);
  const auto answer = co_await asking;
  if (!state || !answer) {
    reply.fail(no_answer(id));
    co_return;
  }
  operations::CancelAgentAnswer cancelled;
  if (*answer == agent::CancelAnswer::asked_to_stop) cancelled.task = state->executing_task;
  reply(cancelled);
}

struct TreePlace {
  Pid supervisor;
  TreeEntry child;
};

// By its path from the root or below it. A child of a pool goes by the name that the tree shows for it, or by its Pid.
std::optional<TreePlace> find_place(const NodeContext& context, const TreeEntry& above, std::string_view path) {
  if (path.starts_with("node_sup/")) path.remove_prefix(std::string_view("node_sup/").size());
  Pid named = context.runtime.whereis(path);
  if (!named) named = context.registry->find_agent(path).value_or(Pid{});
  for (const TreeEntry& each : above.children) {
    const std::string name = each.id.empty() ? each.pid.text() : each.id;
    if (path == name || (named && each.id.empty() && each.pid == named)) return TreePlace{above.pid, each};
    if (path.starts_with(name) && path[name.size()] == '/') {
      return find_place(context, each, path.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

Async<void> restart_place(Self self, ContextPtr context, std::string path, operations::Reply<std::string> reply) {
  if (path == "node_sup") {
    reply.fail(operations::invalid("'node_sup' is the root of the tree and cannot be restarted by itself",
                                   "restart the node: 'skein stop', then 'skein up'"));
    co_return;
  }
  const auto tree = read_tree(context->runtime, context->root);
  const auto place = tree ? find_place(*context, *tree, path) : std::nullopt;
  if (!place) {
    reply.fail({Code::process_not_found, fmt::format("the supervision tree has nothing at '{}'", path),
                "give a path as 'skein tree' shows it, such as agents_sup/named_agents/ada",
                std::chrono::milliseconds(0)});
    co_return;
  }
  if (place->child.id.empty()) {
    reply.fail(operations::invalid(fmt::format("'{}' belongs to a pool and cannot be restarted by itself", path),
                                   "stop it instead: whoever started it starts another one"));
    co_return;
  }
  const std::string id = place->child.id;
  if (place->child.state == ChildState::running) {
    auto ending = terminate_child(self, place->supervisor, id, k_restart_wait);
    const auto ended = co_await ending;
    if (!ended) {
      reply.fail({Code::internal, fmt::format("'{}' could not be stopped: {}", path, ended.error().text()),
                  "see 'skein tree' and the node's log", std::chrono::milliseconds(0)});
      co_return;
    }
  }
  if (place->supervisor == self.whereis(k_named_agents_name)) context->deployment.set_stopped(id, false);
  auto starting = restart_child(self, place->supervisor, id, k_restart_wait);
  const auto started = co_await starting;
  // Its own supervisor may have been faster.
  const bool is_there = started || started.error().failure == ChildFailure::running;
  if (!is_there && started.error().failure == ChildFailure::restarting) {
    reply.fail({Code::wrong_state, fmt::format("'{}' is being restarted by its supervisor", path),
                "wait for it; 'skein tree' shows its last failure", std::chrono::milliseconds(0)});
    co_return;
  }
  if (!is_there) {
    reply.fail({Code::internal, fmt::format("'{}' could not be started: {}", path, started.error().text()),
                "see 'skein tree' and the node's log", std::chrono::milliseconds(0)});
    co_return;
  }
  context->log.info(fmt::format("{} was restarted on demand", path));
  reply(started ? fmt::format("{} {}", path, started->pid.text()) : path);
}

}  // namespace

void start_agent_again(const ContextPtr& context, std::string id, operations::Reply<Nothing> reply) {
  ask_in_process(context->runtime, &begin_again, context, std::move(id), std::move(reply));
}
void update_agent(const ContextPtr& context, operations::UpdateAgentRequest request, operations::Reply<Nothing> reply) {
  ask_in_process(context->runtime, &change_agent, context, std::move(request), std::move(reply));
}
void cancel_agent(const ContextPtr& context, std::string id, operations::Reply<operations::CancelAgentAnswer> reply) {
  ask_in_process(context->runtime, &cut_short, context, std::move(id), std::move(reply));
}
void restart_in_tree(const ContextPtr& context, std::string path, operations::Reply<std::string> reply) {
  ask_in_process(context->runtime, &restart_place, context, std::move(path), std::move(reply));
}

}  // namespace skein::inline v0::node
