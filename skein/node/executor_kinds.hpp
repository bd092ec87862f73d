// The kinds of executors that [executors.NAME] may have, one entry each: which keys mean something to it, how it is
// made, and what the config template shows of it. Reading the config (config.cpp), checking it (config_check.cpp), the
// template and Executors go by this table, so a kind is added by an entry here, its executor beside the others in
// skein/agent, and a line in docs/config.md. Pure but for `make`; any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "skein/agent/executor.hpp"
#include "skein/agent/function_executor.hpp"
#include "skein/launcher/os_processes.hpp"
#include "skein/node/config.hpp"
#include "skein/node/executor_identity.hpp"

namespace skein::inline v0::node {

// C++ functions by the type of task they run.
using Functions = std::map<std::string, agent::TaskFunction, std::less<>>;

// How an agent's program reaches the node with the token of its task.
struct AgentReach {
  std::function<std::string(ledger::TaskId task, ledger::Fence fence)> task_token{};
  std::string url{};     // empty: HTTP is off
  std::string socket{};  // for those that see the data folder
};

// The parts of which an executor of any kind is made. `os` and `identity` are null for kinds that run no programs.
struct ExecutorParts {
  const ExecutorConfig& config;
  const std::shared_ptr<const Functions>& functions;
  const std::shared_ptr<launcher::OsProcesses>& os;
  const ExecutorIdentity* identity;
  const AgentReach& reach;
};

struct ExecutorKind {
  std::string_view name;
  std::string_view help;
  std::span<const std::string_view> keys;  // of [executors.NAME], besides k_common_executor_keys
  bool runs_programs = false;              // needs a command, the launcher and an identity
  bool offers_functions = false;           // its agents can do what `functions` names
  std::unique_ptr<agent::Executor> (*make)(const ExecutorParts& parts) = nullptr;
  std::string_view example{};  // a section of the config template; empty: none
};

// Keys that every kind has.
inline constexpr std::string_view k_common_executor_keys[] = {"kind", "timeout", "concurrency"};

[[nodiscard]] std::span<const ExecutorKind> executor_kinds();
// Null: there is none.
[[nodiscard]] const ExecutorKind* find_executor_kind(std::string_view name);
// Only of a config that was read without a fault.
[[nodiscard]] const ExecutorKind& kind_of(const ExecutorConfig& config);
[[nodiscard]] bool has_key(const ExecutorKind& kind, std::string_view key);

// The environment of an executor's programs, whichever user they run as. The node's own environment is read.
[[nodiscard]] std::vector<std::string> environment_of(const ExecutorConfig& config);

}  // namespace skein::inline v0::node
