// Stopping children: one at a time in reverse, a pool at once. The link stays until a child is known to be dead.
#include <map>

#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0 {
namespace {

// An exit message that is on its way when its sender is known to be dead is looked for so often, a while apart.
constexpr int k_exit_looks = 1000;
constexpr Duration k_exit_look_every = std::chrono::milliseconds(1);

// What a stopped child may end with without anybody having to know.
[[nodiscard]] bool is_quiet(const ChildSpec& spec, const ExitReason& reason) {
  if (spec.restart != Restart::permanent && (reason.is_normal() || reason.is_shutdown())) return true;
  if (spec.effective_shutdown().kind() == Shutdown::Kind::brutal_kill) return reason.kind() == ExitKind::killed;
  return reason.is_shutdown() && !reason.has_term();
}

}  // namespace

// The end of a child's process: a temporary one and a pool's go, others stay without a process.
void Supervisor::drop_or_keep(Index index) {
  cancel_retry(self_, index);
  const std::scoped_lock lock(view_->mutex);
  if (is_pool() || at(index).spec->restart == Restart::temporary) {
    children().remove(index);
  } else {
    children().set_down(index);
  }
}

void Supervisor::report_stop(Self self, const Child& child, const ExitReason& reason) const {
  if (is_quiet(*child.spec, reason)) {
    report(self, EventKind::child_stopped, EventLevel::debug, &child, reason);
  } else {
    report(self, EventKind::shutdown_error, EventLevel::error, &child, reason, {}, 1);
  }
}

Async<void> Supervisor::stop_child(Self self, Index index) {
  if (at(index).state == ChildState::running) {
    const Pid pid = at(index).pid;
    const Shutdown shutdown = at(index).spec->effective_shutdown();
    const MonitorRef ref = self.monitor(pid);
    std::optional<ExitReason> reason;
    if (shutdown.kind() != Shutdown::Kind::brutal_kill) {
      self.exit(pid, ExitReason::shutdown());
      auto ending = self.down(ref, shutdown.timeout());
      reason = co_await ending;
    }
    if (!reason) {
      self.exit(pid, ExitReason::kill());
      auto ending = self.down(ref);
      reason = co_await ending;
    }
    if (reason->kind() == ExitKind::noproc) {
      Async<ExitReason> asking = own_reason(self, pid);
      reason = co_await asking;
    }
    if (view_->has_remains()) settle_remains(self, Owner{});
    report_stop(self, at(index), *reason);
  }
  drop_or_keep(index);
}

// It was dead before it was told to end. Its reason is in the exit message that waits in the queue or, its sender being
// on another thread, is about to come; noproc if it had unlinked itself.
Async<ExitReason> Supervisor::own_reason(Self self, Pid pid) {
  for (int looks = 0;; ++looks) {
    std::optional<ExitReason> found = exits_.find(self, pid);
    if (found) co_return std::move(*found);
    if (looks == k_exit_looks || !inspect::has_link(self, pid)) co_return ExitReason::noproc();
    auto sleeping = self.sleep(k_exit_look_every);
    co_await sleeping;
  }
}

Async<void> Supervisor::stop_children(Self self) {
  exits_.begin();
  for (Index index = children().last(); index != Children::k_none;) {
    const Index before = children().before(index);
    Async<void> stopping = stop_child(self, index);
    co_await stopping;
    index = before;
  }
}

// All are told at once and share one deadline.
Async<void> Supervisor::stop_pool(Self self) {
  struct Stopping {
    Index index;
    MonitorRef ref;
  };
  const Shutdown shutdown = view_->pool_template->effective_shutdown();
  const bool brutal = shutdown.kind() == Shutdown::Kind::brutal_kill;
  exits_.begin();
  std::vector<Stopping> living;
  living.reserve(children().active());
  for (Index index = children().last(); index != Children::k_none; index = children().before(index)) {
    cancel_retry(self, index);
    if (at(index).state != ChildState::running) continue;
    living.push_back(Stopping{index, self.monitor(at(index).pid)});
    self.exit(at(index).pid, brutal ? ExitReason::kill() : ExitReason::shutdown());
  }
  const Instant deadline = later(self.now(), shutdown.timeout());
  bool killed = brutal;
  std::map<std::string, std::pair<ExitReason, std::uint64_t>> odd;
  for (std::size_t next = 0; next < living.size(); ++next) {
    std::optional<ExitReason> reason;
    if (!killed) {
      const Duration left = deadline == Instant::max() ? k_forever : deadline - self.now();
      auto ending = self.down(living[next].ref, left);
      reason = co_await ending;
    }
    if (!reason && !killed) {
      killed = true;
      // Those that are dead already do not mind.
      for (std::size_t rest = next; rest < living.size(); ++rest) {
        self.exit(at(living[rest].index).pid, ExitReason::kill());
      }
    }
    if (!reason) {
      auto ending = self.down(living[next].ref);
      reason = co_await ending;
    }
    if (reason->kind() == ExitKind::noproc) {
      Async<ExitReason> asking = own_reason(self, at(living[next].index).pid);
      reason = co_await asking;
    }
    if (is_quiet(*view_->pool_template, *reason)) continue;
    auto& entry = odd[reason->text()];
    entry.first = *reason;
    ++entry.second;
  }
  if (view_->has_remains()) settle_remains(self, Owner{});
  for (const auto& [text, entry] : odd) {
    Child any;
    any.spec = view_->pool_template;
    report(self, EventKind::shutdown_error, EventLevel::error, &any, entry.first, {}, entry.second);
  }
  const std::scoped_lock lock(view_->mutex);
  view_->children = Children(true);
}

Async<void> Supervisor::terminate(Self self, ExitReason reason) {
  if (is_pool()) {
    Async<void> stopping = stop_pool(self);
    co_await stopping;
  } else {
    Async<void> stopping = stop_children(self);
    co_await stopping;
  }
  // What killed child supervisors left must be dead too, before anybody may start this supervisor again.
  Async<bool> waiting = leftovers_gone(self, std::string(), k_forever);
  co_await waiting;
  clean_ = true;
  report(self, EventKind::supervisor_stopped, EventLevel::info, nullptr, reason);
}

}  // namespace skein::inline v0
