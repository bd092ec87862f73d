// skein archive rebuild: a new archive from what is left, with no node running. skein archive verify: is it whole?
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/archive/rebuild.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/log_tools.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/node/data_lock.hpp"
#include "skein/node/folder.hpp"

namespace skein::cli {
namespace {

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "skein: {}\n", why);
  throw CLI::RuntimeError(1);
}

// The journal is in a folder of its own, or the data folder is the journal's.
std::string find_journal(const std::string& data) {
  std::string inner = node::journal_in(data);
  if (journal::is_journal(journal::file_disk(), inner)) return inner;
  if (journal::is_journal(journal::file_disk(), data)) return data;
  fail(fmt::format("there is no journal in {}: name the node's data folder with --data", data));
}

ledger::WallMs wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<ledger::WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

// Every end that the log still tells of, also of tasks that were archived since.
class Endings final : public ledger::ChangeSink {
 public:
  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override {
    for (const ledger::Change& change : batch->changes) {
      if (const auto* ended = std::get_if<ledger::TaskFinished>(&change)) {
        finished.insert_or_assign(ended->finished->finish_number, ended->finished);
      }
    }
  }
  std::map<ledger::FinishNumber, archive::Finished> finished;
};

void rebuild(const Session& session) {
  const std::string data = session.data_folder();
  ledger::Ledger ledger;
  Endings endings;
  ledger.add_sink(endings);
  const std::string journal_folder = find_journal(data);
  // Opening it takes the folder's lock: no node is running.
  const auto opened = journal::open_journal(journal_folder, ledger);
  if (!opened) fail(opened.error().describe());
  (*opened)->close();
  ledger.remove_sink(endings);
  for (const auto& each : ledger.freeze()->finished_tasks()) {
    endings.finished.insert_or_assign(each->finish_number, each);
  }
  archive::RebuildFrom from;
  for (auto& [number, each] : endings.finished) from.ledger.push_back(std::move(each));
  from.archived_up_to = ledger.counters().archived_up_to;
  from.now = wall_now();
  const auto beside = node::read_folder_record(journal_folder);
  const auto root = node::read_folder_record(data);
  from.folder = beside ? beside->id : root ? root->id : std::string();
  const auto report = archive::rebuild_archive(data + "/" + archive::k_archive_file, from);
  if (!report) fail(report.error().describe());
  if (session.json) {
    return print_json(json::object{{"file", data + "/" + archive::k_archive_file},
                                   {"from_old", report->from_old},
                                   {"from_ledger", report->from_ledger},
                                   {"missing", report->missing},
                                   {"damaged", report->damaged},
                                   {"old_error", report->old_error},
                                   {"kept_as", report->kept_as}});
  }
  fmt::print("{}/{}: {}\n", data, archive::k_archive_file, report->describe());
}

constexpr std::size_t k_verified_at_once = 1000;
constexpr std::size_t k_shown_max = 20;

struct VerifyReport {
  std::uint64_t rows = 0;
  std::vector<std::pair<ledger::FinishNumber, std::string>> damaged;
  archive::Marks marks;
  std::uint64_t counted = 0;
};

// Piece by piece, so that a node that runs is not kept from writing.
VerifyReport verify_rows(archive::SqliteStore& store) {
  VerifyReport report;
  ledger::FinishNumber after = 0;
  for (bool is_end = false; !is_end;) {
    const auto part = store.verify(after, k_verified_at_once);
    if (!part) fail(part.error().describe());
    report.rows += part->rows;
    report.damaged.insert(report.damaged.end(), part->damaged.begin(), part->damaged.end());
    after = part->up_to;
    is_end = part->is_end;
  }
  const auto marks = store.marks();
  const auto counted = store.count();
  if (!marks) fail(marks.error().describe());
  if (!counted) fail(counted.error().describe());
  report.marks = *marks;
  report.counted = *counted;
  return report;
}

int verify(const Session& session) {
  const std::string file = session.data_folder() + "/" + archive::k_archive_file;
  if (!std::filesystem::exists(file)) {
    return complain(k_exit_failed,
                    fmt::format("there is no archive {}: name the node's data folder with --data, or run "
                                "'skein archive rebuild'",
                                file));
  }
  const auto store = archive::SqliteStore::open(file);
  if (!store) fail(store.error().describe());
  const VerifyReport report = verify_rows(**store);
  const std::uint64_t accounted = report.counted + report.marks.removed + report.marks.lost;
  const std::uint64_t missing = report.marks.last > accounted ? report.marks.last - accounted : 0;
  const bool is_whole = report.damaged.empty() && missing == 0;
  if (session.json) {
    json::array numbers;
    for (const auto& [number, what] : report.damaged) numbers.push_back({{"finish_number", number}, {"what", what}});
    print_json(json::object{{"file", file},
                            {"records", report.rows},
                            {"damaged", std::move(numbers)},
                            {"missing", missing},
                            {"removed", report.marks.removed},
                            {"lost", report.marks.lost},
                            {"last", report.marks.last},
                            {"whole", is_whole}});
    return is_whole ? k_exit_ok : k_exit_failed;
  }
  for (std::size_t i = 0; i < report.damaged.size() && i < k_shown_max; ++i) {
    fmt::print("finish number {}: {}\n", report.damaged[i].first, report.damaged[i].second);
  }
  fmt::print("{}: {} records, {} damaged, {} missing, {} removed by retention, {} lost and accepted: {}\n", file,
             report.rows, report.damaged.size(), missing, report.marks.removed, report.marks.lost,
             is_whole ? "whole" : "stop the node and run 'skein archive rebuild', or go back to a backup");
  return is_whole ? k_exit_ok : k_exit_failed;
}

}  // namespace

void add_archive(CLI::App& app) {
  CLI::App& archive_app = *app.add_subcommand("archive", "Verify or rebuild the archive of finished tasks");
  archive_app.require_subcommand(1);
  const auto session = std::make_shared<Session>();
  CLI::App& rebuild_app = *archive_app.add_subcommand(
      "rebuild", "Build a new archive from the readable parts of the old one and from the journal");
  Verb(rebuild_app).filled("--data", session->data, "Data folder of the node, which must not be running");
  rebuild_app.add_flag("--json", session->json, "Print JSON");
  rebuild_app.callback([session] { rebuild(*session); });
  CLI::App& verify_app =
      *archive_app.add_subcommand("verify", "Read every record and verify its checksum; the node may be running");
  Verb(verify_app).filled("--data", session->data, "Data folder of the node");
  verify_app.add_flag("--json", session->json, "Print JSON");
  verify_app.callback([session] {
    if (const int code = verify(*session); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace skein::cli
