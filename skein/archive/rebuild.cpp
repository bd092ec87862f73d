#include "skein/archive/rebuild.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "skein/archive/row.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/ledger/limits.hpp"

namespace skein::inline v0::archive {
namespace {

namespace fs = std::filesystem;
using ledger::FinishNumber;

constexpr std::size_t k_batch = 1000;
constexpr const char* k_sides[] = {"", "-wal", "-shm"};  // the files of one database

// Collects records and inserts them in batches.
class Collector {
 public:
  explicit Collector(Store& store) : store_(store) {}
  [[nodiscard]] ArchiveResult<void> add(Finished each) {
    batch_.push_back(std::move(each));
    return batch_.size() < k_batch ? ArchiveResult<void>{} : flush();
  }
  [[nodiscard]] ArchiveResult<void> flush() {
    auto ok = store_.insert(batch_);
    batch_.clear();
    return ok;
  }

 private:
  Store& store_;
  std::vector<Finished> batch_;
};

// Reads what can be read: first in order, and where that fails, number by number, each of which goes down the tree by
// itself and so misses only what lies on damaged pages.
class Salvage {
 public:
  Salvage(Collector& into, RebuildReport& report) : into_(into), report_(report) {}

  // What its marks say, where they can be read.
  std::uint64_t removed = 0;
  std::uint64_t lost = 0;
  FinishNumber last = 0;

  [[nodiscard]] ArchiveResult<void> run(const std::string& path, FinishNumber up_to, const std::string& folder) {
    auto db = Database::open(path, Database::Mode::write, k_busy_ms);
    if (!db) return note(db.error());
    const bool has_checksums = db->number("PRAGMA user_version").value_or(0) >= 2;
    std::string columns(k_columns);
    if (has_checksums && !folder.empty()) {
      auto whose = db->prepare("SELECT value FROM notes WHERE name = 'folder'");
      const bool is_said = whose && whose->step().value_or(false) && !whose->text(0).empty();
      if (is_said && whose->text(0) != folder) {
        return note({ArchiveError::Kind::corrupt, {}, "it belongs to another data folder"});
      }
    }
    if (has_checksums) {
      read_marks(*db);
    } else {
      // The first version had no checksums, and removed from the front alone.
      columns.replace(columns.find("checksum"), std::string_view("checksum").size(), "NULL");
      unsummed_ = {0, ledger::k_finish_max};
      removed = db->number("SELECT min(finish_number) - 1 FROM tasks").value_or(0);
      last = db->number("SELECT value FROM marks WHERE name = 'last_finished'").value_or(0);
    }
    auto all = db->prepare(
        fmt::format("SELECT {} FROM tasks WHERE finish_number > ? ORDER BY finish_number LIMIT ?", columns));
    auto one = db->prepare(fmt::format("SELECT {} FROM tasks WHERE finish_number = ?", columns));
    if (!all) return note(all.error());
    if (!one) return note(one.error());
    bool damaged = false;
    while (!damaged) {
      all->bind(1, last_).bind(2, std::uint64_t{k_batch});
      const auto before = last_;
      auto ok = take_rows(*all, damaged);
      all->reset();
      if (!ok) return ok;
      if (last_ == before) break;
    }
    for (FinishNumber n = last_ + 1; damaged && n <= up_to; ++n) {
      one->bind(1, n);
      auto ok = take_rows(*one, damaged);
      one->reset();
      if (!ok) return ok;
    }
    return {};
  }

 private:
  // What is wrong with the old file ends nothing; what is wrong with the new one does.
  ArchiveResult<void> note(const ArchiveError& error) {
    if (report_.old_error.empty()) report_.old_error = error.what;
    return {};
  }

  ArchiveResult<void> take_rows(Statement& rows, bool& damaged) {
    while (true) {
      const auto row = rows.step();
      if (!row) {
        damaged = true;
        return note(row.error());
      }
      if (!*row) return {};
      auto task = read_row(rows, false, unsummed_);
      last_ = std::max(last_, rows.number(0));
      if (!task) {
        ++report_.damaged;
        continue;
      }
      ++report_.from_old;
      if (auto ok = into_.add(std::move(*task)); !ok) return ok;
    }
  }

  void read_marks(const Database& db) {
    const std::pair<const char*, std::uint64_t*> all[] = {{"last_finished", &last},
                                                          {"removed", &removed},
                                                          {"lost", &lost},
                                                          {"unsummed_after", &unsummed_.after},
                                                          {"unsummed_to", &unsummed_.up_to}};
    for (const auto& [name, value] : all) {
      const auto found = db.number(fmt::format("SELECT value FROM marks WHERE name = '{}'", name));
      if (found) *value = *found;
    }
  }

  Collector& into_;
  RebuildReport& report_;
  FinishNumber last_ = 0;
  Unsummed unsummed_;
};

ArchiveError io_error(const std::string& path, const std::error_code& code) {
  return {ArchiveError::Kind::io, path, code.message()};
}

std::string free_name(const std::string& path, const std::string& what) {
  for (int n = 1;; ++n) {
    std::string name = n == 1 ? path + what : fmt::format("{}{}-{}", path, what, n);
    if (!fs::exists(name)) return name;
  }
}

// The one that was the archive until last; empty when there is none.
std::string last_damaged(const std::string& path) {
  const fs::path whole(path);
  const std::string prefix = whole.filename().string() + ".damaged";
  std::error_code code;
  std::string last;
  fs::file_time_type last_time;
  for (const auto& each : fs::directory_iterator(whole.has_parent_path() ? whole.parent_path() : ".", code)) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with(prefix) || name.ends_with("-wal") || name.ends_with("-shm")) continue;
    if (!each.is_regular_file(code)) continue;
    const auto time = each.last_write_time(code);
    if (code || (!last.empty() && time <= last_time)) continue;
    last = path + name.substr(whole.filename().string().size());
    last_time = time;
  }
  return last;
}

// A rebuild that was killed had put the old file aside, and the new one was not yet in its place. What it left of the
// old one's files goes where the first is, and is read there.
ArchiveResult<void> go_on(const std::string& path, RebuildReport& report) {
  const std::string damaged = last_damaged(path);
  if (damaged.empty()) return {};
  std::error_code code;
  for (const char* side : k_sides) {
    if (!fs::exists(path + side) || fs::exists(damaged + side)) continue;
    fs::rename(path + side, damaged + side, code);
    if (code) return std::unexpected(io_error(path + side, code));
  }
  report.old_file = true;
  report.kept_as = damaged;
  return {};
}

ArchiveResult<void> swap_in(const std::string& aside, const std::string& path, RebuildReport& report) {
  std::error_code code;
  if (report.old_file && report.kept_as.empty()) {
    auto aside_as = put_archive_aside(path, ".damaged");
    if (!aside_as) return std::unexpected(aside_as.error());
    report.kept_as = std::move(*aside_as);
  }
  fs::rename(aside, path, code);
  if (code) return std::unexpected(io_error(aside, code));
  const auto folder = fs::path(path).parent_path();
  const auto synced = journal::file_disk().sync_dir(folder.empty() ? "." : folder.string());
  if (!synced) return std::unexpected(ArchiveError{ArchiveError::Kind::io, path, synced.error().what});
  return {};
}

ArchiveResult<void> fill(Store& store, const std::string& old_path, const RebuildFrom& from, RebuildReport& report) {
  Collector collector(store);
  Salvage salvage(collector, report);
  if (report.old_file) {
    if (auto ok = salvage.run(old_path, from.archived_up_to, from.folder); !ok) return ok;
  }
  FinishNumber last = std::max(from.archived_up_to, salvage.last);
  for (const auto& each : from.ledger) {
    ++report.from_ledger;
    last = std::max(last, each->finish_number);
    if (auto ok = collector.add(each); !ok) return ok;
  }
  if (auto ok = collector.flush(); !ok) return ok;
  const auto count = store.count();
  if (!count) return std::unexpected(count.error());
  const std::uint64_t known = *count + salvage.removed + salvage.lost;
  report.missing = last > known ? last - known : 0;
  if (auto ok = store.record_loss({from.now, 1, last, report.missing + salvage.lost, "the archive was rebuilt"}); !ok) {
    return ok;
  }
  if (auto ok = store.keep_note(k_note_folder, from.folder); !ok) return ok;
  if (auto sealed = store.seal(); !sealed) return std::unexpected(sealed.error());
  return {};
}

}  // namespace

std::string RebuildReport::describe() const {
  std::string text = fmt::format("{} tasks from the ledger", from_ledger);
  if (old_file) text += fmt::format(", {} from the old archive, kept as {}", from_old, kept_as);
  if (!old_file) text += "; there was no old archive";
  if (!old_error.empty()) text += fmt::format(" (it could not be read to its end: {})", old_error);
  if (damaged != 0) text += fmt::format("; {} records of it are damaged and were not taken", damaged);
  if (missing != 0)
    text += fmt::format("; {} finished tasks were found nowhere: lost, or removed by retention", missing);
  return text;
}

ArchiveResult<std::string> put_archive_aside(const std::string& path, const std::string& what) {
  std::string name = free_name(path, what);
  std::error_code code;
  for (const char* side : k_sides) {
    if (!fs::exists(path + side)) continue;
    fs::rename(path + side, name + side, code);
    if (code) return std::unexpected(io_error(path + side, code));
  }
  return name;
}

ArchiveResult<RebuildReport> rebuild_archive(const std::string& path, const RebuildFrom& from) {
  RebuildReport report;
  std::error_code ignored;
  report.old_file = fs::exists(path, ignored);
  if (!report.old_file) {
    if (auto ok = go_on(path, report); !ok) return std::unexpected(ok.error());
  }
  const std::string old_path = report.kept_as.empty() ? path : report.kept_as;
  const std::string aside = path + ".new";
  for (const char* side : k_sides) fs::remove(aside + side, ignored);
  {
    auto store = SqliteStore::open(aside);
    if (!store) return std::unexpected(store.error());
    if (auto ok = fill(**store, old_path, from, report); !ok) return std::unexpected(ok.error());
  }
  // The last connection to close took the log of the new file into it.
  if (auto ok = swap_in(aside, path, report); !ok) return std::unexpected(ok.error());
  return report;
}

}  // namespace skein::inline v0::archive
