// All slots of a runtime: one reserved range of address space, so that finding a slot is arithmetic and none moves.
//
// Any thread may claim and release. Released slots are reused newest first; a thread keeps a few for itself.
// A slot whose generations are used up is retired, never wrapped. Who lives is also kept apart, four bytes a slot, so
// that asking (which a registry does at every lookup) stays in the caches when the slots themselves do not. So is what
// a waiting handler handles; few handlers wait, and the memory of that table is used only where it was written.
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

  // Free slots a thread keeps for itself, and its count of those it took and gave: a count that all share would go to
  // and fro between the cores with every process. One thread at a time; the table outlives it.
  class alignas(64) Cache {
   public:
    explicit Cache(SlotTable& table);
    // Gives the free slots back.
    ~Cache();
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    [[nodiscard]] std::size_t size() const { return free_.size(); }

   private:
    friend SlotTable;
    SlotTable& table_;
    std::vector<std::uint32_t> free_;
    std::atomic<std::uint64_t> claimed_{0};
    std::atomic<std::uint64_t> released_{0};
  };

  // A free slot, or nullptr when all are taken. `cache` may be nullptr.
  [[nodiscard]] Slot* claim(Cache* cache);
  void release(Slot& slot, Cache* cache);
  // From here on is_alive says no. Before anybody is told of the death.
  void mark_dead(const Slot& slot) { living_[index_of(slot)].store(0, std::memory_order_release); }
  // Gives a thread's free slots back.
  void drain(Cache& cache);
  // The message type of a handler that waits, for introspection; nullptr: no handler waits. Its owner writes it.
  [[nodiscard]] std::atomic<const PayloadType*>& waits_in(const Slot& slot) const { return waits_[index_of(slot)]; }

  [[nodiscard]] std::uint32_t index_of(const Slot& slot) const { return static_cast<std::uint32_t>(&slot - slots_); }
  // The slot that a Pid names, even if another process lives there now; nullptr: none, or the Pid is another node's.
  [[nodiscard]] Slot* find(Pid pid) const { return pid.place() < capacity_ ? slots_ + pid.place() : nullptr; }
  [[nodiscard]] bool is_alive(Pid pid) const {
    const std::uint32_t generation = pid.generation();  // 0 in nobody
    return generation != 0 && pid.place() < capacity_ &&
           living_[pid.place()].load(std::memory_order_acquire) == generation;
  }
  // Slots below this have been used at some time.
  [[nodiscard]] std::uint32_t used() const { return std::min(fresh_.load(std::memory_order_acquire), capacity_); }
  [[nodiscard]] Slot& at(std::uint32_t index) const { return slots_[index]; }
  // At least those that live throughout the call, and exact when none starts or ends meanwhile.
  [[nodiscard]] std::uint32_t alive() const;
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

 private:
  [[nodiscard]] std::size_t reserved_bytes() const;

  static constexpr std::uint32_t k_batch = 64;
  // In a smaller table every slot counts, so threads keep none for themselves.
  static constexpr std::uint32_t k_shared_below = 16 * 1024;

  std::uint32_t capacity_;
  Slot* slots_ = nullptr;
  std::atomic<std::uint32_t>* living_ = nullptr;      // per slot: the generation that lives there, or 0
  std::atomic<const PayloadType*>* waits_ = nullptr;  // per slot: see waits_in()
  alignas(64) std::atomic<std::uint32_t> fresh_{0};
  alignas(64) std::atomic<std::uint64_t> claimed_{0};  // of threads without a cache, and of caches that are gone
  std::atomic<std::uint64_t> released_{0};
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::vector<const Cache*> caches_;
};

}  // namespace skein::inline v0::detail
