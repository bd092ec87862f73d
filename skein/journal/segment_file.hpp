// Making, naming and discarding segment files: the steps that touch whole files, so that they can run on a thread of
// their own beside the log store. Free functions; they share nothing with the store.
//
// Spares are segments prepared ahead: spare-<n>.log, of full size and written once, because overwriting written blocks
// syncs in half the time of growing a file. Names ending in .tmp are unfinished and removed at open.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "skein/journal/disk.hpp"
#include "skein/journal/log_format.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

struct Spare {
  std::string path;
  std::uint64_t bytes = 0;
};

struct SpareJob {
  std::string dir;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};

// Segments that no longer count: the first `recycle` become spares, the others are removed.
struct DiscardJob {
  std::string dir;
  std::vector<Spare> segments;
  std::size_t recycle = 0;
  std::uint64_t number = 0;  // of the first spare
};

[[nodiscard]] std::string spare_name(std::uint64_t number);

// Writes `bytes` zeros to a new file and syncs it. The name is not safe before the folder is synced.
[[nodiscard]] StoreResult<void> write_zeros(Disk& disk, const std::string& path, std::uint64_t bytes);
// Any failure is one of the disk, want of room too: names that others made may be lost with it, which they never hear
// of.
[[nodiscard]] StoreResult<void> sync_folder(Disk& disk, const std::string& dir);

[[nodiscard]] StoreResult<Spare> run(Disk& disk, const SpareJob& job);
// The spares that came of it. A crash in between leaves any part of it done, which the next open completes.
[[nodiscard]] StoreResult<std::vector<Spare>> run(Disk& disk, const DiscardJob& job);

struct BuiltSegment {
  SegmentHeader header;
  std::string path;
  std::uint64_t end_offset = k_header_bytes;
  Mark mark;
  std::vector<BatchRef> batches;
};
// Hands out the entries of the next batch, none at the end. The views stay valid until the next call.
using MoreEntries = std::function<StoreResult<std::span<const EntryView>>()>;
// Writes a segment aside (header, batches, a mark that covers them) and then gives it its name: all of it or nothing,
// and no unfinished file left behind.
// The header's nominal size is raised to what the entries need.
[[nodiscard]] StoreResult<BuiltSegment> build_segment(Disk& disk, const std::string& dir, const SegmentHeader& header,
                                                      const MoreEntries& more);

}  // namespace skein::inline v0::journal
