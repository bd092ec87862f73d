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

bool Supervisor::restarts_groups() const {
  const Strategy strategy = view_->flags.strategy;
  return strategy == Strategy::one_for_all || strategy == Strategy::rest_for_one;
}

Async<void> Supervisor::on_exit(Self self, Pid pid, const ExitReason& reason) {
  if (view_->has_remains()) settle_remains(self, Owner{});
  const std::optional<Index> found = children().find(pid);
  if (!found || at(*found).state != ChildState::running) {
    // Of a child that was stopped, or of a stranger; or told to end by whoever started this supervisor.
    if (pid == self.parent()) self.stop(reason);
    return {};
  }
  const Index index = *found;
  const Instant now = self.now();
  const bool escalates = view_->flags.strategy == Strategy::escalate;
  const bool restarts = wants_restart(at(index).spec->restart, reason);
  Allowance allowance = Allowance::granted;
  {
    const std::scoped_lock lock(view_->mutex);
    if (is_failure(reason)) children().note_failure(index, Failure{now, reason});
    if (restarts && !escalates) allowance = count_restart(index, now);
  }
  if (!restarts) {
    ended_for_good(self, index, reason);
    return {};
  }
  report(self, EventKind::child_terminated, EventLevel::error, &at(index), reason);
  if (escalates) {
    report(self, EventKind::escalated, EventLevel::error, &at(index), reason);
    drop_or_keep(index);
    self.stop(reason);
    return {};
  }
  if (!may_restart(self, index, allowance)) return {};
  const Duration delay = backoff_delay(index, now);
  if (delay == Duration::zero() && !has_leftovers(at(index).key)) return attempt(self, index, now);
  report(self, EventKind::child_backing_off, EventLevel::info, &at(index), reason, delay);
  if (restarts_groups()) return wait_with_group(self, index, delay);
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

Supervisor::Allowance Supervisor::count_restart(Index index, Instant now) {
  const ChildSpec& spec = *at(index).spec;
  if (spec.isolated || spec.budget) {
    auto& window = children().troubles(index).budget;
    const Budget budget = spec.budget.value_or(Budget{});
    if (!window) window.emplace(budget.intensity, budget.period);
    if (!window->allow(now)) return Allowance::budget_spent;
  }
  const bool allowed = spec.isolated || view_->window.allow(now);
  return allowed ? Allowance::granted : Allowance::window_spent;
}

bool Supervisor::may_restart(Self self, Index index, Allowance allowance) {
  const bool isolated = at(index).spec->isolated;
  if (allowance == Allowance::granted) {
    if (!isolated) warn_of_intensity(self, index);
    return true;
  }
  if (allowance == Allowance::budget_spent && isolated) {
    park(self, index);
  } else {
    give_up(self, index);
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

Duration Supervisor::backoff_delay(Index index, Instant now) {
  const Backoff& backoff = at(index).spec->backoff;
  if (backoff.kind == BackoffKind::none) return Duration::zero();
  const std::scoped_lock lock(view_->mutex);
  Troubles& troubles = children().troubles(index);
  // It ran for long: this failure has nothing to do with the earlier ones.
  if (at(index).state == ChildState::running && now - at(index).since >= backoff.max) troubles.attempt = 0;
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
  Allowance allowance = Allowance::granted;
  {
    const std::scoped_lock lock(view_->mutex);
    if (state == ChildState::parked) {
      children().set_waiting(index, ChildState::restarting);
      Troubles& troubles = children().troubles(index);
      troubles.budget.reset();
      troubles.attempt = 0;
    }
    if (!counted) allowance = count_restart(index, now);
  }
  if (!counted && !may_restart(self, index, allowance)) return {};
  return attempt(self, index, now);
}

Async<void> Supervisor::attempt(Self self, Index index, Instant now) {
  if (restarts_groups()) return restart_group(self, index);
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
  const Instant now = self.now();
  {
    const std::scoped_lock lock(view_->mutex);
    children().note_failure(index, Failure{now, start.reason(), true});
    children().set_waiting(index, ChildState::restarting);
  }
  Duration delay = backoff_delay(index, now);
  if (start.kind() == ChildStart::Kind::already_started) delay = std::max(delay, k_name_taken_wait);
  report(self, EventKind::child_retried, EventLevel::error, &at(index), start.reason(), delay);
  return delay;
}

// Stops those that are started again with `index`: all, or those after it. False when some left processes behind.
Async<bool> Supervisor::stop_group(Self self, Index index) {
  exits_.begin();
  const bool all = view_->flags.strategy == Strategy::one_for_all;
  bool gone = !has_leftovers(at(index).key);
  for (Index each = children().last(); each != Children::k_none;) {
    const Index before = children().before(each);
    if (each != index) {
      const std::uint64_t key = at(each).key;
      Async<void> stopping = stop_child(self, each);
      co_await stopping;
      gone = gone && !has_leftovers(key);
    } else if (!all) {
      break;
    }
    each = before;
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

// one_for_all and rest_for_one: `index` and those with it are stopped in reverse, then started in order.
Async<void> Supervisor::restart_group(Self self, Index index) {
  const bool all = view_->flags.strategy == Strategy::one_for_all;
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
  for (Index each = all ? children().first() : index; each != Children::k_none;) {
    const Index after = children().after(each);
    ChildStarting starting = start_process(self, each);
    const ChildStart start = co_await starting;
    if (start.failed()) {
      if (each != index && at(index).state == ChildState::restarting) {
        const std::scoped_lock lock(view_->mutex);
        children().set_down(index);
      }
      const Duration delay = start_failed(self, each, start);
      if (delay > Duration::zero() && all) {
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
