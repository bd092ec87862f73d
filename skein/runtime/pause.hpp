// Time in which a runtime's whole program stood still: stopped by a signal, frozen, suspended, held by a debugger. It
// does not pass on the runtime's clock (Self::now(), timers, time limits), so nothing that has a time limit pays for
// it. Code that keeps calendar dates beside that clock asks here how far the two are apart. Any thread.
#pragma once

#include "skein/base/time.hpp"

namespace skein::inline v0 {

class Runtime;

// In all pauses since the runtime was made; it only grows.
[[nodiscard]] Duration time_lost(const Runtime& runtime);

// Deterministic runtimes only: the program is stopped for so long, and everything in it runs on afterwards.
void pause_program(Runtime& runtime, Duration time);

}  // namespace skein::inline v0
