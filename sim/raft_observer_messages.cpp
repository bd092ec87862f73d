// What the observer says of messages, and of what members are asked for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/raft_observer.hpp"

namespace skein::sim::raft {

using consensus::PeerMessage;
using consensus::PeerMessageKind;
using namespace std::chrono_literals;

namespace {

bool is_from_leader(const PeerMessage& message) {
  return message.kind == PeerMessageKind::append || message.kind == PeerMessageKind::heartbeat ||
         message.kind == PeerMessageKind::snapshot_chunk;
}

// Also with who hears a leader.
bool raises_term(const PeerMessage& message) {
  switch (message.kind) {
    case PeerMessageKind::vote_request:
      return message.is_transfer;
    case PeerMessageKind::pre_vote_request:
    case PeerMessageKind::removed:
      return false;
    case PeerMessageKind::pre_vote_response:
      return message.rejects;
    default:
      return true;
  }
}

}  // namespace

// Received.

void RaftObserver::receives(MemberId member, const PeerMessage& message, Instant local, bool is_settled) {
  if (violation_) return;
  Seen& seen = members_.at(member);
  if (seen.campaigns && message.term > seen.hard.term && message.kind != PeerMessageKind::pre_vote_request &&
      !(message.kind == PeerMessageKind::pre_vote_response && !message.rejects)) {
    met(5);
  }
  seen.term_heard = std::max(seen.term_heard, seen.hard.term);
  const bool is_newer = message.term > seen.term_heard && (is_from_leader(message) || raises_term(message));
  if (is_from_leader(message) && message.term >= seen.term_heard && seen.leads != message.term) {
    if (seen.campaigns && message.kind == PeerMessageKind::snapshot_chunk) met(14);
    seen.heard_leader = local;
    seen.campaigns = false;
  } else if (is_newer) {
    seen.heard_leader.reset();
  }
  if (is_newer) seen.term_heard = message.term;
  if (message.kind == PeerMessageKind::append || message.kind == PeerMessageKind::heartbeat) {
    const Position end =
        message.kind == PeerMessageKind::append ? message.position + message.entries.size() : message.commit;
    seen.may_decide = std::max(seen.may_decide, std::min(message.commit, end));
  }
  switch (message.kind) {
    case PeerMessageKind::append: {
      std::uint64_t bytes = 0;
      for (const Unsynced& each : seen.unsynced) bytes += each.bytes;
      if (!message.entries.empty() && bytes > limits_.unstored_bytes) met(27);
      return;
    }
    case PeerMessageKind::snapshot_chunk:
      if (message.chunk->offer.position <= seen.hard.commit) met(11);
      seen.may_decide = std::max(seen.may_decide, message.chunk->offer.position);
      return;
    case PeerMessageKind::vote_request:
    case PeerMessageKind::pre_vote_request:
      return hears_vote_request(seen, message, local, is_settled);
    case PeerMessageKind::append_response:
    case PeerMessageKind::heartbeat_response:
    case PeerMessageKind::snapshot_response:
      return hears_answer(seen, message, local);
    default:
      return;
  }
}

void RaftObserver::hears_vote_request(Seen& seen, const PeerMessage& message, Instant local, bool is_settled) {
  if (!decided_membership().contains(message.from)) met(6);
  const bool hears =
      seen.is_leading() || (seen.heard_leader && !seen.campaigns && local < *seen.heard_leader + limits_.election_min);
  const bool is_pre = message.kind == PeerMessageKind::pre_vote_request;
  if (is_pre && seen.campaigns) met(2);
  if (is_pre && message.term <= seen.hard.term) met(3);
  // In the present term a vote may be repeated to the one that got it, who may lead by now.
  const bool is_refusable = hears && is_settled && !message.is_transfer && message.term > seen.term_heard;
  const auto [at, is_new] = seen.refusable.try_emplace({message.from, message.term}, is_refusable);
  if (!is_new) at->second = at->second && is_refusable;
}

void RaftObserver::hears_answer(Seen& seen, const PeerMessage& message, Instant local) {
  if (seen.leads == 0 || message.term != seen.leads) return;
  seen.heard_from[message.from] = local;
  if (message.kind == PeerMessageKind::heartbeat_response && message.round < seen.round && !seen.reads.empty()) met(21);
  if (message.kind != PeerMessageKind::append_response) return;
  const Position match = seen.matched[message.from];
  if (message.position < match || (message.rejects && message.position <= match)) met(19);
  if (!message.rejects) seen.newly_matched.emplace_back(message.from, message.position);
}

// Sent.

void RaftObserver::sends(MemberId member, Seen& seen, const PeerMessage& message, Instant local) {
  if (violation_) return;
  switch (message.kind) {
    case PeerMessageKind::append:
      return sends_append(member, seen, message);
    case PeerMessageKind::heartbeat:
      return sends_heartbeat(member, seen, message, local);
    case PeerMessageKind::append_response:
      if (!message.rejects) says_stored(member, seen, message);
      return;
    case PeerMessageKind::vote_response:
    case PeerMessageKind::pre_vote_response:
      if (!message.rejects) grants_vote(member, seen, message);
      return;
    case PeerMessageKind::vote_request:
    case PeerMessageKind::pre_vote_request:
      return asks_for_vote(member, seen, message);
    case PeerMessageKind::snapshot_chunk:
      return sends_chunk(member, seen, message);
    case PeerMessageKind::timeout_now: {
      // Its log may have grown, or been cut, since it said so.
      const Position last = std::min(seen.last_before, seen.log.last());
      if (!has_stored(message.to, last, seen.log.term_at(last).value_or(0))) {
        violated(fmt::format("9: {} hands leadership to {}, which does not have its whole log", member, message.to));
      }
      return;
    }
    case PeerMessageKind::removed:
      if (decided_membership_at(message.position).contains(message.to)) {
        violated(fmt::format("10: {} tells {} that it is out, but it is not", member, message.to));
      }
      return;
    default:
      return;
  }
}

void RaftObserver::sends_append(MemberId member, Seen& seen, const PeerMessage& message) {
  const Lead& lead = leads_.at(message.term);
  if (lead.term_at(message.position, message.term) != message.log_term) {
    return violated(
        fmt::format("2: {} sends that its entry at {} has term {}", member, message.position, message.log_term));
  }
  if (message.commit > decided()) violated(fmt::format("6: {} says that {} is decided", member, message.commit));
  if (const auto match = seen.matched.find(message.to); match != seen.matched.end()) {
    if (!seen.log.memberships.back().second.contains(message.to)) {
      seen.matched.erase(match);
    } else if (message.position < match->second && seen.leads == message.term) {
      violated(fmt::format("2: {} sends what follows {} to {}, which has all up to {}", member, message.position,
                           message.to, match->second));
    }
  }
  Position at = message.position;
  std::uint64_t bytes = 0;
  std::size_t batches = 0;
  for (const Entry& entry : message.entries) {
    const Known* known = find(++at, entry.term);
    const bool is_own = entry.position == at && lead.term_at(at, message.term) == entry.term;
    // A member that stepped down since may have replaced it before it was handed out to be stored.
    const bool may_be_gone = known == nullptr && message.term < seen.hard.term;
    if (!is_own || (!may_be_gone && (known == nullptr || known->digest != digest_of(entry)))) {
      return violated(fmt::format("2: {} sends an entry at {} that its log does not have", member, at));
    }
    bytes += consensus::weight_of(entry);
    batches += entry.ends_batch ? 1 : 0;
  }
  if (message.entries.empty()) return;
  if (!message.entries.back().ends_batch) violated(fmt::format("11: {} sends half a batch", member));
  if (batches > 1 && bytes > limits_.message_bytes) violated(fmt::format("11: {} sends too much at once", member));
}

void RaftObserver::sends_heartbeat(MemberId member, Seen& seen, const PeerMessage& message, Instant local) {
  if (message.commit > decided()) violated(fmt::format("6: {} says that {} is decided", member, message.commit));
  seen.round = std::max(seen.round, message.round);
  if (seen.leads == message.term) check_leader_is_alive(member, seen, local);
}

void RaftObserver::check_leader_is_alive(MemberId member, Seen& seen, Instant local) {
  const Membership& voters = seen.log.memberships.back().second;
  if (voters.voters().size() < 2) return;
  const Duration patience = limits_.disk_stuck_after + 3 * limits_.election_max + 100ms;
  for (const Unsynced& each : seen.unsynced) {
    if (each.must_sync && local > std::max(each.since, seen.runs_since) + patience) {
      return violated(fmt::format("12: {} leads on with a disk that is stuck", member));
    }
  }
  const Instant since = local - (3 * limits_.election_max + 200ms);
  const Instant membership_since = std::max(seen.leads_since, seen.runs_since);
  if (membership_since > since) return;
  std::size_t heard = 0;
  for (const MemberId voter : voters.voters()) {
    const auto found = seen.heard_from.find(voter);
    if (voter == member || (found != seen.heard_from.end() && found->second >= since)) ++heard;
  }
  // A voter that was added just now has not had the time to answer.
  if (2 * (heard + 1) <= voters.voters().size()) {
    violated(fmt::format("12: {} leads on in term {} though no majority answers", member, seen.leads));
  }
}

void RaftObserver::says_stored(MemberId member, const Seen& seen, const PeerMessage& message) {
  if (message.position == 0) return;
  const auto lead = leads_.find(message.term);
  const auto term = lead == leads_.end() ? std::nullopt : lead->second.term_at(message.position, message.term);
  if (message.position <= seen.disk->base()) return;
  if (!term) {
    // Its leader does not have that any more, or has not shown itself; then it is decided.
    if (message.position > decided()) violated(fmt::format("6: {} says that it has {}", member, message.position));
    return;
  }
  // In a later term it may have replaced the entry before that reached the disk. That leader decides nothing by it: a
  // majority without the entry has voted since, and the disk has that term.
  if (!has_stored(member, message.position, *term) && seen.disk->hard().term <= message.term) {
    violated(fmt::format("6: {} says that it has stored {} of term {}, and has not", member, message.position, *term));
  }
}

void RaftObserver::grants_vote(MemberId member, Seen& seen, const PeerMessage& message) {
  const bool is_pre = message.kind == PeerMessageKind::pre_vote_response;
  const auto asked = seen.refusable.find({message.to, message.term});
  if (asked == seen.refusable.end()) return violated(fmt::format("9: {} grants a vote nobody asked for", member));
  if (asked->second) {
    return violated(fmt::format("9: {} hears a leader and grants {} a {} in term {}", member, message.to,
                                is_pre ? "pre-vote" : "vote", message.term));
  }
  if (is_pre) {
    seen.pre_vote = {message.term, message.to};
    return;
  }
  if (seen.pre_vote.first == message.term && seen.pre_vote.second != message.to) met(4);
  // A disk that is past that term already keeps it from voting again, as the vote itself would.
  if (seen.disk->hard().term > message.term) has_voted(member, {.term = message.term, .voted_for = message.to});
  const auto& votes = votes_[message.term];
  const auto vote = votes.find(member);
  if (vote == votes.end() || vote->second != message.to) {
    violated(fmt::format("6: {} says that it votes for {} in term {}, which its disk does not have", member, message.to,
                         message.term));
  }
}

void RaftObserver::asks_for_vote(MemberId member, Seen& seen, const PeerMessage& message) {
  seen.campaigns = true;
  seen.heard_leader.reset();
  // A member that an undecided entry removes is needed until that entry is decided.
  auto decided = seen.log.memberships.begin();
  while (std::next(decided) != seen.log.memberships.end() && std::next(decided)->first <= seen.hard.commit) ++decided;
  if (!seen.log.memberships.back().second.is_voter(member) && !decided->second.is_voter(member)) {
    return violated(fmt::format("9: {} campaigns and is no voter", member));
  }
  const bool is_whole = seen.last_before == message.position && seen.disk->last() == message.position &&
                        seen.disk->term_at(message.position) == message.log_term;
  if (!is_whole) {
    violated(fmt::format("9: {} campaigns with a log up to {}; its disk has it up to {}", member, message.position,
                         seen.disk->last()));
  }
}

void RaftObserver::sends_chunk(MemberId member, Seen& seen, const PeerMessage& message) {
  snapshot_offered(member, message.chunk->offer);
  seen.sending[message.to] = message.chunk->offer.position;
  if (!members_.at(message.to).runs) met(15);
  const auto after = std::ranges::upper_bound(decided_memberships_, message.chunk->offer.position, {},
                                              &std::pair<Position, Membership>::first);
  if (message.chunk->offset == 0 && std::prev(after)->first + 2 >= message.chunk->offer.position) met(10);
}

void RaftObserver::snapshot_offered(MemberId member, const SnapshotOffer& offer) {
  if (violation_) return;
  if (offer.position == 0 || offer.position > decided() || offer.term != decided_[offer.position].term) {
    return violated(fmt::format("5: {} has a snapshot of {}, which is not decided so", member, offer.position));
  }
  if (offer.membership != decided_membership_at(offer.position)) {
    violated(fmt::format("10: {} has a snapshot of {} with another membership", member, offer.position));
  }
}

// Asked for.

void RaftObserver::read_asked(MemberId member, std::uint64_t ticket) {
  Seen& seen = members_.at(member);
  seen.reads[ticket] = decided();
  if (!seen.is_leading()) return;
  if (seen.leads < highest_term()) met(22);
  if (decided_[std::min(seen.hard.commit, decided())].term != seen.leads) met(20);
}

void RaftObserver::change_asked(MemberId member) {
  const Seen& seen = members_.at(member);
  if (seen.is_leading() && decided_[seen.hard.commit].term != seen.leads) met(7);
}

void RaftObserver::transfer_asked(MemberId leader, MemberId target, bool is_reachable) {
  const Seen& seen = members_.at(leader);
  const Position last = seen.log.last();
  if (!is_reachable || !has_stored(target, last, seen.log.term_at(last).value_or(0))) met(25);
}

void RaftObserver::log_trimmed(MemberId member) {
  const Seen& seen = members_.at(member);
  if (seen.is_leading() && !seen.sending.empty()) met(16);
}

}  // namespace skein::sim::raft
