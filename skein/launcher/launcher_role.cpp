// The launcher: forks keepers, collects what a dead keeper left, and ends everything below it when its connection to
// the node closes.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/keeper.hpp"
#include "skein/launcher/private_view.hpp"
#include "skein/launcher/proc_tree.hpp"
#include "skein/launcher/role.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher {

namespace {

class LauncherRole {
 public:
  explicit LauncherRole(Fd node) : node_(std::move(node)) {}

  void run() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    life_line_.reset(ends[0]);
    life_.reset(ends[1]);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    const Fd deaths(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    for (;;) {
      std::array<pollfd, 2> waits{{{node_.get(), POLLIN, 0}, {deaths.get(), POLLIN, 0}}};
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
      if (waits[1].revents != 0) {
        signalfd_siginfo info{};
        while (::read(deaths.get(), &info, sizeof info) > 0) continue;
        reap_children();
      }
      if (waits[0].revents != 0 && !take_packet()) break;
    }
    keepers_.clear();
    end_all_but_known();
    NodeGroup::here().end_keepers(self_);
  }

 private:
  bool take_packet() {
    Packet packet;
    if (receive_packet(node_.get(), packet) != Got::packet) return false;
    if (packet.kind == Kind::ask_continue || packet.kind == Kind::ask_replace) {
      const auto keeper = static_cast<pid_t>(decode_number(packet.body));
      const bool is_ours = std::ranges::find(keepers_, keeper) != keepers_.end();
      if (is_ours) ::kill(keeper, packet.kind == Kind::ask_continue ? SIGCONT : SIGKILL);
      return true;
    }
    KeeperWish wish;
    if (packet.kind != Kind::ask_keeper || !decode_wish(packet.body, wish)) return false;
    auto pair = packet_pair();
    if (!pair) return refuse(wish, fmt::format("no socket: {}", std::strerror(pair.error())));
    const PrivateFork made = wish.is_private ? fork_private(wish.hidden) : fork_plain();
    if (made.pid == 0) run_keeper(std::move(pair->second), std::move(life_line_), self_, made.own);
    if (made.pid < 0) return refuse(wish, made.why);
    // Before anybody knows of it: while a copy is here, its death would not be seen.
    pair->second.reset();
    keepers_.push_back(made.pid);
    const std::array<int, 1> fds{pair->first.get()};
    return send_packet(node_.get(), Kind::new_keeper, encode_answer({wish.is_private, made.pid, {}}), fds);
  }

  static PrivateFork fork_plain() {
    const pid_t pid = ::fork();
    if (pid < 0) return {.pid = -1, .own = 0, .why = fmt::format("it cannot fork: {}", std::strerror(errno))};
    return {.pid = pid, .own = pid == 0 ? ::getpid() : 0, .why = {}};
  }

  bool refuse(const KeeperWish& wish, const std::string& why) {
    return send_packet(node_.get(), Kind::failed, encode_answer({wish.is_private, 0, why}));
  }

  void reap_children() {
    reap(note_death_);
    if (!lost_.empty()) end_all_but_known();
  }

  // With what lost keepers have left, those included that die meanwhile.
  void end_all_but_known() {
    for (const pid_t keeper : std::exchange(lost_, {})) NodeGroup::here().end_keeper(self_, keeper);
    const std::vector<pid_t> known = keepers_;
    kill_descendants(known, note_death_);
    for (const pid_t keeper : std::exchange(lost_, {})) NodeGroup::here().end_keeper(self_, keeper);
  }

  const pid_t self_ = ::getpid();
  Fd node_;
  Fd life_line_;  // for the keepers
  Fd life_;
  std::vector<pid_t> keepers_;
  std::vector<pid_t> lost_;  // keepers that were killed; one that ends by itself has cleaned up before
  const Reaped note_death_ = [this](pid_t pid, int status, const rusage& /*usage*/) {
    const bool has_cleaned_up = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (std::erase(keepers_, pid) > 0 && !has_cleaned_up) lost_.push_back(pid);
  };
};

}  // namespace

void run_launcher(Fd node) {
  enter_role("skein-launcher", {node.get(), NodeGroup::here().lock_fd()});
  LauncherRole(std::move(node)).run();
  leave_role();
}

}  // namespace skein::inline v0::launcher
