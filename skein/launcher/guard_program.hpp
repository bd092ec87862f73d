// How the guard is started: this program executes itself again, with next to nothing in its environment.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <expected>

#include "skein/base/fd.hpp"

namespace skein::inline v0::launcher {

struct GuardProgram {
  Fd socket;
  pid_t pid = 0;  // a child of the caller, which is to reap it
};

// Its soft limit on open files is that of `open_files`. The error is an errno. Any thread, also beside others; the
// caller's signals and descriptors do not matter.
[[nodiscard]] std::expected<GuardProgram, int> start_guard_program(const rlimit& open_files);

}  // namespace skein::inline v0::launcher
