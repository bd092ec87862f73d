#include "sim/collapse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/simulation.hpp"
#include "skein/runtime/runtime.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t k_intensity = 5;
constexpr Duration k_period = seconds(60);
constexpr Duration k_settle = milliseconds(10);
constexpr int k_rapid_kills = 10;

struct Idle {
  void handle_info(Self, Message) {}
};

struct Facts {
  std::map<std::string, std::uint64_t> starts;
  std::uint64_t already_started = 0;
  std::uint64_t failed_starts = 0;
};
using Shared = std::shared_ptr<Facts>;

Async<ChildStart> start_named(Self self, Shared facts, std::string name, std::shared_ptr<const SupervisorSpec> spec) {
  ++facts->starts[name];
  StartResult result;
  if (spec != nullptr) {
    auto starting = start_supervisor(self, *spec, name);
    result = co_await starting;
  } else {
    SpawnOptions options;
    options.name = name;
    options.link = true;
    auto starting = self.start<Idle>(options);
    result = co_await starting;
  }
  if (!result) ++(result.error().already_started ? facts->already_started : facts->failed_starts);
  co_return child_start_of(std::move(result));
}

struct NamedStart {
  Shared facts;
  std::string name;  // empty in the pool, whose children bring their own
  std::shared_ptr<const SupervisorSpec> spec;
  Async<ChildStart> operator()(Self self, const std::any& extra) const {
    return start_named(self, facts, name.empty() ? std::any_cast<std::string>(extra) : name, spec);
  }
};

class Collapse {
 public:
  explicit Collapse(std::uint64_t seed) : runtime_(options(seed)) {}

  CollapseReport run() {
    say("The collapse test: root one_for_one 5/60, core 5/60 with eleven children, a server pool, observability.");
    start_tree();
    baseline();
    two_workers();
    for (const int apart_ms : {50, 100, 500, 1000}) rapid_kills(milliseconds(apart_ms));
    kill_supervisor("3. the server supervisor is killed", "server_sup");
    kill_supervisor("4. the core supervisor is killed", "core_sup");
    exhaust_root();
    report_.text = std::move(out_);
    return std::move(report_);
  }

 private:
  static RuntimeOptions options(std::uint64_t seed) {
    RuntimeOptions options;
    options.seed = seed;
    options.max_processes = 10'000;
    return options;
  }

  void say(const std::string& line) { out_ += line + "\n"; }
  void check(bool holds, const std::string& what) {
    ++(holds ? report_.passed : report_.failed);
    say(fmt::format("   {} {}", holds ? "ok    " : "FAILED", what));
  }

  ChildSpec worker(const std::string& name) {
    ChildSpec spec;
    spec.id = name;
    spec.start = NamedStart{facts_, name, nullptr};
    workers_.push_back(name);
    return spec;
  }
  ChildSpec supervisor(const std::string& name, Strategy strategy, std::vector<ChildSpec> children) {
    auto inner = std::make_shared<SupervisorSpec>();
    inner->name = name;
    inner->flags = SupervisorFlags{strategy, k_intensity, k_period, AutoShutdown::never};
    inner->children = std::move(children);
    ChildSpec spec;
    spec.id = name;
    spec.type = ChildType::supervisor;
    spec.start = NamedStart{facts_, name, std::move(inner)};
    supervisors_.push_back(name);
    return spec;
  }

  SupervisorSpec tree() {
    workers_.clear();
    supervisors_.clear();
    std::vector<ChildSpec> core;
    core.push_back(supervisor("cluster_sup", Strategy::one_for_one, {worker("cluster_monitor")}));
    core.push_back(worker("registry"));
    core.push_back(supervisor("reload_sup", Strategy::one_for_one, {worker("reloader")}));
    for (const char* name : {"session_manager", "hooks", "resource_subscriptions", "event_store", "icon_cache", "cache",
                             "session_replicator", "session_failover"}) {
      core.push_back(worker(name));
    }
    ChildSpec server;
    server.id = "server";
    server.restart = Restart::temporary;
    server.start = NamedStart{facts_, {}, nullptr};
    std::vector<ChildSpec> watching;
    for (const char* name : {"dashboard", "metrics", "tracer", "health"}) watching.push_back(worker(name));
    SupervisorSpec root;
    root.name = "root";
    root.flags = SupervisorFlags{Strategy::one_for_one, k_intensity, k_period, AutoShutdown::never};
    root.children.push_back(supervisor("core_sup", Strategy::one_for_one, std::move(core)));
    root.children.push_back(supervisor("server_sup", Strategy::simple_one_for_one, {server}));
    root.children.push_back(supervisor("observability_sup", Strategy::one_for_one, std::move(watching)));
    root.sink = sink_;
    return root;
  }

  void start_tree() {
    const auto started = start_supervisor(runtime_, tree(), "root");
    check(started.has_value(), "the tree starts");
    start_server();
  }
  void start_server() {
    const auto added = start_pool_child(runtime_, runtime_.whereis("server_sup"), std::any(std::string("server_1")));
    if (!added) say("   a server did not start: " + added.error().text());
  }

  [[nodiscard]] std::map<std::string, Pid> living() {
    std::map<std::string, Pid> all;
    for (const ProcessInfo& each : runtime_.processes()) {
      if (!each.name.empty()) all.emplace(each.name, each.pid);
    }
    return all;
  }
  // Children that are another process now than before.
  std::vector<std::string> changed(const std::map<std::string, Pid>& before) {
    std::vector<std::string> names;
    for (const auto& [name, pid] : living()) {
      const auto old = before.find(name);
      if (old == before.end() || old->second != pid) names.push_back(name);
    }
    return names;
  }
  static std::string list(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

  // Kills who bears the name at this moment, and notes how long until all is at rest again.
  void kill(const std::string& name) {
    const Pid pid = runtime_.whereis(name);
    if (!pid) return;
    const auto begin = std::chrono::steady_clock::now();
    runtime_.exit(pid, ExitReason::kill());
    steps_ = runtime_.run_ready();
    took_ = std::chrono::steady_clock::now() - begin;
  }
  [[nodiscard]] std::string took() const {
    return fmt::format("{:.0f} µs, {} steps", std::chrono::duration<double, std::micro>(took_).count(), steps_);
  }
  void empty_windows() { runtime_.run_for(k_period + seconds(1)); }

  void baseline() {
    say("0. baseline");
    const auto all = living();
    const auto up = static_cast<std::size_t>(
                        std::ranges::count_if(workers_, [&](const auto& name) { return all.contains(name); })) +
                    (all.contains("server_1") ? 1U : 0U);
    say(fmt::format("   {} workers and {} supervisors are up", up, supervisors_.size() + 1));
    check(up == 16, "all 16 workers are up");
    check(all.size() == up + supervisors_.size() + 1, "nobody else is");
  }

  void two_workers() {
    say("1. two core workers are killed");
    const auto before = living();
    kill("session_failover");
    say(fmt::format("   session_failover is back after {}", took()));
    kill("session_replicator");
    say(fmt::format("   session_replicator is back after {}", took()));
    const auto names = changed(before);
    check(names == std::vector<std::string>{"session_failover", "session_replicator"},
          "these two are new, nobody else: " + list(names));
    empty_windows();
  }

  void rapid_kills(Duration apart) {
    const auto apart_ms = std::chrono::duration_cast<milliseconds>(apart).count();
    say(fmt::format("2. ten kills of session_failover, each of the current process, {} ms apart", apart_ms));
    Pid core = runtime_.whereis("core_sup");
    const auto starts = facts_->starts["session_failover"];
    const Pid root = runtime_.whereis("root");
    std::vector<int> gave_up;
    for (int kill_number = 1; kill_number <= k_rapid_kills; ++kill_number) {
      const Pid victim = runtime_.whereis("session_failover");
      if (victim) runtime_.exit(victim, ExitReason::kill());
      runtime_.run_for(apart);
      if (const Pid now = runtime_.whereis("core_sup"); now != core) {
        gave_up.push_back(kill_number);
        core = now;
      }
    }
    say(fmt::format("   session_failover was started {} times; core gave up at kill {}",
                    facts_->starts["session_failover"] - starts, fmt::join(gave_up, ", ")));
    check(gave_up == std::vector<int>{6}, "core gives up at exactly the sixth kill in its window, and only there");
    check(runtime_.whereis("root") == root, "root is the same process and has started core again");
    check(facts_->already_started == 0, "no start found a name taken");
    empty_windows();
  }

  void kill_supervisor(const std::string& title, const std::string& name) {
    say(title);
    const auto before = living();
    kill(name);
    runtime_.run_for(k_settle);
    const auto names = changed(before);
    say(fmt::format("   {} is back after {}; new: {}", name, took(), list(names)));
    const bool core = name == "core_sup";
    const std::set<std::string> got(names.begin(), names.end());
    const std::size_t expected = core ? 14 : 1;  // core: itself, two supervisors with a worker each, nine workers
    check(got.contains(name) && names.size() == expected, fmt::format("{} of its subtree came back", expected));
    check(!got.contains("dashboard") && !got.contains("root"), "neither root nor observability was touched");
    check(facts_->already_started == 0, "no start found a name taken");
    if (!core) {
      check(!living().contains("server_1"), "the pool's dynamic child is gone and is not made up again");
      start_server();
    }
    empty_windows();
  }

  void exhaust_root() {
    say("5. the root is exhausted: the core supervisor is killed until root gives up");
    const Pid root = runtime_.whereis("root");
    int kills = 0;
    while (runtime_.is_alive(root) && kills < k_rapid_kills) {
      ++kills;
      kill("core_sup");
      runtime_.run_for(k_settle);
    }
    check(kills == 6, fmt::format("root gives up at the sixth kill (it was {})", kills));
    check(gave_up_.contains("root"), "it reports that its intensity was exceeded");
    const auto left = living();
    check(left.empty() && runtime_.process_count() == 0, "no process and no name is left of the tree");
    check(facts_->failed_starts == 0, "no start failed in all this");
    start_tree();
    check(living().size() == 22, "started once more, the whole tree comes up");
  }

  Shared facts_ = std::make_shared<Facts>();
  std::set<std::string> gave_up_;
  std::shared_ptr<const EventSink> sink_ = std::make_shared<const EventSink>([this](const SupervisionEvent& event) {
    if (event.kind == EventKind::intensity_exceeded) gave_up_.insert(event.supervisor);
  });
  Runtime runtime_;
  std::vector<std::string> workers_;
  std::vector<std::string> supervisors_;
  std::string out_;
  CollapseReport report_;
  Duration took_{};
  std::uint64_t steps_ = 0;
};

int run_from(std::span<const std::string> args) {
  std::uint64_t seed = 1;
  if (args.size() == 2 && args[0] == "--seed" && !args[1].empty() &&
      std::ranges::all_of(args[1], [](char c) { return c >= '0' && c <= '9'; }) && args[1].size() < 19) {
    seed = std::stoull(args[1]);
  } else if (!args.empty()) {
    fmt::print(stderr, "usage: skein-sim collapse [--seed S]\n");
    return k_bad_usage;
  }
  const CollapseReport report = run_collapse(seed);
  fmt::print("{}{} passed, {} failed\n", report.text, report.passed, report.failed);
  return report.failed == 0 ? k_nothing_violated : k_violated;
}

const Registrar k_collapse{{.name = "collapse", .usage = "collapse [--seed S]", .run = run_from}};

}  // namespace

CollapseReport run_collapse(std::uint64_t seed) { return Collapse(seed).run(); }

}  // namespace skein::sim
