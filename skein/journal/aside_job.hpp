// Work that may take long and runs beside a journal's own: preparing and discarding segments, writing a snapshot,
// chunks of snapshots on their way to another member or from one. On any thread; chunks of one snapshot come in their
// order, since the next is asked for when the last is done.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "skein/consensus/message.hpp"
#include "skein/consensus/ready.hpp"
#include "skein/journal/segment_file.hpp"
#include "skein/journal/snapshot_file.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

struct SnapshotJob {
  std::string dir;
  FrozenState state;
};
struct ReadChunkJob {
  std::string dir;
  consensus::ChunkWanted wanted;
};
struct WriteChunkJob {
  std::string dir;
  std::shared_ptr<const consensus::SnapshotChunk> chunk;
};
using AsideJob = std::variant<SpareJob, SnapshotJob, DiscardJob, ReadChunkJob, WriteChunkJob>;

struct SnapshotWritten {
  SnapshotMeta meta;
  StoreResult<SnapshotInfo> result;
};
struct ChunkRead {
  consensus::ChunkWanted wanted;
  StoreResult<consensus::SnapshotChunk> chunk;
};
struct ChunkWritten {
  std::shared_ptr<const consensus::SnapshotChunk> chunk;
  StoreResult<consensus::ChunkResult> result;
};
using AsideResult =
    std::variant<StoreResult<Spare>, SnapshotWritten, StoreResult<std::vector<Spare>>, ChunkRead, ChunkWritten>;

// Does a job. The disk is the one that the job's folder is opened on.
[[nodiscard]] AsideResult run_aside(Disk& disk, const AsideJob& job);

// What went wrong with a job; nothing when all went well.
[[nodiscard]] const StoreError* error_of(const AsideResult& result);

// The name of a snapshot that comes in from another member, until it is installed.
[[nodiscard]] std::string incoming_name(Position position);
inline constexpr const char* k_incoming_prefix = "incoming-";

}  // namespace skein::inline v0::journal
