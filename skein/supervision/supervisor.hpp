// The supervisor process: starts its children in order, starts them again as its strategy says, stops them in reverse.
//
// Start one with rt.start<Supervisor>(options, spec) or, inside a tree, as a child: supervisor_child(id, spec). Ask it
// things through supervisor_api.hpp, from a process or an ordinary thread; read it without asking through
// tree_view.hpp.
//
// Invariants:
//   1. A child's process is linked to its supervisor from before its init runs until it is dead.
//   2. No start of a child begins while a process of its old subtree lives (supervisor_view.hpp).
//   3. While a child is `restarting` or `parked` the supervisor takes messages: calls and shutdown are served.
//   4. The table of children changes only in this process, under the view's lock; others read it under that lock.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/runtime/call.hpp"
#include "skein/runtime/inspect.hpp"
#include "skein/supervision/restart_policy.hpp"
#include "skein/supervision/supervisor_calls.hpp"
#include "skein/supervision/supervisor_view.hpp"

namespace skein::inline v0 {

// How long start_child and restart_child wait for what is left of the child's old subtree.
inline constexpr Duration k_remains_wait = std::chrono::seconds(5);
inline constexpr std::uint32_t k_supervisor_mailbox_limit = 100'000'000;

class Supervisor {
 public:
  Supervisor(Self self, SupervisorSpec spec);
  // `init` runs first: what it throws is the reason of a failed start.
  Supervisor(Self self, SupervisorInit init);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Async<Init> init(Self self);
  Async<void> handle_info(Self self, Message message);
  Async<void> terminate(Self self, ExitReason reason);

  Async<StartChildResult> handle_call(Self self, StartChild request);
  Async<void> handle_call(Self self, StartPoolChild&& request, Reply<PoolChildAnswer> reply);
  Async<ChildResult> handle_call(Self self, TerminateChild request);
  Async<StartChildResult> handle_call(Self self, RestartChild request);
  ChildResult handle_call(Self self, const DeleteChild& request);
  ChildSpecResult handle_call(Self self, GetChildSpec request);
  std::vector<ChildInfo> handle_call(Self self, WhichChildren request);
  ChildCount handle_call(Self self, CountChildren request);
  ChildResult handle_call(Self self, const Reconfigure& request);
  void handle_call(Self self, StopSupervisor request);
  std::string handle_call(Self self, SupervisorName request);

  [[nodiscard]] std::string describe() const;
  void release_memory() noexcept;

 private:
  using Index = Children::Index;

  // It is time to try the child again.
  struct Retry {
    Index index;
    std::uint64_t key;
    std::uint32_t token;
  };
  // A process left over from a child's old subtree.
  struct Leftover {
    Pid pid;
    Index index;  // of the child it was left by
    std::uint64_t key;
    std::string id;
  };
  // The child that remains nobody else accounts for belong to: the one being started.
  struct Owner {
    Index index = Children::k_none;
    std::uint64_t key = 0;
    std::string id;
  };
  void open_view(Self self);
  void load_children(const SupervisorSpec& spec);
  void merge_specs(const std::vector<ChildSpec>& specs);
  [[nodiscard]] std::optional<std::string> fault_of_kept(const SupervisorSpec& spec) const;
  [[nodiscard]] bool is_pool() const { return row_of(view_->flags.strategy).is_pool; }
  [[nodiscard]] Children& children() { return view_->children; }
  [[nodiscard]] const Child& at(Index index) const { return view_->children.at(index); }
  [[nodiscard]] std::optional<Index> find(const ChildRef& child) const;

  // Starting.
  ChildStarting start_process(Self self, Index index);
  // `extra` must live until the start is over.
  ChildStarting run_start(Self self, const std::shared_ptr<const ChildSpec>& spec, const std::any& extra);
  static Async<ChildStart> guard_start(std::shared_ptr<const ChildSpec> spec, Async<ChildStart> waiting);
  Async<Init> start_all(Self self);
  void set_started(Self self, Index index, Pid pid);
  PoolChildAnswer pool_child_started(Self self, ChildStart start, Instant since);
  Async<void> answer_when_started(Self self, ChildStarting starting, Reply<PoolChildAnswer> reply);

  // Exits and restarts (supervisor_restart.cpp). What returns a Task and need not wait returns an empty one.
  Async<void> on_exit(Self self, Pid pid, const ExitReason& reason);
  Async<void> on_retry(Self self, Retry retry);
  Async<void> attempt(Self self, Index index, Instant now);
  Async<void> restart_one(Self self, Index index, Instant now);
  Async<void> finish_restart(Self self, Index index, ChildStarting starting);
  Async<void> restart_group(Self self, Index index);
  Async<void> wait_with_group(Self self, Index index, Duration delay);
  Async<bool> stop_group(Self self, Index index);
  // For a step of it the view's lock is held.
  [[nodiscard]] RestartPolicy policy() { return {view_->flags.strategy, view_->window, view_->children, random_}; }
  void ended_for_good(Self self, Index index, const ExitReason& reason);
  // Parks the child or gives up if that was decided; true: the restart may begin.
  [[nodiscard]] bool may_restart(Self self, Index index, const RestartDecision& decision, const ExitReason& reason);
  void warn_of_intensity(Self self, Index index);
  void give_up(Self self, Index index, EventKind kind, const ExitReason& why, const ExitReason& ends_with);
  void restarted(Self self, Index index, const ChildStart& start, Instant now);
  // Returns how long to wait for the next attempt.
  [[nodiscard]] Duration start_failed(Self self, Index index, const ChildStart& start);
  void arm_retry(Self self, Index index, Duration delay, bool counted);
  void cancel_retry(Self self, Index index);

  // Stopping (supervisor_stop.cpp). exits_.begin() goes first in every handler that stops children.
  Async<void> stop_child(Self self, Index index);
  Async<void> stop_children(Self self);
  Async<void> stop_pool(Self self);
  Async<ExitReason> own_reason(Self self, Pid pid);
  void drop_or_keep(Index index);

  // What dead child supervisors left (supervisor_leftovers.cpp).
  void settle_remains(Self self, const Owner& starting);
  [[nodiscard]] Owner owner_of(Pid dead, const Owner& starting) const;
  [[nodiscard]] Owner owner(Index index) const;
  [[nodiscard]] bool has_leftovers(std::uint64_t key) const {
    return !leftover_counts_.empty() && leftover_counts_.contains(key);
  }
  void publish_leftovers();
  void on_leftover_down(Self self, std::uint64_t ref);
  // Waits for those of one child (all: an empty id); false when the time was up first.
  Async<bool> leftovers_gone(Self self, std::string id, Duration limit);

  void report(Self self, EventKind kind, EventLevel level, const Child* child, const ExitReason& reason = {},
              Duration delay = {}, std::uint64_t count = 0) const {
    if (view_->sink != nullptr) tell(self, kind, level, child, reason, delay, count);
  }
  void tell(Self self, EventKind kind, EventLevel level, const Child* child, const ExitReason& reason, Duration delay,
            std::uint64_t count) const;
  void report_stop(Self self, const Child& child, const ExitReason& reason) const;

  SupervisorInit init_;
  std::optional<SupervisorSpec> spec_;  // until init has run
  std::shared_ptr<SupervisorView> view_;
  Self self_;
  Random random_;
  boost::unordered_flat_map<std::uint64_t, Leftover> leftovers_;  // by the monitor on each
  boost::unordered_flat_map<Pid, std::uint64_t, std::hash<Pid>> leftover_refs_;
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> leftover_counts_;  // by the child's key
  inspect::QueuedExits exits_;
  std::any extra_;  // of the pool's child that is being started
  std::uint32_t next_token_ = 0;
  bool warned_ = false;  // of the intensity, since it was last far from used up
  bool clean_ = false;   // no child lives: nothing to tell the parent about
};

// A child that is a supervisor itself: permanent, shutdown infinity.
[[nodiscard]] ChildSpec supervisor_child(std::string id, SupervisorSpec spec);
[[nodiscard]] ChildSpec supervisor_child(std::string id, SupervisorInit init);

}  // namespace skein::inline v0
