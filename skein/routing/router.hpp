// Chooses the agent for a task: agents by capability, health, breaker and bulkhead, then balanced by a strategy.
//
//   const auto choice = router.decide({.capabilities = needed}, random, now);
//   auto assignment = router.assigned(choice->agent, now);
//   ... the agent works ...
//   router.finished(std::move(*assignment), {.latency = took}, now);
//
// A value: a decision is a function call that asks no clock and no other process. It costs the number of distinct
// executors, not of agents, except the first for a set of capabilities, which arranges its pool, and the first by
// consistent_hash, which builds the ring (prepare() does both ahead). One thread at a time. What holds:
// 1. An agent is chosen only if it has the capabilities, is not paused, is below its capacity, is not held back after a
//    rate limit, its breaker lets a call through and its executor's bulkhead has room.
// 2. Nobody at work is chosen while somebody idle may be, except for the key of a consistent_hash. Among the idle, and
//    then among those at work, one whose health score is below health_floor is chosen only when no healthy one can be;
//    after health_reset its statistics are forgotten. Nobody is judged on fewer than health_minimum outcomes.
// 3. A run's time is judged by what is usual for its type (type_figures.hpp); by the clock alone only where no type is
//    given. A breaker counts outcomes; how long a task takes is no failure, however long a probe lasts.
// 4. A permanent error is the task's fault. From permanent_failures in a row on, it is the agent's if others complete
//    the same type: its breaker opens for reset_timeout, one probe at a time follows, and the first such error of a
//    probe opens it again for four times as long, k_suspicions_max times.
// 5. Time never goes back: an earlier `now` counts as the latest one seen.
// 6. Handles of agents that left are refused or ignored, never taken for another's.
// An Assignment must be ended in every case (finished or returned), or the agent must leave: a probe that is
// never told of would be waited for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skein/base/interner.hpp"
#include "skein/base/random.hpp"
#include "skein/base/time.hpp"
#include "skein/routing/balance.hpp"
#include "skein/routing/id_index.hpp"
#include "skein/routing/pool.hpp"
#include "skein/routing/q_learning.hpp"
#include "skein/routing/routed_agent.hpp"

namespace skein::inline v0 {

enum class RouteError : std::uint8_t {
  bad_agent_name,
  agent_exists,
  too_many_agents,
  bad_capability,
  too_many_capabilities,
  bad_capacity,
  bad_load,
  unknown_executor,
  too_many_executors,
  executor_exists,
  unknown_agent,
  agent_paused,
  agent_full,
  agent_held,
  breaker_open,
  bulkhead_full,
  unknown_capability,
  nobody_has_them,
  nobody_ready,
  only_avoided,
  timed_out,
};
// What happened and what to do about it.
[[nodiscard]] std::string_view route_error_text(RouteError error);

struct RouterOptions {
  std::size_t agents_max = 1'000'000;
  std::size_t capabilities_max = 65'536;  // distinct ones of agents and pools; those of nobody make room
  std::size_t pools_max = 1'024;          // sets of capabilities; the one not asked for longest makes room
  std::size_t executors_max = 256;
  std::size_t types_max = 4'096;  // whose figures are kept; the one not asked for longest makes room
  double health_floor = 0.5;
  std::size_t health_minimum = 10;
  Duration health_reset = std::chrono::seconds(30);
  Duration routing_timeout = std::chrono::seconds(5);  // how long a request with `since` may wait for an agent
  std::uint32_t permanent_failures = 3;                // in a row, of one type; see invariant 4
  BreakerOptions breaker;                              // of each agent; its operation_timeout does not count
  QOptions learning;

  [[nodiscard]] std::optional<std::string> problem() const;

  friend bool operator==(const RouterOptions&, const RouterOptions&) = default;
};

class Router {
 public:
  static constexpr std::size_t k_name_bytes_max = 256;
  static constexpr std::size_t k_capability_bytes_max = 256;
  static constexpr std::size_t k_agent_capabilities_max = 256;
  static constexpr std::size_t k_required_max = 33;  // of a task, and the one that says whose agents
  static constexpr std::size_t k_avoid_max = 16;
  static constexpr std::uint32_t k_capacity_max = Tier::k_loads - 1;
  static constexpr std::size_t k_changes_kept = 1'024;
  static constexpr double k_rare_failures = 0.34;      // of others; below it a failed try says much
  static constexpr std::uint8_t k_suspicions_max = 3;  // 64 times 30 s: half an hour

  struct Request {
    std::span<const std::string_view> capabilities = {};  // all are required; none: everybody will do
    Balance strategy = Balance::round_robin;
    std::string_view key = {};                // of consistent_hash
    std::span<const AgentHandle> avoid = {};  // those who failed it; the last k_avoid_max are heeded
    std::optional<Instant> since = {};  // when it was asked first; timed_out if nobody is found in routing_timeout
  };
  struct Choice {
    AgentHandle agent;
    Pid pid;
  };
  template <class T>
  using Result = std::expected<T, RouteError>;

  // Throws std::invalid_argument with what problem() says.
  explicit Router(RouterOptions options = {});

  // An executor that agents share, with room for `limit` calls at once. Before the agents that name it.
  Result<void> add_executor(std::string name, std::uint32_t limit = Bulkhead::k_limit);

  Result<AgentHandle> join(AgentSpec spec, Instant now);
  // False: it was not there.
  bool leave(AgentHandle agent);
  Result<void> set_capabilities(AgentHandle agent, const std::vector<std::string>& capabilities, Instant now);
  Result<void> set_capacity(AgentHandle agent, std::uint32_t capacity, Instant now);
  Result<void> set_paused(AgentHandle agent, bool paused, Instant now);
  Result<void> set_pid(AgentHandle agent, Pid pid);
  // What the agent itself says it holds; the router's own count was wrong or is not known yet.
  Result<void> set_load(AgentHandle agent, std::int64_t load, Instant now);

  [[nodiscard]] std::optional<AgentHandle> find(std::string_view name) const;
  [[nodiscard]] std::optional<AgentView> view(AgentHandle agent, Instant now);
  [[nodiscard]] std::size_t agents() const { return names_.size(); }
  [[nodiscard]] std::size_t pools() const { return pool_numbers_.size(); }

  // A type of tasks, by name. Ask again for one that knows() does not know.
  [[nodiscard]] TypeRef type(std::string_view name) { return types_.find_or_add(name); }
  [[nodiscard]] bool knows(TypeRef type) const { return types_.at(type) != nullptr; }
  // The median of its runs; nothing while too few have ended.
  [[nodiscard]] std::optional<Duration> usual_run(TypeRef type) const {
    const TypeFigures* figures = types_.at(type);
    return figures == nullptr ? std::nullopt : figures->median();
  }
  // Whom the router goes around, or no longer does, since this was last asked; the last k_changes_kept of them.
  [[nodiscard]] std::vector<AgentChange> take_changes() { return std::exchange(changes_, {}); }

  [[nodiscard]] Result<Choice> decide(const Request& request, Random& random, Instant now);
  // How many agents hold nothing and could take the task if `holder` gave it back; the poorly too.
  [[nodiscard]] std::size_t idle_beside(AgentHandle holder, const Request& request, Instant now);
  // Arranges ahead what a decision like this will need.
  Result<void> prepare(const Request& request, Instant now);

  // The task is given to the agent. Refused: it left, was paused, is at its capacity or held back, its breaker or its
  // executor's bulkhead has closed.
  [[nodiscard]] Result<Assignment> assigned(AgentHandle agent, Instant now, TypeRef type = {});
  // The agent runs this task already (the dispatcher is new): counted, with no question asked.
  [[nodiscard]] Result<Assignment> adopted(AgentHandle agent, Instant now, TypeRef type = {});
  // False: the agent left meanwhile; nothing is learned.
  bool finished(Assignment assignment, const AttemptOutcome& outcome, Instant now);
  // It was not done after all, or its outcome says nothing: only the load changes.
  bool returned(Assignment assignment, Instant now);

  // How to go on after `failed` could not do it: what was learned of retries, and of the states that agent and the best
  // of the others are in. `usual` is the retry policy's delay.
  [[nodiscard]] AdaptiveRetry::Chosen choose_retry(const Request& request, AgentHandle failed, RetryClass error,
                                                   Duration usual, std::optional<Duration> retry_after, Random& random,
                                                   Instant now);
  // How the attempt that followed went.
  void retried(const AdaptiveRetry::Chosen& chosen, bool ok) { learned_.retry().learn(chosen, ok); }

  [[nodiscard]] QLearning& learned() { return learned_; }
  [[nodiscard]] const QLearning& learned() const { return learned_; }
  [[nodiscard]] const RouterOptions& options() const { return options_; }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct NumbersHash {
    using is_transparent = void;
    std::size_t operator()(std::span<const std::uint32_t> numbers) const;
  };
  struct NumbersEqual {
    using is_transparent = void;
    bool operator()(std::span<const std::uint32_t> one, std::span<const std::uint32_t> other) const;
  };
  using Numbers = std::vector<std::uint32_t>;
  template <class T>
  using Named = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  struct PoolRecord {
    std::unique_ptr<Pool> pool;  // nullptr: a free place
    std::uint64_t used = 0;
  };
  struct Wake {
    Instant at;
    std::uint32_t agent = 0;
    friend constexpr bool operator>(const Wake& one, const Wake& other) { return one.at > other.at; }
  };

  // Slots of a pool that are not to be chosen.
  struct Avoided {
    std::array<std::uint32_t, k_avoid_max> slots{};
    std::size_t count = 0;
    [[nodiscard]] std::span<const std::uint32_t> span() const { return std::span(slots).first(count); }
  };

  RoutedAgent* at(AgentHandle agent);
  [[nodiscard]] Avoided avoided(std::span<const AgentHandle> agents, std::uint32_t pool);
  [[nodiscard]] Result<Choice> decide_now(const Request& request, Random& random, Instant now);
  Instant advance(Instant now);
  void wake(Instant now);
  void wake_later(std::uint32_t index, Instant at);
  void refresh(std::uint32_t index, Instant now);
  [[nodiscard]] Readiness readiness(std::uint32_t index, Instant now);
  void look_at_breaker(std::uint32_t index, Instant now);
  void tell_breaker(const Assignment& assignment, const AttemptOutcome& outcome, Instant now);
  void judge_permanent(const Assignment& assignment, Instant now);
  void judge_health(const Assignment& assignment, const AttemptOutcome& outcome, Instant now);
  void tell(std::uint32_t index, AgentChange::Kind kind);
  [[nodiscard]] std::size_t probes_of(const RoutedAgent& agent) const;
  [[nodiscard]] QState state_of(const RoutedAgent& agent) const;
  void take(std::uint32_t index, Assignment& assignment, Instant now);

  Result<Numbers> intern(const std::vector<std::string>& capabilities);
  void forget_unused_capabilities();
  Result<std::uint32_t> pool_for(const Request& request);
  std::uint32_t make_pool(Numbers capabilities);
  void drop_pool(std::uint32_t number);
  void enter_pools(std::uint32_t index);
  void leave_pools(std::uint32_t index);
  void enter(std::uint32_t index, std::uint32_t pool);

  RouterOptions options_;
  Instant latest_ = Instant::min();
  std::vector<RoutedAgent> agents_;
  std::vector<std::uint32_t> free_;
  IdIndex names_;
  Interner<Numbers> capability_sets_;  // of agents
  Named<std::uint32_t> capability_numbers_;
  Numbers free_capabilities_;                         // numbers to be used again
  Named<std::uint32_t> executor_numbers_;             // from 1; 0 is none
  std::vector<std::unique_ptr<Bulkhead>> bulkheads_;  // by executor number
  std::vector<PoolRecord> pools_;
  std::unordered_map<Numbers, std::uint32_t, NumbersHash, NumbersEqual> pool_numbers_;
  std::uint64_t uses_ = 0;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  QLearning learned_;
  TypeTable types_;
  std::vector<AgentChange> changes_;
};

}  // namespace skein::inline v0
