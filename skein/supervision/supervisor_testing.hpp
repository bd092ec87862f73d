// Helpers of the supervision tests: children that behave as planned, and a deterministic runtime to run them in.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::testing {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

// How a Worker behaves; shared by all its incarnations.
struct Plan {
  std::set<int> fails;         // these starts return an error
  std::set<int> ignores;       // these say ignore
  std::set<int> throws;        // in these the constructor throws
  int fails_from = 1'000'000;  // every start from this one on fails
  bool traps = false;
  bool unlinks = false;                 // from its supervisor, once started
  Duration slow{};                      // what it takes to end when told to (then it traps)
  std::optional<ExitReason> ends_with;  // when told to end, instead of the reason it is told (then it traps)
  Duration init_takes{};
  Duration failing_takes{};  // how long a start that fails takes
  int starts = 0;
  std::shared_ptr<std::vector<std::string>> log = std::make_shared<std::vector<std::string>>();
  std::string name = "w";  // in the log
};
using PlanPtr = std::shared_ptr<Plan>;
inline PlanPtr plan(std::string name = "w") {
  auto made = std::make_shared<Plan>();
  made->name = std::move(name);
  return made;
}

struct Die {
  ExitReason reason;
};
struct Crash {};

// Does as planned; how its init goes is up to the two below.
class PlannedWorker {
 public:
  PlannedWorker(Self self, PlanPtr plan) : plan_(std::move(plan)) {
    ++plan_->starts;
    if (plan_->throws.contains(plan_->starts)) throw std::runtime_error("planned to throw");
    self.trap_exit(plan_->traps || plan_->slow > Duration::zero() || plan_->ends_with.has_value());
  }
  void handle_info(Self self, Message message) {
    if (const auto* die = message.get_if<Die>()) self.stop(die->reason);
    if (message.is<Crash>()) throw std::runtime_error("told to crash");
  }
  Async<void> terminate(Self self, ExitReason reason) {
    if (plan_->slow > Duration::zero()) {
      auto sleeping = self.sleep(plan_->slow);
      co_await sleeping;
    }
    plan_->log->push_back("stop " + plan_->name);
    if (plan_->ends_with && reason.is_shutdown()) self.stop(*plan_->ends_with);
  }

 protected:
  [[nodiscard]] bool fails() const {
    return plan_->fails.contains(plan_->starts) || plan_->starts >= plan_->fails_from;
  }
  Init begin(Self self) {
    if (fails()) return Init::stop(ExitReason::custom("planned"));
    if (plan_->ignores.contains(plan_->starts)) return Init::ignore();
    if (plan_->unlinks) self.unlink(self.parent());
    plan_->log->push_back("start " + plan_->name);
    return Init::ok();
  }

  PlanPtr plan_;
};

// Its init is a coroutine.
class Worker : public PlannedWorker {
 public:
  using PlannedWorker::PlannedWorker;
  Async<Init> init(Self self) {
    const Duration takes = fails() ? plan_->init_takes + plan_->failing_takes : plan_->init_takes;
    if (takes > Duration::zero()) {
      auto sleeping = self.sleep(takes);
      co_await sleeping;
    }
    co_return begin(self);
  }
};

// Its init cannot wait, so it runs within its supervisor's turn.
class QuickWorker : public PlannedWorker {
 public:
  using PlannedWorker::PlannedWorker;
  Init init(Self self) { return begin(self); }
};

// A planned worker of either kind, by turns unless it has to wait.
struct StartPlanned {
  PlanPtr plan;
  ChildStarting operator()(Self self, const std::any& /*extra*/) const {
    const bool waits = plan->init_takes > Duration::zero() || plan->failing_takes > Duration::zero();
    if (waits || plan->starts % 2 == 1) return start_linked<Worker>(self, {}, 0, plan);
    return start_linked<QuickWorker>(self, {}, 0, plan);
  }
};

// A process that starts supervisors as their parent and keeps the exit signals it gets.
class Parent {
 public:
  struct StartIt {
    SupervisorSpec spec;
    SupervisorInit init;
  };
  struct Exits {};
  struct Tell {
    Pid whom;
    ExitReason reason;
  };
  explicit Parent(Self self) { self.trap_exit(true); }
  Async<StartResult> handle_call(Self self, StartIt request) {
    SpawnOptions options;
    options.link = true;
    if (request.init) {
      auto starting = self.start<Supervisor>(options, std::move(request.init));
      StartResult result = co_await starting;
      co_return result;
    }
    auto starting = self.start<Supervisor>(options, std::move(request.spec));
    StartResult result = co_await starting;
    co_return result;
  }
  void handle_cast(Self self, Tell tell) { self.exit(tell.whom, std::move(tell.reason)); }
  std::vector<ExitReason> handle_call(Self /*self*/, Exits /*request*/) { return exits_; }
  void handle_info(Self /*self*/, Message message) {
    if (const auto* exit = message.get_if<Exit>()) exits_.push_back(exit->reason);
  }

 private:
  std::vector<ExitReason> exits_;
};

class Watcher {
 public:
  using Seen = std::shared_ptr<std::map<Pid, ExitReason>>;
  Watcher(Self self, Pid whom, Seen seen) : seen_(std::move(seen)) { ref_ = self.monitor(whom); }
  void handle_info(Self /*self*/, Message message) {
    if (const auto* down = message.get_if<Down>()) seen_->insert_or_assign(down->pid, down->reason);
  }

 private:
  Seen seen_;
  MonitorRef ref_;
};

inline RuntimeOptions deterministic(std::uint64_t seed) {
  RuntimeOptions options;
  options.seed = seed;
  return options;
}

// A supervisor's flags in the order one says them: {one_for_all, 3, 60s}.
inline SupervisorSpec tree(Strategy strategy, std::uint32_t intensity, Duration period, std::vector<ChildSpec> children,
                           AutoShutdown auto_shutdown = AutoShutdown::never) {
  SupervisorSpec spec;
  spec.name = "sup";
  spec.flags = SupervisorFlags{strategy, intensity, period, auto_shutdown};
  spec.children = std::move(children);
  return spec;
}

inline ChildSpec worker(std::string id, PlanPtr how = plan()) {
  ChildSpec spec = child<Worker>(std::move(id), how);
  spec.start = StartPlanned{std::move(how)};
  return spec;
}

// Notes every event of the supervisor and of those below.
inline std::shared_ptr<std::vector<SupervisionEvent>> record(SupervisorSpec& spec) {
  auto events = std::make_shared<std::vector<SupervisionEvent>>();
  spec.sink = std::make_shared<const EventSink>([events](const SupervisionEvent& event) { events->push_back(event); });
  return events;
}

inline SupervisorSpec pool(PlanPtr how, Restart restart = Restart::permanent, std::uint32_t intensity = 1,
                           Duration period = 5s) {
  return tree(Strategy::simple_one_for_one, intensity, period, {worker("c", std::move(how)).with(restart)});
}

class SupervisorTest : public ::testing::Test {
 protected:
  explicit SupervisorTest(std::uint64_t seed = 1) : rt(deterministic(seed)) {}

  // A supervisor under a parent that traps exits.
  Pid start(SupervisorSpec spec) {
    StartResult result = try_start(std::move(spec));
    EXPECT_TRUE(result) << (result ? "" : result.error().reason.text());
    const Pid pid = result ? result->pid : Pid{};
    if (pid) watch(pid);
    return pid;
  }
  StartResult try_start(SupervisorSpec spec, SupervisorInit init = nullptr) {
    if (!parent) parent = rt.spawn<Parent>();
    auto answer = rt.call<Parent>(parent, Parent::StartIt{std::move(spec), std::move(init)}, k_forever);
    EXPECT_TRUE(answer);
    settle();
    return std::move(*answer);
  }
  std::vector<ExitReason> exits() {
    settle();
    return *rt.call<Parent>(parent, Parent::Exits{});
  }
  // Runs everything that can run without time passing.
  void settle() { rt.run_ready(); }
  void watch(Pid pid) {
    rt.spawn<Watcher>(pid, seen);
    settle();
  }
  // How a watched process ended; "alive" when it has not.
  std::string end_of(Pid pid) {
    settle();
    const auto found = seen->find(pid);
    return found == seen->end() ? "alive" : found->second.text();
  }
  bool alive(Pid pid) {
    settle();
    return rt.is_alive(pid);
  }
  void die(Pid pid, ExitReason reason) {
    rt.send(pid, Die{std::move(reason)});
    settle();
  }
  void crash(Pid pid) {
    rt.send(pid, Crash{});
    settle();
  }
  void kill(Pid pid) {
    rt.exit(pid, ExitReason::kill());
    settle();
  }
  // Its parent tells it to.
  void shut_down(Pid supervisor, ExitReason reason = ExitReason::shutdown()) {
    rt.cast<Parent>(parent, Parent::Tell{supervisor, std::move(reason)});
    settle();
  }
  std::optional<ChildInfo> info(Pid supervisor, const std::string& id) {
    const auto all = which_children(rt, supervisor);
    if (!all) return std::nullopt;
    for (const ChildInfo& each : *all) {
      if (each.id == id) return each;
    }
    return std::nullopt;
  }
  Pid pid_of(Pid supervisor, const std::string& id) {
    const auto found = info(supervisor, id);
    return found ? found->pid : Pid{};
  }
  std::string state_of(Pid supervisor, const std::string& id) {
    settle();
    const auto found = info(supervisor, id);
    return found ? std::string(child_state_name(found->state)) : "absent";
  }
  std::vector<std::uint64_t> counts(Pid supervisor) {
    settle();
    const auto count = count_children(rt, supervisor);
    if (!count) return {};
    return {count->specs, count->active, count->supervisors, count->workers};
  }
  Pid add_to_pool(Pid pool_pid, std::any extra = {}) {
    auto started = start_pool_child(rt, pool_pid, std::move(extra));
    EXPECT_TRUE(started) << (started ? "" : started.error().text());
    return started ? started->pid : Pid{};
  }

  Runtime rt;
  Pid parent;
  Watcher::Seen seen = std::make_shared<std::map<Pid, ExitReason>>();
};

// The checklist's cases.
class OtpSupervisor : public SupervisorTest {};
// What belongs to those cases and is not named there.
class OtpSupervisorMore : public SupervisorTest {};
using Counts = std::vector<std::uint64_t>;

// What this thread has used of its core: comparable also on a busy machine.
inline Duration cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

inline std::string failure_of(const StartChildResult& result) {
  return result ? "ok" : std::string(failure_name(result.error().failure));
}
inline std::string failure_of(const ChildResult& result) {
  return result ? "ok" : std::string(failure_name(result.error().failure));
}
inline std::string failure_of(const ChildSpecResult& result) {
  return result ? "ok" : std::string(failure_name(result.error().failure));
}

}  // namespace skein::inline v0::testing
