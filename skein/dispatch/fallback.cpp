#include "skein/dispatch/fallback.hpp"

#include <optional>
#include <utility>

#include "skein/base/utf8.hpp"
#include "skein/dispatch/placement_policy.hpp"

namespace skein::inline v0::dispatch {
namespace {

// Of a requeue that may cost an attempt.
std::optional<ledger::FallbackCause> cause_of(ledger::RequeueReason reason) {
  using enum ledger::RequeueReason;
  if (reason == agent_crash) return ledger::FallbackCause::agent_crash;
  if (reason == lease_expired) return ledger::FallbackCause::lease_expired;
  if (reason == node_crash) return ledger::FallbackCause::node_crash;
  return std::nullopt;
}

}  // namespace

const std::string& Fallback::swarm_for(const TaskRecord& task) const {
  static const std::string k_none;
  if (!task.pinned_to().empty() && !policy_of(task, options_).may_unpin) return k_none;
  const bool is_last = task.attempts + 1 >= task.attempts_max;
  return is_last && version_ >= ledger::k_fallback_version ? swarms_[task.swarm].fallback : k_none;
}

ledger::Op Fallback::failed(const TaskRecord& task, ledger::Epoch epoch, ledger::Fail failure) const {
  const std::string& to = swarm_for(task);
  if (to.empty() || failure.error == ledger::ErrorClass::permanent) return failure;
  return ledger::FallBack{epoch,
                          failure.task,
                          failure.fence,
                          failure.at,
                          ledger::FallbackCause::reported,
                          failure.error,
                          failure.retry_at,
                          std::move(failure.message),
                          to};
}

ledger::Op Fallback::requeued(const TaskRecord& task, const ledger::Requeue& op, const std::string* last_words) const {
  constexpr auto k_crash = ledger::ErrorClass::crash;
  const auto cause = cause_of(op.reason);
  const std::string to = cause ? swarm_for(task) : std::string();
  const bool has_words = op.reason == ledger::RequeueReason::agent_crash && last_words != nullptr &&
                         version_ >= ledger::k_crash_words_version;
  if (has_words) {
    ledger::Fail failure{op.task, op.fence, op.at, k_crash, op.not_before, ""};
    failure.message = shown_text("the agent crashed: " + *last_words, k_message_bytes_max);
    return failed(task, op.epoch, std::move(failure));
  }
  if (to.empty()) return op;
  return ledger::FallBack{op.epoch, op.task, op.fence, op.at, *cause, k_crash, op.not_before, "", to};
}

}  // namespace skein::inline v0::dispatch
