// Builds a node from a Config, in a runtime: the tree of docs/architecture.md and what its processes share. `skein up`
// and skein::Node (skein/node.hpp, which programs use) are two owners of one.
//
//   auto host = NodeHost::prepare(runtime, {.config = config});  // takes the data folder's lock
//   const auto root = (*host)->start();
//
// OS processes need the launcher: call launcher::Launcher::fork_early() first thing in main, before any thread exists.
// Calls that wait (prepare, start, drain) are for ordinary threads. The runtime must outlive the host, and the host its
// tree. Names are registered in the runtime, so there is one node in a runtime.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "skein/node/executors.hpp"
#include "skein/node/node_context.hpp"
#include "skein/node/node_error.hpp"
#include "skein/operations/node_hooks.hpp"

namespace skein::inline v0::node {

// The options of a runtime for a node with this config.
[[nodiscard]] RuntimeOptions runtime_options(const Config& config);

struct NodeSetup {
  Config config;
  Functions functions{};  // besides the built-in ones
  Log::Sink log{};        // none: standard error
  // Called on a process's thread when the journal's disk failed, and when an operation asked the node to stop. Without
  // them the tree ends by itself.
  std::function<void(const std::string& why)> on_fatal{};
  std::function<void()> on_stop_asked{};
  bool accept_loss = false;  // start although journal or archive lack something, and record that
};

class NodeHost {
 public:
  // An empty config.node.data becomes default_data_folder().
  [[nodiscard]] static std::expected<std::shared_ptr<NodeHost>, NodeError> prepare(Runtime& runtime, NodeSetup setup);
  // Starts the tree; the root supervisor's Pid. Call it once.
  [[nodiscard]] std::expected<Pid, NodeError> start();

  [[nodiscard]] operations::NodeHooks& hooks() { return *hooks_; }
  [[nodiscard]] NodeContext& context() { return *context_; }

  // Takes no new tasks, lets agents finish what they run and begin nothing more. Returns when nothing runs, after
  // `deadline`, or when `is_over` says so; true: nothing ran any more. Clients that wait for a task are then answered
  // over every transport, and so are clients that begin to wait later: "the node is stopping, ask again".
  bool drain(Duration deadline, const std::function<bool()>& is_over);

 private:
  NodeHost(ContextPtr context, std::shared_ptr<operations::NodeHooks> hooks)
      : context_(std::move(context)), hooks_(std::move(hooks)) {}

  bool wait_until_idle(Duration deadline, const std::function<bool()>& is_over);
  void end_waits();
  void let_answers_out();

  ContextPtr context_;
  std::shared_ptr<operations::NodeHooks> hooks_;
};

}  // namespace skein::inline v0::node
