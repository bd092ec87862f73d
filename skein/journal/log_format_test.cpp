#include "skein/journal/log_format.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace skein::journal {
namespace {

std::vector<EntryView> two_entries() {
  return {{7, 3, EntryKind::command, {1, 2}, "put a 1"}, {8, 3, EntryKind::skip, {0, 0}, ""}};
}

SegmentHeader segment(std::uint64_t id, std::uint32_t align = 512) { return {id, 1, 1 << 20, 1, {}, align}; }

std::string encoded(std::uint64_t id, std::uint64_t offset, std::uint32_t align = 512) {
  std::string out;
  const auto entries = two_entries();
  encode_batch(out, segment(id, align), offset, 6, entries);
  return out;
}

TEST(LogFormat, names_segments_with_sixteen_hex_digits) {
  EXPECT_EQ(segment_name(255), "seg-00000000000000ff.log");
  EXPECT_EQ(parse_segment_name("seg-00000000000000ff.log"), 255U);
  EXPECT_EQ(parse_segment_name("seg-ff.log"), std::nullopt);
  EXPECT_EQ(parse_segment_name("seg-00000000000000FF.log"), std::nullopt);
  EXPECT_EQ(parse_segment_name("seg-00000000000000ff.log.tmp"), std::nullopt);
}

TEST(LogFormat, reads_back_a_header) {
  const SegmentHeader header{9, 100, 1 << 20, 4, {77, 88}, 4096};
  const auto block = encode_header(header);
  ASSERT_EQ(block.size(), k_header_bytes);
  const auto back = decode_header(block);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->id, 9U);
  EXPECT_EQ(back->first_position, 100U);
  EXPECT_EQ(back->nominal_bytes, 1U << 20U);
  EXPECT_EQ(back->term, 4U);
  EXPECT_EQ(back->ids, (IdLimits{77, 88}));
  EXPECT_EQ(back->batch_align, 4096U);
}

TEST(LogFormat, batches_are_aligned_at_a_power_of_two_from_a_sector_to_the_header_block) {
  for (const std::uint32_t good : {512U, 1024U, 2048U, 4096U}) EXPECT_TRUE(is_batch_align(good)) << good;
  for (const std::uint32_t bad : {0U, 8U, 256U, 513U, 8192U}) {
    EXPECT_FALSE(is_batch_align(bad)) << bad;
    EXPECT_FALSE(decode_header(encode_header(segment(1, bad)))) << bad;
  }
}

TEST(LogFormat, a_header_with_any_flipped_bit_is_damaged) {
  const auto good = encode_header(segment(9));
  for (std::size_t byte = 0; byte < k_sector_bytes; ++byte) {
    auto bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 0x10);
    EXPECT_FALSE(decode_header(bad)) << "byte " << byte;
  }
}

TEST(LogFormat, reads_back_a_batch) {
  for (const std::uint32_t align : {8U, 512U, 4096U}) {
    const auto bytes = encoded(5, 4096, align);
    EXPECT_EQ(bytes.size() % align, 0U);
    EXPECT_EQ(bytes.size(), batch_bytes(two_entries(), align));
    EXPECT_TRUE(decode_batch(segment(5, align), 4096, bytes));
  }
  const auto bytes = encoded(5, 4096);
  const auto batch = decode_batch(segment(5), 4096, bytes);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->first_position, 7U);
  EXPECT_EQ(batch->mark, 6U);
  EXPECT_EQ(batch->size, bytes.size());
  std::vector<EntryView> seen;
  EXPECT_EQ(for_each_entry(*batch, [&](const EntryView& e) { seen.push_back(e); }), EntriesRead::whole);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].position, 7U);
  EXPECT_EQ(seen[0].bytes, "put a 1");
  EXPECT_EQ(seen[0].id, (CommandId{1, 2}));
  EXPECT_EQ(seen[1].position, 8U);
  EXPECT_EQ(seen[1].kind, EntryKind::skip);
}

TEST(LogFormat, a_batch_passes_only_in_its_segment_and_at_its_offset) {
  const auto bytes = encoded(5, 4096);
  EXPECT_TRUE(decode_batch(segment(5), 4096, bytes));
  EXPECT_FALSE(decode_batch(segment(6), 4096, bytes));
  EXPECT_FALSE(decode_batch(segment(5), 4608, bytes));
}

TEST(LogFormat, a_batch_with_any_flipped_bit_or_cut_short_does_not_pass) {
  const auto good = encoded(5, 4096);
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    auto bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 0x01);
    EXPECT_FALSE(decode_batch(segment(5), 4096, bad)) << "byte " << byte;
    EXPECT_FALSE(decode_batch(segment(5), 4096, good.substr(0, byte))) << "length " << byte;
  }
}

TEST(LogFormat, tells_an_entry_of_a_later_version_from_one_that_does_not_fit) {
  for (const auto& [kind, expected] : {std::pair{99, EntriesRead::later_version}, {0, EntriesRead::malformed}}) {
    auto entries = two_entries();
    entries[1].kind = static_cast<EntryKind>(kind);
    std::string bytes;
    encode_batch(bytes, segment(5), 4096, 6, entries);
    const auto batch = decode_batch(segment(5), 4096, bytes);
    ASSERT_TRUE(batch);
    EXPECT_EQ(for_each_entry(*batch, [](const EntryView&) {}), expected);
  }
}

TEST(LogFormat, the_newer_of_two_marks_counts) {
  auto block = encode_header(segment(5));
  EXPECT_FALSE(decode_marks(5, block));
  for (std::uint64_t sequence : {1U, 2U}) {
    block.replace(mark_slot_offset(sequence), k_sector_bytes,
                  encode_mark(5, {sequence, 4096 + sequence, sequence, sequence + 7}));
  }
  EXPECT_EQ(decode_marks(5, block)->sequence, 2U);
  EXPECT_EQ(decode_marks(5, block)->next, 9U);
  EXPECT_FALSE(decode_marks(6, block)) << "a mark of the segment this file was before";
  block[mark_slot_offset(2) + 20] ^= 1;
  EXPECT_EQ(decode_marks(5, block)->sequence, 1U);
}

}  // namespace
}  // namespace skein::journal
