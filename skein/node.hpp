// A node inside a program of your own: tasks that survive crashes, done by agents of this program. Everything that
// `skein up` runs, without the program around it.
//
//   skein::NodeConfig config{.data = "data"};
//   config.functions["twice"] = [](const skein::TaskInput& task) { return twice(task.params); };
//   auto node = skein::Node::start(std::move(config));                       // throws NodeError
//   const auto task = node.submit({.type = "twice", .params = "21"});        // durable once it returns
//   const skein::TaskReport done = node.wait(task.id, 20s);                  // done.result is "42"
//
// Threads: all members but the destructor and the moves may be called from any ordinary thread at any time, several at
// once; stop() ends the waits of the others. Never call them from a process of a runtime or from a NodeFunction: they
// block. A node has a runtime of its own with threads of its own. Nothing here installs a signal handler.
//
// 1. submit() returns when the task is on disk. What happens afterwards, also to this program, does not lose it: a node
//    that is started on the same data folder later goes on with it, and wait() and status() find it by its id.
// 2. Every wait ends: with an answer, after its time limit, or when the node stops. Each throws NodeError otherwise.
// 3. A restart of the node's inner parts (its supervisors do that) is not seen here; calls wait for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/node/node_error.hpp"

namespace skein::inline v0 {

class Runtime;

// How long submit, status and cancel wait for their answer unless told otherwise.
inline constexpr Duration k_node_call_timeout = std::chrono::seconds(30);

// A task as a NodeFunction sees it. Valid during the call.
struct TaskInput {
  std::string id;
  std::string_view type;
  std::string_view params;  // one JSON value, as submitted; empty: none
  std::string_view mark;    // the progress of an earlier attempt; empty: none
  std::uint32_t attempt = 1;
};
// Why an attempt failed. The task is tried again, unless it is permanent or the attempts are used up.
struct TaskFailure {
  std::string message;
  bool is_permanent = false;
};
// Does the tasks of one type: the result, one JSON value, or why not. Runs on a worker thread of the node, several
// calls at once for several agents. It should take milliseconds: while it runs, its agent answers nobody, and one that
// runs longer than [node] stuck_limit ends the program unless on_stuck is "wait". Longer work belongs into an executor
// with a program (docs/agents.md). An exception ends the agent, which is restarted, and costs the task an attempt.
using NodeFunction = std::function<std::expected<std::string, TaskFailure>(const TaskInput& task)>;

struct NodeConfig {
  std::string data{};                   // the data folder; empty: the config's, else as `skein up` chooses
  std::string file{};                   // a skein.toml; empty: none
  std::vector<std::string> settings{};  // "section.key=value" over the file, as `skein up --set` takes them
  std::string http = "off";             // HOST:PORT; off; empty: as file and settings say
  // By the type of task. Agents of the executor "function" run them: without swarms in `file` and `settings` those of
  // the swarm "default", which has some from the start. A swarm with another executor does not run them.
  std::map<std::string, NodeFunction> functions{};
  // Told each line with its level (debug, info, warning, error), on any thread; must not block. Without it the log goes
  // to standard error. The setting "node.log_level=error" keeps all other lines away.
  std::function<void(std::string_view level, std::string_view line)> log{};
};

struct TaskRequest {
  std::string type{};
  std::string params{};  // one JSON value; empty: none
  std::string swarm = "default";
  std::string key{};                        // of idempotency: the same key again finds the first task
  std::string priority = "normal";          // low, normal, high or critical
  std::vector<std::string> capabilities{};  // that its agent must have; none: the type
  std::vector<std::string> dependencies{};  // ids of tasks that must be completed first
  std::uint32_t attempts = 4;               // at most, the first included
  std::chrono::milliseconds timeout{0};     // of each attempt; zero: the type's or the executor's
  std::chrono::milliseconds delay{0};       // not before this has passed
  std::chrono::milliseconds deadline{0};    // from now, all attempts together; zero: none
};

struct SubmittedTask {
  std::string id;
  bool is_existing = false;  // the key had this task already
  std::string waits{};       // no agent can do it now: why, in words; empty: one can
};

enum class TaskState : std::uint8_t { waiting, running, completed, failed, cancelled };
[[nodiscard]] std::string_view name_of(TaskState state);

struct TaskReport {
  std::string id;
  TaskState state = TaskState::waiting;
  std::string result{};               // of a completed task: one JSON value
  std::string message{};              // of a failed or cancelled one: why, in words
  std::string agent{};                // that does it, or did it last; empty: none yet
  std::uint32_t attempts_failed = 0;  // in its present swarm
  std::string waits{};                // of a waiting one: why it does not run yet, in words

  [[nodiscard]] bool is_finished() const { return state >= TaskState::completed; }
};

class Node {
 public:
  // Returns when the node serves: config read, data folder locked, log recovered, tree up. Throws NodeError. An agent
  // that is a program needs launcher::Launcher::fork_early() first thing in main, before any thread exists.
  [[nodiscard]] static Node start(NodeConfig config);
  // A node that was moved from may only be destroyed or assigned to.
  Node(Node&&) noexcept;
  Node& operator=(Node&&) noexcept;
  // stop() without time to drain: what runs is done again when a node starts on this folder.
  ~Node();

  // Throws NodeError: invalid, not_found (the swarm, a dependency), refused, overloaded, stopped; unknown when no
  // answer came in time: the same request with the same key tells then.
  [[nodiscard]] SubmittedTask submit(const TaskRequest& request, Duration timeout = k_node_call_timeout);
  // The report of a finished task. Throws NodeError: invalid (no id), not_found, timed_out (ask again), overloaded (too
  // many wait), stopped.
  [[nodiscard]] TaskReport wait(const std::string& id, Duration timeout);
  // How a task stands now. Throws NodeError as wait does.
  [[nodiscard]] TaskReport status(const std::string& id, Duration timeout = k_node_call_timeout);
  // Returns when the cancel is on disk. Throws NodeError; refused: it has finished already.
  void cancel(const std::string& id, const std::string& reason = {}, Duration timeout = k_node_call_timeout);

  // False: it was stopped, by stop() or by an operation (`skein stop`), or its tree gave up.
  [[nodiscard]] bool is_running() const;
  // Takes no new tasks, lets agents finish what they run, at most for `drain` (nothing: [node] drain of the config),
  // answers all waiting clients, and ends. True: every process ended in time. A second call does nothing.
  bool stop(std::optional<Duration> drain = std::nullopt);

  // The node's runtime, for processes of your own beside it. It lives as long as this object.
  [[nodiscard]] Runtime& runtime();

 private:
  class Inside;
  explicit Node(std::unique_ptr<Inside> inside);

  std::unique_ptr<Inside> inside_;
};

}  // namespace skein::inline v0
