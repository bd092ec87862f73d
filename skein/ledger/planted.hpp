// Bugs planted in the ledger on purpose, so that the simulator can prove it would find them. As in journal/planted.hpp
// they exist only where SKEIN_PLANTED_BUGS is defined; everywhere else planted() is a constant false.
#pragma once

namespace skein::inline v0::ledger {

enum class Bug {
  stale_fence_accepted,
  completion_applied_twice,
  apply_counts_outside_state,
  requeue_loses_attempts,
  key_forgotten_at_snapshot,
  cancel_reopens_finished,
  queue_limit_off_by_one,
  hop_forgotten,
  handed_on_past_limit,
  pin_not_checked,
  placement_left_out_of_snapshot,
  retry_forgets_agent,
};

#if defined(SKEIN_PLANTED_BUGS)
[[nodiscard]] bool planted(Bug bug) noexcept;
#else
[[nodiscard]] constexpr bool planted(Bug) noexcept { return false; }
#endif

}  // namespace skein::inline v0::ledger
