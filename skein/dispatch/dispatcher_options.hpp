// What the dispatcher may be told: limits, times and policies, with their defaults. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/ledger/command.hpp"
#include "skein/ledger/task.hpp"
#include "skein/resilience/adaptive_timeout.hpp"
#include "skein/resilience/retry_policy.hpp"
#include "skein/routing/balance.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0::dispatch {

// What is said of all tasks of one type.
struct TypeOptions {
  std::optional<Duration> timeout;  // per attempt
  // Instead of `timeout`: one that follows what attempts of this type take.
  std::optional<AdaptiveTimeoutOptions> adaptive_timeout;
  std::optional<RetryOptions> retry;
  std::optional<ledger::AgentFallback> agent_fallback;  // of tasks that are for one agent; see placement_policy.hpp
  std::optional<Duration> agent_wait;

  friend bool operator==(const TypeOptions&, const TypeOptions&) = default;
};

struct DispatcherOptions {
  std::string node = "node";
  // What all members of the cluster understand; the ledger is raised to it when the dispatch is taken.
  std::uint64_t ledger_version = ledger::k_ledger_version;
  Duration lease = std::chrono::seconds(30);
  // Assignments up to this fence were made by a program that has ended, and its agents with it: they have no lease.
  ledger::Fence dead_fence = 0;
  // A step that comes so much later than it was asked for (or a quarter of the lease, if that is less) gives every run
  // a full lease: what agents said meanwhile has yet to be read.
  Duration late_after = std::chrono::seconds(3);
  Duration routing_timeout = std::chrono::seconds(5);  // without a free agent for this long, one event tells it
  // An agent that beats once a second is given up about so long after its last word and gets nothing new; one that is
  // irregular is given more time.
  Duration silent_after = std::chrono::seconds(5);
  Duration heartbeat_every = k_heartbeat_every;  // what agents are told
  double phi_threshold = 8;                      // how surprising its silence must be; see phi_detector.hpp

  // Per attempt: the task's own, else its type's (the adaptive one first), else one of these.
  Duration function_timeout = std::chrono::seconds(5);
  Duration executor_timeout = std::chrono::hours(2);
  Duration timeout_minimum = std::chrono::milliseconds(100);
  // After a timeout, for what the attempt wrote to standard error; only of agents that tell.
  Duration last_words_wait = std::chrono::milliseconds(100);

  RetryOptions retry;  // of what a task's attempts allow; its own count of attempts is not used
  bool adaptive_retry = false;
  std::map<std::string, TypeOptions, std::less<>> types;

  // Of tasks that are for one agent and do not say themselves: "none" lets them wait for it, "any" gives them to any
  // agent after `agent_wait`.
  std::string agent_fallback = "none";
  Duration agent_wait = std::chrono::minutes(1);

  Balance strategy = Balance::round_robin;
  RouterOptions router;
  Duration learned_every = std::chrono::seconds(10);             // what was learned is handed over to be kept
  std::vector<std::pair<std::string, std::uint32_t>> executors;  // shared ones, and their calls at once

  // Waiting for age_step, or for age_runs times what tasks of its type usually take if that is longer, raises a task to
  // the next class of priority; never to critical. 0: age_step alone counts.
  Duration age_step = std::chrono::seconds(30);
  std::uint32_t age_runs = 10;
  std::size_t ages_at_once = 1'000;             // tasks raised in one operation, one per tick
  Duration keys_kept = std::chrono::hours(24);  // idempotency keys
  std::size_t keys_at_once = 10'000;

  // Per swarm and type of task; see crash_breaker.hpp.
  std::uint32_t breaker_crashes = 5;  // of agents over distinct tasks
  std::uint32_t breaker_warning = 3;
  Duration breaker_window = std::chrono::minutes(10);  // older crashes do not count
  Duration breaker_open = std::chrono::seconds(60);
  std::uint32_t half_open_tasks = 1;                      // at once, and
  Duration half_open_interval = std::chrono::seconds(5);  // one more per this time
  std::size_t crash_breakers_max = 10'000;                // beyond it further types are not watched

  // What an agent holds and has not begun for so long, behind what it runs, is returned for one that is idle.
  Duration return_after = std::chrono::seconds(1);
  std::size_t returns_at_once = 1'000;  // per tick
  std::uint8_t returns_max = 3;         // of one task: each is one delivery more

  std::uint8_t preemptions_max = 3;               // of one task; then it is asked no more, so that it ends
  Duration yield_wait = std::chrono::seconds(1);  // a critical task without a place then asks the next run

  Duration tick = std::chrono::seconds(1);                // of ageing, breakers, silence
  Duration ask_again = std::chrono::milliseconds(100);    // for an agent, when nobody was free
  Duration resync_after = std::chrono::seconds(2);        // orders not seen for so long are sent again
  std::size_t appends_in_flight = 8;                      // half of them for what is no completion
  std::size_t ops_per_round = 10'000;                     // assignments decided at once
  std::size_t ops_per_command = 10'000;                   // of the ledger's k_ops_max
  std::size_t command_bytes = 256ULL << 10U;              // then the next command; one operation may exceed it
  std::size_t append_bytes = 4ULL << 20U;                 // then the next append
  std::size_t agents_max = 100'000;                       // announced at once
  std::size_t inbox_changes = 1'000'000;                  // waiting for the dispatcher; beyond it it starts afresh
  Duration append_again = std::chrono::milliseconds(50);  // after overloaded or unknown, doubled up to the next
  Duration append_again_max = std::chrono::seconds(1);

  friend bool operator==(const DispatcherOptions&, const DispatcherOptions&) = default;
};

}  // namespace skein::inline v0::dispatch
