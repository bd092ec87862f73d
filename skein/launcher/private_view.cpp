#include "skein/launcher/private_view.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "skein/base/fd.hpp"
#include "skein/launcher/control_group.hpp"
#include "skein/launcher/role.hpp"

namespace skein::inline v0::launcher {

namespace {

enum class ViewStep : std::int32_t {
  none,
  namespaces,
  user,
  fork,
  mounts,
  processes,
  hidden,
  groups,
  settings,
  rights
};

// From the new process, and from the one between, to the launcher.
struct ViewReport {
  std::int32_t pid = 0;  // of the keeper; 0: the view is there, or `step` failed
  ViewStep step = ViewStep::none;
  std::int32_t error = 0;
};

// As the kernel lays it out (mount_setattr); older C libraries do not have it.
struct MountAttributes {
  std::uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};
constexpr std::uint64_t k_read_only = 1;
constexpr unsigned k_recursive = 0x8000;
constexpr const char* k_empty_folder = "size=4k,nr_inodes=2,mode=500";
constexpr unsigned long k_inert = MS_NOSUID | MS_NODEV | MS_NOEXEC;

// What a program of root may still do in a private view: what package managers and build tools need.
constexpr std::array k_root_keeps = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                                     CAP_KILL,  CAP_SETGID,       CAP_SETUID, CAP_NET_BIND_SERVICE};

void tell(int report, ViewReport what) { [[maybe_unused]] const ssize_t written = ::write(report, &what, sizeof what); }

bool write_whole(const char* path, std::string_view text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool make_read_only(const char* mount_point, unsigned flags = 0) {
  MountAttributes attributes{.set = k_read_only};
  return ::syscall(SYS_mount_setattr, AT_FDCWD, mount_point, flags, &attributes, sizeof attributes) == 0;
}

// Root without the right to mount gets the namespaces as everybody else does. Answers whether it was root's way.
bool enter_namespaces(bool& is_roots, ViewReport& fault) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  is_roots = uid == 0 && ::unshare(CLONE_NEWNS | CLONE_NEWPID) == 0;
  if (is_roots) return true;
  // Of one that hides, the files in /proc are the root's. The keeper hides again.
  ::prctl(PR_SET_DUMPABLE, 1);
  fault.step = ViewStep::namespaces;
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) return false;
  fault.step = ViewStep::user;
  return write_whole("/proc/self/setgroups", "deny") &&
         write_whole("/proc/self/uid_map", fmt::format("{0} {0} 1", uid)) &&
         write_whole("/proc/self/gid_map", fmt::format("{0} {0} 1", gid));
}

// Through them a program could end the node, whose groups have the same owner.
bool lock_groups() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - cgroup") == std::string::npos) continue;
    std::istringstream words(line);
    std::string skipped;
    std::string point;
    words >> skipped >> skipped >> skipped >> skipped >> point;
    // One that others lie over cannot be reached, by programs neither.
    if (!make_read_only(point.c_str()) && errno != ENOENT && errno != EINVAL) return false;
  }
  return true;
}

// Files of the kernel that root may write whatever its capabilities: one of them names a program to run outside.
bool lock_settings() {
  for (const char* path : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}) {
    if (::access(path, F_OK) != 0) continue;
    if (::mount(path, path, nullptr, MS_BIND | MS_REC, nullptr) != 0 || !make_read_only(path, k_recursive))
      return false;
  }
  return make_read_only("/sys", k_recursive) || errno == ENOENT || errno == EINVAL;
}

// Taken from what exec can give, so that the keeper itself still has them.
bool limit_rights(bool is_roots) {
  for (int each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each) {
    if (is_roots && std::ranges::find(k_root_keeps, each) != k_root_keeps.end()) continue;
    if (::prctl(PR_CAPBSET_DROP, each, 0, 0, 0) != 0) return false;
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  for (auto& each : sets) each.inheritable = 0;
  return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

bool make_view(const std::vector<std::string>& hidden, bool is_roots, ViewReport& fault) {
  std::array<char, PATH_MAX> place{};
  const bool has_place = ::getcwd(place.data(), place.size()) != nullptr && place[0] == '/';
  fault.step = ViewStep::mounts;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  fault.step = ViewStep::processes;
  if (::mount("proc", "/proc", "proc", k_inert, nullptr) != 0) return false;
  fault.step = ViewStep::hidden;
  for (const std::string& each : hidden) {
    if (::mount("tmpfs", each.c_str(), "tmpfs", k_inert | MS_RDONLY, k_empty_folder) != 0) return false;
  }
  fault.step = ViewStep::groups;
  if (!lock_groups()) return false;
  fault.step = ViewStep::settings;
  if (is_roots && !lock_settings()) return false;
  // Enters the folder again by its path: it may be inside a hidden folder now.
  if (!has_place || ::chdir(place.data()) != 0) {
    if (::chdir("/") != 0) return false;
  }
  fault.step = ViewStep::rights;
  return limit_rights(is_roots);
}

std::string view_fault(const ViewReport& fault) {
  const char* text = std::strerror(fault.error);
  switch (fault.step) {
    case ViewStep::namespaces:
      return fmt::format("no namespaces: {}; allow user namespaces, or run the node as root", text);
    case ViewStep::user:
      return fmt::format("no user namespace: {}", text);
    case ViewStep::processes:
      return fmt::format("/proc cannot be mounted: {}; a container that masks parts of /proc forbids it", text);
    case ViewStep::hidden:
      return fmt::format("the data folder cannot be covered: {}", text);
    case ViewStep::groups:
    case ViewStep::settings:
      return fmt::format("control groups and kernel settings cannot be made read-only (Linux 5.12): {}", text);
    default:
      return fmt::format("step {} failed: {}", static_cast<int>(fault.step), text);
  }
}

pid_t number_in_proc() {
  std::array<char, 32> number{};
  return ::readlink("/proc/self", number.data(), number.size() - 1) > 0 ? std::atoi(number.data()) : 0;
}

// A process enters a namespace of processes by being forked into it, so one stands between.
PrivateFork stand_between(const std::vector<std::string>& hidden, int report) {
  ViewReport fault;
  bool is_roots = false;
  if (!enter_namespaces(is_roots, fault)) {
    fault.error = errno;
    tell(report, fault);
    leave_role();
  }
  const pid_t pid = ::fork();
  if (pid != 0) {
    tell(report, pid > 0 ? ViewReport{.pid = pid} : ViewReport{.step = ViewStep::fork, .error = errno});
    leave_role();
  }
  PrivateFork keeper{.pid = 0, .own = number_in_proc(), .why = {}};
  NodeGroup::reach_by_descriptor();
  if (!make_view(hidden, is_roots, fault)) {
    fault.error = errno;
    tell(report, fault);
    leave_role();
  }
  tell(report, {});
  return keeper;
}

bool read_view_report(int fd, ViewReport& report) {
  ssize_t got = 0;
  do {
    got = ::read(fd, &report, sizeof report);
  } while (got < 0 && errno == EINTR);
  return got == sizeof report;
}

}  // namespace

PrivateFork fork_private(const std::vector<std::string>& hidden) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {.why = fmt::format("no pipe: {}", std::strerror(errno))};
  const Fd reports(ends[0]);
  Fd report(ends[1]);
  const pid_t middle = ::fork();
  if (middle == 0) return stand_between(hidden, report.get());
  if (middle < 0) return {.why = fmt::format("no process: {}", std::strerror(errno))};
  report.reset();
  PrivateFork made;
  bool is_there = false;
  // The two may speak in either order.
  for (ViewReport said; read_view_report(reports.get(), said);) {
    if (said.pid > 0) {
      made.pid = said.pid;
    } else if (said.step == ViewStep::none) {
      is_there = true;
    } else {
      made.why = view_fault(said);
    }
    if (made.pid > 0 && is_there) break;
  }
  // Once it is gone the keeper is this process's child.
  while (::waitpid(middle, nullptr, 0) < 0 && errno == EINTR) continue;
  if (made.pid > 0 && is_there) return made;
  if (made.why.empty()) made.why = "it ended while its view was made";
  // One that failed has told so as the last thing it did; it is reaped with the others.
  made.pid = -1;
  return made;
}

}  // namespace skein::inline v0::launcher
