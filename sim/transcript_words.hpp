// What members of a group say and are, in etcd/raft's words: the text form of messages, entries, progress and roles
// that transcripts have. Plain values and pure functions.
//
// Ours has no counterpart of some of their texts, and the other way round:
//   snapshot_chunk that is the whole snapshot   MsgSnap; a part of one says which bytes it is
//   snapshot_response                           MsgSnapChunkResp, which is ours alone
//   removed                                     MsgRemoved, likewise
//   term of the bootstrapped positions          1 in theirs, 0 in ours: a log must not be ahead of its hard state
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "skein/consensus/consensus.hpp"

namespace skein::sim {

class TranscriptWords {
 public:
  // Positions up to this one were there from the beginning.
  void set_bootstrapped(consensus::Position position) { bootstrapped_ = position; }
  // The text of a change of the membership, which its entry does not hold.
  void note_change(const consensus::Proposed& proposed, std::string text);

  [[nodiscard]] std::string term(consensus::Term term, consensus::Position position) const;
  [[nodiscard]] std::string entry(const consensus::Entry& entry) const;
  [[nodiscard]] std::string snapshot(const consensus::SnapshotOffer& offer) const;
  // Without an end of line; further lines are indented by two.
  [[nodiscard]] std::string message(const consensus::PeerMessage& message) const;
  // " Entries:[...]", or nothing.
  [[nodiscard]] std::string entries(const std::vector<consensus::Entry>& entries) const;

 private:
  consensus::Position bootstrapped_ = 0;
  std::map<std::pair<consensus::Term, consensus::Position>, std::string> changes_;
};

[[nodiscard]] std::string_view transcript_name_of(consensus::MemberRole role);
[[nodiscard]] std::string transcript_text(const consensus::MemberProgress& progress, bool is_learner);
// "voters=(1 2) learners=(3)", as far as there are some.
[[nodiscard]] std::string transcript_text(const consensus::Membership& membership);
[[nodiscard]] std::string transcript_text(const consensus::HardState& hard);

}  // namespace skein::sim
