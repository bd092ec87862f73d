// The limits that apply() holds. They are part of the ledger's state: changed by a set_limits entry, never by a config
// file, so that every replica refuses the same commands. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skein::inline v0::ledger {

struct Limits {
  std::uint64_t open_tasks = 1'000'000;        // in all swarms
  std::uint64_t open_bytes = 4ULL << 30U;      // charged for them, see charge_of() in task.hpp
  std::uint64_t swarm_tasks = 10'000;          // open in one swarm, unless its definition says otherwise
  std::uint64_t swarm_bytes = 1ULL << 30U;     // likewise
  std::uint64_t finished_tasks = 1'000'000;    // not yet archived; beyond it submits are refused, completions never
  std::uint64_t finished_bytes = 4ULL << 30U;  // likewise
  std::uint64_t params_bytes = 256ULL << 10U;  // of one task
  std::uint64_t result_bytes = 256ULL << 10U;  // of one task
  std::uint64_t name_bytes = 128;              // of a swarm, an agent, a task's type, a capability, a node
  std::uint64_t key_bytes = 256;               // of an idempotency key
  std::uint64_t trace_bytes = 256;             // of a trace context
  std::uint64_t capabilities = 32;             // of one task
  std::uint64_t dependencies = 100;            // of one task
  std::uint64_t attempts = 100;                // that a task may ask for
  std::uint64_t deliveries = 10;               // up to which a node's crash costs no attempt
  std::uint64_t mark_bytes = 4096;             // of a progress mark
  std::uint64_t message_bytes = 4096;          // of a failure's message or a reason
  std::uint64_t history = 20;                  // attempts remembered of a task, the last ones
  std::uint64_t keys = 1'000'000;              // idempotency keys; beyond it the oldest goes
  std::uint64_t swarms = 10'000;
  std::uint64_t agents = 10'000;             // named in the config
  std::uint64_t fields = 64;                 // of one swarm or agent, and of its overrides
  std::uint64_t field_bytes = 64ULL << 10U;  // names and values of those together

  friend bool operator==(const Limits&, const Limits&) = default;
};

// Of one command, whatever the state says: what a decoder accepts.
inline constexpr std::uint64_t k_ops_max = 100'000;
inline constexpr std::uint64_t k_ages_max = 100'000;

// Finish numbers stay below this, however an archive was damaged.
inline constexpr std::uint64_t k_finish_max = 1ULL << 62U;

// Children: tasks that a task submits with the token of its attempt.
inline constexpr std::uint32_t k_children_max = 20;    // of one task, in all its attempts together
inline constexpr std::uint32_t k_child_depth_max = 3;  // a child is one deep, its children two

// Tokens in the ledger.
inline constexpr std::size_t k_tokens_max = 1'000;

// How often a task may fall back to another swarm. Swarms that name each other as fallback end here.
inline constexpr std::size_t k_fallbacks_max = 3;

}  // namespace skein::inline v0::ledger
