// The processes that stand between the node and the OS processes it runs, all of one program:
//
//   node ── guard ── launcher ── keeper ── program, and whatever that starts
//
// The node executes the guard (guard_program.hpp), the guard forks launchers, the launcher forks keepers, a keeper
// starts programs. None of them has the node's environment or memory. Each is single-threaded and a child
// subreaper: whatever loses its parent lands on the nearest of them, which kills it. Each holds its own connection to
// the node and ends everything below it when that closes.
#pragma once

#include <initializer_list>

#include "skein/base/fd.hpp"

namespace skein::inline v0::launcher {

// Lets no other OS process of the same user read this one's memory and environment through /proc or trace it, nor the
// kernel write its memory into a file when it crashes. A process with CAP_SYS_PTRACE can still do so. Not in a
// program that is marked (SKEIN_MARK_... in its environment), whose marks are to be read. False: it is marked.
bool hide_from_others();
// First thing in each of them: closes all descriptors but `kept` (-1: none), puts /dev/null on 0 to 2, takes its own
// session, gives every signal its default, blocks them all, becomes a child subreaper, is continued when its parent
// dies, and hides from others.
void enter_role(const char* name, std::initializer_list<int> kept);
// Last thing: ends the OS process without what the node would do at its exit.
[[noreturn]] void leave_role();
// The kernel, out of memory, looks here first: programs inherit it.
void raise_oom_score();

[[noreturn]] void run_guard(Fd node);
[[noreturn]] void run_launcher(Fd node);

}  // namespace skein::inline v0::launcher
