#include "skein/agent/command_executor.hpp"

#include <csignal>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "skein/base/json_text.hpp"
#include "skein/base/trace_context.hpp"

namespace skein::inline v0::agent {

using dispatch::TaskRef;
using ledger::ErrorClass;

namespace {

constexpr int k_bad_usage = 64;  // EX_USAGE
constexpr int k_bad_data = 65;   // EX_DATAERR

// `token`: of the attempt; empty: it is given none.
std::vector<std::string> environment_of(const dispatch::Order& order, const std::string& agent,
                                        const OsExecutorOptions& options, const std::string& token) {
  std::vector<std::string> environment{
      "SKEIN_AGENT_ID=" + agent,
      "SKEIN_TASK_ID=" + order.id.text(),
      "SKEIN_TASK_TYPE=" + order.shape->type,
      fmt::format("SKEIN_FENCE={}", order.ref.fence),
      fmt::format("SKEIN_ATTEMPT={}", order.attempt),
      fmt::format("SKEIN_TIMEOUT_MS={}", std::chrono::duration_cast<std::chrono::milliseconds>(order.timeout).count()),
  };
  // Tasks of earlier versions may have any text.
  if (order.extras && TraceContext::parse(order.extras->trace)) {
    environment.push_back("TRACEPARENT=" + order.extras->trace);
  }
  if (!token.empty()) {
    environment.push_back("SKEIN_TOKEN=" + token);
    environment.insert(environment.end(), options.reach.begin(), options.reach.end());
  }
  // An environment cannot carry a zero byte.
  std::erase_if(environment, [](const std::string& each) { return each.find('\0') != std::string::npos; });
  return environment;
}

std::string_view without_space(std::string_view text) {
  constexpr std::string_view k_space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_space) - first + 1);
}

}  // namespace

CommandExecutor::CommandExecutor(std::shared_ptr<launcher::OsProcesses> os,
                                 std::shared_ptr<const OsExecutorOptions> options)
    : options_(std::move(options)), child_(std::move(os), options_) {
  if (options_->command.empty()) throw std::invalid_argument("command executor: a command must be given");
}

void CommandExecutor::start(ExecutorHost& host) {
  host_ = &host;
  host.ready();
}

void CommandExecutor::run(const dispatch::Order& order) {
  task_ = order.ref;
  output_.clear();
  is_too_much_ = false;
  token_ = options_->task_token ? options_->task_token(order.id, order.ref.fence) : std::string();
  child_.spawn(host_->process(), environment_of(order, host_->agent_name(), *options_, token_));
  std::string line = order.params ? on_one_line(*order.params) : "null";
  line += '\n';
  // It finds them when it starts. One that reads nothing may have ended before all was written; its exit tells.
  static_cast<void>(child_.write(std::move(line)));
  child_.close_stdin();
}

void CommandExecutor::stop(TaskRef ref, dispatch::StopReason why) {
  // A command knows no other way to yield than to be killed.
  if (task_ != ref || why == dispatch::StopReason::yield) return;
  if (why == dispatch::StopReason::timed_out) host_->last_words(ref, child_.stderr_text(token_));
  child_.stop(host_->process(), Duration::zero(), options_->kill_after);
}

Duration CommandExecutor::wind_down() { return child_.wind_down(host_->process().now(), Duration::zero()); }

void CommandExecutor::shutdown() {
  if (child_.is_there()) child_.kill();
}

void CommandExecutor::handle(Message message) {
  if (child_.handle(host_->process(), message)) return;
  if (const auto* started = message.get_if<launcher::OsStarted>()) {
    // Its time runs from here: what waits for a launcher has not begun.
    if (started->id == child_.id() && task_) host_->started(*task_);
  } else if (const auto* output = message.get_if<launcher::OsOutput>()) {
    if (output->id == child_.id()) take_output(*output);
  } else if (const auto* exited = message.get_if<launcher::OsExited>()) {
    if (exited->id == child_.id()) ended(*exited);
  } else if (const auto* failed = message.get_if<launcher::OsStartFailed>()) {
    if (failed->id != child_.id()) return;
    const bool was_stopped = child_.is_stopping();
    const TaskRef ref = *std::exchange(task_, std::nullopt);
    child_.forget();
    if (was_stopped) {
      host_->returned(ref);
    } else {
      host_->cannot_start(ref, failed->why);
    }
  }
}

void CommandExecutor::take_output(const launcher::OsOutput& output) {
  child_.consumed(output.bytes.size());
  if (is_too_much_) return;
  if (output_.size() + output.bytes.size() > options_->output_bytes) {
    is_too_much_ = true;
    output_.clear();
    child_.kill();
    return;
  }
  output_ += output.bytes;
}

void CommandExecutor::ended(const launcher::OsExited& exited) {
  const bool was_stopped = child_.is_stopping();
  const TaskRef ref = *std::exchange(task_, std::nullopt);
  child_.forget();
  if (is_too_much_) {
    host_->failed(ref, {ErrorClass::permanent,
                        fmt::format("it wrote more than the {} bytes its output may have", options_->output_bytes),
                        std::nullopt});
  } else if (was_stopped) {
    // Also when it ended well at the last moment: the caller that stopped it has decided already.
    host_->returned(ref);
  } else if (exited.signalled && exited.code == SIGXCPU) {
    host_->failed(
        ref, {ErrorClass::resource, fmt::format("it used up its {} s of processor time", options_->limits.cpu_seconds),
              std::nullopt});
  } else if (exited.signalled && exited.code == SIGXFSZ) {
    host_->failed(ref, {ErrorClass::resource,
                        fmt::format("it wrote a file of more than the {} bytes that file_max allows",
                                    options_->limits.file_bytes),
                        std::nullopt});
  } else if (exited.signalled || exited.launcher_died) {
    host_->broken(fmt::format("'{}': {}", options_->command[0], how_it_ended(exited, token_)));
  } else if (exited.code == 0) {
    succeeded(ref);
  } else {
    const bool is_for_good = exited.code == k_bad_usage || exited.code == k_bad_data;
    host_->failed(
        ref, {is_for_good ? ErrorClass::permanent : ErrorClass::transient, how_it_ended(exited, token_), std::nullopt});
  }
  output_.clear();
  output_.shrink_to_fit();
}

void CommandExecutor::succeeded(TaskRef ref) {
  if (options_->is_text_output) {
    host_->complete(ref, ledger::body_of(quoted_json(output_)));
    return;
  }
  const std::string_view result = without_space(output_);
  if (result.empty()) {
    host_->complete(ref, nullptr);
    return;
  }
  if (const auto fault = check_json_text(result, options_->json_depth)) {
    host_->failed(ref, {ErrorClass::permanent,
                        fmt::format("exit code 0, but its output is no JSON ({} at byte {}): print one JSON value or "
                                    "nothing",
                                    fault->why, fault->at),
                        std::nullopt});
    return;
  }
  host_->complete(ref, ledger::body_of(result));
}

std::string CommandExecutor::describe() const {
  if (!child_.is_there()) return fmt::format("command '{}'", options_->command[0]);
  return fmt::format("command '{}', {}", options_->command[0], child_.described());
}

}  // namespace skein::inline v0::agent
