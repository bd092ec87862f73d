#include "skein/runtime/pool.hpp"

#include <array>
#include <mutex>
#include <new>
#include <vector>

// Under AddressSanitizer frames come from the heap, so that a use after their end is seen.
#if defined(__SANITIZE_ADDRESS__)
#define SKEIN_FRAMES_FROM_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SKEIN_FRAMES_FROM_HEAP 1
#endif
#endif

namespace skein::inline v0::detail {
namespace {

constexpr std::size_t k_chunk_bytes = std::size_t{256} << 10U;
constexpr std::align_val_t k_block_alignment{128};

// Full magazines nobody holds. Immortal: threads may still give blocks back while the program ends.
struct Depot {
  std::mutex mutex;
  std::vector<FreeBlock*> magazines;
  std::vector<FreeList> partial;  // what ended threads left, less than a magazine each
};

Depot& depot(PoolClass size) {
  static auto* depots = new std::array<Depot, k_pool_classes>;
  return (*depots)[static_cast<std::size_t>(size)];
}

// Returns a thread's blocks when it ends.
struct ThreadEnd {
  ThreadEnd() = default;
  ThreadEnd(const ThreadEnd&) = delete;
  ThreadEnd& operator=(const ThreadEnd&) = delete;
  ~ThreadEnd() {
    for (std::size_t i = 0; i < k_pool_classes; ++i) {
      FreeList& list = t_free_lists[i];
      if (list.head == nullptr) continue;
      Depot& shared = depot(static_cast<PoolClass>(i));
      const std::scoped_lock lock(shared.mutex);
      shared.partial.push_back(list);
      list = FreeList{};
    }
  }
  void touch() {}
};
thread_local ThreadEnd t_thread_end;

FreeBlock* carve(PoolClass size, std::vector<FreeBlock*>& magazines) {
  const std::size_t bytes = block_bytes(size);
  auto* memory = static_cast<std::byte*>(::operator new(k_chunk_bytes, k_block_alignment));
  const std::size_t blocks = k_chunk_bytes / bytes;
  FreeBlock* head = nullptr;
  for (std::size_t i = blocks; i > 0; --i) {
    auto* block = new (memory + (i - 1) * bytes) FreeBlock{head};
    head = block;
    if ((i - 1) % k_magazine_blocks == 0) {
      if (i == 1) return head;
      magazines.push_back(head);
      head = nullptr;
    }
  }
  return head;
}

#ifndef SKEIN_FRAMES_FROM_HEAP
PoolClass class_of(std::size_t bytes) {
  if (bytes <= 128) return PoolClass::b128;
  if (bytes <= 256) return PoolClass::b256;
  return bytes <= 512 ? PoolClass::b512 : PoolClass::b1024;
}
#endif

}  // namespace

void* refill_pool(PoolClass size) {
  t_thread_end.touch();
  FreeList& list = t_free_lists[static_cast<std::size_t>(size)];
  Depot& shared = depot(size);
  const std::scoped_lock lock(shared.mutex);
  if (!shared.magazines.empty()) {
    list = FreeList{shared.magazines.back(), k_magazine_blocks};
    shared.magazines.pop_back();
  } else if (!shared.partial.empty()) {
    list = shared.partial.back();
    shared.partial.pop_back();
  } else {
    list = FreeList{carve(size, shared.magazines), k_magazine_blocks};
  }
  FreeBlock* block = list.head;
  list.head = block->next;
  --list.count;
  return block;
}

void spill_pool(PoolClass size) {
  t_thread_end.touch();
  FreeList& list = t_free_lists[static_cast<std::size_t>(size)];
  FreeBlock* magazine = list.head;
  FreeBlock* last = magazine;
  for (std::uint32_t i = 1; i < k_magazine_blocks; ++i) last = last->next;
  list.head = last->next;
  last->next = nullptr;
  list.count -= k_magazine_blocks;
  Depot& shared = depot(size);
  const std::scoped_lock lock(shared.mutex);
  shared.magazines.push_back(magazine);
}

void* take_bytes(std::size_t bytes) {
#ifdef SKEIN_FRAMES_FROM_HEAP
  return ::operator new(bytes);
#else
  if (bytes > 1024) return ::operator new(bytes);
  return pool_take(class_of(bytes));
#endif
}

void give_bytes(void* memory, std::size_t bytes) noexcept {
#ifdef SKEIN_FRAMES_FROM_HEAP
  ::operator delete(memory, bytes);
#else
  if (bytes > 1024) {
    ::operator delete(memory, bytes);
    return;
  }
  pool_give(class_of(bytes), memory);
#endif
}

}  // namespace skein::inline v0::detail
