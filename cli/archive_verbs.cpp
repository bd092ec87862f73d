// skein archive rebuild: a new archive from what is left, with no node running.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

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
std::string journal_in(const std::string& data) {
  const std::string inner = data + "/journal";
  if (journal::is_journal(journal::file_disk(), inner)) return inner;
  if (journal::is_journal(journal::file_disk(), data)) return data;
  fail(fmt::format("there is no journal in {}: name the node's data folder with --data", data));
}

void rebuild(const std::string& data) {
  ledger::Ledger ledger;
  // Opening it takes the folder's lock: no node is running.
  const auto opened = journal::open_journal(journal_in(data), ledger);
  if (!opened) fail(opened.error().describe());
  (*opened)->close();
  const auto report = archive::rebuild_archive(data + "/" + archive::k_archive_file, ledger.freeze()->finished_tasks(),
                                               ledger.counters().archived_up_to);
  if (!report) fail(report.error().describe());
  fmt::print("{}/{}: {}\n", data, archive::k_archive_file, report->describe());
}

}  // namespace

void add_archive(CLI::App& app) {
  CLI::App& archive_app = *app.add_subcommand("archive", "The archive of finished tasks");
  archive_app.require_subcommand(1);
  const auto data = std::make_shared<std::string>(node::default_data_folder());
  CLI::App& rebuild_app = *archive_app.add_subcommand(
      "rebuild", "Make a new archive from what can be read of the old one and from the journal");
  rebuild_app.add_option("--data", *data, "Data folder of the node, which must not be running")->capture_default_str();
  rebuild_app.callback([data] { rebuild(*data); });
}

}  // namespace skein::cli
