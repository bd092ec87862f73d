// Launcher: the node's hold on the processes that start OS processes for it (role.hpp says which they are).
//
// Call fork_early() first thing in main, before any thread exists: a program with threads cannot fork safely, so what
// forks later must have been made before. There is one per program; it lives until the program ends. Any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <expected>
#include <mutex>
#include <string>
#include <utility>

#include "skein/launcher/fd.hpp"

namespace skein::inline v0::launcher {

class Launcher {
 public:
  // Forks the guard, or answers with what was forked before. Throws std::logic_error when other threads exist already,
  // std::system_error when the system gives no process.
  static Launcher& fork_early();
  // What fork_early() made, or nullptr.
  [[nodiscard]] static Launcher* here();

  // A connection to a launcher process of one's own. Closing it ends that launcher and everything below it; the pidfd
  // says when that is done.
  struct Line {
    Fd socket;
    Fd pidfd;
    pid_t pid = 0;
  };
  // Waits for the guard to fork one, at most k_answer_ms. The error says what to do.
  [[nodiscard]] std::expected<Line, std::string> start();
  static constexpr int k_answer_ms = 5'000;

  // A copy of the connection to the guard, to see it hang up, and which guard that was.
  struct Watch {
    Fd socket;
    std::uint64_t generation = 0;
  };
  [[nodiscard]] Watch watch_guard();
  // Takes a new guard in place of `generation`, unless somebody was faster (then that one is dropped).
  void replace_guard(std::uint64_t generation, Fd socket, pid_t pid);
  [[nodiscard]] pid_t guard_pid() const { return guard_pid_; }

 private:
  Launcher(Fd guard, pid_t pid) : guard_(std::move(guard)), guard_pid_(pid), own_child_(pid) {}

  std::mutex mutex_;
  Fd guard_;  // this and the rest is guarded by mutex_, but for the pid
  std::uint64_t generation_ = 1;
  std::atomic<pid_t> guard_pid_;
  pid_t own_child_;  // the first guard, until it is reaped; the later ones are children of launchers
};

}  // namespace skein::inline v0::launcher
