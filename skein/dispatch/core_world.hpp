// A DispatcherCore over a real ledger without journal, clock or processes, and agents that do what the test says; for
// *_test.cpp files. settle() steps until nothing more is to be appended. One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/ledger/invariants.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::inline v0::dispatch {

class CoreWorld : public ledger::ChangeSink {
 public:
  struct Agent {
    std::string name;
    std::map<TaskRef, Order> held;  // ordered and not yet settled, stopped or returned
    std::vector<StopTask> stops;
    std::vector<TaskRef> settled;
    std::vector<TaskRef> asked;
    std::uint64_t seen = 0;
    std::size_t invitations = 0;
    std::size_t orders = 0;  // received, the same one twice counted twice
    bool is_alive = true;
    bool is_paused = false;  // as its heartbeats say
  };

  explicit CoreWorld(DispatcherOptions options = {}, std::uint64_t seed = 1)
      : core(std::make_unique<DispatcherCore>(options, seed)), options_(std::move(options)), seed_(seed) {
    ledger.add_sink(*this);
    moment.wall = 1'000'000;
  }

  static ledger::TaskId id_of(std::uint64_t n) { return {0x0190'0000'0000'7000ULL, n}; }
  static Pid pid_of(std::uint32_t n) { return Pid(1, n, 1); }

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override { changes_.push_back(batch); }

  ledger::OpResult run(const ledger::Op& op) {
    const auto answer = ledger::decode_results(ledger.apply(++position_, ledger::encode_command(op)));
    EXPECT_TRUE(answer && answer->size() == 1);
    hand_over();
    return (*answer)[0];
  }
  ledger::Submit a_task(std::uint64_t n, std::string type = "work") {
    ledger::Submit op;
    op.id = id_of(n);
    op.at = moment.wall;
    op.spec.type = std::move(type);
    return op;
  }
  void submit(std::uint64_t n, std::string type = "work", std::uint16_t priority = ledger::k_normal) {
    auto op = a_task(n, std::move(type));
    op.spec.priority = priority;
    ASSERT_EQ(run(op).verdict, ledger::Verdict::ok);
  }
  // Takes the dispatch and hands over the state.
  void begin() {
    run(ledger::LedgerVersion{ledger_version});
    const auto epoch = run(ledger::TakeDispatch{"node", moment.wall}).number;
    changes_.clear();
    core->on_state(epoch, StateView::of(*ledger.freeze()), moment);
    is_begun_ = true;
    settle();
  }
  // As after a crash of the dispatcher: a new one, which knows nothing; what was to be appended is lost.
  void lose_dispatcher() {
    core = std::make_unique<DispatcherCore>(options_, ++seed_);
    pending_.clear();
    is_begun_ = false;
  }
  // The next dispatcher belongs to another program than the holders of fences up to this.
  void end_program(ledger::Fence fence) { options_.dead_fence = fence; }
  void restart() {
    lose_dispatcher();
    begin();
  }

  Agent& join(std::uint32_t n, AgentReady ready = {}) {
    if (ready.name.empty()) ready.name = "agent" + std::to_string(n);
    if (ready.capabilities.empty()) ready.capabilities = {"work"};
    Agent& agent = agents[n];
    agent.name = ready.name;
    agent.is_alive = true;
    agent.seen = 0;
    if (ready.held.empty()) {
      for (const auto& [ref, order] : agent.held) ready.held.push_back(ref);
    }
    core->on_ready(pid_of(n), std::move(ready), moment);
    settle();
    return agent;
  }
  // One that may hold so many at once.
  Agent& join_wide(std::uint32_t n, std::uint32_t capacity) {
    AgentReady ready;
    ready.capacity = capacity;
    return join(n, std::move(ready));
  }
  // Begins with agent 1, which gets task 1.
  Agent& begin_with_run() {
    begin();
    Agent& agent = join(1);
    submit(1);
    settle();
    return agent;
  }
  Agent& join_function(std::uint32_t n, std::uint32_t capacity = 1) {
    AgentReady ready;
    ready.capacity = capacity;
    ready.is_function = true;
    return join(n, std::move(ready));
  }
  void crash(std::uint32_t n) {
    agents[n].is_alive = false;
    agents[n].held.clear();
    core->on_down(pid_of(n), false, moment);
    settle();
  }
  void leave(std::uint32_t n) {
    agents[n].is_alive = false;
    agents[n].held.clear();
    core->on_down(pid_of(n), true, moment);
    settle();
  }
  void beat(std::uint32_t n) {
    AgentHeartbeat heartbeat{agents[n].seen, {}, agents[n].is_paused};
    for (const auto& [ref, order] : agents[n].held) heartbeat.held.push_back(ref);
    core->on_heartbeat(pid_of(n), heartbeat, moment);
    settle();
  }
  void complete(std::uint32_t n, TaskRef ref, std::string_view result = "done") {
    AgentReport report;
    report.complete.push_back({ref, ledger::body_of(result)});
    core->on_report(pid_of(n), std::move(report), moment);
    settle();
  }
  void fail(std::uint32_t n, TaskRef ref, ledger::ErrorClass error, std::optional<Duration> retry_after = {}) {
    AgentReport report;
    report.failed.push_back({ref, error, "broken", retry_after});
    core->on_report(pid_of(n), std::move(report), moment);
    settle();
  }
  void start(std::uint32_t n, TaskRef ref) {
    AgentReport report;
    report.started.push_back({ref});
    core->on_report(pid_of(n), std::move(report), moment);
    settle();
  }
  void return_task(std::uint32_t n, TaskRef ref) {
    agents[n].held.erase(ref);
    const std::vector<TaskRef> refs{ref};
    core->on_returned(pid_of(n), refs, moment);
    settle();
  }

  // One step; what is to be appended waits for apply().
  void step() {
    auto out = core->step(moment);
    for (auto& each : out.appends) pending_.push_back(std::move(each));
    for (auto& each : out.events) events.push_back(std::move(each));
    for (auto& [pid, orders] : out.mail) deliver(pid, orders);
    wake_at = out.wake_at;
    wants_state = out.wants_state;
    EXPECT_EQ(core->inconsistency(), "");
    if (wants_state && is_begun_) {
      core->on_state(ledger.epoch(), StateView::of(*ledger.freeze()), moment);
      ++fresh_starts;
    }
  }
  bool apply_next() {
    if (pending_.empty()) return false;
    const Append append = std::move(pending_.front());
    pending_.pop_front();
    apply(append);
    return true;
  }
  void apply(const Append& append) {
    ++appends;
    std::vector<std::string> answers;
    for (const auto& command : append.commands) {
      answers.push_back(ledger.apply(++position_, command));
      commands.push_back(command);
    }
    hand_over();
    core->on_applied(append.id, answers, moment);
    EXPECT_EQ(ledger::broken_invariant(*ledger.freeze()), std::nullopt);
  }
  void settle() {
    if (is_held) return;
    step();
    while (apply_next()) {
      if (pending_.empty()) step();
    }
  }
  // Lets time pass, from one thing that is due to the next.
  void pass(Duration time, bool do_beat = true) {
    const Instant until = moment.now + time;
    Instant next_beat = moment.now + std::chrono::seconds(1);
    settle();
    while (true) {
      const Instant next = std::min({wake_at, until, next_beat});
      advance_to(std::max(next, moment.now));
      if (next_beat <= moment.now) {
        next_beat = moment.now + std::chrono::seconds(1);
        for (auto& [n, agent] : agents) {
          if (do_beat && agent.is_alive && !agent.name.empty()) beat(n);
        }
      }
      settle();
      if (moment.now >= until) return;
    }
  }
  void advance_to(Instant to) {
    elapsed_ += to - moment.now;
    moment.now = to;
    moment.wall = 1'000'000 + wall_ahead_ms +
                  static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed_).count());
  }

  ledger::State state(std::uint64_t n) {
    const auto found = ledger.find(id_of(n));
    return found->finished ? found->finished->task.state : found->task.state;
  }
  ledger::Task task(std::uint64_t n) {
    const auto found = ledger.find(id_of(n));
    return found->finished ? found->finished->task : found->task;
  }
  // The assignment of a task that is at an agent.
  TaskRef ref(std::uint64_t n) {
    const auto found = task(n);
    return {found.number, found.fence};
  }
  std::string where(std::uint64_t n) {
    const auto found = task(n);
    return ledger::is_running(found.state) ? std::string(ledger::view_of(found.agent)) : "";
  }
  std::size_t count(DispatchEvent::Kind kind) const {
    return static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(), [&](const auto& each) { return each.kind == kind; }));
  }
  std::size_t pending() const { return pending_.size(); }

  Moment moment;
  ledger::Ledger ledger;
  std::unique_ptr<DispatcherCore> core;
  std::map<std::uint32_t, Agent> agents;
  std::vector<DispatchEvent> events;
  std::vector<std::string> commands;
  Instant wake_at = Instant::max();
  bool wants_state = false;
  std::uint64_t ledger_version = ledger::k_ledger_version;  // raised to by begin()
  ledger::WallMs wall_ahead_ms = 0;                         // the wall clock is wrong by so much from the next step on
  bool is_held = false;                                     // settle() does nothing: the test steps and applies by hand
  std::size_t appends = 0;
  std::size_t fresh_starts = 0;

 private:
  void hand_over() {
    for (const auto& batch : std::exchange(changes_, {})) {
      if (is_begun_) core->on_changes(*batch, moment);
    }
  }
  void deliver(Pid pid, Orders& orders) {
    Agent& agent = agents[pid.slot()];
    if (!agent.is_alive || pid != pid_of(pid.slot())) return;
    agent.seen = orders.sequence;
    if (orders.full) {
      std::erase_if(agent.held, [&](const auto& each) {
        return std::none_of(orders.run.begin(), orders.run.end(), [&](const auto& o) { return o.ref == each.first; });
      });
    }
    for (const auto ref : orders.settled) {
      agent.held.erase(ref);
      agent.settled.push_back(ref);
    }
    for (const auto& stop : orders.stop) agent.stops.push_back(stop);
    for (const auto ref : orders.ask_again) agent.asked.push_back(ref);
    agent.invitations += orders.announce ? 1U : 0U;
    agent.orders += orders.run.size();
    for (auto& order : orders.run) agent.held.emplace(order.ref, order);
  }

  DispatcherOptions options_;
  std::uint64_t seed_;
  Duration elapsed_{};
  journal::Position position_ = 0;
  bool is_begun_ = false;
  std::vector<std::shared_ptr<const ledger::ChangeBatch>> changes_;
  std::deque<Append> pending_;
};

}  // namespace skein::inline v0::dispatch
