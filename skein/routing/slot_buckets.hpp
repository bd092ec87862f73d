// Slots in buckets that can be drawn from at random: each bucket an array without holes, each slot in at most one.
//
// Adding and removing are O(1): the last of a bucket takes the place of the one that goes. For power of two choices,
// weighted and learned routing inside a pool. A value; one thread at a time.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skein::inline v0 {

class SlotBuckets {
 public:
  static constexpr std::uint32_t k_none = UINT32_MAX;

  [[nodiscard]] bool contains(std::uint32_t slot) const {
    return slot < places_.size() && places_[slot].bucket != k_none;
  }
  [[nodiscard]] std::span<const std::uint32_t> bucket(std::uint32_t bucket) const {
    if (bucket >= buckets_.size()) return {};
    return buckets_[bucket];
  }
  [[nodiscard]] std::size_t size(std::uint32_t bucket) const {
    return bucket < buckets_.size() ? buckets_[bucket].size() : 0;
  }

  void add(std::uint32_t bucket, std::uint32_t slot) {
    if (bucket >= buckets_.size()) buckets_.resize(std::size_t{bucket} + 1);
    if (slot >= places_.size()) places_.resize(std::size_t{slot} + 1);
    assert(places_[slot].bucket == k_none);
    places_[slot] = {bucket, static_cast<std::uint32_t>(buckets_[bucket].size())};
    buckets_[bucket].push_back(slot);
  }

  // Nothing happens when it is in none.
  void remove(std::uint32_t slot) {
    if (!contains(slot)) return;
    const Place place = places_[slot];
    std::vector<std::uint32_t>& from = buckets_[place.bucket];
    const std::uint32_t last = from.back();
    from[place.position] = last;
    places_[last].position = place.position;
    from.pop_back();
    places_[slot] = Place{};
  }

 private:
  struct Place {
    std::uint32_t bucket = k_none;
    std::uint32_t position = 0;
  };
  std::vector<Place> places_;
  std::vector<std::vector<std::uint32_t>> buckets_;
};

}  // namespace skein::inline v0
