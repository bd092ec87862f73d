#include "skein/journal/aside_job.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "skein/journal/log_format.hpp"

namespace skein::inline v0::journal {

namespace {

StoreResult<consensus::SnapshotChunk> read_chunk(Disk& disk, const std::string& dir,
                                                 const consensus::ChunkWanted& wanted) {
  const std::string path = path_in(dir, snapshot_name(wanted.offer.position));
  auto file = disk.open(path, Disk::Mode::read);
  if (!file) return disk_failed(file.error(), path);
  const auto size = (*file)->size();
  if (!size) return disk_failed(size.error(), path);
  if (*size != wanted.offer.total_bytes || wanted.offset > *size) {
    return std::unexpected(corrupt(path, wanted.offset, "not the snapshot that was offered"));
  }
  const auto bytes = std::make_shared<std::string>();
  bytes->resize(std::min(wanted.max_bytes, *size - wanted.offset));
  const auto got = (*file)->read_at(wanted.offset, *bytes);
  if (!got) return disk_failed(got.error(), path);
  if (*got != bytes->size()) return std::unexpected(corrupt(path, wanted.offset + *got, "the snapshot ends here"));
  return consensus::SnapshotChunk{wanted.offer, wanted.offset, *bytes, bytes};
}

StoreResult<consensus::ChunkResult> write_chunk(Disk& disk, const std::string& dir,
                                                const consensus::SnapshotChunk& chunk) {
  const std::string path = path_in(dir, incoming_name(chunk.offer.position));
  auto file = disk.open(path, chunk.offset == 0 ? Disk::Mode::create : Disk::Mode::write);
  if (!file) return disk_failed(file.error(), path);
  if (auto ok = (*file)->write_at(chunk.offset, chunk.bytes); !ok) return disk_failed(ok.error(), path);
  if (!chunk.is_last()) return consensus::ChunkResult::written;
  if (auto ok = (*file)->sync(); !ok) return disk_failed(ok.error(), path);
  const auto loaded = load_snapshot(disk, path);
  const auto& offer = chunk.offer;
  const bool is_right = loaded && loaded->meta.position == offer.position && loaded->meta.term == offer.term &&
                        loaded->meta.membership == offer.membership.encode();
  if (!is_right) {
    try_remove(disk, path);
    return consensus::ChunkResult::refused;
  }
  if (auto ok = sync_folder(disk, dir); !ok) return std::unexpected(ok.error());
  return consensus::ChunkResult::complete;
}

// A machine that can't write its frozen state costs this snapshot and nothing else.
StoreResult<SnapshotInfo> write_job(Disk& disk, const SnapshotJob& job) {
  StoreResult<SnapshotInfo> info;
  try {
    info = write_snapshot(disk, job.dir, job.state);
  } catch (const std::exception& error) {
    info = std::unexpected(StoreError{StoreError::Kind::machine, {}, 0, error.what()});
    try_remove(disk, path_in(job.dir, snapshot_name(job.state.meta.position)) + ".tmp");
  }
  if (info) remove_old_snapshots(disk, job.dir, info->position);
  return info;
}

struct Run {
  Disk& disk;

  AsideResult operator()(const SpareJob& job) const { return run(disk, job); }
  AsideResult operator()(const DiscardJob& job) const { return run(disk, job); }
  AsideResult operator()(const SnapshotJob& job) const { return SnapshotWritten{job.state.meta, write_job(disk, job)}; }
  AsideResult operator()(const ReadChunkJob& job) const {
    return ChunkRead{job.wanted, read_chunk(disk, job.dir, job.wanted)};
  }
  AsideResult operator()(const WriteChunkJob& job) const {
    return ChunkWritten{job.chunk, write_chunk(disk, job.dir, *job.chunk)};
  }
};

}  // namespace

AsideResult run_aside(Disk& disk, const AsideJob& job) { return std::visit(Run{disk}, job); }

namespace {

struct ErrorOf {
  template <class T>
  const StoreError* operator()(const StoreResult<T>& result) const {
    return result ? nullptr : &result.error();
  }
  const StoreError* operator()(const SnapshotWritten& written) const { return (*this)(written.result); }
  const StoreError* operator()(const ChunkRead& read) const { return (*this)(read.chunk); }
  const StoreError* operator()(const ChunkWritten& written) const { return (*this)(written.result); }
};

}  // namespace

const StoreError* error_of(const AsideResult& result) { return std::visit(ErrorOf{}, result); }

std::string incoming_name(Position position) { return numbered_name(k_incoming_prefix, position, ".snap"); }

}  // namespace skein::inline v0::journal
