// A journal without threads and clock: the three parts of a member, one that decides, one that stores and one that
// applies, and the queues between them. Its driver runs each part when there is something for it to do: on a thread for
// all of them, on a thread for each, or by hand, as the simulators do.
//
//   decide(now)   takes in appends, reads, messages and what the other parts have done; hands out work
//   write()       puts what is to be stored into the log: one write
//   sync()        makes it durable
//   apply()       applies what is decided, calls back, serves reads
//   idle()        when the log has been quiet
//   take_job()    work that may take long and runs beside all of it; job_done() brings its result
//
// 1. Each part is run by one thread at a time; write(), sync() and idle() are one part. Everything that has no part's
//    name beside it may be called from any thread.
// 2. No part waits for another: decide() never touches a disk, so heartbeats go on through a slow sync and a restore.
// 3. Nothing is applied or answered before it is decided and durable here.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "skein/journal/admission.hpp"
#include "skein/journal/apply_part.hpp"
#include "skein/journal/aside_job.hpp"
#include "skein/journal/consensus_part.hpp"
#include "skein/journal/disk_storage.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/log_part.hpp"
#include "skein/journal/storage.hpp"

namespace skein::inline v0::journal {

// The id of a member and how its group behaves. The defaults are those of a journal of one member.
struct MemberOptions {
  consensus::MemberId self = 0;  // for a new folder; 0: at random
  ClusterId cluster = 0;         // for a new log; 0: at random
  std::uint64_t seed = 0;        // of election times; 0: at random
  bool joins = false;            // a new folder waits to be added to a group, and founds none
  // For a new log: who founds it together. Each of them has the same list, and its own id among them. Empty: alone.
  std::vector<consensus::MemberId> founders;
  consensus::ConsensusLimits limits;
};

// Something for one part to do, posted by any thread and taken by its own.
template <class T>
class PartQueue {
 public:
  // True when the part may be asleep: nothing else was waiting.
  template <class U>
  bool post(U&& item) {
    const std::lock_guard lock(mutex_);
    items_.emplace_back(std::forward<U>(item));
    is_empty_ = false;
    return items_.size() == 1;
  }
  // Into an empty vector, whose room is reused.
  void take(std::vector<T>& into) {
    const std::lock_guard lock(mutex_);
    into.swap(items_);
    is_empty_ = true;
  }
  [[nodiscard]] bool empty() const { return is_empty_; }

 private:
  std::mutex mutex_;
  std::vector<T> items_;
  std::atomic<bool> is_empty_{true};
};

class MemberCore {
 public:
  // Opens or creates the folder. A journal of one member leads, and has applied its whole log, when this returns; a
  // member of a group has applied what it knows to be decided.
  [[nodiscard]] static StoreResult<std::unique_ptr<MemberCore>> open(Disk& disk, const std::string& dir,
                                                                     MachineRef machine, const JournalLimits& limits,
                                                                     const MemberOptions& options = {},
                                                                     Instant now = {});
  // The same with nothing behind it.
  [[nodiscard]] static std::unique_ptr<MemberCore> in_memory(MachineRef machine, const JournalLimits& limits,
                                                             const MemberOptions& options = {}, Instant now = {});
  ~MemberCore();
  MemberCore(const MemberCore&) = delete;
  MemberCore& operator=(const MemberCore&) = delete;

  // Admits and submits, or answers at once. `in_term`: only if this member leads in that term; 0: in any.
  void append(Batch batch, AnswerFn done, Urgency urgency = Urgency::ordinary, Term in_term = 0);
  // Takes a batch that was admitted.
  void submit(Batch batch, AnswerFn done, Term in_term = 0);
  // Takes a read that was admitted.
  void read(Read what, ReadFn fn);
  void request_snapshot(SnapshotFn done);
  void request_trim(Position up_to = k_no_trim_limit);
  void set_trim_limit(Position limit);
  // Has an entry that can't be applied passed over, by everybody.
  void skip(Position position, AnswerFn done);
  using ChangeFn = std::move_only_function<void(std::expected<void, std::string>)>;
  // Answered when it is proposed, or why not; membership() says when it is in force.
  void change(std::vector<consensus::MemberChange> changes, ChangeFn done);
  void transfer_to(consensus::MemberId member, ChangeFn done);
  void receive(consensus::PeerMessage message);
  void subscribed(std::function<void()> tell);

  void decide(Instant now);  // the deciding part
  [[nodiscard]] Instant next_tick() const { return next_tick_.load(std::memory_order_acquire); }
  bool write();  // the storing part; true when something was written
  void sync();   // the storing part
  void idle();   // the storing part
  void apply();  // the applying part
  // For a driver with one thread: a part, and whatever was decided because of it; each part once; and that until
  // nothing is left to do.
  bool step_write(Instant now = {});
  void step_sync(Instant now = {});
  void step_apply(Instant now = {});
  void round(Instant now = {});
  void run_queued(Instant now = {});
  // A disk without room keeps something waiting: idle() looks again.
  [[nodiscard]] bool wants_idle() const {
    return is_refused_.load(std::memory_order_acquire) || admission_.disk_low() || admission_.segment_refused();
  }
  // Finishes what is queued, as far as this member can alone, and leaves the log clean. Nothing may be submitted
  // afterwards. One thread: no part may be running.
  void close(Instant now = {});
  // After close(), when no job of it is under way any more: another may open what it had.
  void release();

  [[nodiscard]] std::optional<AsideJob> take_job();
  void job_done(AsideResult result);
  // For run_aside(); none for a journal in memory, which has no jobs.
  [[nodiscard]] Disk* job_disk() { return disk_ ? &disk_->disk() : nullptr; }

  // Before anything runs.
  void on_event(EventFn fn) { apply_.on_event(std::move(fn)); }
  using SendFn = std::function<void(std::vector<consensus::PeerMessage>)>;
  void on_send(SendFn fn) { send_ = std::move(fn); }
  // Called when something waits for a part that may be asleep, or for a job.
  enum class Part : std::uint8_t { deciding, storing, applying, beside };
  void on_work(std::function<void(Part)> fn) { wake_ = std::move(fn); }

  [[nodiscard]] bool has_to_decide() const { return !to_decide_.empty(); }
  [[nodiscard]] bool has_to_store() const { return !to_store_.empty() || may_write_; }
  [[nodiscard]] bool has_to_apply() const { return !to_apply_.empty(); }
  [[nodiscard]] bool has_queued() const { return has_to_decide() || has_to_store() || has_to_apply(); }

  [[nodiscard]] Admission& admission() { return admission_; }
  [[nodiscard]] const JournalLimits& limits() const { return limits_; }
  // For a thread that runs all parts, or for any thread when none runs.
  [[nodiscard]] Replica& replica() { return apply_.replica(); }
  [[nodiscard]] const Replica& replica() const { return apply_.replica(); }
  [[nodiscard]] const ApplyPart& applying() const { return apply_; }
  [[nodiscard]] std::vector<JournalEvent> present() const { return apply_.present(); }
  [[nodiscard]] const std::optional<std::string>& leader() const { return apply_.leader(); }
  [[nodiscard]] Position snapshot_position() const { return snapshot_.position; }
  [[nodiscard]] const LogStore& store() const { return disk_->store(); }
  [[nodiscard]] const consensus::Consensus& consensus() const { return consensus_->core(); }
  // Why it has stopped, or can't apply any more.
  [[nodiscard]] std::optional<std::string> stopped() const;
  void check_disk();  // the storing part
  [[nodiscard]] JournalStatus status() const;

 private:
  struct ToAppend {
    Batch batch;
    AnswerFn done;
    std::uint64_t charged = 0;
    Term in_term = 0;
  };
  struct ToReadLinear {
    ReadFn fn;
  };
  struct ToSkip {
    Position position = 0;
    AnswerFn done;
  };
  struct ToChange {
    std::vector<consensus::MemberChange> changes;
    ChangeFn done;
  };
  struct ToTransfer {
    consensus::MemberId member = 0;
    ChangeFn done;
  };
  struct Stored {
    std::uint64_t number = 0;
  };
  struct StoreRefused {
    std::string why;
  };
  struct AppliedTo {
    Position position = 0;
  };
  struct Fetched {
    consensus::Fetch fetch;
    std::vector<consensus::Entry> entries;
  };
  struct TakenSnapshot {
    consensus::SnapshotOffer offer;
  };
  struct TrimWanted {
    Position up_to = 0;
  };
  struct Trimmed {
    Position up_to = 0;
  };
  struct LittleDisk {
    bool is_little = false;
  };
  using ToDecide =
      std::variant<ToAppend, ToReadLinear, ToSkip, ToChange, ToTransfer, consensus::PeerMessage, Stored, StoreRefused,
                   AppliedTo, Fetched, ChunkRead, ChunkWritten, TakenSnapshot, TrimWanted, Trimmed, LittleDisk>;

  struct TrimUpTo {
    Position up_to = 0;
  };
  struct TrimRequest {
    Position up_to = 0;
  };
  struct TrimLimit {
    Position limit = 0;
  };
  struct DropWaiting {};
  struct SnapshotRequest {};
  struct NoSnapshot {  // none was begun: there was nothing new, or an error
    std::optional<StoreError> error;
    Position at = 0;
  };
  using ToStore =
      std::variant<consensus::ToStore, consensus::Fetch, TrimUpTo, TrimRequest, TrimLimit, DropWaiting, SnapshotRequest,
                   NoSnapshot, SnapshotWritten, StoreResult<Spare>, StoreResult<std::vector<Spare>>>;

  struct AskSnapshot {
    SnapshotFn done;
  };
  struct Freeze {
    SnapshotInfo newest;
  };
  struct SnapshotEnded {
    StoreResult<SnapshotInfo> result;
    Position covered = 0;
  };
  struct TellEvent {
    JournalEvent::Kind kind = JournalEvent::Kind::stopped;
    std::string detail;
    Position position = 0;  // 0: what is applied
  };
  struct Stop {
    std::string why;
  };
  struct ChangeAnswer {
    ChangeFn done;
    std::expected<void, std::string> result;
  };
  struct Tell {
    std::function<void()> tell;
  };
  using ToApply = std::variant<ApplyStep, AskSnapshot, Freeze, SnapshotEnded, TellEvent, Stop, ChangeAnswer, Tell>;

  MemberCore(MachineRef machine, const JournalLimits& limits);

  [[nodiscard]] StoreResult<void> start(const StorageStart& found, const MemberOptions& options, Instant now);
  [[nodiscard]] StoreResult<void> restore_at_start(const std::string& dir, const LoadedSnapshot& snapshot);

  // The deciding part.
  void take_in(ToDecide& item);
  void hand_out();

  // The storing part.
  void take_in(ToStore& item);
  void take_store_queue();
  void store_failed(const StoreError& error);
  void fetch(const consensus::Fetch& fetch);
  void trim(Position up_to);
  void want_trim(Position up_to);
  void count_written();
  void segment_refused(const std::string& cause);
  void plan_jobs();
  void plan_snapshot();
  void snapshot_done(const SnapshotWritten& written);
  void snapshot_failed(const StoreError& error, Position at);
  void stop_after(const StoreError& error);
  [[nodiscard]] bool snapshot_due() const;
  void stop(const std::string& why);
  bool note_stopped(const std::string& why);
  void tell_event(JournalEvent::Kind kind, std::string detail, Position position = 0);

  // The applying part.
  void take_in(ToApply& item);
  void freeze(const SnapshotInfo& newest);
  void restore(Position position);
  void tell_applied();

  template <class U>
  void to_decide(U&& item) {
    if (to_decide_.post(std::forward<U>(item)) && wake_) wake_(Part::deciding);
  }
  template <class U>
  void to_store(U&& item) {
    if (to_store_.post(std::forward<U>(item)) && wake_) wake_(Part::storing);
  }
  template <class U>
  void to_apply(U&& item) {
    if (to_apply_.post(std::forward<U>(item)) && wake_) wake_(Part::applying);
  }
  void put_job(AsideJob job);

  const JournalLimits limits_;
  Admission admission_;
  std::unique_ptr<DiskStorage> disk_;  // none for a journal in memory
  std::unique_ptr<Storage> memory_;
  std::function<void(Part)> wake_;
  SendFn send_;

  PartQueue<ToDecide> to_decide_;
  PartQueue<ToStore> to_store_;
  PartQueue<ToApply> to_apply_;
  PartQueue<AsideJob> jobs_;
  std::deque<AsideJob> taken_jobs_;
  std::mutex taken_jobs_mutex_;

  // The deciding part.
  std::optional<ConsensusPart> consensus_;
  std::vector<ToDecide> deciding_;
  ConsensusOutput output_;
  std::atomic<Instant> next_tick_{Instant::max()};
  std::atomic<Position> decided_{0};
  std::atomic<Term> term_{0};

  // The storing part.
  std::optional<LogPart> log_;
  std::vector<ToStore> storing_;
  std::atomic<bool> may_write_{false};  // something waits to be written or synced, and nothing was refused
  std::atomic<bool> is_refused_{false};
  bool has_failed_ = false;
  SnapshotInfo snapshot_;
  std::uint64_t log_bytes_ = 0;        // since the last snapshot
  std::uint64_t snapshot_from_ = 0;    // log_bytes_ when the one under way was begun
  std::uint64_t retry_at_bytes_ = 0;   // of log, after a snapshot failed
  std::uint64_t counted_bytes_ = 0;    // of what the storage has appended
  std::uint64_t unchecked_bytes_ = 0;  // written since the disk's room was looked at
  std::uint64_t refused_in_ = 0;       // the segment that was written to when there was no room for the next
  std::uint64_t told_stored_ = 0;
  Position trim_limit_ = k_no_trim_limit;
  bool snapshot_wanted_ = false;
  bool snapshot_under_way_ = false;
  std::atomic<Position> snapshot_position_{0};

  // The applying part.
  ApplyPart apply_;
  std::vector<ToApply> applying_;
  Position told_applied_ = 0;
  std::atomic<bool> is_stopped_{false};
  mutable std::mutex stopped_mutex_;
  std::optional<std::string> stopped_;
};

}  // namespace skein::inline v0::journal
