// Looking at a journal's folder from outside, without changing it: is it one, is it whole, what is in it.
//
// Free functions on one thread. On the folder of a running node they read what is there at the moment; a read that
// crosses a write is tried again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "skein/journal/disk.hpp"
#include "skein/journal/hard_state.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/snapshot_file.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

// True when the folder holds a segment or a snapshot.
[[nodiscard]] bool is_journal(Disk& disk, const std::string& dir);
// The error for a folder that is none.
[[nodiscard]] StoreError not_a_journal(const std::string& dir);

struct JournalImage {
  HardState hard;
  std::optional<SnapshotMeta> snapshot;
  std::uint64_t snapshot_bytes = 0;
  LogImage log;

  // For people, some lines.
  [[nodiscard]] std::string describe() const;
};

// Reads and checks everything: every checksum, the order of positions, and that nothing decided is missing.
[[nodiscard]] StoreResult<JournalImage> verify_journal(Disk& disk, const std::string& dir);

enum class DumpFormat { text, json };
// A line per entry from `from` on, to `line`, until it answers false. JSON: one object per line. An error when a
// running node drops entries before they are read.
[[nodiscard]] StoreResult<void> dump_journal(Disk& disk, const std::string& dir, DumpFormat format, Position from,
                                             const std::function<bool(std::string_view)>& line);

[[nodiscard]] std::string dump_line(const EntryView& entry, DumpFormat format);

// Shows what a skip of `position` would pass over, as dump_line does, and changes nothing. An error when it can't be
// skipped: it is in the snapshot already, not there, no command, or skipped before.
[[nodiscard]] StoreResult<std::string> show_skip(Disk& disk, const std::string& dir, Position position);
// Appends a skip entry for `position` to a closed journal, so that the next start passes over it. Answers where.
[[nodiscard]] StoreResult<Position> append_skip(Disk& disk, const std::string& dir, Position position);

}  // namespace skein::inline v0::journal
