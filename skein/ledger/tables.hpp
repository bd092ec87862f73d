// Tables that can be frozen at the cost of one pointer per chunk. A chunk that a frozen copy may still be reading is
// copied before it is changed, at most once per freeze. One thread, but for the frozen chunks.
//
// SlotTable: values in slots that are used again; for open tasks, which come and go in any order. Which slot a value
// gets is nobody's business: two tables with the same values may differ in it.
// QueueTable: values under consecutive numbers, added at the end and dropped at the front.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace skein::inline v0::ledger {

inline constexpr std::size_t k_chunk = 256;

template <class T>
using Chunk = std::array<T, k_chunk>;

template <class T>
class SlotTable {
 public:
  using Slot = std::uint32_t;

  [[nodiscard]] Slot add(T value) {
    if (partial_.empty()) {
      partial_.push_back(static_cast<std::uint32_t>(places_.size()));
      places_.emplace_back().listed = true;
    }
    const std::uint32_t n = partial_.back();
    auto& place = places_[n];
    const std::size_t at = first_free(place);
    auto& chunk = writable_chunk(place);
    place.used[at / 64] |= 1ULL << (at % 64);
    if (++place.count == k_chunk) {
      place.listed = false;
      partial_.pop_back();
    }
    chunk[at] = std::move(value);
    return static_cast<Slot>(n * k_chunk + at);
  }

  [[nodiscard]] const T& operator[](Slot slot) const { return (*places_[slot / k_chunk].chunk)[slot % k_chunk]; }
  [[nodiscard]] T& writable(Slot slot) { return writable_chunk(places_[slot / k_chunk])[slot % k_chunk]; }

  // Takes the value out; the slot is free, and holds a T{}.
  [[nodiscard]] T take(Slot slot) {
    const auto n = static_cast<std::uint32_t>(slot / k_chunk);
    const std::size_t at = slot % k_chunk;
    auto& place = places_[n];
    T value = std::exchange(writable_chunk(place)[at], T{});
    place.used[at / 64] &= ~(1ULL << (at % 64));
    --place.count;
    if (!place.listed) {
      place.listed = true;
      partial_.push_back(n);
    } else if (place.count == 0 && partial_.back() != n) {
      // Empty chunks go, but for the one that is used next, or a lone task would make and end a chunk each time.
      place.chunk.reset();
    }
    return value;
  }

  // All chunks with something in them. A free slot in them holds a T{}.
  [[nodiscard]] std::vector<std::shared_ptr<const Chunk<T>>> freeze() {
    ++epoch_;
    return chunks();
  }
  [[nodiscard]] std::vector<std::shared_ptr<const Chunk<T>>> chunks() const {
    std::vector<std::shared_ptr<const Chunk<T>>> out;
    out.reserve(places_.size());
    for (const auto& place : places_) {
      if (place.count != 0) out.push_back(place.chunk);
    }
    return out;
  }

 private:
  struct Place {
    std::shared_ptr<Chunk<T>> chunk;  // null when nothing was ever put in, or everything is gone
    std::uint64_t epoch = 0;          // of freezing, when the chunk was made
    std::array<std::uint64_t, k_chunk / 64> used{};
    std::uint32_t count = 0;
    bool listed = false;  // in partial_
  };

  static std::size_t first_free(const Place& place) {
    for (std::size_t i = 0; i < place.used.size(); ++i) {
      if (~place.used[i] != 0) return i * 64 + static_cast<std::size_t>(std::countr_one(place.used[i]));
    }
    return 0;
  }

  Chunk<T>& writable_chunk(Place& place) {
    if (!place.chunk) {
      place.chunk = std::make_shared<Chunk<T>>();
      place.epoch = epoch_;
    } else if (place.epoch != epoch_) {
      place.chunk = std::make_shared<Chunk<T>>(*place.chunk);
      place.epoch = epoch_;
    }
    return *place.chunk;
  }

  std::vector<Place> places_;
  std::vector<std::uint32_t> partial_;  // places with a free slot, the last is used next
  std::uint64_t epoch_ = 0;
};

// A frozen piece of a QueueTable.
template <class T>
struct FrozenQueue {
  std::vector<std::shared_ptr<const Chunk<T>>> chunks;
  std::uint64_t first = 1;
  std::uint64_t end = 1;

  [[nodiscard]] std::uint64_t size() const { return end - first; }
  [[nodiscard]] const T& operator[](std::uint64_t n) const {
    return (*chunks[static_cast<std::size_t>(n / k_chunk - first / k_chunk)])[n % k_chunk];
  }
};

template <class T>
class QueueTable {
 public:
  // Empty, with the next value under this number.
  explicit QueueTable(std::uint64_t first = 1) : first_(first), end_(first) {}

  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::uint64_t size() const { return end_ - first_; }
  [[nodiscard]] bool empty() const { return end_ == first_; }

  std::uint64_t push(T value) {
    if (places_.empty() || end_ % k_chunk == 0) places_.push_back({std::make_shared<Chunk<T>>(), epoch_});
    writable(end_) = std::move(value);
    return end_++;
  }
  void pop() {
    writable(first_) = T{};
    ++first_;
    if (first_ % k_chunk == 0 || empty()) {
      places_.pop_front();
    }
  }
  [[nodiscard]] const T& operator[](std::uint64_t n) const { return (*place(n).chunk)[n % k_chunk]; }
  [[nodiscard]] T& writable(std::uint64_t n) {
    auto& at = place(n);
    if (at.epoch != epoch_) {
      at.chunk = std::make_shared<Chunk<T>>(*at.chunk);
      at.epoch = epoch_;
    }
    return (*at.chunk)[n % k_chunk];
  }

  [[nodiscard]] FrozenQueue<T> freeze() {
    ++epoch_;
    return view();
  }
  [[nodiscard]] FrozenQueue<T> view() const {
    FrozenQueue<T> out;
    out.chunks.reserve(places_.size());
    for (const auto& each : places_) out.chunks.push_back(each.chunk);
    out.first = first_;
    out.end = end_;
    return out;
  }

 private:
  struct Place {
    std::shared_ptr<Chunk<T>> chunk;
    std::uint64_t epoch = 0;
  };

  [[nodiscard]] const Place& place(std::uint64_t n) const {
    return places_[static_cast<std::size_t>(n / k_chunk - first_ / k_chunk)];
  }
  [[nodiscard]] Place& place(std::uint64_t n) {
    return places_[static_cast<std::size_t>(n / k_chunk - first_ / k_chunk)];
  }

  std::deque<Place> places_;
  std::uint64_t first_;
  std::uint64_t end_;
  std::uint64_t epoch_ = 0;
};

}  // namespace skein::inline v0::ledger
