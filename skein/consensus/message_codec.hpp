// The bytes of a message between members. Pure functions; any thread.
//
// A message is: version, kind, flags, 0 (a byte each); from, to, term, position, log_term, commit, hint, round (8 bytes
// each, little-endian); the number of entries (4); each entry's term (8), kind, flags (1 each), id (16), length (4) and
// bytes; then, for a snapshot_chunk, the offer's position, term and total bytes (8 each), its membership (length and
// bytes), the offset (8), and the chunk (length and bytes). Positions of entries are those after `position`.
//
// The link frames a message (by its length) and authenticates its sender (TLS, the sender's certificate).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "skein/consensus/message.hpp"

namespace skein::inline v0::consensus {

inline constexpr std::uint8_t k_message_version = 1;
inline constexpr std::uint64_t k_message_bytes_max = 64ULL << 20U;  // of one encoded message; a link closes beyond it

// Appends the bytes of a message to `out`.
void encode_message(std::string& out, const PeerMessage& message);
// Nothing when the bytes are no message of this version. Entries and chunk refer to the bytes and keep them alive.
[[nodiscard]] std::optional<PeerMessage> decode_message(const std::shared_ptr<const std::string>& bytes);

}  // namespace skein::inline v0::consensus
