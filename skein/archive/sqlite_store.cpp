#include "skein/archive/sqlite_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "skein/archive/words.hpp"

namespace skein::inline v0::archive {
namespace {

using Kind = ArchiveError::Kind;

std::string searched(std::string_view text) { return std::string(text.substr(0, k_searched_bytes)); }

// The parts of a WHERE clause with their values, in order.
struct Conditions {
  std::string sql = "1";
  std::vector<std::variant<std::uint64_t, std::string>> values;

  void add(const char* condition, std::variant<std::uint64_t, std::string> value) {
    sql.append(" AND ").append(condition);
    values.push_back(std::move(value));
  }
};

Conditions conditions_of(const Query& query) {
  Conditions all;
  if (query.state) all.add("state = ?", static_cast<std::uint64_t>(*query.state));
  if (!query.swarm.empty()) all.add("swarm = ?", query.swarm);
  if (!query.type.empty()) all.add("type = ?", query.type);
  if (!query.id_prefix.empty()) {
    all.add("id >= ?", query.id_prefix);
    all.add("id < ?", query.id_prefix + "g");  // the letter after the last digit
  }
  if (query.finished_from != 0) all.add("finished_at >= ?", query.finished_from);
  if (query.finished_before != 0) all.add("finished_at < ?", query.finished_before);
  if (query.above != 0) all.add("finish_number > ?", query.above);
  if (query.below != 0) all.add("finish_number < ?", query.below);
  if (query.submitted_below != 0) all.add("number < ?", query.submitted_below);
  std::string match;
  for (const auto& word : words_of(query.text, k_words_max)) match += fmt::format("\"{}\"* ", word);
  if (!match.empty()) all.add("finish_number IN (SELECT rowid FROM words WHERE words MATCH ?)", match);
  return all;
}

}  // namespace

ArchiveResult<SqliteStore::Writer> SqliteStore::make_writer(Database db) {
  std::string marks = "?";
  for (int i = 1; i < k_column_count; ++i) marks += ",?";
  auto insert = db.prepare(fmt::format("INSERT OR IGNORE INTO tasks({}) VALUES({})", k_columns, marks));
  auto insert_words = db.prepare("INSERT INTO words(rowid, params, result, message) VALUES(?, ?, ?, ?)");
  auto find_row = db.prepare("SELECT params, result, message FROM tasks WHERE finish_number = ?");
  auto remove_words =
      db.prepare("INSERT INTO words(words, rowid, params, result, message) VALUES('delete', ?, ?, ?, ?)");
  auto remove = db.prepare("DELETE FROM tasks WHERE finish_number = ?");
  auto set_last = db.prepare("UPDATE marks SET value = max(value, ?) WHERE name = 'last_finished'");
  auto add_to_mark = db.prepare("UPDATE marks SET value = value + ? WHERE name = ?");
  auto find_brief = db.prepare(
      fmt::format("SELECT {} FROM tasks WHERE finish_number = ? OR id = ? ORDER BY finish_number = ? DESC LIMIT 1",
                  k_brief_columns));
  auto link = db.prepare("UPDATE tasks SET retried_as = ?, checksum = ? WHERE finish_number = ?");
  for (auto* each :
       {&insert, &insert_words, &find_row, &remove_words, &remove, &set_last, &add_to_mark, &find_brief, &link}) {
    if (!*each) return std::unexpected(each->error());
  }
  return Writer{std::move(db),        std::move(*insert),       std::move(*insert_words),
                std::move(*find_row), std::move(*remove_words), std::move(*remove),
                std::move(*set_last), std::move(*add_to_mark),  std::move(*find_brief),
                std::move(*link)};
}

ArchiveResult<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path, int busy_ms) {
  auto db = Database::open(path, Database::Mode::create, busy_ms);
  if (!db) return std::unexpected(db.error());
  if (auto ok = set_up_archive(*db, path); !ok) return std::unexpected(ok.error());
  auto writer = make_writer(std::move(*db));
  if (!writer) {
    // The version says it is ours and the tables are not there.
    auto error = writer.error();
    if (error.kind == Kind::io) error.kind = Kind::corrupt;
    return std::unexpected(std::move(error));
  }
  auto reader = Database::open(path, Database::Mode::read, busy_ms);
  if (!reader) return std::unexpected(reader.error());
  auto find = reader->prepare(fmt::format("SELECT {} FROM tasks WHERE id = ?", k_columns));
  if (!find) return std::unexpected(find.error());
  auto checker = Database::open(path, Database::Mode::read, busy_ms);
  if (!checker) return std::unexpected(checker.error());
  // Its first question opens the WAL: a descriptor that is taken now is not missing later.
  if (auto asked = checker->number("PRAGMA user_version"); !asked) return std::unexpected(asked.error());
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, std::move(*writer), std::move(*reader), std::move(*find),
                                                     std::move(*checker)));  // the constructor is private
  if (auto ok = store->load_unsummed(); !ok) return std::unexpected(ok.error());
  return store;
}

ArchiveResult<void> SqliteStore::load_unsummed() {
  const auto after = mark(reader_, "unsummed_after");
  const auto up_to = mark(reader_, "unsummed_to");
  if (!after) return std::unexpected(after.error());
  if (!up_to) return std::unexpected(up_to.error());
  unsummed_after_ = *after;
  unsummed_to_ = *up_to;
  return {};
}

ArchiveError SqliteStore::damaged(ledger::FinishNumber number, std::string_view what) const {
  return damaged_record(path_, number, what);
}

ArchiveResult<void> SqliteStore::insert(std::span<const Finished> tasks) {
  if (tasks.empty()) return {};
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  const auto last = mark(writer_.db, "last_finished");
  if (!last) return std::unexpected(last.error());
  Inserted inserted{.last = *last};
  inserted.rows_written.reserve(tasks.size());
  for (const auto& each : tasks) {
    if (auto ok = insert_one(*each, inserted); !ok) return ok;
  }
  if (auto ok = writer_.set_last.bind(1, inserted.last).run(); !ok) return ok;
  if (auto ok = add_to_mark("rows", inserted.rows); !ok) return ok;
  if (auto ok = add_removed(inserted.removed); !ok) return ok;
  if (auto ok = transaction->commit(); !ok) return ok;
  // A row that was inserted twice is as it was inserted last.
  for (const Unsealed& each : inserted.rows_written) unsealed_.insert_or_assign(each.number, each.checksum);
  return {};
}

ArchiveResult<void> SqliteStore::insert_one(const ledger::FinishedTask& each, Inserted& inserted) {
  RowChecksum checksum = bind_row(writer_.insert, each);
  if (auto ok = writer_.insert.run(); !ok) return ok;
  if (writer_.db.changed_rows() == 0) {
    if (auto ok = make_way(each, inserted); !ok) return ok;
    checksum = bind_row(writer_.insert, each);
    if (auto ok = writer_.insert.run(); !ok) return ok;
  } else if (each.finish_number <= inserted.last) {
    --inserted.removed;  // it was written off, and is here after all
  }
  ++inserted.rows;
  inserted.last = std::max(inserted.last, each.finish_number);
  inserted.rows_written.push_back({each.finish_number, static_cast<std::uint32_t>(checksum)});
  auto& words = writer_.insert_words;
  words.bind(1, each.finish_number).bind(2, searched(ledger::view_of(each.task.params)));
  words.bind(3, searched(ledger::view_of(each.result))).bind(4, searched(each.message));
  return words.run();
}

ArchiveResult<void> SqliteStore::make_way(const ledger::FinishedTask& each, Inserted& inserted) {
  bool is_own_place_taken = false;
  while (true) {
    auto& row =
        writer_.find_brief.bind(1, each.finish_number).bind(2, row_id(each.task.id)).bind(3, each.finish_number);
    const ResetAtEnd reset_at_end(row);
    const auto found = row.step();
    if (!found) return std::unexpected(found.error());
    if (!*found) break;
    const ledger::FinishNumber at = row.number(0);
    const auto there = read_row(row, true, {unsummed_after_, unsummed_to_});
    // One that is damaged has no task to speak of: what the ledger has takes its place.
    if (at == each.finish_number && there && (*there)->task.id != each.task.id) {
      return std::unexpected(number_conflict(path_, each, (*there)->task.id));
    }
    row.reset();
    if (auto gone = remove_one(at); !gone) return std::unexpected(gone.error());
    --inserted.rows;
    if (at == each.finish_number) {
      is_own_place_taken = true;
    } else {
      ++inserted.removed;
    }
  }
  if (!is_own_place_taken && each.finish_number <= inserted.last) --inserted.removed;
  return {};
}

ArchiveResult<bool> SqliteStore::remove_one(ledger::FinishNumber number) {
  auto& row = writer_.find_row.bind(1, number);
  const ResetAtEnd reset_at_end(row);
  const auto found = row.step();
  if (!found) return std::unexpected(found.error());
  if (!*found) return false;
  auto& words = writer_.remove_words;
  words.bind(1, number).bind(2, searched(row.text(0))).bind(3, searched(row.text(1))).bind(4, searched(row.text(2)));
  row.reset();
  if (auto ok = words.run(); !ok) return std::unexpected(ok.error());
  if (auto ok = writer_.remove.bind(1, number).run(); !ok) return std::unexpected(ok.error());
  unsealed_.erase(number);
  return true;
}

ArchiveResult<void> SqliteStore::add_to_mark(std::string_view name, std::int64_t by) {
  if (by == 0) return {};
  return writer_.add_to_mark.bind(1, static_cast<std::uint64_t>(by)).bind(2, name).run();
}

// What was written off and is here after all was removed, or else lost.
ArchiveResult<void> SqliteStore::add_removed(std::int64_t by) {
  if (by >= 0) return add_to_mark("removed", by);
  const auto removed = mark(writer_.db, "removed");
  const auto lost = mark(writer_.db, "lost");
  if (!removed) return std::unexpected(removed.error());
  if (!lost) return std::unexpected(lost.error());
  const std::int64_t from_removed = std::min(-by, static_cast<std::int64_t>(*removed));
  const std::int64_t from_lost = std::min(-by - from_removed, static_cast<std::int64_t>(*lost));
  if (auto ok = add_to_mark("removed", -from_removed); !ok) return ok;
  return add_to_mark("lost", -from_lost);
}

ArchiveResult<std::uint64_t> SqliteStore::mark(const Database& db, std::string_view name) const {
  auto found = db.prepare("SELECT value FROM marks WHERE name = ?");
  if (!found) return std::unexpected(found.error());
  const auto row = found->bind(1, name).step();
  if (!row) return std::unexpected(row.error());
  if (!*row) {
    return std::unexpected(ArchiveError{Kind::corrupt, path_, fmt::format("its mark '{}' is missing", name)});
  }
  return found->number(0);
}

ArchiveResult<Marks> SqliteStore::marks() {
  const std::lock_guard lock(read_mutex_);
  Marks marks;
  const std::pair<const char*, std::uint64_t*> all[] = {
      {"last_finished", &marks.last}, {"rows", &marks.rows}, {"removed", &marks.removed}, {"lost", &marks.lost}};
  for (const auto& [name, value] : all) {
    const auto found = mark(reader_, name);
    if (!found) return std::unexpected(found.error());
    *value = *found;
  }
  const auto newest = reader_.number("SELECT finished_at FROM tasks ORDER BY finish_number DESC LIMIT 1");
  if (!newest) return std::unexpected(newest.error());
  marks.newest = *newest;
  return marks;
}

ArchiveResult<Finished> SqliteStore::find(ledger::TaskId id) {
  const std::lock_guard lock(read_mutex_);
  const ResetAtEnd reset_at_end(find_);
  const auto found = find_.bind(1, row_id(id)).step();
  if (!found) return std::unexpected(told(found.error()));
  if (!*found) return find_without_index(id);
  auto task = read_row(find_, false, {unsummed_after_, unsummed_to_});
  if (!task) return std::unexpected(told(damaged(find_.number(0), task.error())));
  if ((*task)->task.id != id)
    return std::unexpected(told(damaged(find_.number(0), "it is found by the id of another")));
  return std::move(*task);
}

ArchiveResult<std::vector<Finished>> SqliteStore::query(const Query& query) {
  const auto where = conditions_of(query);
  const auto* order = query.order == Query::SortOrder::last_finished_first ? "finish_number" : "number";
  const std::lock_guard lock(read_mutex_);
  auto rows = reader_.prepare(
      fmt::format("SELECT {} FROM tasks WHERE {} ORDER BY {} DESC LIMIT ?", k_brief_columns, where.sql, order));
  if (!rows) return std::unexpected(rows.error());
  int at = 0;
  for (const auto& value : where.values) std::visit([&](const auto& each) { rows->bind(++at, each); }, value);
  rows->bind(++at, std::uint64_t{std::min(query.limit, k_page_max)});
  std::vector<Finished> page;
  while (true) {
    const auto row = rows->step();
    if (!row) return std::unexpected(told(row.error()));
    if (!*row) return page;
    auto task = read_row(*rows, true, {unsummed_after_, unsummed_to_});
    if (!task) return std::unexpected(told(damaged(rows->number(0), task.error())));
    page.push_back(std::move(*task));
  }
}

ArchiveResult<bool> SqliteStore::link_retry(ledger::TaskId old_task, ledger::TaskId new_task) {
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  const std::string link = new_task.none() ? std::string() : row_id(new_task);
  auto& row = writer_.find_brief.bind(1, std::uint64_t{0}).bind(2, row_id(old_task)).bind(3, std::uint64_t{0});
  ledger::FinishNumber number = 0;
  RowChecksum checksum = 0;
  {
    const ResetAtEnd reset_at_end(row);
    const auto found = row.step();
    if (!found) return std::unexpected(found.error());
    if (!*found) return false;
    number = row.number(0);
    const Unsummed unsummed{unsummed_after_, unsummed_to_};
    const auto there = read_row(row, true, unsummed);
    if (!there) return std::unexpected(damaged(number, there.error()));
    checksum = checksum_with(row, link);
    if (unsummed.has(number)) {
      if (auto ok = writer_.db.execute(
              fmt::format("UPDATE tasks SET retried_as = '{}' WHERE finish_number = {}", link, number).c_str());
          !ok) {
        return std::unexpected(ok.error());
      }
      number = 0;
    }
  }
  if (number != 0) {
    if (auto ok = writer_.link.bind(1, link).bind(2, checksum).bind(3, number).run(); !ok) {
      return std::unexpected(ok.error());
    }
  }
  if (auto ok = transaction->commit(); !ok) return std::unexpected(ok.error());
  return true;
}

ArchiveResult<std::uint64_t> SqliteStore::retain(const Retention& retention, ledger::WallMs now,
                                                 std::uint64_t at_most) {
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  std::uint64_t too_many = 0;
  if (retention.tasks != 0) {
    const auto rows = writer_.db.number("SELECT count(*) FROM tasks");
    if (!rows) return std::unexpected(rows.error());
    too_many = *rows > retention.tasks ? *rows - retention.tasks : 0;
  }
  const auto newest = writer_.db.number("SELECT finished_at FROM tasks ORDER BY finish_number DESC LIMIT 1");
  if (!newest) return std::unexpected(newest.error());
  const ledger::WallMs kept_from = oldest_kept(retention, now, *newest);
  auto oldest = writer_.db.prepare("SELECT finish_number, finished_at FROM tasks ORDER BY finish_number LIMIT ?");
  if (!oldest) return std::unexpected(oldest.error());
  oldest->bind(1, at_most);
  std::vector<ledger::FinishNumber> doomed;
  while (true) {
    const auto row = oldest->step();
    if (!row) return std::unexpected(row.error());
    if (!*row || (oldest->number(1) >= kept_from && doomed.size() >= too_many)) break;
    doomed.push_back(oldest->number(0));
  }
  oldest->reset();
  for (const auto number : doomed) {
    if (auto ok = remove_one(number); !ok) return std::unexpected(ok.error());
  }
  const auto removed = static_cast<std::int64_t>(doomed.size());
  if (auto ok = add_to_mark("rows", -removed); !ok) return std::unexpected(ok.error());
  if (auto ok = add_to_mark("removed", removed); !ok) return std::unexpected(ok.error());
  if (auto ok = transaction->commit(); !ok) return std::unexpected(ok.error());
  if (doomed.empty()) return 0;
  if (auto ok = writer_.db.execute("PRAGMA incremental_vacuum(1000)"); !ok) return std::unexpected(ok.error());
  return doomed.size();
}

ArchiveResult<std::uint64_t> SqliteStore::count() {
  const std::lock_guard lock(read_mutex_);
  const auto rows = reader_.number("SELECT count(*) FROM tasks NOT INDEXED");
  if (!rows) return rows;
  // What is in the table and not in this index would be answered as not found.
  const auto ids = reader_.number("SELECT count(id) FROM tasks INDEXED BY sqlite_autoindex_tasks_1");
  if (!ids) return ids;
  if (*rows == *ids) return rows;
  return std::unexpected(
      ArchiveError{Kind::corrupt, path_, fmt::format("it has {} records and {} ids of them", *rows, *ids)});
}

// Said once of each, however often it is asked for.
ArchiveError SqliteStore::told(ArchiveError error) {
  const bool is_damage = error.kind == Kind::damaged || error.kind == Kind::corrupt;
  if (is_damage && on_damage_ && told_.size() < k_damage_told && told_.insert(error.what).second) on_damage_(error);
  return error;
}

ArchiveResult<std::uint64_t> SqliteStore::forget_after(ledger::FinishNumber last) {
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  const auto was = mark(writer_.db, "last_finished");
  if (!was) return std::unexpected(was.error());
  auto next = writer_.db.prepare("SELECT finish_number FROM tasks WHERE finish_number > ? LIMIT 1");
  auto go_back = writer_.db.prepare("UPDATE marks SET value = min(value, ?) WHERE name = 'last_finished'");
  if (!next) return std::unexpected(next.error());
  if (!go_back) return std::unexpected(go_back.error());
  std::uint64_t forgotten = 0;
  while (true) {
    const auto row = next->bind(1, last).step();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    const auto doomed = next->number(0);
    next->reset();
    if (auto ok = remove_one(doomed); !ok) return std::unexpected(ok.error());
    ++forgotten;
  }
  next->reset();
  if (auto ok = go_back->bind(1, last).run(); !ok) return std::unexpected(ok.error());
  if (auto ok = add_to_mark("rows", -static_cast<std::int64_t>(forgotten)); !ok) return std::unexpected(ok.error());
  // Numbers after it that had gone by then.
  const std::uint64_t dropped = *was > last ? *was - last : 0;
  const auto gone_before = static_cast<std::int64_t>(dropped > forgotten ? dropped - forgotten : 0);
  if (auto ok = add_to_mark("removed", -gone_before); !ok) return std::unexpected(ok.error());
  if (auto ok = writer_.db.execute("DELETE FROM notes WHERE name = 'position'"); !ok)
    return std::unexpected(ok.error());
  if (auto ok = transaction->commit(); !ok) return std::unexpected(ok.error());
  return forgotten;
}

ArchiveResult<void> SqliteStore::limit_pages(std::uint64_t pages) {
  const std::lock_guard lock(write_mutex_);
  return writer_.db.execute(fmt::format("PRAGMA max_page_count = {}", pages).c_str());
}

}  // namespace skein::inline v0::archive
