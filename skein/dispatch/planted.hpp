// Bugs planted on purpose in the dispatcher, so that the simulator can prove it would find them; as
// journal/planted.hpp.
#pragma once

namespace skein::inline v0::dispatch {

enum class Bug {
  drop_on_agent_crash,
  acknowledged_before_commit,
  lease_not_renewed,
  assign_without_waiting,
  requeue_twice,
  lost_when_handed_on,
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
};

#if defined(SKEIN_PLANTED_BUGS)
[[nodiscard]] bool planted(Bug bug) noexcept;
#else
[[nodiscard]] constexpr bool planted(Bug) noexcept { return false; }
#endif

}  // namespace skein::inline v0::dispatch
