// Where a member of a group keeps what it must not forget: its hard state, its log, the snapshot before it. The disk
// (disk_storage.hpp) and memory (memory_storage.hpp) are two of them; the part that stores (log_part.hpp) knows no more
// than this.
//
// One thread, but for the jobs: these run beside it, on any thread, and come back with job_done().
//
// 1. What sync() or save() has answered is there after a crash; what append() has answered only after the next sync().
// 2. An error that is harmless (StoreError::is_harmless) left everything as it was, and the same may be tried again.
//    After any other the storage answers nothing but errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skein/consensus/membership.hpp"
#include "skein/consensus/message.hpp"
#include "skein/consensus/term_map.hpp"
#include "skein/journal/hard_state.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/snapshot_file.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

// What a start finds, but for the machine's state, which is in the snapshot.
struct StorageStart {
  MemberState state;
  consensus::TermMap terms{0, 0};  // of the whole log; its base is the snapshot's position
  SnapshotMeta snapshot;           // position 0: there is none
  std::uint64_t snapshot_bytes = 0;
  std::vector<std::pair<Position, consensus::Membership>> memberships;  // of the log's entries
  std::vector<Skip> skips;                                              // of the log's entries
  bool has_config = false;                                              // in the log, or in the snapshot
  IdLimits ids;
};

class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;

  [[nodiscard]] virtual StoreResult<void> save(const MemberState& state) = 0;
  // One batch of consecutive entries; the first may replace a tail.
  [[nodiscard]] virtual StoreResult<void> append(std::span<const EntryView> entries) = 0;
  [[nodiscard]] virtual StoreResult<void> sync() = 0;
  [[nodiscard]] virtual Position last() const = 0;
  // See LogStore::read_batches().
  [[nodiscard]] virtual StoreResult<std::vector<consensus::Entry>> read_batches(Position from,
                                                                                std::uint64_t max_bytes) = 0;
  // The snapshot that came in, complete and durable, takes the place of the log: done and durable when this returns.
  // `state` is what the hard state says from then on.
  [[nodiscard]] virtual StoreResult<void> install(const consensus::SnapshotOffer& offer, const MemberState& state) = 0;
  // Drops the log up to there, whole files only. Where it begins now: what stands before is gone.
  virtual Position trim(Position up_to) = 0;

  // Records that the log is durable to its end.
  [[nodiscard]] virtual StoreResult<void> mark_idle() = 0;
  // Bytes of log behind a position: how much a start would have to apply again.
  [[nodiscard]] virtual std::uint64_t bytes_after(Position position) const = 0;
};

}  // namespace skein::inline v0::journal
