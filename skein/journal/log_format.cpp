#include "skein/journal/log_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "skein/base/crc32c.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::string_view k_segment_magic = "SKEINLOG";
constexpr std::uint32_t k_batch_magic = 0x48544342;  // "BCTH"
constexpr std::uint32_t k_mark_magic = 0x4B52414D;   // "MARK"
constexpr std::size_t k_crc_at_end = k_sector_bytes - 4;
constexpr std::uint32_t k_version_with_batches = 3;
constexpr std::uint32_t k_batch_goes_on = 1U << 31U;  // beside the kind of an entry

std::uint32_t crc_of_place(std::uint64_t segment_id, std::uint64_t offset) {
  char place[16];
  std::memcpy(place, &segment_id, 8);
  std::memcpy(place + 8, &offset, 8);
  return crc32c({place, sizeof place});
}

void seal_sector(std::string& sector, std::uint32_t seed) {
  sector.resize(k_sector_bytes, '\0');
  put_u32_at(sector, k_crc_at_end, crc32c(std::string_view(sector).substr(0, k_crc_at_end), seed));
}

bool sector_is_whole(std::string_view sector, std::uint32_t seed) {
  ByteReader tail(sector.substr(k_crc_at_end, 4));
  return tail.u32() == crc32c(sector.substr(0, k_crc_at_end), seed);
}

std::size_t padded(std::size_t bytes, std::uint32_t align) { return (bytes + align - 1) / align * align; }

}  // namespace

std::string numbered_name(std::string_view prefix, std::uint64_t number, std::string_view suffix) {
  return fmt::format("{}{:016x}{}", prefix, number, suffix);
}

std::optional<std::uint64_t> parse_numbered(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.size() != prefix.size() + 16 + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) {
    return std::nullopt;
  }
  const auto digits = name.substr(prefix.size(), 16);
  if (!std::ranges::all_of(digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); })) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

std::string segment_name(std::uint64_t id) { return numbered_name("seg-", id, ".log"); }

std::optional<std::uint64_t> parse_segment_name(std::string_view name) { return parse_numbered(name, "seg-", ".log"); }

std::string encode_header(const SegmentHeader& header) {
  std::string out;
  out.reserve(k_header_bytes);
  ByteWriter w(out);
  w.raw(k_segment_magic);
  w.u32(header.version);
  w.u32(header.batch_align);
  w.u64(header.id);
  w.u64(header.first_position);
  w.u64(header.nominal_bytes);
  w.u64(header.term);
  w.u64(header.ids.ids_kept);
  w.u64(header.ids.id_result_bytes);
  seal_sector(out, 0);
  out.resize(k_header_bytes, '\0');
  return out;
}

std::expected<SegmentHeader, HeaderFault> decode_header(std::string_view block) {
  if (block.size() < k_header_bytes) return std::unexpected(HeaderFault::damaged);
  const auto sector = block.substr(0, k_sector_bytes);
  if (!sector.starts_with(k_segment_magic) || !sector_is_whole(sector, 0)) {
    return std::unexpected(HeaderFault::damaged);
  }
  ByteReader r(sector.substr(k_segment_magic.size()));
  const std::uint32_t version = r.u32();
  if (version > k_log_version) return std::unexpected(HeaderFault::later_version);
  SegmentHeader header;
  header.version = version;
  header.batch_align = r.u32();
  if (version < 2) header.batch_align = k_align_v1;
  if (version >= 2 && !is_batch_align(header.batch_align)) return std::unexpected(HeaderFault::damaged);
  header.id = r.u64();
  header.first_position = r.u64();
  header.nominal_bytes = r.u64();
  header.term = r.u64();
  header.ids.ids_kept = r.u64();
  header.ids.id_result_bytes = r.u64();
  if (header.first_position == 0) return std::unexpected(HeaderFault::damaged);
  return header;
}

bool is_batch_align(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= k_sector_bytes && bytes <= k_header_bytes;
}

std::uint64_t mark_slot_offset(std::uint64_t sequence) { return (1 + sequence % 2) * k_sector_bytes; }

std::string encode_mark(std::uint64_t segment_id, const Mark& mark) {
  std::string out;
  ByteWriter w(out);
  w.u32(k_mark_magic);
  w.u32(0);
  w.u64(mark.sequence);
  w.u64(mark.end_offset);
  w.u64(mark.position);
  w.u64(mark.next);
  seal_sector(out, crc_of_place(segment_id, mark_slot_offset(mark.sequence)));
  return out;
}

std::optional<Mark> decode_marks(std::uint64_t segment_id, std::string_view block) {
  std::optional<Mark> newest;
  for (std::uint64_t slot = 0; slot < 2; ++slot) {
    const auto offset = mark_slot_offset(slot);
    if (block.size() < offset + k_sector_bytes) continue;
    const auto sector = block.substr(offset, k_sector_bytes);
    ByteReader r(sector);
    if (r.u32() != k_mark_magic || !sector_is_whole(sector, crc_of_place(segment_id, offset))) continue;
    r.u32();
    Mark mark;
    mark.sequence = r.u64();
    mark.end_offset = r.u64();
    mark.position = r.u64();
    mark.next = r.u64();
    if (!newest || mark.sequence > newest->sequence) newest = mark;
  }
  return newest;
}

std::size_t batch_bytes(std::span<const EntryView> entries, std::uint32_t align) {
  std::size_t bytes = k_batch_head_bytes;
  for (const auto& entry : entries) bytes += k_entry_head_bytes + entry.bytes.size();
  return padded(bytes, align);
}

void encode_batch(std::string& out, const SegmentHeader& segment, std::uint64_t offset, Position mark,
                  std::span<const EntryView> entries) {
  const std::size_t start = out.size();
  const std::size_t size = batch_bytes(entries, segment.batch_align);
  out.reserve(start + size);
  ByteWriter w(out);
  w.u32(k_batch_magic);
  w.u32(0);
  w.u64(entries.empty() ? 0 : entries.front().position);
  w.u64(mark);
  w.u32(static_cast<std::uint32_t>(entries.size()));
  w.u32(0);
  for (const auto& entry : entries) {
    w.u64(entry.term);
    w.u64(entry.id.high);
    w.u64(entry.id.low);
    w.u32(static_cast<std::uint32_t>(entry.bytes.size()));
    const bool goes_on = !entry.ends_batch && segment.version >= k_version_with_batches;
    w.u32(static_cast<std::uint32_t>(entry.kind) | (goes_on ? k_batch_goes_on : 0));
    w.raw(entry.bytes);
  }
  put_u32_at(out, start + 28, static_cast<std::uint32_t>(out.size() - start - k_batch_head_bytes));
  w.zeros(start + size - out.size());
  const auto covered = std::string_view(out).substr(start + 8);
  put_u32_at(out, start + 4, crc32c(covered, crc_of_place(segment.id, offset)));
}

bool looks_like_batch(std::string_view bytes) {
  if (bytes.size() < k_batch_head_bytes) return false;
  ByteReader r(bytes);
  return r.u32() == k_batch_magic;
}

std::optional<BatchView> decode_batch(const SegmentHeader& segment, std::uint64_t offset, std::string_view bytes) {
  ByteReader r(bytes);
  if (r.u32() != k_batch_magic) return std::nullopt;
  const std::uint32_t crc = r.u32();
  BatchView batch;
  batch.first_position = r.u64();
  batch.mark = r.u64();
  batch.count = r.u32();
  const std::uint32_t length = r.u32();
  batch.body = r.raw(length);
  batch.size = padded(k_batch_head_bytes + std::size_t{length}, segment.batch_align);
  if (!r.ok() || batch.size > bytes.size()) return std::nullopt;
  const auto covered = bytes.substr(8, batch.size - 8);
  const bool right = crc32c(covered, crc_of_place(segment.id, offset)) == crc;
  if (!right) return std::nullopt;
  return batch;
}

EntryView read_entry(ByteReader& in, Position position, std::uint32_t& kind) {
  EntryView entry;
  entry.position = position;
  entry.term = in.u64();
  entry.id.high = in.u64();
  entry.id.low = in.u64();
  const std::uint32_t length = in.u32();
  kind = in.u32();
  entry.ends_batch = (kind & k_batch_goes_on) == 0;
  kind &= ~k_batch_goes_on;
  entry.kind = static_cast<EntryKind>(kind);
  entry.bytes = in.raw(length);
  return entry;
}

std::string encode_skip(Position position) {
  std::string out;
  ByteWriter(out).u64(position);
  return out;
}

std::optional<Position> decode_skip(std::string_view bytes) {
  ByteReader r(bytes);
  const Position position = r.u64();
  if (!r.done()) return std::nullopt;
  return position;
}

}  // namespace skein::inline v0::journal
