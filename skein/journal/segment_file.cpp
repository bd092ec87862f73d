#include "skein/journal/segment_file.hpp"

#include <algorithm>
#include <utility>

namespace skein::inline v0::journal {
namespace {

constexpr std::uint64_t k_zero_chunk_bytes = 1U << 20U;

StoreResult<void> fill_segment(Disk& disk, const std::string& path, SegmentHeader header, const MoreEntries& more,
                               BuiltSegment& built) {
  if (auto ok = write_zeros(disk, path, header.nominal_bytes); !ok) return ok;
  auto file = disk.open(path, Disk::Mode::write);
  if (!file) return disk_failed(file.error(), path);
  std::string bytes;
  Position last = header.first_position - 1;
  while (true) {
    const auto entries = more();
    if (!entries) return std::unexpected(entries.error());
    if (entries->empty()) break;
    bytes.clear();
    encode_batch(bytes, header, built.end_offset, header.first_position - 1, *entries);
    if (auto ok = (*file)->write_at(built.end_offset, bytes); !ok) return disk_failed(ok.error(), path);
    built.batches.push_back({built.end_offset, entries->front().position, static_cast<std::uint32_t>(entries->size()),
                             static_cast<std::uint32_t>(bytes.size())});
    built.end_offset += bytes.size();
    last = entries->back().position;
  }
  header.nominal_bytes = std::max(header.nominal_bytes, built.end_offset);
  built.header = header;
  built.mark = {1, built.end_offset, last, 0};
  // The file has no name yet that anyone reads, so the mark may go out together with what it vouches for.
  std::string block = encode_header(header);
  block.replace(mark_slot_offset(built.mark.sequence), k_sector_bytes, encode_mark(header.id, built.mark));
  if (auto ok = (*file)->write_at(0, block); !ok) return disk_failed(ok.error(), path);
  if (auto ok = (*file)->sync(); !ok) return disk_failed(ok.error(), path);
  return {};
}

}  // namespace

std::string spare_name(std::uint64_t number) { return numbered_name("spare-", number, ".log"); }

StoreResult<void> sync_folder(Disk& disk, const std::string& dir) {
  auto ok = disk.sync_dir(dir);
  if (ok) return {};
  auto error = from_disk(ok.error(), dir);
  // Without a descriptor the sync did not begin, so no name was dropped.
  if (ok.error().code != DiskError::Code::no_descriptors) error.kind = StoreError::Kind::io;
  return std::unexpected(std::move(error));
}

StoreResult<void> write_zeros(Disk& disk, const std::string& path, std::uint64_t bytes) {
  auto file = disk.open(path, Disk::Mode::create);
  if (!file) return disk_failed(file.error(), path);
  const std::string zeros(std::min(bytes, k_zero_chunk_bytes), '\0');
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
    const auto n = std::min<std::uint64_t>(zeros.size(), bytes - at);
    if (auto ok = (*file)->write_at(at, std::string_view(zeros).substr(0, n)); !ok)
      return disk_failed(ok.error(), path);
  }
  if (auto ok = (*file)->sync(); !ok) return disk_failed(ok.error(), path);
  return {};
}

StoreResult<Spare> run(Disk& disk, const SpareJob& job) {
  const std::string path = path_in(job.dir, spare_name(job.number));
  const std::string unfinished = path + ".tmp";
  if (auto ok = write_zeros(disk, unfinished, job.bytes); !ok) {
    // What room the attempt took is needed elsewhere.
    try_remove(disk, unfinished);
    return std::unexpected(ok.error());
  }
  if (auto ok = disk.rename(unfinished, path); !ok) return disk_failed(ok.error(), path);
  if (auto ok = sync_folder(disk, job.dir); !ok) return std::unexpected(ok.error());
  return Spare{path, job.bytes};
}

StoreResult<std::vector<Spare>> run(Disk& disk, const DiscardJob& job) {
  std::vector<Spare> spares;
  for (const auto& segment : job.segments) {
    if (spares.size() < job.recycle) {
      Spare spare{path_in(job.dir, spare_name(job.number + spares.size())), segment.bytes};
      if (auto ok = disk.rename(segment.path, spare.path); !ok) return disk_failed(ok.error(), segment.path);
      spares.push_back(std::move(spare));
    } else if (auto ok = disk.remove(segment.path); !ok) {
      return disk_failed(ok.error(), segment.path);
    }
  }
  if (auto ok = sync_folder(disk, job.dir); !ok) return std::unexpected(ok.error());
  return spares;
}

StoreResult<BuiltSegment> build_segment(Disk& disk, const std::string& dir, const SegmentHeader& header,
                                        const MoreEntries& more) {
  BuiltSegment built;
  built.path = path_in(dir, segment_name(header.id));
  const std::string unfinished = built.path + ".tmp";
  if (auto ok = fill_segment(disk, unfinished, header, more, built); !ok) {
    try_remove(disk, unfinished);
    return std::unexpected(ok.error());
  }
  if (auto ok = disk.rename(unfinished, built.path); !ok) return disk_failed(ok.error(), built.path);
  if (auto ok = sync_folder(disk, dir); !ok) return std::unexpected(ok.error());
  return built;
}

}  // namespace skein::inline v0::journal
