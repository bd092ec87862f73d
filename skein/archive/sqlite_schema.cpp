#include "skein/archive/sqlite_schema.hpp"

#include <fmt/format.h>

namespace skein::inline v0::archive {
namespace {

using Kind = ArchiveError::Kind;

// words is contentless: the words are in the index, the texts in `tasks` alone. To take a row out of it one must say
// what it was made of, so what is indexed is always the same function of the row.
constexpr const char* k_first_schema = R"sql(
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
)sql";

// The numbers that the first version did not keep are found out: what is missing before the first row went by
// retention, what is missing between rows nobody can tell any more.
constexpr const char* k_second_schema = R"sql(
  ALTER TABLE tasks ADD COLUMN checksum INTEGER;
  CREATE TABLE losses(
    at INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL, why TEXT NOT NULL);
  CREATE TABLE notes(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  UPDATE marks SET value = max(value, coalesce((SELECT max(finish_number) FROM tasks), 0))
    WHERE name = 'last_finished';
  INSERT INTO marks SELECT 'rows', count(*) FROM tasks;
  INSERT INTO marks SELECT 'removed', coalesce((SELECT min(finish_number) - 1 FROM tasks), value)
    FROM marks WHERE name = 'last_finished';
  INSERT INTO marks SELECT 'lost', (SELECT value FROM marks WHERE name = 'last_finished')
    - (SELECT value FROM marks WHERE name = 'rows') - (SELECT value FROM marks WHERE name = 'removed');
  INSERT INTO losses SELECT 0, (SELECT min(finish_number) FROM tasks), (SELECT max(finish_number) FROM tasks), value,
    'missing when the archive of an earlier version was opened' FROM marks WHERE name = 'lost' AND value > 0;
  INSERT INTO marks VALUES('unsummed_after', 0);
  INSERT INTO marks SELECT 'unsummed_to', coalesce(max(finish_number), 0) FROM tasks;
  PRAGMA user_version = 2;
)sql";

}  // namespace

ArchiveResult<void> set_up_archive(const Database& db, const std::string& path) {
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
  // Its log is taken into the file by seal() alone, whole and at once: a log that was half taken in and is then cut
  // would leave pages of two moments. Until then nobody needs what is in it, so commits need not be synced.
  if (auto ok = db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
                           "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;");
      !ok) {
    return ok;
  }
  if (*version == k_archive_version) return {};
  auto transaction = Transaction::begin(db);
  if (!transaction) return std::unexpected(transaction.error());
  if (*version == 0) {
    if (auto ok = db.execute(k_first_schema); !ok) return ok;
  }
  if (auto ok = db.execute(k_second_schema); !ok) return ok;
  return transaction->commit();
}

}  // namespace skein::inline v0::archive
