#include "sim/tree_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "sim/tree_account.hpp"
#include "skein/runtime/runtime.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::sim {
namespace {

constexpr std::size_t k_depth_max = 5;
constexpr std::size_t k_names_max = 40;
constexpr std::uint64_t k_actions_max = 40;
constexpr std::uint64_t k_steps_between_max = 25;
constexpr std::uint64_t k_rest_steps_max = 200'000;
constexpr std::uint32_t k_processes_max = 20'000;
constexpr double k_edge_chance = 0.1;

using std::chrono::milliseconds;

struct Node {
  std::string name;
  std::string parent;
  bool is_supervisor = false;
  SupervisorFlags flags;
  ChildSpec spec;                    // without a start
  std::vector<std::uint64_t> fails;  // which of its starts fail
  std::uint64_t ignores = 0;         // which of its starts says ignore; 0: none
  Duration start_takes{};
  Duration end_takes{};
  bool traps = false;
  bool quick = false;  // its init does not wait, so it runs within its supervisor's turn
};

struct World {
  explicit World(std::function<bool(Pid)> alive) : account(std::move(alive)) {}
  TreeAccount account;
  std::map<std::string, Node> nodes;  // pool children too
  std::map<std::string, std::uint64_t> starts;
  std::set<std::uint64_t> killed;  // by the test
  std::vector<std::string> trace;
  std::shared_ptr<const EventSink> sink;
  bool tracing = false;

  void note(Instant now, const std::string& what) {
    if (tracing)
      trace.push_back(fmt::format("{:>9.3f} ms  {}",
                                  std::chrono::duration<double, std::milli>(now.time_since_epoch()).count(), what));
  }
  [[nodiscard]] bool is_below(const std::string& name, const std::string& top) const {
    for (std::string at = name; at != "-"; at = nodes.at(at).parent) {
      if (at == top) return true;
    }
    return false;
  }
};
using Shared = std::shared_ptr<World>;

struct Die {
  ExitReason reason;
};

class Worker {
 public:
  Worker(Self self, Shared world, Node node) : world_(std::move(world)), node_(std::move(node)), pid_(self.pid()) {
    self.trap_exit(node_.traps);
  }
  // A child with unlimited time to end uses it, also when its supervisor is killed meanwhile: no orphan, no kill.
  ~Worker() {
    const bool patient = node_.spec.shutdown && node_.spec.shutdown->kind() == Shutdown::Kind::infinity;
    if (!ends_ || !patient || world_->killed.contains(pid_.bits())) return;
    world_->account.violation(fmt::format("{} was cut short while it ended", node_.name));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  void handle_info(Self self, Message message) {
    if (const Die* die = message.get_if<Die>()) self.stop(die->reason);
  }
  Async<void> terminate(Self self, ExitReason /*reason*/) {
    if (!node_.traps || node_.end_takes == Duration::zero()) co_return;
    ends_ = true;
    auto sleeping = self.sleep(node_.end_takes);
    co_await sleeping;
    ends_ = false;
  }

 protected:
  Shared world_;
  Node node_;

 private:
  Pid pid_;
  bool ends_ = false;
};

class SlowWorker : public Worker {
 public:
  using Worker::Worker;
  Async<Init> init(Self self) {
    if (node_.start_takes > Duration::zero()) {
      auto sleeping = self.sleep(node_.start_takes);
      co_await sleeping;
    }
    co_return Init::ok();
  }
};

// Nobody of the subtree that is about to be started may live any more.
void check_old_subtree_dead(const World& world, TreeAccount& account, Self self, const std::string& top) {
  for (const auto& [name, node] : world.nodes) {
    if (!self.whereis(name) || !world.is_below(name, top)) continue;
    account.violation(fmt::format("{} is started while {} of its old subtree lives", top, name));
  }
}

SupervisorSpec supervisor_spec(const Shared& world, const std::string& name);

Async<ChildStart> start_node(Self self, Shared world, std::string parent, std::string name) {
  const Node node = world->nodes.at(name);
  const std::uint64_t count = ++world->starts[name];
  world->note(self.now(), fmt::format("{} {} starts {} #{}", parent, self.pid().text(), name, count));
  check_old_subtree_dead(*world, world->account, self, name);
  world->account.starting(self.pid(), parent, name, self.now());
  ChildStart result = ChildStart::ignore();
  if (std::ranges::find(node.fails, count) != node.fails.end()) {
    result = ChildStart::error(ExitReason::custom("planned"));
  } else if (node.ignores != count) {
    StartResult started;
    if (node.is_supervisor) {
      auto starting = start_supervisor(self, supervisor_spec(world, name), name);
      started = co_await starting;
    } else {
      SpawnOptions options;
      options.name = name;
      options.link = true;
      options.init_here = true;
      auto starting =
          node.quick ? self.start<Worker>(options, world, node) : self.start<SlowWorker>(options, world, node);
      started = co_await starting;
    }
    if (!started && started.error().already_started) {
      world->account.violation(fmt::format("{} found its name taken", name));
    }
    result = child_start_of(std::move(started));
  }
  const bool ok = result.kind() == ChildStart::Kind::ok;
  StartOutcome outcome = StartOutcome::failed;
  if (ok) outcome = StartOutcome::ok;
  if (result.kind() == ChildStart::Kind::ignore) outcome = StartOutcome::ignored;
  world->note(self.now(), fmt::format("{}: {} #{} {} {}", parent, name, count, ok ? "is" : "did not start",
                                      ok ? result.pid().text() : result.reason().text()));
  world->account.started(self.pid(), name, outcome, result.pid());
  co_return result;
}

struct Starter {
  Shared world;
  std::string parent;
  std::string name;  // empty in a pool
  Async<ChildStart> operator()(Self self, const std::any& extra) const {
    return start_node(self, world, parent, name.empty() ? std::any_cast<std::string>(extra) : name);
  }
};

SupervisorSpec supervisor_spec(const Shared& world, const std::string& name) {
  const Node& node = world->nodes.at(name);
  SupervisorSpec spec;
  spec.name = name;
  spec.flags = node.flags;
  spec.seed = 1;
  spec.sink = world->sink;
  const bool pool = node.flags.strategy == Strategy::simple_one_for_one;
  for (const auto& [id, child] : world->nodes) {
    if (child.parent != name) continue;
    // A pool's template has a name of its own, which no process bears; its children are added by calls.
    if (pool && id != name + "_child") continue;
    ChildSpec each = child.spec;
    each.start = Starter{world, name, pool ? std::string() : id};
    spec.children.push_back(std::move(each));
  }
  return spec;
}

struct Ask {
  CallVerb verb;
  Pid supervisor;
  std::string child;
  Pid pid;
};

// Asks a supervisor one thing and notes the answer.
class Caller {
 public:
  Caller(Self self, Shared world, Ask ask) : world_(std::move(world)), ask_(std::move(ask)) {
    self.send(self.pid(), CallVerb::start);
  }
  Async<void> handle_info(Self self, Message message) {
    if (!message.is<CallVerb>()) co_return;
    const ChildRef ref = ask_.pid ? ChildRef(ask_.pid) : ChildRef(ask_.child);
    bool ok = false;
    if (ask_.verb == CallVerb::terminate) {
      auto asking = terminate_child(self, ask_.supervisor, ref);
      const auto answer = co_await asking;
      ok = answer.has_value();
    } else if (ask_.verb == CallVerb::restart) {
      auto asking = restart_child(self, ask_.supervisor, ref);
      const auto answer = co_await asking;
      ok = answer.has_value();
    } else if (ask_.verb == CallVerb::remove) {
      auto asking = delete_child(self, ask_.supervisor, ref);
      const auto answer = co_await asking;
      ok = answer.has_value();
    } else {
      auto asking = start_pool_child(self, ask_.supervisor, std::any(ask_.child));
      const auto answer = co_await asking;
      ok = answer.has_value();
    }
    world_->note(self.now(), fmt::format("answer about {}: {}", ask_.child, ok ? "ok" : "error"));
    world_->account.call_ended(ask_.supervisor, ok);
    self.stop();
  }

 private:
  Shared world_;
  Ask ask_;
};

struct StartRoot {};

class Keeper {
 public:
  Keeper(Self self, Shared world) : world_(std::move(world)) { self.trap_exit(true); }
  Async<void> handle_info(Self self, Message message) {
    if (!message.is<StartRoot>()) co_return;
    auto starting = start_supervisor(self, supervisor_spec(world_, "s0"), "s0");
    const StartResult result = co_await starting;
    if (result) root_ = result->pid;
  }
  void handle_cast(Self self, ExitReason reason) { self.exit(root_, std::move(reason)); }

 private:
  Shared world_;
  Pid root_;
};

class Model {
 public:
  Model(std::uint64_t seed, bool trace) : random_(seed), runtime_(options(seed)) {
    world_ = std::make_shared<World>([this](Pid pid) { return runtime_.is_alive(pid); });
    world_->tracing = trace;
    world_->sink = std::make_shared<const EventSink>([world = world_.get()](const SupervisionEvent& event) {
      world->note(event.at, event_text(event));
      world->account.reported(event);
    });
    plant_supervisor("-", 1);
    declare_all();
    keeper_ = runtime_.spawn<Keeper>(world_);
  }
  ~Model() { runtime_.shutdown(); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  TreeModelResult run() {
    runtime_.send(keeper_, StartRoot{});
    const std::uint64_t actions = 1 + random_.below(k_actions_max);
    for (std::uint64_t i = 0; i < actions; ++i) {
      pass();
      act();
    }
    rest();
    check_rest();
    runtime_.cast<Keeper>(keeper_, ExitReason::shutdown());
    rest();
    check_empty();
    TreeModelResult result;
    result.violations = world_->account.violations();
    result.trace = std::move(world_->trace);
    result.restarts = world_->account.restarts();
    result.give_ups = world_->account.give_ups();
    result.unjudged = world_->account.unjudged();
    result.steps = steps_;
    return result;
  }

 private:
  static RuntimeOptions options(std::uint64_t seed) {
    RuntimeOptions options;
    options.seed = seed;
    options.max_processes = k_processes_max;
    return options;
  }

  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random_.below(values.size())));
  }

  Node make_child(std::string name, const std::string& parent, bool is_supervisor) {
    Node node;
    node.name = std::move(name);
    node.parent = parent;
    node.is_supervisor = is_supervisor;
    node.spec.id = node.name;
    node.spec.type = is_supervisor ? ChildType::supervisor : ChildType::worker;
    node.spec.restart = pick({Restart::permanent, Restart::permanent, Restart::transient, Restart::temporary});
    if (parent == "-") return node;
    const SupervisorFlags& above = world_->nodes.at(parent).flags;
    if (above.auto_shutdown != AutoShutdown::never && node.spec.restart != Restart::permanent) {
      node.spec.significant = random_.chance(0.5);
    }
    const bool alone = above.strategy == Strategy::one_for_one || above.strategy == Strategy::simple_one_for_one;
    if (alone && random_.chance(0.15)) {
      node.spec.isolated = true;
      node.spec.budget = Budget{static_cast<std::uint32_t>(random_.below(4)), milliseconds(500), milliseconds(200)};
    }
    if (random_.chance(0.15)) node.spec.backoff = Backoff::exponential(milliseconds(5), milliseconds(100));
    if (random_.chance(0.3)) {
      node.spec.shutdown = pick({Shutdown::brutal_kill(), Shutdown::infinity(), Shutdown::after(milliseconds(5))});
    }
    return node;
  }

  void plant_worker(const std::string& name, const std::string& parent) {
    Node node = make_child(name, parent, false);
    if (random_.chance(0.2)) {
      const std::uint64_t first = random_.chance(0.1) ? 1 : 2;
      for (std::uint64_t i = 0; i <= random_.below(3); ++i) node.fails.push_back(first + i);
    }
    if (random_.chance(0.1)) node.ignores = 1 + random_.below(4);
    node.traps = random_.chance(0.3);
    if (node.traps && random_.chance(0.5)) node.end_takes = milliseconds(1 + random_.below(20));
    if (random_.chance(0.2)) node.start_takes = milliseconds(random_.below(10));
    node.quick = node.start_takes == Duration::zero() && random_.chance(0.5);
    world_->nodes.emplace(name, std::move(node));
  }

  void plant_supervisor(const std::string& parent, std::size_t depth) {
    const std::string name = fmt::format("s{}", supervisors_++);
    Node node = make_child(name, parent, true);
    node.flags.strategy = pick({Strategy::one_for_one, Strategy::one_for_one, Strategy::one_for_all,
                                Strategy::rest_for_one, Strategy::simple_one_for_one, Strategy::escalate});
    const bool pool = node.flags.strategy == Strategy::simple_one_for_one;
    if (parent == "-" && (pool || node.flags.strategy == Strategy::escalate)) {
      node.flags.strategy = Strategy::one_for_one;
    }
    node.flags.intensity = static_cast<std::uint32_t>(random_.below(parent == "-" ? 12 : 6));
    node.flags.period = milliseconds(pick({50, 500, 5000, 60000}));
    const bool is_pool = node.flags.strategy == Strategy::simple_one_for_one;
    if (!is_pool && random_.chance(0.25)) {
      node.flags.auto_shutdown = pick({AutoShutdown::any_significant, AutoShutdown::all_significant});
    }
    world_->nodes.emplace(name, std::move(node));
    if (is_pool) {
      plant_worker(name + "_child", name);
      pools_.push_back(name);
      return;
    }
    const std::uint64_t children = 1 + random_.below(4);
    for (std::uint64_t i = 0; i < children; ++i) {
      if (depth < k_depth_max && world_->nodes.size() < k_names_max && random_.chance(0.35)) {
        plant_supervisor(name, depth + 1);
      } else {
        plant_worker(fmt::format("w{}", workers_++), name);
      }
    }
  }

  static AccountChild account_of(const Node& node) {
    return AccountChild{node.name,          node.spec.restart,  node.spec.significant,
                        node.spec.isolated, node.is_supervisor, node.spec.budget.value_or(Budget{})};
  }

  // In the order in which supervisor_spec() lists them: by name.
  void declare_all() {
    for (const auto& [name, node] : world_->nodes) {
      if (!node.is_supervisor) continue;
      AccountSupervisor supervisor{name, node.flags, {}};
      for (const auto& [id, child] : world_->nodes) {
        if (child.parent == name) supervisor.children.push_back(account_of(child));
      }
      world_->account.declare(std::move(supervisor));
    }
  }

  void pass() {
    if (random_.chance(0.15)) {
      steps_ += runtime_.run_for(milliseconds(random_.below(200)), k_rest_steps_max);
      return;
    }
    const std::uint64_t steps = random_.below(k_steps_between_max);
    for (std::uint64_t i = 0; i < steps; ++i) {
      if (!runtime_.step()) {
        steps_ += runtime_.run_for(milliseconds(random_.below(5)), k_steps_between_max);
        break;
      }
      ++steps_;
    }
  }

  void act() {
    if (random_.chance(k_edge_chance) && hit_edge()) return;
    auto target = world_->nodes.begin();
    std::advance(target, random_.below(world_->nodes.size()));
    const Node& node = target->second;
    const Pid pid = runtime_.whereis(node.name);
    const double kind = random_.unit();
    if (kind < 0.4) {
      if (!pid || (node.parent == "-" && !random_.chance(0.1))) return;
      end(node.name, pid, ExitReason::kill());
    } else if (kind < 0.7) {
      if (pid && !node.is_supervisor) {
        end(node.name, pid, pick({ExitReason::custom("crashed"), ExitReason::normal(), ExitReason::shutdown()}));
      }
    } else if (kind < 0.82 && !pools_.empty()) {
      start_in_pool();
    } else {
      ask_about(node, pid);
    }
  }

  // Ends a child at the very moment at which a restart that fills the window is exactly a period old.
  bool hit_edge() {
    const auto edge = world_->account.edge(runtime_.now());
    if (!edge) return false;
    steps_ += runtime_.run_for(edge->at - runtime_.now(), k_rest_steps_max);
    if (runtime_.is_alive(edge->child)) end("edge", edge->child, ExitReason::kill());
    return true;
  }

  void end(const std::string& name, Pid pid, const ExitReason& reason) {
    world_->note(runtime_.now(), fmt::format("attack: {} {} {}", reason.text(), name, pid.text()));
    world_->account.hit(pid);
    if (reason.kind() == ExitKind::kill) world_->killed.insert(pid.bits());
    if (reason.kind() == ExitKind::kill) {
      runtime_.exit(pid, reason);
    } else {
      runtime_.send(pid, Die{reason});
    }
  }

  void start_in_pool() {
    const std::string pool = pools_[random_.below(pools_.size())];
    const Pid supervisor = runtime_.whereis(pool);
    if (!supervisor || world_->account.has_call(supervisor) || world_->nodes.size() >= 2 * k_names_max) return;
    Node child = world_->nodes.at(pool + "_child");
    child.name = fmt::format("k{}", pool_children_++);
    const std::string name = child.name;
    world_->nodes.emplace(name, std::move(child));
    ask(Ask{CallVerb::start, supervisor, name, {}});
  }

  void ask_about(const Node& node, Pid pid) {
    if (node.parent == "-" || node.spec.isolated) return;
    const Pid supervisor = runtime_.whereis(node.parent);
    if (!supervisor || world_->account.has_call(supervisor)) return;
    const bool pool = world_->nodes.at(node.parent).flags.strategy == Strategy::simple_one_for_one;
    if (pool) {
      if (pid) ask(Ask{CallVerb::terminate, supervisor, node.name, pid});
      return;
    }
    // Under one_for_all the start of the first child begins a restart of all: were it also asked for, or removed, what
    // a start means could not be told from outside.
    const bool all = world_->nodes.at(node.parent).flags.strategy == Strategy::one_for_all;
    if (all && (is_first(node) || has_temporary_first(node.parent))) return;
    ask(Ask{pick({CallVerb::terminate, CallVerb::terminate, CallVerb::restart, CallVerb::restart, CallVerb::remove}),
            supervisor,
            node.name,
            {}});
  }

  [[nodiscard]] const Node& first_child(const std::string& parent) const {
    return std::ranges::find_if(world_->nodes, [&](const auto& each) { return each.second.parent == parent; })->second;
  }
  [[nodiscard]] bool is_first(const Node& node) const { return first_child(node.parent).name == node.name; }
  [[nodiscard]] bool has_temporary_first(const std::string& parent) const {
    return first_child(parent).spec.restart == Restart::temporary;
  }

  void ask(Ask ask) {
    world_->note(runtime_.now(), fmt::format("call: {} about {}", static_cast<int>(ask.verb), ask.child));
    world_->account.call_begins(ask.supervisor, ask.verb, ask.child);
    runtime_.spawn<Caller>(world_, std::move(ask));
  }

  void rest() {
    const std::uint64_t steps = runtime_.run_until_idle(k_rest_steps_max);
    steps_ += steps;
    if (steps >= k_rest_steps_max) world_->account.violation("the tree does not come to rest");
  }

  void check_rest() {
    std::map<std::uint64_t, std::string> supervised;
    for (const auto& [name, node] : world_->nodes) {
      const Pid pid = runtime_.whereis(name);
      if (pid && !runtime_.is_alive(pid)) world_->account.violation(fmt::format("the name {} is left behind", name));
      if (!pid || !node.is_supervisor) continue;
      const auto children = which_children(runtime_, pid);
      if (!children) {
        world_->account.violation(fmt::format("{} does not answer: {}", name, children.error().text()));
        continue;
      }
      for (const ChildInfo& each : *children) {
        if (each.state == ChildState::running) supervised.emplace(each.pid.bits(), name);
      }
      world_->account.at_rest(pid, name, *children);
    }
    for (const ProcessInfo& each : runtime_.processes()) {
      if (each.pid == keeper_ || each.name == "s0" || supervised.contains(each.pid.bits())) continue;
      world_->account.violation(fmt::format("{} {} has no supervisor", each.name, each.pid.text()));
    }
  }

  void check_empty() {
    for (const ProcessInfo& each : runtime_.processes()) {
      if (each.pid == keeper_) continue;
      world_->account.violation(fmt::format("{} {} outlived the root", each.name, each.pid.text()));
    }
    for (const auto& [name, node] : world_->nodes) {
      if (runtime_.whereis(name)) world_->account.violation(fmt::format("{} outlived the root as a name", name));
    }
  }

  Random random_;
  Runtime runtime_;
  Shared world_;
  std::vector<std::string> pools_;
  Pid keeper_;
  std::size_t supervisors_ = 0;
  std::size_t workers_ = 0;
  std::size_t pool_children_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace

TreeModelResult run_tree_model(std::uint64_t seed, bool trace) {
  Model model(seed, trace);
  return model.run();
}

}  // namespace skein::sim
