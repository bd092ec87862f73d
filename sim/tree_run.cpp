#include "sim/tree_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "skein/runtime/runtime.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::sim {
namespace {

// As the Erlang program: at rest means that nothing changed during this many looks, this far apart.
constexpr int k_rest_looks = 3;
constexpr Duration k_look_every = std::chrono::milliseconds(4);
constexpr std::uint32_t k_processes_max = 100'000;
constexpr int k_looks_max = 1'000'000;

// What the processes of one run share; they all run on one thread.
struct Shared {
  std::map<std::string, std::uint64_t, std::less<>> starts;
  std::size_t ending = 0;  // workers that were told to end and take their time
  std::optional<ExitReason> root_reason;
};

struct Die {
  ExitReason reason;
};
struct Unlink {};

class TreeWorker {
 public:
  TreeWorker(Self self, std::shared_ptr<Shared> shared, const TreeNode& node)
      : shared_(std::move(shared)), slow_(node.slow) {
    self.trap_exit(node.traps || slow_ > Duration::zero());
    if (node.unlinks) self.send(self.pid(), Unlink{});
  }
  ~TreeWorker() {
    if (ending_) --shared_->ending;
  }
  TreeWorker(const TreeWorker&) = delete;
  TreeWorker& operator=(const TreeWorker&) = delete;

  void handle_info(Self self, Message message) {
    if (message.is<Unlink>()) self.unlink(self.parent());
    if (const Die* die = message.get_if<Die>()) {
      slow_ = {};  // ending by itself takes no time
      self.stop(die->reason);
    }
  }
  Async<void> terminate(Self self, ExitReason /*reason*/) {
    if (slow_ <= Duration::zero()) co_return;
    ending_ = true;
    ++shared_->ending;
    auto sleeping = self.sleep(slow_);
    co_await sleeping;
  }

 private:
  std::shared_ptr<Shared> shared_;
  Duration slow_;
  bool ending_ = false;
};

Async<ChildStart> start_worker_process(Self self, std::shared_ptr<Shared> shared, TreeNode node) {
  const std::uint64_t count = ++shared->starts[node.name];
  if (std::ranges::find(node.fails, count) != node.fails.end())
    co_return ChildStart::error(ExitReason::custom("planned"));
  if (std::ranges::find(node.ignores, count) != node.ignores.end()) co_return ChildStart::ignore();
  const std::string name = node.name;
  SpawnOptions options;
  options.name = name;
  options.link = true;
  auto starting = self.start<TreeWorker>(options, shared, std::move(node));
  StartResult result = co_await starting;
  co_return child_start_of(std::move(result));
}

Async<ChildStart> start_supervisor_process(Self self, std::shared_ptr<Shared> shared, SupervisorSpec spec) {
  ++shared->starts[spec.name];
  const std::string name = spec.name;
  auto starting = start_supervisor(self, std::move(spec), name);
  StartResult result = co_await starting;
  co_return child_start_of(std::move(result));
}

struct WorkerStart {
  std::shared_ptr<Shared> shared;
  TreeNode node;
  Async<ChildStart> operator()(Self self, const std::any& /*extra*/) const {
    return start_worker_process(self, shared, node);
  }
};

struct PoolStart {
  std::shared_ptr<Shared> shared;
  Async<ChildStart> operator()(Self self, const std::any& extra) const {
    TreeNode node;
    node.name = std::any_cast<std::string>(extra);
    return start_worker_process(self, shared, std::move(node));
  }
};

struct SupervisorStart {
  std::shared_ptr<Shared> shared;
  SupervisorSpec spec;
  Async<ChildStart> operator()(Self self, const std::any& /*extra*/) const {
    return start_supervisor_process(self, shared, spec);
  }
};

// The root's parent: starts it, stops it, and notes how it ended.
class Keeper {
 public:
  struct Start {
    SupervisorSpec spec;
  };
  Keeper(Self self, std::shared_ptr<Shared> shared) : shared_(std::move(shared)) { self.trap_exit(true); }

  Async<StartResult> handle_call(Self self, Start request) {
    ++shared_->starts[request.spec.name];
    const std::string name = request.spec.name;
    auto starting = start_supervisor(self, std::move(request.spec), name);
    StartResult result = co_await starting;
    if (result) root_ = result->pid;
    co_return result;
  }
  void handle_cast(Self self, ExitReason reason) { self.exit(root_, std::move(reason)); }
  void handle_info(Self /*self*/, Message message) {
    const Exit* exit = message.get_if<Exit>();
    if (exit != nullptr && exit->from == root_) shared_->root_reason = exit->reason;
  }

 private:
  std::shared_ptr<Shared> shared_;
  Pid root_;
};

std::string answer_of(const ChildError& error) {
  switch (error.failure) {
    case ChildFailure::noproc:
      return "noproc";
    case ChildFailure::start_failed:
      return error.reason == ExitReason::custom("planned") ? "error failed" : "error invalid";
    default:
      return fmt::format("error {}", failure_name(error.failure));
  }
}

template <class T>
std::string answer_of(const std::expected<T, ChildError>& result) {
  return result ? "ok" : answer_of(result.error());
}

class Run {
 public:
  Run(const TreeScript& script, std::uint64_t seed)
      : script_(script), nodes_(script.nodes), runtime_(options(seed)), keeper_(runtime_.spawn<Keeper>(shared_)) {}

  std::string transcript() {
    for (const TreeCommand& command : script_.commands) {
      out_ += fmt::format("> {}\n", command.text);
      const std::string answer = perform(command);
      if (!answer.empty()) out_ += answer + "\n";
      show(settle());
    }
    return std::move(out_);
  }

 private:
  using States = std::vector<std::string>;

  static RuntimeOptions options(std::uint64_t seed) {
    RuntimeOptions options;
    options.seed = seed;
    options.max_processes = k_processes_max;
    return options;
  }

  [[nodiscard]] SupervisorSpec spec_of(const TreeNode& node) const {
    SupervisorSpec spec;
    spec.name = node.name;
    spec.flags = node.flags;
    if (node.kind == TreeKind::pool) {
      ChildSpec child;
      child.id = "c";
      child.start = PoolStart{shared_};
      child.restart = node.child_restart;
      child.shutdown = node.child_shutdown;
      spec.children.push_back(std::move(child));
      return spec;
    }
    for (const TreeNode& each : script_.nodes) {
      if (each.parent == node.name) spec.children.push_back(child_of(each));
    }
    return spec;
  }

  [[nodiscard]] ChildSpec child_of(const TreeNode& node) const {
    ChildSpec child;
    child.id = node.name;
    child.restart = node.restart;
    child.shutdown = node.shutdown;
    child.significant = node.significant;
    if (node.kind == TreeKind::worker) {
      child.start = WorkerStart{shared_, node};
    } else {
      child.type = ChildType::supervisor;
      child.start = SupervisorStart{shared_, spec_of(node)};
    }
    return child;
  }

  std::string perform(const TreeCommand& command) {
    const std::string& verb = command.words[0];
    if (verb == "start") return start();
    if (verb == "stop") return stop();
    if (verb == "wait") {
      runtime_.run_for(std::chrono::milliseconds(std::stoull(command.words[1])));
      return {};
    }
    const Pid target = runtime_.whereis(command.words[1]);
    if (verb == "start_child") add_node(TreeKind::pooled, command.words[3], command.words[1]);
    if (verb == "start_worker") add_node(TreeKind::worker, command.words[2], command.words[1]);
    if (!target) return "noproc";
    if (verb == "crash") return die(target, ExitReason::custom("crashed"));
    if (verb == "exit") return exit(target, command.words[2]);
    if (verb == "count") return count(target);
    if (verb == "start_worker") return answer_of(start_child(runtime_, target, child_of(command.worker)));
    if (verb == "start_child") return answer_of(start_pool_child(runtime_, target, std::any(command.words[3])));
    if (verb == "restart_child") return answer_of(restart_child(runtime_, target, command.words[2]));
    if (verb == "delete_child") return answer_of(delete_child(runtime_, target, command.words[2]));
    return answer_of(terminate_child(runtime_, target, child_ref(command.words[1], command.words[2])));
  }

  std::string start() {
    const auto started = runtime_.call<Keeper>(keeper_, Keeper::Start{spec_of(nodes_.front())}, k_forever);
    if (started && *started) {
      root_ = (*started)->pid;
      return "ok";
    }
    shared_->root_reason = ExitReason::custom("failed");
    return "error failed";
  }

  std::string stop() {
    if (!runtime_.is_alive(root_)) return "noproc";
    runtime_.cast<Keeper>(keeper_, ExitReason::shutdown());
    return {};
  }

  std::string exit(Pid target, const std::string& how) {
    if (how == "kill") {
      runtime_.exit(target, ExitReason::kill());
      return {};
    }
    return die(target, how == "normal" ? ExitReason::normal() : ExitReason::shutdown());
  }

  std::string die(Pid target, ExitReason reason) {
    runtime_.send(target, Die{std::move(reason)});
    return {};
  }

  std::string count(Pid target) {
    const auto counted = count_children(runtime_, target);
    if (!counted) return answer_of(counted.error());
    return fmt::format("specs={} active={} supervisors={} workers={}", counted->specs, counted->active,
                       counted->supervisors, counted->workers);
  }

  // In a pool a child is named by its Pid: a name that nobody has stands for a process that is dead.
  ChildRef child_ref(const std::string& supervisor, const std::string& name) {
    const auto pool = std::ranges::find_if(nodes_, [&](const TreeNode& each) { return each.name == supervisor; });
    if (pool == nodes_.end() || pool->kind != TreeKind::pool) return name;
    if (const Pid pid = runtime_.whereis(name)) return pid;
    const Pid dead = runtime_.spawn<TreeWorker>(shared_, TreeNode());
    runtime_.exit(dead, ExitReason::kill());
    runtime_.wait_for_end(dead);
    return dead;
  }

  void add_node(TreeKind kind, const std::string& name, const std::string& parent) {
    const auto known = std::ranges::find_if(nodes_, [&](const TreeNode& each) { return each.name == name; });
    if (known != nodes_.end()) return;
    TreeNode node;
    node.kind = kind;
    node.name = name;
    node.parent = parent;
    nodes_.push_back(std::move(node));
  }

  States settle() {
    States last;
    int same = 0;
    for (int look = 0; look < k_looks_max; ++look) {
      States now = states();
      same = now == last && !waits_for_ending(now) ? same + 1 : 0;
      if (same > k_rest_looks) return now;
      last = std::move(now);
      runtime_.run_for(k_look_every);
    }
    throw std::runtime_error("the tree does not come to rest");
  }

  // A worker that takes its time to end holds up the restart of a supervisor above it. Erlang's supervisor is deaf
  // meanwhile, ours is not: it shows the child as restarting.
  [[nodiscard]] bool waits_for_ending(const States& states) const {
    return shared_->ending > 0 &&
           std::ranges::any_of(states, [](const std::string& each) { return each.starts_with("restarting"); });
  }

  States states() {
    States all;
    for (const TreeNode& each : nodes_) all.push_back(each.parent == "-" ? root_state(each) : state(each));
    return all;
  }

  [[nodiscard]] std::string root_state(const TreeNode& node) const {
    if (!shared_->root_reason) return fmt::format("up #{}", starts(node.name));
    const ExitReason& reason = *shared_->root_reason;
    const bool plain_shutdown = reason.is_shutdown() && !reason.has_term();
    std::string_view word = "crashed";
    if (reason.is_normal()) word = "normal";
    if (plain_shutdown) word = "shutdown";
    if (reason.kind() == ExitKind::killed) word = "killed";
    return fmt::format("gone {} #{}", word, starts(node.name));
  }

  std::string state(const TreeNode& node) { return fmt::format("{} #{}", state_word(node), starts(node.name)); }

  std::string_view state_word(const TreeNode& node) {
    const Pid supervisor = runtime_.whereis(node.parent);
    if (!supervisor) return "gone";
    const auto children = which_children(runtime_, supervisor);
    if (!children) return "gone";
    if (node.kind == TreeKind::pooled) return runtime_.whereis(node.name) ? "up" : "absent";
    const auto child = std::ranges::find_if(*children, [&](const ChildInfo& each) { return each.id == node.name; });
    if (child == children->end()) return "absent";
    if (child->state == ChildState::running) return "up";
    return child->state == ChildState::restarting ? "restarting" : "down";
  }

  [[nodiscard]] std::uint64_t starts(const std::string& name) const {
    const auto found = shared_->starts.find(name);
    return found == shared_->starts.end() ? 0 : found->second;
  }

  void show(const States& now) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (i < shown_.size() && shown_[i] == now[i]) continue;
      out_ += fmt::format("{} {}\n", nodes_[i].name, now[i]);
    }
    shown_ = now;
  }

  const TreeScript& script_;
  std::vector<TreeNode> nodes_;  // the declared ones, and those that commands add
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  Runtime runtime_;
  Pid keeper_;
  Pid root_;
  States shown_;
  std::string out_;
};

}  // namespace

std::string run_tree_script(const TreeScript& script, std::uint64_t seed) { return Run(script, seed).transcript(); }

}  // namespace skein::sim
