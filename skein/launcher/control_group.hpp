// Control groups (cgroup v2) for the programs of a node, where the node may make groups below its own: "delegated".
//
// The node has a folder of its own below the group it finds itself in, and each keeper one below that, in which its
// program and all that starts in turn live. The kernel then ends all of them at once, whatever they forked, and limits
// their memory and their number together. Where there is no such group, process groups and /proc do what they can.
//
// 1. NodeGroup is made once, before any thread; guard, launchers and keepers inherit it. Read-only then.
// 2. The node's folder is locked (flock) for as long as a process of the node lives. One that is not locked is left
//    over from a node that died with all of its processes; the next node removes it and any process left in it.
// 3. A keeper's folder is named after its launcher and itself, so that a process that outlives both can remove it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/fd.hpp"
#include "skein/launcher/os_process.hpp"

namespace skein::inline v0::launcher {

// The folder of the group that /proc/self/cgroup names, below where /proc/self/mountinfo says that cgroup v2 is
// mounted.
[[nodiscard]] std::optional<std::string> own_group_folder(std::string_view cgroup_text, std::string_view mount_text);

class NodeGroup {
 public:
  // Of this program, found at the first call. SKEIN_CGROUPS=off in the environment: none.
  static const NodeGroup& here();
  // Below `folder`, which is that of the group to be used; for here() and tests. Never throws for want of a group.
  explicit NodeGroup(const std::string& folder);
  static NodeGroup none(std::string why);
  // here() is that of the program that started this one, which handed over its folder and its lock. Before any here().
  static void inherit(std::string folder, Fd lock);
  // From now on here() finds its folder by the descriptor of its lock, wherever control groups are mounted or whatever
  // lies over them; for a process that inherited it.
  static void reach_by_descriptor();

  [[nodiscard]] bool is_there() const { return static_cast<bool>(lock_); }
  // For people: what is used, and why it is not the control group.
  [[nodiscard]] const std::string& describe() const { return text_; }
  // Whether the groups of programs can be limited by this controller ("memory", "pids").
  [[nodiscard]] bool can_limit(std::string_view controller) const;
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] int lock_fd() const { return lock_.get(); }

  // Kills every process in the groups of this launcher's keepers (or in this keeper's alone) and removes them.
  void end_keepers(pid_t launcher) const;
  void end_keeper(pid_t launcher, pid_t keeper) const;
  // Removes the node's folder. The last process of the node calls this.
  void remove() const;

 private:
  NodeGroup() = default;
  void make(const std::string& folder);

  Fd lock_;
  std::string folder_;
  std::string text_;
};

// The group of one keeper, made for its first program and used for the next as well, until it was killed; for that
// keeper alone.
class KeeperGroup {
 public:
  // `keeper` is its number where the launcher is.
  KeeperGroup(const NodeGroup& node, pid_t launcher, pid_t keeper)
      : node_(&node), launcher_(launcher), keeper_(keeper) {}

  // Makes it, if it can be had, and sets what it can limit. False: it does not take a limit.
  bool prepare(const OsLimits& limits);
  // For CLONE_INTO_CGROUP; -1 when there is none.
  [[nodiscard]] int fd() const { return folder_fd_.get(); }
  // SIGKILL to everybody in it, also to those who fork meanwhile. False: there is none.
  bool kill();
  void remove();

 private:
  const NodeGroup* node_;
  pid_t launcher_;
  pid_t keeper_;
  Fd folder_fd_;
  std::uint32_t number_ = 0;
  bool was_killed_ = false;
  bool has_failed_ = false;
};

}  // namespace skein::inline v0::launcher
