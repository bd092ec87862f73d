// What the processes of one node share: its config, its slots for engine and work, its registry and log. Made before
// the tree and destroyed after it. Any thread; what changes is atomic or has a lock of its own.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "skein/agent/agent.hpp"
#include "skein/base/descriptor_budget.hpp"
#include "skein/control/connection.hpp"
#include "skein/mcp/server.hpp"
#include "skein/node/agent_troubles.hpp"
#include "skein/node/config.hpp"
#include "skein/node/data_lock.hpp"
#include "skein/node/deployment.hpp"
#include "skein/node/engine.hpp"
#include "skein/node/executors.hpp"
#include "skein/node/learned_table.hpp"
#include "skein/node/listen_place.hpp"
#include "skein/node/log.hpp"
#include "skein/node/shared_slot.hpp"
#include "skein/node/supervision_log.hpp"
#include "skein/node/task_service.hpp"
#include "skein/registry/registry_table.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::node {

enum class NodeState : std::uint8_t { starting, running, draining, stopping };
[[nodiscard]] std::string_view name_of(NodeState state);

struct NodeContext {
  NodeContext(Runtime& the_runtime, Config the_config, DataLock the_lock, Log::Sink log_sink)
      : runtime(the_runtime),
        lock(std::move(the_lock)),
        log(log_level_named(the_config.node.log_level).value_or(LogLevel::info), std::move(log_sink)),
        registry(std::make_shared<RegistryTable>(the_runtime)) {
    log.set_format(log_format_named(the_config.node.log_format).value_or(LogFormat::text));
    config_slot.set(std::make_shared<const Config>(std::move(the_config)));
  }
  NodeContext(const NodeContext&) = delete;
  NodeContext& operator=(const NodeContext&) = delete;

  Runtime& runtime;
  SharedSlot<const Config> config_slot;
  DataLock lock;
  Log log;
  std::shared_ptr<RegistryTable> registry;
  std::shared_ptr<LearnedTable> learned;  // outlives every dispatcher
  std::shared_ptr<Executors> executors;
  Deployment deployment;
  std::shared_ptr<net::FdPoller> poller;
  std::shared_ptr<DescriptorBudget> descriptors;  // for connections and OS processes
  const std::shared_ptr<control::Attendance> attendance = std::make_shared<control::Attendance>();
  // The offer of MCP, and its key. The server itself belongs to the tree: it refers to what refers to this.
  std::shared_ptr<const mcp::Catalog> mcp_catalog;
  std::shared_ptr<const mcp::Sealer> mcp_sealer;
  std::shared_ptr<operations::Access> access{};  // who shows which token
  ListenPlace http;                              // not open: it is off
  ListenPlace tcp;                               // likewise
  SharedSlot<Engine> engine;
  // For the journal engine alone.
  std::weak_ptr<Engine> last_engine;
  std::shared_future<void> last_engine_gone;  // ready when that engine is destroyed
  // The last fence in the log when this program first opened it: agents that were given a task before have ended.
  std::optional<ledger::Fence> dead_fence;  // set by the first journal engine, before anybody reads it
  SharedSlot<TaskService> work;
  SupervisionLog supervision;
  AgentTroubles troubles;
  std::atomic<NodeState> state{NodeState::starting};
  std::atomic<bool> accept_loss{false};  // at the first start of the ledger: see WorkStart
  Instant started_at{};
  Pid root{};

  // As last read: at the start, or by a reload.
  [[nodiscard]] std::shared_ptr<const Config> config() const { return config_slot.get(); }

  // Called when the journal's disk failed: unwritten entries cannot be trusted any more, the program must end.
  std::function<void(const std::string& why)> on_fatal;
  std::function<void()> on_stop_asked;  // by an operation

  std::mutex watchers_mutex;
  std::vector<Pid> watchers;  // told when the operations go
};
using ContextPtr = std::shared_ptr<NodeContext>;

}  // namespace skein::inline v0::node
