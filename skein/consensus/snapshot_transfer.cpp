#include "skein/consensus/snapshot_transfer.hpp"

#include <algorithm>
#include <utility>

namespace skein::inline v0::consensus {

void SnapshotSends::want(MemberId to, Send& send, std::vector<ChunkWanted>& wanted) const {
  send.sent_at.reset();
  wanted.push_back({to, send.offer, send.offset, chunk_bytes_});
}

void SnapshotSends::begin(MemberId to, const SnapshotOffer& offer, std::vector<ChunkWanted>& wanted) {
  Send& send = sends_[to];
  send = {.offer = offer, .offset = 0, .sent_at = {}};
  want(to, send, wanted);
}

std::shared_ptr<const SnapshotChunk> SnapshotSends::read(MemberId to, SnapshotChunk chunk, Instant now) {
  const auto found = sends_.find(to);
  if (found == sends_.end()) return nullptr;
  Send& send = found->second;
  if (send.sent_at || chunk.offer != send.offer || chunk.offset != send.offset) return nullptr;
  send.sent_at = now;
  return std::make_shared<const SnapshotChunk>(std::move(chunk));
}

void SnapshotSends::answered(MemberId to, Position snapshot, std::uint64_t offset, std::vector<ChunkWanted>& wanted) {
  const auto found = sends_.find(to);
  if (found == sends_.end()) return;
  Send& send = found->second;
  // An answer that came twice asks for what is being read, or is on its way, already.
  if (send.offer.position != snapshot || offset == send.offset || offset >= send.offer.total_bytes) return;
  send.offset = offset;
  want(to, send, wanted);
}

void SnapshotSends::send_again(MemberId to, Instant sent_before, std::vector<ChunkWanted>& wanted) {
  const auto found = sends_.find(to);
  if (found == sends_.end() || !found->second.sent_at || *found->second.sent_at > sent_before) return;
  want(to, found->second, wanted);
}

void SnapshotSends::keep_only(const std::vector<MemberId>& members) {
  std::erase_if(sends_, [&](const auto& each) { return !std::ranges::binary_search(members, each.first); });
}

bool SnapshotSends::is_sending(MemberId to, Position snapshot) const {
  const auto found = sends_.find(to);
  return found != sends_.end() && found->second.offer.position == snapshot;
}

std::optional<Position> SnapshotSends::oldest() const {
  std::optional<Position> position;
  for (const auto& [to, send] : sends_) {
    position = position ? std::min(*position, send.offer.position) : send.offer.position;
  }
  return position;
}

SnapshotReceipt::Next SnapshotReceipt::take(MemberId from, const SnapshotChunk& chunk) {
  const bool is_same = receipt_ && receipt_->offer == chunk.offer;
  if (!is_same) {
    if (receipt_ && receipt_->is_writing) return Next::wait;
    receipt_ = Receipt{.offer = chunk.offer};
  }
  receipt_->from = from;
  if (receipt_->is_writing) return Next::wait;
  if (chunk.offset != receipt_->written) return Next::answer;
  receipt_->is_writing = true;
  return Next::write;
}

void SnapshotReceipt::written(std::uint64_t end) {
  receipt_->is_writing = false;
  receipt_->written = end;
}

}  // namespace skein::inline v0::consensus
