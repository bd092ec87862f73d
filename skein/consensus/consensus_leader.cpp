// What a leader does: takes proposals, replicates, decides, confirms reads, changes the membership, hands over.
#include <algorithm>
#include <utility>

#include "skein/base/must_hold.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::inline v0::consensus {

// Time.

void Consensus::tick_leader() {
  if (now_ >= quorum_check_at_) {
    quorum_check_at_ = later(now_, limits_.election_max);
    check_quorum();
    if (role_ != MemberRole::leader) return;
  }
  if (transfer_target_ != 0 && now_ >= transfer_until_) end_transfer();
  check_disk();
  if (role_ == MemberRole::leader && now_ >= heartbeat_at_) broadcast_heartbeat();
}

// A leader that a majority does not answer may have been replaced without knowing (thesis, section 6.2).
void Consensus::check_quorum() {
  if (!limits_.has_check_quorum) return;
  std::size_t active = 0;
  for (auto& [member, progress] : progress_) {
    if (membership().is_voter(member) && (member == self_ || progress.is_active)) ++active;
    progress.is_active = member == self_;
  }
  if (active < membership().quorum()) become_follower(hard_.term, 0);
}

// Others have healthy disks, perhaps. A leader whose own is stuck beats on, but a client that waits for it does not get
// on.
void Consensus::check_disk() {
  const auto since = storing_.waiting_since();
  const bool is_stuck = since && now_ >= later(*since, limits_.disk_stuck_after) && membership().voters().size() > 1;
  if (!is_stuck) {
    is_disk_stuck_ = false;
    return;
  }
  if (transfer_target_ != 0) return;
  if (is_disk_stuck_) return become_follower(hard_.term, 0);
  is_disk_stuck_ = true;
  emit(ConsensusEvent::Kind::disk_stuck, self_, log_.stored());
  MemberId best = 0;
  for (const auto& [member, progress] : progress_) {
    if (member == self_ || !membership().is_voter(member) || progress.state() == ProgressState::snapshot) continue;
    if (best == 0 || progress.match() > progress_.at(best).match()) best = member;
  }
  if (best == 0) return;
  // Only a leader asks, and only for a voter: it is not refused.
  [[maybe_unused]] const auto begun = transfer_to(best);
}

void Consensus::broadcast_heartbeat() {
  heartbeat_at_ = later(now_, limits_.heartbeat);
  const std::uint64_t round = reads_.begin_round();
  for (auto& [member, progress] : progress_) {
    if (member == self_) {
      progress.heard_round = round;
      continue;
    }
    // No further than the member is known to have the same log.
    send({.kind = PeerMessageKind::heartbeat,
          .to = member,
          .commit = std::min(progress.match(), hard_.commit),
          .round = round});
  }
  confirm_reads();
}

// Proposals.

bool Consensus::has_decided_own_term() const { return log_.term_at(hard_.commit) == std::optional(hard_.term); }

std::optional<Refusal> Consensus::refusal_of_proposal() const {
  if (role_ != MemberRole::leader)
    return Refusal{Refusal::Kind::not_leader, "another leads: ask the one named", leader_};
  if (transfer_target_ != 0) {
    return Refusal{Refusal::Kind::transferring, "leadership is being handed over: try again", transfer_target_};
  }
  return std::nullopt;
}

std::expected<Proposed, Refusal> Consensus::propose(std::vector<Entry> batch) {
  if (auto refusal = refusal_of_proposal()) return std::unexpected(std::move(*refusal));
  std::uint64_t bytes = 0;
  for (const auto& entry : batch) bytes += weight_of(entry);
  if (batch.empty() || std::ranges::find(batch, EntryKind::membership, &Entry::kind) != batch.end()) {
    return std::unexpected(Refusal{Refusal::Kind::not_possible,
                                   "a batch holds one command at least, and no change of "
                                   "the membership"});
  }
  if (undecided_bytes_ > 0 && undecided_bytes_ + bytes > limits_.undecided_bytes) {
    return std::unexpected(Refusal{Refusal::Kind::overloaded, "too much is not decided yet: try again later"});
  }
  if (own_from_ == 0) append_first_of_term();
  const Proposed proposed = append_as_leader(std::move(batch));
  broadcast_append();
  return proposed;
}

std::expected<Proposed, Refusal> Consensus::propose_change(std::span<const MemberChange> changes) {
  if (auto refusal = refusal_of_proposal()) return std::unexpected(std::move(*refusal));
  if (memberships_.decided_position() != memberships_.position()) {
    return std::unexpected(Refusal{Refusal::Kind::not_now, "another change of the membership is not decided yet"});
  }
  // Otherwise two leaders could each change the same membership, and their quorums not meet.
  if (!has_decided_own_term()) {
    return std::unexpected(Refusal{Refusal::Kind::not_now, "this leader has not decided anything yet: try again"});
  }
  auto next = membership().changed(changes);
  if (!next) return std::unexpected(Refusal{Refusal::Kind::not_possible, std::move(next.error())});
  if (*next == membership()) {
    return std::unexpected(Refusal{Refusal::Kind::not_possible, "that would change nothing"});
  }
  const auto bytes = std::make_shared<const std::string>(next->encode());
  Entry entry;
  entry.kind = EntryKind::membership;
  entry.bytes = *bytes;
  entry.owner = bytes;
  const Proposed proposed = append_as_leader({std::move(entry)});
  broadcast_append();
  return proposed;
}

// Nothing of earlier terms counts as decided until an entry of this one is (Raft paper, section 5.4.2).
void Consensus::append_first_of_term() {
  if (!founding_.empty() && memberships_.position() == founding_base_) {
    own_from_ = append_as_leader(founding_).first;
    return;
  }
  Entry first;
  first.kind = EntryKind::no_op;
  own_from_ = append_as_leader({std::move(first)}).first;
}

std::optional<Position> Consensus::give_up_unstored() {
  const bool is_alone = role_ == MemberRole::leader && membership().size() == 1 && membership().contains(self_);
  if (!is_alone || log_.stored() == log_.last()) return std::nullopt;
  const Position from = log_.stored() + 1;
  must_hold(from > hard_.commit, "consensus.hpp 4: no decided entry is given up");
  log_.truncate_from(from);
  if (memberships_.truncate_from(from)) follow_membership();
  while (!undecided_.empty() && undecided_.back().last >= from) {
    undecided_bytes_ -= undecided_.back().bytes;
    undecided_.pop_back();
  }
  if (own_from_ >= from) own_from_ = 0;
  return from;
}

Proposed Consensus::append_as_leader(std::vector<Entry> batch) {
  must_hold(role_ == MemberRole::leader, "consensus.hpp 3: only a leader adds to its own log");
  Proposed proposed{.term = hard_.term, .first = log_.last() + 1, .last = log_.last() + batch.size()};
  Tail tail{.last = proposed.last};
  for (auto& entry : batch) {
    entry.position = log_.last() + 1;
    entry.term = hard_.term;
    entry.ends_batch = entry.position == proposed.last;
    tail.bytes += weight_of(entry);
    const bool is_membership = entry.kind == EntryKind::membership;
    if (is_membership) memberships_.add(entry.position, *Membership::decode(entry.bytes));
    log_.append(std::move(entry));
    if (is_membership) follow_membership();
  }
  undecided_.push_back(tail);
  undecided_bytes_ += tail.bytes;
  return proposed;
}

void Consensus::follow_membership() {
  const std::vector<MemberId> members = membership().members();
  std::erase_if(progress_, [&](const auto& each) { return !std::ranges::binary_search(members, each.first); });
  for (const MemberId member : members) {
    const auto [at, is_new] = progress_.try_emplace(
        member, MemberProgress(log_.last(), Inflight(limits_.inflight_messages, limits_.inflight_bytes)));
    // It can't have answered yet, and must not count as lost for that.
    if (is_new) at->second.is_active = true;
  }
  sends_.keep_only(members);
  if (transfer_target_ != 0 && !membership().is_voter(transfer_target_)) end_transfer();
  emit(ConsensusEvent::Kind::membership_changed, 0, memberships_.position());
}

// Replication.

void Consensus::broadcast_append() {
  for (auto& [member, progress] : progress_) {
    if (member != self_) (void)send_append(member, progress, true);
  }
}

// True when a message went out.
bool Consensus::send_append(MemberId to, MemberProgress& progress, bool even_if_empty) {
  if (progress.is_paused()) return false;
  if (!log_.term_at(progress.next() - 1)) {
    begin_snapshot(to, progress);
    return false;
  }
  std::vector<Entry> entries;
  const bool has_room = progress.state() != ProgressState::replicate || !progress.inflight().is_full();
  if (has_room && progress.next() <= log_.last()) {
    if (!log_.has_in_memory(progress.next())) {
      progress.set_fetching(true);
      out_.fetches.push_back({to, progress.next(), limits_.message_bytes});
      return false;
    }
    entries = log_.read(progress.next(), limits_.message_bytes);
  }
  if (entries.empty() && !even_if_empty) return false;
  send_entries(to, progress, std::move(entries));
  return true;
}

void Consensus::send_entries(MemberId to, MemberProgress& progress, std::vector<Entry> entries) {
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) bytes += weight_of(entry);
  const Position before = progress.next() - 1;
  const Position last = before + entries.size();
  send({.kind = PeerMessageKind::append,
        .to = to,
        .position = before,
        .log_term = log_.term_at(before).value_or(0),
        .commit = hard_.commit,
        .entries = std::move(entries)});
  progress.sent_entries(last, bytes, hard_.commit);
}

void Consensus::begin_snapshot(MemberId to, MemberProgress& progress) {
  // It must lead to where the log goes on; and a member that does not answer would only be in the way.
  if (!progress.is_active || !snapshot_ || snapshot_->position < log_.base()) return;
  progress.become_snapshot(snapshot_->position);
  sends_.begin(to, *snapshot_, out_.chunks_wanted);
}

void Consensus::chunk_read(MemberId to, SnapshotChunk chunk) {
  auto shared = sends_.read(to, std::move(chunk), now_);
  if (shared != nullptr) send({.kind = PeerMessageKind::snapshot_chunk, .to = to, .chunk = std::move(shared)});
}

// A newer one has taken its place, most likely; the next heartbeat's answer begins with that.
void Consensus::chunk_unreadable(MemberId to, Position snapshot) {
  const auto found = progress_.find(to);
  if (found == progress_.end() || !sends_.is_sending(to, snapshot)) return;
  sends_.end(to);
  found->second.give_up_snapshot();
}

// Answers.

void Consensus::on_append_response(const PeerMessage& message) {
  const auto found = progress_.find(message.from);
  if (role_ != MemberRole::leader || found == progress_.end()) return;
  MemberProgress& progress = found->second;
  if (!message.rejects && message.position > log_.last()) {
    emit(ConsensusEvent::Kind::refused, message.from, message.position);
    return;
  }
  progress.is_active = true;
  progress.has_little_disk = message.has_little_disk;
  if (!message.rejects) return acknowledged(message.from, progress, message.position);
  Position hint = message.hint;
  if (message.log_term > 0) hint = log_.terms().last_with_term_up_to(hint, message.log_term);
  if (!progress.refused(message.position, hint)) return;
  if (progress.state() == ProgressState::replicate) progress.become_probe();
  (void)send_append(message.from, progress, true);
}

void Consensus::acknowledged(MemberId from, MemberProgress& progress, Position position) {
  const bool is_news = progress.acknowledged(position);
  if (!is_news && !(progress.match() == position && progress.state() == ProgressState::probe)) return;
  switch (progress.state()) {
    case ProgressState::probe:
      progress.become_replicate();
      break;
    case ProgressState::snapshot:
      // Whatever it got it from, the log goes on from there.
      if (progress.match() >= log_.base()) {
        sends_.end(from);
        progress.become_replicate();
      }
      break;
    case ProgressState::replicate:
      progress.inflight().free_up_to(position);
      break;
  }
  if (decide_by_majority()) {
    broadcast_append();
  } else if (progress.can_use_commit(hard_.commit)) {
    (void)send_append(from, progress, true);
  }
  while (send_append(from, progress, false)) {
  }
  if (from == transfer_target_ && progress.match() == log_.last())
    send({.kind = PeerMessageKind::timeout_now, .to = from});
  step_down_if_removed();
}

void Consensus::on_heartbeat_response(const PeerMessage& message) {
  const auto found = progress_.find(message.from);
  if (role_ != MemberRole::leader || found == progress_.end()) return;
  MemberProgress& progress = found->second;
  progress.is_active = true;
  progress.has_little_disk = message.has_little_disk;
  progress.heard_heartbeat();
  if (progress.match() < log_.last() || progress.state() == ProgressState::probe) {
    (void)send_append(message.from, progress, true);
  }
  sends_.send_again(message.from, now_ - limits_.election_max, out_.chunks_wanted);
  progress.heard_round = std::max(progress.heard_round, std::min(message.round, reads_.round()));
  confirm_reads();
}

void Consensus::on_snapshot_response(const PeerMessage& message) {
  const auto found = progress_.find(message.from);
  if (role_ != MemberRole::leader || found == progress_.end()) return;
  found->second.is_active = true;
  found->second.has_little_disk = message.has_little_disk;
  if (message.rejects) return chunk_unreadable(message.from, message.position);
  sends_.answered(message.from, message.position, message.hint, out_.chunks_wanted);
}

// Deciding.

bool Consensus::decide_by_majority() {
  std::vector<std::uint64_t> stored;
  for (const MemberId voter : membership().voters()) stored.push_back(progress_.at(voter).match());
  const Position position = reached_by_majority(stored);
  if (position <= hard_.commit || position > log_.last()) return false;
  if (log_.term_at(position) != std::optional(hard_.term)) return false;
  decide_up_to(position);
  for (const std::uint64_t ticket : std::exchange(early_reads_, {})) read(ticket);
  return true;
}

void Consensus::step_down_if_removed() {
  if (role_ != MemberRole::leader || membership().is_voter(self_)) return;
  if (memberships_.decided_position() == memberships_.position()) become_follower(hard_.term, 0);
}

// Reads.

void Consensus::read(std::uint64_t ticket) {
  if (!take_read(ticket)) out_.reads.push_back({ticket, false, 0});
}

bool Consensus::take_read(std::uint64_t ticket) {
  if (role_ != MemberRole::leader) return false;
  if (!has_decided_own_term()) {
    // A leader of no decided entry may not know of what its predecessor decided.
    if (early_reads_.size() >= limits_.reads_waiting) return false;
    early_reads_.push_back(ticket);
    return true;
  }
  if (membership().size() == 1) {
    // There is nobody to ask.
    out_.reads.push_back({ticket, true, hard_.commit});
    return true;
  }
  if (!reads_.add(ticket, hard_.commit)) return false;
  if (reads_.wants_round()) broadcast_heartbeat();
  return true;
}

void Consensus::confirm_reads() {
  if (reads_.empty()) return;
  std::vector<std::uint64_t> rounds;
  for (const MemberId voter : membership().voters()) rounds.push_back(progress_.at(voter).heard_round);
  for (const auto& read : reads_.answered(reached_by_majority(rounds))) {
    out_.reads.push_back({read.ticket, true, read.position});
  }
  if (reads_.wants_round()) broadcast_heartbeat();
}

void Consensus::refuse_reads() {
  for (const auto& read : reads_.take_all()) out_.reads.push_back({read.ticket, false, 0});
  for (const std::uint64_t ticket : std::exchange(early_reads_, {})) out_.reads.push_back({ticket, false, 0});
}

// Handing over.

std::expected<void, Refusal> Consensus::transfer_to(MemberId member) {
  if (role_ != MemberRole::leader) {
    return std::unexpected(Refusal{Refusal::Kind::not_leader, "another leads: ask the one named", leader_});
  }
  if (member == self_) return {};
  if (!membership().is_voter(member)) {
    return std::unexpected(Refusal{Refusal::Kind::not_possible, "only a voter can lead: promote that member first"});
  }
  if (transfer_target_ == member) return {};
  if (transfer_target_ != 0) end_transfer();
  transfer_target_ = member;
  transfer_until_ = later(now_, limits_.election_max);
  MemberProgress& progress = progress_.at(member);
  if (progress.match() == log_.last()) {
    send({.kind = PeerMessageKind::timeout_now, .to = member});
  } else {
    (void)send_append(member, progress, true);
  }
  return {};
}

void Consensus::end_transfer() {
  if (transfer_target_ == 0) return;
  emit(ConsensusEvent::Kind::transfer_ended, std::exchange(transfer_target_, 0), hard_.commit);
}

void Consensus::stop_leading() {
  refuse_reads();
  end_transfer();
  progress_.clear();
  sends_.clear();
  undecided_.clear();
  undecided_bytes_ = 0;
}

bool Consensus::has_quorum_room() const {
  std::size_t roomy = 0;
  for (const MemberId voter : membership().voters()) {
    const auto found = progress_.find(voter);
    const bool has_little =
        voter == self_ ? has_little_disk_ : found != progress_.end() && found->second.has_little_disk;
    if (!has_little) ++roomy;
  }
  return roomy >= membership().quorum();
}

}  // namespace skein::inline v0::consensus
