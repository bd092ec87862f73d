// What the archive keeps and answers: finished tasks, by finish number. The real store is a SQLite file
// (sqlite_store.hpp); the simulator and tests use one in memory (memory_store.hpp).
//
// insert() and retain() are called by one thread at a time, everything else by any. All may block on a disk.
//
// 1. After insert() has answered, its tasks survive a crash.
// 2. Inserting a task again changes nothing but what the newer record says (`retried_as`). Should two tasks claim one
//    finish number, as after the journal was restored from a backup, the later insert wins: the log is the truth.
// 3. last() never goes down, not even when retention takes everything away.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skein/archive/archive_error.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::archive {

using Finished = std::shared_ptr<const ledger::FinishedTask>;

inline constexpr std::size_t k_page_max = 1000;  // tasks in one answer

// All that is given must hold. A range of zero is none.
struct Query {
  enum class Order { last_finished_first, last_submitted_first };

  std::optional<ledger::State> state{};
  std::string swarm{};
  std::string type{};
  std::string text{};  // every word of it begins a word of the params, the result or the message
  ledger::WallMs finished_from = 0;
  ledger::WallMs finished_before = 0;
  ledger::FinishNumber above = 0;          // finish numbers greater than this
  ledger::FinishNumber below = 0;          // finish numbers less than this: the cursor of a page
  ledger::TaskNumber submitted_below = 0;  // task numbers less than this: the cursor in the other order
  Order order = Order::last_finished_first;
  std::size_t limit = 100;  // at most k_page_max
};

struct Retention {
  std::chrono::milliseconds age = std::chrono::hours(24 * 90);  // zero keeps them whatever their age
  std::uint64_t tasks = 10'000'000;                             // zero keeps any number
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // All of them durably, or none.
  [[nodiscard]] virtual ArchiveResult<void> insert(std::span<const Finished> tasks) = 0;
  // The highest finish number ever inserted.
  [[nodiscard]] virtual ArchiveResult<ledger::FinishNumber> last() = 0;
  // Whole, with params, result and history. Null when it is not there.
  [[nodiscard]] virtual ArchiveResult<Finished> find(ledger::TaskId id) = 0;
  // Without params, result, mark and history.
  [[nodiscard]] virtual ArchiveResult<std::vector<Finished>> query(const Query& query) = 0;
  // Notes which task stands in for an archived one. True when that one is here.
  [[nodiscard]] virtual ArchiveResult<bool> link_retry(ledger::TaskId old_task, ledger::TaskId new_task) = 0;
  // Removes at most `at_most` tasks that need not be kept. Answers how many.
  [[nodiscard]] virtual ArchiveResult<std::uint64_t> retain(const Retention& retention, ledger::WallMs now,
                                                            std::uint64_t at_most) = 0;
  [[nodiscard]] virtual ArchiveResult<std::uint64_t> count() = 0;
};

}  // namespace skein::inline v0::archive
