// What a pause does to tasks and runs. Two kinds:
//
// - This dispatcher alone had no turn (late_step): the clock went on, agents may have spoken, and their messages lie
//   unread behind the one at hand. Every run gets a full lease, in which they are read, and the time that was missed is
//   added to its timeout.
// - The whole program stood still (on_time_lost): the clock did too (runtime/pause.hpp), so leases and timeouts are as
//   they were. What was promised by the clock on the wall comes due earlier: deadlines, and tasks that wait for a time.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {
namespace {

// Never before the beginning of time.
Instant earlier(Instant at, Duration by) { return at == Instant::max() ? at : at - by; }

}  // namespace

void DispatcherCore::late_step(const Moment& moment) {
  const Duration missed = between(promised_, moment.now);
  if (missed <= std::min(options_.late_after, options_.lease / 4)) return;
  std::size_t given = 0;
  for (SlotNumber i = 0; i < tables_.runs.slots(); ++i) {
    Run& run = tables_.runs[i];
    if (run.agent == k_no_slot || run.task == k_no_slot) continue;
    // Those of a program that has ended have no lease at all. What came after the pause has lost nothing.
    const bool is_dead = run.ref.fence <= options_.dead_fence && !run.is_confirmed;
    if (is_dead || run.lease_until == Instant::max()) continue;
    ++given;
    run.lease_until = std::max(run.lease_until, later(moment.now, options_.lease));
    if (run.since < promised_) {
      run.since += missed;
      if (run.timeout_at != Instant::max()) run.timeout_at = later(run.timeout_at, missed);
    }
    set_due(run.task);
  }
  ++counters_.late_steps;
  output_.tell(DispatchEvent::Kind::was_late, options_.node, 0,
               fmt::format("the dispatcher had no turn for {} ms: {} runs get a new lease",
                           std::chrono::duration_cast<std::chrono::milliseconds>(missed).count(), given));
}

void DispatcherCore::on_time_lost(Duration lost, const Moment&) {
  if (!has_state_ || is_deposed_) return;
  for (SlotNumber i = 0; i < tables_.tasks.slots(); ++i) {
    TaskRecord& task = tables_.tasks[i];
    if (task.number == 0) continue;
    task.deadline_due = earlier(task.deadline_due, lost);
    task.wait_until = earlier(task.wait_until, lost);
    set_due(i);
  }
  ++counters_.pauses;
  output_.tell(DispatchEvent::Kind::was_paused, options_.node, 0,
               fmt::format("the node stood still for {} ms, which count for no lease, timeout or other limit",
                           std::chrono::duration_cast<std::chrono::milliseconds>(lost).count()));
}

}  // namespace skein::inline v0::dispatch
