#include "skein/agent/stdio_executor.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "skein/base/json_text.hpp"

namespace skein::inline v0::agent {

using dispatch::TaskRef;
using ledger::ErrorClass;

namespace {

// Of a line that breaks the protocol, in the reason.
constexpr std::size_t k_shown_line = 120;
// From the end of its output to its exit, which says more, if that is what it is.
constexpr Duration k_output_end_grace = std::chrono::seconds(1);

}  // namespace

StdioExecutor::StdioExecutor(std::shared_ptr<launcher::OsProcesses> os,
                             std::shared_ptr<const OsExecutorOptions> options)
    : options_(std::move(options)), child_(std::move(os), options_), lines_(options_->line_bytes) {
  if (options_->command.empty()) throw std::invalid_argument("stdio executor: a command must be given");
}

void StdioExecutor::start(ExecutorHost& host) {
  host_ = &host;
  spawn();
}

void StdioExecutor::spawn() {
  const Self self = host_->process();
  lines_ = LineSplitter(options_->line_bytes);
  has_said_hello_ = false;
  unconsumed_ = 0;
  stderr_from_ = 0;
  last_.reset();
  std::vector<std::string> environment{"SKEIN_AGENT_ID=" + host_->agent_name(),
                                       fmt::format("SKEIN_PROTOCOL={}", k_stdio_protocol)};
  if (options_->task_token) {
    environment.insert(environment.end(), options_->reach.begin(), options_->reach.end());
  }
  child_.spawn(self, environment);
  // Before anything else that it is told. If it cannot be written, it cannot be started either, and that is told.
  static_cast<void>(child_.write(stdio_hello(host_->agent_name(), options_->line_bytes)));
}

void StdioExecutor::run(const dispatch::Order& order) {
  const auto bad = order.params ? check_json_text(*order.params, SIZE_MAX) : std::nullopt;
  if (bad) {
    host_->failed(order.ref, {ErrorClass::permanent,
                              fmt::format("the params are no JSON: {} at byte {}", bad->why, bad->at), std::nullopt});
    return;
  }
  task_ = AtHand{order.ref, order.id};
  stderr_from_ = child_.stderr_total();
  heard_at_ = host_->process().now();
  host_->started(order.ref);
  token_ = options_->task_token ? options_->task_token(order.id, order.ref.fence) : std::string();
  if (order.mark && check_json_text(*order.mark, SIZE_MAX)) {
    // Another executor's mark, which only that one can read.
    dispatch::Order without = order;
    without.mark.reset();
    if (!child_.write(stdio_task(without, token_))) give_up("it takes nothing from its standard input any more");
  } else if (!child_.write(stdio_task(order, token_))) {
    give_up("it takes nothing from its standard input any more");
  }
}

void StdioExecutor::stop(TaskRef ref, dispatch::StopReason why) {
  if (!task_ || task_->ref != ref) return;
  task_->is_stop_asked = true;
  if (why == dispatch::StopReason::timed_out) host_->last_words(ref, child_.stderr_text(token_, stderr_from_));
  // If it cannot be written, the ladder goes on without.
  static_cast<void>(child_.write(stdio_cancel(task_->id, ref.fence, why)));
  if (why != dispatch::StopReason::yield) child_.stop(host_->process(), options_->term_after, options_->kill_after);
}

Duration StdioExecutor::wind_down() {
  if (is_given_up_) return Duration::zero();
  if (child_.is_there() && !std::exchange(is_winding_down_, true)) {
    // If it cannot be written, the end of its stdin says the same.
    static_cast<void>(child_.write(stdio_shutdown()));
    child_.close_stdin();
  }
  return child_.wind_down(host_->process().now(), options_->end_term_after);
}

void StdioExecutor::shutdown() {
  if (!child_.is_there() || is_winding_down_) return;
  static_cast<void>(child_.write(stdio_shutdown()));
  child_.close_stdin();
  child_.terminate_now();
}

void StdioExecutor::handle(Message message) {
  if (is_given_up_ || child_.handle(host_->process(), message)) return;
  if (const auto* started = message.get_if<launcher::OsStarted>()) {
    const Self self = host_->process();
    if (started->id == child_.id()) self.send_after(options_->hello_timeout, self.pid(), HelloDue{child_.id()});
  } else if (const auto* output = message.get_if<launcher::OsOutput>()) {
    if (output->id == child_.id()) take_output(*output);
  } else if (const auto* exited = message.get_if<launcher::OsExited>()) {
    if (exited->id == child_.id()) ended(*exited);
  } else if (const auto* failed = message.get_if<launcher::OsStartFailed>()) {
    if (failed->id == child_.id()) host_->broken(failed->why);
  } else if (const auto* end = message.get_if<launcher::OsOutputEnd>()) {
    const Self self = host_->process();
    if (end->id == child_.id()) self.send_after(k_output_end_grace, self.pid(), OutputEnded{child_.id()});
  } else if (const auto* ended_output = message.get_if<OutputEnded>()) {
    if (ended_output->id == child_.id() && !child_.is_stopping()) give_up("it closed its standard output");
  } else if (const auto* due = message.get_if<HelloDue>()) {
    if (due->id == child_.id() && !has_said_hello_)
      give_up(fmt::format("it has not said hello within {} ms; does it flush its standard output after each line?",
                          std::chrono::duration_cast<std::chrono::milliseconds>(options_->hello_timeout).count()));
  }
}

void StdioExecutor::give_up(std::string why) {
  if (std::exchange(is_given_up_, true)) return;
  // While there is somebody to ask.
  const std::string said = child_.stderr_text(token_, stderr_from_);
  child_.kill();
  if (!said.empty()) why += "; it last wrote to standard error: " + said;
  host_->broken(fmt::format("'{}', pid {}: {}", options_->command[0], child_.pid(), masked(why, token_)));
}

void StdioExecutor::take_output(const launcher::OsOutput& output) {
  const std::size_t bytes = output.bytes.size();
  bytes_this_beat_ += bytes;
  const bool is_fine = lines_.feed(output.bytes, [this](std::string_view line) { return take_line(line); });
  if (lines_.is_too_long()) {
    give_up(fmt::format("it wrote a line of more than {} bytes", options_->line_bytes));
  }
  if (!is_fine) return;
  if (bytes_this_beat_ > options_->output_per_beat || lines_this_beat_ > options_->lines_per_beat) {
    unconsumed_ += bytes;
  } else {
    child_.consumed(bytes);
  }
}

void StdioExecutor::beat() {
  bytes_this_beat_ = 0;
  lines_this_beat_ = 0;
  if (!child_.is_there() || is_given_up_) return;
  if (unconsumed_ != 0) child_.consumed(std::exchange(unconsumed_, 0));
  const bool is_watched = options_->heartbeat_timeout > Duration::zero() && task_ && !child_.is_stopping();
  if (is_watched && between(heard_at_, host_->process().now()) > options_->heartbeat_timeout) {
    give_up("nothing was heard of it for longer than its heartbeat_timeout");
  }
}

bool StdioExecutor::take_line(std::string_view line) {
  ++lines_this_beat_;
  if (line.empty()) return true;
  heard_at_ = host_->process().now();
  auto message = parse_stdio_line(line, options_->json_depth);
  if (!message) {
    give_up(fmt::format("it wrote a line that breaks the protocol, {}: {}", message.error(),
                        shown_tail(masked(line, token_).substr(0, k_shown_line), k_shown_line)));
    return false;
  }
  if (auto* hello = std::get_if<StdioHello>(&*message)) {
    take_hello(*hello);
  } else if (!has_said_hello_) {
    give_up("its first line is no hello");
  } else if (auto* result = std::get_if<StdioResult>(&*message)) {
    if (is_current(result->task)) {
      host_->complete(take_task(), ledger::body_of(result->result));
    }
  } else if (auto* progress = std::get_if<StdioProgress>(&*message)) {
    if (is_current(progress->task)) host_->progress(task_->ref, ledger::body_of(masked(progress->mark, token_)));
  } else if (auto* error = std::get_if<StdioError>(&*message)) {
    if (is_current(error->task)) {
      const bool is_asked = task_->is_stop_asked;
      const TaskRef ref = take_task();
      if (error->is_given_up && is_asked) {
        host_->returned(ref);
      } else {
        // Unasked it is a failure like others: else the task would come back at once and at no cost, for ever.
        error->failure.message = masked(error->failure.message, token_);
        host_->failed(ref, std::move(error->failure));
      }
    }
  }
  return !is_given_up_;
}

TaskRef StdioExecutor::take_task() {
  last_ = std::exchange(task_, std::nullopt);
  if (child_.is_ending()) {
    host_->not_ready();
  } else {
    child_.spare();
  }
  return last_->ref;
}

void StdioExecutor::take_hello(StdioHello& hello) {
  if (has_said_hello_) return give_up("it said hello twice");
  if (hello.protocol != k_stdio_protocol) {
    return give_up(fmt::format("it speaks protocol {}, this node speaks {}", hello.protocol, k_stdio_protocol));
  }
  has_said_hello_ = true;
  host_->ready(std::move(hello.capabilities));
}

// An answer may cross a cancel, so what it says of the task before is passed over. Of any other it knows nothing.
bool StdioExecutor::is_current(const StdioTask& task) {
  const auto names = [&](const std::optional<AtHand>& mine) {
    return mine && mine->id == task.id && (!task.fence || *task.fence == mine->ref.fence);
  };
  if (names(task_)) return true;
  if (!names(last_)) give_up(fmt::format("it answers task {}, which it was not given", task.id.text()));
  return false;
}

void StdioExecutor::ended(const launcher::OsExited& exited) {
  const bool was_stopped = child_.is_stopping();
  if (!was_stopped) {
    is_given_up_ = true;
    host_->broken(fmt::format("'{}', pid {}: {}", options_->command[0], child_.pid(),
                              how_it_ended(exited, token_, stderr_from_)));
    return;
  }
  child_.forget();
  host_->not_ready();
  if (task_) host_->returned(std::exchange(task_, std::nullopt)->ref);
  spawn();
}

std::string StdioExecutor::describe() const {
  const char* state = !has_said_hello_ ? "starting" : child_.is_stopping() ? "stopping" : task_ ? "busy" : "waiting";
  return fmt::format("stdio '{}', {}, {}", options_->command[0], child_.described(), state);
}

}  // namespace skein::inline v0::agent
