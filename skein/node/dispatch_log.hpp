// What the dispatcher notices, as lines of the node's log and as events. Pure functions; any thread.
//
// One task is no news: only what concerns an agent, a swarm or the node is said aloud, the rest in `debug`.
#pragma once

#include <optional>
#include <string>

#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/node/log.hpp"
#include "skein/operations/event_stream.hpp"

namespace skein::inline v0::node {

struct LogLine {
  LogLevel level = LogLevel::debug;
  std::string text{};
};
[[nodiscard]] LogLine line_of(const dispatch::DispatchEvent& event);
// The type of tasks that a breaker holds back, or no longer does. Nothing for any other event.
[[nodiscard]] std::optional<dispatch::PassedOver> held_type_of(const dispatch::DispatchEvent& event);
// For clients that follow the node's events: agents that come, go or are passed over, and types of tasks held back.
// Nothing: the event is no news for them.
[[nodiscard]] std::optional<operations::Event> event_of(const dispatch::DispatchEvent& event);

}  // namespace skein::inline v0::node
