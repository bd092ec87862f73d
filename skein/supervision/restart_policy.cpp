#include "skein/supervision/restart_policy.hpp"

#include <algorithm>

namespace skein::inline v0 {
namespace {

using Kind = RestartDecision::Kind;

// Somebody else holds the child's name: trying again at once would only use up the intensity.
constexpr Duration k_name_taken_wait = std::chrono::milliseconds(100);

[[nodiscard]] bool wants_restart(Restart restart, const ExitReason& reason) {
  return restart == Restart::permanent || (restart == Restart::transient && is_failure(reason));
}

}  // namespace

bool is_failure(const ExitReason& reason) { return !reason.is_normal() && !reason.is_shutdown(); }

RestartDecision RestartPolicy::ended(Index index, const ExitReason& reason, Instant now) {
  if (is_failure(reason)) children_.note_failure(index, Failure{now, reason});
  if (!wants_restart(children_.at(index).spec->restart, reason)) return {Kind::leave};
  if (!row_.restarts) return {row_.past_limit == PastLimit::childs_reason ? Kind::escalate : Kind::give_up};
  RestartDecision decision = count(index, now);
  if (decision.kind == Kind::restart) decision.delay = backoff(index, now);
  return decision;
}

RestartDecision RestartPolicy::retried(Index index, bool counted, Instant now) {
  if (children_.at(index).state == ChildState::parked) {
    children_.set_waiting(index, ChildState::restarting);
    Troubles& troubles = children_.troubles(index);
    troubles.budget.reset();
    troubles.attempt = 0;
  }
  return counted ? RestartDecision{Kind::restart} : count(index, now);
}

Duration RestartPolicy::start_failed(Index index, const ChildStart& start, Instant now) {
  children_.note_failure(index, Failure{now, start.reason(), true});
  children_.set_waiting(index, ChildState::restarting);
  const Duration delay = backoff(index, now);
  return start.kind() == ChildStart::Kind::already_started ? std::max(delay, k_name_taken_wait) : delay;
}

RestartDecision RestartPolicy::count(Index index, Instant now) {
  const ChildSpec& spec = *children_.at(index).spec;
  if (spec.isolated || spec.budget) {
    auto& own = children_.troubles(index).budget;
    const Budget budget = spec.budget.value_or(Budget{});
    if (!own) own.emplace(budget.intensity, budget.period);
    if (!own->allow(now))
      return spec.isolated ? RestartDecision{Kind::park, park(index, now)} : RestartDecision{Kind::give_up};
  }
  const bool allowed = spec.isolated || window_.allow(now);
  return {allowed ? Kind::restart : Kind::give_up};
}

Duration RestartPolicy::park(Index index, Instant now) {
  const Child& child = children_.at(index);
  Troubles& troubles = children_.troubles(index);
  const Budget budget = child.spec->budget.value_or(Budget{});
  // Having run for longer than its budget's period, it gets a fresh budget.
  const bool fresh =
      troubles.park == Duration::zero() || (child.state == ChildState::running && now - child.since > budget.period);
  troubles.park = fresh ? budget.park : std::min(troubles.park * 2, k_park_max);
  children_.set_waiting(index, ChildState::parked);
  return troubles.park;
}

Duration RestartPolicy::backoff(Index index, Instant now) {
  const Child& child = children_.at(index);
  const Backoff& backoff = child.spec->backoff;
  if (backoff.kind == BackoffKind::none) return Duration::zero();
  Troubles& troubles = children_.troubles(index);
  // It ran for long: this failure has nothing to do with the earlier ones.
  if (child.state == ChildState::running && now - child.since >= backoff.max) troubles.attempt = 0;
  return backoff.delay(++troubles.attempt, random_);
}

}  // namespace skein::inline v0
