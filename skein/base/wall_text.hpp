// Times and durations of the wall clock for people, the same in every answer. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace skein::inline v0 {

// RFC 3339 in UTC, with milliseconds where there are some: "2026-11-18T04:20:00Z", "2026-11-18T04:20:00.125Z".
[[nodiscard]] std::string time_text(std::uint64_t wall_ms);
// "250 ms", "3.2 s", "2 min 5 s", "2 h 5 min", "3 d 4 h".
[[nodiscard]] std::string duration_text(std::uint64_t milliseconds);

}  // namespace skein::inline v0
