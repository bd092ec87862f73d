#include "skein/runtime/pause.hpp"

#include "skein/runtime/core.hpp"
#include "skein/runtime/deterministic.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {

Duration time_lost(const Runtime& runtime) { return runtime.core().clock.lost(); }

void pause_program(Runtime& runtime, Duration time) {
  if (runtime.core().deterministic) runtime.core().deterministic->pause(time);
}

}  // namespace skein::inline v0
