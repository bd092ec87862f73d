#include "skein/node/node_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>

#include "skein/base/secret.hpp"
#include "skein/mcp/fixtures.hpp"
#include "skein/mcp/node_catalog.hpp"
#include "skein/node/config_check.hpp"
#include "skein/node/folder.hpp"
#include "skein/node/hooks.hpp"
#include "skein/node/network.hpp"
#include "skein/node/node_tree.hpp"
#include "skein/node/secret_file.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::node {
namespace {

constexpr Duration k_drain_look = std::chrono::milliseconds(20);
constexpr std::chrono::seconds k_agents_wait{2};
constexpr Duration k_answers_wait = std::chrono::seconds(2);  // for the answers of waits to be written
constexpr Duration k_answers_look = std::chrono::milliseconds(5);

// What MCP promises of a task: as long as the archive has it.
std::chrono::milliseconds kept_for(const ArchiveSection& archive) {
  const std::chrono::milliseconds age = archive.limits.retention.age;
  return archive.enabled && age.count() > 0 ? std::min(age, mcp::k_task_ttl) : mcp::k_task_ttl;
}

ledger::WallMs wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// The node has one key in its data folder; what it is used for is told apart here.
std::string task_token_key(const std::string& key) { return to_hex(hmac_sha256(key, "the tokens of attempts")); }

// What is behind all reasons that only say that another one failed.
std::string first_cause(const ExitReason& reason) {
  const ExitReason* first = &reason;
  while (first->cause() != nullptr) first = first->cause();
  return first->term().empty() ? first->text() : first->term();
}

std::unexpected<NodeError> failure(NodeError::Kind kind, const std::string& words) {
  return std::unexpected(NodeError(kind, words));
}

// An agent runs on this machine: it asks at the address the node listens at, or at the loopback one if that is any.
std::string url_for_agents(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const bool is_any = host == "0.0.0.0" || host == "[::]";
  return "http://" + (is_any ? "127.0.0.1" + address.substr(colon) : address);
}

AgentReach reach_of(const NodeContext& context) {
  AgentReach reach;
  reach.task_token = [access = context.access](ledger::TaskId task, ledger::Fence fence) {
    return access->task_token(task, fence);
  };
  if (context.http.is_open()) reach.url = url_for_agents(context.http.address());
  reach.socket = std::filesystem::absolute(context.config()->node.data + "/" + control::k_socket_file).string();
  return reach;
}

// What is wrong, complete, for people.
std::optional<NodeError> open_network(NodeContext& context) {
  using Kind = NodeError::Kind;
  const auto config = context.config();
  if (config->http.enabled) {
    const auto opened = context.http.open(config->http.listen);
    const auto advice = "give another address with --http HOST:PORT, or --http off";
    if (!opened && config->http.is_named) {
      return NodeError(Kind::no_address, fmt::format("HTTP: {}; {}", opened.error(), advice));
    }
    if (!opened) context.log.warning(fmt::format("no HTTP: {}; {}", opened.error(), advice));
  }
  if (config->tcp.enabled) {
    const auto opened = context.tcp.open(config->tcp.listen);
    const auto advice = "give another address with --tcp HOST:PORT, or --tcp off";
    if (!opened) return NodeError(Kind::no_address, fmt::format("TCP: {}; {}", opened.error(), advice));
  }
  const bool wants_token = (context.http.is_open() && config->http.auth == "token") ||
                           (context.tcp.is_open() && config->tcp.auth == "token");
  if (!wants_token) return std::nullopt;
  auto token = secret_in(config->node.data + "/" + k_token_file);
  if (!token) return NodeError(Kind::folder_unusable, token.error());
  context.access->set_first(*token);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::running:
      return "running";
    case NodeState::draining:
      return "draining";
    case NodeState::stopping:
      return "stopping";
    case NodeState::starting:
      break;
  }
  return "starting";
}

RuntimeOptions runtime_options(const Config& config) {
  RuntimeOptions options;
  options.workers = config.node.workers;
  options.max_processes = config.node.processes_max;
  options.blocking_threads = config.node.blocking_threads;
  options.stuck_limit = config.node.stuck_limit;
  options.on_stuck = config.node.on_stuck == "abort" ? OnStuck::abort : OnStuck::wait;
  return options;
}

std::expected<std::shared_ptr<NodeHost>, NodeError> NodeHost::prepare(Runtime& runtime, NodeSetup setup) {
  using Kind = NodeError::Kind;
  if (setup.config.node.data.empty()) setup.config.node.data = default_data_folder();
  auto lock = DataLock::take(setup.config.node.data);
  if (!lock) return failure(lock.error().is_in_use ? Kind::folder_in_use : Kind::folder_unusable, lock.error().message);
  if (const auto missing = missing_part(setup.config.node.data); missing && !setup.accept_loss) {
    return failure(Kind::folder_unusable, *missing);
  }
  try {
    auto context =
        std::make_shared<NodeContext>(runtime, std::move(setup.config), std::move(*lock), std::move(setup.log));
    std::shared_ptr<launcher::OsProcesses> os;
    auto* const early = launcher::Launcher::here();
    // After the launcher has seen what agents' programs may open.
    context->descriptors = make_descriptor_budget(context->config()->node.unauthenticated_max, context->log);
    if (early != nullptr) {
      launcher::OsProcessesOptions options = os_processes_options(*context->config());
      options.descriptors = context->descriptors;
      options.is_watch_supervised = true;
      os = std::make_shared<launcher::OsProcesses>(runtime, *early, options);
    }
    context->executors =
        std::make_shared<Executors>(*context->config(), std::move(setup.functions), context->registry, std::move(os));
    for (const std::string& each : context->lock.notes()) context->log.warning(each);
    for (const std::string& each : context->executors->exposed()) context->log.warning(each + "; see docs/security.md");
    for (const std::string& each : context->executors->unenforced()) context->log.warning(each);
    for (const ConfigFault& each : check_surroundings(*context->config(), context->executors->own_functions())) {
      context->log.warning(fmt::format("{}:{}: {}", context->config()->file, each.line, each.message));
    }
    // The context owns it, and with it the log.
    context->learned = std::make_shared<LearnedTable>(
        context->config()->node.data, [log = &context->log](const std::string& line) { log->warning(line); });
    context->poller = std::make_shared<net::FdPoller>(runtime);
    context->started_at = runtime.now();
    context->accept_loss = setup.accept_loss;
    NodeContext* const raw = context.get();
    context->on_fatal = setup.on_fatal ? std::move(setup.on_fatal) : [raw](const std::string& why) {
      raw->runtime.exit(raw->root, ExitReason::custom(why));
    };
    context->on_stop_asked = setup.on_stop_asked ? std::move(setup.on_stop_asked)
                                                 : [raw] { raw->runtime.exit(raw->root, ExitReason::shutdown()); };
    auto hooks = make_hooks(context);
    auto key = secret_in(context->config()->node.data + "/" + k_key_file);
    if (!key) return failure(Kind::folder_unusable, key.error());
    const auto catalog = mcp::make_node_catalog();
    if (context->config()->conformance_fixtures) mcp::add_conformance_fixtures(*catalog);
    catalog->task_ttl = kept_for(context->config()->archive);
    context->mcp_catalog = catalog;
    context->access = std::make_shared<operations::Access>(task_token_key(*key), wall_ms);
    context->mcp_sealer = std::make_shared<const mcp::Sealer>(std::move(*key));
    if (const auto fault = open_network(*context)) return std::unexpected(*fault);
    context->executors->set_reach(reach_of(*context));
    return std::shared_ptr<NodeHost>(new NodeHost(std::move(context), std::move(hooks)));  // the constructor is private
  } catch (const std::exception& error) {
    return failure(Kind::start_failed, error.what());
  }
}

std::expected<Pid, NodeError> NodeHost::start() {
  const StartResult started = start_supervisor(context_->runtime, node_tree(context_, hooks_));
  if (!started) {
    // The log says which supervisor gave up because of which; this is what people read.
    return failure(NodeError::Kind::start_failed,
                   "the node could not be started: " + first_cause(started.error().reason));
  }
  context_->root = started->pid;
  context_->state = NodeState::running;
  return started->pid;
}

// Those who waited have their answers in their mailboxes, some by way of another process: until none of these has
// anything to do.
void NodeHost::let_answers_out() {
  const auto is_busy = [](const ProcessInfo& each) {
    const bool is_transport =
        each.type.find("Connection") != std::string::npos || each.type.find("Session") != std::string::npos;
    return is_transport && (each.mailbox > 0 || !each.handling.empty());
  };
  const Instant until = later(context_->runtime.now(), k_answers_wait);
  while (context_->runtime.now() < until && std::ranges::any_of(context_->runtime.processes(), is_busy)) {
    std::this_thread::sleep_for(k_answers_look);
  }
}

void NodeHost::end_waits() {
  const auto operations = hooks_->operations();
  if (operations && operations->end_waits() > 0) let_answers_out();
}

bool NodeHost::drain(Duration deadline, const std::function<bool()>& is_over) {
  const bool is_idle = wait_until_idle(deadline, is_over);
  end_waits();
  return is_idle;
}

bool NodeHost::wait_until_idle(Duration deadline, const std::function<bool()>& is_over) {
  context_->state = NodeState::draining;
  const Instant until = later(context_->runtime.now(), deadline);
  context_->executors->pause_new();
  std::unordered_set<Pid> told;
  while (context_->runtime.now() < until && !(is_over && is_over())) {
    // Asked again in each round: an agent may have been starting during the last one.
    for (const Pid each : context_->registry->find_agents_by_capability(k_any_capability)) {
      if (told.insert(each).second) context_->runtime.send(each, dispatch::PauseAgent{});
    }
    const auto all = operations::ask<std::vector<operations::AgentDetail>>(
        [&](auto reply) { hooks_->agents({}, std::move(reply)); }, k_agents_wait);
    const auto runs = [](const operations::AgentDetail& each) { return each.executing_task.has_value(); };
    if (all && std::ranges::none_of(*all, runs)) return true;
    std::this_thread::sleep_for(k_drain_look);
  }
  return false;
}

}  // namespace skein::inline v0::node
