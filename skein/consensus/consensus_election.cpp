// Elections: campaigns, votes, and the changes of role that follow (Raft thesis, sections 3.4, 4.2.3 and 9.6).
#include <algorithm>
#include <utility>

#include "skein/base/must_hold.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::inline v0::consensus {

void Consensus::reset_election_timer() {
  const Duration spread = limits_.election_max - limits_.election_min;
  const auto extra = Duration(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(spread.count()) + 1)));
  election_at_ = later(now_, limits_.election_min + extra);
}

bool Consensus::hears_leader() const {
  if (!limits_.has_check_quorum || leader_ == 0) return false;
  return role_ == MemberRole::leader || now_ < later(heard_at_, limits_.election_min);
}

// No candidacy on entries that might be lost: votes are given for the log that the request names. And none while the
// last vote is not stored. A member that an undecided entry removes may still campaign: it may be the only one that can
// get it decided, since it votes for nobody without it (thesis, section 4.2.2).
bool Consensus::can_campaign() const {
  const bool is_voter = membership().is_voter(self_) || memberships_.decided().is_voter(self_);
  return role_ != MemberRole::leader && is_voter && log_.stored() == log_.last() && !to_install_ &&
         !storing_.waiting_since() && hard_.term < k_term_max;
}

bool Consensus::is_up_to_date(Term term, Position position) const {
  return term > log_.last_term() || (term == log_.last_term() && position >= log_.last());
}

void Consensus::campaign() {
  if (can_campaign()) begin_campaign(limits_.has_pre_vote, false);
}

void Consensus::set_leader(MemberId leader) {
  if (leader_ == leader) return;
  leader_ = leader;
  emit(ConsensusEvent::Kind::leader_changed, leader, hard_.commit);
}

void Consensus::become_follower(Term term, MemberId leader) {
  if (role_ == MemberRole::leader) stop_leading();
  if (term != hard_.term) {
    must_hold(term > hard_.term, "consensus.hpp 1: the term never goes back");
    hard_.term = term;
    hard_.voted_for = 0;
  }
  role_ = MemberRole::follower;
  votes_.clear();
  set_leader(leader);
  heard_at_ = now_;
  reset_election_timer();
}

void Consensus::begin_campaign(bool is_pre, bool is_transfer) {
  if (is_pre) {
    role_ = MemberRole::pre_candidate;
  } else {
    role_ = MemberRole::candidate;
    ++hard_.term;
    hard_.voted_for = self_;
  }
  votes_.clear();
  set_leader(0);
  reset_election_timer();
  const Term term = is_pre ? hard_.term + 1 : hard_.term;
  for (const MemberId voter : membership().voters()) {
    if (voter == self_) continue;
    send({.kind = is_pre ? PeerMessageKind::pre_vote_request : PeerMessageKind::vote_request,
          .is_transfer = is_transfer,
          .to = voter,
          .term = term,
          .position = log_.last(),
          .log_term = log_.last_term()});
  }
  if (is_pre) {
    count_vote(self_, true);
  } else {
    // Its own vote counts, as all others do, once it is stored.
    hold({.kind = PeerMessageKind::vote_response, .to = self_});
  }
}

// A removed member that does not know it campaigns until it is told. The members it asks may be followers only, if it
// does not know the members that joined since.
void Consensus::tell_if_removed(MemberId candidate) {
  if (leader_ == 0 || membership().contains(candidate) || !membership().contains(self_)) return;
  if (memberships_.decided_position() != memberships_.position()) return;
  send({.kind = PeerMessageKind::removed, .to = candidate, .position = hard_.commit});
}

void Consensus::on_vote_request(const PeerMessage& message) {
  const bool is_pre = message.kind == PeerMessageKind::pre_vote_request;
  const bool is_free = hard_.voted_for == message.from || (hard_.voted_for == 0 && leader_ == 0) ||
                       (is_pre && message.term > hard_.term);
  const bool is_granted = is_free && is_up_to_date(message.log_term, message.position);
  if (!is_granted) tell_if_removed(message.from);
  if (is_granted && !is_pre) {
    hard_.voted_for = message.from;
    heard_at_ = now_;
    reset_election_timer();
  }
  hold({.kind = is_pre ? PeerMessageKind::pre_vote_response : PeerMessageKind::vote_response,
        .rejects = !is_granted,
        .to = message.from,
        .term = is_granted ? message.term : hard_.term});
}

void Consensus::on_vote_response(const PeerMessage& message) {
  const bool is_pre = message.kind == PeerMessageKind::pre_vote_response;
  const MemberRole expected = is_pre ? MemberRole::pre_candidate : MemberRole::candidate;
  if (role_ != expected) return;
  // A pre-vote is granted for the term of the campaign that it asks about, which may be over.
  if (is_pre && !message.rejects && message.term != hard_.term + 1) return;
  count_vote(message.from, !message.rejects);
}

void Consensus::count_vote(MemberId voter, bool is_granted) {
  votes_.try_emplace(voter, is_granted);
  std::vector<std::optional<bool>> votes;
  for (const MemberId each : membership().voters()) {
    const auto found = votes_.find(each);
    votes.push_back(found == votes_.end() ? std::nullopt : std::optional(found->second));
  }
  switch (result_of(votes)) {
    case VoteResult::won:
      // The others may be enough, but who leads in a term that its disk does not have may lead in it again, with other
      // entries, after a crash.
      if (!votes_.contains(self_)) return;
      if (role_ == MemberRole::pre_candidate) {
        begin_campaign(false, false);
      } else {
        become_leader();
      }
      return;
    case VoteResult::lost:
      become_follower(hard_.term, 0);
      return;
    case VoteResult::pending:
      return;
  }
}

void Consensus::become_leader() {
  must_hold(role_ == MemberRole::candidate && hard_.voted_for == self_,
            "consensus.hpp 1: only a candidate becomes leader");
  role_ = MemberRole::leader;
  votes_.clear();
  set_leader(self_);
  transfer_target_ = 0;
  is_disk_stuck_ = false;
  undecided_.clear();
  undecided_bytes_ = 0;
  progress_.clear();
  sends_.clear();
  for (const MemberId member : membership().members()) {
    progress_.emplace(member,
                      MemberProgress(log_.last() + 1, Inflight(limits_.inflight_messages, limits_.inflight_bytes)));
  }
  if (const auto own = progress_.find(self_); own != progress_.end()) {
    (void)own->second.acknowledged(log_.stored());
    own->second.become_replicate();
    own->second.is_active = true;
  }
  heartbeat_at_ = later(now_, limits_.heartbeat);
  quorum_check_at_ = later(now_, limits_.election_max);
  append_first_of_term();
  broadcast_append();
}

}  // namespace skein::inline v0::consensus
