// Bugs planted on purpose, so that the simulator can prove it would find them. They exist only where
// SKEIN_PLANTED_BUGS is defined (the simulator's own build of these sources, which also defines planted()); everywhere
// else planted() is a constant false and the branch is not compiled.
#pragma once

namespace skein::inline v0::journal {

enum class Bug {
  reply_before_sync,
  folder_not_synced,
  crc_without_place,
  tail_cut_at_mark,
  snapshot_off_by_one,
  trim_past_snapshot,
  id_applied_twice,
  apply_before_commit,
  torn_batch_half_applied,
  sync_error_ignored,
  idle_mark_before_sync,
  tail_not_copied,
  copied_tail_not_synced,
  crc_without_segment,
  mark_ahead_of_sync,
  header_not_synced,
  short_segment_accepted,
  snapshot_not_synced,
  hard_state_not_synced,
  decided_not_checked,
  configured_ids_win,
  doubt_answered_as_refusal,
  found_names_not_synced,
  next_not_checked,
  next_written_early,
  side_failure_ignored,
  batches_share_sectors,
  folder_room_ignored,
  found_marks_not_synced,
  folder_failure_not_shared,
  descriptors_poison,
  unopened_folder_is_synced,
  named_segment_forgotten,
};

#if defined(SKEIN_PLANTED_BUGS)
[[nodiscard]] bool planted(Bug bug) noexcept;
#else
[[nodiscard]] constexpr bool planted(Bug) noexcept { return false; }
#endif

}  // namespace skein::inline v0::journal
