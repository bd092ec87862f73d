#include "skein/node/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "skein/archive/rebuild.hpp"
#include "skein/base/crc32c.hpp"
#include "skein/base/fd.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/log_tools.hpp"
#include "skein/journal/segment_file.hpp"
#include "skein/node/data_lock.hpp"

namespace skein::inline v0::node {
namespace {

namespace fs = std::filesystem;
using archive::ArchiveSide;
using archive::Discord;
using archive::LedgerSide;
using archive::SqliteStore;

constexpr std::string_view k_heading = "skein data folder 1";
constexpr std::size_t k_id_bytes = 16;
constexpr std::size_t k_record_max = 4096;
constexpr std::chrono::seconds k_append_wait{30};

std::string archive_in(const std::string& data) { return data + "/" + archive::k_archive_file; }

std::string body_of(const FolderRecord& record) {
  return fmt::format("{}\nid {}\narchive {}\n", k_heading, record.id, record.keeps_archive ? "kept" : "none");
}

std::string text_of(const FolderRecord& record) {
  const std::string body = body_of(record);
  return fmt::format("{}checksum {:08x}\n", body, crc32c(body));
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) || error;
}

std::string words(const Discord& discord, const std::string& data) {
  return discord.describe(data) + ": " + discord.advice(data);
}

std::unexpected<std::string> archive_error(const archive::ArchiveError& error) {
  return std::unexpected(error.describe());
}

LedgerSide ledger_side(journal::Journal& journal, ledger::Ledger& ledger) {
  LedgerSide side;
  journal::visit(journal, [&](journal::Outcome) {
    const auto counters = ledger.counters();
    side.archived_up_to = counters.archived_up_to;
    side.last_finished = counters.last_finished;
  });
  side.position = journal.status().applied;
  return side;
}

std::expected<ArchiveSide, std::string> archive_side(archive::Store& store) {
  ArchiveSide side;
  const auto marks = store.marks();
  if (!marks) return archive_error(marks.error());
  side.marks = *marks;
  side.counted = marks->rows;
  if (marks->rows <= k_counted_at_start) {
    const auto count = store.count();
    if (!count) return archive_error(count.error());
    side.counted = *count;
  }
  if (marks->rows <= k_verified_at_start) {
    const auto checked = store.verify(0, k_verified_at_start);
    if (!checked) return archive_error(checked.error());
    side.damaged = checked->damaged;
  }
  const auto folder = store.note(archive::k_note_folder);
  if (!folder) return archive_error(folder.error());
  side.folder = *folder;
  const auto position = store.note(archive::k_note_position);
  if (!position) return archive_error(position.error());
  std::from_chars(position->data(), position->data() + position->size(), side.position);
  return side;
}

// One start: what was found, and what became of it.
class Opening {
 public:
  Opening(const FolderStart& start, journal::Journal& journal, ledger::Ledger& ledger)
      : start_(start),
        journal_(journal),
        ledger_(ledger),
        root_(read_folder_record(start.data)),
        beside_journal_(read_folder_record(journal_in(start.data))) {}

  std::expected<OpenedArchive, std::string> run() {
    side_ = ledger_side(journal_, ledger_);
    side_.folder = beside_journal_ ? beside_journal_->id : root_ ? root_->id : std::string();
    if (start_.keeps_archive) {
      if (auto ok = open(); !ok) return std::unexpected(ok.error());
    }
    if (auto ok = sign(); !ok) return std::unexpected(ok.error());
    return std::move(opened_);
  }

 private:
  using Done = std::expected<void, std::string>;

  [[nodiscard]] bool was_kept() const { return !root_ || root_->keeps_archive; }

  Done open() {
    const std::string file = archive_in(start_.data);
    if (!is_there(file)) {
      ArchiveSide none;
      none.is_there = false;
      none.was_kept = was_kept();
      const auto discord = archive::compare(side_, none);
      if (discord && !start_.accept_loss) return std::unexpected(words(*discord, start_.data));
      if (auto ok = open_file(file); !ok) return ok;
      if (discord) return accept(*discord);
      return skip();
    }
    if (auto ok = open_file(file); !ok) return ok;
    auto there = archive_side(*opened_.store);
    if (!there) return std::unexpected(there.error());
    there->was_kept = was_kept();
    for (const auto& [number, what] : there->damaged) {
      opened_.warnings.push_back(archive::damaged_record(file, number, what).describe());
    }
    const auto discord = archive::compare(side_, *there);
    if (!discord) return skip();
    if (!start_.accept_loss) {
      opened_.store.reset();
      return std::unexpected(words(*discord, start_.data));
    }
    if (discord->kind == Discord::Kind::archive_foreign) {
      opened_.store.reset();
      const auto aside = archive::put_archive_aside(file, ".foreign");
      if (!aside) return archive_error(aside.error());
      opened_.warnings.push_back(fmt::format("the archive of another folder is kept as {}", *aside));
      if (auto ok = open_file(file); !ok) return ok;
    }
    return accept(*discord);
  }

  Done open_file(const std::string& file) {
    const auto restored = archive::SealCopy::restore(file);
    if (!restored) return archive_error(restored.error());
    if (*restored) {
      opened_.warnings.push_back(
          fmt::format("the log of {} was lost or damaged while it was taken into the file; a copy replaced it", file));
    }
    auto store = SqliteStore::open(file);
    if (!store) return archive_error(store.error());
    if (auto ok = (*store)->keep_log_copies(); !ok) return archive_error(ok.error());
    opened_.store = std::move(*store);
    return {};
  }

  // While there was no archive, tasks were dropped without one.
  Done skip() {
    if (was_kept()) return {};
    if (auto ok = opened_.store->skip_to(side_.archived_up_to); !ok) return archive_error(ok.error());
    return {};
  }

  Done accept(const Discord& discord) {
    if (discord.kind == Discord::Kind::journal_behind) {
      if (auto ok = bring_journal_in_step(journal_, ledger_, *opened_.store); !ok) return ok;
    }
    if (auto ok = opened_.store->record_loss(discord.loss(start_.now)); !ok) return archive_error(ok.error());
    opened_.warnings.push_back("accepted with --accept-loss: " + discord.describe(start_.data));
    return {};
  }

  // The folder's id goes to all its parts.
  Done sign() {
    FolderRecord record = new_folder_record();
    std::string in_archive;
    if (opened_.store) in_archive = opened_.store->note(archive::k_note_folder).value_or(std::string());
    // What the journal and the archive say counts more than the file beside them.
    const std::string known[] = {in_archive, side_.folder};
    for (const std::string& id : known) {
      if (id.empty()) continue;
      record.id = id;
      break;
    }
    record.keeps_archive = start_.keeps_archive;
    if (opened_.store && in_archive != record.id) {
      if (auto ok = opened_.store->keep_note(archive::k_note_folder, record.id); !ok) return archive_error(ok.error());
    }
    if (opened_.store) {
      if (auto ok = opened_.store->seal(); !ok && ok.error().kind != archive::ArchiveError::Kind::busy) {
        return archive_error(ok.error());
      }
    }
    const bool was_signed = !in_archive.empty();
    if (was_signed && (!root_ || !beside_journal_)) {
      opened_.warnings.push_back(
          fmt::format("the file '{}' of the data folder was missing or damaged, and is written "
                      "again: journal and archive agree",
                      k_folder_file));
    }
    for (const std::string& folder : {journal_in(start_.data), start_.data}) {
      const auto& there = folder == start_.data ? root_ : beside_journal_;
      if (there && *there == record) continue;
      if (auto ok = write_folder_record(folder, record); !ok) return ok;
    }
    return {};
  }

  const FolderStart& start_;
  journal::Journal& journal_;
  ledger::Ledger& ledger_;
  std::optional<FolderRecord> root_;
  std::optional<FolderRecord> beside_journal_;
  LedgerSide side_;
  OpenedArchive opened_;
};

}  // namespace

std::optional<FolderRecord> read_folder_record(const std::string& folder) {
  std::ifstream file(folder + "/" + k_folder_file, std::ios::binary);
  std::string text(k_record_max, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  for (const bool keeps_archive : {true, false}) {
    const std::size_t at = k_heading.size() + 4;  // after "\nid "
    if (text.size() < at + 2 * k_id_bytes) return std::nullopt;
    FolderRecord record{text.substr(at, 2 * k_id_bytes), keeps_archive};
    if (text == text_of(record)) return record;
  }
  return std::nullopt;
}

std::expected<void, std::string> write_folder_record(const std::string& folder, const FolderRecord& record) {
  const std::string path = folder + "/" + k_folder_file;
  const std::string fresh = path + ".new";
  const auto fault = [&](const char* what) {
    return std::unexpected(fmt::format("{} cannot be {}: {}", fresh, what, std::strerror(errno)));
  };
  ::unlink(fresh.c_str());
  {
    const Fd made(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!made) return fault("made");
    const std::string text = text_of(record);
    const bool is_written = ::write(made.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!is_written || ::fsync(made.get()) != 0) return fault("written");
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return fault("given its name");
  if (const auto synced = journal::sync_folder(journal::file_disk(), folder); !synced) {
    return std::unexpected(synced.error().describe());
  }
  return {};
}

FolderRecord new_folder_record() {
  std::array<unsigned char, k_id_bytes> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    std::random_device device;
    for (auto& each : random) each = static_cast<unsigned char>(device());
  }
  FolderRecord record;
  for (const unsigned char each : random) record.id += fmt::format("{:02x}", each);
  return record;
}

std::optional<std::string> missing_part(const std::string& data) {
  const std::string journal = journal_in(data);
  if (journal::is_journal(journal::file_disk(), journal)) return std::nullopt;
  const std::string file = archive_in(data);
  const bool has_archive = is_there(file);
  const auto record = read_folder_record(data);
  if (!has_archive && !is_there(data + "/" + k_folder_file)) return std::nullopt;
  std::string text = fmt::format(
      "the journal {} is missing, and this folder was used before: the tasks that were open "
      "are in it",
      journal);
  if (has_archive) {
    const auto db = archive::Database::open(file, archive::Database::Mode::read, archive::k_busy_ms);
    const auto count = db ? db->number("SELECT count(*) FROM tasks") : std::unexpected(db.error());
    if (count) text += fmt::format("; the archive has the results of {} finished tasks", *count);
  }
  Discord discord;
  discord.kind = Discord::Kind::journal_behind;
  return text + ": " + discord.advice(data);
}

std::expected<OpenedArchive, std::string> open_archive(const FolderStart& start, journal::Journal& journal,
                                                       ledger::Ledger& ledger) {
  return Opening(start, journal, ledger).run();
}

std::expected<void, std::string> bring_journal_in_step(journal::Journal& journal, ledger::Ledger& ledger,
                                                       archive::Store& store) {
  std::vector<archive::Finished> finished;
  journal::visit(journal, [&](journal::Outcome) {
    finished = ledger.finished_after(ledger.counters().archived_up_to, static_cast<std::size_t>(-1));
  });
  if (auto ok = store.insert(finished); !ok) return archive_error(ok.error());
  const auto sealed = store.seal();
  if (!sealed) return archive_error(sealed.error());
  const auto ops = archive::numbers_above(*sealed);
  std::random_device device;
  journal::Batch batch;
  batch.push_back({{(std::uint64_t{device()} << 32U) | device(), (std::uint64_t{device()} << 32U) | device()},
                   ledger::encode_command(ops)});
  const auto answer = journal::append_and_wait(journal, std::move(batch), k_append_wait, journal::Urgency::completion);
  if (answer.outcome != journal::Outcome::applied) {
    return std::unexpected(fmt::format("the journal does not take the archive's numbers: {} {}",
                                       journal::name_of(answer.outcome), answer.why));
  }
  const auto noted = store.keep_note(archive::k_note_position, std::to_string(journal.status().applied));
  if (!noted) return archive_error(noted.error());
  return {};
}

}  // namespace skein::inline v0::node
