// Makes task ids: UUIDs of version 7, whose first 48 bits are the time, so that they sort by it. Any thread, without a
// lock: each id takes one step of a shared counter and mixes it. Two programs make the same id only when their seeds
// are equal; the seed is handed in, random for a node and fixed for a simulation.
#pragma once

#include <atomic>
#include <cstdint>

#include "skein/base/random.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::operations {

class TaskIds {
 public:
  explicit TaskIds(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] ledger::TaskId next(ledger::WallMs now) {
    // SplitMix64 walks by a constant, so a step of the counter is a step of the generator.
    Random random(state_.fetch_add(k_two_steps, std::memory_order_relaxed));
    const std::uint64_t a = random.next();
    const std::uint64_t b = random.next();
    return {(now << 16U) | 0x7000U | (a & 0xFFFU), (1ULL << 63U) | (b >> 2U)};
  }

 private:
  static constexpr std::uint64_t k_two_steps = 2 * 0x9e3779b97f4a7c15ULL;
  std::atomic<std::uint64_t> state_;
};

}  // namespace skein::inline v0::operations
