// Sizes as people write them, in the config and in a swarm's fields; times are in base/time_text.hpp. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skein::inline v0 {

// "512", "256KiB", "64MiB", "4GiB".
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace skein::inline v0
