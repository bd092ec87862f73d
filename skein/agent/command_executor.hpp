// The executor `command`: one OS process per task. Params go to its stdin as one line of JSON, its stdout is the
// result.
//
//   exit code 0                    completed: stdout is one JSON value, or nothing at all (no result)
//   exit code 0, stdout no JSON    failed for good, unless the executor's output is text
//   exit code 64 or 65             failed for good (sysexits: bad usage, bad data)
//   any other exit code            failed, tried again
//   more output than output_bytes  killed, failed for good
//   its processor time used up     failed for lack of a resource
//   a file larger than file_max    likewise
//   killed by a signal             the agent crashes: an attempt is spent, another agent gets the task at once
//   it cannot be started           failed, tried again
// Told to stop: SIGTERM at once, SIGKILL after kill_after, both to everything it started. Wound down: SIGTERM at once,
// SIGKILL after end_kill_after.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "skein/agent/os_executor.hpp"

namespace skein::inline v0::agent {

class CommandExecutor final : public Executor {
 public:
  // Throws std::invalid_argument without a command.
  CommandExecutor(std::shared_ptr<launcher::OsProcesses> os, std::shared_ptr<const OsExecutorOptions> options);

  void start(ExecutorHost& host) override;
  void run(const dispatch::Order& order) override;
  void stop(dispatch::TaskRef ref, dispatch::StopReason why) override;
  void handle(Message message) override;
  [[nodiscard]] Duration wind_down() override;
  void shutdown() override;
  [[nodiscard]] bool tells_last_words() const override { return true; }
  [[nodiscard]] pid_t os_pid() const override { return child_.pid(); }
  [[nodiscard]] std::string describe() const override;

 private:
  void take_output(const launcher::OsOutput& output);
  void ended(const launcher::OsExited& exited);
  void succeeded(dispatch::TaskRef ref);

  std::shared_ptr<const OsExecutorOptions> options_;
  OsChild child_;
  ExecutorHost* host_ = nullptr;
  std::optional<dispatch::TaskRef> task_;
  std::string output_;
  std::string token_;  // of the attempt; empty: it was given none
  bool is_too_much_ = false;
};

}  // namespace skein::inline v0::agent
