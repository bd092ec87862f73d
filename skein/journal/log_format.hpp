// The bytes of a log segment. Pure functions over byte strings; any thread.
//
// A segment is a file seg-<id as 16 hex digits>.log of its nominal size, written with zeros before its first use:
//
//   0     header sector: magic, version, alignment, id, first position, nominal size, term, id limits, CRC
//   512   mark slot A     "everything up to this offset was synced, and segment n goes on", CRC'd with the segment's
//   1024  mark slot B     id; written alternately, each in a sector that no batch shares
//   4096  batches, each starting and ending at a multiple of the alignment: no two share a sector of the disk
//
// A batch is one write: 32 bytes of head (magic, CRC, first position, durable mark, count, length), then the entries,
// then zeros up to the alignment.
// 1. The CRC covers segment id, offset and content, so that an old batch in a recycled segment never passes.
// 2. The durable mark is the last position known to be synced when the batch was written.
// 3. Entries in a batch have consecutive positions. A batch may start at or before the position reached: it then
//    replaces what lies from there on (a follower's conflicting tail, or a tail copied at open).
//
// Old versions stay readable for good; a segment that is still written to keeps its version until the next one begins.
// - Version 1 aligned batches at 8 bytes and did not say in a mark which segment goes on.
// - Version 2 is what a journal of one node writes.
// - Version 3 says of every entry whether the batch that it was proposed in goes on after it: members of a group decide
//   such a batch whole or not at all.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "skein/base/bytes.hpp"
#include "skein/journal/entry.hpp"

namespace skein::inline v0::journal {

inline constexpr std::uint32_t k_log_version_of_one = 2;
inline constexpr std::uint32_t k_log_version = 3;  // the newest that is known
inline constexpr std::size_t k_sector_bytes = 512;
inline constexpr std::size_t k_header_bytes = 4096;
inline constexpr std::size_t k_batch_head_bytes = 32;
inline constexpr std::size_t k_entry_head_bytes = 32;
inline constexpr std::uint32_t k_align_v1 = 8;
inline constexpr std::uint32_t k_align_default = 4096;

struct SegmentHeader {
  std::uint64_t id = 0;
  Position first_position = 1;
  std::uint64_t nominal_bytes = 0;
  Term term = 0;  // that it was created in
  IdLimits ids;
  std::uint32_t batch_align = k_align_default;
  std::uint32_t version = k_log_version_of_one;
};

struct Mark {
  std::uint64_t sequence = 0;    // the slot with the higher one counts
  std::uint64_t end_offset = 0;  // batches up to here were synced
  Position position = 0;         // of the last entry up to there
  std::uint64_t next = 0;        // the segment that goes on from here, once it is safe; 0 when none does
};

struct BatchView {
  Position first_position = 0;
  Position mark = 0;
  std::uint32_t count = 0;
  std::string_view body;
  std::size_t size = 0;  // with head and padding
};

enum class HeaderFault { damaged, later_version };

[[nodiscard]] std::string segment_name(std::uint64_t id);
[[nodiscard]] std::optional<std::uint64_t> parse_segment_name(std::string_view name);
// Names of one prefix, 16 hex digits and one suffix: segments, spares and snapshots.
[[nodiscard]] std::string numbered_name(std::string_view prefix, std::uint64_t number, std::string_view suffix);
[[nodiscard]] std::optional<std::uint64_t> parse_numbered(std::string_view name, std::string_view prefix,
                                                          std::string_view suffix);

// A header block of k_header_bytes with empty mark slots.
[[nodiscard]] std::string encode_header(const SegmentHeader& header);
// A power of two from a sector to the header block.
[[nodiscard]] bool is_batch_align(std::uint64_t bytes);
[[nodiscard]] std::expected<SegmentHeader, HeaderFault> decode_header(std::string_view block);

// One sector, for mark_slot_offset(mark.sequence).
[[nodiscard]] std::string encode_mark(std::uint64_t segment_id, const Mark& mark);
[[nodiscard]] std::uint64_t mark_slot_offset(std::uint64_t sequence);
// The newer of the two valid marks in a header block, if any.
[[nodiscard]] std::optional<Mark> decode_marks(std::uint64_t segment_id, std::string_view block);

[[nodiscard]] std::size_t batch_bytes(std::span<const EntryView> entries, std::uint32_t align);
// Appends one batch to `out`, as it has to stand at `offset` of the segment.
void encode_batch(std::string& out, const SegmentHeader& segment, std::uint64_t offset, Position mark,
                  std::span<const EntryView> entries);
// The batch at the start of `bytes`, which stand at `offset` of the segment; nothing when it is not whole and right.
[[nodiscard]] std::optional<BatchView> decode_batch(const SegmentHeader& segment, std::uint64_t offset,
                                                    std::string_view bytes);
// True when a batch's magic stands there: a cheap test before decode_batch.
[[nodiscard]] bool looks_like_batch(std::string_view bytes);

// What became of reading the entries of a batch whose checksum is right.
enum class EntriesRead {
  whole,
  later_version,  // there is an entry of a kind that this version does not know
  malformed,      // an entry does not fit: the writer was broken
};

// `kind` gets the number that stands there; that of the entry is right only if it is a known one.
[[nodiscard]] EntryView read_entry(ByteReader& in, Position position, std::uint32_t& kind);

// The bytes of a skip entry, and back.
[[nodiscard]] std::string encode_skip(Position position);
[[nodiscard]] std::optional<Position> decode_skip(std::string_view bytes);

// Calls fn(EntryView) for each entry of a decoded batch, up to the first that can't be read.
template <class Fn>
[[nodiscard]] EntriesRead for_each_entry(const BatchView& batch, Fn&& fn) {
  ByteReader in(batch.body);
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    std::uint32_t kind = 0;
    const EntryView entry = read_entry(in, batch.first_position + i, kind);
    if (!in.ok() || kind == 0) return EntriesRead::malformed;
    if (kind > static_cast<std::uint32_t>(EntryKind::config)) return EntriesRead::later_version;
    fn(entry);
  }
  return in.done() ? EntriesRead::whole : EntriesRead::malformed;
}

}  // namespace skein::inline v0::journal
