#include "skein/launcher/kinship.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "skein/base/fd.hpp"
#include "skein/launcher/control_group.hpp"

namespace skein::inline v0::launcher {

namespace {

#ifndef SO_PEERPIDFD
constexpr int SO_PEERPIDFD = 77;  // Linux 6.5
#endif

struct Helpers {
  std::mutex mutex;
  std::unordered_set<pid_t> pids;  // guarded by mutex
};

Helpers& helpers() {
  static auto* const all = new Helpers;  // never freed: helpers are ended by whatever the program takes down last
  return *all;
}

std::vector<pid_t> living_helpers() {
  const std::scoped_lock lock(helpers().mutex);
  return {helpers().pids.begin(), helpers().pids.end()};
}

std::string read_proc(pid_t pid, const char* name) {
  const Fd file(::open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

std::optional<ProcessLook> look_in_proc(pid_t pid) {
  const std::string text = read_proc(pid, "stat");
  // The name in brackets may itself hold brackets and spaces; what counts comes after the last one.
  const std::size_t after = text.rfind(')');
  if (after == std::string::npos) return std::nullopt;
  ProcessLook look;
  unsigned long long started = 0;
  const int read = std::sscanf(text.c_str() + after + 1,
                               " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                               &look.parent, &started);
  if (read != 2) return std::nullopt;
  look.started = started;
  return look;
}

enum class Walk : std::uint8_t { apart, below, gone, unreadable, moved };

Walk walk_up(pid_t pid, std::span<const pid_t> helpers, const LookAt& look) {
  pid_t at = pid;
  auto seen = look(at);
  if (!seen) return Walk::gone;
  for (int depth = 0; depth < k_ancestors_max; ++depth) {
    if (std::ranges::find(helpers, at) != helpers.end()) return Walk::below;
    if (seen->parent <= 0) return Walk::apart;
    const auto above = look(seen->parent);
    const auto again = look(at);
    if (!again && at == pid) return Walk::gone;
    if (!again || again->started != seen->started || again->parent != seen->parent) return Walk::moved;
    at = seen->parent;
    if (!above) return std::ranges::find(helpers, at) != helpers.end() ? Walk::below : Walk::unreadable;
    seen = above;
  }
  return Walk::moved;
}

// -1 with errno ESRCH: it is gone.
Fd hold_peer(int socket, pid_t pid) {
  int pidfd = -1;
  socklen_t length = sizeof pidfd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0) return Fd(pidfd);
  if (errno != ENOPROTOOPT) return Fd();
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool is_reaped(const Fd& pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), 0, nullptr, 0) != 0 && errno == ESRCH;
}

}  // namespace

void add_helper(pid_t pid) {
  const std::scoped_lock lock(helpers().mutex);
  if (pid > 0) helpers().pids.insert(pid);
}

void remove_helper(pid_t pid) {
  const std::scoped_lock lock(helpers().mutex);
  helpers().pids.erase(pid);
}

Descent descent_of(pid_t pid, std::span<const pid_t> helpers, const LookAt& look) {
  for (int tried = 0; tried < k_walks; ++tried) {
    switch (walk_up(pid, helpers, look)) {
      case Walk::apart:
        return Descent::apart;
      case Walk::below:
        return Descent::below;
      case Walk::gone:
        return Descent::gone;
      case Walk::unreadable:
        return Descent::unreadable;
      case Walk::moved:
        break;
    }
  }
  return Descent::restless;
}

bool is_in_keepers_group(std::string_view cgroup_text, std::string_view node_group) {
  if (node_group.empty()) return false;
  const std::string inside = fmt::format("/{}/", node_group);
  while (!cgroup_text.empty()) {
    const std::size_t end = std::min(cgroup_text.find('\n'), cgroup_text.size());
    const std::string_view line = cgroup_text.substr(0, end);
    cgroup_text.remove_prefix(std::min(end + 1, cgroup_text.size()));
    if (!line.starts_with("0::")) continue;
    const std::size_t at = line.find(inside);
    // The node itself may be in one of these, called so.
    return at != std::string_view::npos && line.substr(at + inside.size()) != "node";
  }
  return false;
}

Descent descent_of_peer(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return Descent::gone;
  if (peer.pid <= 0) return Descent::apart;
  const Fd held = hold_peer(socket, peer.pid);
  if (!held) return Descent::gone;
  const Descent descent = descent_of(peer.pid, living_helpers(), look_in_proc);
  if (descent == Descent::below) return descent;
  const std::string& folder = NodeGroup::here().folder();
  if (is_in_keepers_group(read_proc(peer.pid, "cgroup"), folder.substr(folder.rfind('/') + 1))) return Descent::below;
  return is_reaped(held) ? Descent::gone : descent;
}

}  // namespace skein::inline v0::launcher
