#include "skein/consensus/storing.hpp"

#include <algorithm>

namespace skein::inline v0::consensus {

void Storing::hold(PeerMessage message) {
  if (fresh_.size() + held_.size() < held_max_) fresh_.push_back(std::move(message));
}

std::uint64_t Storing::hand_out(bool must_sync, Instant now) {
  ++handed_out_;
  if (must_sync) syncing_.emplace_back(handed_out_, now);
  return handed_out_;
}

std::vector<PeerMessage> Storing::settle() {
  if (acknowledged_ >= handed_out_) return std::exchange(fresh_, {});
  for (auto& message : fresh_) held_.push_back({handed_out_, std::move(message)});
  fresh_.clear();
  return {};
}

std::vector<PeerMessage> Storing::acknowledge(std::uint64_t number) {
  acknowledged_ = std::max(acknowledged_, std::min(number, handed_out_));
  while (!syncing_.empty() && syncing_.front().first <= acknowledged_) syncing_.pop_front();
  std::vector<PeerMessage> free;
  while (!held_.empty() && held_.front().number <= acknowledged_) {
    free.push_back(std::move(held_.front().message));
    held_.pop_front();
  }
  return free;
}

std::optional<Instant> Storing::waiting_since() const {
  if (syncing_.empty()) return std::nullopt;
  return syncing_.front().second;
}

}  // namespace skein::inline v0::consensus
