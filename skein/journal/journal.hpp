// The journal: one ordered durable log, and the machine it is applied to. What engine orders the log (one node alone, a
// group, memory) is chosen when it is opened; nothing here shows which.
//
// All functions may be called from any thread. Callbacks run on the journal's own thread, one at a time, between
// entries: there a machine may be read safely. Only a call that is turned away at once (refused, overloaded, stopped)
// is answered on the caller's thread; a read that is told `stopped` only when that thread touches the machine no more.
// A callback must not block, throw, or call close().
//
// What append promises:
// 1. `applied` means: durable as the engine understands it, and applied; the results are what the machine answered.
// 2. A command id is applied once, as long as it is remembered (IdLimits). So `unknown` means: append it again.
// 3. A batch is all or nothing, and its commands are neighbours in the log.
// 4. Every callback is called exactly once, at the latest by close().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/journal/disk.hpp"
#include "skein/journal/entry.hpp"
#include "skein/journal/machine.hpp"
#include "skein/journal/replica.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

enum class Outcome {
  applied,
  not_leader,  // ask the one named in `leader`
  overloaded,  // nothing was done; try later
  unknown,     // it may or may not be applied; append the same ids again
  refused,     // it can never be accepted: too large, empty, or without an id
  stopped,     // the journal is closed or has failed; nothing was done
};

[[nodiscard]] std::string_view name_of(Outcome outcome);

struct AppendAnswer {
  Outcome outcome = Outcome::unknown;
  std::vector<Applied> results;  // one per command, when applied
  std::string leader;            // a hint, when not_leader
  std::string why;               // for people, when not applied
};
using AnswerFn = std::move_only_function<void(AppendAnswer)>;

// Which state a read sees.
struct Read {
  enum class Kind : std::uint8_t {
    linear,  // everything that was answered anywhere before it was asked for; needs the leader
    at,      // everything up to `position`, under any leader
    local,   // what is applied here now, perhaps behind the others: the answer says how far
  };
  Kind kind = Kind::linear;
  Position position = 0;

  [[nodiscard]] static Read linear() { return {}; }
  [[nodiscard]] static Read at(Position position) { return {Kind::at, position}; }
  [[nodiscard]] static Read local() { return {Kind::local, 0}; }
};

struct ReadAnswer {
  Outcome outcome = Outcome::unknown;
  Position position = 0;  // everything up to here is applied
  std::string leader;     // a hint, when not_leader
  std::string why;
};
using ReadFn = std::move_only_function<void(ReadAnswer)>;

using SnapshotFn = std::move_only_function<void(StoreResult<SnapshotInfo>)>;

// Completions end work that was accepted before, so they may use the room that new work no longer gets.
enum class Urgency { ordinary, completion };

struct JournalLimits {
  std::uint64_t entry_bytes = 1ULL << 20U;               // of one command
  std::uint64_t batch_bytes = 8ULL << 20U;               // of the commands of one append, and of one write
  std::uint64_t in_flight_bytes = 64ULL << 20U;          // appended and not yet answered
  std::uint64_t in_flight_reserve_bytes = 16ULL << 20U;  // on top of it, for completions
  std::uint64_t disk_low_water_bytes = 256ULL << 20U;    // free disk under which only completions are taken
  std::uint64_t reads_waiting = 100'000;                 // for a position that is not applied yet, or for their turn
  std::uint64_t snapshot_bytes = 64ULL << 20U;           // of log since the last snapshot; or twice the last, if more
  std::uint64_t segment_bytes = 16ULL << 20U;
  std::uint64_t first_segment_bytes = 1ULL << 20U;
  std::uint64_t spares_kept = 2;
  std::uint32_t sector_bytes = 4096;      // of the disk, 512 to 4096: what is safe shares none with what comes after it
  Position trim_limit = k_no_trim_limit;  // see set_trim_limit()
  std::chrono::milliseconds idle_after{100};  // of quiet, until the log is marked as durable to its end
  IdLimits ids;                               // for a new folder; an old one keeps its own
};

struct JournalEvent {
  enum class Kind {
    leader_elected,
    leader_lost,
    quorum_lost,
    quorum_restored,
    snapshot_taken,
    snapshot_failed,
    disk_low,
    disk_ok,
    stopped
  };
  Kind kind = Kind::stopped;
  Position position = 0;
  std::string detail;
};
using EventFn = std::function<void(const JournalEvent&)>;

struct JournalStatus {
  Position applied = 0;
  Position decided = 0;  // by a majority; may be ahead of what is applied here
  Position snapshot = 0;
  Term term = 0;
  std::uint64_t in_flight_bytes = 0;
  bool disk_low = false;
  bool stopped = false;
};

// The leader's name when it is this journal itself.
inline constexpr const char* k_self = "self";
inline constexpr const char* k_not_leader = "another leads: ask the one named, or try again";

class Journal {
 public:
  Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  virtual ~Journal() = default;

  virtual void append(Batch batch, AnswerFn done, Urgency urgency = Urgency::ordinary) = 0;
  // Calls back when the state that was asked for is there. Only a linear read is ever told `not_leader`.
  virtual void read(Read what, ReadFn fn) = 0;
  // Takes a snapshot of at least everything applied by now, and drops the log it covers. They are also taken by
  // themselves, by size.
  virtual void snapshot(SnapshotFn done) = 0;
  // Drops the log up to a position, as far as the last snapshot covers it and the limit allows. Whole files only.
  virtual void trim(Position up_to = k_no_trim_limit) = 0;
  // Entries after this position stay in the log, whatever snapshots cover: for an owner that copies them elsewhere.
  // Give the limit at open too (JournalLimits), for opening trims as well. A higher one trims at once.
  virtual void set_trim_limit(Position limit) = 0;

  // First tells how things are (leader_elected, leader_lost or stopped; disk_low), then what happens. Returns a number
  // for unsubscribe. After unsubscribe returns, on another thread than the journal's, one call may still be under way.
  virtual std::uint64_t subscribe(EventFn fn) = 0;
  virtual void unsubscribe(std::uint64_t subscription) = 0;

  [[nodiscard]] virtual std::optional<std::string> leader() const = 0;
  [[nodiscard]] virtual bool has_quorum() const = 0;
  // False when there was no leader within the time.
  [[nodiscard]] virtual bool wait_leader(std::chrono::milliseconds timeout) = 0;
  [[nodiscard]] virtual JournalStatus status() const = 0;

  // Answers everything that was accepted, marks the log as cleanly closed, stops, and lets go of the folder: it may be
  // opened again before this object is destroyed. Safe to call twice.
  virtual void close() = 0;
};

// Opens or creates the journal of a folder for one node: no ports, no configuration. The machine is brought up to the
// state of the log before this returns. The error says what to do.
[[nodiscard]] StoreResult<std::unique_ptr<Journal>> open_journal(const std::string& dir, MachineRef machine,
                                                                 const JournalLimits& limits = {});
// The same on another disk than the real one, which must outlive it.
[[nodiscard]] StoreResult<std::unique_ptr<Journal>> open_journal(Disk& disk, const std::string& dir, MachineRef machine,
                                                                 const JournalLimits& limits = {});

// The same contract with nothing behind it: everything is lost when the program ends. For tests, and for those who want
// speed more than durability.
[[nodiscard]] std::unique_ptr<Journal> open_memory_journal(MachineRef machine, const JournalLimits& limits = {});

// Appends and waits. `unknown` when the answer did not come in time. Never call it from a callback.
[[nodiscard]] AppendAnswer append_and_wait(Journal& journal, Batch batch, std::chrono::milliseconds timeout,
                                           Urgency urgency = Urgency::ordinary);

// Calls `fn` once where the machine may be touched, and waits until it has returned: on the journal's thread, or on
// this one when that has ended (`stopped`). Waits for its turn however many others read. Never call it from a callback.
void visit(Journal& journal, const std::function<void(Outcome)>& fn);

}  // namespace skein::inline v0::journal
