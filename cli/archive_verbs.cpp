// skein archive rebuild: a new archive from what is left, with no node running.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/archive/rebuild.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/log_tools.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/node/data_lock.hpp"

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

void rebuild(const Session& session) {
  const std::string data = session.data_folder();
  ledger::Ledger ledger;
  // Opening it takes the folder's lock: no node is running.
  const auto opened = journal::open_journal(find_journal(data), ledger);
  if (!opened) fail(opened.error().describe());
  (*opened)->close();
  const auto report = archive::rebuild_archive(data + "/" + archive::k_archive_file, ledger.freeze()->finished_tasks(),
                                               ledger.counters().archived_up_to);
  if (!report) fail(report.error().describe());
  if (session.json) {
    return print_json(json::object{{"file", data + "/" + archive::k_archive_file},
                                   {"from_old", report->from_old},
                                   {"from_ledger", report->from_ledger},
                                   {"missing", report->missing},
                                   {"old_error", report->old_error},
                                   {"kept_as", report->kept_as}});
  }
  fmt::print("{}/{}: {}\n", data, archive::k_archive_file, report->describe());
}

}  // namespace

void add_archive(CLI::App& app) {
  CLI::App& archive_app = *app.add_subcommand("archive", "The archive of finished tasks");
  archive_app.require_subcommand(1);
  const auto session = std::make_shared<Session>();
  CLI::App& rebuild_app = *archive_app.add_subcommand(
      "rebuild", "Make a new archive from what can be read of the old one and from the journal");
  rebuild_app.add_option("--data", session->data, "Data folder of the node, which must not be running");
  rebuild_app.add_flag("--json", session->json, "Print JSON");
  rebuild_app.callback([session] { rebuild(*session); });
}

}  // namespace skein::cli
