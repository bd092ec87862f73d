#include "skein/consensus/read_rounds.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skein::inline v0::consensus {

bool ReadRounds::add(std::uint64_t ticket, Position position) {
  if (waiting_.size() >= reads_max_) return false;
  waiting_.push_back({ticket, position, round_ + 1});
  return true;
}

std::vector<ReadRounds::Waiting> ReadRounds::answered(std::uint64_t round) {
  answered_ = std::max(answered_, round);
  std::vector<Waiting> confirmed;
  while (!waiting_.empty() && waiting_.front().round <= answered_) {
    confirmed.push_back(waiting_.front());
    waiting_.pop_front();
  }
  return confirmed;
}

std::vector<ReadRounds::Waiting> ReadRounds::take_all() {
  std::vector<Waiting> all(waiting_.begin(), waiting_.end());
  waiting_.clear();
  return all;
}

}  // namespace skein::inline v0::consensus
