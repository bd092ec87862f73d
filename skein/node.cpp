#include "skein/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "skein/node/node_host.hpp"
#include "skein/operations/methods.hpp"
#include "skein/operations/operations.hpp"
#include "skein/supervision/stop_tree.hpp"

namespace skein::inline v0 {
namespace {

using Kind = NodeError::Kind;
using Clock = std::chrono::steady_clock;
using operations::Code;
using std::chrono::milliseconds;

constexpr Duration k_stop_limit = std::chrono::seconds(20);     // of the tree, after draining
constexpr Duration k_shutdown_limit = std::chrono::seconds(5);  // of the runtime
constexpr milliseconds k_away_look{20};                         // until the engine is looked for again
constexpr milliseconds k_answer_grace{2'000};                   // for the answer of a wait whose time is up
constexpr milliseconds k_wait_round{50'000};                    // of one question; a longer wait asks again
constexpr milliseconds k_call_round = std::chrono::hours(1);    // the longest wait for one answer

Kind kind_of(Code code) {
  switch (code) {
    case Code::invalid:
    case Code::invalid_json:
    case Code::too_large:
    case Code::bad_cursor:
    case Code::key_reused:
      return Kind::invalid;
    case Code::task_not_found:
    case Code::swarm_not_found:
    case Code::agent_not_found:
    case Code::process_not_found:
    case Code::dependency_not_found:
    case Code::token_not_found:
      return Kind::not_found;
    case Code::queue_full:
    case Code::ledger_full:
    case Code::archive_behind:
    case Code::overloaded:
    case Code::archive_unavailable:
      return Kind::overloaded;
    case Code::unknown:
      return Kind::unknown;
    case Code::not_leader:
    case Code::stopped:
      return Kind::stopped;
    case Code::internal:
      return Kind::internal;
    default:
      return Kind::refused;
  }
}

// What a question does when it is asked again because its answer was lost.
enum class Effect : std::uint8_t { none, once, each_time };

NodeError error_of(const operations::Error& error) { return {kind_of(error.code), error.describe()}; }

// When a wait of this length that begins now is over; k_forever is the end of time.
Clock::time_point until(Duration timeout) {
  const auto now = Clock::now();
  return timeout < Clock::time_point::max() - now ? now + timeout : Clock::time_point::max();
}

// At least 1 ms and at most k_call_round.
milliseconds time_left(Clock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
  return std::clamp<milliseconds>(left, milliseconds(1), k_call_round);
}

ledger::TaskId task_named(const std::string& id) {
  const auto parsed = ledger::TaskId::parse(id);
  if (parsed && !parsed->none()) return *parsed;
  throw NodeError(Kind::invalid, fmt::format("'{}' is no id of a task: give what submit() returned", id));
}

std::vector<std::string> settings_of(const NodeConfig& config) {
  std::vector<std::string> all = config.settings;
  if (config.http.empty()) return all;
  const bool is_on = config.http != "off";
  all.push_back(fmt::format("http.enabled={}", is_on));
  if (is_on) all.push_back(fmt::format("http.listen=\"{}\"", config.http));
  return all;
}

node::Config config_of(const NodeConfig& config) {
  auto read = node::load_config(config.file, settings_of(config));
  if (!read) {
    std::string words = read.error().describe();
    while (words.ends_with('\n')) words.pop_back();
    throw NodeError(Kind::bad_config, words);
  }
  if (!config.data.empty()) read->node.data = config.data;
  return std::move(*read);
}

agent::TaskFunction executor_function(NodeFunction function) {
  return [function = std::move(function)](const dispatch::Order& order) -> agent::FunctionOutcome {
    const TaskInput input{order.id.text(), order.shape->type, ledger::view_of(order.params),
                          ledger::view_of(order.mark), order.attempt};
    auto result = function(input);
    if (result) return agent::FunctionResult{ledger::body_of(*result)};
    const auto error = result.error().is_permanent ? ledger::ErrorClass::permanent : ledger::ErrorClass::transient;
    return agent::Failure{error, std::move(result.error().message), std::nullopt};
  };
}

operations::SubmitRequest submit_request(const TaskRequest& from) {
  operations::SubmitRequest request;
  request.type = from.type;
  request.params = from.params;
  request.swarm = from.swarm;
  request.key = from.key;
  request.priority = from.priority;
  request.capabilities = from.capabilities;
  for (const std::string& each : from.dependencies) request.dependencies.push_back(task_named(each));
  request.attempts = from.attempts;
  request.timeout = from.timeout;
  request.delay = from.delay;
  request.deadline = from.deadline;
  return request;
}

TaskState state_of(ledger::State state) {
  if (state == ledger::State::completed) return TaskState::completed;
  if (state == ledger::State::failed) return TaskState::failed;
  if (state == ledger::State::cancelled) return TaskState::cancelled;
  return ledger::is_running(state) ? TaskState::running : TaskState::waiting;
}

TaskReport report_of(const operations::TaskStatus& status) {
  const ledger::Task& task = status.finished ? status.finished->task : status.task;
  TaskReport report;
  report.id = task.id.text();
  report.state = state_of(task.state);
  report.agent = std::string(ledger::view_of(task.agent));
  report.attempts_failed = task.attempts;
  report.waits = status.waits;
  if (status.finished) {
    report.result = std::string(ledger::view_of(status.finished->result));
    report.message = status.finished->message;
  }
  return report;
}

}  // namespace

std::string_view name_of(TaskState state) {
  switch (state) {
    case TaskState::running:
      return "running";
    case TaskState::completed:
      return "completed";
    case TaskState::failed:
      return "failed";
    case TaskState::cancelled:
      return "cancelled";
    case TaskState::waiting:
      break;
  }
  return "waiting";
}

// What a Node owns. `runtime` comes first: what follows refers to it.
class Node::Inside {
 public:
  Inside(const node::Config& config, NodeConfig from) : runtime_(node::runtime_options(config)) {
    node::NodeSetup setup;
    setup.config = config;
    for (auto& [type, function] : from.functions) setup.functions.emplace(type, executor_function(std::move(function)));
    if (from.log) {
      setup.log = [log = std::move(from.log)](node::LogLevel level, std::string_view line) {
        log(node::name_of(level), line);
      };
    }
    setup.on_fatal = [this](const std::string& why) { end("the journal's disk failed: " + why, ExitReason::kill()); };
    setup.on_stop_asked = [this] { end("it was asked to stop", ExitReason::shutdown()); };
    auto host = node::NodeHost::prepare(runtime_, std::move(setup));
    if (!host) throw NodeError(std::move(host.error()));
    host_ = std::move(*host);
    const auto root = host_->start();
    if (!root) {
      runtime_.shutdown(k_shutdown_limit);
      throw NodeError(root.error());
    }
    root_ = *root;
  }
  ~Inside() { stop(Duration::zero()); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  [[nodiscard]] Runtime& runtime() { return runtime_; }
  [[nodiscard]] bool is_running() const { return !is_stopping_ && runtime_.is_alive(root_); }
  [[nodiscard]] bool is_draining() const { return is_stopping_; }
  bool stop(std::optional<Duration> drain);
  void must_run();

  // Asks until an engine answers: while the supervisors restart it, there is none for a moment. `ask` gets the
  // operations and the Reply. Throws NodeError.
  template <class T, class Ask>
  T answer(Effect effect, Clock::time_point end, const Ask& ask);

 private:
  // Any thread.
  void end(const std::string& why, ExitReason reason) {
    {
      const std::scoped_lock lock(mutex_);
      if (why_ended_.empty()) why_ended_ = why;
    }
    runtime_.exit(host_->context().root, std::move(reason));
  }

  Runtime runtime_;
  std::shared_ptr<node::NodeHost> host_;
  Pid root_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  std::string why_ended_;  // guarded by mutex_
  std::mutex stop_mutex_;
  std::optional<bool> has_stopped_cleanly_;  // guarded by stop_mutex_; nothing: it has not stopped
};

void Node::Inside::must_run() {
  if (runtime_.is_alive(root_)) return;
  const std::scoped_lock lock(mutex_);
  const std::string why = !why_ended_.empty() ? why_ended_
                          : is_stopping_      ? "stop() was called"
                                              : "its supervision tree gave up; the log says why";
  throw NodeError(Kind::stopped,
                  fmt::format("the node has ended: {}. Start one on the same data folder to go on", why));
}

template <class T, class Ask>
T Node::Inside::answer(Effect effect, Clock::time_point end, const Ask& ask) {
  while (true) {
    must_run();
    bool was_asked = false;
    // A waiting caller must not hold the operations: that would keep them from ending, and from answering.
    auto result = operations::ask<T>(
        [&](operations::Reply<T> reply) {
          const auto ops = host_->hooks().operations();
          if (ops == nullptr) return reply.fail(operations::engine_is_away());
          was_asked = true;
          ask(*ops, std::move(reply));
        },
        time_left(end));
    if (result) return std::move(*result);
    const operations::Error& error = result.error();
    if (error.code == Code::unknown && effect == Effect::none) throw NodeError(Kind::timed_out, error.describe());
    if (error.code != Code::stopped) throw error_of(error);
    if (was_asked && effect == Effect::each_time) {
      throw NodeError(Kind::unknown, "the node's engine ended before it answered: what was asked may have been done");
    }
    if (Clock::now() >= end) {
      must_run();
      throw NodeError(Kind::timed_out, "the node's engine is being restarted and did not come back in time: try again");
    }
    std::this_thread::sleep_for(k_away_look);
  }
}

bool Node::Inside::stop(std::optional<Duration> drain) {
  const std::scoped_lock lock(stop_mutex_);
  if (has_stopped_cleanly_) return *has_stopped_cleanly_;
  is_stopping_ = true;
  if (host_ == nullptr) return true;
  node::NodeContext& context = host_->context();
  host_->drain(drain.value_or(context.config()->node.drain), [this] { return !runtime_.is_alive(root_); });
  context.state = node::NodeState::stopping;
  const bool is_clean = stop_tree(runtime_, root_, k_stop_limit).clean;
  has_stopped_cleanly_ = runtime_.shutdown(k_shutdown_limit).clean && is_clean;
  return *has_stopped_cleanly_;
}

Node::Node(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

Node Node::start(NodeConfig config) {
  const node::Config read = config_of(config);
  try {
    return Node(std::make_unique<Inside>(read, std::move(config)));
  } catch (const std::system_error& error) {
    throw NodeError(Kind::start_failed,
                    fmt::format("the system gives the node no threads or memory: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    throw NodeError(Kind::bad_config, error.what());
  }
}

SubmittedTask Node::submit(const TaskRequest& request, Duration timeout) {
  if (inside_->is_draining()) throw NodeError(Kind::stopped, "the node is stopping and takes no new tasks");
  const operations::SubmitRequest wanted = submit_request(request);
  // With a key it finds what it may have made before; without one it could make a second task.
  const auto made = inside_->answer<operations::SubmitAnswer>(
      request.key.empty() ? Effect::each_time : Effect::once, until(timeout),
      [&](operations::Operations& ops, auto reply) { ops.task_submit(wanted, std::move(reply)); });
  return {made.id.text(), made.existing, made.waits ? made.waits->text : std::string()};
}

TaskReport Node::wait(const std::string& id, Duration timeout) {
  const auto end = until(timeout);
  operations::WaitRequest request{task_named(id), {}};
  while (true) {
    request.timeout = std::min(time_left(end), k_wait_round);
    const auto grace = end < Clock::time_point::max() - k_answer_grace ? end + k_answer_grace : end;
    const auto answer = inside_->answer<operations::WaitAnswer>(
        Effect::none, grace,
        [&](operations::Operations& ops, auto reply) { ops.task_wait(request, {}, std::move(reply)); });
    if (answer.finished) return report_of(answer.status);
    if (answer.is_stopping && inside_->is_draining()) {
      throw NodeError(Kind::stopped, fmt::format("the node is stopping, and task {} is not finished: wait again with "
                                                 "the next node on this data folder",
                                                 id));
    }
    if (Clock::now() < end) {
      // An engine that is restarted says the same as one that ends with its node.
      if (answer.is_stopping) std::this_thread::sleep_for(k_away_look);
      continue;
    }
    const TaskReport report = report_of(answer.status);
    throw NodeError(Kind::timed_out,
                    fmt::format("task {} is still {}{}{}: wait again, or cancel it", id, name_of(report.state),
                                report.waits.empty() ? "" : ", since ", report.waits));
  }
}

TaskReport Node::status(const std::string& id, Duration timeout) {
  const operations::StatusRequest request{task_named(id), {}, {}};
  return report_of(inside_->answer<operations::TaskStatus>(
      Effect::none, until(timeout),
      [&](operations::Operations& ops, auto reply) { ops.task_status(request, std::move(reply)); }));
}

void Node::cancel(const std::string& id, const std::string& reason, Duration timeout) {
  const operations::CancelRequest request{task_named(id), reason};
  std::ignore = inside_->answer<operations::State>(
      Effect::each_time, until(timeout),
      [&](operations::Operations& ops, auto reply) { ops.task_cancel(request, std::move(reply)); });
}

bool Node::is_running() const { return inside_->is_running(); }
bool Node::stop(std::optional<Duration> drain) { return inside_->stop(drain); }
Runtime& Node::runtime() { return inside_->runtime(); }

}  // namespace skein::inline v0
