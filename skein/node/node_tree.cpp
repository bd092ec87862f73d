#include "skein/node/node_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "skein/control/listener.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/node/agent_hooks.hpp"
#include "skein/node/agents_tree.hpp"
#include "skein/node/asker.hpp"
#include "skein/node/config_service.hpp"
#include "skein/node/dispatch_log.hpp"
#include "skein/node/engine.hpp"
#include "skein/node/http_transport.hpp"
#include "skein/node/named_pool.hpp"
#include "skein/node/network.hpp"
#include "skein/node/task_service.hpp"
#include "skein/node/tcp_transport.hpp"
#include "skein/node/watchdog.hpp"
#include "skein/registry/registry.hpp"
#include "skein/supervision/trees.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::inline v0::node {
namespace {

using namespace trees;
using namespace std::chrono_literals;

constexpr Duration k_journal_shutdown = 30s;  // it writes what it accepted

ledger::WallMs wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

std::uint64_t entropy() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

// Made for the present engine at each start; its clock keeps the engine alive as long as needed.
ChildStarting start_dispatcher(Self self, const ContextPtr& context) {
  auto engine = context->engine.get();
  if (!engine) return ChildStart::error(ExitReason::custom("the journal engine is not running"));
  auto setup = std::make_unique<dispatch::DispatcherSetup>();
  setup->runtime = &context->runtime;
  setup->journal = engine->journal.get();
  setup->ledger = &engine->ledger;
  setup->options = context->config()->dispatch;
  setup->options.executors = context->executors->shared();
  setup->options.dead_fence = context->dead_fence.value_or(0);
  setup->wall_clock = [engine = std::move(engine)] { return wall_now(); };
  setup->entropy = entropy;
  setup->learned = context->learned->text();
  setup->on_learned = [table = context->learned](std::string text) { table->keep(std::move(text)); };
  setup->on_event = [weak = std::weak_ptr<NodeContext>(context)](const dispatch::DispatchEvent& event) {
    const auto node = weak.lock();
    if (!node) return;
    if (event.kind == dispatch::DispatchEvent::Kind::agent_joined) node->troubles.joined(event.subject);
    const LogLine line = line_of(event);
    node->log(line.level, line.text);
    if (auto told = event_of(event)) publish(*node, std::move(*told));
    const auto work = node->work.get();
    if (const auto held = held_type_of(event); held && work) {
      work->operations().set_type_held(*held, event.kind != dispatch::DispatchEvent::Kind::breaker_closed);
    }
  };
  if (const auto work = context->work.get()) work->operations().forget_types_held();
  SpawnOptions options;
  options.link = true;
  options.init_here = true;
  options.name = dispatch::k_dispatcher_name;
  const auto starting = self.start<dispatch::Dispatcher>(options, std::move(setup));
  if (starting.up) return ChildStart::ok(starting.up);
  return wait_for_start(starting);
}

ChildSpec dispatcher(const ContextPtr& context) {
  ChildSpec spec;
  spec.id = "dispatcher";
  spec.what = "Dispatcher";
  spec.start = [context](Self self, const std::any&) { return start_dispatcher(self, context); };
  return std::move(spec).labelled("service");
}

ChildSpec swarms(const ContextPtr& context) {
  auto setup = std::make_shared<swarm::CoordinatorSetup>();
  setup->registry = context->registry;
  setup->make_agent = [executors = context->executors](const swarm::AgentSeed& seed) { return executors->make(seed); };
  setup->executor_mark = [executors = context->executors](const std::string& executor, const std::string& swarm) {
    return executors->mark_of(executor, swarm);
  };
  setup->is_reserved = [weak = std::weak_ptr<NodeContext>(context)](const std::string& id) {
    const auto alive = weak.lock();
    if (!alive) return false;
    const auto config = alive->config();
    return std::ranges::find(config->agents, id, &AgentConfig::id) != config->agents.end();
  };
  using Problems = swarm::CoordinatorSetup::Problems;
  setup->on_problems = [weak = std::weak_ptr<NodeContext>(context)](const std::string& swarm, const Problems& now,
                                                                    const Problems& before) {
    const auto alive = weak.lock();
    if (!alive) return;
    for (const std::string& each : now) {
      const bool is_new = std::ranges::find(before, each) == before.end();
      if (is_new) alive->log.warning(fmt::format("swarm '{}': {}", swarm, each));
    }
    if (now.empty() && !before.empty()) alive->log.info(fmt::format("swarm '{}': all is well again", swarm));
    if (const auto work = alive->work.get()) work->operations().set_swarm_problems(swarm, now);
  };
  ChildSpec coordinator =
      pool_child<swarm::Coordinator, std::string>("swarm", std::shared_ptr<const swarm::CoordinatorSetup>(setup));
  return registered(
      pool("swarms", {5, 60s}, std::move(coordinator).with(Restart::transient).with(Shutdown::after(5s)).as_isolated()),
      k_swarms_name);
}

ChildSpec engine_sup(const ContextPtr& context) {
  return supervisor(
      "engine_sup", one_for_all, {3, 60s},
      {named_child<ConfigService>("config", std::string(k_config_name), context).labelled("service"),
       child<Registry>("registry", context->registry).labelled("service"),
       supervisor(
           "consensus_sup", rest_for_one, {5, 60s},
           {child<DiskWatch>("disk_watch", context).labelled("service"), child<JournalEngine>("journal_engine", context)
                                                                             .with(Shutdown::after(k_journal_shutdown))
                                                                             .labelled("service")}),
       registered(
           supervisor(
               std::string(k_work_sup_name), rest_for_one, {5, 60s},
               {child<LedgerService>("ledger", context).with(Shutdown::after(k_journal_shutdown)).labelled("service"),
                dispatcher(context), swarms(context)}),
           k_work_sup_name)});
}

mcp::ServerPtr mcp_server(const ContextPtr& context, const std::shared_ptr<operations::NodeHooks>& hooks) {
  auto server = std::make_shared<mcp::Server>();
  server->runtime = &context->runtime;
  server->hooks = hooks;
  server->catalog = context->mcp_catalog;
  server->sealer = context->mcp_sealer;
  server->bulletin = std::make_shared<mcp::Bulletin>(context->runtime);
  server->log = [weak = std::weak_ptr<NodeContext>(context)](const std::string& line) {
    if (const auto alive = weak.lock()) alive->log.error(line);
  };
  return server;
}

ChildSpec transports_sup(const ContextPtr& context, const std::shared_ptr<operations::NodeHooks>& hooks) {
  auto shared = std::make_shared<control::ConnectionSetup>();
  shared->runtime = &context->runtime;
  shared->poller = context->poller;
  shared->hooks = hooks;
  shared->limits = context->config()->socket;
  shared->mcp = mcp_server(context, hooks);
  shared->access = context->access;
  shared->open = std::make_shared<std::atomic<std::uint32_t>>(0);
  shared->attendance = context->attendance;
  shared->budget = context->descriptors;
  shared->log = connection_log(context);
  shared->on_accepted = connection_trace(context);
  shared->on_refused = refusal_trace(context);
  const std::string path = context->config()->node.data + "/" + control::k_socket_file;
  // The pool first, so that admitted clients find it.
  std::vector<ChildSpec> children{
      registered(pool("askers", {100, 10s}, asker_template()), k_askers_name),
      named_child<AskerDesk>("asker_desk", std::string(k_asker_desk_name)).labelled("service"),
      registered(pool("connections", {100, 10s}, control::connection_template(shared)), control::k_connections_name),
      child<net::Listener>("listener", control::listener_setup(path, shared)).labelled("service")};
  for (ChildSpec& each : http_children(context, shared->mcp)) children.push_back(std::move(each));
  for (ChildSpec& each : tcp_children(context, shared->mcp)) children.push_back(std::move(each));
  return supervisor("transports_sup", one_for_one, {5, 60s}, std::move(children));
}

// Told in the supervisor's process: only counts, formats and writes a line.
EventSink log_events(const ContextPtr& context) {
  return [weak = std::weak_ptr<NodeContext>(context)](const SupervisionEvent& event) {
    const auto alive = weak.lock();
    if (!alive) return;
    alive->supervision.count(event);
    alive->troubles.on_event(event, k_named_agents_name);
    if (auto told = event_of(event)) publish_or_keep(*alive, std::move(*told));
    const auto level = static_cast<LogLevel>(static_cast<std::uint8_t>(event.level));
    // Starts are no news, nor are stops while the node stops.
    const bool is_stop = event.kind == EventKind::child_stopped || event.kind == EventKind::supervisor_stopped;
    const bool is_dull = event.kind == EventKind::child_started || event.kind == EventKind::supervisor_started ||
                         (is_stop && alive->state == NodeState::stopping && event.level <= EventLevel::info);
    const LogLevel shown = is_dull ? LogLevel::debug : level;
    if (shown < alive->log.level()) return;
    std::string text = event_text(event);
    text.erase(0, text.find(' ') + 1);  // the level, which the log says itself
    alive->log(shown, text);
  };
}

}  // namespace

SupervisorSpec node_tree(const ContextPtr& context, const std::shared_ptr<operations::NodeHooks>& hooks) {
  std::vector<ChildSpec> children;
  // First, so that it is fed until all else has stopped; isolated, so that it costs nobody a restart.
  if (auto watchdog = watchdog_child()) children.push_back(std::move(*watchdog).labelled("service").as_isolated());
  children.push_back(engine_sup(context));
  children.push_back(agents_sup(context));
  children.push_back(transports_sup(context, hooks));
  children.push_back(supervisor("cluster_sup", one_for_one, {5, 60s}, {}).as_isolated());
  children.push_back(supervisor("observer_sup", one_for_one, {10, 60s},
                                {child<DescriptorWatch>("health", context).labelled("service")})
                         .as_isolated());
  SupervisorSpec root = supervisor("node_sup", one_for_one, {5, 60s}, std::move(children));
  root.sink = std::make_shared<const EventSink>(log_events(context));
  return root;
}

}  // namespace skein::inline v0::node
