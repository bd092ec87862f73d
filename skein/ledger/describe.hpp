// The order of fields on disk of what commands and snapshots share. One description for both directions: `c` is a
// Writer or a Reader, and each structure is const or not accordingly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "skein/ledger/codec.hpp"
#include "skein/ledger/limits.hpp"
#include "skein/ledger/task.hpp"
#include "skein/ledger/token.hpp"

namespace skein::inline v0::ledger {

inline constexpr std::uint64_t k_any_count = std::numeric_limits<std::uint64_t>::max();

template <class C>
void describe_extras(C& c, auto& extras) {
  c.list(extras.dependencies, k_any_count, [](C& each, auto& id) { each.some_id(id); });
  c.text(extras.key);
  c.text(extras.trace);
  bool retries = !extras.retry_of.none();
  c.flag(retries);
  if (retries) c.some_id(extras.retry_of);
}

// As it is submitted.
template <class C>
void describe_placement(C& c, auto& where) {
  c.text(where.agent);
  c.choice(where.fallback, AgentFallback::by_config, AgentFallback::any);
  c.number(where.wait_ms);
  c.text(where.route_key);
  if constexpr (C::k_reads) {
    if (where.empty() || !where.makes_sense()) c.fail();
  }
}

template <class C>
void describe_digest(C& c, auto& digest) {
  if constexpr (C::k_reads) {
    const std::string_view bytes = c.raw(digest.size());
    if (c.ok()) std::ranges::copy(bytes, digest.begin());
  } else {
    c.raw({reinterpret_cast<const char*>(digest.data()), digest.size()});
  }
}

// A TaskId that may be none.
template <class C>
void describe_perhaps(C& c, auto& id) {
  bool is_there = !id.none();
  c.flag(is_there);
  if (is_there) c.some_id(id);
}

template <class C>
void describe_token(C& c, auto& token) {
  c.text(token.name);
  describe_digest(c, token.secret);
  c.choice(token.rank, Rank::read, Rank::administer);
  c.number(token.made_at);
  c.number(token.expires_at);
  describe_digest(c, token.previous);
  c.number(token.previous_until);
  describe_perhaps(c, token.bounds.task);
  c.text(token.bounds.swarm);
  c.number(token.bounds.depth);
  c.number(token.bounds.children);
}

template <class C>
void describe_limits(C& c, auto& limits) {
  c.number(limits.open_tasks);
  c.number(limits.open_bytes);
  c.number(limits.swarm_tasks);
  c.number(limits.swarm_bytes);
  c.number(limits.finished_tasks);
  c.number(limits.finished_bytes);
  c.number(limits.params_bytes);
  c.number(limits.result_bytes);
  c.number(limits.name_bytes);
  c.number(limits.key_bytes);
  c.number(limits.trace_bytes);
  c.number(limits.capabilities);
  c.number(limits.dependencies);
  c.number(limits.attempts);
  c.number(limits.deliveries);
  c.number(limits.mark_bytes);
  c.number(limits.message_bytes);
  c.number(limits.history);
  c.number(limits.keys);
  c.number(limits.swarms);
  c.number(limits.agents);
  c.number(limits.fields);
  c.number(limits.field_bytes);
}

[[nodiscard]] constexpr bool is_class(std::uint16_t priority) {
  return priority == k_low || priority == k_normal || priority == k_high || priority == k_critical;
}

template <class C>
void describe_priority(C& c, auto& priority) {
  c.number(priority);
  if constexpr (C::k_reads) {
    if (!is_class(priority)) c.fail();
  }
}

}  // namespace skein::inline v0::ledger
