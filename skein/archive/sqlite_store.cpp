#include "skein/archive/sqlite_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "skein/archive/row.hpp"
#include "skein/archive/words.hpp"

namespace skein::inline v0::archive {
namespace {

using Kind = ArchiveError::Kind;

// Contentless: the words are in the index, the texts in `tasks` alone. To take a row out of it one must say what it
// was made of, so what is indexed is always the same function of the row.
constexpr const char* k_schema = R"sql(
  CREATE TABLE tasks(
    finish_number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, number INTEGER NOT NULL, swarm TEXT NOT NULL,
    type TEXT NOT NULL, state INTEGER NOT NULL, ending INTEGER NOT NULL, priority INTEGER NOT NULL,
    attempts INTEGER NOT NULL, attempts_max INTEGER NOT NULL, deliveries INTEGER NOT NULL, fence INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL, submitted_at INTEGER NOT NULL, not_before INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL, assigned_at INTEGER NOT NULL, started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL, agent TEXT NOT NULL, message TEXT NOT NULL, retried_as TEXT NOT NULL,
    details TEXT NOT NULL, params TEXT NOT NULL, result TEXT NOT NULL, mark TEXT NOT NULL);
  CREATE INDEX tasks_by_state ON tasks(state);
  CREATE INDEX tasks_by_swarm ON tasks(swarm, type);
  CREATE INDEX tasks_by_type ON tasks(type);
  CREATE INDEX tasks_by_time ON tasks(finished_at);
  CREATE TABLE marks(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO marks VALUES('last_finished', 0);
  CREATE VIRTUAL TABLE words USING fts5(params, result, message, content='');
  PRAGMA user_version = 1;
)sql";

std::string searched(std::string_view text) { return std::string(text.substr(0, k_searched_bytes)); }

ArchiveResult<void> set_up(const Database& db, const std::string& path) {
  auto version = db.number("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version > k_archive_version) {
    return std::unexpected(ArchiveError{
        Kind::version, path,
        fmt::format("was written by a later skein (version {}, this one knows {})", *version, k_archive_version)});
  }
  if (*version == 0) {
    const auto tables = db.number("SELECT count(*) FROM sqlite_schema");
    if (!tables) return std::unexpected(tables.error());
    if (*tables != 0) {
      return std::unexpected(ArchiveError{Kind::corrupt, path, "it is a database, but not an archive of skein"});
    }
    // Before the first table, or it has no effect.
    if (auto ok = db.execute("PRAGMA auto_vacuum = INCREMENTAL"); !ok) return ok;
  }
  if (auto ok = db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;"
                           "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;");
      !ok) {
    return ok;
  }
  if (*version != 0) return {};
  auto transaction = Transaction::begin(db);
  if (!transaction) return std::unexpected(transaction.error());
  if (auto ok = db.execute(k_schema); !ok) return ok;
  return transaction->commit();
}

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
  auto find_row =
      db.prepare("SELECT finish_number, params, result, message FROM tasks WHERE finish_number = ? OR id = ? LIMIT 1");
  auto remove_words =
      db.prepare("INSERT INTO words(words, rowid, params, result, message) VALUES('delete', ?, ?, ?, ?)");
  auto remove = db.prepare("DELETE FROM tasks WHERE finish_number = ?");
  auto set_last = db.prepare("UPDATE marks SET value = max(value, ?) WHERE name = 'last_finished'");
  auto link = db.prepare("UPDATE tasks SET retried_as = ? WHERE id = ?");
  for (auto* each : {&insert, &insert_words, &find_row, &remove_words, &remove, &set_last, &link}) {
    if (!*each) return std::unexpected(each->error());
  }
  return Writer{std::move(db),        std::move(*insert),       std::move(*insert_words),
                std::move(*find_row), std::move(*remove_words), std::move(*remove),
                std::move(*set_last), std::move(*link)};
}

ArchiveResult<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path, int busy_ms) {
  auto db = Database::open(path, Database::Mode::create, busy_ms);
  if (!db) return std::unexpected(db.error());
  if (auto ok = set_up(*db, path); !ok) return std::unexpected(ok.error());
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
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(*writer), std::move(*reader), std::move(*find)));  // the constructor is private
}

ArchiveResult<void> SqliteStore::insert(std::span<const Finished> tasks) {
  if (tasks.empty()) return {};
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
  ledger::FinishNumber last = 0;
  for (const auto& each : tasks) {
    if (auto ok = insert_one(*each); !ok) return ok;
    last = std::max(last, each->finish_number);
  }
  if (auto ok = writer_.set_last.bind(1, last).run(); !ok) return ok;
  return transaction->commit();
}

ArchiveResult<void> SqliteStore::insert_one(const ledger::FinishedTask& each) {
  bind_row(writer_.insert, each);
  if (auto ok = writer_.insert.run(); !ok) return ok;
  if (writer_.db.changed_rows() == 0) {
    // It is there already, or another has its number: what the ledger says now takes the place.
    if (auto ok = remove_one(each.finish_number, row_id(each.task.id)); !ok) return ok;
    bind_row(writer_.insert, each);
    if (auto ok = writer_.insert.run(); !ok) return ok;
  }
  auto& words = writer_.insert_words;
  words.bind(1, each.finish_number).bind(2, searched(ledger::view_of(each.task.params)));
  words.bind(3, searched(ledger::view_of(each.result))).bind(4, searched(each.message));
  return words.run();
}

ArchiveResult<void> SqliteStore::remove_one(ledger::FinishNumber number, std::string_view id) {
  while (true) {
    auto& row = writer_.find_row.bind(1, number).bind(2, id);
    const auto found = row.step();
    if (!found) return std::unexpected(found.error());
    if (!*found) {
      row.reset();
      return {};
    }
    const auto at = row.number(0);
    auto& words = writer_.remove_words;
    words.bind(1, at).bind(2, searched(row.text(1))).bind(3, searched(row.text(2))).bind(4, searched(row.text(3)));
    row.reset();
    if (auto ok = words.run(); !ok) return ok;
    if (auto ok = writer_.remove.bind(1, at).run(); !ok) return ok;
  }
}

ArchiveResult<ledger::FinishNumber> SqliteStore::last() {
  const std::lock_guard lock(read_mutex_);
  return reader_.number("SELECT value FROM marks WHERE name = 'last_finished'");
}

ArchiveResult<Finished> SqliteStore::find(ledger::TaskId id) {
  const std::lock_guard lock(read_mutex_);
  const ResetAtEnd reset_at_end(find_);
  const auto found = find_.bind(1, row_id(id)).step();
  if (!found) return std::unexpected(found.error());
  if (!*found) return nullptr;
  auto task = read_row(find_, false);
  if (!task) return std::unexpected(ArchiveError{Kind::corrupt, "", "a row makes no sense"});
  return task;
}

ArchiveResult<std::vector<Finished>> SqliteStore::query(const Query& query) {
  const auto where = conditions_of(query);
  const auto* order = query.order == Query::Order::last_finished_first ? "finish_number" : "number";
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
    if (!row) return std::unexpected(row.error());
    if (!*row) return page;
    auto task = read_row(*rows, true);
    if (!task) return std::unexpected(ArchiveError{Kind::corrupt, "", "a row makes no sense"});
    page.push_back(std::move(task));
  }
}

ArchiveResult<bool> SqliteStore::link_retry(ledger::TaskId old_task, ledger::TaskId new_task) {
  const std::lock_guard lock(write_mutex_);
  if (auto ok = writer_.link.bind(1, row_id(new_task)).bind(2, row_id(old_task)).run(); !ok) {
    return std::unexpected(ok.error());
  }
  return writer_.db.changed_rows() != 0;
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
  const auto age = static_cast<std::uint64_t>(retention.age.count());
  const std::uint64_t oldest_kept = age != 0 && now > age ? now - age : 0;
  auto oldest = writer_.db.prepare("SELECT finish_number, finished_at FROM tasks ORDER BY finish_number LIMIT ?");
  if (!oldest) return std::unexpected(oldest.error());
  oldest->bind(1, at_most);
  std::vector<ledger::FinishNumber> doomed;
  while (true) {
    const auto row = oldest->step();
    if (!row) return std::unexpected(row.error());
    if (!*row || (oldest->number(1) >= oldest_kept && doomed.size() >= too_many)) break;
    doomed.push_back(oldest->number(0));
  }
  oldest->reset();
  for (const auto number : doomed) {
    if (auto ok = remove_one(number, ""); !ok) return std::unexpected(ok.error());
  }
  if (auto ok = transaction->commit(); !ok) return std::unexpected(ok.error());
  if (doomed.empty()) return 0;
  if (auto ok = writer_.db.execute("PRAGMA incremental_vacuum(1000)"); !ok) return std::unexpected(ok.error());
  return doomed.size();
}

ArchiveResult<std::uint64_t> SqliteStore::count() {
  const std::lock_guard lock(read_mutex_);
  return reader_.number("SELECT count(*) FROM tasks");
}

ArchiveResult<std::uint64_t> SqliteStore::forget_after(ledger::FinishNumber last) {
  const std::lock_guard lock(write_mutex_);
  auto transaction = Transaction::begin(writer_.db);
  if (!transaction) return std::unexpected(transaction.error());
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
    if (auto ok = remove_one(doomed, ""); !ok) return std::unexpected(ok.error());
    ++forgotten;
  }
  next->reset();
  if (auto ok = go_back->bind(1, last).run(); !ok) return std::unexpected(ok.error());
  if (auto ok = transaction->commit(); !ok) return std::unexpected(ok.error());
  return forgotten;
}

ArchiveResult<void> SqliteStore::limit_pages(std::uint64_t pages) {
  const std::lock_guard lock(write_mutex_);
  return writer_.db.execute(fmt::format("PRAGMA max_page_count = {}", pages).c_str());
}

}  // namespace skein::inline v0::archive
