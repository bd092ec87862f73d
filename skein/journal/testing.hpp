// What the tests of this folder share.
#pragma once

#include <chrono>
#include <string>

#include "skein/journal/machine.hpp"

namespace skein::inline v0::journal::tests {

// Longer than any answer takes.
inline constexpr std::chrono::milliseconds k_long{60'000};

inline std::string bytes_of(const Frozen& frozen) {
  StringSink sink;
  frozen.write(sink);
  return sink.text;
}

}  // namespace skein::inline v0::journal::tests
