// The part of a journal that stores: it takes what a Consensus value wants stored, in order, and puts it into a
// storage: as much as fits with one write, then one sync. One thread; no clock. Its driver calls write() and sync() in
// turn.
//
//   take(store)   any number of times
//   write()       hands the next part to the storage: a hard state, an install, or one batch of entries
//   sync()        makes it durable; stored() says up to which number
//
// 1. Stores become durable in the order of their numbers, and stored() covers only what is.
// 2. Term and vote are durable before entries that were handed out with them or later are written.
// 3. A batch of the disk ends where a batch of proposals ends, so a torn write leaves whole ones.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "skein/consensus/ready.hpp"
#include "skein/journal/storage.hpp"

namespace skein::inline v0::journal {

class LogPart {
 public:
  // `state`: as the storage has it. `batch_bytes`: of entries in one write; one batch of proposals may be more.
  LogPart(Storage& storage, MemberState state, std::uint64_t batch_bytes)
      : storage_(storage), state_(state), batch_bytes_(batch_bytes) {}

  void take(consensus::ToStore store) { waiting_.push_back({std::move(store)}); }
  // True when something was handed to the storage. An error that is harmless leaves everything as it was: call again
  // when there may be room, or drop_waiting().
  [[nodiscard]] StoreResult<bool> write();
  [[nodiscard]] StoreResult<void> sync();
  // Everything up to this number is durable.
  [[nodiscard]] std::uint64_t stored() const { return stored_; }
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty() || written_ != stored_; }
  // The first waiting write has entries, and no term or vote that must be stored.
  [[nodiscard]] bool waits_for_entries_only() const;
  // The entries that wait were taken back: they need not be stored.
  void drop_waiting();
  // How far the log is decided, and who this is, for the next start.
  [[nodiscard]] StoreResult<void> save_decided(Position decided);
  [[nodiscard]] const MemberState& state() const { return state_; }

 private:
  struct Waiting {
    consensus::ToStore store;
    std::size_t done = 0;  // entries of it that are written
  };
  [[nodiscard]] bool has_new_vote(const consensus::ToStore& store) const;
  [[nodiscard]] StoreResult<void> save_vote(const consensus::ToStore& store);
  [[nodiscard]] StoreResult<bool> write_entries();

  Storage& storage_;
  MemberState state_;  // what the disk holds
  std::uint64_t batch_bytes_;
  std::deque<Waiting> waiting_;
  std::uint64_t written_ = 0;
  std::uint64_t stored_ = 0;
  std::vector<EntryView> entries_;
};

}  // namespace skein::inline v0::journal
