// A node: the tree of docs/architecture.md, built from a Config, in a program's own runtime.
//
//   auto node = Node::prepare(runtime, {.config = config});          // takes the data folder's lock
//   start_supervisor(runtime, (*node)->tree(), ...) or a child of one's own supervisor: (*node)->child("node")
//
// OS processes need the launcher: call launcher::Launcher::fork_early() first thing in main, before any thread exists.
// prepare() and what waits (drain, ask) are for ordinary threads. The runtime must outlive the node, and the node its
// tree. Names are registered in the runtime, so there is one node in a runtime.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "skein/node/executors.hpp"
#include "skein/node/node_context.hpp"
#include "skein/operations/node_hooks.hpp"
#include "skein/supervision/supervisor_flags.hpp"

namespace skein::inline v0::node {

struct NodeSetup {
  Config config;
  Functions functions{};  // besides the built-in ones
  Log::Sink log{};        // none: standard error
  // Told, on a process's thread, when the journal's disk failed, and when an operation asked the node to stop. Without
  // them the tree ends by itself.
  std::function<void(const std::string& why)> on_fatal{};
  std::function<void()> on_stop_asked{};
  bool accept_loss = false;  // start although journal or archive lack something, and record that
};

class Node : public std::enable_shared_from_this<Node> {
 public:
  // An empty config.node.data becomes default_data_folder().
  [[nodiscard]] static std::expected<std::shared_ptr<Node>, DataLockError> prepare(Runtime& runtime, NodeSetup setup);

  // The root supervisor; say set_root() with its Pid once it is started.
  [[nodiscard]] SupervisorSpec tree() const;
  void set_root(Pid root);
  // The same as a child: permanent, says set_root() itself.
  [[nodiscard]] ChildSpec child(std::string id);

  [[nodiscard]] operations::NodeHooks& hooks() { return *hooks_; }
  [[nodiscard]] NodeContext& context() { return *context_; }

  // Takes no new tasks, lets agents finish what they run and begin nothing more. Returns when nothing runs, after
  // `deadline`, or when `is_over` says so; true: nothing ran any more. Whoever still waits for a task is answered then,
  // over every transport, and so is whoever begins to wait later: "the node is stopping, ask again".
  bool drain(Duration deadline, const std::function<bool()>& is_over);

 private:
  Node(ContextPtr context, std::shared_ptr<operations::NodeHooks> hooks)
      : context_(std::move(context)), hooks_(std::move(hooks)) {}

  bool wait_until_idle(Duration deadline, const std::function<bool()>& is_over);
  void end_waits();
  void let_answers_out();

  ContextPtr context_;
  std::shared_ptr<operations::NodeHooks> hooks_;
};

}  // namespace skein::inline v0::node
