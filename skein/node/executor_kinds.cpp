#include "skein/node/executor_kinds.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <optional>
#include <utility>

#include "skein/agent/command_executor.hpp"
#include "skein/agent/stdio_executor.hpp"

namespace skein::inline v0::node {
namespace {

// Runs whatever function the task's type names.
struct ByType {
  std::shared_ptr<const Functions> functions;

  agent::FunctionOutcome operator()(const dispatch::Order& order) const {
    const auto found = functions->find(order.shape->type);
    return found != functions->end() ? found->second(order) : agent::built_in(order);
  }
};

// The socket is in the data folder, which only programs of the node's own user may see, and is for that user alone.
void give_reach(const AgentReach& reach, const ExecutorIdentity& identity, agent::OsExecutorOptions& options) {
  options.task_token = reach.task_token;
  if (!reach.url.empty()) options.reach.push_back("SKEIN_URL=" + reach.url);
  const bool sees_socket = !identity.is_private && !identity.user;
  if (sees_socket && !reach.socket.empty()) options.reach.push_back("SKEIN_SOCKET=" + reach.socket);
}

std::shared_ptr<const agent::OsExecutorOptions> os_options(const ExecutorParts& parts) {
  const ExecutorConfig& config = parts.config;
  auto options = std::make_shared<agent::OsExecutorOptions>();
  options->command = config.command;
  options->directory = config.directory;
  options->environment = environment_of(config);
  const auto cpu = std::chrono::duration_cast<std::chrono::seconds>(config.cpu_max + std::chrono::milliseconds(999));
  options->limits = {.memory_bytes = config.memory_max,
                     .cpu_seconds = config.cpu_max == Duration::zero() ? 0 : static_cast<std::uint64_t>(cpu.count()),
                     .open_files = config.files_max,
                     .file_bytes = config.file_max,
                     .processes = config.processes_max};
  options->output_bytes = config.output_bytes;
  options->line_bytes = config.line_bytes;
  options->stderr_bytes = config.stderr_bytes;
  options->is_text_output = config.output == "text";
  options->term_after = config.term_after;
  options->kill_after = config.kill_after;
  options->hello_timeout = config.hello_timeout;
  options->heartbeat_timeout = config.heartbeat_timeout;
  options->umask = parse_umask(config.umask).value_or(options->umask);
  options->no_new_privs = config.no_new_privs;
  options->user = parts.identity->user;
  options->is_private = parts.identity->is_private;
  if (config.token) give_reach(parts.reach, *parts.identity, *options);
  return options;
}

std::unique_ptr<agent::Executor> make_function(const ExecutorParts& parts) {
  return std::make_unique<agent::FunctionExecutor>(
      std::make_shared<const agent::TaskFunction>(ByType{parts.functions}));
}

template <class OsExecutor>
std::unique_ptr<agent::Executor> make_os(const ExecutorParts& parts) {
  return std::make_unique<OsExecutor>(parts.os, os_options(parts));
}

constexpr std::array<std::string_view, 1> k_function_keys{"functions"};
constexpr std::array<std::string_view, 19> k_command_keys{
    "command",  "directory",     "env",          "set_env",      "memory_max", "cpu_max",    "files_max",
    "file_max", "processes_max", "output_bytes", "stderr_bytes", "output",     "kill_after", "user",
    "group",    "no_new_privs",  "umask",        "isolate",      "token"};
constexpr std::array<std::string_view, 21> k_stdio_keys{
    "command",           "directory",     "env",        "set_env",      "memory_max", "cpu_max",    "files_max",
    "file_max",          "processes_max", "line_bytes", "stderr_bytes", "term_after", "kill_after", "hello_timeout",
    "heartbeat_timeout", "user",          "group",      "no_new_privs", "umask",      "isolate",    "token"};

constexpr std::string_view k_command_example =
    R"(# One OS process per task: params on standard input as JSON, the result from standard output.
# Exit code 0: completed. Any other: the attempt failed, and standard error says why.
[executors.count]
kind = "command"
command = ["wc", "-c"]
timeout = "1min"
)";
constexpr std::string_view k_stdio_example =
    R"(# A long-lived OS process, one JSON message per line. This one always gives the same answer.
[executors.lines]
kind = "stdio"
command = ["/bin/sh", "-c", '''
echo '{"type":"hello","protocol":1}'
while read -r line; do
  id=${line#*\"task\":\"}; id=${id%%\"*}
  fence=${line#*\"fence\":}; fence=${fence%%,*}
  case $line in *'"type":"task"'*)
    printf '{"type":"result","task":"%s","fence":%s,"result":{"answer":42}}\n' "$id" "$fence" ;;
  esac
done
''']
)";

constexpr std::array<ExecutorKind, 3> k_kinds{{
    {"function", "C++ functions in the program itself", k_function_keys, false, true, &make_function, {}},
    {"command", "one OS process per task", k_command_keys, true, false, &make_os<agent::CommandExecutor>,
     k_command_example},
    {"stdio", "a long-lived OS process, one JSON message per line", k_stdio_keys, true, false,
     &make_os<agent::StdioExecutor>, k_stdio_example},
}};

}  // namespace

std::span<const ExecutorKind> executor_kinds() { return k_kinds; }

const ExecutorKind* find_executor_kind(std::string_view name) {
  const auto found = std::ranges::find(k_kinds, name, &ExecutorKind::name);
  return found != k_kinds.end() ? &*found : nullptr;
}

const ExecutorKind& kind_of(const ExecutorConfig& config) {
  const ExecutorKind* kind = find_executor_kind(config.kind);
  assert(kind != nullptr);
  return *kind;
}

bool has_key(const ExecutorKind& kind, std::string_view key) {
  return std::ranges::find(k_common_executor_keys, key) != std::end(k_common_executor_keys) ||
         std::ranges::find(kind.keys, key) != kind.keys.end();
}

std::vector<std::string> environment_of(const ExecutorConfig& config) {
  return agent::build_environment(config.env, config.set_env,
                                  [](const std::string& name) -> std::optional<std::string> {
                                    const char* value = std::getenv(name.c_str());
                                    if (value == nullptr) return std::nullopt;
                                    return std::string(value);
                                  });
}

}  // namespace skein::inline v0::node
