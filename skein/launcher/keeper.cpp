#include "skein/launcher/keeper.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

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

std::uint64_t microseconds(const timeval& time) {
  return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000) + static_cast<std::uint64_t>(time.tv_usec);
}

class Keeper {
 public:
  Keeper(int node, int life_line, pid_t launcher)
      : node_(node), life_line_(life_line), group_(NodeGroup::here(), launcher) {}

  void run() {
    for (;;) {
      std::array<pollfd, 3> waits{{{node_, POLLIN, 0}, {life_line_, 0, 0}, {pidfd_.get(), POLLIN, 0}}};
      if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
      if (waits[1].revents != 0) break;
      if (waits[0].revents != 0 && !take_packet()) break;
      if (pidfd_ && waits[2].revents != 0) finish();
    }
    kill_all();
    group_.remove();
  }

 private:
  bool take_packet() {
    Packet packet;
    if (receive_packet(node_, packet) != Got::packet) return false;
    switch (packet.kind) {
      case Kind::ask_start:
        return start(packet.body);
      case Kind::ask_signal:
        // Its process is not reaped yet, so the group's number cannot mean another.
        if (pid_ > 0) ::kill(-pid_, static_cast<int>(decode_number(packet.body)));
        return true;
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

  // The program ended: tell at once, then end what it left behind.
  void finish() {
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
    // Also of one that has left the group: it is below this keeper all the same.
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
  ExitNote note_;
};

}  // namespace

void run_keeper(Fd node, Fd life_line, pid_t launcher) {
  enter_role("skein-keeper", {node.get(), life_line.get(), NodeGroup::here().lock_fd()});
  raise_oom_score();
  Keeper(node.get(), life_line.get(), launcher).run();
  leave_role();
}

}  // namespace skein::inline v0::launcher
