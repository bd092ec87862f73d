// The archive on disk: one SQLite file in WAL mode, beside the journal and never read by the ledger. People may read it
// with any SQLite tool; they must not write to it.
//
// Any thread. The writer (insert, seal, retain, link_retry, ...) and the readers have a connection each, so that
// neither waits for the other; writers wait for each other, and so do readers. A third one reads back what seal() made
// durable, and verifies.
//
// A commit goes to the file's log, unsynced. seal() takes the log into the file, syncs it and empties the log: between
// two seals the file is exactly as it was sealed, so a log that is lost, cut or damaged takes nothing that was sealed.
// It waits for readers at most busy_ms; one that reads for longer, as a backup does, makes it fail with Kind::busy.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skein/archive/row.hpp"
#include "skein/archive/seal_copy.hpp"
#include "skein/archive/sqlite.hpp"
#include "skein/archive/sqlite_schema.hpp"
#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

inline constexpr const char* k_archive_file = "archive.sqlite";  // in the data folder
inline constexpr int k_busy_ms = 500;                            // waited for another program's lock

class SqliteStore final : public Store {
 public:
  // Makes the file when there is none.
  [[nodiscard]] static ArchiveResult<std::unique_ptr<SqliteStore>> open(const std::string& path,
                                                                        int busy_ms = k_busy_ms);

  [[nodiscard]] ArchiveResult<void> insert(std::span<const Finished> tasks) override;
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> seal() override;
  [[nodiscard]] ArchiveResult<Marks> marks() override;
  [[nodiscard]] ArchiveResult<Finished> find(ledger::TaskId id) override;
  [[nodiscard]] ArchiveResult<std::vector<Finished>> query(const Query& query) override;
  [[nodiscard]] ArchiveResult<bool> link_retry(ledger::TaskId old_task, ledger::TaskId new_task) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> retain(const Retention& retention, ledger::WallMs now,
                                                    std::uint64_t at_most) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> count() override;
  [[nodiscard]] ArchiveResult<Checked> verify(ledger::FinishNumber after, std::size_t at_most) override;
  [[nodiscard]] ArchiveResult<bool> upgrade(std::size_t at_most) override;
  [[nodiscard]] ArchiveResult<void> record_loss(const Loss& loss) override;
  [[nodiscard]] ArchiveResult<std::vector<Loss>> losses() override;
  [[nodiscard]] ArchiveResult<void> skip_to(ledger::FinishNumber number) override;
  [[nodiscard]] ArchiveResult<std::string> note(std::string_view name) override;
  [[nodiscard]] ArchiveResult<void> keep_note(std::string_view name, const std::string& text) override;

  // From now on the log is copied before each seal, see seal_copy.hpp. For the node that writes to it.
  [[nodiscard]] ArchiveResult<void> keep_log_copies();

  // Removes every task that finished after this one, and lets last() go back to it: for a copy that is to go with a
  // journal of an earlier moment. Answers how many.
  [[nodiscard]] ArchiveResult<std::uint64_t> forget_after(ledger::FinishNumber last);

  // Called, once for each, when a reader meets a record or a page that is damaged. To be set before anybody reads.
  void on_damage(std::function<void(const ArchiveError&)> fn) { on_damage_ = std::move(fn); }

  // Keeps the file from growing past so many pages of 4 KiB, as a full disk would. For tests.
  [[nodiscard]] ArchiveResult<void> limit_pages(std::uint64_t pages);

 private:
  struct Writer {
    Database db;
    Statement insert;
    Statement insert_words;
    Statement find_row;  // by finish number or id, with what the words were made of
    Statement remove_words;
    Statement remove;
    Statement set_last;
    Statement add_to_mark;
    Statement find_brief;  // by id
    Statement link;
  };
  // A row that was inserted since the last seal, and the lower half of its checksum, which does not change.
  struct Unsealed {
    ledger::FinishNumber number = 0;
    std::uint32_t checksum = 0;
  };
  struct Inserted {
    ledger::FinishNumber last = 0;
    std::int64_t rows = 0;
    std::int64_t removed = 0;
    std::vector<Unsealed> rows_written{};
  };
  SqliteStore(std::string path, Writer writer, Database reader, Statement find, Database checker)
      : path_(std::move(path)),
        writer_(std::move(writer)),
        reader_(std::move(reader)),
        find_(std::move(find)),
        checker_(std::move(checker)) {}

  [[nodiscard]] static ArchiveResult<Writer> make_writer(Database db);
  [[nodiscard]] ArchiveResult<void> insert_one(const ledger::FinishedTask& each, Inserted& inserted);
  // Makes room for a row that could not be inserted: its own older record, or that of an earlier run of the same task.
  [[nodiscard]] ArchiveResult<void> make_way(const ledger::FinishedTask& each, Inserted& inserted);
  // Removes the row with this finish number. True when there was one.
  [[nodiscard]] ArchiveResult<bool> remove_one(ledger::FinishNumber number);
  [[nodiscard]] ArchiveResult<void> add_to_mark(std::string_view name, std::int64_t by);
  [[nodiscard]] ArchiveResult<void> add_removed(std::int64_t by);
  [[nodiscard]] ArchiveResult<void> read_back();
  [[nodiscard]] ArchiveResult<std::uint64_t> mark(const Database& db, std::string_view name) const;
  [[nodiscard]] ArchiveResult<void> load_unsummed();
  // Looks for a task that the index over ids does not have, in the rows themselves: a key of an index can rot, and
  // "not found" must not be its answer. Bounded: the k_scanned_rows that finished first after the task was submitted,
  // which its id tells. With read_mutex_.
  static constexpr std::uint64_t k_scanned_rows = 20'000;
  [[nodiscard]] ArchiveResult<Finished> find_without_index(ledger::TaskId id);
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> first_finished_from(ledger::WallMs time);
  static constexpr std::size_t k_damage_told = 100;
  [[nodiscard]] ArchiveError told(ArchiveError error);
  [[nodiscard]] ArchiveError damaged(ledger::FinishNumber number, std::string_view what) const;

  const std::string path_;
  std::mutex write_mutex_;
  Writer writer_;
  std::optional<SealCopy> log_copy_;                        // with write_mutex_
  std::map<ledger::FinishNumber, std::uint32_t> unsealed_;  // checksums of rows since the last seal, as in Unsealed
  std::mutex read_mutex_;
  Database reader_;
  Statement find_;
  std::function<void(const ArchiveError&)> on_damage_;
  std::set<std::string> told_;  // with read_mutex_
  std::mutex check_mutex_;
  Database checker_;
  std::atomic<ledger::FinishNumber> unsummed_after_{0};
  std::atomic<ledger::FinishNumber> unsummed_to_{0};
};

}  // namespace skein::inline v0::archive
