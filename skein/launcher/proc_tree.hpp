// The OS processes below this one, found in /proc, and their end.
//
// For the single-threaded processes of the launcher: they are child subreapers, so whatever was started below them
// stays below them, and they have SIGCHLD blocked. scan_processes() and processes_with() may be called by anybody.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::launcher {

struct OsEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?';  // as /proc says, of the first thread
  int threads = 1;
};

// Z of a process is that of its first thread, which may end before the others.
[[nodiscard]] inline bool is_dead(const OsEntry& entry) {
  return entry.state == 'X' || (entry.state == 'Z' && entry.threads <= 1);
}
// The path of what /proc shows of its memory (environ, cmdline): by a thread that lives.
[[nodiscard]] std::string shown_of(const OsEntry& entry, const char* file);

// All processes that existed during the whole scan; one that started meanwhile may be missing.
[[nodiscard]] std::vector<OsEntry> scan_processes();
// Those below `root` in `all`, dead ones included, without the spared and what is below them.
[[nodiscard]] std::vector<OsEntry> descendants(std::span<const OsEntry> all, pid_t root, std::span<const pid_t> spared);

// Those alive that have this, "NAME=VALUE", in their environment; of others' processes only the root may see it.
[[nodiscard]] std::vector<pid_t> processes_with(std::string_view variable);

// Told of each child that was reaped.
using Reaped = std::function<void(pid_t, int status, const rusage&)>;

// Reaps what is dead; true when this process has no child left at all.
bool reap(const Reaped& reaped);
// Stops and then kills every descendant but the spared, again and again, until none lives. Stopping them all first is
// what keeps those from winning who fork faster than one walk through /proc. A walk that finds nobody proves nothing:
// it goes on until this process has no child or, where some are spared, nobody was found for a while and nobody died.
void kill_descendants(std::span<const pid_t> spared, const Reaped& reaped);
// Sends this to every living descendant that is not in the group `but`, once each, those included that come meanwhile.
void signal_descendants(int number, pid_t but);
// Waits for SIGCHLD, at most so long.
void wait_for_child(long milliseconds);

}  // namespace skein::inline v0::launcher
