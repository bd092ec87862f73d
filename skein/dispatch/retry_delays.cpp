#include "skein/dispatch/retry_delays.hpp"

#include <algorithm>
#include <utility>

namespace skein::inline v0::dispatch {
namespace {

constexpr std::uint32_t k_attempt_max = 64;  // beyond it the delay is the longest anyway

// A task's own number of attempts is the ledger's business: the policy only says how long to wait.
RetryOptions without_end(RetryOptions options) {
  options.attempts = UINT32_MAX;
  return options;
}

}  // namespace

RetryClass class_of(ledger::ErrorClass error) {
  switch (error) {
    case ledger::ErrorClass::permanent:
      return RetryClass::permanent;
    case ledger::ErrorClass::rate_limited:
      return RetryClass::rate_limited;
    case ledger::ErrorClass::resource:
      return RetryClass::resource;
    case ledger::ErrorClass::transient:
    case ledger::ErrorClass::timeout:
    case ledger::ErrorClass::crash:
      break;
  }
  return RetryClass::transient;
}

RetryDelays::RetryDelays(const DispatcherOptions& options, const AgentChoice& choice, Router& router, Random& random)
    : options_(options), choice_(choice), router_(router), random_(random), usual_(without_end(options.retry)) {
  for (const auto& [type, each] : options_.types) {
    if (each.retry) by_type_.emplace(type, RetryPolicy(without_end(*each.retry)));
  }
}

Duration RetryDelays::next(TaskRecord& task, const AgentRecord& failed, ledger::ErrorClass error,
                           std::optional<Duration> retry_after, Instant now) {
  const RetryClass kind = class_of(error);
  if (task.past && task.past->retry) router_.retried(*std::exchange(task.past->retry, std::nullopt), false);
  if (kind == RetryClass::permanent) return Duration::zero();
  const auto type = by_type_.find(task.shape().type);
  const RetryPolicy& policy = type == by_type_.end() ? usual_ : type->second;
  const std::uint32_t attempt = std::min(task.attempts + 1, k_attempt_max);
  const Duration usual = policy.next(attempt, kind, random_, retry_after).value_or(Duration::zero());
  if (!options_.adaptive_retry) return usual;
  // One that is gone has no handle, and nothing is to be expected of it.
  const AgentHandle handle = failed.handle.value_or(AgentHandle{});
  const auto chosen = router_.choose_retry(choice_.request_for(task), handle, kind, usual, retry_after, random_, now);
  task.its_past().retry = chosen;
  return chosen.delay;
}

}  // namespace skein::inline v0::dispatch
