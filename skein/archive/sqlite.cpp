#include "skein/archive/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

namespace skein::inline v0::archive {
namespace {

ArchiveError error_of(sqlite3* db, int code, const std::string& file) {
  using Kind = ArchiveError::Kind;
  Kind kind = Kind::io;
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      kind = Kind::corrupt;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      kind = Kind::busy;
      break;
    case SQLITE_FULL:
      kind = Kind::no_space;
      break;
    default:
      break;
  }
  return {kind, file, db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code)};
}

}  // namespace

std::string ArchiveError::describe() const {
  switch (kind) {
    case Kind::corrupt:
      return fmt::format(
          "the archive {} is damaged ({}): stop the node and run 'skein archive rebuild'; tasks that are open are not "
          "touched by this",
          file, what);
    case Kind::damaged:
      return fmt::format(
          "a record of the archive {} is damaged ({}): it is not handed out; stop the node and run 'skein archive "
          "rebuild', or go back to a backup with 'skein restore'",
          file, what);
    case Kind::conflict:
      return fmt::format(
          "the archive {} and the journal do not belong together ({}): nothing was replaced; go back to a backup with "
          "'skein restore', or put back the file that was exchanged",
          file, what);
    case Kind::version:
      return fmt::format("the archive {} {}: run that skein, or move the file away", file, what);
    case Kind::busy:
      return fmt::format("the archive {} is locked by another program ({}): end it and try again", file, what);
    case Kind::no_space:
      return fmt::format("no room for the archive {} ({}): free some space, it goes on by itself", file, what);
    case Kind::io:
      break;
  }
  return fmt::format("the archive {} failed ({}): check the disk and the folder's permissions", file, what);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::bind(int at, std::uint64_t value) {
  sqlite3_bind_int64(statement_.get(), at, static_cast<sqlite3_int64>(value));
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), at, text.data() != nullptr ? text.data() : "", text.size(),
                      SQLITE_TRANSIENT,  // NOLINT: SQLite's own cast
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_static(int at, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), at, text.data() != nullptr ? text.data() : "", text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return *this;
}

ArchiveResult<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(error_of(sqlite3_db_handle(statement_.get()), code, *file_));
}

ArchiveResult<void> Statement::run() {
  const ResetAtEnd reset_at_end(*this);
  while (true) {
    const auto row = step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
  }
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::uint64_t Statement::number(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::string_view Statement::text(int column) const {
  // The pointer first: asking for it may convert the value, and with it the length.
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  const int length = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length)};
}

void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

ArchiveResult<Database> Database::open(const std::string& path, Mode mode, int busy_ms) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database db(raw, std::make_unique<const std::string>(path));
  if (code != SQLITE_OK) return std::unexpected(error_of(raw, code, path));
  sqlite3_busy_timeout(raw, busy_ms);
  return db;
}

ArchiveResult<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error_of(db_.get(), code, *file_));
  return Statement(raw, file_.get());
}

ArchiveResult<void> Database::execute(const char* sql) const {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error_of(db_.get(), code, *file_));
  return {};
}

ArchiveResult<std::uint64_t> Database::number(std::string_view sql) const {
  auto statement = prepare(sql);
  if (!statement) return std::unexpected(statement.error());
  const auto row = statement->step();
  if (!row) return std::unexpected(row.error());
  return *row ? statement->number(0) : 0;
}

std::uint64_t Database::changed_rows() const { return static_cast<std::uint64_t>(sqlite3_changes64(db_.get())); }

bool Database::in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

ArchiveResult<Transaction> Transaction::begin(const Database& db) {
  if (auto ok = db.execute("BEGIN IMMEDIATE"); !ok) return std::unexpected(ok.error());
  return Transaction(&db);
}

Transaction::~Transaction() {
  // Some failures end the transaction by themselves; then there is nothing to roll back.
  if (db_ != nullptr && db_->in_transaction()) [[maybe_unused]]
    const auto ignored = db_->execute("ROLLBACK");
}

ArchiveResult<void> Transaction::commit() {
  auto ok = db_->execute("COMMIT");
  if (ok) db_ = nullptr;
  return ok;
}

}  // namespace skein::inline v0::archive
