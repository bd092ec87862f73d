// Snapshots on their way: what a leader sends, chunk by chunk, and what a member takes in. Plain values.
//
// One chunk at a time is on its way to a member. The member says which byte it wants next, so a transfer goes on where
// it was, also after the link broke, and under another leader that has the same snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/consensus/message.hpp"
#include "skein/consensus/ready.hpp"

namespace skein::inline v0::consensus {

class SnapshotSends {
 public:
  explicit SnapshotSends(std::uint64_t chunk_bytes) : chunk_bytes_(chunk_bytes) {}

  void begin(MemberId to, const SnapshotOffer& offer, std::vector<ChunkWanted>& wanted);
  // The chunk that is to be sent; nothing when it is not wanted any more.
  [[nodiscard]] std::shared_ptr<const SnapshotChunk> read(MemberId to, SnapshotChunk chunk, Instant now);
  // The member wants the bytes from `offset` on.
  void answered(MemberId to, Position snapshot, std::uint64_t offset, std::vector<ChunkWanted>& wanted);
  // Reads again what was sent before `sent_before` and not answered.
  void send_again(MemberId to, Instant sent_before, std::vector<ChunkWanted>& wanted);
  void end(MemberId to) { sends_.erase(to); }
  void clear() { sends_.clear(); }
  void keep_only(const std::vector<MemberId>& members);

  [[nodiscard]] bool is_sending(MemberId to, Position snapshot) const;
  // The oldest snapshot that is on its way.
  [[nodiscard]] std::optional<Position> oldest() const;

 private:
  struct Send {
    SnapshotOffer offer;
    std::uint64_t offset = 0;
    std::optional<Instant> sent_at;  // nothing while the chunk is being read
  };
  void want(MemberId to, Send& send, std::vector<ChunkWanted>& wanted) const;

  std::uint64_t chunk_bytes_;
  std::map<MemberId, Send> sends_;
};

class SnapshotReceipt {
 public:
  enum class Next : std::uint8_t {
    write,   // hand the chunk out to be written
    wait,    // one is being written
    answer,  // say again which byte is wanted
  };

  // A chunk has come. Another snapshot takes the place of one that is coming in, once nothing of that is being written:
  // a new leader may have an older one only.
  [[nodiscard]] Next take(MemberId from, const SnapshotChunk& chunk);
  // Up to `end` it is written.
  void written(std::uint64_t end);
  void clear() { receipt_.reset(); }

  [[nodiscard]] bool is_of(Position snapshot) const { return receipt_ && receipt_->offer.position == snapshot; }
  [[nodiscard]] const SnapshotOffer& offer() const { return receipt_->offer; }
  [[nodiscard]] MemberId from() const { return receipt_->from; }
  [[nodiscard]] std::uint64_t wanted() const { return receipt_->written; }

 private:
  struct Receipt {
    SnapshotOffer offer;
    MemberId from = 0;
    std::uint64_t written = 0;
    bool is_writing = false;
  };
  std::optional<Receipt> receipt_;
};

}  // namespace skein::inline v0::consensus
