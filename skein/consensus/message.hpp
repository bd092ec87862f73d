// What members of a group say to each other. Plain values; any thread.
//
// One struct for all kinds, as in the Raft paper's figure 2: which members of it count is said beside each kind. Bytes
// of entries and chunks are shared, not copied. message_codec.hpp has the form on the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "skein/consensus/entry.hpp"
#include "skein/consensus/membership.hpp"

namespace skein::inline v0::consensus {

// The numbers are on the wire.
enum class PeerMessageKind : std::uint8_t {
  append = 1,              // position and log_term of the entry before; entries; commit
  append_response = 2,     // position: stored up to here; or rejects: position of the entry before, hint, log_term
  heartbeat = 3,           // commit, no more than the receiver is known to have; round
  heartbeat_response = 4,  // round
  vote_request = 5,        // position and log_term of the candidate's last entry; is_transfer
  vote_response = 6,       // rejects
  pre_vote_request = 7,    // as vote_request, for the term that the sender would campaign in
  pre_vote_response = 8,   // granted: that term; rejects: the sender's own
  snapshot_chunk = 9,      // chunk
  snapshot_response = 10,  // position: of the snapshot; hint: the next byte wanted; rejects: the snapshot is of no use
  timeout_now = 11,        // campaign at once: leadership is handed over
  removed = 12,            // position: the membership that is decided up to there does not have the receiver
};
inline constexpr std::uint8_t k_message_kind_last = 12;

[[nodiscard]] std::string_view name_of(PeerMessageKind kind);

// A snapshot that a member may be given instead of the log up to its position.
struct SnapshotOffer {
  Position position = 0;
  Term term = 0;  // of the entry at that position
  Membership membership;
  std::uint64_t total_bytes = 0;

  friend bool operator==(const SnapshotOffer&, const SnapshotOffer&) = default;
};

struct SnapshotChunk {
  SnapshotOffer offer;
  std::uint64_t offset = 0;
  std::string_view bytes;
  std::shared_ptr<const void> owner;  // of the bytes

  [[nodiscard]] std::uint64_t end() const { return offset + bytes.size(); }
  [[nodiscard]] bool is_last() const { return end() == offer.total_bytes; }
};

struct PeerMessage {
  PeerMessageKind kind = PeerMessageKind::append;
  bool rejects = false;
  bool is_transfer = false;
  bool has_little_disk = false;  // in every response: the sender's disk is short of room
  MemberId from = 0;
  MemberId to = 0;
  Term term = 0;
  Position position = 0;
  Term log_term = 0;
  Position commit = 0;
  std::uint64_t hint = 0;
  std::uint64_t round = 0;
  std::vector<Entry> entries = {};
  std::shared_ptr<const SnapshotChunk> chunk = nullptr;
};

}  // namespace skein::inline v0::consensus
