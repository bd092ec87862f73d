#include "skein/consensus/message_codec.hpp"

#include <utility>

#include "skein/base/bytes.hpp"

namespace skein::inline v0::consensus {
namespace {

constexpr std::uint8_t k_flag_rejects = 1;
constexpr std::uint8_t k_flag_transfer = 2;
constexpr std::uint8_t k_flag_little_disk = 4;
constexpr std::uint8_t k_message_flags = 7;
constexpr std::uint8_t k_flag_batch_goes_on = 1;
constexpr std::size_t k_entry_bytes_least = 8 + 2 + 16 + 4;

void write_entry(ByteWriter& out, const Entry& entry) {
  out.u64(entry.term);
  out.u8(static_cast<std::uint8_t>(entry.kind));
  out.u8(entry.ends_batch ? 0 : k_flag_batch_goes_on);
  out.u64(entry.id.high);
  out.u64(entry.id.low);
  out.blob(entry.bytes);
}

Entry read_entry_at(ByteReader& in, Position position, const std::shared_ptr<const std::string>& owner) {
  Entry entry;
  entry.position = position;
  entry.term = in.u64();
  const std::uint8_t kind = in.u8();
  const std::uint8_t flags = in.u8();
  entry.id.high = in.u64();
  entry.id.low = in.u64();
  entry.bytes = in.blob();
  if (kind == 0 || kind > static_cast<std::uint8_t>(EntryKind::config) || flags > k_flag_batch_goes_on) in.fail();
  entry.kind = static_cast<EntryKind>(kind);
  entry.ends_batch = flags == 0;
  entry.owner = owner;
  return entry;
}

void write_chunk(ByteWriter& out, const SnapshotChunk& chunk) {
  out.u64(chunk.offer.position);
  out.u64(chunk.offer.term);
  out.u64(chunk.offer.total_bytes);
  out.blob(chunk.offer.membership.encode());
  out.u64(chunk.offset);
  out.blob(chunk.bytes);
}

std::shared_ptr<const SnapshotChunk> read_chunk(ByteReader& in, const std::shared_ptr<const std::string>& owner) {
  SnapshotChunk chunk;
  chunk.offer.position = in.u64();
  chunk.offer.term = in.u64();
  chunk.offer.total_bytes = in.u64();
  auto membership = Membership::decode(in.blob());
  chunk.offset = in.u64();
  chunk.bytes = in.blob();
  chunk.owner = owner;
  if (!membership || chunk.offset > chunk.offer.total_bytes ||
      chunk.bytes.size() > chunk.offer.total_bytes - chunk.offset) {
    in.fail();
    return nullptr;
  }
  chunk.offer.membership = std::move(*membership);
  return std::make_shared<const SnapshotChunk>(std::move(chunk));
}

}  // namespace

void encode_message(std::string& out, const PeerMessage& message) {
  ByteWriter w(out);
  w.u8(k_message_version);
  w.u8(static_cast<std::uint8_t>(message.kind));
  w.u8(static_cast<std::uint8_t>((message.rejects ? k_flag_rejects : 0) | (message.is_transfer ? k_flag_transfer : 0) |
                                 (message.has_little_disk ? k_flag_little_disk : 0)));
  w.u8(0);
  for (const std::uint64_t number : {message.from, message.to, message.term, message.position, message.log_term,
                                     message.commit, message.hint, message.round}) {
    w.u64(number);
  }
  w.u32(static_cast<std::uint32_t>(message.entries.size()));
  for (const auto& entry : message.entries) write_entry(w, entry);
  if (message.kind == PeerMessageKind::snapshot_chunk) write_chunk(w, *message.chunk);
}

std::optional<PeerMessage> decode_message(const std::shared_ptr<const std::string>& bytes) {
  if (bytes->size() > k_message_bytes_max) return std::nullopt;
  ByteReader in(*bytes);
  PeerMessage message;
  const std::uint8_t version = in.u8();
  const std::uint8_t kind = in.u8();
  const std::uint8_t flags = in.u8();
  if (in.u8() != 0 || version != k_message_version || kind == 0 || kind > k_message_kind_last ||
      flags > k_message_flags) {
    return std::nullopt;
  }
  message.kind = static_cast<PeerMessageKind>(kind);
  message.rejects = (flags & k_flag_rejects) != 0;
  message.is_transfer = (flags & k_flag_transfer) != 0;
  message.has_little_disk = (flags & k_flag_little_disk) != 0;
  for (std::uint64_t* number : {&message.from, &message.to, &message.term, &message.position, &message.log_term,
                                &message.commit, &message.hint, &message.round}) {
    *number = in.u64();
  }
  const std::uint32_t count = in.u32();
  if (count > in.left() / k_entry_bytes_least || message.position > ~Position{0} - count) return std::nullopt;
  if (count > 0 && message.kind != PeerMessageKind::append) return std::nullopt;
  message.entries.reserve(count);
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) {
    message.entries.push_back(read_entry_at(in, message.position + 1 + i, bytes));
  }
  if (in.ok() && message.kind == PeerMessageKind::snapshot_chunk) message.chunk = read_chunk(in, bytes);
  if (!in.done()) return std::nullopt;
  return message;
}

}  // namespace skein::inline v0::consensus
