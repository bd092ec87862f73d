// Arrays of atomic words that readers may still be looking at when the writer has moved on to another.
//
// WordArrays belongs to one writer at a time. It never frees an array before its own end, but hands a retired one out
// again for the same size: there are at most two of each size, all together four times the largest. A reader that is
// still on a retired array reads words of another time; it finds that out by a generation its owner keeps, which must
// have been raised before take() is called again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace skein::inline v0::detail {

struct WordArray {
  explicit WordArray(std::size_t capacity)
      : words(std::make_unique<std::atomic<std::uint64_t>[]>(capacity)), mask(capacity - 1) {}
  [[nodiscard]] std::size_t capacity() const { return mask + 1; }
  [[nodiscard]] std::atomic<std::uint64_t>& at(std::size_t i) const { return words[i & mask]; }

  std::unique_ptr<std::atomic<std::uint64_t>[]> words;
  std::atomic<std::uint32_t> used{0};  // the first so many are in use; for owners that fill from the front
  std::size_t mask;
};

class WordArrays {
 public:
  // An array of zeros that is not `current`. `capacity` is a power of two.
  [[nodiscard]] WordArray* take(std::size_t capacity, const WordArray* current) {
    for (const auto& each : all_) {
      if (each->capacity() != capacity || each.get() == current) continue;
      each->used.store(0, std::memory_order_release);
      for (std::size_t i = 0; i < capacity; ++i) each->words[i].store(0, std::memory_order_release);
      return each.get();
    }
    all_.push_back(std::make_unique<WordArray>(capacity));
    return all_.back().get();
  }

 private:
  std::vector<std::unique_ptr<WordArray>> all_;
};

}  // namespace skein::inline v0::detail
