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

template <class Result, class Answer = Result, class Request>
Asking<Result, Answer> ask(Self self, Pid supervisor, Request request, Duration timeout) {
  return {self.call<Supervisor>(supervisor, std::move(request), timeout)};
}

template <class Result, class Request>
Result ask(Runtime& runtime, Pid supervisor, Request request, Duration timeout) {
  using Answer = inspect::AnswerOf<Supervisor, Request>;
  return detail::result_of<Result, Answer>(runtime.call<Supervisor>(supervisor, std::move(request), timeout));
}

}  // namespace

// Answers that are results themselves pass through; plain ones become one.
template <class Result, class Answer>
Result detail::result_of(std::expected<Answer, CallError> answer) {
  if (!answer) return std::unexpected(unreachable(answer.error()));
  if constexpr (std::is_void_v<Answer>) {
    return {};
  } else if constexpr (std::is_same_v<Answer, PoolChildAnswer>) {
    if (answer->error != nullptr) return std::unexpected(std::move(*answer->error));
    return std::move(answer->started);
  } else {
    return std::move(*answer);
  }
}

template StartChildResult detail::result_of(std::expected<StartChildResult, CallError>);
template StartChildResult detail::result_of(std::expected<PoolChildAnswer, CallError>);
template ChildResult detail::result_of(std::expected<ChildResult, CallError>);
template ChildResult detail::result_of(std::expected<void, CallError>);
template ChildSpecResult detail::result_of(std::expected<ChildSpecResult, CallError>);
template WhichChildrenResult detail::result_of(std::expected<std::vector<ChildInfo>, CallError>);
template CountChildrenResult detail::result_of(std::expected<ChildCount, CallError>);
template std::expected<std::string, ChildError> detail::result_of(std::expected<std::string, CallError>);

Asking<StartChildResult> start_child(Self self, Pid supervisor, ChildSpec spec, Duration timeout) {
  return ask<StartChildResult>(self, supervisor, StartChild{std::move(spec)}, timeout);
}
StartChildResult start_child(Runtime& runtime, Pid supervisor, ChildSpec spec, Duration timeout) {
  return ask<StartChildResult>(runtime, supervisor, StartChild{std::move(spec)}, timeout);
}

Asking<StartChildResult, PoolChildAnswer> start_pool_child(Self self, Pid pool, std::any extra, Duration timeout) {
  return ask<StartChildResult, PoolChildAnswer>(self, pool, StartPoolChild{std::move(extra)}, timeout);
}
StartChildResult start_pool_child(Runtime& runtime, Pid pool, std::any extra, Duration timeout) {
  return ask<StartChildResult>(runtime, pool, StartPoolChild{std::move(extra)}, timeout);
}

Asking<ChildResult> terminate_child(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(self, supervisor, TerminateChild{std::move(child)}, timeout);
}
ChildResult terminate_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, TerminateChild{std::move(child)}, timeout);
}

Asking<StartChildResult> restart_child(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<StartChildResult>(self, supervisor, RestartChild{std::move(child)}, timeout);
}
StartChildResult restart_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<StartChildResult>(runtime, supervisor, RestartChild{std::move(child)}, timeout);
}

Asking<ChildResult> delete_child(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(self, supervisor, DeleteChild{std::move(child)}, timeout);
}
ChildResult delete_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, DeleteChild{std::move(child)}, timeout);
}

Asking<ChildSpecResult> get_childspec(Self self, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildSpecResult>(self, supervisor, GetChildSpec{std::move(child)}, timeout);
}
ChildSpecResult get_childspec(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout) {
  return ask<ChildSpecResult>(runtime, supervisor, GetChildSpec{std::move(child)}, timeout);
}

Asking<WhichChildrenResult, std::vector<ChildInfo>> which_children(Self self, Pid supervisor, Duration timeout) {
  return ask<WhichChildrenResult, std::vector<ChildInfo>>(self, supervisor, WhichChildren{}, timeout);
}
WhichChildrenResult which_children(Runtime& runtime, Pid supervisor, Duration timeout) {
  return ask<WhichChildrenResult>(runtime, supervisor, WhichChildren{}, timeout);
}

Asking<CountChildrenResult, ChildCount> count_children(Self self, Pid supervisor, Duration timeout) {
  return ask<CountChildrenResult, ChildCount>(self, supervisor, CountChildren{}, timeout);
}
CountChildrenResult count_children(Runtime& runtime, Pid supervisor, Duration timeout) {
  return ask<CountChildrenResult>(runtime, supervisor, CountChildren{}, timeout);
}

Asking<ChildResult> reconfigure(Self self, Pid supervisor, SupervisorSpec spec, Duration timeout) {
  return ask<ChildResult>(self, supervisor, Reconfigure{std::move(spec)}, timeout);
}
ChildResult reconfigure(Runtime& runtime, Pid supervisor, SupervisorSpec spec, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, Reconfigure{std::move(spec)}, timeout);
}

Asking<ChildResult, void> stop_supervisor(Self self, Pid supervisor, ExitReason reason, Duration timeout) {
  return ask<ChildResult, void>(self, supervisor, StopSupervisor{std::move(reason)}, timeout);
}
ChildResult stop_supervisor(Runtime& runtime, Pid supervisor, ExitReason reason, Duration timeout) {
  return ask<ChildResult>(runtime, supervisor, StopSupervisor{std::move(reason)}, timeout);
}

Asking<std::expected<std::string, ChildError>, std::string> supervisor_name(Self self, Pid supervisor,
                                                                            Duration timeout) {
  return ask<std::expected<std::string, ChildError>, std::string>(self, supervisor, SupervisorName{}, timeout);
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

Async<StartResult> start_supervisor(Self self, SupervisorSpec spec, std::string name) {
  SpawnOptions options = options_for(name);
  options.link = true;
  auto starting = self.start<Supervisor>(options, std::move(spec));
  StartResult result = co_await starting;
  co_return result;
}

}  // namespace skein::inline v0
