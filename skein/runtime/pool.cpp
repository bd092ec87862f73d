#include "skein/runtime/pool.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <span>
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

struct Magazine {
  std::uint32_t count = 0;
  std::array<void*, k_magazine_blocks> blocks;
};

// Magazines nobody holds. Immortal: threads may still give blocks back while the program ends.
struct Depot {
  std::mutex mutex;
  std::vector<Magazine> magazines;
};

void put_away(Depot& shared, std::span<void* const> blocks) {
  Magazine& magazine = shared.magazines.emplace_back();
  magazine.count = static_cast<std::uint32_t>(blocks.size());
  std::copy(blocks.begin(), blocks.end(), magazine.blocks.begin());
}

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
      Depot& shared = depot(static_cast<PoolClass>(i));
      const std::scoped_lock lock(shared.mutex);
      for (std::uint32_t from = 0; from < list.count; from += k_magazine_blocks) {
        put_away(shared, {list.blocks + from, std::min(k_magazine_blocks, list.count - from)});
      }
      list.count = 0;
    }
  }
  void touch() {}
};
thread_local ThreadEnd t_thread_end;

void carve(PoolClass size, Depot& shared) {
  const std::size_t bytes = block_bytes(size);
  auto* memory = static_cast<std::byte*>(::operator new(k_chunk_bytes, k_block_alignment));
  const std::size_t blocks = k_chunk_bytes / bytes;
  std::array<void*, k_magazine_blocks> some;
  for (std::size_t first = blocks; first > 0; first -= k_magazine_blocks) {
    // The lowest address on top, and the lowest magazine last: they are taken in order of address.
    for (std::size_t i = 0; i < k_magazine_blocks; ++i) some[i] = memory + (first - 1 - i) * bytes;
    put_away(shared, some);
  }
}

PoolClass class_of(std::size_t bytes) {
  if (bytes <= 128) return PoolClass::b128;
  if (bytes <= 256) return PoolClass::b256;
  return bytes <= 512 ? PoolClass::b512 : PoolClass::b1024;
}

}  // namespace

void* refill_pool(PoolClass size) {
  t_thread_end.touch();
  FreeList& list = t_free_lists[static_cast<std::size_t>(size)];
  Depot& shared = depot(size);
  const std::scoped_lock lock(shared.mutex);
  if (shared.magazines.empty()) carve(size, shared);
  const Magazine& magazine = shared.magazines.back();
  std::copy_n(magazine.blocks.begin(), magazine.count, list.blocks);
  list.count = magazine.count;
  shared.magazines.pop_back();
  return list.blocks[--list.count];
}

// The longest unused half goes.
void spill_pool(PoolClass size) {
  t_thread_end.touch();
  FreeList& list = t_free_lists[static_cast<std::size_t>(size)];
  Depot& shared = depot(size);
  {
    const std::scoped_lock lock(shared.mutex);
    put_away(shared, {list.blocks, k_magazine_blocks});
  }
  std::copy_n(list.blocks + k_magazine_blocks, k_magazine_blocks, list.blocks);
  list.count -= k_magazine_blocks;
}

StateMemory memory_of([[maybe_unused]] std::size_t bytes) {
#ifdef SKEIN_FRAMES_FROM_HEAP
  return StateMemory::heap;
#else
  if (bytes > 1024) return StateMemory::heap;
  return static_cast<StateMemory>(static_cast<unsigned>(class_of(bytes)) + 1);
#endif
}

void give_memory(void* memory, StateMemory from) noexcept {
  if (from == StateMemory::heap) {
    ::operator delete(memory);
  } else if (from != StateMemory::in_slot) {
    pool_give(static_cast<PoolClass>(static_cast<unsigned>(from) - 1), memory);
  }
}

void* take_bytes(std::size_t bytes) {
  return memory_of(bytes) == StateMemory::heap ? ::operator new(bytes) : pool_take(class_of(bytes));
}

void give_bytes(void* memory, std::size_t bytes) noexcept { give_memory(memory, memory_of(bytes)); }

}  // namespace skein::inline v0::detail
