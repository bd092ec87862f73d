#include "skein/routing/hash_ring.hpp"

#include <algorithm>

namespace skein::inline v0 {
namespace {

constexpr std::size_t k_smallest = 256;
constexpr std::size_t k_tail = 64;  // cells behind the last home; an array that needs more is laid out larger

constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

// At most three cells in four are taken, so that runs of occupied cells stay short.
constexpr bool too_full(std::size_t points, std::size_t homes) { return points * 4 > homes * 3; }

}  // namespace

std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3ULL;
  return mix(hash);
}

std::uint32_t HashRing::point_of(std::uint64_t identity, std::uint32_t number) {
  return static_cast<std::uint32_t>(mix(identity + (number + 1) * 0x9e3779b97f4a7c15ULL) >> 32U);
}

HashRing::HashRing(std::span<const Member> members) {
  std::vector<Cell> sorted;
  sorted.reserve(members.size() * k_points);
  for (const Member& member : members) {
    for (std::uint32_t i = 0; i < k_points; ++i) sorted.push_back({point_of(member.identity, i), member.slot});
  }
  std::ranges::sort(sorted, {}, &Cell::hash);
  lay_out(sorted, sorted.size() * 3 / 2);
}

void HashRing::lay_out(std::span<const Cell> sorted, std::size_t wanted) {
  for (homes_ = std::max(k_smallest, wanted);; homes_ += homes_ / 4) {
    cells_.assign(homes_ + k_tail, Cell{});
    std::size_t free = 0;
    bool fits = true;
    for (const Cell& point : sorted) {
      const std::size_t at = std::max(home(point.hash), free);
      if (at >= cells_.size()) {
        fits = false;
        break;
      }
      cells_[at] = point;
      free = at + 1;
    }
    if (fits) break;
  }
  points_ = sorted.size();
}

void HashRing::grow() {
  std::vector<Cell> sorted;
  sorted.reserve(points_);
  std::ranges::copy_if(cells_, std::back_inserter(sorted), [](const Cell& cell) { return cell.slot != k_none; });
  lay_out(sorted, std::max(points_ * 2, homes_ + homes_ / 4));
}

std::size_t HashRing::next_occupied(std::size_t cell) const {
  for (;; ++cell) {
    if (cell >= cells_.size()) cell = 0;
    if (cells_[cell].slot != k_none) return cell;
  }
}

std::size_t HashRing::first_from(std::uint32_t hash) const {
  std::size_t cell = home(hash);
  while (cell < cells_.size() && (cells_[cell].slot == k_none || cells_[cell].hash < hash)) ++cell;
  return next_occupied(cell);
}

// False when the array has no room behind for what this displaces.
bool HashRing::insert(Cell point) {
  std::size_t cell = home(point.hash);
  while (cell < cells_.size() && cells_[cell].slot != k_none && cells_[cell].hash <= point.hash) ++cell;
  std::size_t end = cell;
  while (end < cells_.size() && cells_[end].slot != k_none) ++end;
  if (end >= cells_.size()) return false;
  const auto at = cells_.begin();
  std::move_backward(at + static_cast<std::ptrdiff_t>(cell), at + static_cast<std::ptrdiff_t>(end),
                     at + static_cast<std::ptrdiff_t>(end + 1));
  cells_[cell] = point;
  ++points_;
  return true;
}

void HashRing::erase(Cell point) {
  std::size_t cell = home(point.hash);
  while (cell < cells_.size() && cells_[cell].slot != k_none && cells_[cell].hash <= point.hash) {
    if (cells_[cell].hash == point.hash && cells_[cell].slot == point.slot) {
      // Those behind move up, until one stands at its home.
      while (cell + 1 < cells_.size() && cells_[cell + 1].slot != k_none && home(cells_[cell + 1].hash) <= cell) {
        cells_[cell] = cells_[cell + 1];
        ++cell;
      }
      cells_[cell] = Cell{};
      --points_;
      return;
    }
    ++cell;
  }
}

void HashRing::add(Member member) {
  if (homes_ == 0 || too_full(points_ + k_points, homes_)) grow();
  for (std::uint32_t i = 0; i < k_points; ++i) {
    const Cell point{point_of(member.identity, i), member.slot};
    while (!insert(point)) grow();
  }
}

void HashRing::remove(Member member) {
  for (std::uint32_t i = 0; i < k_points; ++i) erase({point_of(member.identity, i), member.slot});
}

}  // namespace skein::inline v0
