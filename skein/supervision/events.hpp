// Structured reports of what supervisors do: for logs, the dashboard and tests. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"
#include "skein/runtime/exit_reason.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0 {

enum class EventKind : std::uint8_t {
  child_started,
  child_start_failed,  // while its supervisor starts, which ends with it
  child_terminated,    // it ended by itself, with `reason`
  child_restarted,
  child_retried,       // a start failed; tried again after `delay`
  child_backing_off,   // it is started again after `delay`
  child_parked,        // isolated and its budget is spent; tried again after `delay`
  child_stopped,       // stopped by its supervisor
  shutdown_error,      // stopped, but ended with another reason than it should; `count` children with it
  intensity_warning,   // `used` of `intensity` reached 80%
  intensity_exceeded,  // the supervisor gives up
  escalated,           // the supervisor ends with its child's reason
  auto_shutdown,       // a significant child ended
  leftovers,           // `count` processes of a dead child supervisor are still dying; the restart waits for them
  reconfigured,
  supervisor_started,
  supervisor_stopped,
};

enum class EventLevel : std::uint8_t { debug, info, warning, error };

struct SupervisionEvent {
  EventKind kind = EventKind::child_started;
  EventLevel level = EventLevel::info;
  Instant at{};
  std::string supervisor;  // its name
  Pid supervisor_pid;
  std::string child;  // its id; in a pool the template's
  Pid pid;            // of the child, as far as there is one
  ExitReason reason;
  Duration delay{};
  std::uint32_t used = 0;
  std::uint32_t intensity = 0;
  std::uint64_t count = 0;
  std::uint64_t children = 0;  // how many the supervisor has
};

struct EventFormat {
  std::size_t depth = 8;         // of reasons behind reasons; deeper ones become "..."
  std::size_t max_chars = 4096;  // longer ones are cut and end in "..."
  bool single_line = true;       // line breaks in what people wrote become spaces
};

[[nodiscard]] std::string_view event_name(EventKind kind);
[[nodiscard]] std::string_view level_name(EventLevel level);
// "error core: child db <0.7.1> ended: crash(...) (3 children)"
[[nodiscard]] std::string event_text(const SupervisionEvent& event, const EventFormat& format = {});
// One JSON object on one line.
[[nodiscard]] std::string event_json(const SupervisionEvent& event);
// A reason with the reasons behind it, `depth` deep.
[[nodiscard]] std::string reason_text(const ExitReason& reason, std::size_t depth);

}  // namespace skein::inline v0
