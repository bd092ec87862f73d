// Reads every segment of a folder and says what the log is, or what is wrong with it. Pure but for reading; the folder
// is not changed. One thread.
//
// The tail rule. A crash can leave one batch torn: the last, since a batch is written only when the one before it is
// synced. So a batch that does not pass is cut off when (1) it lies in the last segment, (2) no mark slot says that the
// segment was synced past it, and (3) no valid batch follows it. Anything else is corruption, as is a segment shorter
// than its nominal size (segments are made whole before they get their name) and a segment that goes on in one that is
// not there (that is written only when the next is safe).
//
// Which segments count. A later segment replaces the earlier ones from its first position on. One that starts at or
// before the first position after the snapshot makes all before it obsolete, whatever state they are in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skein/journal/disk.hpp"
#include "skein/journal/log_format.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

struct BatchRef {
  std::uint64_t offset = 0;
  Position first_position = 0;
  std::uint32_t count = 0;  // entries of it that still count
  std::uint32_t size = 0;
};

struct SegmentImage {
  SegmentHeader header;
  std::string path;
  std::vector<BatchRef> batches;
  std::uint64_t end_offset = k_header_bytes;  // after the last valid batch
  std::optional<Mark> mark;

  [[nodiscard]] Position last_position() const;
  // Leaves out the entries from `position` on: later ones stand in for them.
  void forget_from(Position position);
};

// A segment that no longer counts.
struct ObsoleteSegment {
  std::string path;
  Position last = 0;  // no entry in it that was ever decided lies after this one; 0 when there is none at all
};

struct TermStart {
  Position first = 0;
  Term term = 0;
};

// An entry of the log that has another one passed over when it is applied.
struct Skip {
  Position at = 0;       // where it stands
  Position skipped = 0;  // the position that it names
};

// An entry of the log that says who belongs to the group.
struct MembershipAt {
  Position at = 0;
  std::string bytes;
};

struct LogImage {
  std::vector<SegmentImage> segments;
  std::vector<ObsoleteSegment> obsolete;
  std::uint64_t highest_id = 0;
  Position durable = 0;  // everything up to here was known to be synced
  Position last = 0;
  Term last_term = 0;
  std::vector<TermStart> terms;           // where each term begins, in order
  std::vector<Skip> skips;                // in the order of the log
  std::vector<MembershipAt> memberships;  // in the order of the log
  Position config_at = 0;                 // of the entry with the log's configuration; 0 when the log has none
  bool clean = false;                     // closed or idle: the last mark covers the last batch
  std::uint64_t cut_bytes = 0;            // bytes of a torn batch that were left out; 0 when the tail was whole

  [[nodiscard]] bool empty() const { return segments.empty(); }
  // Leaves out what entries at `position` or later said: other entries stand in for those.
  void forget_from(Position position);
  [[nodiscard]] bool is_skipped(Position position) const;
};

// Reads the log of `dir`, of which everything up to `snapshot` is in a snapshot. An empty image when there is no
// segment and no snapshot.
[[nodiscard]] StoreResult<LogImage> scan_log(Disk& disk, const std::string& dir, Position snapshot);

// Hands out the entries of scanned segments from `from` on, in order, until fn answers false. Checksums are checked
// again; the views die with the call.
[[nodiscard]] StoreResult<void> read_entries(Disk& disk, std::span<const SegmentImage> segments, Position from,
                                             const std::function<bool(const EntryView&)>& fn);

// The same with what keeps the bytes alive; entries that were read together share it.
using OwnedEntryFn = std::function<bool(const EntryView&, const std::shared_ptr<const std::string>& owner)>;
[[nodiscard]] StoreResult<void> read_owned_entries(Disk& disk, std::span<const SegmentImage> segments, Position from,
                                                   const OwnedEntryFn& fn);

// Reads a whole file into `buffer`, reusing its room.
[[nodiscard]] StoreResult<void> read_file(Disk& disk, const std::string& path, std::string& buffer);

// The offset of the first valid batch at or after `offset` of a segment's bytes, if any.
[[nodiscard]] std::optional<std::uint64_t> find_batch(const SegmentHeader& segment, std::string_view bytes,
                                                      std::uint64_t offset);

// The error for a batch whose entries can't be read although its checksum is right.
[[nodiscard]] StoreError bad_entries(const std::string& path, std::uint64_t offset, EntriesRead read);

}  // namespace skein::inline v0::journal
