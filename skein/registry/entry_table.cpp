#include "skein/registry/entry_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include "skein/base/must_hold.hpp"

namespace skein::inline v0::detail {
namespace {

// They count up by one at each publish and hide.
[[nodiscard]] bool is_live_incarnation(std::uint32_t incarnation) { return incarnation % 2 == 1; }

constexpr std::size_t k_smallest_array = 16;
constexpr std::size_t k_kept_aside = 64;  // free indexes of one shard

template <class T>
T* reserve(std::size_t count) {
  void* memory =
      ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "reserving address space for the registry (entries)");
  }
  // Lookups go all over the place, and would miss the TLB each time. It is advice: no harm if it is not taken.
  ::madvise(memory, count * sizeof(T), MADV_HUGEPAGE);
  return static_cast<T*>(memory);
}

[[nodiscard]] std::uint64_t tag_and_shape(const Key& key) { return (std::uint64_t{key.tag()} << 32U) | key.shape(); }

// The first place for a key of that tag which holds no entry.
[[nodiscard]] std::size_t free_place(PlaceArray& array, std::uint32_t tag) {
  std::size_t at = tag;
  for (;; at = PlaceArray::after(at, tag)) {
    const std::uint64_t ref = array.at(at).ref.load(std::memory_order_relaxed);
    if (ref == Place::k_empty || ref == Place::k_grave) return at;
    array.pass(at);
  }
}

}  // namespace

BlockPool::Block BlockPool::take() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) {
    all_.push_back(std::make_unique<std::atomic<std::uint64_t>[]>(words_));
    return all_.back().get();
  }
  const Block block = free_.back();
  free_.pop_back();
  return block;
}

void BlockPool::give(Block block) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(block);
}

EntryTable::EntryTable(std::uint32_t capacity)
    : capacity_(capacity),
      reserved_(capacity + static_cast<std::uint32_t>(k_shards * k_kept_aside)),
      hot_(reserve<HotEntry>(reserved_)),
      cold_(reserve<ColdEntry>(reserved_)),
      shards_(std::make_unique<Shard[]>(k_shards)) {
  for (std::size_t i = 0; i < k_shards; ++i) {
    shards_[i].array.store(shards_[i].arrays.take(k_smallest_array, nullptr), std::memory_order_release);
  }
}

EntryTable::~EntryTable() {
  ::munmap(hot_, std::size_t{reserved_} * sizeof(HotEntry));
  ::munmap(cold_, std::size_t{reserved_} * sizeof(ColdEntry));
}

inline bool EntryTable::matches(const Place& place, std::uint64_t ref, const Key& key) const {
  if (place.tag_and_shape.load(std::memory_order_acquire) != tag_and_shape(key)) return false;
  const std::size_t in_place = std::min(key.count(), k_place_key_words);
  std::uint64_t differ = 0;  // looked at once: a branch for each word would be guessed wrong too often
  for (std::size_t i = 0; i < in_place; ++i) differ |= place.key[i].load(std::memory_order_acquire) ^ key.word(i);
  if (differ != 0) return false;
  if (key.count() <= k_place_key_words) return true;
  const BlockPool::Block rest = cold_[ref >> 32U].key_rest.load(std::memory_order_acquire);
  if (rest == nullptr) return false;
  for (std::size_t i = k_place_key_words; i < key.count(); ++i) {
    if (rest[i - k_inline_key_words].load(std::memory_order_acquire) != key.word(i)) return false;
  }
  return true;
}

EntryTable::Seen EntryTable::find(const Key& key) const {
  const Shard& shard = shards_[shard_of(key)];
  for (;;) {
    const std::uint32_t generation = shard.generation.load(std::memory_order_acquire);
    const PlaceArray& array = *shard.array.load(std::memory_order_acquire);
    Seen seen;
    bool changed = false;
    for (std::size_t at = key.tag();; at = PlaceArray::after(at, key.tag())) {
      const Place& place = array.at(at);
      const std::uint64_t ref = place.ref.load(std::memory_order_acquire);
      if (ref == Place::k_empty) break;
      if (ref == Place::k_grave || !matches(place, ref, key)) continue;
      seen = {static_cast<std::uint32_t>(ref >> 32U), static_cast<std::uint32_t>(ref),
              place.owner.load(std::memory_order_acquire)};
      // If it ended meanwhile, the key may have another entry by now.
      changed = place.ref.load(std::memory_order_acquire) != ref;
      break;
    }
    if (!changed && shard.generation.load(std::memory_order_acquire) == generation) return seen;
  }
}

Pid EntryTable::owner_of(std::uint64_t ref) const {
  const std::uint64_t owner = hot_[ref >> 32U].owner.load(std::memory_order_acquire);
  return is_live(ref) ? Pid::from_bits(owner) : Pid{};
}

bool EntryTable::read_text(std::uint64_t ref, std::string& text) const {
  const auto index = static_cast<std::uint32_t>(ref >> 32U);
  const HotEntry& entry = hot_[index];
  const std::uint32_t shape = entry.shape.load(std::memory_order_acquire);
  const std::size_t begin = Key::is_scoped(shape) ? 1 : 0;
  const std::size_t bytes = std::min(Key::text_bytes(shape), k_registry_text_max);
  const std::size_t count = begin + (bytes + 7) / 8;
  const BlockPool::Block rest = cold_[index].key_rest.load(std::memory_order_acquire);
  if (count > k_inline_key_words && rest == nullptr) return false;
  std::uint64_t words[Key::k_words];
  for (std::size_t i = begin; i < count; ++i) {
    words[i - begin] = i < k_inline_key_words ? entry.key[i].load(std::memory_order_acquire)
                                              : rest[i - k_inline_key_words].load(std::memory_order_acquire);
  }
  if (!is_live(ref)) return false;
  text.resize(bytes);
  if (bytes != 0) std::memcpy(text.data(), words, bytes);
  return true;
}

std::atomic<std::uint64_t>& EntryTable::set_link(std::uint32_t index, std::size_t i) const {
  ColdEntry& entry = cold_[index];
  if (i < k_inline_sets) return entry.sets[i];
  return entry.sets_rest.load(std::memory_order_acquire)[i - k_inline_sets];
}

bool EntryTable::is_in_set(std::uint32_t index, std::uint32_t set) const {
  const ColdEntry& entry = cold_[index];
  const std::size_t count = std::min<std::size_t>(entry.sets_count.load(std::memory_order_acquire), k_capabilities_max);
  const BlockPool::Block rest = entry.sets_rest.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= k_inline_sets && rest == nullptr) return false;
    const std::uint64_t link = i < k_inline_sets ? entry.sets[i].load(std::memory_order_acquire)
                                                 : rest[i - k_inline_sets].load(std::memory_order_acquire);
    if (link >> 32U == std::uint64_t{set} + 1) return true;
  }
  return false;
}

std::uint32_t EntryTable::find_held(const Key& key) const {
  const PlaceArray& array = *shards_[shard_of(key)].array.load(std::memory_order_relaxed);
  for (std::size_t at = key.tag();; at = PlaceArray::after(at, key.tag())) {
    const Place& place = array.at(at);
    const std::uint64_t ref = place.ref.load(std::memory_order_relaxed);
    if (ref == Place::k_empty) return k_none;
    if (ref != Place::k_grave && matches(place, ref, key)) return static_cast<std::uint32_t>(ref >> 32U);
  }
}

std::size_t EntryTable::place_of(const Key& key, std::uint64_t ref) const {
  const PlaceArray& array = *shards_[shard_of(key)].array.load(std::memory_order_relaxed);
  std::size_t at = key.tag();
  while (array.at(at).ref.load(std::memory_order_relaxed) != ref) at = PlaceArray::after(at, key.tag());
  return at;
}

void EntryTable::set_owner(const Key& key, std::uint32_t index, Pid owner) {
  const std::uint64_t ref = entry_ref(index, hot_[index].incarnation.load(std::memory_order_relaxed));
  const PlaceArray& array = *shards_[shard_of(key)].array.load(std::memory_order_relaxed);
  array.at(place_of(key, ref)).owner.store(owner.bits(), std::memory_order_release);
  hot_[index].owner.store(owner.bits(), std::memory_order_release);
}

std::uint32_t EntryTable::take_index(Shard& shard) {
  if (shard.free.empty()) {
    std::uint32_t fresh = fresh_.load(std::memory_order_relaxed);
    while (fresh < reserved_) {
      if (!fresh_.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) continue;
      new (hot_ + fresh) HotEntry;
      new (cold_ + fresh) ColdEntry;
      return fresh;
    }
    // Not empty: the shards keep fewer aside than were reserved beyond the capacity.
    const std::scoped_lock lock(free_mutex_);
    must_hold(!free_.empty(), "entry_table.hpp 3: fewer entries are claimed than were reserved");
    shard.free.push_back(free_.back());
    free_.pop_back();
  }
  const std::uint32_t index = shard.free.back();
  shard.free.pop_back();
  return index;
}

void EntryTable::give_index(Shard& shard, std::uint32_t index) {
  shard.free.push_back(index);
  if (shard.free.size() < k_kept_aside) return;
  const auto kept = shard.free.begin() + static_cast<std::ptrdiff_t>(k_kept_aside / 2);
  const std::scoped_lock lock(free_mutex_);
  free_.insert(free_.end(), kept, shard.free.end());
  shard.free.erase(kept, shard.free.end());
}

void EntryTable::write_key(std::uint32_t index, const Key& key) {
  HotEntry& entry = hot_[index];
  entry.shape.store(key.shape(), std::memory_order_release);
  for (std::size_t i = 0; i < std::min(key.count(), k_inline_key_words); ++i) {
    entry.key[i].store(key.word(i), std::memory_order_release);
  }
  if (key.count() <= k_inline_key_words) return;
  const BlockPool::Block rest = key_blocks_.take();
  for (std::size_t i = k_inline_key_words; i < key.count(); ++i) {
    rest[i - k_inline_key_words].store(key.word(i), std::memory_order_release);
  }
  cold_[index].key_rest.store(rest, std::memory_order_release);
}

std::uint32_t EntryTable::claim(const Key& key, std::size_t sets) {
  if (claimed_.fetch_add(1, std::memory_order_relaxed) >= capacity_) {
    claimed_.fetch_sub(1, std::memory_order_relaxed);
    return k_none;
  }
  const std::uint32_t index = take_index(shards_[shard_of(key)]);
  write_key(index, key);
  ColdEntry& cold = cold_[index];
  if (sets > k_inline_sets) cold.sets_rest.store(set_blocks_.take(), std::memory_order_release);
  for (std::size_t i = 0; i < sets; ++i) set_link(index, i).store(0, std::memory_order_release);
  cold.sets_count.store(static_cast<std::uint32_t>(sets), std::memory_order_release);
  return index;
}

// Grows when more than half of the array would be entries; else only gets rid of the graves.
void EntryTable::make_room(Shard& shard) {
  PlaceArray* from = shard.array.load(std::memory_order_relaxed);
  const std::size_t capacity =
      (std::size_t{shard.live} + 1) * 2 > from->capacity() ? from->capacity() * 2 : from->capacity();
  PlaceArray* to = shard.arrays.take(capacity, from);
  for (std::size_t i = 0; i < from->capacity(); ++i) {
    const Place& old = from->at(i);
    const std::uint64_t ref = old.ref.load(std::memory_order_relaxed);
    if (ref == Place::k_empty || ref == Place::k_grave) continue;
    const std::uint64_t tagged = old.tag_and_shape.load(std::memory_order_relaxed);
    Place& place = to->at(free_place(*to, static_cast<std::uint32_t>(tagged >> 32U)));
    place.owner.store(old.owner.load(std::memory_order_relaxed), std::memory_order_release);
    place.tag_and_shape.store(tagged, std::memory_order_release);
    for (std::size_t word = 0; word < k_place_key_words; ++word) {
      place.key[word].store(old.key[word].load(std::memory_order_relaxed), std::memory_order_release);
    }
    place.ref.store(ref, std::memory_order_release);
  }
  shard.graves = 0;
  shard.array.store(to, std::memory_order_release);
  shard.generation.fetch_add(1, std::memory_order_acq_rel);
  PlaceArrays::retire(from);
}

void EntryTable::publish(const Key& key, std::uint32_t index) {
  Shard& shard = shards_[shard_of(key)];
  const std::size_t capacity = shard.array.load(std::memory_order_relaxed)->capacity();
  if ((std::size_t{shard.live} + shard.graves + 1) * 8 > capacity * 5) make_room(shard);
  PlaceArray& array = *shard.array.load(std::memory_order_relaxed);
  Place& place = array.at(free_place(array, key.tag()));
  if (place.ref.load(std::memory_order_relaxed) == Place::k_grave) --shard.graves;
  ++shard.live;
  const std::uint32_t incarnation = next_incarnation(index);
  must_hold(is_live_incarnation(incarnation), "entry_table.hpp 2: what is published was not live");
  place.owner.store(hot_[index].owner.load(std::memory_order_relaxed), std::memory_order_release);
  place.tag_and_shape.store(tag_and_shape(key), std::memory_order_release);
  for (std::size_t i = 0; i < std::min(key.count(), k_place_key_words); ++i) {
    place.key[i].store(key.word(i), std::memory_order_release);
  }
  // The entry first: who finds the place finds the entry live.
  hot_[index].incarnation.store(incarnation, std::memory_order_release);
  place.ref.store(entry_ref(index, incarnation), std::memory_order_release);
}

void EntryTable::hide(const Key& key, std::uint32_t index) {
  Shard& shard = shards_[shard_of(key)];
  const PlaceArray& array = *shard.array.load(std::memory_order_relaxed);
  const std::uint64_t ref = entry_ref(index, hot_[index].incarnation.load(std::memory_order_relaxed));
  must_hold(is_live_incarnation(static_cast<std::uint32_t>(ref)), "entry_table.hpp 2: what is hidden was live");
  hot_[index].incarnation.store(next_incarnation(index), std::memory_order_release);
  const std::size_t at = place_of(key, ref);
  --shard.live;
  const bool is_grave = array.was_passed(at);
  if (is_grave) ++shard.graves;
  array.at(at).ref.store(is_grave ? Place::k_grave : Place::k_empty, std::memory_order_release);
}

void EntryTable::release(const Key& key, std::uint32_t index) {
  must_hold(!is_live_incarnation(hot_[index].incarnation.load(std::memory_order_relaxed)),
            "entry_table.hpp 2: what is released was hidden, or never published");
  ColdEntry& cold = cold_[index];
  cold.sets_count.store(0, std::memory_order_release);
  if (const auto rest = cold.key_rest.load(std::memory_order_relaxed); rest != nullptr) {
    cold.key_rest.store(nullptr, std::memory_order_release);
    key_blocks_.give(rest);
  }
  if (const auto rest = cold.sets_rest.load(std::memory_order_relaxed); rest != nullptr) {
    cold.sets_rest.store(nullptr, std::memory_order_release);
    set_blocks_.give(rest);
  }
  give_index(shards_[shard_of(key)], index);
  claimed_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace skein::inline v0::detail
