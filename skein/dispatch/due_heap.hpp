// When something falls due next: a binary heap of (time, item) in which an item's time may be changed or taken out.
// Items are small numbers of the caller's (slots); each is in the heap at most once. A value; one thread at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::inline v0::dispatch {

class DueHeap {
 public:
  // Puts the item in, or moves it. Instant::max() takes it out.
  void set(std::uint32_t item, Instant at) {
    if (at == Instant::max()) {
      remove(item);
      return;
    }
    if (item >= place_.size()) place_.resize(static_cast<std::size_t>(item) + 1, k_none);
    if (place_[item] == k_none) {
      place_[item] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({at, item});
      rise(place_[item]);
      return;
    }
    const std::uint32_t here = place_[item];
    heap_[here].at = at;
    settle(here);
  }

  void remove(std::uint32_t item) {
    if (item >= place_.size() || place_[item] == k_none) return;
    const std::uint32_t here = std::exchange(place_[item], k_none);
    const Entry last = heap_.back();
    heap_.pop_back();
    if (here == heap_.size()) return;
    put(here, last);
    settle(here);
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  // The end of time when there is none.
  [[nodiscard]] Instant next() const { return heap_.empty() ? Instant::max() : heap_.front().at; }
  // Takes out the first item; there must be one.
  std::uint32_t pop() {
    const std::uint32_t item = heap_.front().item;
    remove(item);
    return item;
  }
  void clear() {
    heap_.clear();
    place_.clear();
  }

 private:
  struct Entry {
    Instant at;
    std::uint32_t item = 0;
    // Ties by item, so that the order never depends on what was in the heap before.
    friend bool operator<(const Entry& one, const Entry& other) {
      return one.at != other.at ? one.at < other.at : one.item < other.item;
    }
  };
  static constexpr std::uint32_t k_none = UINT32_MAX;

  void put(std::uint32_t here, const Entry& entry) {
    heap_[here] = entry;
    place_[entry.item] = here;
  }
  void settle(std::uint32_t here) {
    if (here > 0 && heap_[here] < heap_[(here - 1) / 2]) {
      rise(here);
    } else {
      sink(here);
    }
  }
  void rise(std::uint32_t here) {
    const Entry entry = heap_[here];
    while (here > 0) {
      const std::uint32_t parent = (here - 1) / 2;
      if (!(entry < heap_[parent])) break;
      put(here, heap_[parent]);
      here = parent;
    }
    put(here, entry);
  }
  void sink(std::uint32_t here) {
    const Entry entry = heap_[here];
    const auto size = static_cast<std::uint32_t>(heap_.size());
    while (true) {
      std::uint32_t child = 2 * here + 1;
      if (child >= size) break;
      if (child + 1 < size && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < entry)) break;
      put(here, heap_[child]);
      here = child;
    }
    put(here, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // per item
};

}  // namespace skein::inline v0::dispatch
