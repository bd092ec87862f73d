// The index of a shard: cache lines that hold all a lookup reads, in arrays that readers may still be looking at when
// the writer has moved on to another.
//
// PlaceArrays belongs to one writer at a time. It never frees an array before its own end, but hands a retired one out
// again for the same size. A reader that is still on a retired array reads places of another time; it finds that out by
// a generation its owner keeps, which must have been raised before retire() is called. The memory of large arrays is
// given back when they are retired, and then reads as empty.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace skein::inline v0::detail {

inline constexpr std::size_t k_place_key_words = 5;

// One place. The gate is `ref`: a reader loads it, loads the rest with acquire, and loads it again. A writer stores the
// rest only while the gate is closed (empty or a grave), with release, and then opens it. No ref ever comes back.
struct alignas(64) Place {
  static constexpr std::uint64_t k_empty = 0;
  static constexpr std::uint64_t k_grave = 2;  // even, which no live incarnation is

  std::atomic<std::uint64_t> ref{k_empty};      // of a live entry
  std::atomic<std::uint64_t> owner{0};          // changes under an open gate when the entry is given away
  std::atomic<std::uint64_t> tag_and_shape{0};  // of the key, whose first words follow
  std::atomic<std::uint64_t> key[k_place_key_words]{};
};
static_assert(sizeof(Place) == 64);

class PlaceArray {
 public:
  // `capacity` is a power of two. Throws std::bad_alloc.
  explicit PlaceArray(std::size_t capacity);
  ~PlaceArray();
  PlaceArray(const PlaceArray&) = delete;
  PlaceArray& operator=(const PlaceArray&) = delete;

  [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }
  [[nodiscard]] Place& at(std::size_t i) const { return places_[i & mask_]; }
  // Where a key that did not get `i` is to be looked for next. Its steps are odd, so it comes by every place, and (but
  // for a few) the same for all keys that begin as neighbours, so they stay neighbours.
  [[nodiscard]] static std::size_t after(std::size_t i, std::uint32_t tag) { return i + ((tag >> 12U) | 1U); }
  // For the writer: some key was put elsewhere because this place was taken, so it must not become empty.
  void pass(std::size_t i) { passed_[i & mask_] = true; }
  [[nodiscard]] bool was_passed(std::size_t i) const { return passed_[i & mask_]; }
  // Makes every place empty.
  void clear();

 private:
  [[nodiscard]] std::size_t bytes() const { return capacity() * sizeof(Place); }
  [[nodiscard]] bool is_large() const;

  Place* places_ = nullptr;
  std::size_t mask_;
  std::vector<bool> passed_;
};

class PlaceArrays {
 public:
  // An array of empty places that is not `current`.
  [[nodiscard]] PlaceArray* take(std::size_t capacity, const PlaceArray* current) {
    for (const auto& each : all_) {
      if (each->capacity() == capacity && each.get() != current) return each.get();
    }
    all_.push_back(std::make_unique<PlaceArray>(capacity));
    return all_.back().get();
  }
  static void retire(PlaceArray* array) { array->clear(); }

 private:
  std::vector<std::unique_ptr<PlaceArray>> all_;
};

}  // namespace skein::inline v0::detail
