// What a supervisor does when a child ends: whether, when and with whom it is started again.
#include <algorithm>

#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0 {
namespace {

[[nodiscard]] bool is_failure(const ExitReason& reason) { return !reason.is_normal() && !reason.is_shutdown(); }

[[nodiscard]] bool wants_restart(Restart restart, const ExitReason& reason) {
  return restart == Restart::permanent || (restart == Restart::transient && is_failure(reason));
}

// A lost retry is repeated at this interval, until it is taken.
constexpr Duration k_retry_repeat = std::chrono::milliseconds(1);
// Somebody else holds the child's name: trying again at once would only use up the intensity.
constexpr Duration k_name_taken_wait = std::chrono::milliseconds(100);

}  // namespace

Task<void> Supervisor::on_exit(Self self, Pid pid, ExitReason reason) {
  if (view_->has_remains()) settle_remains(self, Owner{});
  const std::optional<Index> found = children().find(pid);
  if (!found || at(*found).state != ChildState::running) {
    // Of a child that was stopped, or of a stranger; or told to end by whoever started this supervisor.
    if (pid == self.parent()) self.stop(std::move(reason));
    co_return;
  }
  const Index index = *found;
  if (is_failure(reason)) {
    const std::scoped_lock lock(view_->mutex);
    children().note_failure(index, Failure{self.now(), reason});
  }
  if (!wants_restart(at(index).spec->restart, reason)) {
    ended_for_good(self, index, reason);
    co_return;
  }
  report(self, EventKind::child_terminated, EventLevel::error, &at(index), reason);
  if (view_->flags.strategy == Strategy::escalate) {
    report(self, EventKind::escalated, EventLevel::error, &at(index), reason);
    drop_or_keep(index);
    self.stop(std::move(reason));
    co_return;
  }
  if (!may_restart(self, index)) co_return;
  const Duration delay = backoff_delay(self, index);
  if (delay > Duration::zero() || has_leftovers(at(index).key)) {
    report(self, EventKind::child_backing_off, EventLevel::info, &at(index), reason, delay);
    arm_retry(self, index, delay, true);
    co_return;
  }
  Task<void> trying = attempt(self, index);
  co_await trying;
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

bool Supervisor::may_restart(Self self, Index index) {
  const Instant now = self.now();
  const ChildSpec& spec = *at(index).spec;
  bool within_budget = true;
  bool within_window = true;
  {
    const std::scoped_lock lock(view_->mutex);
    if (spec.isolated || spec.budget) {
      const Budget budget = spec.budget.value_or(Budget{});
      auto& window = children().troubles(index).budget;
      if (!window) window.emplace(budget.intensity, budget.period);
      within_budget = window->allow(now);
    }
    if (!spec.isolated && within_budget) within_window = view_->window.allow(now);
  }
  if (!within_budget && spec.isolated) {
    park(self, index);
    return false;
  }
  if (!within_budget || !within_window) {
    give_up(self, index);
    return false;
  }
  if (!spec.isolated) {
    const std::uint64_t used = view_->window.last_used();
    const std::uint64_t limit = view_->flags.intensity;
    if (used * 5 >= limit * 4 && (used - 1) * 5 < limit * 4) {
      report(self, EventKind::intensity_warning, EventLevel::warning, &at(index));
    }
  }
  return true;
}

void Supervisor::park(Self self, Index index) {
  Duration period{};
  {
    const std::scoped_lock lock(view_->mutex);
    Troubles& troubles = children().troubles(index);
    const Budget budget = at(index).spec->budget.value_or(Budget{});
    // Having run for longer than its budget's period, it starts anew.
    const bool fresh = troubles.park == Duration::zero() ||
                       (at(index).state == ChildState::running && self.now() - at(index).since > budget.period);
    troubles.park = fresh ? budget.park : std::min(troubles.park * 2, k_park_max);
    period = troubles.park;
    children().set_waiting(index, ChildState::parked);
  }
  report(self, EventKind::child_parked, EventLevel::error, &at(index), {}, period);
  arm_retry(self, index, period, true);
}

void Supervisor::give_up(Self self, Index index) {
  report(self, EventKind::intensity_exceeded, EventLevel::error, &at(index),
         ExitReason::custom("reached_max_restart_intensity"));
  drop_or_keep(index);
  self.stop(ExitReason::shutdown());
}

Duration Supervisor::backoff_delay(Self self, Index index) {
  const Backoff& backoff = at(index).spec->backoff;
  if (backoff.kind == BackoffKind::none) return Duration::zero();
  const std::scoped_lock lock(view_->mutex);
  Troubles& troubles = children().troubles(index);
  // It ran for long: this failure has nothing to do with the earlier ones.
  if (at(index).state == ChildState::running && self.now() - at(index).since >= backoff.max) troubles.attempt = 0;
  return backoff.delay(++troubles.attempt, random_);
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

Task<void> Supervisor::on_retry(Self self, Retry retry) {
  if (!children().holds(retry.index, retry.key)) co_return;
  const Index index = retry.index;
  const ChildState state = at(index).state;
  if (state != ChildState::restarting && state != ChildState::parked) co_return;
  if (at(index).troubles == nullptr || at(index).troubles->token != retry.token) co_return;
  const bool counted = at(index).troubles->counted;
  cancel_retry(self, index);
  if (has_leftovers(at(index).key)) {
    arm_retry(self, index, Duration::zero(), counted);
    co_return;
  }
  if (state == ChildState::parked) {
    const std::scoped_lock lock(view_->mutex);
    children().set_waiting(index, ChildState::restarting);
    Troubles& troubles = children().troubles(index);
    troubles.budget.reset();
    troubles.attempt = 0;
  }
  if (!counted) {
    if (!may_restart(self, index)) co_return;
  }
  Task<void> trying = attempt(self, index);
  co_await trying;
}

Task<void> Supervisor::attempt(Self self, Index index) {
  const Strategy strategy = view_->flags.strategy;
  if (strategy == Strategy::one_for_all || strategy == Strategy::rest_for_one) return restart_group(self, index);
  return restart_one(self, index);
}

Task<void> Supervisor::restart_one(Self self, Index index) {
  Task<ChildStart> starting = start_process(self, index);
  const ChildStart start = co_await starting;
  if (start.failed()) {
    start_failed(self, index, start);
  } else {
    restarted(self, index, start);
  }
}

void Supervisor::restarted(Self self, Index index, const ChildStart& start) {
  if (start.kind() == ChildStart::Kind::ignore) {
    drop_or_keep(index);
    return;
  }
  {
    const std::scoped_lock lock(view_->mutex);
    ++children().at(index).restarts;
    children().set_running(index, start.pid(), self.now());
  }
  report(self, EventKind::child_restarted, EventLevel::info, &at(index));
}

void Supervisor::start_failed(Self self, Index index, const ChildStart& start) {
  settle_remains(self, owner(index));
  {
    const std::scoped_lock lock(view_->mutex);
    children().note_failure(index, Failure{self.now(), start.reason(), true});
    children().set_waiting(index, ChildState::restarting);
  }
  Duration delay = backoff_delay(self, index);
  if (start.kind() == ChildStart::Kind::already_started) delay = std::max(delay, k_name_taken_wait);
  report(self, EventKind::child_retried, EventLevel::error, &at(index), start.reason(), delay);
  arm_retry(self, index, delay, false);
}

// one_for_all and rest_for_one: `index` and those with it are stopped in reverse, then started in order.
Task<void> Supervisor::restart_group(Self self, Index index) {
  const bool all = view_->flags.strategy == Strategy::one_for_all;
  bool leftovers = has_leftovers(at(index).key);
  for (Index each = children().last(); each != Children::k_none;) {
    const Index before = children().before(each);
    const bool is_last = each == index && !all;
    if (each != index) {
      const std::uint64_t key = at(each).key;
      Task<void> stopping = stop_child(self, each);
      co_await stopping;
      leftovers = leftovers || has_leftovers(key);
    }
    if (is_last) break;
    each = before;
  }
  if (leftovers) {
    // Already counted: the next attempt is this one, continued.
    arm_retry(self, index, k_retry_repeat, true);
    co_return;
  }
  {
    // Its old Pid stays known until it is clear whether it starts.
    const std::scoped_lock lock(view_->mutex);
    children().set_waiting(index, ChildState::restarting);
  }
  for (Index each = all ? children().first() : index; each != Children::k_none;) {
    const Index after = children().after(each);
    Task<ChildStart> starting = start_process(self, each);
    const ChildStart start = co_await starting;
    if (start.failed()) {
      if (each != index && at(index).state == ChildState::restarting) {
        const std::scoped_lock lock(view_->mutex);
        children().set_down(index);
      }
      start_failed(self, each, start);
      co_return;
    }
    restarted(self, each, start);
    each = after;
  }
}

}  // namespace skein::inline v0
