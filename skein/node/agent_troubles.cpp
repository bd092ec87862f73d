#include "skein/node/agent_troubles.hpp"

#include <utility>

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
  const auto found = agents_.find(event.child);
  if (found == agents_.end()) return;
  if (event.kind == EventKind::child_stopped) {
    change(found->second, {});
  } else if (has_ended) {
    const bool had_joined = found->second.has_joined;
    change(found->second, {false, had_joined ? found->second.why : words_of(event.reason)});
  }
}

void AgentTroubles::starts(const std::string& agent) {
  const std::scoped_lock lock(mutex_);
  agents_.try_emplace(agent);
}

void AgentTroubles::joined(const std::string& agent) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = agents_.find(agent); found != agents_.end()) change(found->second, {true, std::nullopt});
}

void AgentTroubles::forget(const std::string& agent) {
  const std::scoped_lock lock(mutex_);
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return;
  change(found->second, {});
  agents_.erase(found);
}

std::optional<std::string> AgentTroubles::why(const std::string& agent) const {
  const std::scoped_lock lock(mutex_);
  const auto found = agents_.find(agent);
  return found == agents_.end() ? std::nullopt : found->second.why;
}

std::size_t AgentTroubles::remembered() const {
  const std::scoped_lock lock(mutex_);
  return agents_.size();
}

void AgentTroubles::change(Remembered& agent, Remembered to) {
  if (agent.why) --failing_;
  agent = std::move(to);
  if (agent.why) ++failing_;
  is_any_ = failing_ != 0;
}

}  // namespace skein::inline v0::node
