// The work that a Consensus value wants done. Its driver takes a Ready after every call or some calls, and does all of
// it; the parts may be done on different threads, each part in the order in which it was handed out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skein/consensus/entry.hpp"
#include "skein/consensus/hard_state.hpp"
#include "skein/consensus/membership.hpp"
#include "skein/consensus/message.hpp"

namespace skein::inline v0::consensus {

// To be stored, in the order of the numbers, and then acknowledged by stored(number). What is acknowledged must be
// durable, and so must everything before it.
struct ToStore {
  std::uint64_t number = 0;
  HardState hard;
  bool must_sync = false;                // false: only hard.commit is new; it may be stored some time later
  std::optional<SnapshotOffer> install;  // the snapshot, whose chunks are all written, replaces the whole log
  std::vector<Entry> entries;            // the first may stand before the log's end: it and all after it are replaced
};

// Entries are wanted that are not in memory: answer with fetched(reader, from, entries).
struct Fetch {
  MemberId reader = 0;  // the member to send them to; 0: they are for apply
  Position from = 0;
  std::uint64_t max_bytes = 0;  // of whole batches, but at least one
};

// Bytes of a snapshot are wanted: answer with chunk_read() or chunk_unreadable().
struct ChunkWanted {
  MemberId to = 0;
  SnapshotOffer offer;
  std::uint64_t offset = 0;
  std::uint64_t max_bytes = 0;
};

// Bytes of a snapshot have come: write them and answer with chunk_written(). At offset 0 a new file begins. The last
// chunk makes a file that must be durable, and checked as far as it can be, before it is answered.
struct ChunkToWrite {
  std::shared_ptr<const SnapshotChunk> chunk;
};

enum class ChunkResult : std::uint8_t {
  written,   // the next one may come
  complete,  // it was the last, and the whole snapshot is durable and right
  refused,   // the snapshot is of no use: damaged, of a later format, of another group
};

struct ReadReady {
  std::uint64_t ticket = 0;
  bool is_confirmed = false;  // false: this member does not lead, or no longer
  Position position = 0;      // what was decided when the read was asked for; read once it is applied
};

struct ConsensusEvent {
  enum class Kind : std::uint8_t {
    leader_changed,      // member: who leads, 0 for nobody
    membership_changed,  // position of the entry that is in force
    transfer_ended,      // member: the intended target; leader_changed says whether it became leader
    disk_stuck,          // this leader's disk has not answered for so long that it gives leadership away
    removed,             // this member is in the group no more
    refused,             // a message that no member of this version sends; member: from whom
  };
  Kind kind = Kind::leader_changed;
  Term term = 0;
  MemberId member = 0;
  Position position = 0;
};
[[nodiscard]] std::string_view name_of(ConsensusEvent::Kind kind);

struct Ready {
  std::optional<ToStore> store;
  std::vector<PeerMessage> messages;  // may leave at once: nothing in them waits for storage
  std::optional<Position> restore;    // the machine is to be replaced by the installed snapshot, before `apply`
  std::vector<Entry> apply;           // decided and stored, each once, in order; answer with applied(position)
  std::vector<Fetch> fetches;
  std::vector<ChunkWanted> chunks_wanted;
  std::vector<ChunkToWrite> chunks;
  std::vector<ReadReady> reads;
  std::vector<ConsensusEvent> events;
};

}  // namespace skein::inline v0::consensus
