// The memberships that a log holds, from the one in force at the decided position on. A plain value.
//
// 1. There is always one; the newest is in force, whether its entry is decided or not.
#pragma once

#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "skein/consensus/entry.hpp"
#include "skein/consensus/membership.hpp"

namespace skein::inline v0::consensus {

class MembershipHistory {
 public:
  // `first` is in force from `position` on; `later` are those of entries after it, ascending.
  MembershipHistory(Position position, Membership first, const std::vector<std::pair<Position, Membership>>& later);

  void add(Position position, Membership membership) { entries_.emplace_back(position, std::move(membership)); }
  // The log was truncated: what stood from `from` on is not in force any more. True when that changed something.
  bool truncate_from(Position from);
  // Those before the one in force at `position` are needed no more.
  void decide_up_to(Position position);

  [[nodiscard]] const Membership& in_force() const { return entries_.back().second; }
  [[nodiscard]] Position position() const { return entries_.back().first; }
  // The newest that is decided.
  [[nodiscard]] const Membership& decided() const { return entries_.front().second; }
  [[nodiscard]] Position decided_position() const { return entries_.front().first; }

 private:
  std::deque<std::pair<Position, Membership>> entries_;
};

}  // namespace skein::inline v0::consensus
