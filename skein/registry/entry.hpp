// One entry of the registry: two cache lines in memory that is used again but never given back before its table ends.
//
// Readers look at an entry at any time, so what they read is atomic, and `incarnation` tells whether it held together:
// odd means live, and every change of what the entry is raises it. A reader loads it, loads the rest with acquire, and
// loads it again; a writer raises it first and stores the rest with release. No fence is needed that way.
#pragma once

#include <atomic>
#include <cstdint>

namespace skein::inline v0::detail {

inline constexpr std::size_t k_inline_key_words = 4;
inline constexpr std::size_t k_inline_sets = 3;

// Read by code that has reached the entry by its index. The fields that a lookup reads are also in the index (Place).
struct alignas(64) HotEntry {
  std::atomic<std::uint32_t> incarnation{0};
  std::atomic<std::uint32_t> shape{0};  // of the key
  std::atomic<std::uint64_t> owner{0};  // a Pid; changes without a new incarnation when the entry is given away
  std::atomic<std::uint64_t> value{0};  // an agent's load with its incarnation, a counter's value, a set's address
  std::atomic<std::int64_t> heartbeat{0};
  std::atomic<std::uint64_t> key[k_inline_key_words]{};
};
static_assert(sizeof(HotEntry) == 64);

struct alignas(64) ColdEntry {
  // The owner's list; guarded by the owner's lock.
  std::uint32_t previous = UINT32_MAX;
  std::uint32_t next = UINT32_MAX;
  std::atomic<std::uint32_t> sets_count{0};
  std::uint32_t all_place = 0;  // in the set of all agents; guarded by the entry's lock
  std::atomic<std::atomic<std::uint64_t>*> key_rest{nullptr};
  // The sets it is in: index + 1 in the upper half, its place there in the lower; guarded by the set's lock.
  std::atomic<std::uint64_t> sets[k_inline_sets]{};
  std::atomic<std::atomic<std::uint64_t>*> sets_rest{nullptr};
  std::atomic<std::uint64_t> mark{0};  // of an agent, as it was registered with
};
static_assert(sizeof(ColdEntry) == 64);

// An entry and its incarnation: what sets are made of. Never 0, as a live incarnation is odd.
[[nodiscard]] constexpr std::uint64_t entry_ref(std::uint32_t index, std::uint32_t incarnation) {
  return (std::uint64_t{index} << 32U) | incarnation;
}

}  // namespace skein::inline v0::detail
