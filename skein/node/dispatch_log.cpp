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
              fmt::format("swarm '{}': {}; none is given out for a while", event.subject, event.detail)};
    case breaker_half_opened:
      return {LogLevel::info, fmt::format("swarm '{}': {}, one by one", event.subject, event.detail)};
    case breaker_closed:
      return {LogLevel::info, fmt::format("swarm '{}': {}", event.subject,
                                          event.detail.empty() ? "its tasks are given out again" : event.detail)};
    case agent_passed_over:
      return {LogLevel::warning, fmt::format("agent '{}' is passed over: {}", event.subject, event.detail)};
    case agent_back:
      return {LogLevel::info, fmt::format("agent '{}': {}", event.subject, event.detail)};
    case agent_silent:
      return {LogLevel::warning, fmt::format("agent '{}' is silent and gets no tasks", event.subject)};
    case was_late:
    case was_paused:
      return {LogLevel::warning, event.detail};
    case agent_refused:
      return {LogLevel::warning, fmt::format("agent '{}' gets no tasks: {}", event.subject, event.detail)};
    case routing_timeout:
      return {LogLevel::warning, fmt::format("for '{}': {}", event.subject, event.detail)};
    case deposed:
      return {LogLevel::warning, "another dispatcher has taken over"};
    case dispatch_refused:
      return {LogLevel::error, fmt::format("node '{}' gives out no tasks: {}", event.subject, event.detail)};
    case unpinned:
      return {LogLevel::info, fmt::format("agent '{}' {}", event.subject, event.detail)};
    case learned_refused:
      return {LogLevel::warning, event.detail};
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
    case dispatch::DispatchEvent::Kind::agent_passed_over:
      told.kind = Kind::agent_changed;
      told.message = "passed over: " + event.detail;
      return told;
    case dispatch::DispatchEvent::Kind::agent_back:
      told.kind = Kind::agent_changed;
      told.message = event.detail;
      return told;
    case dispatch::DispatchEvent::Kind::breaker_opened:
    case dispatch::DispatchEvent::Kind::breaker_warning:
      told.kind = Kind::swarm_problem;
      told.message = event.detail;
      return told;
    case dispatch::DispatchEvent::Kind::breaker_closed:
      told.kind = Kind::swarm_mended;
      told.message = event.detail;
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

std::optional<dispatch::PassedOver> held_type_of(const dispatch::DispatchEvent& event) {
  using enum dispatch::DispatchEvent::Kind;
  using Why = dispatch::PassedOver::Why;
  if (event.kind != breaker_opened && event.kind != breaker_half_opened && event.kind != breaker_closed) return {};
  if (event.type.empty()) return std::nullopt;
  const Why why = event.kind == breaker_opened ? Why::crashes : Why::crashes_tried;
  return dispatch::PassedOver{event.subject, event.type, why, event.until, event.detail};
}

}  // namespace skein::inline v0::node
