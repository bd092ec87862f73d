// SQLite doing the journal's work: rows of 200 bytes in a write-ahead log, synced before a commit returns (WAL,
// synchronous=FULL). append_1 commits every row; append_32 and append_1000 commit so many rows at once, which is what
// group commit gives those who wait together. usage: sqlite_bench WORKLOAD
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_row_bytes = 200;
constexpr double k_run_s = 2;
constexpr std::uint64_t k_recovered_rows = 1'000'000;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Database {
 public:
  explicit Database(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("can't open " + path);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE IF NOT EXISTS log (position INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
    sqlite3_prepare_v2(db_, "INSERT INTO log (bytes) VALUES (?)", -1, &insert_, nullptr);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }

  void run(const char* sql) {
    char* error = nullptr;
    if (sqlite3_exec(db_, sql, nullptr, nullptr, &error) != SQLITE_OK) throw std::runtime_error(error);
  }
  void append(int rows) {
    const std::string bytes(k_row_bytes, 'x');
    run("BEGIN IMMEDIATE");
    for (int i = 0; i < rows; ++i) {
      sqlite3_bind_blob(insert_, 1, bytes.data(), k_row_bytes, SQLITE_STATIC);
      if (sqlite3_step(insert_) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
      sqlite3_reset(insert_);
    }
    run("COMMIT");
  }
  std::uint64_t read_all() {
    sqlite3_stmt* select = nullptr;
    sqlite3_prepare_v2(db_, "SELECT bytes FROM log ORDER BY position", -1, &select, nullptr);
    std::uint64_t rows = 0;
    while (sqlite3_step(select) == SQLITE_ROW) rows += sqlite3_column_bytes(select, 0) == k_row_bytes ? 1 : 0;
    sqlite3_finalize(select);
    return rows;
  }

 private:
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

double append(const std::string& path, int rows) {
  Database db(path);
  std::uint64_t done = 0;
  const auto begin = Clock::now();
  while (seconds_since(begin) < k_run_s) {
    db.append(rows);
    done += static_cast<std::uint64_t>(rows);
  }
  return static_cast<double>(done) / seconds_since(begin);
}

double commit_us(const std::string& path, double percentile) {
  Database db(path);
  std::vector<double> samples;
  const auto begin = Clock::now();
  while (seconds_since(begin) < k_run_s) {
    const auto one = Clock::now();
    db.append(1);
    samples.push_back(seconds_since(one) * 1e6);
  }
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<std::size_t>(percentile * static_cast<double>(samples.size() - 1))];
}

double recovery(const std::string& path) {
  {
    Database db(path);
    for (std::uint64_t i = 0; i < k_recovered_rows; i += 10'000) db.append(10'000);
  }
  const auto begin = Clock::now();
  Database db(path);
  const std::uint64_t rows = db.read_all();
  return static_cast<double>(rows) / seconds_since(begin);
}

struct Workload {
  const char* name;
  const char* unit;
  double (*run)(const std::string& path);
};

const Workload k_workloads[] = {
    {"append_1", "entries/s", [](const std::string& path) { return append(path, 1); }},
    {"append_32", "entries/s", [](const std::string& path) { return append(path, 32); }},
    {"append_1000", "entries/s", [](const std::string& path) { return append(path, 1000); }},
    {"commit_p50_1", "us", [](const std::string& path) { return commit_us(path, 0.5); }},
    {"commit_p99_1", "us", [](const std::string& path) { return commit_us(path, 0.99); }},
    {"recovery", "entries/s", recovery},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  for (const Workload& each : k_workloads) {
    if (wanted != each.name) continue;
    const char* set = std::getenv("SKEIN_BENCH_DIR");
    const auto dir = std::filesystem::path(set != nullptr ? set : ".") / ("sqlite-bench-" + std::to_string(getpid()));
    std::filesystem::create_directories(dir);
    const double figure = each.run((dir / "log.db").string());
    std::filesystem::remove_all(dir);
    std::printf("sqlite %s %s %.2f\n", each.name, each.unit, figure);
    return 0;
  }
  std::fprintf(stderr, "usage: sqlite_bench WORKLOAD\n");
  return 2;
}
