#include "skein/launcher/keeper.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/proc_tree.hpp"
#include "skein/launcher/role.hpp"
#include "skein/launcher/start_program.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher {

namespace {

// How long those that a control group has killed may take, before they are looked for in /proc.
constexpr int k_group_rounds = 20;
constexpr long k_group_round_ms = 5;
// Reaped in one turn, so that a program whose children die all the time keeps nobody from ending it.
constexpr int k_reaped_per_turn = 256;

std::uint64_t microseconds(const timeval& time) {
  return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000) + static_cast<std::uint64_t>(time.tv_usec);
}

class Keeper {
 public:
  Keeper(int node, int life_line, pid_t launcher, pid_t own)
      : node_(node), life_line_(life_line), group_(NodeGroup::here(), launcher, own), deaths_(watch_deaths()) {}

  void run() {
    for (;;) {
      std::array<pollfd, 4> waits{{{node_, POLLIN, 0},
                                   {life_line_, 0, 0},
                                   {reaped_ ? -1 : pidfd_.get(), POLLIN, 0},
                                   {deaths_.get(), POLLIN, 0}}};
      if (::poll(waits.data(), waits.size(), wait_ms()) < 0 && errno != EINTR) break;
      if (waits[1].revents != 0) break;
      if (waits[0].revents != 0 && !take_packet()) break;
      const bool has_deaths = waits[3].revents != 0 || std::exchange(more_deaths_, false);
      if (has_deaths) forget_deaths();
      if (kill_at_) {
        look_at_end();
      } else if (pidfd_ && waits[2].revents != 0) {
        finish();
      } else if (has_deaths) {
        look_at_deaths();
      }
    }
    kill_all();
    group_.remove();
  }

 private:
  using Clock = std::chrono::steady_clock;

  static Fd watch_deaths() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return Fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  [[nodiscard]] int wait_ms() const {
    if (more_deaths_) return 0;
    if (!kill_at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
  }

  bool take_packet() {
    Packet packet;
    if (receive_packet(node_, packet) != Got::packet) return false;
    switch (packet.kind) {
      case Kind::ask_start:
        return start(packet.body);
      case Kind::ask_signal:
        // Its process is not reaped yet, so the group's number cannot mean another.
        if (pid_ > 0 && !reaped_) ::kill(-pid_, static_cast<int>(decode_number(packet.body)));
        return true;
      case Kind::ask_end:
        begin_end(std::chrono::milliseconds(decode_number(packet.body)));
        return send_packet(node_, Kind::ending, {});
      case Kind::ask_kill:
        kill_all();
        if (pidfd_) finish();
        return true;
      default:
        return false;
    }
  }

  bool start(std::string_view body) {
    OsSpec spec;
    if (pid_ > 0 || !decode_spec(body, spec)) return false;
    if (!group_.prepare(spec.limits)) {
      return send_packet(node_, Kind::failed, encode_failure("its control group does not take its limits"));
    }
    auto program = start_program(spec, group_.fd());
    if (!program) return send_packet(node_, Kind::failed, encode_failure(program.error()));
    pid_ = program->pid;
    pidfd_ = std::move(program->pidfd);
    note_ = {};
    reaped_ = false;
    const std::array<int, 4> fds{program->stdin_end.get(), program->stdout_end.get(), program->stderr_end.get(),
                                 pidfd_.get()};
    return send_packet(node_, Kind::started, encode_number(static_cast<std::uint32_t>(pid_)), fds);
  }

  void begin_end(std::chrono::milliseconds grace) {
    if (pid_ <= 0) return;
    // The group at once and as a whole; then those who have left it.
    if (!reaped_) ::kill(-pid_, SIGTERM);
    signal_descendants(SIGTERM, pid_);
    const auto at = Clock::now() + grace;
    kill_at_ = kill_at_ ? std::min(*kill_at_, at) : at;
  }

  void forget_deaths() const {
    signalfd_siginfo info{};
    while (::read(deaths_.get(), &info, sizeof info) > 0) continue;
  }

  // Reaps the dead descendants of the program. The program itself is not reaped: until it is, its number cannot be
  // reused for another group, so finish() can still kill its group.
  void look_at_deaths() {
    if (!pidfd_) {
      if (!reap_all()) kill_all();
      return;
    }
    for (int reaped = 0; reaped < k_reaped_per_turn; ++reaped) {
      siginfo_t dead{};
      if (::waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) != 0 || dead.si_pid == 0) return;
      if (dead.si_pid == pid_) return finish();
      ::waitpid(dead.si_pid, nullptr, WNOHANG);
    }
    more_deaths_ = true;
  }

  // The program may end before its descendants; they still get the time until kill_at_.
  void look_at_end() {
    if (reap_all()) return finish();
    if (Clock::now() < *kill_at_) return;
    kill_all();
    finish();
  }

  // The program ended: tell at once, then end what it left behind.
  void finish() {
    kill_at_.reset();
    if (!reaped_) ::kill(-pid_, SIGKILL);
    note_.clean = reap_all();
    pid_ = 0;
    pidfd_.reset();
    const bool clean = note_.clean;
    send_packet(node_, Kind::exited, encode_exit(note_));
    if (clean) return;
    kill_all();
    send_packet(node_, Kind::clean, {});
  }

  bool reap_all() {
    return reap([this](pid_t pid, int status, const rusage& usage) { take(pid, status, usage); });
  }

  void kill_all() {
    if (pid_ > 0 && !reaped_) ::kill(-pid_, SIGKILL);
    for (int round = 0; round < k_group_rounds && group_.kill() && !reap_all(); ++round) {
      wait_for_child(k_group_round_ms);
    }
    // Also kills those that left the group: they are still descendants of this keeper.
    kill_descendants({}, [this](pid_t pid, int status, const rusage& usage) { take(pid, status, usage); });
  }

  void take(pid_t pid, int status, const rusage& usage) {
    if (pid != pid_) return;
    reaped_ = true;
    note_.status = status;
    note_.user_us = microseconds(usage.ru_utime);
    note_.system_us = microseconds(usage.ru_stime);
    note_.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  }

  int node_;
  int life_line_;
  KeeperGroup group_;
  pid_t pid_ = 0;
  Fd pidfd_;
  bool reaped_ = false;
  Fd deaths_;                                 // SIGCHLD
  bool more_deaths_ = false;                  // than one turn reaps
  std::optional<Clock::time_point> kill_at_;  // it is being ended, and has until then
  ExitNote note_;
};

}  // namespace

void run_keeper(Fd node, Fd life_line, pid_t launcher, pid_t own) {
  enter_role("skein-keeper", {node.get(), life_line.get(), NodeGroup::here().lock_fd()});
  raise_oom_score();
  Keeper(node.get(), life_line.get(), launcher, own).run();
  leave_role();
}

}  // namespace skein::inline v0::launcher
