// What the tests of this folder share.
#pragma once

#include <chrono>
#include <cstdint>

#include "skein/base/time.hpp"

namespace skein::inline v0::tests {

// A moment on a clock that began at nought.
inline Instant at(std::int64_t ms) { return Instant(std::chrono::milliseconds(ms)); }

}  // namespace skein::inline v0::tests
