// Times as people write them: a span of time as "5s", a moment as RFC 3339. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

// "500ms", "5s", "2min", "1h", "30d"; nothing for any other text.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);
// With the largest unit that leaves a whole number, hours at most: "90s", "2min", "24h".
[[nodiscard]] std::string time_text(Duration time);

// A moment in milliseconds since 1970 as RFC 3339 in UTC: "2026-11-18T04:10:44.120Z".
[[nodiscard]] std::string moment_text(std::uint64_t wall_ms);
// Reads RFC 3339 with any offset and up to nine digits of a second; nothing for any other text, or before 1970.
[[nodiscard]] std::optional<std::uint64_t> parse_moment(std::string_view text);

}  // namespace skein::inline v0
