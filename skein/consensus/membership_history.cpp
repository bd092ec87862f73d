#include "skein/consensus/membership_history.hpp"

namespace skein::inline v0::consensus {

MembershipHistory::MembershipHistory(Position position, Membership first,
                                     const std::vector<std::pair<Position, Membership>>& later) {
  entries_.emplace_back(position, std::move(first));
  entries_.insert(entries_.end(), later.begin(), later.end());
}

bool MembershipHistory::truncate_from(Position from) {
  const std::size_t before = entries_.size();
  while (entries_.size() > 1 && entries_.back().first >= from) entries_.pop_back();
  return entries_.size() != before;
}

void MembershipHistory::decide_up_to(Position position) {
  while (entries_.size() > 1 && entries_[1].first <= position) entries_.pop_front();
}

}  // namespace skein::inline v0::consensus
