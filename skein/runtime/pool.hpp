// Memory for messages and coroutine frames: blocks of one size, a free list per thread, magazines exchanged globally.
//
// Any thread may take and give; a block may be given back by another thread than took it. Memory is never returned to
// the operating system, and a block stays a block for ever: reading a stale message's atomic fields is harmless, which
// the mailbox relies on (mailbox.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace skein::inline v0::detail {

inline constexpr std::uint32_t k_magazine_blocks = 128;

// What one thread keeps of one size. Pointers in an array, not a list through the blocks: taking one then never waits
// for a block's first line to come from the core that used it last.
struct FreeList {
  std::uint32_t count = 0;
  void* blocks[2 * k_magazine_blocks] = {};
};

// Messages have a class of their own: their blocks are never anything but messages.
enum class PoolClass : std::uint8_t { b128, b256, b512, b1024, message };
inline constexpr std::size_t k_pool_classes = 5;

[[nodiscard]] constexpr std::size_t block_bytes(PoolClass size) {
  return size == PoolClass::message ? 128 : std::size_t{128} << static_cast<unsigned>(size);
}

inline constinit thread_local FreeList t_free_lists[k_pool_classes];

// Slow paths: a magazine comes from, or goes to, the global stack.
void* refill_pool(PoolClass size);
void spill_pool(PoolClass size);

[[nodiscard]] inline void* pool_take(PoolClass size) {
  FreeList& list = t_free_lists[static_cast<std::size_t>(size)];
  if (list.count == 0) [[unlikely]]
    return refill_pool(size);
  return list.blocks[--list.count];
}

inline void pool_give(PoolClass size, void* memory) noexcept {
  FreeList& list = t_free_lists[static_cast<std::size_t>(size)];
  list.blocks[list.count] = memory;
  if (++list.count == 2 * k_magazine_blocks) [[unlikely]]
    spill_pool(size);
}

// Memory of any size up to 1 KiB from the pools, larger from the heap. `bytes` must be the same at give.
[[nodiscard]] void* take_bytes(std::size_t bytes);
void give_bytes(void* memory, std::size_t bytes) noexcept;

// Where memory from take_bytes came from, in one byte, for owners that have no room to keep the size.
enum class StateMemory : std::uint8_t { in_slot, b128, b256, b512, b1024, heap };
[[nodiscard]] StateMemory memory_of(std::size_t bytes);
void give_memory(void* memory, StateMemory from) noexcept;

}  // namespace skein::inline v0::detail
