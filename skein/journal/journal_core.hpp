// The part of an engine for one node that has no thread and no clock: a queue of batches, a log to write them to, a
// replica to apply them to. Its driver (threaded_journal.cpp, or the simulator by hand) calls the steps in turn:
//
//   submit(...)    any number of batches
//   write()        puts what is queued into the log as one batch: one write
//   sync()         makes it durable
//   apply()        applies what is durable, calls back, serves reads
//   take_job()     work that may take long and runs beside it; job_done() brings its result
//   idle()         when nothing is to be done
//
// One thread at a time, but for admission(). Nothing is applied or answered before it is durable.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skein/journal/admission.hpp"
#include "skein/journal/aside_job.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/replica.hpp"
#include "skein/journal/segment_file.hpp"
#include "skein/journal/snapshot_file.hpp"

namespace skein::inline v0::journal {

class JournalCore {
 public:
  JournalCore(MachineRef machine, const JournalLimits& limits);
  JournalCore(const JournalCore&) = delete;
  JournalCore& operator=(const JournalCore&) = delete;
  virtual ~JournalCore() = default;

  // For a driver without threads: admits and submits, or answers at once.
  void append(Batch batch, AnswerFn done, Urgency urgency = Urgency::ordinary);
  // Takes a batch that was admitted.
  void submit(Batch batch, AnswerFn done);
  void read(Read what, ReadFn fn);
  void request_snapshot(SnapshotFn done);
  void request_trim(Position up_to = k_no_trim_limit);
  void set_trim_limit(Position limit);
  // The leader from now on: k_self, another, or nobody. What is queued and not written goes back to its callers. An
  // engine of one node always leads; this is for engines of several, and for tests of what they owe.
  void set_leader(std::optional<std::string> leader);

  // True when something was written.
  bool write();
  void sync();
  void apply();
  // write, sync and apply until nothing is queued.
  void run_queued();
  virtual void idle() {}
  // Finishes what is queued and leaves the log clean. Nothing may be submitted afterwards.
  virtual void close();
  // After close(), when no job of it is under way any more: another may open what it had.
  virtual void release() {}

  [[nodiscard]] virtual std::optional<AsideJob> take_job() { return std::nullopt; }
  virtual void job_done(const AsideResult&) {}
  // For run_aside(), on any thread; none for a core that has no jobs.
  [[nodiscard]] virtual Disk* job_disk() { return nullptr; }

  void on_event(EventFn fn) { event_ = std::move(fn); }
  // How things are, in the words of events.
  [[nodiscard]] std::vector<JournalEvent> present() const;

  [[nodiscard]] bool has_queued() const { return !queued_.empty(); }
  [[nodiscard]] const std::optional<std::string>& leader() const { return leader_; }
  [[nodiscard]] bool leads() const { return leader_ == k_self; }
  [[nodiscard]] Admission& admission() { return admission_; }
  [[nodiscard]] Replica& replica() { return replica_; }
  [[nodiscard]] const Replica& replica() const { return replica_; }
  [[nodiscard]] Position snapshot_position() const { return snapshot_.position; }
  [[nodiscard]] const std::optional<std::string>& stopped() const { return stopped_; }
  [[nodiscard]] const JournalLimits& limits() const { return limits_; }

 protected:
  [[nodiscard]] virtual StoreResult<void> log_write(std::span<const EntryView> entries) = 0;
  [[nodiscard]] virtual StoreResult<void> log_sync() = 0;
  [[nodiscard]] virtual Position log_last() const = 0;
  [[nodiscard]] virtual Position log_durable() const = 0;
  // One is wanted that covers everything applied by now; perhaps beside one that is under way and covers less.
  virtual void start_snapshot() = 0;

  void stop(const std::string& why);
  void emit(JournalEvent::Kind kind, Position position, std::string detail);
  // Answers those who asked when no more than `covered` was applied.
  void answer_snapshots(const StoreResult<SnapshotInfo>& result, Position covered);
  [[nodiscard]] bool snapshots_awaited() const { return !snapshot_waiters_.empty(); }

  JournalLimits limits_;
  Admission admission_;
  Replica replica_;
  Term term_ = 1;
  SnapshotInfo snapshot_;  // the last one
  std::optional<Position> trim_wanted_;
  Position trim_limit_;
  std::optional<std::string> stopped_;
  std::optional<std::string> leader_ = k_self;

 private:
  struct Pending {
    Batch batch;
    AnswerFn done;
    std::uint64_t charged = 0;
    Position first = 0;
    std::vector<Applied> results;
  };
  struct WaitingRead {
    Read what;
    ReadFn fn;
  };
  struct WaitingSnapshot {
    Position asked_at = 0;
    SnapshotFn done;
  };

  void take_batch(std::vector<EntryView>& entries);
  bool apply_one(Pending& pending);
  void answer(Pending& pending, Outcome outcome, const std::string& why);
  void serve_reads();

  std::deque<Pending> queued_;
  std::deque<Pending> written_;
  std::vector<WaitingRead> reads_;
  std::vector<WaitingSnapshot> snapshot_waiters_;
  std::vector<EntryView> entries_;
  EventFn event_;
};

}  // namespace skein::inline v0::journal
