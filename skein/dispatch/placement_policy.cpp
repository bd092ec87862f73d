#include "skein/dispatch/placement_policy.hpp"

#include <algorithm>

namespace skein::inline v0::dispatch {
namespace {

constexpr std::uint64_t k_for_ever_ms = 1'000'000'000'000;  // about 31 years: as good as for ever

}  // namespace

PlacementPolicy policy_for(const ledger::Placement& where, std::string_view type, const DispatcherOptions& options) {
  auto fallback = where.fallback;
  PlacementPolicy policy;
  policy.wait = std::chrono::milliseconds(std::min(where.wait_ms, k_for_ever_ms));
  const bool has_wait = where.wait_ms != 0;
  const auto its_type = options.types.find(type);
  if (its_type != options.types.end()) {
    if (fallback == ledger::AgentFallback::by_config) fallback = its_type->second.agent_fallback.value_or(fallback);
    if (!has_wait) policy.wait = its_type->second.agent_wait.value_or(options.agent_wait);
  } else if (!has_wait) {
    policy.wait = options.agent_wait;
  }
  if (fallback == ledger::AgentFallback::by_config) {
    fallback = ledger::agent_fallback_named(options.agent_fallback).value_or(ledger::AgentFallback::none);
  }
  policy.may_unpin = fallback == ledger::AgentFallback::any;
  return policy;
}

void wait_for_agent(TaskRecord& task, const DispatcherOptions& options, Instant now) {
  if (task.past && task.past->unpin_at != Instant::max()) return;
  const PlacementPolicy policy = policy_of(task, options);
  if (!policy.may_unpin) return;
  task.its_past().unpin_at = later(now, policy.wait);
}

}  // namespace skein::inline v0::dispatch
