// The processes that stand between the node and the OS processes it runs, all forks without exec of one program:
//
//   node ── guard ── launcher ── keeper ── program, and whatever that starts
//
// The guard forks launchers, the launcher forks keepers, a keeper starts programs. Each is single-threaded and a child
// subreaper: whatever loses its parent lands on the nearest of them, which kills it. Each holds its own connection to
// the node and ends everything below it when that closes.
#pragma once

#include <initializer_list>

#include "skein/launcher/fd.hpp"

namespace skein::inline v0::launcher {

// First thing in each of them: closes all descriptors but `kept` (-1: none), puts /dev/null on 0 to 2, takes its own
// session, gives every signal its default, blocks them all, and becomes a child subreaper.
void enter_role(const char* name, std::initializer_list<int> kept);
// Last thing: ends the OS process without what the node would do at its exit.
[[noreturn]] void leave_role();
// The kernel, out of memory, looks here first: programs inherit it.
void raise_oom_score();

[[noreturn]] void run_guard(Fd node);
[[noreturn]] void run_launcher(Fd node);

}  // namespace skein::inline v0::launcher
