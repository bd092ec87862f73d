// Bugs planted on purpose, so that a simulation can prove that it would find them. The library has none of them:
// scripts/plant makes the simulator's own copies of the sources from the patches in sim/planted, and each bug is a
// switch in such a copy. A patch that no longer fits its source fails the build. One thread.
#pragma once

#include <optional>

namespace skein {

enum class Bug {
  // supervision
  window_off_by_one,
  window_forgets_early,
  temporary_restarted,
  normal_end_restarted,
  failed_restart_not_counted,
  one_too_few_restarted,
  stops_in_order,
  restarted_beside_leftovers,
  unlinked_before_dead,
  retry_left_standing,
  sibling_not_awaited,
  significant_ignored,
  // journal
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
  // ledger
  stale_fence_accepted,
  completion_applied_twice,
  apply_counts_outside_state,
  requeue_loses_attempts,
  key_forgotten_at_snapshot,
  cancel_reopens_finished,
  queue_limit_off_by_one,
  fallback_forgotten,
  fallback_past_limit,
  pin_not_checked,
  placement_left_out_of_snapshot,
  retry_forgets_agent,
  // dispatch
  drop_on_agent_crash,
  acknowledged_before_commit,
  lease_not_renewed,
  assign_without_waiting,
  requeue_twice,
  lost_in_fallback,
  busy_before_idle,
  ages_above_critical,
  half_open_by_completion_only,
  shared_executor_by_age,
  permanent_counts_for_nobody,
  probe_times_out,
  no_grace_when_late,
  short_grace_when_late,
  timeout_counts_pauses,
  deadline_sleeps_in_pauses,
  pinned_to_anybody,
  pinned_for_good,
  // archive
  archived_before_insert,
  archived_before_seal,
  discord_overlooked,
  numbers_begin_again,
  row_replaced,
  damaged_row_served,
  loss_not_counted,
  retention_by_one_look,
  // operations
  submit_acknowledged_before_commit,
  doubt_forgotten,
};

// At most one at a time.
void plant(std::optional<Bug> bug);
[[nodiscard]] bool planted(Bug bug) noexcept;

}  // namespace skein
