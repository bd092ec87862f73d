// What a supervisor does when a child ends: whether, when and with whom it is started again.
//
// restart_policy.hpp decides; here a decision becomes visible (under the view's lock), is reported and carried out.
#include <algorithm>

#include "skein/base/must_hold.hpp"
#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0 {
namespace {

// A lost retry is repeated at this interval, until it is taken.
constexpr Duration k_retry_repeat = std::chrono::milliseconds(1);

}  // namespace

Async<void> Supervisor::on_exit(Self self, Pid pid, const ExitReason& reason) {
  if (view_->has_remains()) settle_remains(self, Owner{});
  const std::optional<Index> found = children().find(pid);
  if (!found || at(*found).state != ChildState::running) {
    // Of a child that was stopped, or of a stranger; or the parent of this supervisor told it to end.
    if (pid == self.parent()) self.stop(reason);
    return {};
  }
  const Index index = *found;
  const Instant now = self.now();
  RestartDecision decision;
  {
    const std::scoped_lock lock(view_->mutex);
    decision = policy().ended(index, reason, now);
  }
  if (decision.kind == RestartDecision::Kind::leave) {
    ended_for_good(self, index, reason);
    return {};
  }
  report(self, EventKind::child_terminated, EventLevel::error, &at(index), reason);
  if (!may_restart(self, index, decision, reason)) return {};
  const Duration delay = decision.delay;
  if (delay == Duration::zero() && !has_leftovers(at(index).key)) return attempt(self, index, now);
  report(self, EventKind::child_backing_off, EventLevel::info, &at(index), reason, delay);
  if (policy().has_group()) return wait_with_group(self, index, delay);
  arm_retry(self, index, delay, true);
  return {};
}

void Supervisor::ended_for_good(Self self, Index index, const ExitReason& reason) {
  const bool significant = at(index).spec->significant;
  if (is_failure(reason)) {
    report(self, EventKind::child_terminated, EventLevel::error, &at(index), reason);
  } else {
    report(self, EventKind::child_terminated, EventLevel::debug, &at(index), reason);
  }
  const AutoShutdown mode = view_->flags.auto_shutdown;
  drop_or_keep(index);
  if (!significant || mode == AutoShutdown::never) return;
  if (mode == AutoShutdown::all_significant && children().significant_alive() != 0) return;
  report(self, EventKind::auto_shutdown, EventLevel::info, nullptr, reason);
  self.stop(ExitReason::shutdown());
}

bool Supervisor::may_restart(Self self, Index index, const RestartDecision& decision, const ExitReason& reason) {
  switch (decision.kind) {
    case RestartDecision::Kind::restart:
      if (!at(index).spec->isolated) warn_of_intensity(self, index);
      return true;
    case RestartDecision::Kind::park:
      must_hold(at(index).state == ChildState::parked, "restart_policy.hpp 2: the decision has parked the child");
      report(self, EventKind::child_parked, EventLevel::error, &at(index), {}, decision.delay);
      arm_retry(self, index, decision.delay, true);
      return false;
    case RestartDecision::Kind::give_up:
      give_up(self, index, EventKind::intensity_exceeded, ExitReason::custom("reached_max_restart_intensity"),
              ExitReason::shutdown());
      return false;
    case RestartDecision::Kind::escalate:
      give_up(self, index, EventKind::escalated, reason, reason);
      return false;
    case RestartDecision::Kind::leave:
      return false;
  }
  return false;
}

// Once per crossing: a window that slides along the mark, losing one restart and gaining one, does not cross it.
void Supervisor::warn_of_intensity(Self self, Index index) {
  const std::uint64_t used = view_->window.last_used();
  const std::uint64_t limit = view_->flags.intensity;
  if ((used - 1) * 2 <= limit) warned_ = false;
  if (warned_ || used * 5 < limit * 4) return;
  warned_ = true;
  report(self, EventKind::intensity_warning, EventLevel::warning, &at(index));
}

void Supervisor::give_up(Self self, Index index, EventKind kind, const ExitReason& why, const ExitReason& ends_with) {
  report(self, kind, EventLevel::error, &at(index), why);
  drop_or_keep(index);
  self.stop(ends_with);
}

void Supervisor::arm_retry(Self self, Index index, Duration delay, bool counted) {
  Retry retry{index, 0, 0};
  bool waits = false;
  {
    const std::scoped_lock lock(view_->mutex);
    if (at(index).state != ChildState::parked) children().set_waiting(index, ChildState::restarting);
    Troubles& troubles = children().troubles(index);
    self.cancel(troubles.timer);
    troubles.timer = {};
    troubles.token = ++next_token_;
    troubles.counted = counted;
    waits = delay == Duration::zero() && has_leftovers(at(index).key);
    troubles.waits_for_leftovers = waits;
    retry.key = at(index).key;
    retry.token = troubles.token;
  }
  if (waits) return;
  // Through the mailbox even without a delay, so that calls and shutdown are served between attempts.
  if (delay == Duration::zero() && self.send(self.pid(), retry) == SendResult::ok) return;
  const TimerRef timer = self.send_interval(std::max(delay, k_retry_repeat), self.pid(), retry);
  const std::scoped_lock lock(view_->mutex);
  children().troubles(index).timer = timer;
}

void Supervisor::cancel_retry(Self self, Index index) {
  if (at(index).troubles == nullptr) return;
  Troubles& troubles = *at(index).troubles;
  self.cancel(std::exchange(troubles.timer, TimerRef{}));
  troubles.token = 0;
  troubles.waits_for_leftovers = false;
}

Async<void> Supervisor::on_retry(Self self, Retry retry) {
  if (!children().holds(retry.index, retry.key)) return {};
  const Index index = retry.index;
  const ChildState state = at(index).state;
  if (state != ChildState::restarting && state != ChildState::parked) return {};
  if (at(index).troubles == nullptr || at(index).troubles->token != retry.token) return {};
  const bool counted = at(index).troubles->counted;
  cancel_retry(self, index);
  if (has_leftovers(at(index).key)) {
    arm_retry(self, index, Duration::zero(), counted);
    return {};
  }
  const Instant now = self.now();
  RestartDecision decision;
  {
    const std::scoped_lock lock(view_->mutex);
    decision = policy().retried(index, counted, now);
  }
  if (!counted && !may_restart(self, index, decision, {})) return {};
  return attempt(self, index, now);
}

Async<void> Supervisor::attempt(Self self, Index index, Instant now) {
  if (policy().has_group()) return restart_group(self, index);
  return restart_one(self, index, now);
}

Async<void> Supervisor::restart_one(Self self, Index index, Instant now) {
  ChildStarting starting = start_process(self, index);
  if (!starting.is_done()) return finish_restart(self, index, std::move(starting));
  const ChildStart& start = starting.outcome();
  if (start.failed()) {
    arm_retry(self, index, start_failed(self, index, start), false);
  } else {
    restarted(self, index, start, now);
  }
  return {};
}

Async<void> Supervisor::finish_restart(Self self, Index index, ChildStarting starting) {
  const ChildStart start = co_await starting;
  if (start.failed()) {
    const Duration delay = start_failed(self, index, start);
    arm_retry(self, index, delay, false);
  } else {
    restarted(self, index, start, self.now());
  }
}

void Supervisor::restarted(Self self, Index index, const ChildStart& start, Instant now) {
  if (start.kind() == ChildStart::Kind::ignore) {
    drop_or_keep(index);
    return;
  }
  {
    const std::scoped_lock lock(view_->mutex);
    ++children().at(index).restarts;
    children().set_running(index, start.pid(), now);
  }
  report(self, EventKind::child_restarted, EventLevel::info, &at(index));
}

Duration Supervisor::start_failed(Self self, Index index, const ChildStart& start) {
  settle_remains(self, owner(index));
  Duration delay{};
  {
    const std::scoped_lock lock(view_->mutex);
    delay = policy().start_failed(index, start, self.now());
  }
  report(self, EventKind::child_retried, EventLevel::error, &at(index), start.reason(), delay);
  return delay;
}

// Stops the others of the child's group, last started first. False when some left processes behind.
Async<bool> Supervisor::stop_group(Self self, Index index) {
  exits_.begin();
  const Index begin = policy().group_begin(index);
  bool gone = !has_leftovers(at(index).key);
  for (Index each = children().last(), before = Children::k_none; each != Children::k_none; each = before) {
    before = each == begin ? Children::k_none : children().before(each);
    if (each == index) continue;
    const std::uint64_t key = at(each).key;
    Async<void> stopping = stop_child(self, each);
    co_await stopping;
    gone = gone && !has_leftovers(key);
  }
  co_return gone;
}

// The group is down while one of it waits for its restart.
Async<void> Supervisor::wait_with_group(Self self, Index index, Duration delay) {
  {
    const std::scoped_lock lock(view_->mutex);
    children().set_waiting(index, ChildState::restarting);
  }
  Async<bool> stopping = stop_group(self, index);
  co_await stopping;
  arm_retry(self, index, delay, true);
}

// The child and its group are stopped in reverse, then started in order.
Async<void> Supervisor::restart_group(Self self, Index index) {
  {
    // Its old Pid stays known until it is clear whether it starts.
    const std::scoped_lock lock(view_->mutex);
    children().set_waiting(index, ChildState::restarting);
  }
  Async<bool> stopping = stop_group(self, index);
  const bool gone = co_await stopping;
  if (!gone) {
    // Already counted: the next attempt is this one, continued.
    arm_retry(self, index, k_retry_repeat, true);
    co_return;
  }
  for (Index each = policy().group_begin(index); each != Children::k_none;) {
    const Index after = children().after(each);
    ChildStarting starting = start_process(self, each);
    const ChildStart start = co_await starting;
    if (start.failed()) {
      if (each != index && at(index).state == ChildState::restarting) {
        const std::scoped_lock lock(view_->mutex);
        children().set_down(index);
      }
      const Duration delay = start_failed(self, each, start);
      if (delay > Duration::zero()) {
        Async<bool> undoing = stop_group(self, each);
        co_await undoing;
      }
      arm_retry(self, each, delay, false);
      co_return;
    }
    restarted(self, each, start, self.now());
    each = after;
  }
}

}  // namespace skein::inline v0
