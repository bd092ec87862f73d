// How a task goes from one swarm to the next, when its attempts in the first are used up.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/ledger/core.hpp"

namespace skein::inline v0::ledger {
namespace {

// Without the last bytes of a character that is cut through.
std::string_view cut_to(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

// The last failure, and why no other swarm has the task now. The second is whole, whatever the limit.
std::string failure_and_why(std::string_view failure, std::string_view to, std::string_view why, std::size_t bytes) {
  std::string reason = fmt::format("not handed on to swarm '{}': {}", to, why);
  if (failure.empty()) return reason;
  const std::size_t room = bytes > reason.size() + 2 ? bytes - reason.size() - 2 : 0;
  return fmt::format("{}; {}", cut_to(failure, room), reason);
}

RequeueReason reason_of(FallbackCause cause) {
  if (cause == FallbackCause::lease_expired) return RequeueReason::lease_expired;
  return cause == FallbackCause::node_crash ? RequeueReason::node_crash : RequeueReason::agent_crash;
}

}  // namespace

OpResult LedgerCore::on(const FallBack& op) {
  if (head_.version < k_fallback_version) return refuse(Verdict::old_version, head_.version);
  if (auto stale = check_epoch(op.epoch)) return *stale;
  const Found found = running(op.task, op.fence, State::failed);
  if (found.refusal) return *found.refusal;
  const auto limit = head_.limits.message_bytes;
  if (op.message.size() > limit) return refuse(Verdict::too_large, limit);
  const Task& task = tasks_[found.slot];
  if (op.cause == FallbackCause::node_crash && task.deliveries <= head_.limits.deliveries) {
    queue(found.slot, 0, true, TaskQueued::Why::requeued);
    return {Verdict::ok, State::queued, 0, {}};
  }
  Attempt attempt{std::string(view_of(task.agent)), task.fence, began_at(task), op.at, op.error, op.message};
  Again again{op.retry_at, false, TaskQueued::Why::failed_attempt};
  if (op.cause != FallbackCause::reported) {
    const auto words = words_for(reason_of(op.cause));
    attempt.error = words.error;
    attempt.message = words.message;
    again.why = TaskQueued::Why::requeued;
  }
  return attempt_failed(found.slot, std::move(attempt), again, &op);
}

std::string LedgerCore::why_no_fallback(const Task& task, const std::string& to) const {
  if (task.more().fallbacks.size() >= k_fallbacks_max)
    return fmt::format("it was handed on {} times, the most", k_fallbacks_max);
  const auto slot = swarm_slot(to);
  if (!slot) return "there is no such swarm";
  if (*slot == task.swarm_slot) return "it is there already";
  const SwarmSlot& swarm = swarms_[*slot];
  if (!swarm.info->takes_tasks()) return fmt::format("it is {}", name_of(swarm.info->state));
  const auto full = check_queue(swarm, charge_of(task));
  if (full) {
    const bool has_room = swarm.open_tasks < swarm.tasks_max.value_or(head_.limits.swarm_tasks);
    return fmt::format("its queue is full, the limit is {} {}", full->number, has_room ? "bytes" : "tasks");
  }
  return {};
}

OpResult LedgerCore::fall_back(Slot slot, const FallBack& op, const std::string& failure) {
  if (const std::string why = why_no_fallback(tasks_[slot], op.to); !why.empty()) {
    const auto bytes = static_cast<std::size_t>(head_.limits.message_bytes);
    finish(slot, State::failed, Ending::attempts_spent, op.at, nullptr,
           failure_and_why(failure, cut_to(op.to, static_cast<std::size_t>(head_.limits.name_bytes)), why, bytes));
    return {Verdict::ok, State::failed, 0, {}};
  }
  Task& task = tasks_.writable(slot);
  const std::uint64_t bytes = charge_of(task);
  const std::uint32_t to = *swarm_slot(op.to);
  --swarms_[task.swarm_slot].open_tasks;
  swarms_[task.swarm_slot].open_bytes -= bytes;
  ++swarms_[to].open_tasks;
  swarms_[to].open_bytes += bytes;
  task.swarm_slot = to;
  Extras extras = task.more();
  extras.fallbacks.push_back({task.shape->swarm, task.attempts, op.at});
  const std::uint64_t fallbacks = extras.fallbacks.size();
  // The agent it was for is of the swarm it leaves.
  task.extras =
      extras.where().is_pinned() ? unpinned(extras, op.at) : std::make_shared<const Extras>(std::move(extras));
  task.shape = shape_of(op.to, task.shape->type, task.shape->capabilities);
  task.attempts = 0;
  queue(slot, 0, false, TaskQueued::Why::fell_back);
  return {Verdict::ok, State::queued, fallbacks, {}};
}

}  // namespace skein::inline v0::ledger
