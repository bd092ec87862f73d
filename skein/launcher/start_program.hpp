// Starts one OS process as its spec says. For the keeper: single-threaded, signals blocked, every descriptor it holds
// close-on-exec, 0 to 2 on /dev/null.
//
// The new process has its own session and group, the limits, directory and environment of the spec, no signal blocked
// or ignored, nothing open but its three pipes, and is killed by the kernel when the keeper dies. It runs as the user
// of the spec, with its umask, and gains no rights by setuid programs unless the spec says so.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

#include "skein/base/fd.hpp"
#include "skein/launcher/os_process.hpp"

namespace skein::inline v0::launcher {

struct Program {
  pid_t pid = 0;
  Fd pidfd;
  Fd stdin_end;  // the node's ends of its pipes, non-blocking
  Fd stdout_end;
  Fd stderr_end;
};

// In the control group whose folder `group` is, -1: in the keeper's own. An error says which step failed, on what, and
// the errno text.
[[nodiscard]] std::expected<Program, std::string> start_program(const OsSpec& spec, int group);

}  // namespace skein::inline v0::launcher
