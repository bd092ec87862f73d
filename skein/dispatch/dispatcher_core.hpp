// The dispatcher's decisions, without a thread, clock or journal: who gets which task, when a run is given up, when a
// task is tried again. Its driver (dispatcher.hpp) tells it what happened and then calls step(), which decides and
// hands out what is to be appended, sent and watched. Same inputs and seed, same outputs. One thread at a time.
//
// The core is made of tables and of values that decide one thing each; what is left here is what happens to a task:
//
//   tables_     tasks, runs, agents, swarms         ageing_      who rises by a class for waiting
//   queue_      which task is next                  preemption_  which run yields to a critical task
//   lanes_      where in the queue a task waits     returning_   which unbegun runs are asked to be returned
//   router_     which agent of those that can       fallback_    which tasks move to another swarm
//   choice_     which agent gets a task             breakers_    which types stop since agents crash over them
//   mail_       what agents are told                timeouts_    how long an attempt may take
//   outgoing_   what is appended                    delays_      how long a failed task waits
//   due_        what happens at which time          costs_       what a run is charged for its place
//   paused_     agents on hold, by name             marks_       which progress is appended
//   requeued_   who returned with this append       keys_        when idempotency keys are forgotten
//
// Values hold references to those declared before them, so they are declared in the order of use.
//
// The ledger is the truth; what is here is a reflection of it, rebuilt by on_state() and kept by on_changes(). What
// holds:
// 1. An order goes to an agent only after its assign was applied, with the fence the ledger issued.
// 2. An outcome is settled only after the operation that carries it was decided by the ledger.
// 3. A task has at most one operation under way that would end its run, and after a requeue the assign that follows.
//    It is known by the number of its append; when that is applied and the task did not change, it was refused.
// 4. No task waits behind one that nobody can run. Critical tasks go first. Among the others the highest effective
//    priority, then the lowest order; among swarms that share an executor the swarm whose turn it is. A task that waits
//    rises by a class at a time, and never to critical.
// 5. Every run has a lease, renewed by each message of the agent that names it. A run ends by its outcome, its agent's
//    end, its lease, its timeout, its task's end, or by being returned, whichever is first.
// 6. An abandoned run keeps its agent busy until the agent reports that the run has stopped.
// 7. The return of what an agent has not begun is asked for when its swarm, or its type in that swarm, is no longer
//    given out, when its agent is suspected or has an open breaker, and when it waits behind a run while an agent that
//    can do it is idle; it costs no attempt. The return of what has begun is never asked for.
// 8. Crashes of agents stop the type of task they were at, in its swarm, and nothing else (crash_breaker.hpp). That is
//    known to this dispatcher alone: a new one begins with all of them closed.
// 9. Once another dispatcher has taken over, nothing more is appended.
// 10. An agent that was paused gets nothing until it is resumed. That is in the ledger by its name: it outlives the
//     agent's process, this dispatcher and the node.
// 11. A pinned task is given to its agent only. Where it may fall back, the ledger unpins it when it has waited for the
//     agent for so long, whether the agent is away, busy or paused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "skein/base/interner.hpp"
#include "skein/base/random.hpp"
#include "skein/dispatch/age_rule.hpp"
#include "skein/dispatch/agent_choice.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/attempt_timeouts.hpp"
#include "skein/dispatch/dispatcher_check.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_output.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/dispatcher_views.hpp"
#include "skein/dispatch/due_heap.hpp"
#include "skein/dispatch/fallback.hpp"
#include "skein/dispatch/key_eviction.hpp"
#include "skein/dispatch/moment.hpp"
#include "skein/dispatch/order_mail.hpp"
#include "skein/dispatch/outgoing.hpp"
#include "skein/dispatch/passed_over.hpp"
#include "skein/dispatch/place_costs.hpp"
#include "skein/dispatch/placement_policy.hpp"
#include "skein/dispatch/preemption.hpp"
#include "skein/dispatch/progress_marks.hpp"
#include "skein/dispatch/ready_queue.hpp"
#include "skein/dispatch/retry_delays.hpp"
#include "skein/dispatch/returning.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/dispatch/task_lanes.hpp"
#include "skein/dispatch/turned_away.hpp"
#include "skein/dispatch/type_breakers.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0::dispatch {

// What on_state() starts from: a frozen ledger, or made by hand.
struct StateView {
  ledger::Epoch epoch = 0;
  std::vector<ledger::Task> open_tasks;
  std::vector<ledger::Swarm> swarms;
  std::vector<ledger::AgentNote> agents;  // what was said of them by name, see k_agent_field_paused
  std::uint64_t keys = 0;
  ledger::Fence last_fence = 0;
  std::uint64_t version = ledger::k_first_ledger_version;

  [[nodiscard]] static StateView of(const ledger::FrozenLedger& frozen);
};

class DispatcherCore {
 public:
  // Throws std::invalid_argument when the options make no sense.
  DispatcherCore(DispatcherOptions options, std::uint64_t seed);
  DispatcherCore(const DispatcherCore&) = delete;
  DispatcherCore& operator=(const DispatcherCore&) = delete;

  // `epoch` is the one this dispatcher took.
  void on_state(ledger::Epoch epoch, const StateView& state, const Moment& moment);
  void on_changes(const ledger::ChangeBatch& batch, const Moment& moment);
  // An append was applied; one answer per command.
  void on_applied(std::uint64_t append, std::span<const std::string> answers, const Moment& moment);

  void on_ready(Pid from, AgentReady ready, const Moment& moment);
  void on_report(Pid from, AgentReport report, const Moment& moment);
  void on_heartbeat(Pid from, const AgentHeartbeat& heartbeat, const Moment& moment);
  void on_returned(Pid from, std::span<const TaskRef> tasks, const Moment& moment);
  void on_metrics(Pid from, const AgentMetrics& metrics);
  void on_paused(Pid from, const AgentPaused& paused, const Moment& moment);
  void on_down(Pid pid, bool is_graceful, const Moment& moment);

  // The whole program stood still for so long, and the clock with it.
  void on_time_lost(Duration lost, const Moment& moment);

  // Does what is due, gives out what can be, and hands over all there is to do.
  [[nodiscard]] DispatchOutput step(const Moment& moment);

  [[nodiscard]] bool has_state() const { return has_state_; }
  [[nodiscard]] bool is_deposed() const { return is_deposed_; }
  [[nodiscard]] const DispatchCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t tasks() const { return tables_.tasks.size(); }
  [[nodiscard]] std::size_t ready() const { return queue_.ready(); }
  [[nodiscard]] std::size_t runs() const { return tables_.runs.size(); }
  [[nodiscard]] std::size_t agents() const { return tables_.agents.size(); }
  // See dispatcher_views.hpp.
  [[nodiscard]] std::optional<SwarmLoad> swarm_load(std::string_view name) const {
    return dispatch::swarm_load(tables_, queue_, breakers_, name);
  }
  [[nodiscard]] std::vector<PassedOver> passed_over_agents(std::string_view agent, const Moment& moment) {
    return dispatch::passed_over_agents(tables_, router_, agent, moment);
  }
  [[nodiscard]] std::vector<PassedOver> passed_over_types(const Moment& moment) const {
    return dispatch::passed_over_types(breakers_, moment);
  }
  [[nodiscard]] Router& router() { return router_; }
  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] const DispatcherOptions& options() const { return options_; }
  // Empty when all its tables agree with each other; for tests.
  [[nodiscard]] std::string inconsistency() const { return dispatch::inconsistency(tables_, queue_); }

 private:
  // dispatcher_core.cpp
  void fill(SlotNumber slot, const ledger::Task& task, const Moment& moment);
  void forget(SlotNumber slot);
  void queue_task(SlotNumber slot, const ledger::Task& task, const Moment& moment);
  void make_ready(SlotNumber slot, const Moment& moment);
  void leave_queue(SlotNumber slot);
  void set_due(SlotNumber slot);
  void depose(std::string_view by);

  // dispatcher_changes.cpp
  void task_queued(const ledger::TaskQueued& change, const Moment& moment);
  void task_assigned(const ledger::TaskAssigned& change, const Moment& moment);
  void task_finished(const ledger::TaskFinished& change, const Moment& moment);
  void rarer_change(const ledger::Change& change, const Moment& moment);
  void refused(const OpRef& ref, const ledger::OpResult& result, const Moment& moment);
  void adopt(SlotNumber slot, std::string_view agent, ledger::Fence fence, bool is_started, const Moment& moment);
  void take_swarm(const ledger::Swarm& swarm);

  // dispatcher_runs.cpp
  void deliver(SlotNumber run, const Moment& moment);
  void complete(SlotNumber run, RunCompleted done, const Moment& moment);
  void fail_attempt(SlotNumber run, ledger::ErrorClass error, std::string message, std::optional<Duration> retry_after,
                    bool is_reported, const Moment& moment);
  void attempt_timed_out(SlotNumber run, const Moment& moment);
  void fail_timed_out(SlotNumber run, const Moment& moment);
  void requeue(SlotNumber run, ledger::RequeueReason reason, const Moment& moment);
  void settled(SlotNumber run, const Moment& moment);
  // The task goes on without it.
  void detach(SlotNumber run, StopReason why, const Moment& moment);
  // The agent has it no longer.
  void end_run(SlotNumber run, const Moment& moment);
  // It holds no place at its agent any more.
  void release(Run& run, const std::optional<AttemptOutcome>& outcome, const Moment& moment);

  // dispatcher_agents.cpp
  SlotNumber agent_of(Pid pid, const Moment& moment);
  void join(SlotNumber agent, AgentReady& ready, const Moment& moment);
  void match_announced(SlotNumber agent, std::span<const TaskRef> held, const Moment& moment);
  void match_heartbeat(SlotNumber agent, const AgentHeartbeat& heartbeat, const Moment& moment);
  void returned(SlotNumber run, const Moment& moment);
  void crashed_runs(SlotNumber agent, bool is_graceful, const Moment& moment);
  void update_readiness(AgentRecord& agent, const Moment& moment);
  void set_hold(AgentRecord& agent, Hold hold, bool is_held, const Moment& moment);
  // By somebody, for the agent of that name that is there or comes.
  void set_paused(const std::string& agent, bool is_paused, const Moment& moment);

  // dispatcher_pause.cpp
  void late_step(const Moment& moment);

  // dispatcher_rounds.cpp
  void task_due(SlotNumber slot, const Moment& moment);
  void tick(const Moment& moment);
  void watch_agents(const Moment& moment);
  void round(const Moment& moment);
  bool give_out(const ReadyQueue::Next& next, const Moment& moment);
  bool assign_to_somebody(SlotNumber slot, const Moment& moment);
  void give_out_requeued(const Moment& moment);

  // dispatcher_breakers.cpp
  void count_crash(const Run& run, const Moment& moment);
  void count_completion(const TaskRecord& task, const Moment& moment);
  void follow_breaker(TypeBreaker& its, CrashBreaker::Change change, ledger::TaskNumber task, const Moment& moment);
  void watch_breakers(const Moment& moment);
  void tell_router_changes(const Moment& moment);

  DispatcherOptions options_;
  std::shared_ptr<const PhiOptions> judge_;  // of heartbeats
  Random random_;

  // What is remembered.
  DispatcherTables tables_;
  Router router_;
  ReadyQueue queue_;
  DueHeap due_;  // of tasks
  TypeBreakers breakers_;
  Outgoing outgoing_;
  std::unordered_set<std::string> paused_;           // names of agents, as the ledger has them
  Interner<std::vector<std::string>> capabilities_;  // of agents
  TurnedAway turned_away_;
  std::vector<std::pair<SlotNumber, ledger::TaskNumber>> requeued_;  // at the front, in the append that gathers

  // What decides one thing each.
  OrderMail mail_{tables_};
  TaskLanes lanes_{tables_, queue_, router_, options_};
  AgeRule ageing_{tables_, lanes_, options_};
  Preemption preemption_{tables_, options_};
  AgentChoice choice_{{tables_, lanes_, preemption_, router_, random_}};
  Returning returning_{{tables_, breakers_, choice_, router_, options_}};
  Fallback fallback_{tables_.swarms, options_};
  AttemptTimeouts timeouts_{options_};
  RetryDelays delays_{options_, choice_, router_, random_};
  PlaceCosts costs_{tables_, queue_, lanes_};
  ProgressMarks marks_{tables_, outgoing_};
  KeyEviction keys_{options_};

  ledger::Epoch epoch_ = 0;
  ledger::Fence last_fence_ = 0;
  bool has_state_ = false;
  bool is_deposed_ = false;
  bool state_needed_ = false;
  Instant state_asked_at_ = Instant::min();
  bool may_be_met_ = false;  // somebody became free
  Instant next_tick_ = Instant::min();
  Instant promised_ = Instant::max();  // by then the next step was asked for
  Instant next_ask_ = Instant::max();
  ledger::Op assign_ = ledger::Assign{};  // kept for its memory

  DispatchOutput output_;
  DispatchCounters counters_;
};

}  // namespace skein::inline v0::dispatch
