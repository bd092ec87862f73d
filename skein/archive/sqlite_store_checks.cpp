// How the archive's file is sealed, verified and brought to this version, and what is noted in it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/archive/sqlite_store.hpp"

namespace skein::inline v0::archive {
namespace {

using Kind = ArchiveError::Kind;

}  // namespace

ArchiveResult<void> SqliteStore::keep_log_copies() {
  const std::lock_guard lock(write_mutex_);
  auto copy = SealCopy::open(path_);
  if (!copy) return std::unexpected(copy.error());
  log_copy_ = std::move(*copy);
  return {};
}

ArchiveResult<ledger::FinishNumber> SqliteStore::seal() {
  const std::lock_guard lock(write_mutex_);
  if (log_copy_) {
    if (auto ok = log_copy_->keep(); !ok) return std::unexpected(ok.error());
  }
  {
    auto checkpoint = writer_.db.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    if (!checkpoint) return std::unexpected(checkpoint.error());
    const auto row = checkpoint->step();
    if (!row) return std::unexpected(row.error());
    if (*row && checkpoint->number(0) != 0) {
      return std::unexpected(ArchiveError{Kind::busy, path_, "somebody has been reading it for long"});
    }
  }
  if (log_copy_) {
    if (auto ok = log_copy_->drop(); !ok) return std::unexpected(ok.error());
  }
  if (auto ok = read_back(); !ok) return std::unexpected(ok.error());
  unsealed_.clear();
  return mark(writer_.db, "last_finished");
}

// Everything that was inserted since the last time is in the file, and is what was inserted.
ArchiveResult<void> SqliteStore::read_back() {
  if (unsealed_.empty()) return {};
  const std::lock_guard lock(check_mutex_);
  auto rows = checker_.prepare(
      fmt::format("SELECT {} FROM tasks WHERE finish_number BETWEEN ? AND ? ORDER BY finish_number", k_columns));
  if (!rows) return std::unexpected(rows.error());
  rows->bind(1, unsealed_.begin()->first).bind(2, unsealed_.rbegin()->first);
  auto expected = unsealed_.begin();
  while (expected != unsealed_.end()) {
    const auto& [number, written] = *expected;
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row || rows->number(0) > number) {
      return std::unexpected(damaged(number, "it was written and is not there"));
    }
    if (rows->number(0) < number) continue;
    const RowChecksum checksum = checksum_of(*rows);
    if (checksum != rows->number(k_checksum_column) || static_cast<std::uint32_t>(checksum) != written) {
      return std::unexpected(damaged(number, "it was written and is read otherwise"));
    }
    ++expected;
  }
  return {};
}

// By bisection: a task that finished later has a higher number. A wall clock that was wrong for a while makes the place
// wrong for the tasks of that while.
ArchiveResult<ledger::FinishNumber> SqliteStore::first_finished_from(ledger::WallMs time) {
  auto next = reader_.prepare(
      "SELECT finish_number, finished_at FROM tasks NOT INDEXED WHERE finish_number >= ? ORDER BY finish_number LIMIT "
      "1");
  if (!next) return std::unexpected(next.error());
  const auto last = reader_.number("SELECT max(finish_number) FROM tasks");
  if (!last) return std::unexpected(last.error());
  ledger::FinishNumber low = 1;
  ledger::FinishNumber high = *last + 1;
  while (low < high) {
    const ledger::FinishNumber middle = low + (high - low) / 2;
    const ResetAtEnd reset_at_end(*next);
    const auto row = next->bind(1, middle).step();
    if (!row) return std::unexpected(row.error());
    if (!*row || next->number(1) >= time) {
      high = middle;
    } else {
      low = next->number(0) + 1;
    }
  }
  return low;
}

ArchiveResult<Finished> SqliteStore::find_without_index(ledger::TaskId id) {
  constexpr unsigned k_random_bits = 16;         // of the upper half of a UUIDv7, below its milliseconds
  constexpr ledger::WallMs k_ahead_ms = 60'000;  // ids of a burst, or of a clock that was set back, run ahead
  const ledger::WallMs submitted = id.high >> k_random_bits;
  const auto first = first_finished_from(submitted - std::min(submitted, k_ahead_ms));
  if (!first) return std::unexpected(told(first.error()));
  auto rows = reader_.prepare(fmt::format(
      "SELECT {} FROM tasks NOT INDEXED WHERE finish_number >= ? AND finish_number < ? AND id = ? LIMIT 1", k_columns));
  if (!rows) return std::unexpected(rows.error());
  const auto found = rows->bind(1, *first).bind(2, *first + k_scanned_rows).bind(3, row_id(id)).step();
  if (!found) return std::unexpected(told(found.error()));
  if (!*found) return nullptr;
  (void)told(damaged(rows->number(0), "it is not found by its id"));
  auto task = read_row(*rows, false, {unsummed_after_, unsummed_to_});
  if (!task) return std::unexpected(told(damaged(rows->number(0), task.error())));
  return std::move(*task);
}

ArchiveResult<Checked> SqliteStore::verify(ledger::FinishNumber after, std::size_t at_most) {
  const std::lock_guard lock(check_mutex_);
  auto rows = checker_.prepare(
      fmt::format("SELECT {} FROM tasks WHERE finish_number > ? ORDER BY finish_number LIMIT ?", k_columns));
  if (!rows) return std::unexpected(rows.error());
  auto by_id = checker_.prepare("SELECT finish_number FROM tasks WHERE id = ?");
  if (!by_id) return std::unexpected(by_id.error());
  rows->bind(1, after).bind(2, std::uint64_t{at_most});
  Checked checked{.up_to = after};
  while (true) {
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    checked.up_to = rows->number(0);
    ++checked.rows;
    if (const auto task = read_row(*rows, false, {unsummed_after_, unsummed_to_}); !task) {
      checked.damaged.emplace_back(checked.up_to, task.error());
      continue;
    }
    const ResetAtEnd reset_at_end(*by_id);
    const auto found = by_id->bind(1, rows->text(1)).step();
    if (!found) return std::unexpected(found.error());
    if (!*found || by_id->number(0) != checked.up_to) {
      checked.damaged.emplace_back(checked.up_to, "it is not found by its id");
    }
  }
  checked.is_end = checked.rows < at_most;
  return checked;
}

ArchiveResult<bool> SqliteStore::upgrade(std::size_t at_most) {
  const ledger::FinishNumber up_to = unsummed_to_;
  if (unsummed_after_ >= up_to) return false;
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  auto rows = writer_.db.prepare(fmt::format(
      "SELECT {} FROM tasks WHERE finish_number > ? AND finish_number <= ? ORDER BY finish_number LIMIT ?", k_columns));
  auto set = writer_.db.prepare("UPDATE tasks SET checksum = ? WHERE finish_number = ?");
  auto go_on = writer_.db.prepare("UPDATE marks SET value = ? WHERE name = 'unsummed_after'");
  for (auto* each : {&rows, &set, &go_on}) {
    if (!*each) return std::unexpected(each->error());
  }
  std::vector<std::pair<ledger::FinishNumber, RowChecksum>> sums;
  rows->bind(1, unsummed_after_).bind(2, up_to).bind(3, std::uint64_t{at_most});
  while (true) {
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    sums.emplace_back(rows->number(0), checksum_of(*rows));
  }
  rows->reset();
  for (const auto& [number, checksum] : sums) {
    if (auto ok = set->bind(1, checksum).bind(2, number).run(); !ok) return std::unexpected(ok.error());
  }
  const ledger::FinishNumber after = sums.size() < at_most ? up_to : sums.back().first;
  if (auto ok = go_on->bind(1, after).run(); !ok) return std::unexpected(ok.error());
  if (auto ok = transaction->commit(); !ok) return std::unexpected(ok.error());
  unsummed_after_ = after;
  return after < up_to;
}

ArchiveResult<void> SqliteStore::record_loss(const Loss& loss) {
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  auto record = writer_.db.prepare("INSERT INTO losses(at, first, last, count, why) VALUES(?, ?, ?, ?, ?)");
  if (!record) return std::unexpected(record.error());
  record->bind(1, loss.at).bind(2, loss.from).bind(3, loss.to).bind(4, loss.count).bind(5, std::string_view(loss.why));
  if (auto ok = record->run(); !ok) return ok;
  if (auto ok = add_to_mark("lost", static_cast<std::int64_t>(loss.count)); !ok) return ok;
  if (auto ok = writer_.set_last.bind(1, loss.to).run(); !ok) return ok;
  // The rows that are there are what counts from here on.
  static constexpr const char* k_count_anew =
      "UPDATE marks SET value = (SELECT count(*) FROM tasks) WHERE name = 'rows';"
      "UPDATE marks SET value = max(0, (SELECT value FROM marks WHERE name = 'last_finished')"
      " - (SELECT value FROM marks WHERE name = 'rows') - (SELECT value FROM marks WHERE name = 'lost'))"
      " WHERE name = 'removed'";
  if (auto ok = writer_.db.execute(k_count_anew); !ok) return ok;
  return transaction->commit();
}

ArchiveResult<std::vector<Loss>> SqliteStore::losses() {
  const std::lock_guard lock(read_mutex_);
  auto rows = reader_.prepare("SELECT at, first, last, count, why FROM losses ORDER BY rowid DESC LIMIT ?");
  if (!rows) return std::unexpected(rows.error());
  rows->bind(1, std::uint64_t{k_losses_max});
  std::vector<Loss> all;
  while (true) {
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    all.push_back({rows->number(0), rows->number(1), rows->number(2), rows->number(3), std::string(rows->text(4))});
  }
  std::reverse(all.begin(), all.end());
  return all;
}

ArchiveResult<void> SqliteStore::skip_to(ledger::FinishNumber number) {
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  const auto last = mark(writer_.db, "last_finished");
  if (!last) return std::unexpected(last.error());
  if (number <= *last) return {};
  if (auto ok = add_to_mark("removed", static_cast<std::int64_t>(number - *last)); !ok) return ok;
  if (auto ok = writer_.set_last.bind(1, number).run(); !ok) return ok;
  return transaction->commit();
}

ArchiveResult<std::string> SqliteStore::note(std::string_view name) {
  const std::lock_guard lock(read_mutex_);
  auto found = reader_.prepare("SELECT value FROM notes WHERE name = ?");
  if (!found) return std::unexpected(found.error());
  const auto row = found->bind(1, name).step();
  if (!row) return std::unexpected(row.error());
  return *row ? std::string(found->text(0)) : std::string();
}

ArchiveResult<void> SqliteStore::keep_note(std::string_view name, const std::string& text) {
  const std::lock_guard lock(write_mutex_);
  auto keep = writer_.db.prepare("INSERT OR REPLACE INTO notes(name, value) VALUES(?, ?)");
  if (!keep) return std::unexpected(keep.error());
  return keep->bind(1, name).bind(2, std::string_view(text)).run();
}

}  // namespace skein::inline v0::archive
