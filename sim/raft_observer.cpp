#include "sim/raft_observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace skein::sim::raft {

using consensus::EntryKind;
using consensus::PeerMessage;
using consensus::PeerMessageKind;
using consensus::Ready;
using consensus::ToStore;

namespace {

std::uint64_t bit_of(MemberId member) { return 1ULL << (member % 64); }

bool is_majority(const Membership& membership, std::uint64_t members) {
  std::size_t voters = 0;
  for (const MemberId voter : membership.voters()) voters += (members & bit_of(voter)) != 0 ? 1 : 0;
  return 2 * voters > membership.voters().size();
}

std::size_t different_voters(const Membership& one, const Membership& other) {
  std::size_t different = 0;
  for (const MemberId voter : one.voters()) different += other.is_voter(voter) ? 0 : 1;
  for (const MemberId voter : other.voters()) different += one.is_voter(voter) ? 0 : 1;
  return different;
}

}  // namespace

std::optional<Term> RaftObserver::AskedLog::term_at(Position position) const {
  if (position < base || position > last()) return std::nullopt;
  return position == base ? base_term : entries[position - base - 1].term;
}

void RaftObserver::AskedLog::truncate_from(Position position) {
  if (position <= base || position > last()) return;
  entries.resize(position - base - 1);
  while (memberships.size() > 1 && memberships.back().first >= position) memberships.pop_back();
}

std::optional<Term> RaftObserver::Lead::term_at(Position position, Term own) const {
  if (position > last_before) return own;
  if (position < base) return std::nullopt;
  const auto after = std::ranges::upper_bound(runs, position, {}, &std::pair<Position, Term>::first);
  return std::prev(after)->second;
}

void RaftObserver::violated(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

// Starts and ends.

void RaftObserver::folder_made(MemberId member, const RaftDisk& disk) { members_[member].disk = &disk; }

void RaftObserver::starts(MemberId member, const consensus::StartState& found, Instant local) {
  Seen& seen = members_.at(member);
  const RaftDisk* disk = seen.disk;
  if (found.hard.term < seen.hard.term && seen.unsynced.empty()) violated(fmt::format("7: {} forgot a term", member));
  seen = Seen{};
  seen.disk = disk;
  seen.runs = true;
  seen.runs_since = local;
  seen.hard = found.hard;
  seen.next_apply = std::max(found.applied, disk->base()) + 1;
  seen.hard.commit = std::max({found.hard.commit, disk->base(), found.applied});
  seen.may_decide = seen.hard.commit;
  seen.log.base = disk->base();
  seen.log.base_term = disk->term_at(disk->base()).value_or(0);
  seen.log.memberships.emplace_back(disk->base(), disk->base_membership());
  Term before = seen.log.base_term;
  for (const Entry& entry : disk->log()) {
    note_entry(member, entry, before);
    mark_stored(member, entry);
    before = entry.term;
    seen.log.entries.push_back(entry);
    if (entry.kind == EntryKind::membership) {
      seen.log.memberships.emplace_back(entry.position, *Membership::decode(entry.bytes));
    }
  }
  // The first entry of a group is decided by who makes it.
  if (decided_.size() == 1 && !disk->log().empty() && disk->hard().commit >= 1) {
    const Entry& first = disk->log().front();
    decided_.push_back({.term = first.term,
                        .in = first.term,
                        .digest = digest_of(first),
                        .ends_batch = true,
                        .hash = {},
                        .command = {}});
    decided_memberships_.emplace_back(1, *Membership::decode(first.bytes));
  }
  has_voted(member, disk->hard());
}

void RaftObserver::ends(MemberId member, bool for_good) {
  Seen& seen = members_.at(member);
  if (seen.installing != 0) met(12);
  seen.runs = false;
  // What was not synced may be gone.
  seen.hard = seen.disk->hard();
  seen.unsynced.clear();
  if (for_good) seen.leads = 0;
}

void RaftObserver::resumes(MemberId member, Instant local) { members_.at(member).runs_since = local; }

// What is handed out.

void RaftObserver::hands_out(MemberId member, const Ready& ready, Instant local) {
  if (violation_) return;
  Seen& seen = members_.at(member);
  // Copied: what was decided before a change counts by the membership before it.
  const Membership before = seen.log.memberships.back().second;
  const Term term_before = seen.hard.term;
  for (const PeerMessage& message : ready.messages) {
    const bool is_leaders = message.kind == PeerMessageKind::append || message.kind == PeerMessageKind::heartbeat ||
                            message.kind == PeerMessageKind::snapshot_chunk;
    if (is_leaders) leads(member, seen, message.term, local);
  }
  // Without others nobody is sent anything.
  for (const auto& event : ready.events) {
    const bool is_change = event.kind == consensus::ConsensusEvent::Kind::leader_changed;
    if (is_change && event.member == member) leads(member, seen, event.term, local);
  }
  seen.last_before = seen.log.last();
  if (ready.store) {
    stores(member, seen, *ready.store, local);
    const auto lead = leads_.find(term_before);
    const bool led = lead != leads_.end() && lead->second.member == member;
    decides(member, seen, led ? term_before : seen.hard.term, ready.store->hard.commit, before);
  }
  for (const PeerMessage& message : ready.messages) sends(member, seen, message, local);
  hands_to_apply(member, seen, ready);
  for (const auto& read : ready.reads) {
    const auto asked = seen.reads.find(read.ticket);
    if (asked == seen.reads.end()) return violated(fmt::format("8: {} answers a read that nobody asked for", member));
    if (read.is_confirmed && (read.position < asked->second || read.position > decided())) {
      return violated(fmt::format("8: {} confirms a read at {}; when it was asked for, {} was decided", member,
                                  read.position, asked->second));
    }
    seen.reads.erase(asked);
  }
  for (const auto& event : ready.events) {
    if (event.kind == consensus::ConsensusEvent::Kind::disk_stuck) met(24);
    if (event.kind != consensus::ConsensusEvent::Kind::leader_changed) continue;
    if (event.member != member && event.term == seen.hard.term) seen.stopped_leading = true;
    if (event.member == 0) seen.heard_leader.reset();
  }
  for (const auto& [from, position] : seen.newly_matched) {
    seen.matched[from] = std::max(seen.matched[from], position);
  }
  seen.newly_matched.clear();
  check_bounds(member, seen);
}

void RaftObserver::leads(MemberId member, Seen& seen, Term term, Instant local) {
  const auto [at, is_new] = leads_.try_emplace(term);
  Lead& lead = at->second;
  if (!is_new) {
    if (lead.member != member) violated(fmt::format("1: {} and {} lead in term {}", lead.member, member, term));
    return;
  }
  if (const auto last = std::prev(at); at != leads_.begin() && !members_.at(last->second.member).runs) met(1);
  lead.member = member;
  lead.base = seen.log.base;
  lead.last_before = seen.log.last();
  lead.runs.emplace_back(seen.log.base, seen.log.base_term);
  for (const Entry& entry : seen.log.entries) {
    if (entry.term != lead.runs.back().second) lead.runs.emplace_back(entry.position, entry.term);
  }
  seen.leads = term;
  seen.stopped_leading = false;
  seen.leads_since = local;
  seen.matched.clear();
  seen.newly_matched.clear();
  seen.heard_from.clear();
  seen.sending.clear();
  seen.campaigns = false;
  if (seen.disk->hard().term < term) {
    return violated(fmt::format("1: {} leads in term {}, which its own disk does not have", member, term));
  }
  const Membership& voters = seen.log.memberships.back().second;
  std::uint64_t votes = 0;
  for (const auto& [voter, candidate] : votes_[term]) votes |= candidate == member ? bit_of(voter) : 0;
  if (!is_majority(voters, votes)) {
    return violated(fmt::format("1: {} leads in term {} without durable votes of a majority", member, term));
  }
  // What a later term decided, before this one is heard of, is no concern of it.
  Position newest = decided();
  while (newest > 0 && decided_[newest].in >= term) --newest;
  if (newest > lead.base && lead.term_at(newest, term) != decided_[newest].term) {
    violated(fmt::format("4: {} leads in term {} without the entry that was decided at {}", member, term, newest));
  } else if (newest > lead.last_before) {
    violated(
        fmt::format("4: {} leads in term {} with a log that ends before {}, which is decided", member, term, newest));
  }
}

void RaftObserver::stores(MemberId member, Seen& seen, const ToStore& store, Instant local) {
  if (store.hard.term < seen.hard.term || store.hard.commit < seen.hard.commit ||
      (store.hard.term == seen.hard.term && seen.hard.voted_for != 0 && store.hard.voted_for != seen.hard.voted_for)) {
    return violated(fmt::format("7: {} goes back from term {}, vote {}, decided {} to {}, {}, {}", member,
                                seen.hard.term, seen.hard.voted_for, seen.hard.commit, store.hard.term,
                                store.hard.voted_for, store.hard.commit));
  }
  if (store.hard.term > seen.hard.term) {
    const bool has_unstored = std::ranges::any_of(seen.unsynced, [](const Unsynced& each) { return each.bytes > 0; });
    if (seen.leads == seen.hard.term && seen.leads != 0 && has_unstored) met(17);
  }
  Unsynced unsynced{store.number, local, 0, 0, 0, store.must_sync};
  if (store.install) {
    const bool has_undecided = seen.log.memberships.back().first > seen.hard.commit;
    if (has_undecided) met(9);
    if (seen.next_apply <= seen.hard.commit) met(13);
    if (seen.log.term_at(store.install->position) == store.install->term && seen.log.last() > store.install->position) {
      return violated(fmt::format("5: {} drops entries that follow the snapshot it installs", member));
    }
    seen.log = AskedLog{store.install->position, store.install->term, {}, {}};
    seen.log.memberships.emplace_back(store.install->position, store.install->membership);
    seen.may_decide = std::max(seen.may_decide, store.install->position);
    seen.installing = store.number;
    seen.restore_due = store.install->position;
    if (store.install->position > decided()) violated(fmt::format("5: {} installs what is not decided", member));
  }
  seen.hard = store.hard;
  for (const Entry& entry : store.entries) {
    if (entry.position <= seen.log.last()) {
      if (seen.leads == store.hard.term) {
        return violated(
            fmt::format("2: {} leads in term {} and replaces its entry at {}", member, seen.leads, entry.position));
      }
      if (entry.position <= seen.log.base) return violated(fmt::format("5: {} replaces its snapshot", member));
      if (seen.log.memberships.back().first >= entry.position) met(8);
      for (const Unsynced& each : seen.unsynced) {
        if (each.bytes > 0 && each.last >= entry.position) {
          met(18);
          break;
        }
      }
      seen.log.truncate_from(entry.position);
    }
    if (entry.position != seen.log.last() + 1) return violated(fmt::format("3: a gap in the log of {}", member));
    note_entry(member, entry, *seen.log.term_at(entry.position - 1));
    if (entry.term > store.hard.term) violated(fmt::format("7: {} has an entry of a term that it is not in", member));
    seen.log.entries.push_back(entry);
    if (entry.kind == EntryKind::membership) appends_membership(member, seen, entry);
    if (unsynced.first == 0) unsynced.first = entry.position;
    unsynced.last = entry.position;
    unsynced.bytes += consensus::weight_of(entry);
  }
  seen.unsynced.push_back(unsynced);
}

void RaftObserver::appends_membership(MemberId member, Seen& seen, const Entry& entry) {
  const auto membership = Membership::decode(entry.bytes);
  if (!membership) return violated(fmt::format("10: {} has a membership that can't be read", member));
  const auto& [last_position, last] = seen.log.memberships.back();
  if (seen.leads == entry.term && seen.hard.term == entry.term) {
    if (last_position > seen.hard.commit) {
      violated(fmt::format("10: {} changes a membership that is not decided", member));
    }
    if (seen.log.term_at(seen.hard.commit) != entry.term) {
      violated(fmt::format("10: {} changes the membership before its term decided anything", member));
    }
  }
  if (!last.voters().empty() && different_voters(last, *membership) > 1) {
    violated(fmt::format("10: {} has a membership at {} that differs by more than a voter", member, entry.position));
  }
  seen.log.memberships.emplace_back(entry.position, *membership);
}

void RaftObserver::decides(MemberId member, Seen& seen, Term term, Position position, const Membership& before) {
  if (violation_ || position == 0) return;
  if (position > seen.log.last()) return violated(fmt::format("5: {} decides what its log does not have", member));
  if (position > decided()) {
    const auto lead = leads_.find(term);
    if (lead == leads_.end() || lead->second.member != member) {
      return violated(
          fmt::format("5: {} takes {} for decided, of which nobody decided more than {}", member, position, decided()));
    }
    check_quorum_has(member, seen, term, position, before);
    for (Position at = decided() + 1; at <= position; ++at) {
      const Entry& entry = seen.log.entries[at - seen.log.base - 1];
      decided_.push_back({.term = entry.term,
                          .in = term,
                          .digest = digest_of(entry),
                          .ends_batch = entry.ends_batch,
                          .hash = {},
                          .command = {}});
      if (entry.kind == EntryKind::command) decided_.back().command = Command::decode(entry.bytes);
      if (entry.kind == EntryKind::membership) {
        decided_memberships_.emplace_back(at, *Membership::decode(entry.bytes));
      }
    }
    if (!decided_.back().ends_batch) violated(fmt::format("11: {} decides half a batch, up to {}", member, position));
    seen.may_decide = std::max(seen.may_decide, position);
    for (auto later = leads_.upper_bound(term); later != leads_.end(); ++later) {
      if (later->second.term_at(position, later->first) != decided_[position].term) {
        violated(fmt::format("4: {} decides {} in term {}, which the leader of term {} does not have", member, position,
                             term, later->first));
      }
    }
    return;
  }
  const bool led = seen.leads == term && term != 0;
  if (led) seen.may_decide = std::max(seen.may_decide, position);
  if (position > seen.may_decide) {
    return violated(fmt::format("6: {} takes {} for decided; what it was sent says so up to {} only", member, position,
                                seen.may_decide));
  }
  if (const auto own = seen.log.term_at(position); own && *own != decided_[position].term && position > seen.log.base) {
    violated(fmt::format("5: {} takes its entry at {} for decided, but another one is", member, position));
  }
}

void RaftObserver::check_quorum_has(MemberId member, const Seen& seen, Term term, Position position,
                                    const Membership& before) {
  if (seen.log.term_at(position) != term) {
    return violated(
        fmt::format("6: {} decides {} by counting an entry of an older term than its own, {}", member, position, term));
  }
  const Known* known = find(position, term);
  const std::uint64_t stored_by = known == nullptr ? 0 : known->stored_by;
  if (!is_majority(seen.log.memberships.back().second, stored_by) && !is_majority(before, stored_by)) {
    violated(fmt::format("6: {} decides {} before a majority has it durable", member, position));
  }
}

void RaftObserver::hands_to_apply(MemberId member, Seen& seen, const Ready& ready) {
  if (ready.restore) {
    if (*ready.restore != seen.restore_due || seen.installing != 0) {
      return violated(fmt::format("5: {} restores a snapshot of {} that is not installed", member, *ready.restore));
    }
    seen.restore_due = 0;
    seen.next_apply = *ready.restore + 1;
  }
  if (!ready.apply.empty() && seen.restore_due != 0) {
    return violated(fmt::format("5: {} applies while a snapshot is being installed", member));
  }
  std::uint64_t bytes = 0;
  for (const Entry& entry : ready.apply) {
    if (entry.position != seen.next_apply++) return violated(fmt::format("5: {} applies with a gap", member));
    if (entry.position > decided() || decided_[entry.position].digest != digest_of(entry) ||
        decided_[entry.position].term != entry.term) {
      return violated(fmt::format("5: {} applies at {} what is not decided there", member, entry.position));
    }
    if (seen.disk->term_at(entry.position) != entry.term && entry.position > seen.disk->base()) {
      return violated(fmt::format("5: {} applies at {} what it has not stored", member, entry.position));
    }
    bytes += consensus::weight_of(entry);
  }
  if (bytes > 0) seen.applying.emplace_back(ready.apply.back().position, bytes);
  seen.applying_bytes += bytes;
}

void RaftObserver::check_bounds(MemberId member, const Seen& seen) {
  // One batch may go beyond a limit.
  constexpr std::uint64_t k_batch_bytes = 4'096;
  if (seen.applying_bytes > limits_.apply_bytes + k_batch_bytes) {
    violated(fmt::format("11: {} bytes are being applied by {}", seen.applying_bytes, member));
  }
  const auto lead = leads_.find(seen.hard.term);
  if (lead == leads_.end() || lead->second.member != member) return;
  std::uint64_t bytes = 0;
  const Position from = std::max({lead->second.last_before, seen.hard.commit, seen.log.base}) + 1;
  for (Position at = from; at <= seen.log.last(); ++at)
    bytes += consensus::weight_of(seen.log.entries[at - seen.log.base - 1]);
  if (bytes > limits_.undecided_bytes + k_batch_bytes) {
    violated(fmt::format("11: {} has {} bytes undecided", member, bytes));
  }
}

// What is durable, and applied.

void RaftObserver::is_durable(MemberId member, const std::vector<ToStore>& stores) {
  Seen& seen = members_.at(member);
  for (const ToStore& store : stores) {
    for (const Entry& entry : store.entries) mark_stored(member, entry);
    if (store.must_sync) has_voted(member, store.hard);
    if (seen.installing == store.number) seen.installing = 0;
    while (!seen.unsynced.empty() && seen.unsynced.front().number <= store.number) seen.unsynced.pop_front();
  }
}

void RaftObserver::has_voted(MemberId member, const HardState& hard) {
  if (hard.voted_for == 0) return;
  const auto [at, is_new] = votes_[hard.term].try_emplace(member, hard.voted_for);
  if (at->second != hard.voted_for) {
    violated(fmt::format("1: {} voted for {} and {} in term {}", member, at->second, hard.voted_for, hard.term));
  }
}

void RaftObserver::note_entry(MemberId member, const Entry& entry, Term term_before) {
  if (known_.size() <= entry.position) known_.resize(entry.position + 64);
  const std::uint64_t digest = digest_of(entry);
  if (const Known* known = find(entry.position, entry.term)) {
    if (known->digest != digest || known->term_before != term_before) {
      violated(fmt::format("3: {} has another entry of term {} at {}, or another before it", member, entry.term,
                           entry.position));
    }
    return;
  }
  known_[entry.position].push_back({entry.term, digest, term_before, 0});
}

void RaftObserver::mark_stored(MemberId member, const Entry& entry) {
  if (Known* known = find(entry.position, entry.term)) known->stored_by |= bit_of(member);
}

RaftObserver::Known* RaftObserver::find(Position position, Term term) {
  if (position >= known_.size()) return nullptr;
  const auto found = std::ranges::find(known_[position], term, &Known::term);
  return found == known_[position].end() ? nullptr : &*found;
}

bool RaftObserver::has_stored(MemberId member, Position position, Term term) {
  if (position <= members_.at(member).disk->base()) return true;
  const Known* known = find(position, term);
  return known != nullptr && (known->stored_by & bit_of(member)) != 0;
}

void RaftObserver::applied(MemberId member, const Entry& entry, std::uint64_t hash) {
  Seen& seen = members_.at(member);
  while (!seen.applying.empty() && seen.applying.front().first <= entry.position) {
    seen.applying_bytes -= seen.applying.front().second;
    seen.applying.pop_front();
  }
  std::optional<std::uint64_t>& known = decided_[entry.position].hash;
  if (!known) known = hash;
  if (*known != hash) violated(fmt::format("5: the running hash of {} at {} differs", member, entry.position));
}

void RaftObserver::restored(MemberId member, Position position, std::uint64_t hash) {
  Seen& seen = members_.at(member);
  while (!seen.applying.empty() && seen.applying.front().first <= position) {
    seen.applying_bytes -= seen.applying.front().second;
    seen.applying.pop_front();
  }
  const bool is_right = position <= decided() && decided_[position].hash == hash;
  if (!is_right) violated(fmt::format("5: the snapshot that {} restores at {} is not that state", member, position));
}

const Membership& RaftObserver::decided_membership_at(Position position) const {
  const auto after =
      std::ranges::upper_bound(decided_memberships_, position, {}, &std::pair<Position, Membership>::first);
  return std::prev(after)->second;
}

std::vector<DecidedCommand> RaftObserver::decided_commands() const {
  std::vector<DecidedCommand> commands;
  for (Position at = 1; at < decided_.size(); ++at) {
    if (decided_[at].command) commands.push_back({at, *decided_[at].command});
  }
  return commands;
}

}  // namespace skein::sim::raft
