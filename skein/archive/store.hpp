// What the archive keeps and answers: finished tasks, by finish number. The real store is a SQLite file
// (sqlite_store.hpp); the simulator and tests use one in memory (memory_store.hpp).
//
// insert(), seal(), retain(), upgrade() and verify() are called by one thread at a time, everything else by any. All
// may block on a disk.
//
// 1. What is inserted may be lost in a crash until seal() has answered: then every task inserted before is in the
//    archive's own file, that was synced, and each was read back from it with its checksum right. Nobody may drop his
//    copy of a task before that.
// 2. Inserting a task again changes nothing but what the newer record says (`retried_as`). A finish number belongs to
//    one task for good: an insert of another one fails (Kind::conflict) and changes nothing. A task that was run again,
//    as after the journal was restored from a backup, has a new number, and its new record takes the old one's place.
// 3. last never goes down, not even when retention takes everything away, and every number up to it has a row, was
//    removed, or was accepted as lost: rows + removed + lost == last.
// 4. A record that is not what was inserted is never handed out: its checksum says so (Kind::damaged).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/archive/archive_error.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::archive {

using Finished = std::shared_ptr<const ledger::FinishedTask>;

inline constexpr std::size_t k_page_max = 1000;  // tasks in one answer

// All that is given must hold. A range of zero is none.
struct Query {
  enum class SortOrder { last_finished_first, last_submitted_first };

  std::optional<ledger::State> state{};
  std::string swarm{};
  std::string type{};
  std::string id_prefix{};  // of the id without dashes, in small letters
  std::string text{};       // every word of it begins a word of the params, the result or the message
  ledger::WallMs finished_from = 0;
  ledger::WallMs finished_before = 0;
  ledger::FinishNumber above = 0;          // finish numbers greater than this
  ledger::FinishNumber below = 0;          // finish numbers less than this: the cursor of a page
  ledger::TaskNumber submitted_below = 0;  // task numbers less than this: the cursor in the other order
  SortOrder order = SortOrder::last_finished_first;
  std::size_t limit = 100;  // at most k_page_max
};

struct Retention {
  std::chrono::milliseconds age = std::chrono::hours(24 * 90);  // zero keeps them whatever their age
  std::uint64_t tasks = 10'000'000;                             // zero keeps any number
};

// What finished before this is too old; zero keeps everything. `now` and `newest`: see Store::retain().
[[nodiscard]] ledger::WallMs oldest_kept(const Retention& retention, ledger::WallMs now, ledger::WallMs newest);

// What the archive knows of itself; see 3.
struct Marks {
  ledger::FinishNumber last = 0;  // the highest ever inserted, or accepted as lost
  std::uint64_t rows = 0;
  std::uint64_t removed = 0;  // by retention, or replaced by a later run of the same task, or never meant to be kept
  std::uint64_t lost = 0;     // accepted as lost
  ledger::WallMs newest = 0;  // when the last that is here finished

  [[nodiscard]] bool adds_up() const { return rows + removed + lost == last; }
};

// Results that are gone, and somebody said so: numbers from one to another, `count` of them.
struct Loss {
  ledger::WallMs at = 0;
  ledger::FinishNumber from = 0;
  ledger::FinishNumber to = 0;
  std::uint64_t count = 0;
  std::string why;
};

inline constexpr std::size_t k_losses_max = 100;  // in one answer, the last ones

// The findings of one part of a verification.
struct Checked {
  ledger::FinishNumber up_to = 0;  // go on after this
  std::uint64_t rows = 0;
  std::vector<std::pair<ledger::FinishNumber, std::string>> damaged{};  // and what is wrong with each
  bool is_end = false;
};

// Notes that others keep in the archive, by name.
inline constexpr std::string_view k_note_folder = "folder";      // id of the data folder it belongs to
inline constexpr std::string_view k_note_position = "position";  // of the journal, when it was last sealed
inline constexpr std::string_view k_note_clock = "clock";        // see agreed_clock.hpp

[[nodiscard]] ArchiveError number_conflict(const std::string& file, const ledger::FinishedTask& inserted,
                                           ledger::TaskId there);
[[nodiscard]] ArchiveError damaged_record(const std::string& file, ledger::FinishNumber number, std::string_view what);

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // All of them, or none.
  [[nodiscard]] virtual ArchiveResult<void> insert(std::span<const Finished> tasks) = 0;
  // See 1. Answers the last that is sealed.
  [[nodiscard]] virtual ArchiveResult<ledger::FinishNumber> seal() = 0;
  [[nodiscard]] virtual ArchiveResult<Marks> marks() = 0;
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> last() {
    const auto found = marks();
    if (!found) return std::unexpected(found.error());
    return found->last;
  }
  // Whole, with params, result and history. Null when it is not there.
  [[nodiscard]] virtual ArchiveResult<Finished> find(ledger::TaskId id) = 0;
  // Without params, result, mark and history.
  [[nodiscard]] virtual ArchiveResult<std::vector<Finished>> query(const Query& query) = 0;
  // Notes which task stands in for an archived one. True when that one is here.
  [[nodiscard]] virtual ArchiveResult<bool> link_retry(ledger::TaskId old_task, ledger::TaskId new_task) = 0;
  // Removes at most `at_most` tasks that need not be kept: the oldest, by number or by age. An age counts back from
  // `now` or from when the newest task here finished, whichever is earlier; without a `now` (zero) nothing is too old.
  // Answers how many.
  [[nodiscard]] virtual ArchiveResult<std::uint64_t> retain(const Retention& retention, ledger::WallMs now,
                                                            std::uint64_t at_most) = 0;
  // How many are here, counted.
  [[nodiscard]] virtual ArchiveResult<std::uint64_t> count() = 0;

  // Reads at most `at_most` rows after a number and says which are damaged.
  [[nodiscard]] virtual ArchiveResult<Checked> verify(ledger::FinishNumber after, std::size_t at_most) = 0;
  // Gives at most `at_most` records of an earlier version what they lack. True when there are more.
  [[nodiscard]] virtual ArchiveResult<bool> upgrade(std::size_t at_most) = 0;

  // Writes off numbers: `last` goes on to loss.to, `lost` by its count.
  [[nodiscard]] virtual ArchiveResult<void> record_loss(const Loss& loss) = 0;
  [[nodiscard]] virtual ArchiveResult<std::vector<Loss>> losses() = 0;
  // Numbers up to this were never meant to be kept here: `last` goes on to it, `removed` with it.
  [[nodiscard]] virtual ArchiveResult<void> skip_to(ledger::FinishNumber number) = 0;
  // Empty when there is none of that name.
  [[nodiscard]] virtual ArchiveResult<std::string> note(std::string_view name) = 0;
  [[nodiscard]] virtual ArchiveResult<void> keep_note(std::string_view name, const std::string& text) = 0;
};

}  // namespace skein::inline v0::archive
