// Launcher: the node's hold on the processes that start OS processes for it (role.hpp says which they are).
//
// Call fork_early() first thing in main, before any thread exists. There is one per program; it lives until the program
// ends. Any thread.
//
// The guard is this program itself, executed again (/proc/self/exe): before main it sees that it is to be the guard and
// becomes that. So it has none of the node's environment or memory, and another can be made at any time, also by a
// program that has threads by then. A program that uses this must be linked with it, not load it later.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <expected>
#include <mutex>
#include <string>

#include "skein/base/fd.hpp"

namespace skein::inline v0::launcher {

class Launcher {
 public:
  // Starts the guard, or answers with what was started before. Throws std::logic_error when other threads exist
  // already, std::runtime_error when the system gives no process. Opens /dev/null for what is missing of stdin, stdout
  // and stderr.
  static Launcher& fork_early();
  // What fork_early() made, or nullptr.
  [[nodiscard]] static Launcher* here();

  // A connection to a launcher process of one's own. Closing it ends that launcher and everything below it; the pidfd
  // says when that is done.
  struct Line {
    Fd socket;
    Fd pidfd;
    pid_t pid = 0;
    pid_t guard = 0;  // who looks after what it leaves, should it die
  };
  // Waits for the guard to fork one, at most k_answer_ms. A guard that is dead is replaced first, one that does not
  // answer is continued and then replaced. The error says what to do.
  [[nodiscard]] std::expected<Line, std::string> start();
  static constexpr int k_answer_ms = 5'000;
  static constexpr int k_stopped_ms = 500;  // without an answer for so long, it may be stopped

  // A copy of the connection to the guard, to see it hang up, and which guard that was.
  struct Watch {
    Fd socket;
    std::uint64_t generation = 0;
  };
  [[nodiscard]] Watch watch_guard();
  // Starts a new guard in place of `generation`, unless somebody was faster. The error says what to do.
  [[nodiscard]] std::expected<void, std::string> renew_guard(std::uint64_t generation);
  [[nodiscard]] pid_t guard_pid() const { return guard_pid_; }

 private:
  struct Refusal {
    std::string why;
    bool is_gone = false;  // another guard may do it
  };

  Launcher() = default;
  // With the mutex held, from here on.
  [[nodiscard]] std::expected<void, std::string> renew();
  [[nodiscard]] std::expected<Line, Refusal> ask();
  [[nodiscard]] bool wait_for_answer() const;
  void end_guard();

  std::mutex mutex_;
  Fd guard_;  // this and the rest is guarded by mutex_, but for the pid
  Fd guard_pidfd_;
  std::uint64_t generation_ = 0;
  rlimit open_files_{};  // as the program began; it may raise its own later
  std::atomic<pid_t> guard_pid_ = 0;
};

}  // namespace skein::inline v0::launcher
