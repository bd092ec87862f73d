// What must hold of a group that agrees on a log, seen from outside: the observer looks at disks, at messages, at what
// members hand out and at what clients ask, never at the state of a core, and shares no code with the cores.
//
// 1. Election safety: one leader per term at most, whose votes are durable with a majority of its voters.
// 2. Leader append-only: a leader replaces no entry of its own log; what it sends is what its log has.
// 3. Log matching: entries with the same position and term are equal, and so is the term before them.
// 4. Leader completeness: the log of a leader has everything that was decided in earlier terms.
// 5. State machine safety: what any two members decide, apply and hash at a position is equal; applied without a gap.
// 6. Nothing is decided before a majority of the voters in force, newest membership first, has an entry of the leader's
//    term durable at or after it. No member says more is stored, decided or voted than its disk, or the group, has.
// 7. Term, vote and what is decided never go back, on a disk or across a start.
// 8. A confirmed read stands no earlier than anything that was decided when it was asked for.
// 9. A member that hears a leader grants no vote, unless leadership is being handed over; only voters with their
//    whole log on disk campaign; leadership goes only to a member with the whole log.
// 10. Memberships change by one voter, one at a time, and only after an entry of the leader's term is decided.
// 11. Batches travel, and are decided and applied, whole. What is undecided or being applied is bounded.
// 12. A leader whose disk is stuck, or whom no majority answers, stops leading.
//
// Plain, one thread. The first violation is kept; later ones are its consequences.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/raft_disk.hpp"
#include "sim/raft_history.hpp"
#include "sim/raft_machine.hpp"
#include "sim/raft_tally.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::sim::raft {

class RaftObserver {
 public:
  explicit RaftObserver(const consensus::ConsensusLimits& limits) : limits_(limits) { decided_.emplace_back(); }

  // A folder was made. The disk outlives the observer's use of it.
  void folder_made(MemberId member, const RaftDisk& disk);
  void starts(MemberId member, const consensus::StartState& found, Instant local);
  void ends(MemberId member, bool for_good);
  // The member did not run for a while, and does again.
  void resumes(MemberId member, Instant local);
  // `is_settled`: the member has handed out all that came of earlier calls.
  void receives(MemberId member, const consensus::PeerMessage& message, Instant local, bool is_settled);
  void hands_out(MemberId member, const consensus::Ready& ready, Instant local);
  void is_durable(MemberId member, const std::vector<consensus::ToStore>& stores);
  void applied(MemberId member, const Entry& entry, std::uint64_t hash);
  void restored(MemberId member, Position position, std::uint64_t hash);
  void read_asked(MemberId member, std::uint64_t ticket);
  void change_asked(MemberId member);
  void transfer_asked(MemberId leader, MemberId target, bool is_reachable);
  void snapshot_offered(MemberId member, const SnapshotOffer& offer);
  void log_trimmed(MemberId member);

  void met(std::size_t pitfall) { ++tally_[pitfall - 1]; }
  void violated(std::string what);
  [[nodiscard]] const std::optional<std::string>& violation() const { return violation_; }
  [[nodiscard]] const PitfallTally& tally() const { return tally_; }

  [[nodiscard]] Position decided() const { return decided_.size() - 1; }
  [[nodiscard]] std::vector<DecidedCommand> decided_commands() const;
  [[nodiscard]] const Membership& decided_membership() const { return decided_memberships_.back().second; }
  [[nodiscard]] Term highest_term() const { return leads_.empty() ? 0 : leads_.rbegin()->first; }
  // The leader of the highest term that has a leader; 0 when there is none.
  [[nodiscard]] MemberId newest_leader() const { return leads_.empty() ? 0 : leads_.rbegin()->second.member; }

 private:
  // A log as a member asked its disk to store it.
  struct AskedLog {
    Position base = 0;
    Term base_term = 0;
    std::vector<Entry> entries;
    std::vector<std::pair<Position, Membership>> memberships;

    [[nodiscard]] Position last() const { return base + entries.size(); }
    [[nodiscard]] std::optional<Term> term_at(Position position) const;
    void truncate_from(Position position);
  };
  struct Unsynced {
    std::uint64_t number = 0;
    Instant since;
    Position first = 0;  // of its entries, if any
    Position last = 0;
    std::uint64_t bytes = 0;
    bool must_sync = false;
  };
  struct Seen {
    const RaftDisk* disk = nullptr;
    bool runs = false;
    AskedLog log;
    Position last_before = 0;  // of the log, before what is handed out now
    HardState hard;
    Position may_decide = 0;  // as far as messages and snapshots that it was given say so
    Position next_apply = 0;
    std::uint64_t installing = 0;  // the number of the request; 0 for none
    Position restore_due = 0;
    std::uint64_t applying_bytes = 0;
    std::deque<std::pair<Position, std::uint64_t>> applying;
    std::deque<Unsynced> unsynced;
    Instant runs_since;
    std::optional<Instant> heard_leader;
    Term term_heard = 0;  // the highest that it was told of
    bool campaigns = false;
    std::map<std::pair<MemberId, Term>, bool> refusable;  // votes asked for while a leader was heard
    std::pair<Term, MemberId> pre_vote;                   // the newest that was granted
    std::map<std::uint64_t, Position> reads;              // by ticket: what was decided when it was asked for
    // While leading.
    Term leads = 0;               // the newest term in which it led
    bool stopped_leading = true;  // it said so
    Instant leads_since;

    [[nodiscard]] bool is_leading() const { return leads != 0 && leads == hard.term && !stopped_leading; }
    std::map<MemberId, Position> matched;
    std::vector<std::pair<MemberId, Position>> newly_matched;  // said since it last handed something out
    std::map<MemberId, Instant> heard_from;
    std::uint64_t round = 0;
    std::map<MemberId, Position> sending;  // snapshots
  };
  struct Lead {
    MemberId member = 0;
    Position base = 0;
    Position last_before = 0;                        // its log's end when it was elected
    std::vector<std::pair<Position, Term>> runs;     // of that log: where each term begins
    std::optional<Position> newest_membership = {};  // that it appended itself

    [[nodiscard]] std::optional<Term> term_at(Position position, Term own) const;
  };
  struct Known {
    Term term = 0;
    std::uint64_t digest = 0;
    Term term_before = 0;
    std::uint64_t stored_by = 0;  // one bit per member
  };
  struct Decided {
    Term term = 0;
    Term in = 0;  // the term of the leader that decided it
    std::uint64_t digest = 0;
    bool ends_batch = true;
    std::optional<std::uint64_t> hash;
    std::optional<Command> command;
  };

  // raft_observer.cpp
  void leads(MemberId member, Seen& seen, Term term, Instant local);
  void stores(MemberId member, Seen& seen, const consensus::ToStore& store, Instant local);
  void appends_membership(MemberId member, Seen& seen, const Entry& entry);
  void decides(MemberId member, Seen& seen, Term term, Position position, const Membership& before);
  void check_quorum_has(MemberId member, const Seen& seen, Term term, Position position, const Membership& before);
  void hands_to_apply(MemberId member, Seen& seen, const consensus::Ready& ready);
  void has_voted(MemberId member, const HardState& hard);
  void note_entry(MemberId member, const Entry& entry, Term term_before);
  void mark_stored(MemberId member, const Entry& entry);
  [[nodiscard]] Known* find(Position position, Term term);
  [[nodiscard]] bool has_stored(MemberId member, Position position, Term term);
  [[nodiscard]] const Membership& decided_membership_at(Position position) const;
  void check_bounds(MemberId member, const Seen& seen);

  // raft_observer_messages.cpp
  void sends(MemberId member, Seen& seen, const consensus::PeerMessage& message, Instant local);
  void sends_append(MemberId member, Seen& seen, const consensus::PeerMessage& message);
  void sends_heartbeat(MemberId member, Seen& seen, const consensus::PeerMessage& message, Instant local);
  void says_stored(MemberId member, const Seen& seen, const consensus::PeerMessage& message);
  void grants_vote(MemberId member, Seen& seen, const consensus::PeerMessage& message);
  void asks_for_vote(MemberId member, Seen& seen, const consensus::PeerMessage& message);
  void sends_chunk(MemberId member, Seen& seen, const consensus::PeerMessage& message);
  void hears_answer(Seen& seen, const consensus::PeerMessage& message, Instant local);
  void hears_vote_request(Seen& seen, const consensus::PeerMessage& message, Instant local, bool is_settled);
  void check_leader_is_alive(MemberId member, Seen& seen, Instant local);

  consensus::ConsensusLimits limits_;
  std::optional<std::string> violation_;
  PitfallTally tally_{};
  std::map<MemberId, Seen> members_;
  std::map<Term, Lead> leads_;
  std::map<Term, std::map<MemberId, MemberId>> votes_;  // durable ones: who voted for whom
  std::vector<std::vector<Known>> known_;               // by position
  std::vector<Decided> decided_;                        // by position; nothing at 0
  std::vector<std::pair<Position, Membership>> decided_memberships_;
};

}  // namespace skein::sim::raft
