// Damage to the files of a journal, and what has to come of it. Plain functions on a simulated disk.
//
// What carries something, in a log that was closed:
//   the header sector of a segment that counts; its batches that still count, every byte of them, padding too;
//   the newest snapshot; the hard state. Damage there must be reported.
// What carries nothing: the room after the last batch, the superseded mark slot, the rest of the header block, spares,
//   segments that no longer count, older snapshots, unfinished files. Damage there must not keep the journal from
//   opening with all it had.
// In between: the newest mark, which vouches for what can be read anyway, and the loss of a whole file that others can
//   stand in for (a snapshot while the log reaches back to its beginning); and the header of a segment that no longer
//   counts, for without it nobody can tell that. It is reported or nothing is missing.
//
// After a crash the last batch is in doubt, unless a mark vouches for it: damage there can't be told from a torn write,
// and may cost that batch and nothing else. A last segment that was made and not yet linked to holds nothing that
// anyone has seen, and may be lost. All other damage must lead to the same as in a closed log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/sim_disk.hpp"
#include "skein/base/random.hpp"
#include "skein/journal/entry.hpp"

namespace skein::sim {

// The stricter first.
enum class Expect {
  reported,
  reported_or_last_batch_cut,
  reported_or_unseen_lost,  // what nobody was told of and no machine had applied
  reported_or_complete,
  complete
};

struct Damage {
  std::string what;
  const char* kind = "";  // of damage, in few words
  Expect expect = Expect::reported_or_complete;
  journal::Position last_batch = 0;  // where the last batch of the log starts
};

// Damages one place of the journal in `dir`. Nothing when there is no fitting place, or the log can't be read as it is.
[[nodiscard]] std::optional<Damage> damage_something(SimDisk& disk, const std::string& dir, bool closed,
                                                     Random& random);

}  // namespace skein::sim
