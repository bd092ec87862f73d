#include "skein/archive/agreement.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace skein::inline v0::archive {
namespace {

using Kind = Discord::Kind;

std::string time_text(ledger::WallMs at) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(at / 1000)));
}

std::string how_many(std::uint64_t count) {
  return count == 1 ? std::string("1 finished task") : fmt::format("{} finished tasks", count);
}

std::string since(const Discord& discord) {
  return discord.newest == 0 ? std::string(" (none is left)")
                             : fmt::format(" (those that finished after {})", time_text(discord.newest));
}

}  // namespace

std::optional<Discord> compare(const LedgerSide& ledger, const ArchiveSide& archive) {
  const Marks& marks = archive.marks;
  Discord discord{.from = 1, .to = ledger.archived_up_to, .count = ledger.archived_up_to, .newest = marks.newest};
  if (!archive.is_there) {
    if (!archive.was_kept || ledger.archived_up_to == 0) return std::nullopt;
    discord.kind = Kind::archive_missing;
    return discord;
  }
  if (!archive.folder.empty() && !ledger.folder.empty() && archive.folder != ledger.folder) {
    discord.kind = Kind::archive_foreign;
    return discord;
  }
  if (marks.last < ledger.archived_up_to && archive.was_kept) {
    discord.kind = Kind::archive_behind;
    discord.from = marks.last + 1;
    discord.count = ledger.archived_up_to - marks.last;
    return discord;
  }
  if (marks.last > ledger.last_finished || archive.position > ledger.position) {
    discord.kind = Kind::journal_behind;
    discord.from = ledger.last_finished + 1;
    discord.to = std::max(marks.last, ledger.last_finished);
    discord.count = discord.to - ledger.last_finished;
    discord.position = archive.position;
    discord.last_position = ledger.position;
    return discord;
  }
  const std::uint64_t accounted = archive.counted + marks.removed + marks.lost;
  if (accounted != marks.last || archive.counted != marks.rows) {
    discord.kind = Kind::archive_holes;
    discord.to = marks.last;
    discord.count = accounted < marks.last ? marks.last - accounted : 0;
    return discord;
  }
  return std::nullopt;
}

std::vector<ledger::Op> numbers_above(ledger::FinishNumber last) {
  return {ledger::LedgerVersion{ledger::k_sound_version}, ledger::Archived{last}};
}

std::string Discord::describe(const std::string& data) const {
  const std::string file = data + "/archive.sqlite";
  switch (kind) {
    case Kind::archive_missing:
      return fmt::format("the archive {} is missing: it had the results of {}, finish numbers {} to {}", file,
                         how_many(count), from, to);
    case Kind::archive_foreign:
      return fmt::format(
          "the archive {} belongs to another data folder than the journal {}/journal: the results of {}, finish "
          "numbers "
          "{} to {}, are not in it",
          file, data, how_many(count), from, to);
    case Kind::archive_behind:
      return fmt::format(
          "the archive {} is older than the journal: the results of {}, finish numbers {} to {}, are "
          "missing{}",
          file, how_many(count), from, to, since(*this));
    case Kind::archive_holes:
      return fmt::format("the archive {} lacks the results of {} among finish numbers {} to {}", file, how_many(count),
                         from, to);
    case Kind::journal_behind:
      break;
  }
  std::string text = fmt::format("the journal {}/journal is missing or older than the archive {}: ", data, file);
  if (count > 0) {
    text += fmt::format("the archive has {}, finish numbers {} to {}, that the journal does not know", how_many(count),
                        from, to);
  } else {
    text += fmt::format("the archive saw it at position {}, it ends at {}", position, last_position);
  }
  return text + "; tasks that were open are lost with it";
}

std::string Discord::advice(const std::string& data) const {
  if (kind == Kind::journal_behind) {
    return fmt::format(
        "put the journal back (is a disk not mounted?), or go back to a backup with 'skein restore BACKUP NEW-FOLDER'; "
        "'skein up --accept-loss --data {}' goes on without what is lost and records that, and keeps the archive's "
        "results",
        data);
  }
  return fmt::format(
      "put the file back, or run 'skein archive rebuild --data {0}', which takes what can be read of it and of the "
      "journal, or go back to a backup with 'skein restore BACKUP NEW-FOLDER'; 'skein up --accept-loss --data {0}' "
      "goes "
      "on without what is lost and records that",
      data);
}

Loss Discord::loss(ledger::WallMs at) const {
  static constexpr const char* k_why[] = {"the archive was missing", "the archive belonged to another folder",
                                          "the archive was older than the journal", "the archive had holes",
                                          "the journal was missing or older than the archive"};
  // What the journal did not know is in the archive: nothing of that is lost.
  const std::uint64_t lost = kind == Kind::journal_behind ? 0 : count;
  return {at, from, to, lost, k_why[static_cast<std::size_t>(kind)]};
}

}  // namespace skein::inline v0::archive
