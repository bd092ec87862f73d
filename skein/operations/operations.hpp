// Everything that can be asked of a node, in one place: CLI, MCP and REST are ways to call this.
//
// All functions may be called from any thread and return at once. An answer comes through the Reply, exactly once: on
// the journal's thread, on one of the job queues', or on the caller's when the request is turned away. A callback must
// not block. For callers that may wait there is ask() at the end of this file.
//
// `timers` must be quick: nothing that blocks may run on it. `reads` is for the archive's queries, which may take
// milliseconds. Both, the journal, the ledger and the archive must outlive this. In the end: stop(), then close the
// journal and stop the job queues.
//
// 1. task_submit answers when the task is durable and applied, or says why not. `unknown` is the one answer after which
//    the task may still have been accepted.
// 2. Every wait, queue and page has a limit, see OperationsLimits and what it contains.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "skein/archive/store.hpp"
#include "skein/base/job_queue.hpp"
#include "skein/ledger/task.hpp"
#include "skein/operations/access.hpp"
#include "skein/operations/event_stream.hpp"
#include "skein/operations/gate.hpp"
#include "skein/operations/reply.hpp"
#include "skein/operations/requests.hpp"
#include "skein/operations/submit_refusal.hpp"
#include "skein/operations/task_ids.hpp"
#include "skein/operations/waiters.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::operations {

struct OperationsLimits {
  GateLimits gate;
  EventLimits events;
  std::chrono::milliseconds wait_max{50'000};
  std::size_t waiters = 100'000;
  std::size_t notices = 100'000;  // processes to be told of ends to come
  std::size_t params_depth = 32;
  std::size_t page_max = archive::k_page_max;  // tasks in one answer
};

inline constexpr std::size_t k_types_held = 10'000;  // told at once, of all swarms

struct Parts {
  journal::Journal& journal;
  ledger::Ledger& ledger;
  archive::Store* archive = nullptr;  // null: this node keeps none
  JobQueue& timers;
  JobQueue& reads;
  std::uint64_t seed = 0;                // of task ids; random for a node
  Runtime* runtime = nullptr;            // whose processes may be notified; null: nobody can be
  std::vector<std::string> executors{};  // of the config, which a new swarm may name; none: it may name any
  std::function<archive::ArchiverStatus()> archiver{};  // how it does; none: there is none
  std::shared_ptr<Access> access{};                     // told of tokens as they change; null: nobody logs in here
  // Writes the secret of the first token into its file; what is wrong, complete, for people. May block.
  std::function<std::expected<void, std::string>(const std::string& secret)> keep_first{};
};

class Operations final : public ledger::ChangeSink, public std::enable_shared_from_this<Operations> {
 public:
  using Nothing = std::monostate;

  // Listening to the ledger from the beginning.
  [[nodiscard]] static std::shared_ptr<Operations> start(const Parts& parts, const OperationsLimits& limits = {});
  // Answers all who wait and lets go of the ledger. Not from a callback.
  void stop();
  // The node is going down: clients that wait for a task are told how it stands now and to ask again. So are clients
  // that wait from now on. Returns when all are answered; how many they were. Not from a callback.
  std::size_t end_waits();

  // With `notify`, the process may be told of the end before the answer is there.
  void task_submit(SubmitRequest request, Reply<SubmitAnswer> reply);
  // From now on tasks for unknown agents are refused where no other may do them, and a status says why a task
  // waits for its agent. Without it they are all taken. Any thread.
  void know_agents(std::shared_ptr<const AgentKnowledge> knowledge);
  // Those a swarm may name from now on. Any thread.
  void know_executors(std::vector<std::string> executors);
  // Swarms that the config declares from now on; another one that a config declared before is undeclared. Any thread.
  void know_config_swarms(std::vector<std::string> swarms);
  void task_wait(const WaitRequest& request, ProgressFn progress, Reply<WaitAnswer> reply);
  // Nobody waits with this ticket any more: its place is free, whenever it comes to take it. Any thread.
  void give_up(WaitTicket& ticket) { waiters_.give_up(ticket); }
  void task_status(const StatusRequest& request, Reply<TaskStatus> reply);
  void task_list(ListRequest request, Reply<ListAnswer> reply);
  void task_cancel(CancelRequest request, Reply<State> reply);
  // A new task with the spec of one that failed or was cancelled, also of an archived one.
  void task_retry(TaskId id, Reply<RetryAnswer> reply);

  void swarm_create(SwarmRequest request, Reply<Nothing> reply);
  // Of the config: made or changed, and stays when it is the same.
  void swarm_declare(SwarmRequest request, Reply<Nothing> reply);
  // The config no longer declares it: it is gone at once if it has no open tasks (true), else once they are done, and
  // takes nothing new until then (false). The default swarm loses its executor and stays (true).
  void swarm_withdraw(std::string name, Reply<bool> reply);
  void swarm_list(Reply<std::vector<SwarmView>> reply);
  void swarm_status(std::string name, Reply<SwarmView> reply);
  // What is wrong with a swarm from now on; none: nothing is. Told as events. Any thread.
  void set_swarm_problems(const std::string& name, std::vector<std::string> problems);
  // A type of tasks is held back in a swarm from now on, or no longer (is_held false). Any thread.
  void set_type_held(const dispatch::PassedOver& type, bool is_held);
  // None is: the dispatcher that knew of them has ended.
  void forget_types_held();
  void swarm_override(SwarmRequest request, Reply<Nothing> reply);
  // All of a swarm's at once: what it was declared or created with holds again.
  void swarm_drop_overrides(std::string name, Reply<Nothing> reply);
  void swarm_scale(const ScaleRequest& request, Reply<ScaleAnswer> reply);
  void swarm_pause(std::string name, Reply<Nothing> reply);
  void swarm_resume(std::string name, Reply<Nothing> reply);
  void swarm_drain(std::string name, Reply<Nothing> reply);
  void swarm_stop(std::string name, Reply<Nothing> reply);
  void swarm_remove(std::string name, Reply<Nothing> reply);

  // operations_tokens.cpp, operations_scope.cpp
  void token_create(TokenRequest request, Reply<MadeToken> reply);
  void token_list(Reply<TokensAnswer> reply);
  void token_revoke(std::string name, Reply<Nothing> reply);
  // A new secret, with the same rank, bounds and lifetime; also of the first token, whose file is written.
  void token_rotate(const RotateRequest& request, Reply<MadeToken> reply);
  // Whether all these tasks are within; answers the swarm that new tasks of this scope go to. A task that is not there
  // and one that is none of its business are refused alike.
  void check_scope(const Scope& scope, std::vector<TaskId> tasks, Reply<std::string> reply);

  // In the ledger by its name: it outlives the agent's process, the dispatcher and the node. Whether there is such an
  // agent is the caller's to know. What was said of names that `is_gone` is true of is forgotten on the way.
  void forget_pauses_of(const std::string& swarm);
  void agent_set_paused(std::string name, bool is_paused, std::function<bool(const std::string&)> is_gone,
                        Reply<Nothing> reply);
  void set_limits(const ledger::Limits& limits, Reply<Nothing> reply);
  void status(Reply<NodeStatus> reply);
  // A request was refused by its reader, before it got here. Any thread.
  void count_refused(Code code) { errors_[static_cast<std::size_t>(code)].fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] EventStream& events() { return events_; }

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override;

 private:
  Operations(const Parts& parts, const OperationsLimits& limits);
  void listen();

  // The same reply; errors that go through it are counted.
  template <class T>
  Reply<T> counted(Reply<T> reply);
  // Calls fn(reply) on the journal's thread, where the ledger may be read.
  template <class T, class Fn>
  void on_ledger(Reply<T> reply, Fn fn);
  // Calls fn(archive, reply) where it may block. Without an archive, or when that thread has too much to do, it
  // answers.
  template <class T, class Fn>
  void on_archive(Reply<T> reply, Fn fn);
  // Calls fn(task, reply) with a task of the archive; answers task_not_found when it has none.
  template <class T, class Fn>
  void find_archived(TaskId id, Reply<T> reply, Fn fn);
  // Appends something about a swarm, or about the node as a whole.
  void control(const ledger::Op& op, std::string what, Reply<Nothing> reply);
  void create(SwarmRequest request, Reply<Nothing> reply);
  [[nodiscard]] std::optional<Error> store_fields(SwarmRequest& request) const;
  [[nodiscard]] std::optional<Error> unknown_executor(const SwarmRequest& request) const;
  // What a swarm would have; or why it cannot.
  [[nodiscard]] Result<ScaleAnswer> scaled(const ScaleRequest& request) const;
  // What is wrong with a swarm that somebody would create, its fallback apart.
  [[nodiscard]] std::optional<Error> bad_swarm(const SwarmRequest& request) const;
  [[nodiscard]] std::optional<Error> bad_definition(ledger::Swarm swarm) const;
  // What is wrong with the fallback swarm that these fields name. On the journal's thread.
  [[nodiscard]] std::optional<Error> bad_fallback(const SwarmRequest& request) const;
  // On the journal's thread, both.
  [[nodiscard]] SwarmView view_of(ledger::Swarm swarm) const;
  // Why its fallback would take no task.
  [[nodiscard]] std::optional<std::string> fallback_in_vain(const ledger::Swarm& swarm) const;
  void set_swarm_state(std::string name, ledger::SwarmState state, Reply<Nothing> reply);
  // A config declared it and no longer does. On the ledger's thread.
  [[nodiscard]] bool is_undeclared(const std::string& name) const;

  [[nodiscard]] std::optional<Error> unknown_agent(const SubmitRequest& request) const;
  [[nodiscard]] std::optional<Error> foreign_agent(const SubmitRequest& request) const;
  // On the journal's thread.
  [[nodiscard]] WaitReason why_waits(const ledger::Task& task) const;
  [[nodiscard]] TaskStatus live_status(ledger::TaskView view) const;
  // What is paused may have changed: read it again, for submits on other threads. On the journal's thread.
  void note_paused();
  // Nobody may be able to do it: the ledger is to be asked why it would wait.
  [[nodiscard]] bool may_be_stuck(const SubmitRequest& request) const;
  // The same reply, which says so when nobody can do the task.
  [[nodiscard]] Reply<SubmitAnswer> warned(Reply<SubmitAnswer>&& reply);
  // What the ledger said to a submit. On the journal's thread.
  [[nodiscard]] Result<SubmitAnswer> answer_of_submit(TaskId id, const ledger::OpResult& result,
                                                      const ledger::Submit& sent) const;
  // Answers a submit by what the ledger said, and counts it.
  void answer_submit(TaskId id, const Result<ledger::OpResult>& result, const ledger::Submit& sent,
                     Reply<SubmitAnswer>&& reply);
  void begin_submit(SubmitRequest&& request, Reply<SubmitAnswer>&& reply);
  void submit(SubmitRequest&& request, Reply<SubmitAnswer>&& reply);
  void submit(const std::shared_ptr<ledger::Submit>& op, Reply<SubmitAnswer> reply);
  void count_submit(const SubmitAnswer& answer) {
    (answer.existing ? repeated_ : submitted_).fetch_add(1, std::memory_order_relaxed);
  }
  // operations_keys.cpp: answers a submit whose key had a task already. `spec`: of the submit.
  void look_for_existing(const SubmitAnswer& found, const ledger::TaskSpec& spec, Reply<SubmitAnswer> reply);
  void settle_dependency(const std::shared_ptr<ledger::Submit>& op, TaskId dependency, Reply<SubmitAnswer> reply);
  void retry_archived(const ledger::FinishedTask& old_task, Reply<RetryAnswer> reply);
  // operations_notify.cpp
  void submit_and_notify(Pid pid, SubmitRequest request, Reply<SubmitAnswer> reply);
  void notify_at_end(Pid pid, TaskId id);
  void notify(Pid pid, const ledger::FinishedTask& finished);

  // operations_tokens.cpp
  void tell_access(const ledger::ChangeBatch& batch) const;
  void make_token(ledger::TokenPut op, std::string secret, Reply<MadeToken> reply);
  void put_token(ledger::TokenPut op, std::string secret, Reply<MadeToken> reply);
  void rotate_first(std::chrono::milliseconds overlap, Reply<MadeToken> reply);
  void keep_first(MadeToken made, Reply<MadeToken> reply);
  // operations_scope.cpp: whether what a token is to be bound to is there.
  void check_bounds(const ledger::TokenBounds& bounds, Reply<Nothing> reply);
  [[nodiscard]] std::optional<Error> bad_bounds(const ledger::TokenBounds& bounds) const;
  // A key of another's task is not found by a child's submit.
  Reply<SubmitAnswer> only_own(const ledger::ChildOf& child, Reply<SubmitAnswer> reply);

  void expire_waiters();
  void arm_timer();

  const Parts parts_;
  const OperationsLimits limits_;
  TaskIds ids_;
  std::shared_ptr<Gate> submits_;
  std::shared_ptr<Gate> controls_;  // what ends or steers work may use the room that submits no longer get
  Waiters waiters_;
  Waiters notices_;                       // without a time limit
  std::atomic<std::size_t> promised_{0};  // notices, from the submit on
  EventStream events_;
  std::atomic<bool> is_stopped_{false};
  std::atomic<bool> are_waits_over_{false};
  std::uint64_t subscription_ = 0;  // to the journal's events
  std::atomic<std::shared_ptr<const AgentKnowledge>> agents_known_;
  std::atomic<std::shared_ptr<const std::vector<std::string>>> executors_known_;
  std::atomic<std::shared_ptr<const std::vector<std::string>>> config_swarms_;  // null: nobody has said
  std::atomic<std::shared_ptr<const PausedNames>> paused_{std::make_shared<const PausedNames>()};
  std::atomic<bool> is_any_paused_{false};  // so that a submit rarely has to look at the names
  mutable std::mutex problems_mutex_;
  std::map<std::string, std::vector<std::string>> problems_;  // by swarm; of those that have some
  std::vector<dispatch::PassedOver> types_held_;              // at most k_types_held
  std::mutex creating_mutex_;
  std::set<std::string> creating_;  // swarms whose creation is on its way
  std::mutex timer_mutex_;
  Instant timer_due_ = Instant::max();
  std::atomic<std::uint64_t> submitted_{0};  // tasks made here
  std::atomic<std::uint64_t> repeated_{0};   // answered with a task that was there
  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  std::atomic<std::uint64_t> fell_back_{0};
  std::array<std::atomic<std::uint64_t>, k_code_count> errors_{};
};

// Calls an operation and waits for its answer: ask<SubmitAnswer>([&](auto reply) { ops.task_submit(r, move(reply)); }).
// `unknown` when none came in time. Never from a callback.
template <class T, class Start>
[[nodiscard]] Result<T> ask(Start start, std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto answer = promise->get_future();
  start(Reply<T>([promise](Result<T> result) { promise->set_value(std::move(result)); }));
  if (answer.wait_for(timeout) == std::future_status::ready) return answer.get();
  return std::unexpected(error_of(journal::Outcome::unknown, "the caller stopped waiting"));
}

}  // namespace skein::inline v0::operations
