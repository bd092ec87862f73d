#include "skein/node/data_copy.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "skein/archive/archive_copy.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/journal/backup.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/log_tools.hpp"
#include "skein/journal/segment_file.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/node/data_lock.hpp"
#include "skein/node/folder.hpp"

namespace skein::inline v0::node {
namespace {

namespace fs = std::filesystem;
using Copied = std::expected<DataCopy, std::string>;

std::string archive_in(const std::string& folder) { return folder + "/" + archive::k_archive_file; }

Copied copy_journal_alone(const std::string& from, const std::string& dest) {
  const auto image = journal::back_up_journal(journal::file_disk(), from, dest);
  if (!image) return std::unexpected(image.error().describe());
  return DataCopy{.dest = dest, .last = image->log.last};
}

Copied copy_parts(const std::string& from, const std::string& to) {
  auto copy = copy_journal_alone(journal_in(from), journal_in(to));
  if (!copy || !fs::exists(archive_in(from))) return copy;
  const auto archived = archive::copy_archive(archive_in(from), archive_in(to));
  if (!archived) return std::unexpected(archived.error().describe());
  copy->archived = *archived;
  copy->has_archive = true;
  return copy;
}

// To the ledger of that journal, what finished later has not happened.
std::expected<void, std::string> bring_in_step(const std::string& folder, DataCopy& copy) {
  ledger::Ledger ledger;
  const auto opened = journal::open_journal(journal_in(folder), ledger);
  if (!opened) return std::unexpected(opened.error().describe());
  if (!copy.has_archive) return {};
  {
    const auto store = archive::SqliteStore::open(archive_in(folder));
    if (!store) return std::unexpected(store.error().describe());
    const auto forgotten = (*store)->forget_after(ledger.counters().last_finished);
    if (!forgotten) return std::unexpected(forgotten.error().describe());
    copy.archived -= *forgotten;
    // It is another folder from here on.
    if (auto ok = (*store)->keep_note(archive::k_note_folder, ""); !ok) return std::unexpected(ok.error().describe());
  }
  const auto in_step = open_archive({.data = folder}, **opened, ledger);
  (*opened)->close();
  if (!in_step) return std::unexpected("the backup cannot be restored: " + in_step.error());
  return {};
}

Copied copy_data(const std::string& from, std::string dest, bool is_restore) {
  while (dest.size() > 1 && dest.back() == '/') dest.pop_back();
  auto& disk = journal::file_disk();
  if (!journal::is_journal(disk, journal_in(from))) return copy_journal_alone(from, dest);
  std::error_code error;
  if (fs::exists(dest) && !fs::is_empty(dest, error)) {
    return std::unexpected(fmt::format("{} exists already: name a new folder", dest));
  }
  const std::string unfinished = dest + ".unfinished";
  fs::remove_all(unfinished, error);
  const auto give_up = [&](const std::string& why) {
    fs::remove_all(unfinished, error);
    return std::unexpected(why);
  };
  fs::create_directories(unfinished, error);
  if (error) return std::unexpected(fmt::format("{} cannot be created: {}", unfinished, error.message()));
  fs::permissions(unfinished, fs::perms::owner_all, error);
  auto copy = copy_parts(from, unfinished);
  if (!copy) return give_up(copy.error());
  if (is_restore) {
    if (const auto ok = bring_in_step(unfinished, *copy); !ok) return give_up(ok.error());
  }
  if (const auto ok = journal::sync_folder(disk, unfinished); !ok) return give_up(ok.error().describe());
  fs::rename(unfinished, dest, error);
  if (error) return give_up(fmt::format("{} cannot be created: {}", dest, error.message()));
  const std::string parent = fs::absolute(dest).parent_path().string();
  if (const auto ok = journal::sync_folder(disk, parent); !ok) return std::unexpected(ok.error().describe());
  copy->dest = dest;
  return copy;
}

}  // namespace

std::string DataCopy::describe() const {
  const std::string text = fmt::format("{} holds everything up to position {}", dest, last);
  return has_archive ? fmt::format("{}, and {} archived tasks", text, archived) : text;
}

Copied back_up_data(const std::string& data, const std::string& dest) { return copy_data(data, dest, false); }

Copied restore_data(const std::string& backup, const std::string& dest) { return copy_data(backup, dest, true); }

}  // namespace skein::inline v0::node
