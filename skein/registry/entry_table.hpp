// Entries by key: a hash table in shards that is read without waiting while writers work.
//
// find, owner_of and read_text may be called by any thread at any time. Everything else is for writers: hold lock(key).
// The order of locks is: an entry's shard, then an owner's shard or a set's shard.
//
// 1. A lookup reads one cache line, if the first place is the right one (two in three are when a shard is at its
//    fullest) and the key has at most 40 bytes. A place is empty, a grave, or a copy of an entry's key and owner.
//    Entries never move within an array, so a reader sees each entry that was there all along. Moving to another array
//    raises the shard's generation; who found something on an array that is not the shard's any more looks again.
// 2. An entry is not live before publish and not after hide; only then may release make it free for another key.
// 3. At most `capacity` entries are claimed at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "skein/registry/entry.hpp"
#include "skein/registry/key.hpp"
#include "skein/registry/place_array.hpp"

namespace skein::inline v0::detail {

// Blocks of atomic words that are used again, never given back before the pool's end. Any thread.
class BlockPool {
 public:
  using Block = std::atomic<std::uint64_t>*;
  explicit BlockPool(std::size_t words) : words_(words) {}
  [[nodiscard]] Block take();
  void give(Block block);

 private:
  std::size_t words_;
  std::mutex mutex_;
  std::vector<Block> free_;
  std::vector<std::unique_ptr<std::atomic<std::uint64_t>[]>> all_;
};

class EntryTable {
 public:
  static constexpr std::uint32_t k_none = UINT32_MAX;
  static constexpr std::size_t k_shards = 64;

  // Throws std::system_error when there is no address space.
  explicit EntryTable(std::uint32_t capacity);
  ~EntryTable();
  EntryTable(const EntryTable&) = delete;
  EntryTable& operator=(const EntryTable&) = delete;

  // A live entry at the moment it was read; false: none.
  struct Seen {
    std::uint32_t index = k_none;
    std::uint32_t incarnation = 0;
    std::uint64_t owner = 0;
    explicit operator bool() const { return index != k_none; }
    [[nodiscard]] std::uint64_t ref() const { return entry_ref(index, incarnation); }
  };
  [[nodiscard]] Seen find(const Key& key) const;
  // Begins to fetch what find(key) will read.
  void prefetch(const Key& key) const {
    __builtin_prefetch(&shards_[shard_of(key)].array.load(std::memory_order_acquire)->at(key.tag()));
  }
  // Nobody if the entry has ended since.
  [[nodiscard]] Pid owner_of(std::uint64_t ref) const;
  // The key's text, without its scope; false if the entry has ended since.
  [[nodiscard]] bool read_text(std::uint64_t ref, std::string& text) const;
  [[nodiscard]] bool is_live(std::uint64_t ref) const {
    return hot_[ref >> 32U].incarnation.load(std::memory_order_acquire) == static_cast<std::uint32_t>(ref);
  }
  // Whether the entry is in the set of that index. Meaningful only if it is live afterwards.
  [[nodiscard]] bool is_in_set(std::uint32_t index, std::uint32_t set) const;
  [[nodiscard]] HotEntry& hot(std::uint32_t index) const { return hot_[index]; }
  [[nodiscard]] ColdEntry& cold(std::uint32_t index) const { return cold_[index]; }
  // Where the entry keeps its `i`th set.
  [[nodiscard]] std::atomic<std::uint64_t>& set_link(std::uint32_t index, std::size_t i) const;
  [[nodiscard]] std::uint32_t count() const { return claimed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  [[nodiscard]] static std::size_t shard_of(const Key& key) { return key.hash() % k_shards; }

  // For writers.
  [[nodiscard]] std::unique_lock<std::mutex> lock(const Key& key) const {
    return std::unique_lock(shards_[shard_of(key)].mutex);
  }
  [[nodiscard]] std::unique_lock<std::mutex> lock_shard(std::size_t shard) const {
    return std::unique_lock(shards_[shard].mutex);
  }
  [[nodiscard]] std::uint32_t find_held(const Key& key) const;
  // A free entry with this key and room for `sets` sets; k_none when all are taken.
  [[nodiscard]] std::uint32_t claim(const Key& key, std::size_t sets);
  // The incarnation it will have once published.
  [[nodiscard]] std::uint32_t next_incarnation(std::uint32_t index) const {
    return hot_[index].incarnation.load(std::memory_order_relaxed) + 1;
  }
  void publish(const Key& key, std::uint32_t index);
  // Gives a published entry to another process.
  void set_owner(const Key& key, std::uint32_t index, Pid owner);
  void hide(const Key& key, std::uint32_t index);
  void release(const Key& key, std::uint32_t index);

 private:
  struct Shard {
    alignas(64) std::atomic<PlaceArray*> array{nullptr};
    std::atomic<std::uint32_t> generation{0};
    alignas(64) mutable std::mutex mutex;
    std::uint32_t live = 0;
    std::uint32_t graves = 0;
    std::vector<std::uint32_t> free;  // indexes
    PlaceArrays arrays;
  };

  [[nodiscard]] bool matches(const Place& place, std::uint64_t ref, const Key& key) const;
  // Where in its shard's array a published entry is.
  [[nodiscard]] std::size_t place_of(const Key& key, std::uint64_t ref) const;
  void write_key(std::uint32_t index, const Key& key);
  [[nodiscard]] std::uint32_t take_index(Shard& shard);
  void give_index(Shard& shard, std::uint32_t index);
  void make_room(Shard& shard);

  std::uint32_t capacity_;
  std::uint32_t reserved_;  // capacity and what the shards keep aside
  HotEntry* hot_ = nullptr;
  ColdEntry* cold_ = nullptr;
  std::unique_ptr<Shard[]> shards_;
  BlockPool key_blocks_{Key::k_words - k_inline_key_words};
  BlockPool set_blocks_{k_capabilities_max - k_inline_sets};
  alignas(64) std::atomic<std::uint32_t> claimed_{0};
  std::atomic<std::uint32_t> fresh_{0};
  std::mutex free_mutex_;
  std::vector<std::uint32_t> free_;
};

}  // namespace skein::inline v0::detail
