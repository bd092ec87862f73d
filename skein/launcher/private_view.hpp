// A private view: what the programs of a keeper see when they are not to see the node.
//
// The keeper itself lives in namespaces of its own, made once, when the launcher forks it; starting a program in it
// costs what it costs elsewhere. For the single-threaded launcher.
//
// 1. Mounts: an empty, read-only folder lies over each hidden one. Control groups can be read and not written.
// 2. Processes: the keeper is number 1, its program and what that starts are all there is in /proc. Nobody in there can
//    name the node, its helpers or other agents, nor end the keeper; when the keeper dies the kernel kills all of them.
// 3. Rights: a keeper of root keeps its programs' user, but few capabilities (none that mounts, traces, loads modules,
//    opens devices or reads the network), and /sys and /proc/sys are read-only. Any other keeper gets the namespaces
//    from a user namespace, in which its programs have their usual user and no capability at all.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace skein::inline v0::launcher {

struct PrivateFork {
  pid_t pid = -1;   // in the launcher: the keeper's process, or -1; in the keeper: 0
  pid_t own = 0;    // in the keeper: its number where the launcher is
  std::string why;  // there is none; which step failed, on what, and the errno text
};

// Forks a keeper with such a view and waits until that is there. The keeper is a child of this process, which must be a
// child subreaper.
[[nodiscard]] PrivateFork fork_private(const std::vector<std::string>& hidden);

}  // namespace skein::inline v0::launcher
