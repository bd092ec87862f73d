// What a member does with what its leader sends: entries, heartbeats, snapshots (Raft thesis, sections 3.5 and 5.3).
#include <algorithm>
#include <utility>

#include "skein/base/must_hold.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::inline v0::consensus {

// A leader says, with words of its own term, that it leads. False when that can't be.
bool Consensus::follow(const PeerMessage& message) {
  if (role_ == MemberRole::leader) {
    emit(ConsensusEvent::Kind::refused, message.from, message.position);
    return false;
  }
  if (role_ != MemberRole::follower) {
    become_follower(hard_.term, message.from);
    return true;
  }
  set_leader(message.from);
  heard_at_ = now_;
  reset_election_timer();
  return true;
}

void Consensus::answer_append(MemberId to, Position stored) {
  hold({.kind = PeerMessageKind::append_response, .to = to, .position = stored});
}

void Consensus::refuse_append(const PeerMessage& message) {
  // The newest entry that could be in both logs: what follows needs not be tried, one by one.
  const Position hint = log_.terms().last_with_term_up_to(std::min(message.position, log_.last()), message.log_term);
  hold({.kind = PeerMessageKind::append_response,
        .rejects = true,
        .to = message.from,
        .position = message.position,
        .log_term = log_.term_at(hint).value_or(0),
        .hint = hint});
}

bool Consensus::is_well_formed(const PeerMessage& message) const {
  Position next = message.position + 1;
  Term term = message.log_term;
  for (const auto& entry : message.entries) {
    if (entry.position != next++ || entry.term < term || entry.term > message.term) return false;
    if (entry.kind == EntryKind::membership && !Membership::decode(entry.bytes)) return false;
    term = entry.term;
  }
  return message.position <= ~Position{0} - message.entries.size() - 1;
}

// The first of the entries that this log does not have, or has with another term; the position after them if none.
Position Consensus::first_conflict(const std::vector<Entry>& entries) const {
  for (const auto& entry : entries) {
    if (log_.term_at(entry.position) != std::optional(entry.term)) return entry.position;
  }
  return entries.empty() ? log_.last() + 1 : entries.back().position + 1;
}

void Consensus::on_append(PeerMessage message) {
  if (!follow(message)) return;
  if (!is_well_formed(message)) {
    emit(ConsensusEvent::Kind::refused, message.from, message.position);
    return;
  }
  if (message.position < hard_.commit) return answer_append(message.from, hard_.commit);
  if (log_.term_at(message.position) != std::optional(message.log_term)) return refuse_append(message);
  const Position conflict = first_conflict(message.entries);
  const Position end = message.position + message.entries.size();
  if (conflict <= end && conflict <= hard_.commit) {
    emit(ConsensusEvent::Kind::refused, message.from, conflict);
    return;
  }
  if (conflict <= end) {
    // The leader sends them again, once this disk has caught up.
    if (log_.unstored_bytes() > limits_.unstored_bytes) return;
    if (conflict <= log_.last()) truncate_from(conflict);
    for (auto& entry : message.entries) {
      if (entry.position >= conflict) append_as_follower(std::move(entry));
    }
  }
  const Position decided = std::min(message.commit, end);
  if (decided > hard_.commit) decide_up_to(decided);
  answer_append(message.from, end);
}

void Consensus::truncate_from(Position from) {
  must_hold(from > hard_.commit, "consensus.hpp 4: no decided entry is replaced");
  log_.truncate_from(from);
  if (memberships_.truncate_from(from)) emit(ConsensusEvent::Kind::membership_changed, 0, memberships_.position());
}

void Consensus::append_as_follower(Entry entry) {
  if (entry.kind == EntryKind::membership) {
    memberships_.add(entry.position, *Membership::decode(entry.bytes));
    emit(ConsensusEvent::Kind::membership_changed, 0, entry.position);
  }
  log_.append(std::move(entry));
}

void Consensus::on_heartbeat(const PeerMessage& message) {
  if (!follow(message)) return;
  const Position decided = std::min(message.commit, log_.last());
  if (decided > hard_.commit) decide_up_to(decided);
  // Says nothing about what is stored, and must not wait for a slow disk.
  send({.kind = PeerMessageKind::heartbeat_response, .to = message.from, .round = message.round});
}

void Consensus::on_chunk(const PeerMessage& message) {
  if (!follow(message)) return;
  const SnapshotChunk* chunk = message.chunk.get();
  if (chunk == nullptr || chunk->end() > chunk->offer.total_bytes || chunk->offer.term > message.term ||
      (chunk->bytes.empty() && chunk->offer.total_bytes > 0)) {
    emit(ConsensusEvent::Kind::refused, message.from, 0);
    return;
  }
  const SnapshotOffer& offer = chunk->offer;
  if (offer.position <= hard_.commit || has_all_of(offer)) return answer_append(message.from, hard_.commit);
  switch (receipt_.take(message.from, *chunk)) {
    case SnapshotReceipt::Next::write:
      out_.chunks.push_back({message.chunk});
      return;
    case SnapshotReceipt::Next::answer:
      answer_chunk(message.from, offer.position, receipt_.wanted(), false);
      return;
    case SnapshotReceipt::Next::wait:
      return;
  }
}

// A log that has the snapshot's last entry has all of it, and what follows may be acknowledged: it must not go with an
// install (Raft paper, figure 13, step 6). What the snapshot covers is decided.
bool Consensus::has_all_of(const SnapshotOffer& offer) {
  if (log_.term_at(offer.position) != std::optional(offer.term)) return false;
  decide_up_to(offer.position);
  return true;
}

void Consensus::answer_chunk(MemberId to, Position snapshot, std::uint64_t wanted, bool rejects) {
  send(
      {.kind = PeerMessageKind::snapshot_response, .rejects = rejects, .to = to, .position = snapshot, .hint = wanted});
}

void Consensus::chunk_written(Position snapshot, std::uint64_t end, ChunkResult result) {
  if (!receipt_.is_of(snapshot)) return;
  const MemberId from = receipt_.from();
  if (result == ChunkResult::written) {
    receipt_.written(end);
    answer_chunk(from, snapshot, end, false);
    return;
  }
  const SnapshotOffer offer = receipt_.offer();
  receipt_.clear();
  if (result == ChunkResult::refused) {
    answer_chunk(from, snapshot, 0, true);
  } else if (offer.position <= hard_.commit || has_all_of(offer)) {
    answer_append(from, hard_.commit);
  } else {
    install(offer);
    answer_append(from, offer.position);
  }
}

// From here on the log goes on after the snapshot, whatever it held.
void Consensus::install(const SnapshotOffer& offer) {
  must_hold(offer.position > hard_.commit, "consensus.hpp 4: the decided position never goes back");
  log_.restart_after(offer.position, offer.term);
  memberships_ = MembershipHistory(offer.position, offer.membership, {});
  hard_.commit = offer.position;
  snapshot_ = offer;
  to_install_ = offer;
  if (role_ != MemberRole::follower) become_follower(hard_.term, leader_);
  emit(ConsensusEvent::Kind::membership_changed, 0, offer.position);
}

void Consensus::installed() {
  install_number_ = 0;
  apply_.restart_after(install_position_);
  out_.restore = install_position_;
}

// A member that hears a leader learns the membership from its log; this message may be older. An entry of its own log
// that is not decided does not contradict the message.
void Consensus::on_removed(const PeerMessage& message) {
  if (leader_ != 0 || !membership().contains(message.from)) return;
  const Position known = memberships_.decided_position();
  if (message.position < known || (message.position == known && memberships_.decided().contains(self_))) return;
  emit(ConsensusEvent::Kind::removed, message.from, message.position);
}

}  // namespace skein::inline v0::consensus
