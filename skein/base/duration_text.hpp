// How long something took, for people: rounded, in two units at most. Pure; any thread. What is read again by programs
// is written by time_text.hpp.
#pragma once

#include <cstdint>
#include <string>

namespace skein::inline v0 {

// "250 ms", "3.2 s", "2 min 5 s", "2 h 5 min", "3 d 4 h".
[[nodiscard]] std::string duration_text(std::uint64_t milliseconds);

}  // namespace skein::inline v0
