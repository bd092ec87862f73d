// skein-sim mutants: the simulator against bugs planted in the journal. Only skein-sim has them: it is linked with its
// own build of the journal's sources, in which planted() asks here. One thread.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "sim/log_world.hpp"
#include "sim/simulation.hpp"
#include "skein/journal/planted.hpp"

namespace skein::inline v0::journal {
namespace {

std::optional<Bug>& the_planted() {
  static std::optional<Bug> bug;
  return bug;
}

}  // namespace

bool planted(Bug bug) noexcept { return the_planted() == bug; }

}  // namespace skein::inline v0::journal

namespace skein::sim {
namespace {

using journal::Bug;

// Each falls within some hundred seeds; one that needs this many hides from the simulator.
constexpr std::uint64_t k_seeds_max = 5000;

struct Mutant {
  Bug bug;
  const char* what;
};

constexpr std::array k_mutants = {
    Mutant{Bug::reply_before_sync, "a client is answered before the sync"},
    Mutant{Bug::apply_before_commit, "an entry is applied before it is durable"},
    Mutant{Bug::sync_error_ignored, "a failed sync is ignored"},
    Mutant{Bug::folder_not_synced, "folders are not synced"},
    Mutant{Bug::crc_without_place, "the checksum leaves out segment and position"},
    Mutant{Bug::tail_cut_at_mark, "a tail is cut although a whole batch follows"},
    Mutant{Bug::torn_batch_half_applied, "a batch counts although its checksum is wrong"},
    Mutant{Bug::idle_mark_before_sync, "the mark is written together with what it vouches for"},
    Mutant{Bug::tail_not_copied, "a doubtful tail is used as it is"},
    Mutant{Bug::snapshot_off_by_one, "a snapshot claims one position too many"},
    Mutant{Bug::trim_past_snapshot, "the log is trimmed past the snapshot"},
    Mutant{Bug::id_applied_twice, "a command id is applied again"},
    Mutant{Bug::copied_tail_not_synced, "a copied tail is not synced"},
    Mutant{Bug::crc_without_segment, "a recycled segment's old batches pass"},
    Mutant{Bug::mark_ahead_of_sync, "a batch vouches for itself"},
    Mutant{Bug::header_not_synced, "a segment gets its name before its header is safe"},
    Mutant{Bug::short_segment_accepted, "a segment may be shorter than it was made"},
    Mutant{Bug::snapshot_not_synced, "a snapshot is renamed before it is synced"},
    Mutant{Bug::hard_state_not_synced, "the hard state is renamed before it is synced"},
    Mutant{Bug::decided_not_checked, "nobody asks whether the log holds what was decided"},
    Mutant{Bug::configured_ids_win, "the configured id limits win over the folder's"},
    Mutant{Bug::found_names_not_synced, "names found at a start are not synced before they are built on"},
    Mutant{Bug::next_not_checked, "nobody asks whether the segment is there that the log goes on in"},
    Mutant{Bug::next_written_early, "a segment is said to go on in one that is not safe yet"},
    Mutant{Bug::side_failure_ignored, "a disk failure of work beside the log is ignored"},
    Mutant{Bug::batches_share_sectors, "several batches share a sector"},
    Mutant{Bug::folder_room_ignored, "a folder that can't be synced for want of room is taken as harmless"},
    Mutant{Bug::found_marks_not_synced, "marks found at a start are taken as safe"},
    Mutant{Bug::folder_failure_not_shared, "who syncs a folder does not hear that another's sync of it failed"},
    Mutant{Bug::doubt_answered_as_refusal, "what may be in the log is answered as not done"},
};

std::optional<std::uint64_t> seed_that_catches(Bug bug, std::string& violation) {
  journal::the_planted() = bug;
  std::optional<std::uint64_t> caught;
  for (std::uint64_t seed = 1; seed <= k_seeds_max && !caught; ++seed) {
    const auto story = tell_log_story(seed, false);
    if (!story.violation) continue;
    violation = *story.violation;
    caught = seed;
  }
  journal::the_planted().reset();
  return caught;
}

int run_mutants(std::span<const std::string> args) {
  if (!args.empty()) {
    fmt::print(stderr, "skein-sim: 'mutants' takes no arguments\nusage: skein-sim mutants\n");
    return k_bad_usage;
  }
  std::size_t caught = 0;
  for (const Mutant& mutant : k_mutants) {
    std::string violation;
    const auto seed = seed_that_catches(mutant.bug, violation);
    if (seed) {
      ++caught;
      fmt::print("caught by seed {:>4}: {}\n                     {}\n", *seed, mutant.what, violation);
    } else {
      fmt::print("NOT CAUGHT by {} seeds: {}\n", k_seeds_max, mutant.what);
    }
    std::fflush(stdout);
  }
  fmt::print("{} of {} caught\n", caught, k_mutants.size());
  return caught == k_mutants.size() ? k_nothing_violated : k_violated;
}

const Registrar k_registered{{.name = "mutants", .usage = "mutants", .run = run_mutants}};

}  // namespace
}  // namespace skein::sim
