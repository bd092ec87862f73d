#include "skein/consensus/consensus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "skein/base/must_hold.hpp"

namespace skein::inline v0::consensus {

std::string_view name_of(MemberRole role) {
  switch (role) {
    case MemberRole::follower:
      return "follower";
    case MemberRole::pre_candidate:
      return "pre_candidate";
    case MemberRole::candidate:
      return "candidate";
    case MemberRole::leader:
      return "leader";
  }
  return "unknown";
}

std::string_view name_of(ConsensusEvent::Kind kind) {
  switch (kind) {
    case ConsensusEvent::Kind::leader_changed:
      return "leader_changed";
    case ConsensusEvent::Kind::membership_changed:
      return "membership_changed";
    case ConsensusEvent::Kind::transfer_ended:
      return "transfer_ended";
    case ConsensusEvent::Kind::disk_stuck:
      return "disk_stuck";
    case ConsensusEvent::Kind::removed:
      return "removed";
    case ConsensusEvent::Kind::refused:
      return "refused";
  }
  return "unknown";
}

std::expected<Consensus, std::string> Consensus::start(StartState state, const ConsensusLimits& limits, Instant now,
                                                       std::uint64_t seed) {
  if (state.self == 0) return std::unexpected("a member needs an id that is not 0");
  if (state.terms.last_term() > state.hard.term) {
    return std::unexpected(fmt::format(
        "the log has an entry of term {}, but this member knows of term {} only: its vote may be lost, so it can't be "
        "a voter again; add it to the group as a new learner with an empty folder",
        state.terms.last_term(), state.hard.term));
  }
  if (state.hard.commit > state.terms.last()) {
    return std::unexpected(fmt::format("position {} was decided, but the log ends at {}: a part of it is missing",
                                       state.hard.commit, state.terms.last()));
  }
  return Consensus(std::move(state), limits, now, seed);
}

Consensus::Consensus(StartState state, const ConsensusLimits& limits, Instant now, std::uint64_t seed)
    : self_(state.self),
      limits_(limits),
      random_(seed),
      now_(now),
      hard_(state.hard),
      log_(std::move(state.terms), limits.cache_bytes),
      memberships_(log_.base(), std::move(state.membership), state.memberships),
      storing_(limits.answers_held),
      apply_(std::max(state.applied, log_.base()), limits.apply_bytes),
      heard_at_(Instant::min()),
      sends_(limits.chunk_bytes),
      snapshot_(std::move(state.snapshot)),
      reads_(limits.reads_waiting),
      founding_(std::move(state.founding)),
      founding_base_(log_.base()) {
  hard_.commit = std::max({hard_.commit, log_.base(), state.applied});
  handed_out_hard_ = hard_;
  memberships_.decide_up_to(hard_.commit);
  reset_election_timer();
}

// Time.

void Consensus::tick(Instant now) {
  const Duration gap = between(now_, now);
  now_ = std::max(now_, now);
  // After such a gap, messages that arrived meanwhile are still unread: the timers wait for them.
  if (gap > limits_.election_min) {
    election_at_ = std::max(election_at_, later(now_, limits_.heartbeat));
    quorum_check_at_ = std::max(quorum_check_at_, later(now_, limits_.election_min));
  }
  if (role_ == MemberRole::leader) {
    tick_leader();
  } else if (now_ >= election_at_) {
    reset_election_timer();
    if (can_campaign()) begin_campaign(limits_.has_pre_vote, false);
  }
}

Instant Consensus::next_tick() const {
  return role_ == MemberRole::leader ? std::min(heartbeat_at_, quorum_check_at_) : election_at_;
}

// Messages.

void Consensus::step(PeerMessage message) {
  if (message.to != self_ || message.from == self_ || message.from == 0 || message.term > k_term_max) {
    emit(ConsensusEvent::Kind::refused, message.from, 0);
    return;
  }
  if (!take_term(message)) return;
  switch (message.kind) {
    case PeerMessageKind::append:
      return on_append(std::move(message));
    case PeerMessageKind::heartbeat:
      return on_heartbeat(message);
    case PeerMessageKind::snapshot_chunk:
      return on_chunk(message);
    case PeerMessageKind::vote_request:
    case PeerMessageKind::pre_vote_request:
      return on_vote_request(message);
    case PeerMessageKind::vote_response:
    case PeerMessageKind::pre_vote_response:
      return on_vote_response(message);
    case PeerMessageKind::append_response:
      return on_append_response(message);
    case PeerMessageKind::heartbeat_response:
      return on_heartbeat_response(message);
    case PeerMessageKind::snapshot_response:
      return on_snapshot_response(message);
    case PeerMessageKind::timeout_now:
      if (role_ != MemberRole::leader && can_campaign()) begin_campaign(false, true);
      return;
    case PeerMessageKind::removed:
      return on_removed(message);
  }
  emit(ConsensusEvent::Kind::refused, message.from, 0);
}

namespace {

// Only a leader sends these, so the sender leads in the message's term.
bool is_from_leader(PeerMessageKind kind) {
  return kind == PeerMessageKind::append || kind == PeerMessageKind::heartbeat ||
         kind == PeerMessageKind::snapshot_chunk;
}

}  // namespace

// False when the message's term says that there is nothing more to do.
bool Consensus::take_term(const PeerMessage& message) {
  // Does not say that its sender is in that term. A removed member may have raised its own term in vain.
  if (message.kind == PeerMessageKind::removed) return true;
  if (message.term < hard_.term) {
    answer_old_term(message);
    return false;
  }
  if (message.term == hard_.term) return true;
  const bool asks_for_vote =
      message.kind == PeerMessageKind::vote_request || message.kind == PeerMessageKind::pre_vote_request;
  // A member that was cut off, or removed, must not depose a leader that the others hear (thesis, section 4.2.3).
  if (asks_for_vote && !message.is_transfer && hears_leader()) {
    tell_if_removed(message.from);
    return false;
  }
  // Both are about a term that nobody is in yet.
  const bool is_of_future = message.kind == PeerMessageKind::pre_vote_request ||
                            (message.kind == PeerMessageKind::pre_vote_response && !message.rejects);
  if (!is_of_future) become_follower(message.term, is_from_leader(message.kind) ? message.from : 0);
  return true;
}

// A leader of an old term is told of the present one, or it would never step down and this member never hear a leader:
// with pre-vote and check-quorum nothing else raises its term.
void Consensus::answer_old_term(const PeerMessage& message) {
  if (is_from_leader(message.kind) && (limits_.has_pre_vote || limits_.has_check_quorum)) {
    answer_append(message.from, 0);
  } else if (message.kind == PeerMessageKind::pre_vote_request) {
    hold({.kind = PeerMessageKind::pre_vote_response, .rejects = true, .to = message.from, .term = hard_.term});
  }
}

void Consensus::send(PeerMessage message) {
  message.from = self_;
  message.term = message.term == 0 ? hard_.term : message.term;
  message.has_little_disk = has_little_disk_;
  out_.messages.push_back(std::move(message));
}

// For what says that something is stored: it leaves once everything that is known now is.
void Consensus::hold(PeerMessage message) {
  message.from = self_;
  message.term = message.term == 0 ? hard_.term : message.term;
  message.has_little_disk = has_little_disk_;
  storing_.hold(std::move(message));
}

void Consensus::release(std::vector<PeerMessage> messages) {
  for (auto& message : messages) {
    if (message.to != self_) {
      out_.messages.push_back(std::move(message));
    } else if (message.term == hard_.term && role_ == MemberRole::candidate) {
      count_vote(self_, true);
    }
  }
}

void Consensus::emit(ConsensusEvent::Kind kind, MemberId member, Position position) {
  out_.events.push_back({kind, hard_.term, member, position});
}

// Doing.

bool Consensus::has_ready() const {
  return hard_ != handed_out_hard_ || log_.has_unsent() || to_install_ || storing_.has_fresh() ||
         apply_.can_take(can_be_applied()) || out_.restore || !out_.messages.empty() || !out_.fetches.empty() ||
         !out_.chunks_wanted.empty() || !out_.chunks.empty() || !out_.reads.empty() || !out_.events.empty();
}

Ready Consensus::ready() {
  Ready out = std::exchange(out_, {});
  build_store(out);
  for (auto& message : storing_.settle()) {
    if (message.to != self_) out.messages.push_back(std::move(message));
  }
  out.apply = apply_.take(log_, can_be_applied(), out.fetches);
  return out;
}

// Nothing while a snapshot is on its way to take the place of all that is applied.
Position Consensus::can_be_applied() const {
  if (to_install_ || install_number_ != 0) return apply_.handed_out();
  return std::min(hard_.commit, log_.stored());
}

void Consensus::build_store(Ready& out) {
  if (hard_ == handed_out_hard_ && !log_.has_unsent() && !to_install_) return;
  ToStore store;
  store.hard = hard_;
  store.must_sync = hard_.term != handed_out_hard_.term || hard_.voted_for != handed_out_hard_.voted_for ||
                    log_.has_unsent() || to_install_.has_value();
  store.number = storing_.hand_out(store.must_sync, now_);
  if (to_install_) {
    install_number_ = store.number;
    install_position_ = to_install_->position;
  }
  store.install = std::exchange(to_install_, std::nullopt);
  store.entries = log_.take_unsent();
  log_.hand_out(store.number);
  handed_out_hard_ = hard_;
  out.store = std::move(store);
}

void Consensus::stored(std::uint64_t number) {
  const Position before = log_.stored();
  log_.acknowledge(number);
  release(storing_.acknowledge(number));
  if (install_number_ != 0 && number >= install_number_) installed();
  if (role_ != MemberRole::leader || log_.stored() == before) return;
  // A leader's own disk is one vote among others.
  const auto own = progress_.find(self_);
  if (own == progress_.end()) return;
  (void)own->second.acknowledged(log_.stored());
  if (decide_by_majority()) broadcast_append();
  step_down_if_removed();
}

void Consensus::applied(Position position) {
  apply_.applied(position);
  // Nobody else is sent what is applied here.
  if (membership().size() == 1) log_.free_up_to(std::min(position, hard_.commit));
}

void Consensus::fetched(MemberId reader, Position from, std::vector<Entry> entries) {
  if (reader == 0) {
    apply_.fetched(from, std::move(entries), log_);
    return;
  }
  const auto found = progress_.find(reader);
  if (role_ != MemberRole::leader || found == progress_.end() || !found->second.is_fetching()) return;
  MemberProgress& progress = found->second;
  progress.set_fetching(false);
  const bool is_wanted = !entries.empty() && progress.state() != ProgressState::snapshot && progress.next() == from &&
                         log_.term_at(from) == std::optional(entries.front().term);
  if (is_wanted) {
    send_entries(reader, progress, std::move(entries));
  } else if (entries.empty() && progress.next() == from && from <= log_.last() && !log_.has_in_memory(from)) {
    begin_snapshot(reader, progress);
  } else {
    (void)send_append(reader, progress, false);
  }
}

void Consensus::decide_up_to(Position position) {
  must_hold(position >= hard_.commit && position <= log_.last(),
            "consensus.hpp 4: the decided position never goes back");
  hard_.commit = position;
  memberships_.decide_up_to(position);
  while (!undecided_.empty() && undecided_.front().last <= position) {
    undecided_bytes_ -= undecided_.front().bytes;
    undecided_.pop_front();
  }
}

// What the driver did.

void Consensus::snapshot_taken(SnapshotOffer offer) {
  if (!snapshot_ || offer.position > snapshot_->position) snapshot_ = std::move(offer);
}

void Consensus::log_trimmed(Position up_to) { log_.forget_up_to(std::min(up_to, hard_.commit)); }

Position Consensus::needed_after() const { return sends_.oldest().value_or(log_.last()); }

}  // namespace skein::inline v0::consensus
