// The executor whose tasks are C++ functions in the same program: for library users, demos, tests and benchmarks.
//
// The function runs inside the agent's process, so it should be short: one that blocks keeps the agent from answering,
// and past the lease its task goes to another. It cannot be stopped from outside; a FunctionLater can. A function that
// throws crashes its agent: the task it ran costs an attempt, the others are returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "skein/agent/executor.hpp"

namespace skein::inline v0::agent {

struct FunctionResult {
  ledger::Body result;
};
// Done after a while; the agent waits without holding a thread.
struct FunctionLater {
  Duration after{};
  ledger::Body result;
};
using FunctionOutcome = std::variant<FunctionResult, Failure, FunctionLater>;
using TaskFunction = std::function<FunctionOutcome(const dispatch::Order&)>;

// Built-ins. What `sleep` waits, in milliseconds, and what `fail` says, is the whole of the params.
[[nodiscard]] FunctionOutcome echo(const dispatch::Order& order);
[[nodiscard]] FunctionOutcome sleep(const dispatch::Order& order);
[[nodiscard]] FunctionOutcome fail(const dispatch::Order& order);
[[nodiscard]] FunctionOutcome crash(const dispatch::Order& order);
// All of them, by the type of the task.
[[nodiscard]] FunctionOutcome built_in(const dispatch::Order& order);
[[nodiscard]] std::vector<std::string> built_in_types();

class FunctionExecutor final : public Executor {
 public:
  // Agents may share one function; it then runs on several threads at once.
  explicit FunctionExecutor(std::shared_ptr<const TaskFunction> function);

  void start(ExecutorHost& host) override;
  void run(const dispatch::Order& order) override;
  void stop(dispatch::TaskRef ref, dispatch::StopReason why) override;
  void handle(Message message) override;
  [[nodiscard]] bool is_function() const override { return true; }
  [[nodiscard]] std::string describe() const override { return "a C++ function"; }

 private:
  struct Ripe {
    dispatch::TaskRef ref;
    ledger::Body result;
  };

  std::shared_ptr<const TaskFunction> function_;
  ExecutorHost* host_ = nullptr;
  std::optional<dispatch::TaskRef> later_;  // a FunctionLater at work
};

}  // namespace skein::inline v0::agent
