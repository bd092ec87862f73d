// The guard: the parent of the launchers, and what makes the next one when a launcher dies. It does as little as can
// be, so that little can go wrong; if it still dies, the node starts the next guard.
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <vector>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/proc_tree.hpp"
#include "skein/launcher/role.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr std::chrono::milliseconds k_grace{200};
constexpr long k_grace_round_ms = 5;

class Guard {
 public:
  explicit Guard(int node) : node_(node) {}

  void run() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    const Fd deaths(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    for (;;) {
      std::array<pollfd, 2> waits{{{node_, POLLIN, 0}, {deaths.get(), POLLIN, 0}}};
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
      if (waits[1].revents != 0) {
        signalfd_siginfo info{};
        while (::read(deaths.get(), &info, sizeof info) > 0) continue;
        if (reap_launchers()) {
          end_orphans();
          end_lost_groups();
        }
      }
      if (waits[0].revents != 0 && !take_packet()) break;
    }
    // A stopped launcher does not notice that the node is gone, so it is continued.
    for (const pid_t launcher : launchers_) ::kill(launcher, SIGCONT);
    launchers_.clear();
    end_orphans();
    NodeGroup::here().remove();
  }

 private:
  bool take_packet() {
    Packet packet;
    if (receive_packet(node_, packet) != Got::packet || packet.kind != Kind::ask_launcher) return false;
    auto pair = packet_pair();
    const pid_t pid = pair ? ::fork() : -1;
    if (pid == 0) run_launcher(std::move(pair->second));
    // Before anybody knows of it: while a copy is here, its death would not be seen.
    if (pid > 0) pair->second.reset();
    if (pid < 0) return send_packet(node_, Kind::failed, encode_failure(std::strerror(errno)));
    launchers_.push_back(pid);
    const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const std::array<int, 2> fds{pair->first.get(), pidfd.get()};
    return send_packet(node_, Kind::new_launcher, encode_number(static_cast<std::uint32_t>(pid)), fds);
  }

  // True when a launcher was among the dead: what it left is here then.
  bool reap_launchers() {
    const std::size_t before = launchers_.size();
    childless_ = reap(note_death_);
    return launchers_.size() != before;
  }

  // Keepers end what they keep and then themselves; a moment for that, because what they do tells more. Then by force.
  void end_orphans() {
    const auto until = std::chrono::steady_clock::now() + k_grace;
    while (std::chrono::steady_clock::now() < until) {
      reap_launchers();
      if (childless_) return;
      if (orphans() == 0) break;
      wait_for_child(k_grace_round_ms);
    }
    const std::vector<pid_t> spared = launchers_;
    kill_descendants(spared, note_death_);
  }

  // Of launchers that died, once their keepers are gone.
  void end_lost_groups() {
    for (const pid_t launcher : lost_) NodeGroup::here().end_keepers(launcher);
    lost_.clear();
  }

  [[nodiscard]] std::size_t orphans() const { return descendants(scan_processes(), ::getpid(), launchers_).size(); }

  int node_;
  std::vector<pid_t> launchers_;
  std::vector<pid_t> lost_;
  bool childless_ = false;
  const Reaped note_death_ = [this](pid_t pid, int /*status*/, const rusage& /*usage*/) {
    if (std::erase(launchers_, pid) > 0) lost_.push_back(pid);
  };
};

}  // namespace

void run_guard(Fd node) {
  enter_role("skein-guard", {node.get(), NodeGroup::here().lock_fd()});
  Guard(node.get()).run();
  leave_role();
}

}  // namespace skein::inline v0::launcher
