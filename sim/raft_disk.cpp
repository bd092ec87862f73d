#include "sim/raft_disk.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace skein::sim::raft {

using consensus::EntryKind;
using consensus::ToStore;

RaftDisk::RaftDisk(MemberId self, const std::optional<Entry>& first) : self_(self) {
  if (!first) return;
  log_.push_back(*first);
  hard_ = {.term = first->term, .voted_for = 0, .commit = first->position};
}

std::optional<Term> RaftDisk::term_at(Position position) const {
  if (position < base_ || position > last()) return std::nullopt;
  return position == base_ ? base_term_ : log_[position - base_ - 1].term;
}

std::optional<std::string> RaftDisk::ask(ToStore store) {
  Position end = last();
  for (const ToStore& each : queue_) {
    if (each.install) end = each.install->position;
    if (!each.entries.empty()) end = each.entries.back().position;
  }
  if (store.install) {
    if (!kept_.contains(store.install->position)) {
      return fmt::format("installs a snapshot of {} that it does not have", store.install->position);
    }
    end = store.install->position;
  }
  for (const Entry& entry : store.entries) {
    if (entry.position == 0 || entry.position > end + 1) {
      return fmt::format("stores an entry at {}, but its log ends at {}", entry.position, end);
    }
    end = entry.position;
  }
  if (!store.must_sync && (store.install || !store.entries.empty())) return "stores entries without a sync";
  queue_.push_back(std::move(store));
  return std::nullopt;
}

bool RaftDisk::must_sync() const {
  return std::ranges::any_of(queue_, [](const ToStore& each) { return each.must_sync; });
}

std::vector<ToStore> RaftDisk::sync(std::size_t count) {
  std::vector<ToStore> done;
  for (count = std::min(count, queue_.size()); count > 0; --count) {
    if (queue_.front().must_sync) {
      write(queue_.front());
    } else {
      unsynced_commit_ = std::max(unsynced_commit_, queue_.front().hard.commit);
    }
    done.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return done;
}

const char* RaftDisk::crash(Random& luck) {
  const char* torn = "";
  while (!queue_.empty() && luck.chance(0.6)) {
    if (luck.chance(0.4)) {
      torn = write_some(queue_.front(), luck.below(3 + queue_.front().entries.size()));
      break;
    }
    write(queue_.front());
    queue_.pop_front();
  }
  if (luck.chance(0.5)) hard_.commit = std::max(hard_.commit, std::min(unsynced_commit_, last()));
  unsynced_commit_ = 0;
  queue_.clear();
  incoming_.reset();
  if (install_record_ == 0) kept_.clear();
  return torn;
}

void RaftDisk::write(const ToStore& store) { (void)write_some(store, ~std::size_t{0}); }

const char* RaftDisk::write_some(const ToStore& store, std::size_t steps) {
  if (steps-- == 0) return "before anything";
  hard_.term = store.hard.term;
  hard_.voted_for = store.hard.voted_for;
  if (store.install) {
    if (steps-- == 0) return "after term and vote";
    install_record_ = store.install->position;
    if (steps-- == 0) return "after the record of an install";
    finish_install();
  }
  for (auto at = store.entries.begin(); at != store.entries.end();) {
    const auto end = std::find_if(at, store.entries.end(), [](const Entry& each) { return each.ends_batch; });
    const auto after = end == store.entries.end() ? end : end + 1;
    const auto bytes = static_cast<std::size_t>(after - at);
    if (steps < bytes) return steps == 0 ? "between batches" : "inside a batch";
    steps -= bytes;
    for (; at != after; ++at) put_entry(*at);
  }
  if (steps == 0) return "before the decided position";
  hard_.commit = std::max(hard_.commit, store.hard.commit);
  return "";
}

void RaftDisk::put_entry(const Entry& entry) {
  if (entry.position <= base_) return;
  while (last() >= entry.position) log_.pop_back();
  log_.push_back(entry);
}

void RaftDisk::finish_install() {
  snapshot_ = std::move(kept_.at(install_record_));
  kept_.erase(kept_.begin(), kept_.upper_bound(install_record_));
  install_record_ = 0;
  base_ = snapshot_->offer.position;
  base_term_ = snapshot_->offer.term;
  base_membership_ = snapshot_->offer.membership;
  log_.clear();
  hard_.commit = std::max(hard_.commit, base_);
}

void RaftDisk::put_snapshot(SnapshotFile snapshot) {
  if (snapshot_ && snapshot_->offer.position >= snapshot.offer.position) return;
  snapshot_ = std::move(snapshot);
}

Position RaftDisk::trim(Position up_to) {
  up_to = std::min({up_to, snapshot_ ? snapshot_->offer.position : 0, last()});
  while (base_ < up_to) {
    const Entry& entry = log_.front();
    if (entry.kind == EntryKind::membership) base_membership_ = *Membership::decode(entry.bytes);
    base_term_ = entry.term;
    ++base_;
    log_.pop_front();
  }
  return base_;
}

void RaftDisk::write_chunk(const consensus::SnapshotChunk& chunk) {
  if (chunk.offset == 0) incoming_ = SnapshotFile{chunk.offer, {}};
  if (!incoming_ || incoming_->offer != chunk.offer || incoming_->bytes.size() != chunk.offset) return;
  incoming_->bytes += chunk.bytes;
}

const SnapshotFile* RaftDisk::keep_incoming(Position position) {
  const bool is_whole =
      incoming_ && incoming_->offer.position == position && incoming_->bytes.size() == incoming_->offer.total_bytes;
  if (!is_whole) return nullptr;
  SnapshotFile& kept = kept_[position];
  kept = *std::exchange(incoming_, std::nullopt);
  return &kept;
}

consensus::StartState RaftDisk::load() {
  if (install_record_ != 0) finish_install();
  consensus::StartState state;
  state.self = self_;
  state.hard = hard_;
  state.terms = consensus::TermMap(base_, base_term_);
  state.membership = base_membership_;
  for (const Entry& entry : log_) {
    state.terms.append(entry.term);
    if (entry.kind == EntryKind::membership) {
      state.memberships.emplace_back(entry.position, *Membership::decode(entry.bytes));
    }
  }
  if (snapshot_) state.snapshot = snapshot_->offer;
  state.applied = snapshot_ ? snapshot_->offer.position : 0;
  return state;
}

std::vector<Entry> RaftDisk::read(Position from, std::uint64_t max_bytes) const {
  std::vector<Entry> entries;
  if (from <= base_) return entries;
  std::uint64_t bytes = 0;
  std::size_t whole = 0;
  for (Position at = from; at <= last(); ++at) {
    const Entry& entry = log_[at - base_ - 1];
    bytes += consensus::weight_of(entry);
    if (bytes > max_bytes && whole > 0) break;
    entries.push_back(entry);
    if (entry.ends_batch) whole = entries.size();
  }
  entries.resize(whole > 0 ? whole : entries.size());
  return entries;
}

}  // namespace skein::sim::raft
