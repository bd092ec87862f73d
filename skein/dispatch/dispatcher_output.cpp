#include "skein/dispatch/dispatcher_output.hpp"

namespace skein::inline v0::dispatch {

std::string_view name_of(DispatchEvent::Kind kind) {
  using enum DispatchEvent::Kind;
  switch (kind) {
    case agent_joined:
      return "agent_joined";
    case agent_left:
      return "agent_left";
    case agent_crashed:
      return "agent_crashed";
    case agent_refused:
      return "agent_refused";
    case agent_silent:
      return "agent_silent";
    case agent_passed_over:
      return "agent_passed_over";
    case agent_back:
      return "agent_back";
    case was_late:
      return "was_late";
    case was_paused:
      return "was_paused";
    case routing_timeout:
      return "routing_timeout";
    case lease_expired:
      return "lease_expired";
    case attempt_timed_out:
      return "attempt_timed_out";
    case preempted:
      return "preempted";
    case returned:
      return "taken_back";
    case fell_back:
      return "handed_on";
    case unpinned:
      return "unpinned";
    case breaker_warning:
      return "breaker_warning";
    case breaker_opened:
      return "breaker_opened";
    case breaker_half_opened:
      return "breaker_half_opened";
    case breaker_closed:
      return "breaker_closed";
    case deposed:
      return "deposed";
    case dispatch_refused:
      return "dispatch_refused";
    case learned_refused:
      return "learned_refused";
  }
  return "unknown";
}

}  // namespace skein::inline v0::dispatch
