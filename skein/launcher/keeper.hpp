// The keeper: keeps one OS process at a time, with everything that one starts.
//
// A child of the launcher and a child subreaper of its own, so whatever its program starts stays below it, however
// often that forks or starts sessions. That makes two questions cheap and certain: does anything of this program still
// live (has this keeper a child?), and what is it (what is below this keeper?). Where there is a control group it is in
// that as well. A keeper that is clean takes the next program.
//
// How a program ends, and what becomes of what it has started:
// - By itself: that is told at once, and whatever is left of it gets SIGKILL.
// - Asked to (ask_end): it and every descendant get SIGTERM, and all of them have the same time, also when the program
//   itself ends first. What is still there then gets SIGKILL. Its end is told when all are gone.
// - Killed: all get SIGKILL at once.
#pragma once

#include <sys/types.h>

#include "skein/base/fd.hpp"

namespace skein::inline v0::launcher {

// Runs until the connection to the node or the launcher's life line closes; then kills what is below and exits.
// `life_line` is the end of a pipe that hangs up when the launcher dies; `own` is its number where the launcher is,
// which is another than its own in a private view.
[[noreturn]] void run_keeper(Fd node, Fd life_line, pid_t launcher, pid_t own);

}  // namespace skein::inline v0::launcher
