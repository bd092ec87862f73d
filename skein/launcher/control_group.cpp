#include "skein/launcher/control_group.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <vector>

namespace skein::inline v0::launcher {

namespace {

constexpr std::string_view k_prefix = "skein-";
constexpr int k_name_tries = 16;
// How long those that were killed may take to be gone from their group.
constexpr int k_removal_rounds = 200;
constexpr int k_removal_round_ms = 5;
constexpr mode_t k_folder_mode = 0755;

// Set before main, by a program that is a guard.
NodeGroup* inherited_group = nullptr;

std::string read_text(int folder, const char* name) {
  const Fd file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[4096];
  for (ssize_t got = 1; file && got > 0;) {
    got = ::read(file.get(), piece, sizeof piece);
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

bool write_text(int folder, const char* name, std::string_view text) {
  const Fd file(::openat(folder, name, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Fd open_folder(int parent, const char* name) {
  return Fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

std::vector<std::string> folders_in(const std::string& path, std::string_view prefix) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return names;
  while (const dirent* each = ::readdir(folder.get())) {
    const std::string_view name = each->d_name;
    if (each->d_type == DT_DIR && name != "." && name != ".." && name.starts_with(prefix)) names.emplace_back(name);
  }
  return names;
}

std::string below(const std::string& folder, const std::string& name) {
  std::string path = folder;
  path.append("/").append(name);
  return path;
}

// Each by the number of a thread, which means its whole process: cgroup.kill passes over one whose first thread has
// ended (seen with Linux 6.18).
void kill_members(int folder) {
  std::istringstream threads(read_text(folder, "cgroup.threads"));
  for (pid_t each = 0; threads >> each;) {
    // One that this namespace cannot see has the number 0, which would mean our own group.
    if (each > 0) ::kill(each, SIGKILL);
  }
}

// Also removes the folders below, since a program may be a node itself. Processes still in there are killed once more.
bool remove_folders(const std::string& path) {
  for (const std::string& name : folders_in(path, "")) remove_folders(below(path, name));
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  if (const Fd folder = open_folder(AT_FDCWD, path.c_str())) kill_members(folder.get());
  return false;
}

// Kills all processes in the group and in the groups below it, and removes it.
void end_group(const std::string& path) {
  const Fd folder = open_folder(AT_FDCWD, path.c_str());
  if (!folder) return;
  write_text(folder.get(), "cgroup.kill", "1");
  for (int round = 0; round < k_removal_rounds && !remove_folders(path); ++round) {
    ::poll(nullptr, 0, k_removal_round_ms);
  }
}

// What a node left here that died with all its processes: nobody holds its lock.
void remove_left_over(const std::string& folder) {
  for (const std::string& name : folders_in(folder, k_prefix)) {
    const std::string path = below(folder, name);
    const Fd old = open_folder(AT_FDCWD, path.c_str());
    if (!old || ::flock(old.get(), LOCK_EX | LOCK_NB) != 0) continue;
    end_group(path);
  }
}

// Lets groups below limit memory and number. In a group with processes of its own only the root may; if we are the only
// one, we move into one below.
void enable_controllers(int folder, int node_folder) {
  const std::string available = " " + read_text(folder, "cgroup.controllers");
  for (const char* name : {"memory", "pids"}) {
    if (available.find(name) == std::string::npos) continue;
    const std::string order = fmt::format("+{}", name);
    if (!write_text(folder, "cgroup.subtree_control", order) && errno == EBUSY &&
        read_text(folder, "cgroup.procs") == fmt::format("{}\n", ::getpid()) &&
        (::mkdirat(node_folder, "node", k_folder_mode) == 0 || errno == EEXIST) &&
        write_text(node_folder, "node/cgroup.procs", "0")) {
      write_text(folder, "cgroup.subtree_control", order);
    }
    write_text(node_folder, "cgroup.subtree_control", order);
  }
}

// The groups of a keeper begin with this, those of all its launcher's with the first part.
std::string keeper_prefix(pid_t launcher, pid_t keeper) { return fmt::format("{}-{}-", launcher, keeper); }

}  // namespace

std::optional<std::string> own_group_folder(std::string_view cgroup_text, std::string_view mount_text) {
  std::istringstream lines{std::string(cgroup_text)};
  std::optional<std::string> own;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) own = line.substr(3);
  }
  if (!own) return std::nullopt;
  std::istringstream mounts{std::string(mount_text)};
  for (std::string line; std::getline(mounts, line);) {
    // 36 35 98:0 ROOT MOUNT_POINT options ... - cgroup2 source options
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == std::string::npos) continue;
    std::istringstream words(line.substr(0, dash));
    std::string skipped;
    std::string root;
    std::string mount;
    words >> skipped >> skipped >> skipped >> root >> mount;
    // Only a part of the tree may be mounted there.
    if (root == "/") root.clear();
    if (!own->starts_with(root) || (own->size() > root.size() && (*own)[root.size()] != '/')) continue;
    std::string below = own->substr(root.size());
    if (below == "/") below.clear();
    return mount + below;
  }
  return std::nullopt;
}

NodeGroup NodeGroup::none(std::string why) {
  NodeGroup group;
  group.text_ = "process groups and /proc: " + std::move(why);
  return group;
}

bool NodeGroup::can_limit(std::string_view controller) const {
  if (!is_there()) return false;
  std::istringstream enabled(read_text(lock_.get(), "cgroup.subtree_control"));
  for (std::string each; enabled >> each;) {
    if (each == controller) return true;
  }
  return false;
}

void NodeGroup::inherit(std::string folder, Fd lock) {
  auto* group = new NodeGroup;
  group->folder_ = std::move(folder);
  group->lock_ = std::move(lock);
  inherited_group = group;
}

void NodeGroup::reach_by_descriptor() {
  if (inherited_group == nullptr || !inherited_group->is_there()) return;
  inherited_group->folder_ = fmt::format("/proc/self/fd/{}", inherited_group->lock_fd());
}

const NodeGroup& NodeGroup::here() {
  // Never freed: keepers and launchers use it until they end.
  static const NodeGroup* const group = []() -> const NodeGroup* {
    if (inherited_group != nullptr) return inherited_group;
    const char* wish = std::getenv("SKEIN_CGROUPS");
    if (wish != nullptr && std::string_view(wish) == "off") {
      return new NodeGroup(none("SKEIN_CGROUPS is off"));
    }
    const auto folder =
        own_group_folder(read_text(AT_FDCWD, "/proc/self/cgroup"), read_text(AT_FDCWD, "/proc/self/mountinfo"));
    if (!folder) return new NodeGroup(none("no cgroup v2 is mounted"));
    return new NodeGroup(*folder);
  }();
  return *group;
}

NodeGroup::NodeGroup(const std::string& folder) {
#if defined(__x86_64__) || defined(__aarch64__)
  make(folder);
#else
  *this = none("control groups are used on x86-64 and AArch64 only");
#endif
}

void NodeGroup::make(const std::string& folder) {
  const Fd parent = open_folder(AT_FDCWD, folder.c_str());
  if (!parent || ::faccessat(parent.get(), "cgroup.procs", W_OK, AT_EACCESS) != 0) {
    *this = none(fmt::format("cgroup {} is not delegated to this user", folder));
    return;
  }
  remove_left_over(folder);
  for (int i = 0; i < k_name_tries && !lock_; ++i) {
    folder_ = fmt::format("{}/{}{}-{}", folder, k_prefix, ::getpid(), i);
    if (::mkdir(folder_.c_str(), k_folder_mode) != 0) {
      if (errno == EEXIST) continue;
      break;
    }
    Fd made = open_folder(AT_FDCWD, folder_.c_str());
    struct stat there{};
    // A node that starts at this moment may have taken it for left over.
    if (!made || ::flock(made.get(), LOCK_SH | LOCK_NB) != 0 || ::stat(folder_.c_str(), &there) != 0) continue;
    lock_ = std::move(made);
  }
  if (!lock_) {
    *this = none(fmt::format("no group can be made in {}: {}", folder, std::strerror(errno)));
    return;
  }
  if (::faccessat(lock_.get(), "cgroup.kill", W_OK, AT_EACCESS) != 0) {
    ::rmdir(folder_.c_str());
    *this = none("this kernel's control groups have no cgroup.kill (Linux 5.14)");
    return;
  }
  enable_controllers(parent.get(), lock_.get());
  std::string limits = read_text(lock_.get(), "cgroup.subtree_control");
  while (!limits.empty() && limits.back() == '\n') limits.pop_back();
  text_ = fmt::format("cgroup v2 below {}, {}", folder,
                      limits.empty() ? "without controllers: limits hold for each OS process"
                                     : "with limits on all of a program together: " + limits);
}

void NodeGroup::end_keepers(pid_t launcher) const {
  if (!is_there()) return;
  for (const std::string& name : folders_in(folder_, fmt::format("{}-", launcher))) end_group(folder_ + "/" + name);
}

void NodeGroup::end_keeper(pid_t launcher, pid_t keeper) const {
  if (!is_there()) return;
  for (const std::string& name : folders_in(folder_, keeper_prefix(launcher, keeper))) end_group(folder_ + "/" + name);
}

void NodeGroup::remove() const {
  if (!is_there()) return;
  for (const std::string& name : folders_in(folder_, "")) {
    if (name != "node") end_group(folder_ + "/" + name);
  }
  ::rmdir(folder_.c_str());
}

bool KeeperGroup::prepare(const OsLimits& limits) {
  if (has_failed_ || !node_->is_there()) return true;
  // The kernel kills what clone3 starts in a group that was killed once (it compares the number of kills with that of
  // the caller's group), so there is a new one then.
  if (std::exchange(was_killed_, false)) remove();
  if (!folder_fd_) {
    const std::string path = node_->folder() + "/" + keeper_prefix(launcher_, keeper_) + std::to_string(number_++);
    if (::mkdir(path.c_str(), k_folder_mode) == 0 || errno == EEXIST) {
      folder_fd_ = open_folder(AT_FDCWD, path.c_str());
    }
    has_failed_ = !folder_fd_;
    if (has_failed_) return true;
    // When memory runs out, all of it goes, not some part of it.
    write_text(folder_fd_.get(), "memory.oom.group", "1");
  }
  const auto set = [this](const char* name, std::uint64_t most) {
    // Without the controller there is no such file.
    return ::faccessat(folder_fd_.get(), name, F_OK, 0) != 0 ||
           write_text(folder_fd_.get(), name, most == 0 ? "max" : fmt::format("{}", most));
  };
  return set("memory.max", limits.memory_bytes) && set("pids.max", limits.processes);
}

bool KeeperGroup::kill() {
  was_killed_ = true;
  if (!folder_fd_ || !write_text(folder_fd_.get(), "cgroup.kill", "1")) return false;
  kill_members(folder_fd_.get());
  return true;
}

void KeeperGroup::remove() {
  if (!folder_fd_) return;
  folder_fd_.reset();
  node_->end_keeper(launcher_, keeper_);
}

}  // namespace skein::inline v0::launcher
