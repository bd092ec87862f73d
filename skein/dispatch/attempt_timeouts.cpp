#include "skein/dispatch/attempt_timeouts.hpp"

#include <algorithm>
#include <chrono>

#include "skein/dispatch/moment.hpp"

namespace skein::inline v0::dispatch {

AttemptTimeouts::AttemptTimeouts(const DispatcherOptions& options) : options_(options) {
  for (const auto& [type, each] : options_.types) {
    if (each.adaptive_timeout) learned_.emplace(type, AdaptiveTimeout(*each.adaptive_timeout));
  }
}

Duration AttemptTimeouts::of(const TaskRecord& task, const AgentRecord& agent) {
  Duration timeout = agent.is_function ? options_.function_timeout : options_.executor_timeout;
  if (agent.attempt_timeout > Duration::zero()) timeout = agent.attempt_timeout;
  if (task.timeout_ms != 0) {
    timeout = std::chrono::milliseconds(std::min<std::uint64_t>(task.timeout_ms, k_wall_ms_max));
  } else if (const auto learned = learned_.find(task.shape().type); learned != learned_.end()) {
    timeout = learned->second.timeout();
  } else if (const auto type = options_.types.find(task.shape().type); type != options_.types.end()) {
    timeout = type->second.timeout.value_or(timeout);
  }
  return std::max(timeout, options_.timeout_minimum);
}

void AttemptTimeouts::set(Run& run, const TaskRecord& task, const AgentRecord& agent) {
  // Of one that has not announced itself nothing is known.
  const bool is_timed = run.is_started() || (agent.pid && !agent.reports_starts);
  if (is_timed) run.timeout_at = later(run.since, of(task, agent));
}

void AttemptTimeouts::learn(const TaskRecord& task, Duration took) {
  if (learned_.empty()) return;
  const auto type = learned_.find(task.shape().type);
  if (type != learned_.end()) type->second.observe(took);
}

}  // namespace skein::inline v0::dispatch
