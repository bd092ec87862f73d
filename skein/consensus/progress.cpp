#include "skein/consensus/progress.hpp"

#include <algorithm>

namespace skein::inline v0::consensus {

void Inflight::add(Position last, std::uint64_t bytes) {
  sent_.push_back({last, bytes});
  bytes_ += bytes;
}

void Inflight::free_up_to(Position position) {
  while (!sent_.empty() && sent_.front().last <= position) {
    bytes_ -= sent_.front().bytes;
    sent_.pop_front();
  }
}

void Inflight::clear() {
  sent_.clear();
  bytes_ = 0;
}

bool Inflight::is_full() const { return sent_.size() >= messages_max_ || bytes_ >= bytes_max_; }

std::string_view name_of(ProgressState state) {
  switch (state) {
    case ProgressState::probe:
      return "probe";
    case ProgressState::replicate:
      return "replicate";
    case ProgressState::snapshot:
      return "snapshot";
  }
  return "unknown";
}

void MemberProgress::become_probe() {
  // After a snapshot the member has that, if the snapshot arrived; if not, the first probe tells.
  next_ = state_ == ProgressState::snapshot ? std::max(match_ + 1, pending_snapshot_ + 1) : match_ + 1;
  state_ = ProgressState::probe;
  pending_snapshot_ = 0;
  paused_ = false;
  told_commit_ = std::min(told_commit_, next_ - 1);
  inflight_.clear();
}

void MemberProgress::become_replicate() {
  state_ = ProgressState::replicate;
  pending_snapshot_ = 0;
  paused_ = false;
  next_ = match_ + 1;
  inflight_.clear();
}

void MemberProgress::become_snapshot(Position snapshot) {
  state_ = ProgressState::snapshot;
  pending_snapshot_ = snapshot;
  paused_ = false;
  next_ = snapshot + 1;
  told_commit_ = snapshot;
  inflight_.clear();
}

void MemberProgress::give_up_snapshot() {
  pending_snapshot_ = 0;
  become_probe();
  paused_ = true;
}

void MemberProgress::sent_entries(Position last, std::uint64_t bytes, Position commit) {
  const bool has_entries = last >= next_;
  if (state_ == ProgressState::replicate) {
    if (has_entries) {
      next_ = last + 1;
      inflight_.add(last, bytes);
    }
    paused_ = inflight_.is_full();
  } else if (has_entries) {
    paused_ = true;
  }
  told_commit_ = std::max(told_commit_, commit);
}

bool MemberProgress::acknowledged(Position position) {
  if (position <= match_) return false;
  match_ = position;
  next_ = std::max(next_, position + 1);
  paused_ = false;
  return true;
}

bool MemberProgress::refused(Position refused, Position hint) {
  if (state_ == ProgressState::replicate) {
    if (refused <= match_) return false;
    next_ = match_ + 1;
  } else {
    if (next_ - 1 != refused) return false;
    next_ = std::max(std::min(refused, hint + 1), match_ + 1);
    paused_ = false;
  }
  told_commit_ = std::min(told_commit_, next_ - 1);
  return true;
}

}  // namespace skein::inline v0::consensus
