#include "skein/runtime/slot_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

namespace skein::inline v0::detail {

namespace {

void* reserve(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) return memory;
  throw std::system_error(errno, std::generic_category(), "reserving address space for processes (max_processes)");
}

// One more: a thread's own count needs no atomic addition.
void count(std::atomic<std::uint64_t>* own, std::atomic<std::uint64_t>& shared) {
  if (own != nullptr) {
    own->store(own->load(std::memory_order_relaxed) + 1, std::memory_order_release);
  } else {
    shared.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace

// Fresh pages are zero, and a slot is constructed when it is claimed first. Until then a sender is stopped by the
// generation, and one with a made-up Pid of generation 0 by the mailbox, which is dead when it is zero.
SlotTable::SlotTable(std::uint32_t capacity) : capacity_(std::min(capacity, Pid::k_slot_max)) {
  auto* memory = static_cast<std::byte*>(reserve(reserved_bytes()));
  slots_ = reinterpret_cast<Slot*>(memory);
  waits_ = reinterpret_cast<std::atomic<const PayloadType*>*>(memory + capacity_ * sizeof(Slot));
  living_ = reinterpret_cast<std::atomic<std::uint32_t>*>(waits_ + capacity_);
}

std::size_t SlotTable::reserved_bytes() const {
  return std::size_t{capacity_} * (sizeof(Slot) + sizeof(*waits_) + sizeof(*living_));
}

SlotTable::~SlotTable() { ::munmap(slots_, reserved_bytes()); }

SlotTable::Cache::Cache(SlotTable& table) : table_(table) {
  const std::scoped_lock lock(table_.mutex_);
  table_.caches_.push_back(this);
}

SlotTable::Cache::~Cache() {
  table_.drain(*this);
  const std::scoped_lock lock(table_.mutex_);
  std::erase(table_.caches_, this);
  table_.claimed_.fetch_add(claimed_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  table_.released_.fetch_add(released_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// Every released slot was claimed before: reading the releases first means that no living process is missed.
std::uint32_t SlotTable::alive() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t released = released_.load(std::memory_order_acquire);
  for (const Cache* each : caches_) released += each->released_.load(std::memory_order_acquire);
  std::uint64_t claimed = claimed_.load(std::memory_order_relaxed);
  for (const Cache* each : caches_) claimed += each->claimed_.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(claimed - released);
}

Slot* SlotTable::claim(Cache* its) {
  auto* cache = its == nullptr || capacity_ < k_shared_below ? nullptr : &its->free_;
  std::uint32_t index = 0;
  if (cache != nullptr && !cache->empty()) {
    index = cache->back();
    cache->pop_back();
  } else {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
      for (std::uint32_t i = 0; cache != nullptr && i < k_batch && !free_.empty(); ++i) {
        cache->push_back(free_.back());
        free_.pop_back();
      }
    } else {
      const std::uint32_t begin = fresh_.load(std::memory_order_relaxed);
      if (begin >= capacity_) return nullptr;
      const std::uint32_t end = cache == nullptr ? begin + 1 : std::min(begin + k_batch, capacity_);
      for (std::uint32_t i = begin; i < end; ++i) new (slots_ + i) Slot;
      fresh_.store(end, std::memory_order_release);
      index = begin;
      for (std::uint32_t i = end; i > begin + 1; --i) cache->push_back(i - 1);
    }
  }
  count(its == nullptr ? nullptr : &its->claimed_, claimed_);
  living_[index].store(slots_[index].generation.load(std::memory_order_relaxed), std::memory_order_release);
  return slots_ + index;
}

void SlotTable::release(Slot& slot, Cache* its) {
  auto* cache = its == nullptr || capacity_ < k_shared_below ? nullptr : &its->free_;
  const std::uint32_t index = index_of(slot);
  mark_dead(slot);
  const bool exhausted = slot.generation.load(std::memory_order_relaxed) > Pid::k_generation_max;
  if (!exhausted) {
    if (cache != nullptr) {
      cache->push_back(index);
      if (cache->size() >= std::size_t{4} * k_batch) {
        constexpr std::ptrdiff_t k_given_back = std::ptrdiff_t{2} * k_batch;
        const std::scoped_lock lock(mutex_);
        free_.insert(free_.end(), cache->begin(), cache->begin() + k_given_back);
        cache->erase(cache->begin(), cache->begin() + k_given_back);
      }
    } else {
      const std::scoped_lock lock(mutex_);
      free_.push_back(index);
    }
  }
  count(its == nullptr ? nullptr : &its->released_, released_);
}

void SlotTable::drain(Cache& cache) {
  const std::scoped_lock lock(mutex_);
  free_.insert(free_.end(), cache.free_.begin(), cache.free_.end());
  cache.free_.clear();
}

}  // namespace skein::inline v0::detail
