// Moves finished tasks from the ledger to the archive: reads a batch of them and has the store insert it; from time to
// time has the store seal what was inserted, which makes it durable and reads it back; and only then appends
// `archived`, upon which the ledger drops them. So nothing is ever in neither place, and the journal never trims what
// the archive lacks. After a crash in between a task is inserted again, which changes nothing.
//
// The ledger itself is the queue: at most one batch is here at a time, and what is inserted and not yet sealed is in
// both. When the archive falls behind, finished tasks stay in the ledger until its limit, and then submits are refused
// with archive_behind; completions never are. A store that fails is tried again, ever more slowly; on_news and status()
// say why.
//
// Beside that it removes what retention need not keep, once the wall clock may be believed (agreed_clock.hpp), verifies
// the archive at a stated rate, and gives records of an earlier version their checksums.
//
// start() may be called once, from any thread. The job queue must have stopped before the store or the journal is
// destroyed; the destructor of this calls stop().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "skein/archive/store.hpp"
#include "skein/base/job_queue.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::inline v0::archive {

struct ArchiverLimits {
  std::size_t batch_tasks = 1000;              // in one transaction
  std::uint64_t batch_bytes = 16ULL << 20U;    // likewise, as the ledger charges them; one task may be larger
  std::chrono::milliseconds linger{200};       // waited for a batch to fill
  std::size_t seal_tasks = 10'000;             // inserted, after which they are sealed
  std::uint64_t seal_bytes = 64ULL << 20U;     // likewise, as the ledger charges them
  std::chrono::milliseconds seal_after{1000};  // since the first that is not sealed was inserted
  // A seal that waits for somebody who reads, as a backup does, is a failure after this.
  std::chrono::milliseconds seal_wait{30'000};
  std::chrono::milliseconds retry_first{1000};  // after a failure; doubled up to retry_max
  std::chrono::milliseconds retry_max{30'000};
  std::chrono::seconds retain_every{60};
  std::uint64_t retain_tasks = 1000;  // removed in one transaction
  Retention retention;
  std::uint64_t verify_rate = 1000;                                 // records read and checked in a second; 0: none
  std::chrono::milliseconds verify_every = std::chrono::hours(24);  // starts over so long after it began
  std::size_t upgrade_tasks = 1000;                                 // of an earlier version, in one transaction
  std::chrono::milliseconds upgrade_every{100};
  // Nobody keeps what is inserted: tasks stay in the ledger, where they can be asked for, until they take half of its
  // room for finished ones. Then the oldest go.
  bool only_when_half_full = false;
};

struct ArchiverStatus {
  ledger::FinishNumber archived_up_to = 0;  // durably, as the ledger knows
  std::uint64_t tasks = 0;                  // inserted since the start, repeated ones included
  std::uint64_t batches = 0;
  std::uint64_t seals = 0;
  std::uint64_t failures = 0;
  std::uint64_t removed = 0;  // by retention
  std::string failing;        // why the last attempt failed; empty when it did not
  std::uint64_t upgraded = 0;
  bool is_upgrading = false;
  std::uint64_t checked = 0;       // records, in the verification under way
  std::uint64_t damaged = 0;       // of those, or of the last one when that was whole
  ledger::WallMs verified_at = 0;  // when one last ended; 0: never
  std::uint64_t verified = 0;      // records it checked
  bool is_clock_agreed = false;    // by age nothing is removed before
  std::uint64_t clock_jumps = 0;
};

// News that somebody may want to know of at once.
struct ArchiverNews {
  enum class Kind { failing, works_again, removed, damaged, verified, clock_jumped, upgraded };
  Kind kind = Kind::failing;
  std::string text;  // for people
  std::uint64_t number = 0;
};
[[nodiscard]] constexpr bool is_bad(ArchiverNews::Kind kind) {
  return kind == ArchiverNews::Kind::failing || kind == ArchiverNews::Kind::damaged;
}
// Called from the job queue or the journal's thread; must not block.
using NewsFn = std::function<void(const ArchiverNews&)>;

class Archiver {
 public:
  Archiver(journal::Journal& journal, ledger::Ledger& ledger, Store& store, JobQueue& jobs,
           const ArchiverLimits& limits = {}, NewsFn on_news = {});
  Archiver(const Archiver&) = delete;
  Archiver& operator=(const Archiver&) = delete;
  ~Archiver();

  // Begins with what is finished already.
  void start();
  // Lets go of the ledger and begins nothing new; waits for the journal's thread, unless that is gone. Not from a
  // callback of the journal.
  void stop();
  [[nodiscard]] ArchiverStatus status() const;

 private:
  class Loop;
  std::shared_ptr<Loop> loop_;
};

}  // namespace skein::inline v0::archive
