// The half of Router that knows what is there: agents, executors, capabilities and the pools made of them.
#include <algorithm>
#include <array>

#include "skein/routing/router.hpp"

namespace skein::inline v0 {

// There may be a million of them.
static_assert(sizeof(RoutedAgent) <= 192);

std::string_view route_error_text(RouteError error) {
  switch (error) {
    case RouteError::bad_agent_name:
      return "an agent's name must have 1 to 256 bytes";
    case RouteError::agent_exists:
      return "an agent of this name is there already; let it leave first, or choose another name";
    case RouteError::too_many_agents:
      return "no room for another agent; raise agents_max";
    case RouteError::bad_capability:
      return "a capability's name must have 1 to 256 bytes";
    case RouteError::too_many_capabilities:
      return "too many capabilities: an agent may have 256, a task may require 32, all agents together "
             "capabilities_max";
    case RouteError::bad_capacity:
      return "an agent's capacity must be from 1 to 1023";
    case RouteError::bad_load:
      return "an agent's load must be from 0 to 1000000";
    case RouteError::unknown_executor:
      return "no executor of this name; add it before the agents that use it";
    case RouteError::too_many_executors:
      return "no room for another executor; raise executors_max";
    case RouteError::executor_exists:
      return "an executor of this name is there already";
    case RouteError::unknown_agent:
      return "this agent is not here, or no longer; decide again";
    case RouteError::agent_paused:
      return "this agent is paused; resume it or decide again";
    case RouteError::agent_full:
      return "this agent has as many tasks as it may; decide again, or raise its capacity";
    case RouteError::agent_held:
      return "this agent was rate limited and is held back; decide again";
    case RouteError::breaker_open:
      return "this agent keeps failing and its circuit breaker lets no call through; decide again";
    case RouteError::bulkhead_full:
      return "the executor has as many calls under way as it may; try again when one has ended";
    case RouteError::unknown_capability:
      return "no agent ever had one of the required capabilities; start one that has it";
    case RouteError::nobody_has_them:
      return "no agent has all the required capabilities; start one that has";
    case RouteError::nobody_ready:
      return "all agents with the required capabilities are busy, paused or failing; try again later";
    case RouteError::only_avoided:
      return "only agents that were to be avoided, or whose executor is full, are left";
    case RouteError::timed_out:
      return "no agent could take it within routing_timeout; use the fallback swarm, or start more agents";
  }
  return "unknown routing error";
}

std::optional<std::string> RouterOptions::problem() const {
  if (agents_max == 0 || agents_max > 10'000'000) return "agents_max must be from 1 to 10000000";
  if (pools_max == 0 || pools_max > 100'000) return "pools_max must be from 1 to 100000";
  if (executors_max == 0 || executors_max > 10'000) return "executors_max must be from 1 to 10000";
  if (capabilities_max == 0 || capabilities_max > 10'000'000) return "capabilities_max must be from 1 to 10000000";
  if (types_max == 0 || types_max > 1'000'000) return "types_max must be from 1 to 1000000";
  if (permanent_failures == 0) return "permanent_failures must be at least 1";
  if (!(health_floor >= 0 && health_floor <= 1)) return "health_floor must be from 0 to 1";
  if (health_minimum == 0 || health_minimum > AgentHealth::k_window) return "health_minimum must be from 1 to 100";
  if (health_reset <= Duration::zero()) return "health_reset must be above 0";
  if (routing_timeout <= Duration::zero()) return "routing_timeout must be above 0";
  if (auto problem = breaker.problem()) return "breaker: " + *problem;
  if (auto problem = learning.problem()) return "learning: " + *problem;
  return std::nullopt;
}

std::size_t Router::NumbersHash::operator()(std::span<const std::uint32_t> numbers) const {
  std::uint64_t hash = numbers.size();
  for (const std::uint32_t each : numbers) hash = (hash ^ each) * 0x9e3779b97f4a7c15ULL + (hash >> 29U);
  return static_cast<std::size_t>(hash);
}

bool Router::NumbersEqual::operator()(std::span<const std::uint32_t> one, std::span<const std::uint32_t> other) const {
  return std::ranges::equal(one, other);
}

Router::Result<void> Router::add_executor(std::string name, std::uint32_t limit) {
  if (name.empty() || name.size() > k_name_bytes_max) return std::unexpected(RouteError::unknown_executor);
  if (executor_numbers_.contains(name)) return std::unexpected(RouteError::executor_exists);
  if (executor_numbers_.size() >= options_.executors_max) return std::unexpected(RouteError::too_many_executors);
  executor_numbers_.emplace(std::move(name), static_cast<std::uint32_t>(bulkheads_.size()));
  bulkheads_.push_back(std::make_unique<Bulkhead>(limit));
  return {};
}

Router::Result<Router::Numbers> Router::intern(const std::vector<std::string>& capabilities) {
  if (capabilities.size() > k_agent_capabilities_max) return std::unexpected(RouteError::too_many_capabilities);
  std::size_t unknown = 0;
  for (const std::string& each : capabilities) {
    if (each.empty() || each.size() > k_capability_bytes_max) return std::unexpected(RouteError::bad_capability);
    unknown += capability_numbers_.contains(each) ? 0 : 1;
  }
  if (capability_numbers_.size() + unknown > options_.capabilities_max) {
    forget_unused_capabilities();
    unknown = static_cast<std::size_t>(
        std::ranges::count_if(capabilities, [&](const auto& each) { return !capability_numbers_.contains(each); }));
    if (capability_numbers_.size() + unknown > options_.capabilities_max) {
      return std::unexpected(RouteError::too_many_capabilities);
    }
  }
  Numbers numbers;
  numbers.reserve(capabilities.size());
  for (const std::string& each : capabilities) {
    const bool is_reused = !free_capabilities_.empty();
    const auto next = is_reused ? free_capabilities_.back() : static_cast<std::uint32_t>(capability_numbers_.size());
    const auto [at, is_new] = capability_numbers_.try_emplace(each, next);
    if (is_new && is_reused) free_capabilities_.pop_back();
    numbers.push_back(at->second);
  }
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
  return numbers;
}

// Agents come and go with capabilities of their own; only those are kept that somebody has, or a pool with members.
void Router::forget_unused_capabilities() {
  for (std::uint32_t number = 0; number < pools_.size(); ++number) {
    if (pools_[number].pool && pools_[number].pool->members() == 0) drop_pool(number);
  }
  std::vector<bool> is_used(capability_numbers_.size() + free_capabilities_.size());
  const auto use = [&](const Numbers& numbers) {
    for (const std::uint32_t each : numbers) is_used[each] = true;
  };
  for (const RoutedAgent& agent : agents_) {
    if (agent.there && agent.capabilities) use(*agent.capabilities);
  }
  for (const PoolRecord& each : pools_) {
    if (each.pool) use(each.pool->capabilities());
  }
  std::erase_if(capability_numbers_, [&](const auto& each) {
    if (is_used[each.second]) return false;
    free_capabilities_.push_back(each.second);
    return true;
  });
}

Router::Result<AgentHandle> Router::join(AgentSpec spec, Instant now) {
  now = advance(now);
  if (spec.name.empty() || spec.name.size() > k_name_bytes_max) return std::unexpected(RouteError::bad_agent_name);
  if (find(spec.name)) return std::unexpected(RouteError::agent_exists);
  if (names_.size() >= options_.agents_max) return std::unexpected(RouteError::too_many_agents);
  if (spec.capacity == 0 || spec.capacity > k_capacity_max) return std::unexpected(RouteError::bad_capacity);
  std::uint32_t executor = 0;
  if (!spec.executor.empty()) {
    const auto found = executor_numbers_.find(spec.executor);
    if (found == executor_numbers_.end()) return std::unexpected(RouteError::unknown_executor);
    executor = found->second;
  }
  auto capabilities = intern(spec.capabilities);
  if (!capabilities) return std::unexpected(capabilities.error());

  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(agents_.size());
    agents_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  RoutedAgent& agent = agents_[index];
  agent.there = true;
  agent.quality = q_state(0, agent.its_health().success(), agent.its_health().typical_ms());
  agent.pid = spec.pid;
  agent.capacity = spec.capacity;
  agent.executor = executor;
  agent.identity = stable_hash(spec.name);
  agent.capabilities = capability_sets_.keep(std::move(*capabilities));
  agent.name = std::move(spec.name);
  names_.add(agent.name, index);
  enter_pools(index);
  refresh(index, now);
  return AgentHandle{index, agent.generation};
}

bool Router::leave(AgentHandle handle) {
  const RoutedAgent* agent = at(handle);
  if (agent == nullptr) return false;
  leave_pools(handle.index);
  names_.remove(agent->name, handle.index);
  agents_[handle.index] = RoutedAgent{};
  agents_[handle.index].generation = handle.generation + 1;
  free_.push_back(handle.index);
  return true;
}

Router::Result<void> Router::set_capabilities(AgentHandle handle, const std::vector<std::string>& capabilities,
                                              Instant now) {
  now = advance(now);
  RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::unexpected(RouteError::unknown_agent);
  auto numbers = intern(capabilities);
  if (!numbers) return std::unexpected(numbers.error());
  leave_pools(handle.index);
  agent->capabilities = capability_sets_.keep(std::move(*numbers));
  enter_pools(handle.index);
  refresh(handle.index, now);
  return {};
}

Router::Result<void> Router::set_capacity(AgentHandle handle, std::uint32_t capacity, Instant now) {
  now = advance(now);
  RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::unexpected(RouteError::unknown_agent);
  if (capacity == 0 || capacity > k_capacity_max) return std::unexpected(RouteError::bad_capacity);
  agent->capacity = capacity;
  refresh(handle.index, now);
  return {};
}

Router::Result<void> Router::set_paused(AgentHandle handle, bool paused, Instant now) {
  now = advance(now);
  RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::unexpected(RouteError::unknown_agent);
  agent->paused = paused;
  refresh(handle.index, now);
  return {};
}

Router::Result<void> Router::set_pid(AgentHandle handle, Pid pid) {
  RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::unexpected(RouteError::unknown_agent);
  agent->pid = pid;
  return {};
}

Router::Result<void> Router::set_load(AgentHandle handle, std::int64_t load, Instant now) {
  constexpr std::int64_t k_load_max = 1'000'000;
  now = advance(now);
  RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::unexpected(RouteError::unknown_agent);
  if (load < 0 || load > k_load_max) return std::unexpected(RouteError::bad_load);
  agent->load = static_cast<std::uint32_t>(load);
  refresh(handle.index, now);
  return {};
}

std::optional<AgentHandle> Router::find(std::string_view name) const {
  const auto found =
      names_.find(name, [this](std::uint32_t index) -> const std::string& { return agents_[index].name; });
  if (!found) return std::nullopt;
  return AgentHandle{*found, agents_[*found].generation};
}

std::optional<AgentView> Router::view(AgentHandle handle, Instant now) {
  now = advance(now);
  const RoutedAgent* agent = at(handle);
  if (agent == nullptr) return std::nullopt;
  if (agent->breaker_state != BreakerState::closed) refresh(handle.index, now);
  const Bulkhead* bulkhead = bulkheads_[agent->executor].get();
  return AgentView{.name = agent->name,
                   .pid = agent->pid,
                   .load = agent->load,
                   .capacity = agent->capacity,
                   .paused = agent->paused,
                   .readiness = agent->told.readiness,
                   .breaker = agent->breaker_state,
                   .broken_until = agent->broken_until,
                   .is_suspected = agent->is_suspected,
                   .poorly_until = agent->is_poorly ? agent->poorly_until : Instant::min(),
                   .held_until = agent->held_until,
                   .has_executor_room = bulkhead == nullptr || bulkhead->has_room(),
                   .score = agent->its_health().score(),
                   .success = agent->its_health().success(),
                   .slowness_ms = agent->its_health().slowness_ms(),
                   .per_second = agent->its_health().per_second(now),
                   .state = state_of(*agent)};
}

Router::Result<std::uint32_t> Router::pool_for(const Request& request) {
  if (request.capabilities.size() > k_required_max) return std::unexpected(RouteError::too_many_capabilities);
  std::array<std::uint32_t, k_required_max> numbers{};
  std::size_t count = 0;
  for (const std::string_view each : request.capabilities) {
    const auto found = capability_numbers_.find(each);
    if (found == capability_numbers_.end()) return std::unexpected(RouteError::unknown_capability);
    numbers[count++] = found->second;
  }
  if (count > 1) {
    std::sort(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
    count = static_cast<std::size_t>(
        std::unique(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count)) - numbers.begin());
  }
  const std::span<const std::uint32_t> wanted = std::span(numbers).first(count);
  const auto found = pool_numbers_.find(wanted);
  const std::uint32_t number =
      found != pool_numbers_.end() ? found->second : make_pool(Numbers(wanted.begin(), wanted.end()));
  pools_[number].used = ++uses_;
  return number;
}

std::uint32_t Router::make_pool(Numbers capabilities) {
  if (pool_numbers_.size() >= options_.pools_max) {
    std::uint32_t oldest = 0;
    for (std::uint32_t i = 1; i < pools_.size(); ++i) {
      if (pools_[i].used < pools_[oldest].used) oldest = i;
    }
    drop_pool(oldest);
  }
  std::uint32_t number = 0;
  while (number < pools_.size() && pools_[number].pool) ++number;
  if (number == pools_.size()) pools_.emplace_back();
  pool_numbers_.emplace(capabilities, number);
  pools_[number].pool = std::make_unique<Pool>(std::move(capabilities));
  for (std::uint32_t index = 0; index < agents_.size(); ++index) {
    if (agents_[index].there) enter(index, number);
  }
  return number;
}

void Router::drop_pool(std::uint32_t number) {
  Pool& pool = *pools_[number].pool;
  pool.for_each_agent([&](std::uint32_t index) { agents_[index].remove_membership(number); });
  pool_numbers_.erase(pool.capabilities());
  pools_[number] = PoolRecord{};
}

void Router::enter(std::uint32_t index, std::uint32_t pool) {
  RoutedAgent& agent = agents_[index];
  Pool& entered = *pools_[pool].pool;
  if (!std::ranges::includes(*agent.capabilities, entered.capabilities())) return;
  const Bulkhead* bulkhead = bulkheads_[agent.executor].get();
  const std::uint32_t slot = entered.add({index, agent.identity}, agent.executor, bulkhead);
  agent.add_membership({pool, slot});
  entered.update(slot, agent.told);
}

void Router::enter_pools(std::uint32_t index) {
  for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
    if (pools_[pool].pool) enter(index, pool);
  }
}

void Router::leave_pools(std::uint32_t index) {
  RoutedAgent& agent = agents_[index];
  agent.for_each_membership([&](RoutedAgent::Membership its) { pools_[its.pool].pool->remove(its.slot); });
  agent.first_pool = {};
  agent.more_pools.clear();
  agent.in_more_pools = false;
}

}  // namespace skein::inline v0
