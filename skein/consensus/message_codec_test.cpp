#include "skein/consensus/message_codec.hpp"

#include <gtest/gtest.h>

#include "skein/base/random.hpp"
#include "skein/consensus/test_group.hpp"

namespace skein::inline v0::consensus {
namespace {

std::shared_ptr<const std::string> bytes_of(const PeerMessage& message) {
  auto bytes = std::make_shared<std::string>();
  encode_message(*bytes, message);
  return bytes;
}

PeerMessage full_append() {
  PeerMessage message{.kind = PeerMessageKind::append,
                      .from = 1,
                      .to = 2,
                      .term = 5,
                      .position = 10,
                      .log_term = 4,
                      .commit = 9,
                      .hint = 3,
                      .round = 7};
  message.entries = {testing::command("first"), testing::command("")};
  for (std::size_t i = 0; i < 2; ++i) {
    message.entries[i].position = 11 + i;
    message.entries[i].term = 5;
    message.entries[i].id = {i + 1, 2};
    message.entries[i].ends_batch = i == 1;
  }
  return message;
}

PeerMessage full_chunk() {
  static const std::string state = "abcdef";
  SnapshotChunk chunk;
  chunk.offer = {.position = 100, .term = 3, .membership = Membership({1, 2, 3}, {4}), .total_bytes = 6};
  chunk.offset = 2;
  chunk.bytes = std::string_view(state).substr(2, 3);
  PeerMessage message{.kind = PeerMessageKind::snapshot_chunk, .from = 1, .to = 4, .term = 3};
  message.chunk = std::make_shared<const SnapshotChunk>(chunk);
  return message;
}

TEST(MessageCodec, gives_back_an_append_with_its_entries) {
  const auto read = decode_message(bytes_of(full_append()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, PeerMessageKind::append);
  EXPECT_EQ(read->round, 7U);
  ASSERT_EQ(read->entries.size(), 2U);
  EXPECT_EQ(read->entries[0].bytes, "first");
  EXPECT_FALSE(read->entries[0].ends_batch);
  EXPECT_EQ(read->entries[1].position, 12U);
  EXPECT_EQ(read->entries[1].id, (CommandId{2, 2}));
  EXPECT_TRUE(read->entries[1].ends_batch);
}

TEST(MessageCodec, gives_back_a_chunk_and_flags) {
  PeerMessage message = full_chunk();
  message.rejects = message.is_transfer = message.has_little_disk = true;
  const auto read = decode_message(bytes_of(message));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->rejects && read->is_transfer && read->has_little_disk);
  ASSERT_NE(read->chunk, nullptr);
  EXPECT_EQ(read->chunk->offer, message.chunk->offer);
  EXPECT_EQ(read->chunk->offset, 2U);
  EXPECT_EQ(read->chunk->bytes, "cde");
}

TEST(MessageCodec, refuses_what_is_cut_anywhere_or_goes_on) {
  for (const auto& message : {full_append(), full_chunk()}) {
    const std::string whole = *bytes_of(message);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(decode_message(std::make_shared<const std::string>(whole.substr(0, size)))) << size;
    }
    EXPECT_FALSE(decode_message(std::make_shared<const std::string>(whole + '\0')));
  }
}

TEST(MessageCodec, refuses_a_later_version_unknown_kinds_and_unknown_flags) {
  for (const auto& [at, byte] : {std::pair{0, 2}, {1, 0}, {1, 13}, {2, 8}, {3, 1}}) {
    auto bytes = *bytes_of(full_append());
    bytes[static_cast<std::size_t>(at)] = static_cast<char>(byte);
    EXPECT_FALSE(decode_message(std::make_shared<const std::string>(bytes))) << at;
  }
}

TEST(MessageCodec, a_chunk_that_ends_behind_its_snapshot_is_refused) {
  PeerMessage message = full_chunk();
  SnapshotChunk chunk = *message.chunk;
  chunk.offset = 4;
  message.chunk = std::make_shared<const SnapshotChunk>(chunk);
  EXPECT_FALSE(decode_message(bytes_of(message)));
}

// Whatever is read again is what was read: a flipped bit changes a message into another one, or into none.
TEST(MessageCodec, flipped_bits_make_another_message_or_none) {
  Random random(1);
  for (const auto& message : {full_append(), full_chunk()}) {
    const std::string whole = *bytes_of(message);
    for (int i = 0; i < 2'000; ++i) {
      auto bytes = std::make_shared<std::string>(whole);
      (*bytes)[random.below(whole.size())] ^= static_cast<char>(1U << random.below(8));
      const auto read = decode_message(bytes);
      if (read) {
        EXPECT_EQ(*bytes_of(*read), *bytes);
      }
    }
  }
}

}  // namespace
}  // namespace skein::inline v0::consensus
