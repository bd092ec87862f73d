// One agent as the router knows it, and what callers see and say of agents. Plain data; see router.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/resilience/bulkhead.hpp"
#include "skein/resilience/circuit_breaker.hpp"
#include "skein/resilience/retry_policy.hpp"
#include "skein/routing/agent_handle.hpp"
#include "skein/routing/health.hpp"
#include "skein/routing/pool.hpp"
#include "skein/routing/q_learning.hpp"
#include "skein/routing/type_figures.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0 {

// An agent that joins.
struct AgentSpec {
  std::string name = {};
  Pid pid = {};
  std::vector<std::string> capabilities = {};
  std::uint32_t capacity = 1;  // tasks at once: one at work and what it may hold ahead
  std::string executor = {};   // one that agents share and that has a bulkhead; empty: none
};

// How a task ended. A permanent error is the task's fault and says nothing about the agent, unless the agent is alone
// with it; see type_figures.hpp.
struct AttemptOutcome {
  std::optional<RetryClass> error = {};      // nothing: it succeeded
  std::optional<Duration> latency = {};      // nothing: unknown
  std::optional<Duration> retry_after = {};  // of a rate_limited error: the agent gets nothing for so long
};

// An agent as shown to people.
struct AgentView {
  std::string name;
  Pid pid;
  std::uint32_t load = 0;
  std::uint32_t capacity = 0;
  bool paused = false;
  Readiness readiness = Readiness::not_now;
  BreakerState breaker = BreakerState::closed;
  Instant broken_until = Instant::min();  // of an open breaker
  bool is_suspected = false;              // its breaker opened over permanent errors that are its alone
  Instant poorly_until = Instant::min();  // of one whose health is poor
  Instant held_until = Instant::min();    // after a rate limit; the past: it is not held back
  bool has_executor_room = true;          // in the bulkhead of its executor
  double score = 0;
  double success = 0;
  double slowness_ms = 0;  // the median of its recent runs, scaled by their types' medians
  double per_second = 0;
  QState state = 0;
};

// The router goes around an agent from now on, or no longer does.
struct AgentChange {
  enum class Kind : std::uint8_t {
    breaker_opened,     // too many failures in a row
    suspected,          // permanent errors that are its alone; its breaker is open
    breaker_half_open,  // it is tried again
    breaker_closed,
    poorly,  // its health is poor: the others come first
    recovered,
  };
  AgentHandle agent;
  Kind kind = Kind::breaker_opened;
};

// A task given to an agent; handed back with its outcome. While it exists it holds the place in the executor's
// bulkhead.
struct Assignment {
  AgentHandle agent;
  QState state = 0;  // the agent's when the task was given
  TypeRef type;      // nobody's: judged by the clock alone
  std::uint32_t breaker_epoch = 0;
  std::optional<CircuitBreaker::Permit> probe;  // if it was given through a half-open breaker
  Bulkhead::Ticket place;
};

// The router's own record.
struct alignas(64) RoutedAgent {
  struct Membership {
    std::uint32_t pool = UINT32_MAX;  // that: none
    std::uint32_t slot = 0;
  };

  template <class Visit>
  void for_each_membership(Visit&& visit) const {
    if (first_pool.pool != UINT32_MAX) visit(first_pool);
    if (!in_more_pools) return;
    for (const Membership& each : more_pools) visit(each);
  }
  void add_membership(Membership membership) {
    if (first_pool.pool == UINT32_MAX) {
      first_pool = membership;
    } else {
      more_pools.push_back(membership);
      in_more_pools = true;
    }
  }
  void remove_membership(std::uint32_t pool) {
    std::erase_if(more_pools, [&](const Membership& each) { return each.pool == pool; });
    if (first_pool.pool == pool) {
      first_pool = more_pools.empty() ? Membership{} : more_pools.back();
      if (!more_pools.empty()) more_pools.pop_back();
    }
    in_more_pools = !more_pools.empty();
  }

  // The fields that every decision reads come first, to lie together.
  bool there = false;
  bool paused = false;
  bool in_more_pools = false;
  bool is_poorly = false;
  bool is_suspected = false;
  std::uint8_t suspicions = 0;  // openings of its breaker in a row over permanent errors
  std::uint32_t generation = 0;
  std::uint32_t load = 0;
  std::uint32_t capacity = 1;
  QState quality = 0;  // its state without its load, kept here so that a decision need not look at its health
  BreakerState breaker_state = BreakerState::closed;
  Pool::Standing told;  // what the pools know
  std::uint32_t executor = 0;
  std::uint32_t breaker_epoch = 0;  // counts changes of breaker_state
  Pid pid;
  Instant held_until = Instant::min();
  Membership first_pool;  // most agents are in one
  std::vector<Membership> more_pools;
  std::unique_ptr<CircuitBreaker> breaker;  // made at the first failure: most agents never need one
  Instant broken_until = Instant::min();
  Instant poorly_until = Instant::min();  // meaningful while its health is poor
  Instant wake_at = Instant::max();
  std::unique_ptr<AgentHealth> health;  // made at the first outcome
  std::uint64_t identity = 0;
  std::string name;
  std::shared_ptr<const std::vector<std::uint32_t>> capabilities;  // sorted; shared by those who have the same

  // As it was told, or of one that nothing is known of.
  [[nodiscard]] const AgentHealth& its_health() const {
    static const AgentHealth k_unknown;
    return health ? *health : k_unknown;
  }
};

}  // namespace skein::inline v0
