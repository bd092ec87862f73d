// The dispatcher's decisions, without a thread, clock or journal: who gets which task, when a run is given up, when a
// task is tried again. Its driver (dispatcher.hpp) tells it what happened and then calls step(), which decides and
// hands out what is to be appended, sent and watched. Same inputs and seed, same outputs. One thread at a time.
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
//    end, its lease, its timeout, its task's end, or by being handed back, whichever is first.
// 6. An abandoned run keeps its agent busy until the agent reports that the run has stopped.
// 7. The return of what an agent has not begun is asked for when its swarm, or its type in that swarm, is given out no
//    more, and when it waits behind a run while an agent that can do it is idle; it costs no attempt. What has begun is
//    never asked back.
// 8. Crashes of agents stop the type of task they were at, in its swarm, and nothing else (crash_breaker.hpp). That is
//    known to this dispatcher alone: a new one begins with all of them closed.
// 9. Once another dispatcher has taken over, nothing more is appended.
// 10. An agent that was paused gets nothing until it is resumed. That is in the ledger by its name: it outlives the
//     agent's process, this dispatcher and the node.
// 11. A pinned task is given to its agent only. Where it may fall back, the ledger unpins it when it has waited for the
//     agent for so long, whether the agent is away, busy or paused.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "skein/base/interner.hpp"
#include "skein/base/random.hpp"
#include "skein/dispatch/ageing.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"
#include "skein/dispatch/due_heap.hpp"
#include "skein/dispatch/number_index.hpp"
#include "skein/dispatch/outgoing.hpp"
#include "skein/dispatch/passed_over.hpp"
#include "skein/dispatch/placement_policy.hpp"
#include "skein/dispatch/preemption.hpp"
#include "skein/dispatch/ready_queue.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/dispatch/type_breakers.hpp"
#include "skein/dispatch/wall_agreement.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/routing/id_index.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0::dispatch {

// Now, on both clocks.
struct Moment {
  Instant now;
  ledger::WallMs wall = 0;
};

struct DispatchEvent {
  enum class Kind : std::uint8_t {
    agent_joined,
    agent_left,  // gracefully
    agent_crashed,
    agent_refused,
    agent_silent,
    agent_passed_over,  // the router goes around it; the detail says why, `until` for how long
    agent_back,         // and no longer does
    routing_timeout,    // nobody was free for a set of capabilities for so long
    was_late,           // this dispatcher had no turn for long; every run got a new lease
    was_paused,         // the whole program stood still
    lease_expired,
    attempt_timed_out,
    preempted,
    taken_back,  // not begun: for an idle agent, or since its swarm gives nothing out
    handed_on,   // by the subject, a swarm; the detail says to which
    unpinned,    // the subject, an agent, did not take its task in time; any agent may have it
    breaker_warning,
    breaker_opened,
    breaker_half_opened,
    breaker_closed,
    deposed,           // another dispatcher has taken over
    dispatch_refused,  // by the ledger; nothing is given out meanwhile
    learned_refused,   // the table of a dispatcher before this one
  };
  Kind kind = Kind::agent_joined;
  std::string subject;  // an agent, a swarm, or capabilities
  ledger::TaskNumber task = 0;
  std::string detail;
  std::string type{};        // breaker_*: of the tasks that it stops
  ledger::WallMs until = 0;  // agent_passed_over, breaker_opened: about when it is tried again; 0: nobody knows
};
[[nodiscard]] std::string_view name_of(DispatchEvent::Kind kind);

struct DispatchCounters {
  std::uint64_t assigned = 0;   // decided
  std::uint64_t delivered = 0;  // orders sent, resent ones not counted
  std::uint64_t completed = 0;
  std::uint64_t failed_attempts = 0;
  std::uint64_t requeued = 0;
  std::uint64_t taken_back = 0;  // not begun by their agents
  std::uint64_t handed_on = 0;   // to a fallback swarm
  std::uint64_t unpinned = 0;    // from an agent that did not take them in time
  std::uint64_t stale_reports = 0;
  std::uint64_t refused_ops = 0;
  std::uint64_t resyncs = 0;
  std::uint64_t aged = 0;
  std::uint64_t expired = 0;
  std::uint64_t ticks = 0;
  std::uint64_t late_steps = 0;  // after which every run got a new lease
  std::uint64_t pauses = 0;      // of the whole program
};

struct DispatchOutput {
  std::vector<Append> appends;
  std::vector<std::pair<Pid, Orders>> mail;
  std::vector<Pid> watch;    // monitor them
  std::vector<Pid> unwatch;  // no longer
  std::vector<DispatchEvent> events;
  Instant wake_at = Instant::max();
  bool wants_state = false;  // something did not fit: call on_state() with a fresh one
};

// What on_state() starts from: a frozen ledger, or made by hand.
struct StateView {
  ledger::Epoch epoch = 0;
  std::vector<ledger::Task> open_tasks;
  std::vector<ledger::Swarm> swarms;
  std::vector<ledger::AgentRecord> agents;  // what was said of them by name, see k_agent_field_paused
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
  void on_hand_back(Pid from, std::span<const TaskRef> tasks, const Moment& moment);
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
  [[nodiscard]] std::size_t tasks() const { return tasks_.size(); }
  [[nodiscard]] std::size_t ready() const { return queue_.ready(); }
  [[nodiscard]] std::size_t runs() const { return runs_.size(); }
  [[nodiscard]] std::size_t agents() const { return agents_.size(); }
  // Nothing when there is no such swarm, or it is not known yet. Costs as much as there are agents and lanes.
  [[nodiscard]] std::optional<SwarmLoad> swarm_load(std::string_view name) const;
  // Who gets nothing at the moment and why, agents and types of tasks; see passed_over.hpp. Of one agent, or of all.
  [[nodiscard]] std::vector<PassedOver> passed_over_agents(std::string_view agent, const Moment& moment);
  [[nodiscard]] std::vector<PassedOver> passed_over_types(const Moment& moment) const;
  [[nodiscard]] Router& router() { return router_; }
  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] const DispatcherOptions& options() const { return options_; }
  // Empty when all its tables agree with each other; for tests.
  [[nodiscard]] std::string inconsistency() const;

 private:
  // dispatcher_core.cpp
  [[nodiscard]] bool is_ageing(const Ageing::Entry& entry) const;
  SlotNumber record_for(const ledger::Task& task);
  void fill(SlotNumber slot, const ledger::Task& task, const Moment& moment);
  void hold_lane(TaskRecord& record, const std::shared_ptr<const ledger::Shape>& shape);
  void move_to_its_lane(TaskRecord& record, const ledger::Task& task);
  void forget(SlotNumber slot);
  void make_ready(SlotNumber slot, const Moment& moment);
  // What the task must wait for to rise by a class.
  [[nodiscard]] Duration age_step_of(const TaskRecord& task);
  void wait_to_age(SlotNumber slot, Instant since);
  [[nodiscard]] TypeRef type_of(const TaskRecord& task);
  void queue_task(SlotNumber slot, const ledger::Task& task, const Moment& moment);
  void leave_queue(SlotNumber slot);
  void set_due(SlotNumber slot);
  SlotNumber swarm_slot(std::string_view name);
  template <class T>
  void append_for(SlotNumber slot, OpKind kind, T&& op, bool is_completion);
  void event(DispatchEvent::Kind kind, std::string_view subject, ledger::TaskNumber task = 0, std::string detail = {});
  void send_mail(const Moment& moment);
  void depose(std::string_view by);

  // dispatcher_changes.cpp
  void on(const ledger::TaskQueued& change, const Moment& moment);
  void on(const ledger::TaskBlocked& change, const Moment& moment);
  void on(const ledger::TaskAssigned& change, const Moment& moment);
  void on(const ledger::TaskProgressed& change, const Moment& moment);
  void on(const ledger::TaskFinished& change, const Moment& moment);
  void on(const ledger::TaskAged& change, const Moment& moment);
  void on(const ledger::SwarmChanged& change, const Moment& moment);
  void on(const ledger::SwarmRemoved& change, const Moment& moment);
  void on(const ledger::AgentChanged& change, const Moment& moment);
  void on(const ledger::AgentRemoved& change, const Moment& moment);
  void on(const ledger::DispatchTaken& change, const Moment& moment);
  void on(const ledger::KeysEvicted& change, const Moment& moment);
  void on(const ledger::VersionChanged& change, const Moment& moment);
  template <class T>
  void on(const T&, const Moment&) {}
  void fetch_record(const ledger::Change& change) const;
  void refused(const OpRef& ref, const ledger::OpResult& result, const Moment& moment);
  void adopt(SlotNumber slot, std::string_view agent, ledger::Fence fence, bool is_started, const Moment& moment);
  void take_swarm(const ledger::Swarm& swarm);
  [[nodiscard]] std::uint32_t share_group_of(const ledger::Swarm& swarm) const;
  [[nodiscard]] std::uint32_t ahead_at(const AgentRecord& agent, SlotNumber swarm) const;

  // dispatcher_runs.cpp
  SlotNumber add_run(SlotNumber task, SlotNumber agent);
  void deliver(SlotNumber run, const Moment& moment);
  [[nodiscard]] Order order_for(const Run& run);
  [[nodiscard]] Duration timeout_of(const TaskRecord& task, const AgentRecord& agent);
  // Runs from its start, or from its order where starts are not told; nothing before that.
  void set_timeout(Run& run);
  // What an attempt took, for the timeouts of its type.
  void learn_latency(const TaskRecord& task, Duration took);
  // The agent has it no longer.
  void end_run(SlotNumber run, const Moment& moment);
  // The task goes on without it.
  void detach(SlotNumber run, StopReason why, const Moment& moment);
  void stop_run(Run& run, StopReason why);
  void release(Run& run, const std::optional<AttemptOutcome>& outcome, const Moment& moment);
  Run* claim(SlotNumber agent, TaskRef ref);
  void complete(SlotNumber run, TaskComplete done, const Moment& moment);
  void fail(SlotNumber run, TaskFailed failure, const Moment& moment);
  void mark_progress(SlotNumber run, ledger::Body mark, const Moment& moment);
  void append_mark(SlotNumber run, ledger::Body mark, const Moment& moment);
  void mark_applied(const OpRef& ref, const Moment& moment);
  void fail_attempt(SlotNumber run, ledger::ErrorClass error, std::string message, std::optional<Duration> retry_after,
                    bool is_reported, const Moment& moment);
  void attempt_timed_out(SlotNumber run, const Moment& moment);
  void fail_timed_out(SlotNumber run, const Moment& moment);
  void requeue(SlotNumber run, ledger::RequeueReason reason, const Moment& moment);
  void append_crash(SlotNumber task, const Run& run, const ledger::Requeue& op, const std::string& to);
  [[nodiscard]] Duration retry_delay(TaskRecord& task, SlotNumber agent, ledger::ErrorClass error,
                                     std::optional<Duration> retry_after, const Moment& moment);
  // The swarm that takes the task over should the attempt at hand have been the last one here; empty: none.
  [[nodiscard]] const std::string& fallback_of(const TaskRecord& task) const;
  void settled(SlotNumber run, const Moment& moment);

  // dispatcher_agents.cpp
  SlotNumber agent_of(Pid pid, const Moment& moment);
  SlotNumber agent_named(std::string_view id);
  void join(SlotNumber agent, AgentReady& ready, const Moment& moment);
  void match_announced(SlotNumber agent, std::span<const TaskRef> held, const Moment& moment);
  void match_heartbeat(SlotNumber agent, const AgentHeartbeat& heartbeat, const Moment& moment);
  [[nodiscard]] static bool is_in_mail(const AgentRecord& agent, TaskRef ref);
  void not_held(SlotNumber agent, TaskRef ref);
  void send_all(SlotNumber agent);
  void invite(Pid pid);
  void turn_away(Pid pid);
  Orders& mail_to(SlotNumber agent);
  void update_readiness(AgentRecord& agent, const Moment& moment);
  void set_hold(AgentRecord& agent, Hold hold, bool is_held, const Moment& moment);
  // By somebody, for the agent of that name that is there or comes.
  void set_paused(const std::string& agent, bool is_paused, const Moment& moment);
  void forget_if_idle(SlotNumber agent);
  void crashed_runs(SlotNumber agent, bool is_graceful, const Moment& moment);

  // dispatcher_take_back.cpp
  [[nodiscard]] bool may_be_asked_back(const Run& run, const Moment& moment) const;
  [[nodiscard]] std::size_t idle_for(const Run& run, const Moment& moment);
  void ask_back(Run& run, const Moment& moment);
  // Of one type only, unless that is empty.
  void take_back_from_swarm(SlotNumber swarm, std::string_view type, const Moment& moment);
  // What it has not begun: it gets nothing for a while, and would spoil this too.
  void take_back_from_agent(std::string_view id, const Moment& moment);
  void take_back_waiting(const Moment& moment);

  // dispatcher_pause.cpp
  void late_step(const Moment& moment);

  // dispatcher_pins.cpp
  [[nodiscard]] PlacementPolicy policy_of(const TaskRecord& task) const;
  void wait_for_agent(TaskRecord& task, const Moment& moment);
  void unpin(SlotNumber slot, const Moment& moment);
  [[nodiscard]] std::optional<Router::Choice> pinned_agent(const ReadyQueue::Need& need) const;
  [[nodiscard]] std::optional<Router::Choice> same_agent(const TaskRecord& task, const Moment& moment);
  [[nodiscard]] static std::string_view route_key_of(const TaskRecord& task);

  // dispatcher_rounds.cpp
  void run_due(const Moment& moment);
  void task_due(SlotNumber slot, const Moment& moment);
  void tick(const Moment& moment);
  void age_tasks(const Moment& moment);
  void evict_keys(const Moment& moment);
  void watch_breakers(const Moment& moment);
  void watch_agents(const Moment& moment);
  void watch_needs(const Moment& moment);
  void round(const Moment& moment);
  bool give_out(const ReadyQueue::Next& next, const Moment& moment);
  [[nodiscard]] Router::Request request_for(const TaskRecord& task, const ReadyQueue::Need& need) const;
  bool assign_to_somebody(SlotNumber slot, const ReadyQueue::Need& need, const Moment& moment);
  [[nodiscard]] std::optional<Router::Choice> agent_for(const TaskRecord& task, const ReadyQueue::Need& need,
                                                        const Moment& moment);
  void give_out_requeued(const Moment& moment);
  void preempt_for(SlotNumber slot, const ReadyQueue::Need& need, const Moment& moment);
  void make_way(SlotNumber run);
  void ask_to_yield(SlotNumber run);

  // dispatcher_breakers.cpp
  // Nothing when no agent has crashed over tasks like this one lately.
  [[nodiscard]] CrashBreaker* breaker_of(const TaskRecord& task);
  [[nodiscard]] bool is_held_back(const TaskRecord& task);
  void count_crash(const Run& run, const Moment& moment);
  void count_completion(const TaskRecord& task, const Moment& moment);
  void probe_ended(const TaskRecord& task);
  void follow_breaker(TypeBreaker& its, CrashBreaker::Change change, ledger::TaskNumber task, const Moment& moment);
  [[nodiscard]] std::size_t runs_outliving(const TypeBreaker& its, Duration time, const Moment& moment) const;
  [[nodiscard]] Duration longest_probe(const TypeBreaker& its, const Moment& moment) const;
  void close_swarm_breaker(SwarmRecord& swarm);
  void tell_router_changes(const Moment& moment);
  // Notes what the task's run is charged for its place at what its swarm shares, by what is usual for its type. Returns
  // that in seconds, divided by the swarm's weight; zero when nothing is shared.
  double charge(const TaskRecord& task, std::uint32_t group);
  void correct_place_cost(Run& run, const Moment& moment);

  [[nodiscard]] std::optional<SlotNumber> find_agent(std::string_view id) const {
    return agent_ids_.find(id, [this](SlotNumber slot) -> const std::string& { return agents_[slot].id; });
  }

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Named = std::unordered_map<std::string, SlotNumber, TextHash, std::equal_to<>>;

  DispatcherOptions options_;
  std::shared_ptr<const PhiOptions> judge_;  // of heartbeats
  Random random_;
  Router router_;
  RetryPolicy retry_;
  std::unordered_map<std::string, RetryPolicy, TextHash, std::equal_to<>> type_retry_;
  std::unordered_map<std::string, AdaptiveTimeout, TextHash, std::equal_to<>> type_timeout_;

  ledger::Epoch epoch_ = 0;
  std::uint64_t ledger_version_ = ledger::k_first_ledger_version;
  ledger::Fence last_fence_ = 0;
  bool has_state_ = false;
  bool is_deposed_ = false;
  bool state_needed_ = false;
  Instant state_asked_at_ = Instant::min();

  Slab<TaskRecord> tasks_;
  NumberIndex by_number_;
  Slab<Run> runs_;
  Slab<AgentRecord> agents_;
  IdIndex agent_ids_;
  std::unordered_set<std::string> paused_;  // names of agents, as the ledger has them
  boost::unordered_flat_map<Pid, SlotNumber, std::hash<Pid>> agent_pids_;
  Interner<std::vector<std::string>> capabilities_;  // of agents
  std::deque<Pid> turned_away_;                      // not to be invited; the last ones
  std::vector<SlotNumber> in_mail_;
  Slab<SwarmRecord> swarms_;
  Named swarm_names_;
  Preemption preemption_{{tasks_, runs_, agents_, swarms_}, options_};

  std::vector<std::pair<SlotNumber, ledger::TaskNumber>> requeued_;  // at the front, in the append that gathers
  ReadyQueue queue_;
  DueHeap due_;  // of tasks
  Ageing ageing_;
  TypeBreakers breakers_;
  Outgoing outgoing_;
  std::uint64_t keys_ = 0;
  WallAgreement wall_agreement_;
  bool may_be_met_ = false;  // somebody became free
  Instant next_tick_ = Instant::min();
  Instant promised_ = Instant::max();  // by then the next step was asked for
  Instant next_ask_ = Instant::max();
  Instant next_preemption_ = Instant::min();
  ledger::Op assign_ = ledger::Assign{};  // kept for its memory

  DispatchOutput output_;
  DispatchCounters counters_;
};

}  // namespace skein::inline v0::dispatch
