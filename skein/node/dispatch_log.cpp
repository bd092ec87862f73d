#include "skein/node/dispatch_log.hpp"

#include <fmt/format.h>

namespace skein::inline v0::node {

LogLine line_of(const dispatch::DispatchEvent& event) {
  using enum dispatch::DispatchEvent::Kind;
  switch (event.kind) {
    case breaker_warning:
      return {LogLevel::warning, fmt::format("swarm '{}': {}", event.subject, event.detail)};
    case breaker_opened:
      return {LogLevel::warning,
              fmt::format("swarm '{}': its agents crash over one task after another; it gets none for a while",
                          event.subject)};
    case breaker_half_opened:
      return {LogLevel::info, fmt::format("swarm '{}': one task is tried after the crashes", event.subject)};
    case breaker_closed:
      return {LogLevel::info, fmt::format("swarm '{}': gets tasks again", event.subject)};
    case agent_silent:
      return {LogLevel::warning, fmt::format("agent '{}' is silent and gets no tasks", event.subject)};
    case agent_refused:
      return {LogLevel::warning, fmt::format("agent '{}' gets no tasks: {}", event.subject, event.detail)};
    case routing_timeout:
      return {LogLevel::warning, fmt::format("for '{}': {}", event.subject, event.detail)};
    case deposed:
      return {LogLevel::warning, "another dispatcher has taken over"};
    case dispatch_refused:
      return {LogLevel::error, fmt::format("node '{}' gives out no tasks: {}", event.subject, event.detail)};
    default:
      return {LogLevel::debug, fmt::format("{} '{}' {}", name_of(event.kind), event.subject, event.detail)};
  }
}

std::optional<operations::Event> event_of(const dispatch::DispatchEvent& event) {
  using Kind = operations::Event::Kind;
  operations::Event told;
  told.name = event.subject;
  switch (event.kind) {
    case dispatch::DispatchEvent::Kind::agent_joined:
      told.kind = Kind::agent_changed;
      told.message = "joined";
      return told;
    case dispatch::DispatchEvent::Kind::agent_silent:
      told.kind = Kind::agent_changed;
      told.message = "silent";
      return told;
    case dispatch::DispatchEvent::Kind::agent_left:
      told.kind = Kind::agent_removed;
      told.message = "left";
      return told;
    case dispatch::DispatchEvent::Kind::agent_crashed:
      told.kind = Kind::agent_removed;
      told.message = "crashed";
      return told;
    default:
      return std::nullopt;
  }
}

}  // namespace skein::inline v0::node
