#include "skein/routing/router.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace skein::inline v0 {

Router::Router(RouterOptions options) : options_(options), learned_(options_.learning), types_(options_.types_max) {
  if (const auto problem = options_.problem()) throw std::invalid_argument("router: " + *problem);
  // A task's attempt ends by itself: by its outcome, its timeout, its lease or its agent's end.
  options_.breaker.operation_timeout = k_forever;
  bulkheads_.push_back(nullptr);
}

RoutedAgent* Router::at(AgentHandle agent) {
  if (agent.index >= agents_.size()) return nullptr;
  RoutedAgent& found = agents_[agent.index];
  return found.there && found.generation == agent.generation ? &found : nullptr;
}

Instant Router::advance(Instant now) {
  latest_ = std::max(latest_, now);
  if (!wakes_.empty() && wakes_.top().at <= latest_) wake(latest_);
  return latest_;
}

// Breakers whose time is up, holds that have ended, poor health that is to be forgotten.
void Router::wake(Instant now) {
  while (!wakes_.empty() && wakes_.top().at <= now) {
    const Wake due = wakes_.top();
    wakes_.pop();
    RoutedAgent& agent = agents_[due.agent];
    if (!agent.there || agent.wake_at != due.at) continue;  // overtaken by an earlier one, or by its leaving
    agent.wake_at = Instant::max();
    refresh(due.agent, now);
  }
}

void Router::wake_later(std::uint32_t index, Instant at) {
  RoutedAgent& agent = agents_[index];
  if (at >= agent.wake_at) return;
  agent.wake_at = at;
  wakes_.push({at, index});
}

void Router::tell(std::uint32_t index, AgentChange::Kind kind) {
  if (changes_.size() == k_changes_kept) changes_.erase(changes_.begin());
  changes_.push_back({{index, agents_[index].generation}, kind});
}

void Router::look_at_breaker(std::uint32_t index, Instant now) {
  using enum AgentChange::Kind;
  RoutedAgent& agent = agents_[index];
  if (!agent.breaker) return;
  const BreakerState state = agent.breaker->state(now);
  if (state == agent.breaker_state) return;
  agent.breaker_state = state;
  ++agent.breaker_epoch;
  if (state == BreakerState::open) agent.broken_until = agent.breaker->open_until();
  if (state == BreakerState::closed) {
    agent.is_suspected = false;
    agent.suspicions = 0;
  }
  tell(index, state == BreakerState::open        ? (agent.is_suspected ? suspected : breaker_opened)
              : state == BreakerState::half_open ? breaker_half_open
                                                 : breaker_closed);
}

Readiness Router::readiness(std::uint32_t index, Instant now) {
  RoutedAgent& agent = agents_[index];
  // A closed one has no call under way between two calls of ours, so time alone changes nothing in it.
  if (agent.breaker_state != BreakerState::closed) look_at_breaker(index, now);
  if (agent.is_poorly && now >= agent.poorly_until) {
    agent.is_poorly = false;
    agent.health.reset();
    agent.quality = q_state(0, agent.its_health().success(), agent.its_health().typical_ms());
    tell(index, AgentChange::Kind::recovered);
  }
  // The earliest of what time alone will change.
  if (agent.is_poorly) wake_later(index, agent.poorly_until);
  if (agent.breaker_state == BreakerState::open) wake_later(index, agent.broken_until);
  if (agent.held_until > now) wake_later(index, agent.held_until);

  if (agent.paused || agent.load >= agent.capacity || agent.held_until > now) return Readiness::not_now;
  if (agent.breaker_state == BreakerState::open) return Readiness::not_now;
  if (agent.breaker_state == BreakerState::half_open && agent.breaker->under_way() >= probes_of(agent)) {
    return Readiness::not_now;  // until a probe has ended
  }
  return agent.is_poorly ? Readiness::poorly : Readiness::ready;
}

// One that is suspected spoils whatever it is given.
std::size_t Router::probes_of(const RoutedAgent& agent) const {
  return agent.is_suspected ? 1 : options_.breaker.half_open_max_calls;
}

QState Router::state_of(const RoutedAgent& agent) const { return q_state_at_load(agent.quality, agent.load); }

void Router::refresh(std::uint32_t index, Instant now) {
  const Readiness ready = readiness(index, now);
  RoutedAgent& agent = agents_[index];
  const Pool::Standing standing{ready, agent.load, state_of(agent)};
  if (standing == agent.told) return;
  agent.told = standing;
  agent.for_each_membership([&](RoutedAgent::Membership its) { pools_[its.pool].pool->update(its.slot, standing); });
}

Router::Avoided Router::avoided(std::span<const AgentHandle> agents, std::uint32_t pool) {
  Avoided found;
  const std::size_t skipped = agents.size() - std::min(agents.size(), k_avoid_max);
  for (const AgentHandle& each : agents.subspan(skipped)) {
    const RoutedAgent* agent = at(each);
    if (agent == nullptr) continue;
    agent->for_each_membership([&](RoutedAgent::Membership its) {
      if (its.pool == pool) found.slots[found.count++] = its.slot;
    });
  }
  return found;
}

Router::Result<Router::Choice> Router::decide(const Request& request, Random& random, Instant now) {
  now = advance(now);
  auto decided = decide_now(request, random, now);
  if (decided || !request.since || between(*request.since, now) < options_.routing_timeout) return decided;
  return std::unexpected(RouteError::timed_out);
}

Router::Result<Router::Choice> Router::decide_now(const Request& request, Random& random, Instant now) {
  const auto number = pool_for(request);
  if (!number) return std::unexpected(number.error());
  Pool& pool = *pools_[*number].pool;
  const Avoided avoid = avoided(request.avoid, *number);
  const Pool::Question question{.strategy = request.strategy,
                                .key = request.strategy == Balance::consistent_hash ? stable_hash(request.key) : 0,
                                .avoid = avoid.span(),
                                .learned = &learned_};
  for (std::uint32_t index = pool.choose(question, random); index != Pool::k_none;
       index = pool.choose(question, random)) {
    const RoutedAgent& agent = agents_[index];
    // Time may have changed a breaker unnoticed; then the pools learn of it here.
    if (agent.breaker_state != BreakerState::closed) refresh(index, now);
    if (agent.told.readiness != Readiness::not_now) return Choice{{index, agent.generation}, agent.pid};
  }
  if (pool.members() == 0) return std::unexpected(RouteError::nobody_has_them);
  if (pool.ready() + pool.poorly() == 0) return std::unexpected(RouteError::nobody_ready);
  return std::unexpected(avoid.count == 0 ? RouteError::bulkhead_full : RouteError::only_avoided);
}

std::size_t Router::idle_beside(AgentHandle holder, const Request& request, Instant now) {
  advance(now);
  const auto number = pool_for(request);
  if (!number) return 0;
  const AgentHandle it[] = {holder};
  const Avoided place = avoided(it, *number);
  if (place.count == 0) return 0;
  return pools_[*number].pool->idle_beside(place.slots[0], avoided(request.avoid, *number).span());
}

Router::Result<void> Router::prepare(const Request& request, Instant now) {
  advance(now);
  const auto number = pool_for(request);
  if (!number) return std::unexpected(number.error());
  pools_[*number].pool->prepare(request.strategy);
  return {};
}

void Router::take(std::uint32_t index, Assignment& assignment, Instant now) {
  RoutedAgent& agent = agents_[index];
  assignment.agent = {index, agent.generation};
  assignment.state = state_of(agent);
  assignment.breaker_epoch = agent.breaker_epoch;
  if (TypeFigures* type = types_.at(assignment.type)) type->given(assignment.agent);
  ++agent.load;
  refresh(index, now);
}

Router::Result<Assignment> Router::assigned(AgentHandle handle, Instant now, TypeRef type) {
  now = advance(now);
  RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::unexpected(RouteError::unknown_agent);
  if (agent->paused) return std::unexpected(RouteError::agent_paused);
  if (agent->load >= agent->capacity) return std::unexpected(RouteError::agent_full);
  if (agent->held_until > now) return std::unexpected(RouteError::agent_held);
  Assignment assignment;
  assignment.type = type;
  if (Bulkhead* bulkhead = bulkheads_[agent->executor].get()) {
    auto place = bulkhead->enter();
    if (!place) return std::unexpected(RouteError::bulkhead_full);
    assignment.place = std::move(*place);
  }
  if (agent->breaker_state != BreakerState::closed) {
    look_at_breaker(handle.index, now);
    const bool is_tried = agent->breaker_state == BreakerState::half_open;
    if (is_tried && agent->breaker->under_way() >= probes_of(*agent)) return std::unexpected(RouteError::breaker_open);
    const auto permit = agent->breaker->ask(now);
    if (!permit) {
      refresh(handle.index, now);
      return std::unexpected(RouteError::breaker_open);
    }
    assignment.probe = *permit;
  }
  take(handle.index, assignment, now);
  return assignment;
}

Router::Result<Assignment> Router::adopted(AgentHandle handle, Instant now, TypeRef type) {
  now = advance(now);
  RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::unexpected(RouteError::unknown_agent);
  Assignment assignment;
  assignment.type = type;
  if (Bulkhead* bulkhead = bulkheads_[agent->executor].get()) {
    if (auto place = bulkhead->enter()) assignment.place = std::move(*place);
  }
  take(handle.index, assignment, now);
  return assignment;
}

// Answers to what was asked before the breaker last changed say nothing about now.
void Router::tell_breaker(const Assignment& assignment, const AttemptOutcome& outcome, Instant now) {
  const std::uint32_t index = assignment.agent.index;
  RoutedAgent& agent = agents_[index];
  const bool says_nothing =
      (outcome.error == RetryClass::permanent && !agent.is_suspected) || outcome.error == RetryClass::rate_limited;
  if (!agent.breaker) {
    if (!outcome.error || says_nothing) return;
    agent.breaker = std::make_unique<CircuitBreaker>(options_.breaker);
  }
  look_at_breaker(index, now);
  auto permit = assignment.probe;
  if (!permit) {
    if (agent.breaker_state != BreakerState::closed || assignment.breaker_epoch != agent.breaker_epoch) return;
    const auto asked = agent.breaker->ask(now);
    if (!asked) return;
    permit = *asked;
  }
  if (says_nothing) {
    agent.breaker->returned(*permit, now);
  } else if (outcome.error) {
    agent.breaker->failed(*permit, now);
  } else {
    agent.breaker->succeeded(*permit, now);
  }
  look_at_breaker(index, now);
}

// An agent that is alone with its permanent errors gets nothing more for a while: each costs a task its only attempt.
void Router::judge_permanent(const Assignment& assignment, Instant now) {
  TypeFigures* type = types_.at(assignment.type);
  if (type == nullptr) return;
  type->failed_for_good(assignment.agent);
  const std::uint32_t index = assignment.agent.index;
  RoutedAgent& agent = agents_[index];
  const bool is_again = agent.is_suspected && agent.breaker_state == BreakerState::open && assignment.probe.has_value();
  if (!is_again) {
    if (agent.breaker_state != BreakerState::closed || at(type->worker_beside(assignment.agent)) == nullptr) return;
    if (!type->suspects(assignment.agent, options_.permanent_failures)) return;
  }
  if (!agent.breaker) agent.breaker = std::make_unique<CircuitBreaker>(options_.breaker);
  agent.is_suspected = true;
  // Each try costs a task, so the next one is four times as far away; unless it may have been the task's own fault.
  const bool is_rare = type->failing_beside(assignment.agent) < k_rare_failures;
  agent.breaker->force_open(now, options_.breaker.reset_timeout * (1 << (2 * agent.suspicions)));
  if (is_rare && agent.suspicions < k_suspicions_max) ++agent.suspicions;
  look_at_breaker(index, now);
  agent.broken_until = agent.breaker->open_until();
}

void Router::judge_health(const Assignment& assignment, const AttemptOutcome& outcome, Instant now) {
  const std::uint32_t index = assignment.agent.index;
  RoutedAgent& agent = agents_[index];
  const bool ok = !outcome.error;
  TypeFigures* type = types_.at(assignment.type);
  const auto scaled = type == nullptr ? outcome.latency : type->scaled(outcome.latency);
  if (type != nullptr && ok) type->completed(assignment.agent, outcome.latency);
  if (!agent.health) agent.health = std::make_unique<AgentHealth>();
  agent.health->record(scaled, ok, now);
  agent.quality = q_state(0, agent.health->success(), agent.health->typical_ms());
  if (agent.health->outcomes() >= options_.health_minimum) {
    const bool poorly = agent.health->score() < options_.health_floor;
    if (poorly != agent.is_poorly) tell(index, poorly ? AgentChange::Kind::poorly : AgentChange::Kind::recovered);
    if (poorly && !agent.is_poorly) agent.poorly_until = later(now, options_.health_reset);
    agent.is_poorly = poorly;
  }
  learned_.learn(assignment.state, QLearning::reward(ok, scaled), state_of(agent));
}

bool Router::finished(Assignment assignment, const AttemptOutcome& outcome, Instant now) {
  now = advance(now);
  assignment.place = Bulkhead::Ticket();
  RoutedAgent* agent = at(assignment.agent);
  if (agent == nullptr) return false;
  if (agent->load > 0) --agent->load;
  if (outcome.error == RetryClass::rate_limited && outcome.retry_after > Duration::zero()) {
    agent->held_until = std::max(agent->held_until, later(now, honoured(outcome.retry_after)));
  }
  tell_breaker(assignment, outcome, now);
  if (outcome.error == RetryClass::permanent) {
    judge_permanent(assignment, now);
  } else {
    judge_health(assignment, outcome, now);
  }
  refresh(assignment.agent.index, now);
  return true;
}

bool Router::returned(Assignment assignment, Instant now) {
  now = advance(now);
  assignment.place = Bulkhead::Ticket();
  RoutedAgent* agent = at(assignment.agent);
  if (agent == nullptr) return false;
  if (agent->load > 0) --agent->load;
  if (assignment.probe) agent->breaker->returned(*assignment.probe, now);
  refresh(assignment.agent.index, now);
  return true;
}

AdaptiveRetry::Chosen Router::choose_retry(const Request& request, AgentHandle failed, RetryClass error, Duration usual,
                                           std::optional<Duration> retry_after, Random& random, Instant now) {
  constexpr double k_hopeless = -1e6;
  now = advance(now);
  AdaptiveRetry::Prospects prospects{k_hopeless, k_hopeless};
  const double discount = learned_.options().discount;
  if (const RoutedAgent* agent = at(failed); agent != nullptr) {
    refresh(failed.index, now);
    if (agent->told.readiness != Readiness::not_now) prospects.same = discount * learned_.value(state_of(*agent));
  }
  if (const auto number = pool_for(request)) {
    const AgentHandle it[] = {failed};
    const auto other = pools_[*number].pool->best_value(learned_, avoided(it, *number).span());
    if (other) prospects.other = discount * *other;
  }
  return learned_.retry().choose(error, usual, retry_after, random, prospects);
}

}  // namespace skein::inline v0
