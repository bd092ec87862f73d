// Agents and types passed over when tasks are given out, why, and until when; for people (agents, agent show, swarm
// show, doctor) and for programs. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

struct PassedOver {
  enum class Why : std::uint8_t {
    // Of agents.
    paused,             // by somebody
    paused_itself,      // it said so
    silent,             // no heartbeat
    results_waiting,    // it has as many outcomes as it may that the ledger has not decided yet
    rate_limited,       // it said for how long
    breaker_open,       // too many failures in a row
    suspected,          // it alone fails for good what others complete
    breaker_half_open,  // it is tried out, and has as many tasks as that allows
    poorly,             // its health is below health_floor: gets tasks only when no healthy one is idle
    executor_full,      // the executor it shares with others has no place free
    // Of types of tasks in a swarm.
    crashes,        // agents crashed over them: none is given out
    crashes_tried,  // after such a time: they are given out one by one
  };
  std::string subject;  // the agent; the swarm
  std::string type{};   // of tasks; empty of agents
  Why why = Why::paused;
  ledger::WallMs until = 0;  // about when it is tried again; 0: when its cause has gone
  std::string detail{};      // for people, without the time
};

// Names as they appear in JSON.
[[nodiscard]] constexpr std::string_view name_of(PassedOver::Why why) {
  using enum PassedOver::Why;
  switch (why) {
    case paused:
      return "paused";
    case paused_itself:
      return "paused_itself";
    case silent:
      return "silent";
    case results_waiting:
      return "results_waiting";
    case rate_limited:
      return "rate_limited";
    case breaker_open:
      return "breaker_open";
    case suspected:
      return "suspected";
    case breaker_half_open:
      return "breaker_half_open";
    case poorly:
      return "poorly";
    case executor_full:
      return "executor_full";
    case crashes:
      return "crashes";
    case crashes_tried:
      return "crashes_tried";
  }
  return "unknown";
}

}  // namespace skein::inline v0::dispatch
