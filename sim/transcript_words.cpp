#include "sim/transcript_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace skein::sim {
namespace {

using consensus::PeerMessageKind;

std::string_view type_of(PeerMessageKind kind) {
  switch (kind) {
    case PeerMessageKind::append:
      return "MsgApp";
    case PeerMessageKind::append_response:
      return "MsgAppResp";
    case PeerMessageKind::heartbeat:
      return "MsgHeartbeat";
    case PeerMessageKind::heartbeat_response:
      return "MsgHeartbeatResp";
    case PeerMessageKind::vote_request:
      return "MsgVote";
    case PeerMessageKind::vote_response:
      return "MsgVoteResp";
    case PeerMessageKind::pre_vote_request:
      return "MsgPreVote";
    case PeerMessageKind::pre_vote_response:
      return "MsgPreVoteResp";
    case PeerMessageKind::snapshot_chunk:
      return "MsgSnap";
    case PeerMessageKind::snapshot_response:
      return "MsgSnapChunkResp";
    case PeerMessageKind::timeout_now:
      return "MsgTimeoutNow";
    case PeerMessageKind::removed:
      return "MsgRemoved";
  }
  return "MsgUnknown";
}

std::string text_of(std::string_view name, const std::vector<consensus::MemberId>& ids) {
  return fmt::format("{}=({})", name, fmt::join(ids, " "));
}

}  // namespace

void TranscriptWords::note_change(const consensus::Proposed& proposed, std::string text) {
  changes_[{proposed.term, proposed.last}] = std::move(text);
}

std::string TranscriptWords::term(consensus::Term term, consensus::Position position) const {
  const bool is_bootstrapped = term == 0 && position > 0 && position <= bootstrapped_;
  return std::to_string(is_bootstrapped ? 1 : term);
}

std::string TranscriptWords::entry(const consensus::Entry& entry) const {
  const std::string place = fmt::format("{}/{}", term(entry.term, entry.position), entry.position);
  if (entry.kind != consensus::EntryKind::membership) return fmt::format("{} EntryNormal \"{}\"", place, entry.bytes);
  const auto found = changes_.find({entry.term, entry.position});
  return fmt::format("{} {}", place, found == changes_.end() ? "EntryMembership" : found->second);
}

std::string TranscriptWords::entries(const std::vector<consensus::Entry>& entries) const {
  if (entries.empty()) return {};
  if (entries.size() == 1) return fmt::format(" Entries:[{}]", entry(entries.front()));
  std::string text = " Entries:[";
  for (const auto& each : entries) text += "\n  " + entry(each);
  return text + "\n]";
}

std::string TranscriptWords::snapshot(const consensus::SnapshotOffer& offer) const {
  return fmt::format(
      "Index:{} Term:{} ConfState:Voters:[{}] VotersOutgoing:[] Learners:[{}] LearnersNext:[] AutoLeave:false",
      offer.position, term(offer.term, offer.position), fmt::join(offer.membership.voters(), " "),
      fmt::join(offer.membership.learners(), " "));
}

std::string TranscriptWords::message(const consensus::PeerMessage& message) const {
  const bool is_refused_append = message.kind == PeerMessageKind::append_response && message.rejects;
  std::string text =
      fmt::format("{}->{} {} Term:{} Log:{}/{}", message.from, message.to, type_of(message.kind), message.term,
                  term(message.log_term, is_refused_append ? message.hint : message.position), message.position);
  if (message.kind == PeerMessageKind::snapshot_response) {
    return text + (message.rejects ? " Rejected" : fmt::format(" Wants:{}", message.hint));
  }
  if (message.rejects) text += fmt::format(" Rejected (Hint: {})", message.hint);
  if (message.commit != 0) text += fmt::format(" Commit:{}", message.commit);
  text += entries(message.entries);
  if (message.chunk == nullptr) return text;
  const consensus::SnapshotChunk& chunk = *message.chunk;
  if (chunk.bytes.size() != chunk.offer.total_bytes) {
    text += fmt::format(" Bytes:{}-{}/{}", chunk.offset, chunk.end(), chunk.offer.total_bytes);
  }
  return text + "\n  Snapshot: " + snapshot(chunk.offer);
}

std::string_view transcript_name_of(consensus::MemberRole role) {
  switch (role) {
    case consensus::MemberRole::follower:
      return "StateFollower";
    case consensus::MemberRole::pre_candidate:
      return "StatePreCandidate";
    case consensus::MemberRole::candidate:
      return "StateCandidate";
    case consensus::MemberRole::leader:
      return "StateLeader";
  }
  return "StateUnknown";
}

std::string transcript_text(const consensus::MemberProgress& progress, bool is_learner) {
  std::string_view state = "StateProbe";
  if (progress.state() == consensus::ProgressState::replicate) state = "StateReplicate";
  if (progress.state() == consensus::ProgressState::snapshot) state = "StateSnapshot";
  std::string text = fmt::format("{} match={} next={}", state, progress.match(), progress.next());
  if (is_learner) text += " learner";
  if (progress.is_paused()) text += " paused";
  if (progress.pending_snapshot() > 0) text += fmt::format(" pendingSnap={}", progress.pending_snapshot());
  if (!progress.is_active) text += " inactive";
  if (progress.inflight().count() > 0) {
    text += fmt::format(" inflight={}{}", progress.inflight().count(), progress.inflight().is_full() ? "[full]" : "");
  }
  return text;
}

std::string transcript_text(const consensus::Membership& membership) {
  std::string text = text_of("voters", membership.voters());
  if (!membership.learners().empty()) text += " " + text_of("learners", membership.learners());
  return text;
}

std::string transcript_text(const consensus::HardState& hard) {
  std::string text = fmt::format("Term:{}", hard.term);
  if (hard.voted_for != 0) text += fmt::format(" Vote:{}", hard.voted_for);
  return text + fmt::format(" Commit:{}", hard.commit);
}

}  // namespace skein::sim
