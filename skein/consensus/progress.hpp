// What a leader knows of one member: how far its log is the leader's, what is on its way to it, and whether it may be
// sent more. A plain value. The states are those of the Raft thesis's replication with the names that etcd gave them:
//
//   probe      where the logs part is not known; one message at a time, the next after an answer or a heartbeat's
//   replicate  they agree up to `match`; messages follow each other without waiting, within the limits of Inflight
//   snapshot   what the member needs next is gone from the leader's log; nothing but chunks of a snapshot is sent
//
// 1. match() < next().
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "skein/consensus/entry.hpp"

namespace skein::inline v0::consensus {

// The messages with entries that a member has not acknowledged.
class Inflight {
 public:
  Inflight(std::size_t messages_max, std::uint64_t bytes_max) : messages_max_(messages_max), bytes_max_(bytes_max) {}

  void add(Position last, std::uint64_t bytes);
  // Everything up to `position` has arrived.
  void free_up_to(Position position);
  void clear();
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] std::size_t count() const { return sent_.size(); }

 private:
  struct Sent {
    Position last = 0;
    std::uint64_t bytes = 0;
  };
  std::size_t messages_max_;
  std::uint64_t bytes_max_;  // one message may go beyond it
  std::deque<Sent> sent_;
  std::uint64_t bytes_ = 0;
};

enum class ProgressState : std::uint8_t { probe, replicate, snapshot };
[[nodiscard]] std::string_view name_of(ProgressState state);

class MemberProgress {
 public:
  MemberProgress(Position next, const Inflight& inflight) : next_(next), inflight_(inflight) {}

  void become_probe();
  void become_replicate();
  void become_snapshot(Position snapshot);
  // The snapshot can't be had, or is of no use to the member: a heartbeat's answer begins again.
  void give_up_snapshot();

  // Entries up to `last` were sent, or none (`last` is next() - 1), with this commit position.
  void sent_entries(Position last, std::uint64_t bytes, Position commit);
  // The member has the leader's log up to `position`. False when that was known.
  bool acknowledged(Position position);
  // The member refused what follows `refused`; its own log may agree up to `hint`. False when that is an old answer.
  bool refused(Position refused, Position hint);
  void heard_heartbeat() { paused_ = false; }

  [[nodiscard]] bool is_paused() const { return state_ == ProgressState::snapshot || is_fetching_ || paused_; }
  // A commit position that the member was not told of yet, and could use now.
  [[nodiscard]] bool can_use_commit(Position commit) const { return commit > told_commit_ && told_commit_ < next_ - 1; }

  [[nodiscard]] ProgressState state() const { return state_; }
  [[nodiscard]] Position match() const { return match_; }
  [[nodiscard]] Position next() const { return next_; }
  [[nodiscard]] Position pending_snapshot() const { return pending_snapshot_; }
  [[nodiscard]] Inflight& inflight() { return inflight_; }
  [[nodiscard]] const Inflight& inflight() const { return inflight_; }
  // Its next entries are being read from the disk.
  [[nodiscard]] bool is_fetching() const { return is_fetching_; }
  void set_fetching(bool is_fetching) { is_fetching_ = is_fetching; }

  bool is_active = false;         // heard from since the leader last counted
  bool has_little_disk = false;   // it said so
  std::uint64_t heard_round = 0;  // the newest heartbeat that it answered

 private:
  ProgressState state_ = ProgressState::probe;
  Position match_ = 0;
  Position next_;
  Position told_commit_ = 0;
  Position pending_snapshot_ = 0;
  bool paused_ = false;
  bool is_fetching_ = false;
  Inflight inflight_;
};

}  // namespace skein::inline v0::consensus
