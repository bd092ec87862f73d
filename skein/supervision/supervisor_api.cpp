#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0 {
namespace {

ChildError unreachable(const CallError& error) {
  ChildError failure;
  failure.failure = error.failure == CallFailure::timeout ? ChildFailure::timeout : ChildFailure::noproc;
  failure.reason = error.failure == CallFailure::server_died ? error.reason : ExitReason::noproc();
  failure.message = error.text();
  return failure;
}

// Answers that are results themselves pass through; plain ones become one.
template <class Result, class Answer>
Result result_of(std::expected<Answer, CallError> answer) {
  if (!answer) return std::unexpected(unreachable(answer.error()));
  if constexpr (std::is_void_v<Answer>) {
    return {};
  } else {
    return std::move(*answer);
  }
}

template <class Result, class Request>
Task<Result> ask(Self self, Pid supervisor, Request request, Duration timeout) {
  auto calling = self.call<Supervisor>(supervisor, std::move(request), timeout);
  auto answer = co_await calling;
  co_return result_of<Result>(std::move(answer));
}

template <class Result, class Request>
Result ask(Runtime& runtime, Pid supervisor, Request request, Duration timeout) {
  return result_of<Result>(runtime.call<Supervisor>(supervisor, std::move(request), timeout));
}

}  // namespace

Task<StartChildResult> start_child(Self self, Pid supervisor, ChildSpec spec, Duration timeout) {
  return ask<StartChildResult>(self, supervisor, StartChild{std::move(spec)}, timeout);
}
StartChildResult start_child(Runtime& runtime, Pid supervisor, ChildSpec spec, Duration timeout) {
  return ask<StartChildResult>(runtime, supervisor, StartChild{std::move(spec)}, timeout);
}

Task<StartChildResult> start_pool_child(Self self, Pid pool, std::any extra, Duration timeout) {
  return ask<StartChildResult>(self, pool, StartPoolChild{std::move(extra)}, timeout);
}
StartChildResult start_pool_child(Runtime& runtime, Pid pool, std::any extra, Duration timeout) {
  return ask<StartChildResult>(runtime, pool, StartPoolChild{std::move(extra)}, timeout);
}

Task<ChildResult> terminate_child(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(self, supervisor, TerminateChild{std::move(child)}, timeout);
}
ChildResult terminate_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, TerminateChild{std::move(child)}, timeout);
}

Task<StartChildResult> restart_child(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<StartChildResult>(self, supervisor, RestartChild{std::move(child)}, timeout);
}
StartChildResult restart_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<StartChildResult>(runtime, supervisor, RestartChild{std::move(child)}, timeout);
}

Task<ChildResult> delete_child(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(self, supervisor, DeleteChild{std::move(child)}, timeout);
}
ChildResult delete_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, DeleteChild{std::move(child)}, timeout);
}

Task<ChildSpecResult> get_childspec(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildSpecResult>(self, supervisor, GetChildSpec{std::move(child)}, timeout);
}
ChildSpecResult get_childspec(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildSpecResult>(runtime, supervisor, GetChildSpec{std::move(child)}, timeout);
}

Task<WhichChildrenResult> which_children(Self self, Pid supervisor, Duration timeout) {
  return ask<WhichChildrenResult>(self, supervisor, WhichChildren{}, timeout);
}
WhichChildrenResult which_children(Runtime& runtime, Pid supervisor, Duration timeout) {
  return ask<WhichChildrenResult>(runtime, supervisor, WhichChildren{}, timeout);
}

Task<CountChildrenResult> count_children(Self self, Pid supervisor, Duration timeout) {
  return ask<CountChildrenResult>(self, supervisor, CountChildren{}, timeout);
}
CountChildrenResult count_children(Runtime& runtime, Pid supervisor, Duration timeout) {
  return ask<CountChildrenResult>(runtime, supervisor, CountChildren{}, timeout);
}

Task<ChildResult> reconfigure(Self self, Pid supervisor, SupervisorSpec spec, Duration timeout) {
  return ask<ChildResult>(self, supervisor, Reconfigure{std::move(spec)}, timeout);
}
ChildResult reconfigure(Runtime& runtime, Pid supervisor, SupervisorSpec spec, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, Reconfigure{std::move(spec)}, timeout);
}

Task<ChildResult> stop_supervisor(Self self, Pid supervisor, ExitReason reason, Duration timeout) {
  return ask<ChildResult>(self, supervisor, StopSupervisor{std::move(reason)}, timeout);
}
ChildResult stop_supervisor(Runtime& runtime, Pid supervisor, ExitReason reason, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, StopSupervisor{std::move(reason)}, timeout);
}

Task<std::expected<std::string, ChildError>> supervisor_name(Self self, Pid supervisor, Duration timeout) {
  return ask<std::expected<std::string, ChildError>>(self, supervisor, SupervisorName{}, timeout);
}
std::expected<std::string, ChildError> supervisor_name(Runtime& runtime, Pid supervisor, Duration timeout) {
  return ask<std::expected<std::string, ChildError>>(runtime, supervisor, SupervisorName{}, timeout);
}

namespace {

SpawnOptions options_for(std::string_view name) {
  SpawnOptions options;
  options.name = name;
  options.mailbox_limit = k_supervisor_mailbox_limit;
  return options;
}

}  // namespace

StartResult start_supervisor(Runtime& runtime, SupervisorSpec spec, std::string_view name) {
  return runtime.start<Supervisor>(options_for(name), std::move(spec));
}

Task<StartResult> start_supervisor(Self self, SupervisorSpec spec, std::string name) {
  SpawnOptions options = options_for(name);
  options.link = true;
  auto starting = self.start<Supervisor>(options, std::move(spec));
  StartResult result = co_await starting;
  co_return result;
}

}  // namespace skein::inline v0
