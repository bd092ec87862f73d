// What the dispatcher notices, as lines of the node's log. A pure function; any thread.
//
// One task is no news: only what concerns an agent, a swarm or the node is said aloud, the rest in `debug`.
#pragma once

#include <string>

#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/node/log.hpp"

namespace skein::inline v0::node {

struct LogLine {
  LogLevel level = LogLevel::debug;
  std::string text{};
};
[[nodiscard]] LogLine line_of(const dispatch::DispatchEvent& event);

}  // namespace skein::inline v0::node
