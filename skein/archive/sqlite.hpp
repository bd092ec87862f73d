// SQLite without its C: a connection, a prepared statement, a transaction, errors as values. Nothing here throws.
//
// One thread at a time for a connection and all that came from it. A Statement must not outlive its Database. Texts and
// numbers that are bound may go away at once: they are copied, except by bind_static.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "skein/archive/archive_error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace skein::inline v0::archive {

class Statement {
 public:
  Statement& bind(int at, std::uint64_t value);
  Statement& bind(int at, std::string_view text);
  // The bytes must stay until reset().
  Statement& bind_static(int at, std::string_view text);

  // True when there is a row, false at the end.
  [[nodiscard]] ArchiveResult<bool> step();
  // Runs it to its end and makes it ready to be used again.
  [[nodiscard]] ArchiveResult<void> run();
  void reset();

  [[nodiscard]] std::uint64_t number(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  // Until the next step() or reset().
  [[nodiscard]] std::string_view text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, const std::string* file) : statement_(statement), file_(file) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const std::string* file_;
};

// Resets a statement at the end of a scope, so that it holds no lock.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;
  ~ResetAtEnd() { statement_.reset(); }

 private:
  Statement& statement_;
};

class Database {
 public:
  enum class Mode { read, write, create };
  [[nodiscard]] static ArchiveResult<Database> open(const std::string& path, Mode mode, int busy_ms);

  [[nodiscard]] ArchiveResult<Statement> prepare(std::string_view sql) const;
  // Runs statements without parameters; rows are passed over.
  [[nodiscard]] ArchiveResult<void> execute(const char* sql) const;
  // The first column of the first row, 0 without one.
  [[nodiscard]] ArchiveResult<std::uint64_t> number(std::string_view sql) const;
  [[nodiscard]] std::uint64_t changed_rows() const;
  [[nodiscard]] bool in_transaction() const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  Database(sqlite3* db, std::unique_ptr<const std::string> file) : file_(std::move(file)), db_(db) {}

  std::unique_ptr<const std::string> file_;
  std::unique_ptr<sqlite3, Close> db_;
};

// Rolled back unless committed.
class Transaction {
 public:
  [[nodiscard]] static ArchiveResult<Transaction> begin(const Database& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  [[nodiscard]] ArchiveResult<void> commit();

 private:
  explicit Transaction(const Database* db) : db_(db) {}
  const Database* db_;
};

}  // namespace skein::inline v0::archive
