// What runs the tasks of one agent: a plug-in behind one small interface. Functions, commands and long-lived OS
// processes are here; MCP servers, HTTP endpoints and chat models fit the same shape.
//
// An executor lives inside its agent's process: every member is called there, one at a time, and so must every member
// of its host be. Nothing in it may block. What it waits for comes as messages to the agent's process; those that are
// not the agent's own go to handle().
//
// 1. run() is called only while the executor is ready and nothing runs: one task at a time.
// 2. Each run() is answered once, by complete, failed, returned or cannot_start of the host, from within run() or
//    later.
// 3. stop() asks for that answer soon. A task that had to be cut short is returned: the caller of stop() knows why.
// 4. After broken() the agent ends as a crash, which costs what runs an attempt, and the executor is shut down.
// 5. An agent that ends gracefully winds its executor down first, so that an OS process has time to clean up. A
//    supervisor that kills the agent, once its time is over, thereby ends the OS process too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/dispatch/agent_protocol.hpp"
#include "skein/runtime/self.hpp"

namespace skein::inline v0::agent {

// Why an attempt failed, in the words of the ledger.
struct Failure {
  ledger::ErrorClass error = ledger::ErrorClass::transient;
  std::string message;  // for people; cut off after dispatch::k_message_bytes_max
  std::optional<Duration> retry_after;
};

// The calls that an executor may make to its agent.
class ExecutorHost {
 public:
  ExecutorHost() = default;
  ExecutorHost(const ExecutorHost&) = delete;
  ExecutorHost& operator=(const ExecutorHost&) = delete;
  virtual ~ExecutorHost() = default;

  // The agent's process, for timers and for the Pid to which messages go.
  [[nodiscard]] virtual Self process() const = 0;
  [[nodiscard]] virtual const std::string& agent_name() const = 0;

  // Able to run. `capabilities` are what it found out that it can do; they count when none were configured.
  virtual void ready(std::vector<std::string> capabilities = {}) = 0;
  // Not able to run tasks at the moment: it restarts by itself and then calls ready().
  virtual void not_ready() = 0;
  // The work has begun. Said at once if it will take longer than a moment; what ends within run() need not say it.
  virtual void started(dispatch::TaskRef ref) = 0;
  // How far it is, in a form that a later attempt can go on from. The newest counts, some may be passed over.
  virtual void progress(dispatch::TaskRef ref, ledger::Body mark) = 0;
  virtual void complete(dispatch::TaskRef ref, ledger::Body result) = 0;
  virtual void failed(dispatch::TaskRef ref, Failure failure) = 0;
  // What is known of an attempt that is about to fail for reasons outside it; see Executor::tells_last_words().
  virtual void last_words(dispatch::TaskRef ref, std::string text) = 0;
  // Stopped as asked, or never begun.
  virtual void returned(dispatch::TaskRef ref) = 0;
  // The executor's program cannot be started: the task goes back at no cost, and the agent takes no other for a while.
  virtual void cannot_start(dispatch::TaskRef ref, std::string why) = 0;
  // Beyond help: the agent crashes with this reason.
  virtual void broken(std::string why) = 0;
};

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Called once. The host outlives the executor; it is told ready() from here or later.
  virtual void start(ExecutorHost& host) = 0;
  // The order is valid during the call; copy what is needed later.
  virtual void run(const dispatch::Order& order) = 0;
  // The running task is to end. With StopReason::yield only if that is easily done: it may go on and need not answer.
  virtual void stop(dispatch::TaskRef ref, dispatch::StopReason why) = 0;
  // The agent is going down gracefully: called again after as long as it says, until that is zero, which must be soon.
  // No messages come any more.
  [[nodiscard]] virtual Duration wind_down() { return Duration::zero(); }
  // The agent goes down. Nothing may be said to the host any more.
  virtual void shutdown() {}
  // A message that is not the agent's own.
  virtual void handle(Message message) { static_cast<void>(message); }
  // Every heartbeat of the agent.
  virtual void beat() {}

  // For a bulkhead that agents share; empty: none.
  [[nodiscard]] virtual std::string_view shared_name() const { return {}; }
  [[nodiscard]] virtual bool is_function() const { return false; }
  // Told to stop because of a timeout, it says last_words() from within stop(), empty ones included.
  [[nodiscard]] virtual bool tells_last_words() const { return false; }
  // The program that it runs at the moment, as the operating system numbers it; 0: none.
  [[nodiscard]] virtual pid_t os_pid() const { return 0; }
  // The present state, for people.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace skein::inline v0::agent
