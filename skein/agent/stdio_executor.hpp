// The executor `stdio`: a long-lived OS process that speaks docs/executor-protocol.md, one line of JSON per message.
//
// 1. It begins with hello, both ways, within hello_timeout; only then is the agent ready.
// 2. An OS process that ends by itself, breaks the protocol or falls silent takes its agent along: what it ran costs an
//    attempt and goes to another agent at once. The supervisor restarts the agent and decides on the delays.
// 3. Told to stop: a cancel, SIGTERM after term_after, SIGKILL after kill_after more. One that had to be ended so is
//    replaced, and the agent lives on. Wound down: a shutdown and the end of its stdin, SIGTERM after end_term_after,
//    SIGKILL after end_kill_after more.
// 4. What is told of a task's standard error was written after that task was given to it, so nothing of those before.
// 5. What it writes is taken up to output_per_beat and lines_per_beat; beyond that its pipe fills and it waits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "skein/agent/os_executor.hpp"
#include "skein/agent/stdio_protocol.hpp"

namespace skein::inline v0::agent {

class StdioExecutor final : public Executor {
 public:
  // Throws std::invalid_argument without a command.
  StdioExecutor(std::shared_ptr<launcher::OsProcesses> os, std::shared_ptr<const OsExecutorOptions> options);

  void start(ExecutorHost& host) override;
  void run(const dispatch::Order& order) override;
  void stop(dispatch::TaskRef ref, dispatch::StopReason why) override;
  void handle(Message message) override;
  void beat() override;
  [[nodiscard]] Duration wind_down() override;
  void shutdown() override;
  [[nodiscard]] bool tells_last_words() const override { return true; }
  [[nodiscard]] pid_t os_pid() const override { return child_.pid(); }
  [[nodiscard]] std::string describe() const override;

 private:
  struct HelloDue {
    launcher::OsId id = 0;
  };
  struct OutputEnded {
    launcher::OsId id = 0;
  };
  struct AtHand {
    dispatch::TaskRef ref;
    ledger::TaskId id;
    bool is_stop_asked = false;
    friend bool operator==(const AtHand&, const AtHand&) = default;
  };

  void spawn();
  void take_output(const launcher::OsOutput& output);
  [[nodiscard]] bool take_line(std::string_view line);
  void take_hello(StdioHello& hello);
  [[nodiscard]] bool is_current(const StdioTask& task);
  // Its task has an answer.
  [[nodiscard]] dispatch::TaskRef take_task();
  void ended(const launcher::OsExited& exited);
  // It cannot be trusted any more.
  void give_up(std::string why);

  std::shared_ptr<const OsExecutorOptions> options_;
  OsChild child_;
  ExecutorHost* host_ = nullptr;
  LineSplitter lines_;
  std::optional<AtHand> task_;
  std::optional<AtHand> last_;  // the one before, of which something may still come
  bool has_said_hello_ = false;
  bool is_given_up_ = false;
  bool is_winding_down_ = false;
  std::uint64_t stderr_from_ = 0;  // where its task began
  std::string token_;              // of its last attempt, masked in what it says; empty: it was given none
  Instant heard_at_{};
  std::size_t bytes_this_beat_ = 0;
  std::size_t lines_this_beat_ = 0;
  std::size_t unconsumed_ = 0;
};

}  // namespace skein::inline v0::agent
