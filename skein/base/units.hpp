// Times and sizes as people write them: in the config, in a swarm's fields, on the command line. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

// "500ms", "5s", "2min", "1h"; nothing for any other text.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);
[[nodiscard]] std::string time_text(Duration time);
// "512", "256KiB", "64MiB", "4GiB".
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace skein::inline v0
