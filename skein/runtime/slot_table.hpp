// All slots of a runtime: one reserved range of address space, so that finding a slot is arithmetic and none moves.
//
// Any thread may claim and release. Released slots are reused newest first; a thread keeps a few for itself.
// A slot whose generations are used up is retired, never wrapped. Who lives is also kept apart, four bytes per slot, so
// that asking (which a registry does at every lookup) stays in the caches when the slots themselves do not.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "skein/runtime/slot.hpp"

namespace skein::inline v0::detail {

class SlotTable {
 public:
  explicit SlotTable(std::uint32_t capacity);
  ~SlotTable();
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  // Indexes of free slots a thread keeps for itself.
  using Cache = std::vector<std::uint32_t>;

  // A free slot, or nullptr when all are taken. `cache` may be nullptr.
  [[nodiscard]] Slot* claim(Cache* cache);
  void release(Slot& slot, Cache* cache);
  // From here on is_alive says no. Before anybody is told of the death.
  void mark_dead(const Slot& slot) { living_[index_of(slot)].store(0, std::memory_order_release); }
  // Gives a thread's free slots back.
  void drain(Cache& cache);

  [[nodiscard]] std::uint32_t index_of(const Slot& slot) const { return static_cast<std::uint32_t>(&slot - slots_); }
  // The slot a Pid names, whoever lives there now, or nullptr if it never existed.
  [[nodiscard]] Slot* find(Pid pid) const { return pid.slot() < capacity_ ? slots_ + pid.slot() : nullptr; }
  [[nodiscard]] bool is_alive(Pid pid) const {
    const std::uint32_t generation = pid.generation();  // 0 in nobody
    return generation != 0 && pid.slot() < capacity_ &&
           living_[pid.slot()].load(std::memory_order_acquire) == generation;
  }
  // Slots below this have been used at some time.
  [[nodiscard]] std::uint32_t used() const { return std::min(fresh_.load(std::memory_order_acquire), capacity_); }
  [[nodiscard]] Slot& at(std::uint32_t index) const { return slots_[index]; }
  [[nodiscard]] std::uint32_t alive() const { return alive_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

 private:
  static constexpr std::uint32_t k_batch = 64;
  // In a smaller table every slot counts, so threads keep none for themselves.
  static constexpr std::uint32_t k_shared_below = 16 * 1024;

  std::uint32_t capacity_;
  Slot* slots_ = nullptr;
  std::atomic<std::uint32_t>* living_ = nullptr;  // per slot: the generation that lives there, or 0
  alignas(64) std::atomic<std::uint32_t> fresh_{0};
  alignas(64) std::atomic<std::uint32_t> alive_{0};
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
};

}  // namespace skein::inline v0::detail
