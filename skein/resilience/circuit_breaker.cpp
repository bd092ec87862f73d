#include "skein/resilience/circuit_breaker.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>

namespace skein::inline v0 {

std::string_view breaker_state_name(BreakerState state) {
  switch (state) {
    case BreakerState::closed:
      return "closed";
    case BreakerState::open:
      return "open";
    case BreakerState::half_open:
      return "half_open";
  }
  return "unknown";
}

std::optional<std::string> BreakerOptions::problem() const {
  if (failure_threshold == 0 && !(failure_rate > 0)) return "failure_threshold or failure_rate must be above 0";
  if (!std::isfinite(failure_rate) || failure_rate < 0 || failure_rate > 1) return "failure_rate must be from 0 to 1";
  if (rate_window == 0 || rate_window > 1'000'000) return "rate_window must be from 1 to 1000000";
  if (rate_minimum == 0 || rate_minimum > rate_window) return "rate_minimum must be from 1 to rate_window";
  if (reset_timeout <= Duration::zero()) return "reset_timeout must be above 0";
  if (half_open_max_calls == 0) return "half_open_max_calls must be at least 1";
  if (success_threshold == 0) return "success_threshold must be at least 1";
  if (operation_timeout <= Duration::zero()) return "operation_timeout must be above 0";
  return std::nullopt;
}

CircuitBreaker::CircuitBreaker(BreakerOptions options, Changed changed, std::uint64_t first_epoch)
    : options_(options), changed_(std::move(changed)), epoch_(first_epoch) {
  if (const auto problem = options_.problem()) throw std::invalid_argument("circuit breaker: " + *problem);
}

void CircuitBreaker::enter(BreakerState next, Instant now) {
  const BreakerState before = state_;
  if (before == next) return;
  state_ = next;
  ++epoch_;
  under_way_.clear();
  failures_in_row_ = 0;
  successes_ = 0;
  recent_.clear();
  recent_failures_ = 0;
  if (next == BreakerState::open) {
    opened_at_ = now;
    at_least_ = Duration::zero();
    ++metrics_.opened;
  }
  if (!changed_) return;
  try {
    changed_(before, next);
  } catch (...) {  // an observer's trouble is not the caller's
    static_cast<void>(std::current_exception());
  }
}

// Calls that never told their outcome have failed; an open breaker whose time is up is half-open.
void CircuitBreaker::expire(Instant now) {
  latest_ = std::max(latest_, now);
  if (state_ == BreakerState::open) {
    if (latest_ >= open_until()) enter(BreakerState::half_open, latest_);
    return;
  }
  if (options_.operation_timeout == k_forever) return;
  // Ids are given in the order of time, so the oldest is first.
  while (!under_way_.empty() && between(under_way_.begin()->second, latest_) >= options_.operation_timeout) {
    time_out_oldest();
  }
}

void CircuitBreaker::time_out_oldest() {
  under_way_.erase(under_way_.begin());
  ++metrics_.timed_out;
  count(false, latest_);
}

std::expected<CircuitBreaker::Permit, CircuitBreaker::Refusal> CircuitBreaker::ask(Instant now) {
  expire(now);
  if (under_way_.size() >= k_under_way_max) time_out_oldest();
  if (state_ == BreakerState::open) {
    ++metrics_.refused;
    return std::unexpected(Refusal{state_, open_until() - latest_});
  }
  if (state_ == BreakerState::half_open && under_way_.size() >= options_.half_open_max_calls) {
    ++metrics_.refused;
    return std::unexpected(Refusal{state_, Duration::zero()});
  }
  const Permit permit{next_id_++, epoch_};
  under_way_.emplace(permit.id, latest_);
  return permit;
}

bool CircuitBreaker::settle(Permit permit) { return permit.epoch == epoch_ && under_way_.erase(permit.id) != 0; }

void CircuitBreaker::count(bool success, Instant now) {
  ++(success ? metrics_.succeeded : metrics_.failed);
  if (state_ == BreakerState::half_open) {
    if (!success) {
      enter(BreakerState::open, now);
    } else if (++successes_ >= options_.success_threshold) {
      enter(BreakerState::closed, now);
    }
    return;
  }
  if (state_ != BreakerState::closed) return;
  failures_in_row_ = success ? 0 : failures_in_row_ + 1;
  recent_.push_back(!success);
  recent_failures_ += success ? 0 : 1;
  if (recent_.size() > options_.rate_window) {
    recent_failures_ -= recent_.front() ? 1 : 0;
    recent_.pop_front();
  }
  const bool by_count = options_.failure_threshold != 0 && failures_in_row_ >= options_.failure_threshold;
  const bool by_rate =
      options_.failure_rate > 0 && recent_.size() >= options_.rate_minimum &&
      static_cast<double>(recent_failures_) >= options_.failure_rate * static_cast<double>(recent_.size());
  if (by_count || by_rate) enter(BreakerState::open, now);
}

void CircuitBreaker::succeeded(Permit permit, Instant now) {
  expire(now);
  if (settle(permit)) count(true, latest_);
}

void CircuitBreaker::failed(Permit permit, Instant now) {
  expire(now);
  if (settle(permit)) count(false, latest_);
}

void CircuitBreaker::returned(Permit permit, Instant now) {
  expire(now);
  settle(permit);
}

BreakerState CircuitBreaker::state(Instant now) {
  expire(now);
  return state_;
}

void CircuitBreaker::force_open(Instant now, Duration at_least) {
  expire(now);
  if (state_ == BreakerState::open) {
    opened_at_ = latest_;
  } else {
    enter(BreakerState::open, latest_);
  }
  at_least_ = at_least;
}

void CircuitBreaker::force_closed(Instant now) {
  expire(now);
  enter(BreakerState::closed, latest_);
}

}  // namespace skein::inline v0
