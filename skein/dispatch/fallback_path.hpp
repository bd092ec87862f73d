// What becomes of a task whose attempt failed: another attempt, then another agent, then the fallback swarm, then
// FAILED.
//
// A small value kept beside a task. The first retry may go to anybody, later ones avoid all who failed it; when the
// attempts are used up the fallback swarm, if there is one, gets as many again, once. A permanent error ends it at
// once. A crash of a node costs no attempt and is not told here. One thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "skein/dispatch/router.hpp"
#include "skein/resilience/retry_policy.hpp"

namespace skein::inline v0 {

enum class FallbackStep : std::uint8_t { next_attempt, another_agent, fallback_swarm, failed };

[[nodiscard]] constexpr std::string_view fallback_step_name(FallbackStep step) {
  switch (step) {
    case FallbackStep::next_attempt:
      return "next_attempt";
    case FallbackStep::another_agent:
      return "another_agent";
    case FallbackStep::fallback_swarm:
      return "fallback_swarm";
    case FallbackStep::failed:
      return "failed";
  }
  return "unknown";
}

class FallbackPath {
 public:
  // `attempts` in all at one swarm, the first one counted; 0 counts as 1.
  FallbackPath(std::uint32_t attempts, bool has_fallback_swarm)
      : attempts_(std::max(attempts, 1U)), has_fallback_swarm_(has_fallback_swarm) {}

  // An attempt by `agent` failed. After `failed` it stays so.
  FallbackStep attempt_failed(AgentHandle agent, ErrorClass error) {
    if (over_) return FallbackStep::failed;
    ++used_;
    if (error == ErrorClass::permanent) return end();
    if (used_ < attempts_) {
      remember(agent);
      return used_ == 1 ? FallbackStep::next_attempt : FallbackStep::another_agent;
    }
    return next_swarm();
  }

  // Nobody else is there to try (Router answered timed_out, or only_avoided or nobody_has_them and waiting is no use).
  FallbackStep no_agent_left() { return over_ ? FallbackStep::failed : next_swarm(); }

  // For Router::Request::avoid: nobody at the first retry, all who failed it after that.
  [[nodiscard]] std::span<const AgentHandle> avoid() const {
    return std::span(tried_).first(used_ <= 1 ? 0 : std::min<std::size_t>(count_, tried_.size()));
  }
  [[nodiscard]] std::uint32_t attempts_used() const { return used_; }
  [[nodiscard]] bool in_fallback_swarm() const { return in_fallback_; }

 private:
  void remember(AgentHandle agent) {
    const auto end = tried_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, tried_.size()));
    if (std::find(tried_.begin(), end, agent) != end) return;
    tried_[count_ % tried_.size()] = agent;
    ++count_;
  }
  FallbackStep next_swarm() {
    if (!has_fallback_swarm_ || in_fallback_) return end();
    in_fallback_ = true;
    used_ = 0;
    count_ = 0;
    return FallbackStep::fallback_swarm;
  }
  FallbackStep end() {
    over_ = true;
    return FallbackStep::failed;
  }

  std::uint32_t attempts_;
  bool has_fallback_swarm_;
  bool in_fallback_ = false;
  bool over_ = false;
  std::uint32_t used_ = 0;
  std::size_t count_ = 0;
  std::array<AgentHandle, Router::k_avoid_max> tried_{};
};

}  // namespace skein::inline v0
