// What a member's disk holds in the simulation of consensus, and what it was asked to store and has not: hard state,
// log, the newest snapshot, and the file of a snapshot that is coming in. In memory, from a seed, one thread.
//
// Requests are stored in their order. A sync makes the first of them durable, several at once. A crash keeps any first
// part of what was asked for and not synced, down to one step of a request: term and vote; the record that a snapshot
// is being installed; the snapshot under its name with a new log; whole batches of entries, one after the
// other; the decided position. A batch that is torn is dropped. This is what the journal's log store must promise too;
// a class that takes the place of this one keeps this interface.
//
// 1. Nothing durable is lost by a crash, and the disk is never less than what sync() acknowledged.
// 2. A log has no gap, and what it begins after is covered by the snapshot.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/consensus/consensus.hpp"

namespace skein::sim::raft {

using consensus::Entry;
using consensus::HardState;
using consensus::MemberId;
using consensus::Membership;
using consensus::Position;
using consensus::SnapshotOffer;
using consensus::Term;

struct SnapshotFile {
  SnapshotOffer offer;
  std::string bytes;
};

class RaftDisk {
 public:
  // The folder of a new group, whose first entry is its membership; or of a member that is to join one.
  explicit RaftDisk(MemberId self, const std::optional<Entry>& first);

  // What is wrong with a request; nothing when it is taken.
  [[nodiscard]] std::optional<std::string> ask(consensus::ToStore store);
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
  [[nodiscard]] bool must_sync() const;
  // The first `count` requests are durable now. They are given back.
  [[nodiscard]] std::vector<consensus::ToStore> sync(std::size_t count);
  // The program ends. What stays of what was not synced is up to luck. Says in which step a request was torn.
  [[nodiscard]] const char* crash(Random& luck);

  // A snapshot of the own machine, durable at once; an older one is forgotten.
  void put_snapshot(SnapshotFile snapshot);
  // Drops the log up to there, or up to the snapshot when that is less. Says where the log begins now.
  Position trim(Position up_to);
  // Bytes of a snapshot that comes in; at offset 0 a new file begins.
  void write_chunk(const consensus::SnapshotChunk& chunk);
  // The file that came in, when all of it is there: durable, under a name of its own, until it is installed.
  [[nodiscard]] const SnapshotFile* keep_incoming(Position position);

  // What a start finds; an install that has its record is finished first.
  [[nodiscard]] consensus::StartState load();

  [[nodiscard]] std::vector<Entry> read(Position from, std::uint64_t max_bytes) const;
  [[nodiscard]] const HardState& hard() const { return hard_; }
  [[nodiscard]] Position base() const { return base_; }
  [[nodiscard]] Position last() const { return base_ + log_.size(); }
  [[nodiscard]] std::optional<Term> term_at(Position position) const;
  [[nodiscard]] const std::deque<Entry>& log() const { return log_; }
  [[nodiscard]] const std::optional<SnapshotFile>& snapshot() const { return snapshot_; }
  [[nodiscard]] const Membership& base_membership() const { return base_membership_; }

 private:
  void write(const consensus::ToStore& store);
  // Writes the first `steps` steps of a request; all of them when there are no more. Says what the last one was.
  const char* write_some(const consensus::ToStore& store, std::size_t steps);
  void finish_install();
  void put_entry(const Entry& entry);

  MemberId self_;
  HardState hard_;
  Position unsynced_commit_ = 0;  // acknowledged without a sync, and lost by a crash if luck will have it
  Position base_ = 0;
  Term base_term_ = 0;
  Membership base_membership_;
  std::deque<Entry> log_;  // after the base
  std::optional<SnapshotFile> snapshot_;
  std::optional<SnapshotFile> incoming_;
  std::map<Position, SnapshotFile> kept_;  // whole ones that came in: another may come before one is installed
  Position install_record_ = 0;
  std::deque<consensus::ToStore> queue_;
};

}  // namespace skein::sim::raft
