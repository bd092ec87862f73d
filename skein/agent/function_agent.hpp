// An agent whose executor is a C++ function in the same program: for library users, demos, tests and benchmarks.
//
// A process that holds up to `slots` tasks and runs them one after the other. It finds the dispatcher by name,
// announces itself, and again whenever the dispatcher is a new one; outcomes are kept until they are settled. The
// function runs inside the process, so it should be short: one that blocks keeps the agent from answering, and past
// the lease its task goes to another. A function that throws crashes its agent: the task it ran costs an attempt, the
// others are handed back.
//
// Many tasks go into one report: what was done within `report_every`, or until nothing is left to do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::agent {

struct FunctionResult {
  ledger::Body result;
};
struct FunctionFailure {
  ledger::ErrorClass error = ledger::ErrorClass::transient;
  std::string message;
  std::optional<Duration> retry_after;
};
// Done after a while; the agent waits without holding a thread.
struct FunctionLater {
  Duration after{};
  ledger::Body result;
};
using FunctionOutcome = std::variant<FunctionResult, FunctionFailure, FunctionLater>;
using TaskFunction = std::function<FunctionOutcome(const dispatch::Order&)>;

// Built-ins. What `sleep` waits, in milliseconds, and what `fail` says, is the whole of the params.
[[nodiscard]] FunctionOutcome echo(const dispatch::Order& order);
[[nodiscard]] FunctionOutcome sleep(const dispatch::Order& order);
[[nodiscard]] FunctionOutcome fail(const dispatch::Order& order);
[[nodiscard]] FunctionOutcome crash(const dispatch::Order& order);
// All of them, by the type of the task.
[[nodiscard]] FunctionOutcome built_in(const dispatch::Order& order);
[[nodiscard]] std::vector<std::string> built_in_types();

struct FunctionAgentOptions {
  std::string id;
  dispatch::Role role = dispatch::Role::worker;
  std::vector<std::string> capabilities;
  TaskFunction function;
  std::uint32_t slots = 2;  // one at work and so many ahead; 1 to dispatch::k_slots_max
  std::string dispatcher = std::string(dispatch::k_dispatcher_name);
  Duration heartbeat_every = dispatch::k_heartbeat_every;
  Duration connect_every = std::chrono::milliseconds(20);
  Duration report_every = std::chrono::milliseconds(1);
  Duration turn = std::chrono::milliseconds(5);  // then others get the processor, and messages are looked at
};

struct GetFunctionAgentState {};
struct FunctionAgentState {
  std::string id;
  std::string status;  // idle, executing, paused
  std::size_t queue_length = 0;
  std::size_t unsettled = 0;
  std::uint64_t tasks_completed = 0;
  std::uint64_t tasks_failed = 0;
};

class FunctionAgent {
 public:
  // Throws std::invalid_argument without an id or a function.
  FunctionAgent(Self self, std::unique_ptr<FunctionAgentOptions> options);

  struct Begin {};
  void handle_continue(Self self, Begin step);
  void handle_info(Self self, Message message);
  FunctionAgentState handle_call(Self self, GetFunctionAgentState request);
  void terminate(Self self, const ExitReason& reason);

 private:
  enum class Stage : std::uint8_t { waiting, running, ended };
  struct Held {
    dispatch::Order order;
    Stage stage = Stage::waiting;
    std::uint32_t beats = 0;  // heartbeats since it started or ended
    std::variant<std::monostate, dispatch::TaskComplete, dispatch::TaskFailed> outcome;
  };
  struct Connect {};
  struct Beat {};
  struct Work {};
  struct Ripe {
    dispatch::TaskRef ref;
    ledger::Body result;
  };

  void connect(Self self);
  void take(Self self, dispatch::Orders& orders);
  void take_order(dispatch::Order& order);
  void stop_task(const dispatch::StopTask& stop);
  void say_again(dispatch::TaskRef ref);
  void beat(Self self);
  Held* find(dispatch::TaskRef ref);
  void work(Self self);
  void run_one(Self self, dispatch::TaskRef ref, Held& held);
  void ended(dispatch::TaskRef ref, Held& held, FunctionOutcome outcome);
  void report(Self self);
  [[nodiscard]] std::vector<dispatch::TaskRef> held_refs() const;

  std::unique_ptr<FunctionAgentOptions> options_;
  Pid dispatcher_;
  MonitorRef watch_;
  std::uint64_t seen_ = 0;
  boost::unordered_flat_map<ledger::TaskNumber, Held> held_;
  std::deque<dispatch::TaskRef> queue_;      // to be begun; those stopped meanwhile are passed over
  std::optional<dispatch::TaskRef> later_;   // a FunctionLater at work
  std::optional<dispatch::TaskRef> inside_;  // the function that is running
  dispatch::AgentReport report_;
  Instant reported_at_{};
  bool is_working_ = false;
  bool is_paused_ = false;
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace skein::inline v0::agent
