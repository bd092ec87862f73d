#include "skein/journal/log_tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "skein/journal/log_store.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr int k_tries_while_running = 5;
constexpr std::size_t k_preview_bytes = 64;

StoreResult<JournalImage> verify_once(Disk& disk, const std::string& dir) {
  JournalImage image;
  const auto hard = load_hard_state(disk, dir);
  if (!hard) return std::unexpected(hard.error());
  image.hard = hard->value_or(HardState{.term = 1});
  const auto snapshot = newest_snapshot(disk, dir);
  if (!snapshot) return std::unexpected(snapshot.error());
  if (*snapshot) {
    image.snapshot = (*snapshot)->meta;
    image.snapshot_bytes = (*snapshot)->file.size();
  }
  auto log = scan_log(disk, dir, image.snapshot ? image.snapshot->position : 0);
  if (!log) return std::unexpected(log.error());
  image.log = std::move(*log);
  if (auto ok = check_decided(dir, *hard, image.log); !ok) return std::unexpected(ok.error());
  return image;
}

bool printable(char c) { return c >= 0x20 && c < 0x7f; }

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string preview(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, k_preview_bytes)) out.push_back(printable(c) ? c : '.');
  if (bytes.size() > k_preview_bytes) out += "...";
  return out;
}

}  // namespace

bool is_journal(Disk& disk, const std::string& dir) {
  const auto names = disk.list(dir);
  return names && std::ranges::any_of(*names, [](const std::string& name) {
           return parse_segment_name(name) || parse_snapshot_name(name);
         });
}

StoreError not_a_journal(const std::string& dir) {
  return {StoreError::Kind::not_a_journal, dir, 0, fmt::format("{} is not a journal", dir)};
}

std::string JournalImage::describe() const {
  std::string out = snapshot ? fmt::format("snapshot  at position {}, {} bytes\n", snapshot->position, snapshot_bytes)
                             : std::string("snapshot  none\n");
  const Position first = log.segments.empty() ? 0 : log.segments.front().header.first_position;
  out += fmt::format("log       positions {} to {} in {} segments, known to be synced up to {}\n", first, log.last,
                     log.segments.size(), log.durable);
  out += fmt::format("term      {}\n", std::max(hard.term, log.last_term));
  out += log.clean ? "end       marked: the log was closed, or is idle\n"
                   : "end       not marked: the log is being written, or was not closed\n";
  if (log.cut_bytes > 0)
    out += fmt::format("tail      {} bytes of an unfinished write are passed over\n", log.cut_bytes);
  return out;
}

namespace {

bool is_running(Disk& disk, const std::string& dir) {
  const auto lock = disk.lock(dir);
  return !lock && lock.error().code == DiskError::Code::busy;
}

std::unexpected<StoreError> dropped_meanwhile(const std::string& dir, Position first, Position last) {
  return std::unexpected(StoreError{
      StoreError::Kind::stopped, dir, 0,
      fmt::format("{}: the running node took a snapshot and dropped positions {} to {} before they were read: make a "
                  "backup and look at that",
                  dir, first, last)});
}

}  // namespace

StoreResult<JournalImage> verify_journal(Disk& disk, const std::string& dir) {
  if (!is_journal(disk, dir)) return std::unexpected(not_a_journal(dir));
  // While nobody writes, the lock keeps it so.
  const auto lock = disk.lock(dir);
  const bool running = !lock && lock.error().code == DiskError::Code::busy;
  auto image = verify_once(disk, dir);
  for (int i = 1; i < k_tries_while_running && running && !image; ++i) image = verify_once(disk, dir);
  return image;
}

std::string dump_line(const EntryView& entry, DumpFormat format) {
  if (format == DumpFormat::text) {
    return fmt::format("{} term {} {} {:016x}{:016x} {} bytes {}", entry.position, entry.term, name_of(entry.kind),
                       entry.id.high, entry.id.low, entry.bytes.size(), preview(entry.bytes));
  }
  return fmt::format(R"({{"position":{},"term":{},"kind":"{}","id":"{:016x}{:016x}","bytes":{},"hex":"{}"}})",
                     entry.position, entry.term, name_of(entry.kind), entry.id.high, entry.id.low, entry.bytes.size(),
                     hex(entry.bytes));
}

StoreResult<void> dump_journal(Disk& disk, const std::string& dir, DumpFormat format, Position from,
                               const std::function<bool(std::string_view)>& line) {
  Position next = from;
  // Files of a running node go away while they are read; what is left of them then is gone on with.
  for (int tries = 0;; ++tries) {
    const auto image = verify_journal(disk, dir);
    if (!image) return std::unexpected(image.error());
    const Position first = image->log.segments.empty() ? next : image->log.segments.front().header.first_position;
    if (next > from && first > next) return dropped_meanwhile(dir, next, first - 1);
    const Position begun_at = next;
    const auto ok = read_entries(disk, image->log.segments, next, [&](const EntryView& entry) {
      next = entry.position + 1;
      return line(dump_line(entry, format));
    });
    if (ok || !is_running(disk, dir)) return ok;
    if (next > begun_at) tries = 0;
    if (tries >= k_tries_while_running) return ok;
  }
}

namespace {

std::unexpected<StoreError> can_not_skip(const std::string& dir, Position position, const std::string& why) {
  return std::unexpected(
      StoreError{StoreError::Kind::stopped, dir, 0, fmt::format("position {} can't be skipped: {}", position, why)});
}

StoreResult<std::string> check_skip(Disk& disk, const std::string& dir, const JournalImage& image, Position position) {
  const Position snapshot = image.snapshot ? image.snapshot->position : 0;
  if (position <= snapshot || position > image.log.last) {
    return can_not_skip(
        dir, position,
        fmt::format("the log that is still to be applied goes from {} to {}", snapshot + 1, image.log.last));
  }
  if (image.log.is_skipped(position)) return can_not_skip(dir, position, "it is skipped already");
  std::string line;
  bool is_command = false;
  const auto ok = read_entries(disk, image.log.segments, position, [&](const EntryView& entry) {
    line = dump_line(entry, DumpFormat::text);
    is_command = entry.kind == EntryKind::command;
    return false;
  });
  if (!ok) return std::unexpected(ok.error());
  if (!is_command)
    return can_not_skip(dir, position, fmt::format("only commands are applied, and this is none: {}", line));
  return line;
}

}  // namespace

StoreResult<std::string> show_skip(Disk& disk, const std::string& dir, Position position) {
  const auto image = verify_journal(disk, dir);
  if (!image) return std::unexpected(image.error());
  return check_skip(disk, dir, *image, position);
}

StoreResult<Position> append_skip(Disk& disk, const std::string& dir, Position position) {
  if (!is_journal(disk, dir)) return std::unexpected(not_a_journal(dir));
  const auto lock = disk.lock(dir);
  if (!lock) return disk_failed(lock.error(), dir);
  const auto image = verify_once(disk, dir);
  if (!image) return std::unexpected(image.error());
  if (auto line = check_skip(disk, dir, *image, position); !line) return std::unexpected(line.error());
  const Position snapshot = image->snapshot ? image->snapshot->position : 0;
  auto store = LogStore::open(disk, dir, {}, snapshot);
  if (!store) return std::unexpected(store.error());
  const std::string bytes = encode_skip(position);
  const EntryView skip{(*store)->next_position(),
                       std::max({image->hard.term, (*store)->last_term(), Term{1}}),
                       EntryKind::skip,
                       {},
                       bytes};
  if (auto ok = (*store)->append({&skip, 1}); !ok) return std::unexpected(ok.error());
  if (auto ok = (*store)->mark_idle(); !ok) return std::unexpected(ok.error());
  return skip.position;
}

}  // namespace skein::inline v0::journal
