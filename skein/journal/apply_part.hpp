// The part of a journal that applies: it has the machine, answers those who appended, and serves reads. One thread, the
// one that journal.hpp calls the journal's own; no clock, no disk.
//
// It is told by steps, in the order in which the part that decides (consensus_part.hpp) hands them out:
//
//   Proposal      a batch stands in the log from here on, at these positions; its caller is answered here
//   Answered...   an append or a read that needs nothing applied, most often because it was turned away
//   Decided       entries to be applied
//   Restore       a snapshot was installed: the driver loads it and calls restored()
//   ReadAt        call back once this position is applied
//   GivenUp     the disk refused batches that nobody else has
//   SkipDecided   this position is to be passed over
//   Leads         the leader from here on
//
// 1. Entries are applied in order, each once, between callbacks.
// 2. A batch is answered `applied` only when an entry of its own term was applied at each of its positions.
// 3. After an entry that can't be applied, nothing more is applied until the journal is opened again: the machine may
//    have done a part of it. Deciding and storing go on meanwhile, so that a skip of that entry can be decided.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "skein/consensus/entry.hpp"
#include "skein/consensus/membership.hpp"
#include "skein/journal/admission.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/proposals.hpp"
#include "skein/journal/replica.hpp"

namespace skein::inline v0::journal {

struct AnsweredAppend {
  AnswerFn done;
  AppendAnswer answer;
  std::uint64_t charged = 0;
};
struct AnsweredRead {
  ReadFn fn;
  ReadAnswer answer;
};
struct Decided {
  std::vector<consensus::Entry> entries;
};
struct Restore {
  Position position = 0;
};
struct ReadAt {
  Position position = 0;
  ReadFn fn;
};
struct GivenUp {
  Position from = 0;
  std::string why;
};
struct SkipDecided {
  Position skipped = 0;
};
struct Leads {
  std::optional<std::string> leader;  // k_self, another's name, or nobody
};
using ApplyStep =
    std::variant<Proposal, AnsweredAppend, AnsweredRead, Decided, Restore, ReadAt, GivenUp, SkipDecided, Leads>;

class ApplyPart {
 public:
  ApplyPart(MachineRef machine, const JournalLimits& limits, Admission& admission);
  ApplyPart(const ApplyPart&) = delete;
  ApplyPart& operator=(const ApplyPart&) = delete;

  // Everything but Restore is done when this returns.
  void take(ApplyStep step);
  // The machine has the snapshot that a Restore asked for.
  void restored();
  void request_snapshot(SnapshotFn done);
  // Answers those who asked when no more than `covered` was applied.
  void answer_snapshots(const StoreResult<SnapshotInfo>& result, Position covered);
  [[nodiscard]] bool snapshots_awaited() const { return !snapshot_waiters_.empty(); }
  // Ends with these words: what waits is answered. Nothing may be told afterwards but reads and snapshots.
  void stop(const std::string& why);

  void on_event(EventFn fn) { event_ = std::move(fn); }
  // Called with the reason why nothing more is applied, before anybody is answered because of it.
  void on_end(std::function<void(const std::string&)> fn) { end_ = std::move(fn); }
  void emit(JournalEvent::Kind kind, Position position, std::string detail);
  // How things are, in the words of events.
  [[nodiscard]] std::vector<JournalEvent> present() const;

  // What is applied, for any thread: as far as anybody was called back for.
  [[nodiscard]] Position applied() const { return applied_.load(std::memory_order_acquire); }
  [[nodiscard]] Replica& replica() { return replica_; }
  [[nodiscard]] const Replica& replica() const { return replica_; }
  [[nodiscard]] const std::optional<std::string>& leader() const { return leader_; }
  [[nodiscard]] const std::optional<std::string>& stopped() const { return stopped_; }
  // Why nothing more is applied.
  [[nodiscard]] const std::optional<std::string>& stuck() const { return stuck_; }

 private:
  struct WaitingSnapshot {
    Position asked_at = 0;
    SnapshotFn done;
  };

  void on(Proposal&& proposal);
  void on(AnsweredAppend&& step);
  void on(AnsweredRead&& step);
  void on(Decided&& step);
  void on(Restore&&) {}
  void on(ReadAt&& step);
  void on(GivenUp&& step);
  void on(SkipDecided&& step);
  void on(Leads&& step);

  bool apply(const consensus::Entry& entry);
  void cannot_apply(const std::string& why);
  void answer(Proposal&& proposal, Outcome outcome, const std::string& why);
  void answer(ReadFn& fn, ReadAnswer answer);
  void serve_reads();

  Admission& admission_;
  Replica replica_;
  std::atomic<Position> applied_{0};
  Proposals proposals_;
  std::vector<ReadAt> reads_;
  std::vector<WaitingSnapshot> snapshot_waiters_;
  std::set<Position> skips_;
  std::optional<std::string> leader_;
  std::optional<std::string> stuck_;
  std::optional<std::string> stopped_;
  EventFn event_;
  std::function<void(const std::string&)> end_;
};

}  // namespace skein::inline v0::journal
