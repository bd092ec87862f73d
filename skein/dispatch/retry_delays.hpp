// How long a task waits for its next attempt: by the policy of its type, or by what was learned of retries where
// adaptive_retry is set. Reads the core's tables, which outlive it. One thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "skein/dispatch/agent_choice.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"
#include "skein/resilience/retry_policy.hpp"

namespace skein::inline v0::dispatch {

// As the policies and the router see it.
[[nodiscard]] RetryClass class_of(ledger::ErrorClass error);

class RetryDelays {
 public:
  RetryDelays(const DispatcherOptions& options, const AgentChoice& choice, Router& router, Random& random);

  // After an attempt at the agent, which may be gone. The task's record remembers what was chosen.
  [[nodiscard]] Duration next(TaskRecord& task, const AgentRecord& failed, ledger::ErrorClass error,
                              std::optional<Duration> retry_after, Instant now);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  const DispatcherOptions& options_;
  const AgentChoice& choice_;
  Router& router_;
  Random& random_;
  RetryPolicy usual_;
  std::unordered_map<std::string, RetryPolicy, TextHash, std::equal_to<>> by_type_;
};

}  // namespace skein::inline v0::dispatch
