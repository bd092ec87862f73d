// The archive on disk: one SQLite file in WAL mode, beside the journal and never read by the ledger. People may read it
// with any SQLite tool; they must not write to it.
//
// Any thread. The writer (insert, retain, link_retry) and the readers have a connection each, so that neither waits for
// the other; writers wait for each other, and so do readers. A commit syncs the file (synchronous=FULL) before insert()
// answers.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "skein/archive/sqlite.hpp"
#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

inline constexpr const char* k_archive_file = "archive.sqlite";  // in the data folder
inline constexpr std::uint64_t k_archive_version = 1;            // of the schema; kept as the file's user_version
inline constexpr int k_busy_ms = 2000;                           // waited for another program's lock

class SqliteStore final : public Store {
 public:
  // Makes the file when there is none.
  [[nodiscard]] static ArchiveResult<std::unique_ptr<SqliteStore>> open(const std::string& path,
                                                                        int busy_ms = k_busy_ms);

  [[nodiscard]] ArchiveResult<void> insert(std::span<const Finished> tasks) override;
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> last() override;
  [[nodiscard]] ArchiveResult<Finished> find(ledger::TaskId id) override;
  [[nodiscard]] ArchiveResult<std::vector<Finished>> query(const Query& query) override;
  [[nodiscard]] ArchiveResult<bool> link_retry(ledger::TaskId old_task, ledger::TaskId new_task) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> retain(const Retention& retention, ledger::WallMs now,
                                                    std::uint64_t at_most) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> count() override;

  // Removes every task that finished after this one, and lets last() go back to it: for a copy that is to go with a
  // journal of an earlier moment. Answers how many.
  [[nodiscard]] ArchiveResult<std::uint64_t> forget_after(ledger::FinishNumber last);

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
    Statement link;
  };
  SqliteStore(Writer writer, Database reader, Statement find)
      : writer_(std::move(writer)), reader_(std::move(reader)), find_(std::move(find)) {}

  [[nodiscard]] static ArchiveResult<Writer> make_writer(Database db);
  [[nodiscard]] ArchiveResult<void> insert_one(const ledger::FinishedTask& each);
  // Removes the row with this finish number and the row with this id.
  [[nodiscard]] ArchiveResult<void> remove_one(ledger::FinishNumber number, std::string_view id);

  std::mutex write_mutex_;
  Writer writer_;
  std::mutex read_mutex_;
  Database reader_;
  Statement find_;
};

}  // namespace skein::inline v0::archive
