// Raft, as a value: one member of a group that agrees on the order of a log. No clock, socket, disk, thread; memory is
// bounded by ConsensusLimits. What happens is told by calls; what is to be done is taken as a Ready. Its randomness
// comes from a seed, so the same calls give the same answers.
//
// One thread at a time. A driver calls tick(now) first, then step(), propose() and the rest in any order, and then
// does what ready() says; see ready.hpp. Storing, applying, reading from the disk and sending are all answered later
// and may take as long as they like: heartbeats go on meanwhile.
//
// The words are those of the Raft thesis (Ongaro, 2014). docs/internals/raft.md says which section is where, and every
// deviation with its reason.
//
// 1. In one term this member votes for one candidate at most, and answers a vote only when that vote is stored.
// 2. It says that it has an entry only when that is stored: with its leader's term, and at its leader's position.
// 3. A leader never changes or removes an entry of its own log, but for one that no disk has while it is alone.
// 4. The decided position never goes back, and no entry up to it is ever replaced.
// 5. A leader takes an entry for decided only when a majority of the voters has stored it, and an entry of the leader's
//    own term at or after it (Raft paper, section 5.4.2).
// 6. The membership in force is the newest in the log, decided or not; at most one is undecided (thesis, section 4.1).
// 7. What is handed out to be applied is decided and stored here, has no gap, and comes once.
// 8. A linear read is confirmed only after a majority answered a heartbeat that was sent after it was asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/base/time.hpp"
#include "skein/consensus/apply_feed.hpp"
#include "skein/consensus/entry.hpp"
#include "skein/consensus/log_window.hpp"
#include "skein/consensus/membership.hpp"
#include "skein/consensus/membership_history.hpp"
#include "skein/consensus/message.hpp"
#include "skein/consensus/progress.hpp"
#include "skein/consensus/quorum.hpp"
#include "skein/consensus/read_rounds.hpp"
#include "skein/consensus/ready.hpp"
#include "skein/consensus/snapshot_transfer.hpp"
#include "skein/consensus/storing.hpp"
#include "skein/consensus/term_map.hpp"

namespace skein::inline v0::consensus {

// No member of a group gets here by elections: a message with a higher term is refused.
inline constexpr Term k_term_max = 1ULL << 62U;

struct ConsensusLimits {
  Duration heartbeat = std::chrono::milliseconds(50);
  Duration election_min = std::chrono::milliseconds(150);  // also how long a vote is refused after a leader was heard
  Duration election_max = std::chrono::milliseconds(300);
  Duration disk_stuck_after = std::chrono::seconds(1);  // a leader gives leadership away
  std::uint64_t message_bytes = 1ULL << 20U;            // of entries in one message; one batch may be more
  std::size_t inflight_messages = 256;                  // to one member, with entries, and not acknowledged
  std::uint64_t inflight_bytes = 16ULL << 20U;
  std::uint64_t undecided_bytes = 64ULL << 20U;  // of a leader's log; more is not taken. One batch may be more
  std::uint64_t unstored_bytes = 64ULL << 20U;   // of a follower's log; appends beyond it are dropped
  std::uint64_t cache_bytes = 16ULL << 20U;      // of stored entries that are kept in memory
  std::uint64_t apply_bytes = 16ULL << 20U;      // handed out to be applied, and not applied
  std::uint64_t chunk_bytes = 1ULL << 20U;       // of a snapshot, in one message
  std::size_t reads_waiting = 100'000;
  std::size_t answers_held = 4'096;  // that wait for storage; more are dropped, as a link would
  bool has_pre_vote = true;          // false only for scripts that show what it is for
  bool has_check_quorum = true;      // likewise
};

enum class MemberRole : std::uint8_t { follower, pre_candidate, candidate, leader };
[[nodiscard]] std::string_view name_of(MemberRole role);

// What a member has on its disk when it starts.
struct StartState {
  MemberId self = 0;
  HardState hard;
  TermMap terms{0, 0};    // of the whole log; its base is the last position of the snapshot, or 0
  Membership membership;  // in force at the base
  std::vector<std::pair<Position, Membership>> memberships;  // of the log's entries, ascending
  std::optional<SnapshotOffer> snapshot;                     // that can be sent
  Position applied = 0;                                      // what the machine has; at least the base
  // Entries for a log that does not say who belongs to the group: a new log, or one of an earlier version. The first
  // leader appends them as one batch; one of them is the membership. All members that found a group start with the same
  // membership.
  std::vector<Entry> founding;
};

struct Refusal {
  enum class Kind : std::uint8_t {
    not_leader,    // ask `leader`, when there is one
    transferring,  // leadership is being handed over; ask again soon
    overloaded,    // too much is undecided
    not_now,       // a change is under way, or nothing of this term is decided yet
    not_possible,  // the change itself is wrong
  };
  Kind kind = Kind::not_leader;
  std::string why;
  MemberId leader = 0;
};

// Where a batch stands in the log, should it be decided. It is decided when an entry of this term is decided there.
struct Proposed {
  Term term = 0;
  Position first = 0;
  Position last = 0;
};

class Consensus {
 public:
  // The error is for people: the folder contradicts itself. Members need different seeds: with equal ones they stand
  // for election at the same moments again and again.
  [[nodiscard]] static std::expected<Consensus, std::string> start(StartState state, const ConsensusLimits& limits,
                                                                   Instant now, std::uint64_t seed);

  // Time passes. Call it by next_tick() at the latest, and before step().
  void tick(Instant now);
  [[nodiscard]] Instant next_tick() const;
  // A message of another member has come. Whatever it says, it does no harm.
  void step(PeerMessage message);

  // Kinds, ids and bytes (with their owner) of the entries count; they become neighbours in the log.
  [[nodiscard]] std::expected<Proposed, Refusal> propose(std::vector<Entry> batch);
  [[nodiscard]] std::expected<Proposed, Refusal> propose_change(std::span<const MemberChange> changes);
  // Answered by a ReadReady with this ticket.
  void read(std::uint64_t ticket);
  // The disk has no room for what was not stored yet: this leader, which is the only member, gives it up, as a crash
  // would. Answers the first position that is gone; nothing when it is not alone, or when all is stored.
  [[nodiscard]] std::optional<Position> give_up_unstored();
  // Hands leadership to another voter; an event says when that has ended, one way or the other.
  [[nodiscard]] std::expected<void, Refusal> transfer_to(MemberId member);
  // Stands for election now, if this member is a voter that does not lead and has stored its log.
  void campaign();

  [[nodiscard]] bool has_ready() const;
  [[nodiscard]] Ready ready();

  // Answers to a Ready.
  void stored(std::uint64_t number);
  void applied(Position position);
  // In order from where was asked. None: they are gone from the log.
  void fetched(MemberId reader, Position from, std::vector<Entry> entries);
  void chunk_read(MemberId to, SnapshotChunk chunk);
  void chunk_unreadable(MemberId to, Position snapshot);
  void chunk_written(Position snapshot, std::uint64_t end, ChunkResult result);

  // Actions of the driver: it wrote a snapshot that can be sent; dropped log that it covers; looked at the disk.
  void snapshot_taken(SnapshotOffer offer);
  void log_trimmed(Position up_to);
  void set_little_disk(bool is_little) { has_little_disk_ = is_little; }
  // Log after this position should be kept: a member that takes a snapshot needs it next.
  [[nodiscard]] Position needed_after() const;

  [[nodiscard]] MemberId self() const { return self_; }
  [[nodiscard]] MemberRole role() const { return role_; }
  [[nodiscard]] MemberId leader() const { return leader_; }
  [[nodiscard]] Term term() const { return hard_.term; }
  [[nodiscard]] const HardState& hard() const { return hard_; }
  [[nodiscard]] Position decided() const { return hard_.commit; }
  [[nodiscard]] const LogWindow& log() const { return log_; }
  [[nodiscard]] const Membership& membership() const { return memberships_.in_force(); }
  [[nodiscard]] const std::map<MemberId, MemberProgress>& progress() const { return progress_; }
  [[nodiscard]] MemberId transfer_target() const { return transfer_target_; }
  // Whether a majority of the voters, this member included, has room on its disk; as far as a leader was told.
  [[nodiscard]] bool has_quorum_room() const;

 private:
  struct Tail {
    Position last = 0;
    std::uint64_t bytes = 0;
  };

  Consensus(StartState state, const ConsensusLimits& limits, Instant now, std::uint64_t seed);

  // consensus.cpp
  void build_store(Ready& out);
  void send(PeerMessage message);
  void hold(PeerMessage message);
  void release(std::vector<PeerMessage> messages);
  void emit(ConsensusEvent::Kind kind, MemberId member, Position position);
  [[nodiscard]] bool take_term(const PeerMessage& message);
  void answer_old_term(const PeerMessage& message);
  void decide_up_to(Position position);
  [[nodiscard]] Position can_be_applied() const;

  // consensus_election.cpp
  void become_follower(Term term, MemberId leader);
  void become_leader();
  void begin_campaign(bool is_pre, bool is_transfer);
  void tell_if_removed(MemberId candidate);
  void on_vote_request(const PeerMessage& message);
  void on_vote_response(const PeerMessage& message);
  void count_vote(MemberId voter, bool is_granted);
  void set_leader(MemberId leader);
  void reset_election_timer();
  [[nodiscard]] bool can_campaign() const;
  [[nodiscard]] bool hears_leader() const;
  [[nodiscard]] bool is_up_to_date(Term term, Position position) const;

  // consensus_follower.cpp
  [[nodiscard]] bool follow(const PeerMessage& message);
  void on_append(PeerMessage message);
  void on_heartbeat(const PeerMessage& message);
  void on_chunk(const PeerMessage& message);
  void on_removed(const PeerMessage& message);
  void refuse_append(const PeerMessage& message);
  [[nodiscard]] Position first_conflict(const std::vector<Entry>& entries) const;
  [[nodiscard]] bool is_well_formed(const PeerMessage& message) const;
  [[nodiscard]] bool has_all_of(const SnapshotOffer& offer);
  void answer_chunk(MemberId to, Position snapshot, std::uint64_t wanted, bool rejects);
  void answer_append(MemberId to, Position stored);
  void truncate_from(Position from);
  void append_as_follower(Entry entry);
  void install(const SnapshotOffer& offer);
  void installed();

  // consensus_leader.cpp
  void tick_leader();
  void check_quorum();
  void check_disk();
  void broadcast_append();
  void broadcast_heartbeat();
  bool send_append(MemberId to, MemberProgress& progress, bool even_if_empty);
  void send_entries(MemberId to, MemberProgress& progress, std::vector<Entry> entries);
  void begin_snapshot(MemberId to, MemberProgress& progress);
  void on_append_response(const PeerMessage& message);
  void on_heartbeat_response(const PeerMessage& message);
  void on_snapshot_response(const PeerMessage& message);
  void acknowledged(MemberId from, MemberProgress& progress, Position position);
  [[nodiscard]] bool decide_by_majority();
  void follow_membership();
  [[nodiscard]] bool take_read(std::uint64_t ticket);
  void confirm_reads();
  void refuse_reads();
  void step_down_if_removed();
  void end_transfer();
  void stop_leading();
  [[nodiscard]] std::optional<Refusal> refusal_of_proposal() const;
  [[nodiscard]] Proposed append_as_leader(std::vector<Entry> batch);
  [[nodiscard]] bool has_decided_own_term() const;
  void append_first_of_term();

  MemberId self_;
  ConsensusLimits limits_;
  Random random_;
  Instant now_;

  HardState hard_;
  MemberRole role_ = MemberRole::follower;
  MemberId leader_ = 0;
  LogWindow log_;
  MembershipHistory memberships_;
  Storing storing_;
  HardState handed_out_hard_;  // in the newest ToStore
  ApplyFeed apply_;

  // Elections.
  Instant election_at_;
  Instant heard_at_;  // a leader, or a candidate that got this member's vote
  std::map<MemberId, bool> votes_;

  // Leading.
  std::map<MemberId, MemberProgress> progress_;
  SnapshotSends sends_;
  std::optional<SnapshotOffer> snapshot_;  // the newest that can be sent
  Instant heartbeat_at_;
  Instant quorum_check_at_;
  std::deque<Tail> undecided_;  // of what was proposed here
  std::uint64_t undecided_bytes_ = 0;
  ReadRounds reads_;
  std::deque<std::uint64_t> early_reads_;  // that came before an entry of the term was decided
  MemberId transfer_target_ = 0;
  Instant transfer_until_;
  bool is_disk_stuck_ = false;
  std::vector<Entry> founding_;
  Position founding_base_ = 0;  // the membership is that of the start as long as it stands there
  Position own_from_ = 0;       // the first entry of the term that this member leads in; 0: given up

  // Following.
  SnapshotReceipt receipt_;
  std::optional<SnapshotOffer> to_install_;  // complete, and not handed out to be installed
  std::uint64_t install_number_ = 0;         // of the ToStore that installs; 0 for none
  Position install_position_ = 0;
  bool has_little_disk_ = false;

  Ready out_;  // what has gathered since the last ready(), but for `store` and `apply`
};

}  // namespace skein::inline v0::consensus
