// The applied side of a journal: takes entries in order, applies each command once, and keeps a running hash over
// (entry, result) that serves as divergence alarm and audit head.
//
// Pure and single-threaded: no disk, no clock. Invariants:
// 1. position() is the position of the last entry applied; the next must be exactly one more.
// 2. A command whose id is remembered is answered from memory and does not reach the machine.
// 3. Whatever a machine throws stops the replica at that position for good; nothing after it is applied.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "skein/base/sha256.hpp"
#include "skein/journal/id_table.hpp"
#include "skein/journal/machine.hpp"
#include "skein/journal/snapshot_file.hpp"

namespace skein::inline v0::journal {

struct Applied {
  Position position = 0;    // where the command was first applied
  std::string result;       // what the machine answered
  bool repeated = false;    // the id had been applied before; the answer is the remembered one
  bool result_kept = true;  // false: repeated, and the answer was too long to be remembered
  bool skipped = false;     // an operator had this entry skipped
};

struct ApplyFailure {
  Position position = 0;
  std::string what;

  [[nodiscard]] std::string describe() const;
};

class Replica {
 public:
  Replica(MachineRef machine, IdLimits limits);

  [[nodiscard]] std::expected<Applied, ApplyFailure> apply(const EntryView& entry);
  // Positions that are passed over, from skip entries further on in the log. See `skein log skip`.
  void set_skips(std::set<Position> positions) { skips_ = std::move(positions); }

  // The state as of position(), to be written by write_snapshot on another thread.
  [[nodiscard]] FrozenState freeze();
  // Takes the place of everything applied so far. False when the machine or the table refuses the bytes.
  [[nodiscard]] bool restore(const SnapshotMeta& meta, std::string_view body);

  // For a new replica, before anything is applied.
  void use_limits(IdLimits limits) { ids_ = IdTable(limits); }

  [[nodiscard]] Position position() const { return position_; }
  [[nodiscard]] Term term() const { return term_; }
  [[nodiscard]] Digest hash() const { return hash_.digest(); }
  [[nodiscard]] const std::string& membership() const { return membership_; }
  [[nodiscard]] IdLimits limits() const { return ids_.limits(); }
  // Of the log's configuration; 0 before that is applied.
  [[nodiscard]] ClusterId cluster() const { return cluster_; }
  [[nodiscard]] const std::optional<ApplyFailure>& failure() const { return failure_; }

 private:
  [[nodiscard]] Applied apply_command(const EntryView& entry);
  void configure(const EntryView& entry);
  void hash_in(const EntryView& entry, std::string_view result);

  MachineRef machine_;
  IdTable ids_;
  Sha256 hash_;
  Position position_ = 0;
  Term term_ = 0;
  std::string membership_;
  ClusterId cluster_ = 0;
  std::set<Position> skips_;
  std::optional<ApplyFailure> failure_;
};

}  // namespace skein::inline v0::journal
