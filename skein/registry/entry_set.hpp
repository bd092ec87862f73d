// A set of words (references to entries) that is read without waiting while one writer at a time changes it.
//
// add and remove need the writer's lock. each and size may be called by any thread.
//
// 1. Within a generation a member keeps its place, so a reader sees every member that was there all along.
// 2. A place that was freed is used again; when more than half are free, the members move to another array and the
//    generation is raised. So reading costs what it returns.
// 3. A reader that finds the generation raised has to begin again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skein/registry/word_array.hpp"

namespace skein::inline v0::detail {

class EntrySet {
 public:
  EntrySet() = default;
  EntrySet(const EntrySet&) = delete;
  EntrySet& operator=(const EntrySet&) = delete;

  // The member's place. `moved(word, place)` is called for each member that has to move.
  template <class Moved>
  std::uint32_t add(std::uint64_t word, Moved&& moved) {
    const std::size_t capacity = array() == nullptr ? 0 : array()->capacity();
    if (free_.empty() && used() == capacity) move_to(capacity == 0 ? k_smallest : capacity * 2, moved);
    WordArray& into = *array();
    std::uint32_t place = used();
    if (free_.empty()) {
      into.at(place).store(word, std::memory_order_release);
      into.used.store(place + 1, std::memory_order_release);
    } else {
      place = free_.back();
      free_.pop_back();
      into.at(place).store(word, std::memory_order_release);
    }
    size_.store(size() + 1, std::memory_order_relaxed);
    return place;
  }

  template <class Moved>
  void remove(std::uint32_t place, Moved&& moved) {
    array()->at(place).store(0, std::memory_order_release);
    free_.push_back(place);
    size_.store(size() - 1, std::memory_order_relaxed);
    if (used() <= k_smallest || free_.size() <= used() / 2) return;
    std::size_t capacity = k_smallest;
    while (capacity * 3 < std::size_t{size()} * 4) capacity *= 2;
    move_to(capacity, moved);
  }

  [[nodiscard]] std::uint32_t size() const { return size_.load(std::memory_order_relaxed); }

  // Calls call(word) for every member until it returns false. False: begin again.
  template <class Call>
  [[nodiscard]] bool each(Call&& call) const {
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    const WordArray* from = array_.load(std::memory_order_acquire);
    if (from == nullptr) return true;
    const std::uint32_t count = from->used.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t word = from->at(i).load(std::memory_order_acquire);
      if (word != 0 && !call(word)) break;
    }
    return generation_.load(std::memory_order_acquire) == generation;
  }

 private:
  static constexpr std::uint32_t k_smallest = 8;

  // The old array is not changed until the next move, which comes after the raise.
  template <class Moved>
  void move_to(std::size_t capacity, Moved&& moved) {
    const WordArray* from = array();
    WordArray* to = arrays_.take(capacity, from);
    std::uint32_t place = 0;
    const std::uint32_t count = used();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t word = from->at(i).load(std::memory_order_relaxed);
      if (word == 0) continue;
      to->at(place).store(word, std::memory_order_release);
      moved(word, place);
      ++place;
    }
    to->used.store(place, std::memory_order_release);
    array_.store(to, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    free_.clear();
  }

  // For the writer.
  [[nodiscard]] WordArray* array() const { return array_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t used() const {
    return array() == nullptr ? 0 : array()->used.load(std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint32_t> size_{0};
  std::atomic<WordArray*> array_{nullptr};
  std::vector<std::uint32_t> free_;  // places below used()
  WordArrays arrays_;
};

}  // namespace skein::inline v0::detail
