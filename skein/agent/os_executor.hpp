// What the executors with OS processes have in common: their options, the environment they hand over, and one OS
// process with the way it is made to stop.
//
// Everything here runs inside the agent's process, as executor.hpp says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/agent/executor.hpp"
#include "skein/launcher/os_processes.hpp"

namespace skein::inline v0::agent {

struct OsExecutorOptions {
  std::vector<std::string> command;      // the program and its arguments; no shell
  std::string directory;                 // empty: the node's own
  std::vector<std::string> environment;  // "K=V", complete but for SKEIN_... and TRACEPARENT
  launcher::OsLimits limits{.memory_bytes = 0, .cpu_seconds = 0, .open_files = 256, .file_bytes = 0};
  std::size_t output_bytes = 1ULL << 20U;         // command: standard output of a task; more fails the attempt
  std::size_t line_bytes = 1ULL << 20U;           // stdio: one message; a longer one ends the OS process
  std::size_t stderr_bytes = 64ULL << 10U;        // the last of it that is kept
  std::size_t stdin_bytes = 4ULL << 20U;          // waiting to be read by it
  std::size_t json_depth = 32;                    // of what it says
  std::size_t output_per_beat = 64ULL << 20U;     // stdio: bytes taken from it between two heartbeats; then it waits
  std::size_t lines_per_beat = 100'000;           // stdio: likewise
  Duration term_after = std::chrono::seconds(1);  // stdio: from the cancel to SIGTERM
  Duration kill_after = std::chrono::seconds(2);  // from SIGTERM to SIGKILL
  // The agent ends gracefully; both together within the time its supervisor gives it:
  Duration end_term_after = std::chrono::milliseconds(500);   // stdio: from the shutdown to SIGTERM
  Duration end_kill_after = std::chrono::milliseconds(1000);  // from SIGTERM to SIGKILL
  Duration hello_timeout = std::chrono::seconds(10);          // stdio: from its start to its hello
  Duration heartbeat_timeout{};          // stdio: silence, while a task runs, after which it is killed; zero: none
  std::optional<launcher::OsUser> user;  // none: the node's
  mode_t umask = 077;
  bool no_new_privs = true;
  bool is_private = false;      // launcher/private_view.hpp
  bool is_text_output = false;  // command: the result is standard output as a string, instead of as JSON
  // The token of an attempt, with which its program may submit tasks and look at them; none: it is given none.
  std::function<std::string(ledger::TaskId task, ledger::Fence fence)> task_token{};
  std::vector<std::string> reach{};  // "K=V": where the token is shown
};

// Those of `allowed` that `lookup` knows, and then `set`, which wins. Names with '=' or nothing in them are left out.
[[nodiscard]] std::vector<std::string> build_environment(
    const std::vector<std::string>& allowed, const std::map<std::string, std::string>& set,
    const std::function<std::optional<std::string>(const std::string&)>& lookup);

// Of standard error in the message of a failed attempt: what fits beside the rest of it.
inline constexpr std::size_t k_stderr_kept_max = 3'840;
static_assert(k_stderr_kept_max + 256 <= dispatch::k_message_bytes_max);

// A text of an OS process without the secret that the process was given: readers of messages, events and the node's
// log must not have it. The text may be the last part of a longer one: the end of the secret at its beginning is taken
// out too. An empty secret: the text unchanged.
[[nodiscard]] std::string masked(std::string_view text, std::string_view secret);
// The end of what it wrote to standard error, for a message: printable, on few lines, at most `bytes_max`, and masked.
[[nodiscard]] std::string shown_tail(std::string_view stderr_tail, std::size_t bytes_max, std::string_view secret = {});
// "exit code 3" or "killed by SIGSEGV (11)", and what it last wrote to standard error, masked, of what it wrote there
// from the position `stderr_from` on.
[[nodiscard]] std::string how_it_ended(const launcher::OsExited& exited, std::string_view secret = {},
                                       std::uint64_t stderr_from = 0);

// One OS process at a time, and the ladder on which it is made to stop: asked, SIGTERM, SIGKILL to all of it.
class OsChild {
 public:
  OsChild(std::shared_ptr<launcher::OsProcesses> os, std::shared_ptr<const OsExecutorOptions> options);

  void spawn(Self self, const std::vector<std::string>& more_environment);
  [[nodiscard]] bool is_there() const { return id_ != 0; }
  [[nodiscard]] launcher::OsId id() const { return id_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // "pid 17", or what it waits for; for people.
  [[nodiscard]] std::string described() const;
  // False: there is no room, or nobody reads.
  [[nodiscard]] bool write(std::string bytes) const { return os_->write(id_, std::move(bytes)); }
  void close_stdin() const { os_->close_stdin(id_); }
  void consumed(std::size_t bytes) const { os_->consumed(id_, bytes); }
  void terminate_now() const { terminate(options_->end_kill_after); }
  void kill() const { os_->kill(id_); }

  // From now on it is being stopped: SIGTERM after `first`, SIGKILL after `second` more.
  void stop(Self self, Duration first, Duration second);
  // For Executor::wind_down(): SIGTERM `first` after the first call, SIGKILL end_kill_after later. How long until the
  // next call; zero when it is gone or killed.
  [[nodiscard]] Duration wind_down(Instant now, Duration first);
  [[nodiscard]] bool is_stopping() const { return is_stopping_; }
  // SIGTERM was sent: it will not live, whatever it still says.
  [[nodiscard]] bool is_ending() const { return is_ending_; }
  // It did as asked and need not be stopped.
  void spare() { is_stopping_ = false; }

  // The end of what it has written to standard error so far, from the position `from` on, for a message; masked.
  [[nodiscard]] std::string stderr_text(std::string_view secret, std::uint64_t from = 0) const {
    return shown_tail(os_->stderr_tail(id_, from), k_stderr_kept_max, secret);
  }
  // How much it has written there.
  [[nodiscard]] std::uint64_t stderr_total() const { return os_->stderr_total(id_); }

  // Follows it; true when the message was about this process or a step of its ladder and needs no more handling.
  [[nodiscard]] bool handle(Self self, Message message);
  // OsExited or OsStartFailed was seen.
  void forget();

 private:
  // SIGTERM to all of it; what is left after `grace` is killed.
  void terminate(Duration grace) const;
  struct Rung {
    launcher::OsId id = 0;
    std::uint64_t ladder = 0;
    Duration next{};  // zero: it is the last
  };

  std::shared_ptr<launcher::OsProcesses> os_;
  std::shared_ptr<const OsExecutorOptions> options_;
  launcher::OsId id_ = 0;
  pid_t pid_ = 0;
  std::uint64_t ladder_ = 0;  // which one it is on; rungs of those before mean nothing
  bool is_stopping_ = false;
  bool is_ending_ = false;
  std::optional<Instant> winds_down_since_;
  bool has_wound_term_ = false;
};

}  // namespace skein::inline v0::agent
