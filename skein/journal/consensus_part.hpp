// The part of a journal that decides: it drives a Consensus value, proposes what callers append, and says what is to be
// stored, sent and applied. One thread; no disk, no clock: the driver says what time it is. Nothing here waits, so
// heartbeats go on through a sync of seconds and a restore.
//
// A driver calls what has happened, then take() and does all of it: stores in their order (log_part.hpp), steps in
// theirs (apply_part.hpp), messages and jobs whenever.
//
// 1. A batch is either turned away, with a step that says so, or proposed; then its Proposal step comes before any
//    Decided step with its entries.
// 2. A skip counts once it is decided, and is told then; one that was replaced never is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skein/consensus/consensus.hpp"
#include "skein/journal/apply_part.hpp"
#include "skein/journal/aside_job.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/storage.hpp"

namespace skein::inline v0::journal {

// What is to be done. Moves out of take().
struct ConsensusOutput {
  std::vector<consensus::ToStore> stores;
  std::vector<consensus::PeerMessage> messages;
  std::vector<ApplyStep> steps;
  std::vector<consensus::Fetch> fetches;
  std::vector<consensus::ChunkWanted> chunks_wanted;
  std::vector<consensus::ChunkToWrite> chunks;
  std::vector<consensus::ConsensusEvent> events;

  [[nodiscard]] bool empty() const {
    return stores.empty() && messages.empty() && steps.empty() && fetches.empty() && chunks_wanted.empty() &&
           chunks.empty() && events.empty();
  }
};

class ConsensusPart {
 public:
  ConsensusPart(consensus::Consensus core, std::vector<Skip> skips, Position applied);
  ConsensusPart(const ConsensusPart&) = delete;
  ConsensusPart& operator=(const ConsensusPart&) = delete;

  // Time passes; first of all calls of a round.
  void tick(Instant now) { core_.tick(now); }
  // When to tick again; never while this member leads alone, since nobody waits for its heartbeats.
  [[nodiscard]] Instant next_tick() const;
  void campaign() { core_.campaign(); }

  // A batch that was admitted. `in_term`: only if this member leads in that term (0: in any).
  void append(Batch batch, AnswerFn done, std::uint64_t charged, Term in_term = 0);
  void read_linear(ReadFn fn);
  // Proposes that `position` is passed over; answered once that is decided, whether anything can be applied or not.
  void skip(Position position, AnswerFn done);
  [[nodiscard]] std::expected<consensus::Proposed, consensus::Refusal> change(
      std::span<const consensus::MemberChange> changes) {
    return core_.propose_change(changes);
  }
  [[nodiscard]] std::expected<void, consensus::Refusal> transfer_to(consensus::MemberId member) {
    return core_.transfer_to(member);
  }
  void step(consensus::PeerMessage message) { core_.step(std::move(message)); }

  // Answers.
  void stored(std::uint64_t number) { core_.stored(number); }
  void applied(Position position);
  void fetched(const consensus::Fetch& fetch, std::vector<consensus::Entry> entries) {
    core_.fetched(fetch.reader, fetch.from, std::move(entries));
  }
  void chunk_read(ChunkRead read);
  void chunk_written(const ChunkWritten& written);
  void snapshot_taken(const consensus::SnapshotOffer& offer) { core_.snapshot_taken(offer); }
  void log_trimmed(Position up_to) { core_.log_trimmed(up_to); }
  // The disk has no room for what is not stored yet. True when it was taken back, and need not be stored any more.
  [[nodiscard]] bool store_refused(const std::string& why);
  void set_little_disk(bool is_little) { core_.set_little_disk(is_little); }

  void take(ConsensusOutput& out);

  [[nodiscard]] const consensus::Consensus& core() const { return core_; }
  [[nodiscard]] bool leads() const { return core_.role() == consensus::MemberRole::leader; }
  // The leader's name, as callers get to see it.
  [[nodiscard]] std::optional<std::string> leader_name() const;

 private:
  void turn_away(AnswerFn done, Outcome outcome, std::string why, std::uint64_t charged);
  void turn_away(AnswerFn done, const consensus::Refusal& refusal, std::uint64_t charged);
  void take_ready(ConsensusOutput& out);
  void note_skips(const std::vector<consensus::Entry>& entries);
  void tell_decided_skips();

  consensus::Consensus core_;
  std::vector<ApplyStep> steps_;
  std::map<std::uint64_t, ReadFn> reads_;  // by ticket
  std::uint64_t tickets_ = 0;
  struct WaitingSkip {
    Position at = 0;
    Term term = 0;
    AnswerFn done;
  };
  void answer_skips_from(Position from);
  std::vector<Skip> skips_;                 // of the log, not decided, ascending
  std::vector<WaitingSkip> waiting_skips_;  // of those, the ones that were proposed here
  Position applied_ = 0;
};

// A name for a member that nobody has named: 16 hex digits.
[[nodiscard]] std::string name_of_member(consensus::MemberId member);

}  // namespace skein::inline v0::journal
