// Bugs planted in the journal, and the stories that must find them; see mutants.hpp.
#include <cstdint>

#include "sim/log_world.hpp"
#include "sim/mutants.hpp"

namespace skein::sim {
namespace {

// Each falls within some hundred seeds; one that needs this many hides.
constexpr std::uint64_t k_seeds_max = 5000;

const bool k_registered = add_mutants(
    k_seeds_max, [](std::uint64_t seed) { return tell_log_story(seed, false).violation; },
    {
        {Bug::reply_before_sync, "a client is answered before the sync"},
        {Bug::apply_before_commit, "an entry is applied before it is durable"},
        {Bug::sync_error_ignored, "a failed sync is ignored"},
        {Bug::folder_not_synced, "folders are not synced"},
        {Bug::crc_without_place, "the checksum leaves out segment and position"},
        {Bug::tail_cut_at_mark, "a tail is cut although a whole batch follows"},
        {Bug::torn_batch_half_applied, "a batch counts although its checksum is wrong"},
        {Bug::idle_mark_before_sync, "the mark is written together with what it vouches for"},
        {Bug::tail_not_copied, "a doubtful tail is used as it is"},
        {Bug::snapshot_off_by_one, "a snapshot claims one position too many"},
        {Bug::trim_past_snapshot, "the log is trimmed past the snapshot"},
        {Bug::id_applied_twice, "a command id is applied again"},
        {Bug::copied_tail_not_synced, "a copied tail is not synced"},
        {Bug::crc_without_segment, "a recycled segment's old batches pass"},
        {Bug::mark_ahead_of_sync, "a batch vouches for itself"},
        {Bug::header_not_synced, "a segment gets its name before its header is safe"},
        {Bug::short_segment_accepted, "a segment may be shorter than it was made"},
        {Bug::snapshot_not_synced, "a snapshot is renamed before it is synced"},
        {Bug::hard_state_not_synced, "the hard state is renamed before it is synced"},
        {Bug::decided_not_checked, "nobody asks whether the log holds what was decided"},
        {Bug::configured_ids_win, "the configured id limits win over the folder's"},
        {Bug::found_names_not_synced, "names found at a start are not synced before they are built on"},
        {Bug::next_not_checked, "nobody asks whether the segment is there that the log goes on in"},
        {Bug::next_written_early, "a segment is said to go on in one that is not safe yet"},
        {Bug::side_failure_ignored, "a disk failure of work beside the log is ignored"},
        {Bug::batches_share_sectors, "several batches share a sector"},
        {Bug::folder_room_ignored, "a folder that can't be synced for want of room is taken as harmless"},
        {Bug::found_marks_not_synced, "marks found at a start are taken as safe"},
        {Bug::folder_failure_not_shared, "who syncs a folder does not hear that another's sync of it failed"},
        {Bug::descriptors_poison, "want of descriptors counts as a failed disk"},
        {Bug::unopened_folder_is_synced, "a folder that could not be opened counts as synced"},
        {Bug::named_segment_forgotten, "after want of descriptors it goes on in the segment before"},
        {Bug::doubt_answered_as_refusal, "what may be in the log is answered as not done"},
    });

}  // namespace
}  // namespace skein::sim
