// Snapshots on disk: snap-<position as 16 hex digits>.snap, written aside, synced, renamed, folder synced. All of it or
// nothing, and a SHA-256 at the end over every byte before it.
//
// write_snapshot may run on any thread beside the log; it touches only its own files. Same state, same bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "skein/journal/disk.hpp"
#include "skein/journal/entry.hpp"
#include "skein/journal/log_config.hpp"
#include "skein/journal/machine.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

struct SnapshotMeta {
  Position position = 0;  // of the last entry in it
  Term term = 0;          // of that entry
  std::string membership;
  IdLimits ids;
  ClusterId cluster = 0;  // 0: the log had no configuration yet; such a snapshot is written as version 1
};

struct FrozenState {
  SnapshotMeta meta;
  std::shared_ptr<const Frozen> body;
};

struct SnapshotInfo {
  Position position = 0;
  std::uint64_t bytes = 0;
  std::string path;
};

struct LoadedSnapshot {
  SnapshotMeta meta;
  std::string file;
  std::size_t body_at = 0;
  std::size_t body_bytes = 0;

  [[nodiscard]] std::string_view body() const { return std::string_view(file).substr(body_at, body_bytes); }
};

[[nodiscard]] std::string snapshot_name(Position position);
[[nodiscard]] std::optional<Position> parse_snapshot_name(std::string_view name);

[[nodiscard]] StoreResult<SnapshotInfo> write_snapshot(Disk& disk, const std::string& dir, const FrozenState& state);
// Reads and checks one file.
[[nodiscard]] StoreResult<LoadedSnapshot> load_snapshot(Disk& disk, const std::string& path);
// The snapshot with the highest position; nothing when there is none. A damaged one is corruption, even beside an older
// one: the log before it may be gone.
[[nodiscard]] StoreResult<std::optional<LoadedSnapshot>> newest_snapshot(Disk& disk, const std::string& dir);
// Removes unfinished snapshots and those older than `keep`. What can't be removed is left for the next time.
void remove_old_snapshots(Disk& disk, const std::string& dir, Position keep);

}  // namespace skein::inline v0::journal
