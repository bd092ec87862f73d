// Moves finished tasks from the ledger to the archive: reads a batch of them, has the store make it durable, and only
// then appends `archived`, upon which the ledger drops them. So nothing is ever in neither place, and the journal never
// trims what the archive lacks. After a crash in between a task is inserted again, which changes nothing.
//
// The ledger itself is the queue: at most one batch is here at a time. When the archive falls behind, finished tasks
// stay in the ledger until its limit, and then submits are refused with archive_behind; completions never are. A store
// that fails is tried again, ever more slowly, and status() says why.
//
// start() may be called once, from any thread. The job queue must have stopped before the store or the journal is
// destroyed; the destructor of this calls stop().
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "skein/archive/job_queue.hpp"
#include "skein/archive/store.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::inline v0::archive {

struct ArchiverLimits {
  std::size_t batch_tasks = 1000;               // in one transaction
  std::uint64_t batch_bytes = 16ULL << 20U;     // likewise, as the ledger charges them; one task may be larger
  std::chrono::milliseconds linger{200};        // waited for a batch to fill
  std::chrono::milliseconds retry_first{1000};  // after a failure; doubled up to retry_max
  std::chrono::milliseconds retry_max{30'000};
  std::chrono::seconds retain_every{60};
  std::uint64_t retain_tasks = 1000;  // removed in one transaction
  Retention retention;
  // Nobody keeps what is inserted: tasks stay in the ledger, where they can be asked for, until they take half of its
  // room for finished ones. Then the oldest go.
  bool only_when_half_full = false;
};

struct ArchiverStatus {
  ledger::FinishNumber archived_up_to = 0;  // durably, as the ledger knows
  std::uint64_t tasks = 0;                  // inserted since the start, repeated ones included
  std::uint64_t batches = 0;
  std::uint64_t failures = 0;
  std::uint64_t removed = 0;  // by retention
  std::string failing;        // why the last attempt failed; empty when it did not
};

class Archiver {
 public:
  Archiver(journal::Journal& journal, ledger::Ledger& ledger, Store& store, JobQueue& jobs,
           const ArchiverLimits& limits = {});
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
