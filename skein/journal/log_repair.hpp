// Getting a damaged journal to start again, by dropping as little as can be dropped. First a plan, to be shown and
// asked about; then, if wanted, the deed.
//
// What is kept: the newest snapshot that is whole, and after it every entry that can be reached without a gap. Damage
// before the snapshot costs nothing. What lies beyond a gap can't be kept: a log with a hole is no log.
//
// The deed writes what is kept into one new segment that starts right after the snapshot, and gives it its name only
// when it is synced. From then on the old segments are obsolete by the log's own rules, so a crash at any point leaves
// the old journal or the new one. The old files stay beside it, renamed to *.damaged. One thread, the folder locked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/journal/disk.hpp"
#include "skein/journal/hard_state.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

struct RepairPlan {
  bool needed = false;
  std::vector<std::string> damage;  // what is wrong, one line each
  Position snapshot = 0;            // that is built on; 0 when there is none
  Position keep_last = 0;           // kept: entries after the snapshot up to here
  std::uint64_t dropped = 0;        // whole entries that lie beyond the gap
  Position dropped_first = 0;
  Position dropped_last = 0;
  Position known_last = 0;  // the log is known to have gone at least this far

  // For the deed.
  std::vector<SegmentImage> kept;  // with the batches that are kept
  std::vector<std::string> set_aside;
  std::uint64_t next_segment_id = 1;
  Term term = 1;
  HardState hard;
  IdLimits ids;

  // For people: what is wrong, what is kept, what is dropped.
  [[nodiscard]] std::string describe() const;
};

// Looks and changes nothing. An error when there is nothing to build on: then only a backup helps.
[[nodiscard]] StoreResult<RepairPlan> plan_repair(Disk& disk, const std::string& dir);
[[nodiscard]] StoreResult<void> carry_out_repair(Disk& disk, const std::string& dir, const RepairPlan& plan);

}  // namespace skein::inline v0::journal
