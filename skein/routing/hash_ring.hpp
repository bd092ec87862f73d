// Consistent hashing: a ring of points, k_points of them for each slot; a key belongs to the next point.
//
// The ring is one array kept in the order of the points' hashes by linear probing: a point's home is its hash scaled to
// the array, and points that find their home taken stand behind it, in order. So a lookup reads one or two cache lines,
// and adding or removing a slot moves only neighbours; there is nothing to sort or merge later. The hashes are the same
// on every machine. A value; one thread at a time. Invariants:
// 1. Occupied cells, read from the first to the last, have hashes that never fall.
// 2. No point stands before its home, and all cells from its home to it are occupied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace skein::inline v0 {

// FNV-1a with a finishing mix: stable across machines and versions, not for secrets.
[[nodiscard]] std::uint64_t stable_hash(std::string_view text);

class HashRing {
 public:
  static constexpr std::uint32_t k_points = 150;
  static constexpr std::uint32_t k_none = UINT32_MAX;

  struct Member {
    std::uint32_t slot = 0;
    std::uint64_t identity = 0;  // stable_hash of the agent's name: decides where its points are
  };

  HashRing() = default;
  // All at once: one sort instead of many insertions.
  explicit HashRing(std::span<const Member> members);

  void add(Member member);
  // `member` as it was added.
  void remove(Member member);
  [[nodiscard]] std::size_t points() const { return points_; }

  // The slots from the key on, one point after another, until `accept` takes one or `limit` points were seen.
  template <class Accept>
  [[nodiscard]] std::uint32_t find(std::uint64_t key, std::size_t limit, Accept&& accept) const {
    if (points_ == 0) return k_none;
    std::size_t cell = first_from(static_cast<std::uint32_t>(key >> 32U));
    std::uint32_t previous = k_none;
    for (std::size_t seen = 0; seen < limit && seen < points_; ++seen) {
      const std::uint32_t slot = cells_[cell].slot;
      if (slot != previous && accept(slot)) return slot;
      previous = slot;
      cell = next_occupied(cell + 1);
    }
    return k_none;
  }

 private:
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t slot = k_none;
  };
  [[nodiscard]] static std::uint32_t point_of(std::uint64_t identity, std::uint32_t number);
  [[nodiscard]] std::size_t home(std::uint32_t hash) const {
    return static_cast<std::size_t>((std::uint64_t{hash} * homes_) >> 32U);
  }
  // The first occupied cell with at least this hash, around the end if need be. There must be one.
  [[nodiscard]] std::size_t first_from(std::uint32_t hash) const;
  [[nodiscard]] std::size_t next_occupied(std::size_t cell) const;
  bool insert(Cell point);
  void erase(Cell point);
  // Puts sorted points into an array with room for `wanted`.
  void lay_out(std::span<const Cell> sorted, std::size_t wanted);
  void grow();

  std::vector<Cell> cells_;  // homes_ cells, and some more behind for those displaced at the end
  std::size_t homes_ = 0;
  std::size_t points_ = 0;
};

}  // namespace skein::inline v0
