#include "skein/node/agent_troubles.hpp"

namespace skein::inline v0::node {
namespace {

// What is behind all reasons that only say that another one failed.
std::string words_of(const ExitReason& reason) {
  const ExitReason* first = &reason;
  while (first->cause() != nullptr) first = first->cause();
  return first->term().empty() ? first->text() : first->term();
}

}  // namespace

void AgentTroubles::on_event(const SupervisionEvent& event, std::string_view supervisor) {
  if (event.supervisor != supervisor || event.child.empty()) return;
  const bool has_ended = event.kind == EventKind::child_terminated || event.kind == EventKind::child_start_failed ||
                         event.kind == EventKind::child_retried;
  const std::scoped_lock lock(mutex_);
  if (event.kind == EventKind::child_stopped) {
    joined_.erase(event.child);
    why_.erase(event.child);
  } else if (has_ended && joined_.erase(event.child) == 0) {
    why_.insert_or_assign(event.child, words_of(event.reason));
  }
  is_any_ = !why_.empty();
}

void AgentTroubles::joined(const std::string& agent) {
  const std::scoped_lock lock(mutex_);
  joined_.insert(agent);
  why_.erase(agent);
  is_any_ = !why_.empty();
}

std::optional<std::string> AgentTroubles::why(const std::string& agent) const {
  const std::scoped_lock lock(mutex_);
  const auto found = why_.find(agent);
  if (found == why_.end()) return std::nullopt;
  return found->second;
}

}  // namespace skein::inline v0::node
