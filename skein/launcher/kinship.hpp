// Tells whether a process, or the peer of a Unix socket, descends from this program's helpers: whether an agent started
// it, however indirectly. Any thread.
//
// Guard, launchers and keepers are child subreapers, so whatever a program starts stays below its keeper, however often
// it forks, starts sessions or loses its parent. The walk goes up from the process by /proc/PID/stat:
// 1. A link is believed only if the child still has that parent after the parent was looked at: as long as it has, the
//    parent has not exited, so its number meant it and no later process.
// 2. A descendant stays one for as long as it lives, so a walk whose links are right one after the other meets a
//    helper, though no two of them need hold at the same time.
// 3. The peer of a socket is held by a pidfd meanwhile (SO_PEERPIDFD, Linux 6.5), so its number cannot mean another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace skein::inline v0::launcher {

// The helpers of this program that live.
void add_helper(pid_t pid);
void remove_helper(pid_t pid);

enum class Descent : std::uint8_t {
  apart,       // it was not started by an agent
  below,       // it was
  gone,        // it has ended and was reaped: nobody can say
  unreadable,  // an ancestor is hidden from this user (hidepid)
  restless,    // its ancestors changed at every look, or there are more than k_ancestors_max
};

struct ProcessLook {
  pid_t parent = 0;
  std::uint64_t started = 0;  // since boot, in the kernel's ticks
};
// Nothing: there is no such process, or it cannot be seen.
using LookAt = std::function<std::optional<ProcessLook>(pid_t)>;

inline constexpr int k_ancestors_max = 4'096;
inline constexpr int k_walks = 16;  // before a process counts as restless

// The walk by itself; pure but for `look`.
[[nodiscard]] Descent descent_of(pid_t pid, std::span<const pid_t> helpers, const LookAt& look);
// Of the process that connected this socket, as the kernel knows it; one that this program's namespace of processes
// does not contain is apart.
[[nodiscard]] Descent descent_of_peer(int socket);
// "0::/user.slice/skein-17-0/20-21-0": whether that is the control group of a keeper in the node's group of this name.
[[nodiscard]] bool is_in_keepers_group(std::string_view cgroup_text, std::string_view node_group);

}  // namespace skein::inline v0::launcher
