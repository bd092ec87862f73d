// Talking to a supervisor: each function exists for a process (co_await it, first argument Self) and for an ordinary
// thread (first argument Runtime&, blocks). As in OTP they wait without limit unless told otherwise: a supervisor may
// be busy starting or stopping a child. Errors: noproc when it is not there or died meanwhile, timeout, and the
// function's own.
#pragma once

#include "skein/runtime/runtime.hpp"
#include "skein/supervision/child.hpp"
#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0 {

namespace detail {
// An answer as it came, as the function's result.
template <class Result, class Answer>
[[nodiscard]] Result result_of(std::expected<Answer, CallError> answer);
}  // namespace detail

// A question on its way: co_await it for the Result.
template <class Result, class Answer = Result>
struct Asking : inspect::CallAwaiter<Answer> {
  Result await_resume() const {
    return detail::result_of<Result, Answer>(inspect::CallAwaiter<Answer>::await_resume());
  }
};

// already_started, already_present, start_failed, invalid; on a pool: invalid.
Asking<StartChildResult> start_child(Self self, Pid supervisor, ChildSpec spec, Duration timeout = k_forever);
StartChildResult start_child(Runtime& runtime, Pid supervisor, ChildSpec spec, Duration timeout = k_forever);

// Pools: start_pool_child(..., pool_arguments(a, b)). start_failed; on another supervisor: invalid.
Asking<StartChildResult, PoolChildAnswer> start_pool_child(Self self, Pid pool, std::any extra = {},
                                                           Duration timeout = k_forever);
StartChildResult start_pool_child(Runtime& runtime, Pid pool, std::any extra = {}, Duration timeout = k_forever);

// Stops it and keeps its spec (temporary: drops it). Ok also when it is not running. not_found; simple_one_for_one.
Asking<ChildResult> terminate_child(Self self, Pid supervisor, ChildRef child, Duration timeout = k_forever);
ChildResult terminate_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout = k_forever);

// Starts one that is down, or parked. running, restarting, not_found, start_failed, simple_one_for_one.
Asking<StartChildResult> restart_child(Self self, Pid supervisor, ChildRef child, Duration timeout = k_forever);
StartChildResult restart_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout = k_forever);

// Forgets the spec of one that is down. running, restarting, not_found, simple_one_for_one.
Asking<ChildResult> delete_child(Self self, Pid supervisor, ChildRef child, Duration timeout = k_forever);
ChildResult delete_child(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout = k_forever);

Asking<ChildSpecResult> get_childspec(Self self, Pid supervisor, ChildRef child, Duration timeout = k_forever);
ChildSpecResult get_childspec(Runtime& runtime, Pid supervisor, ChildRef child, Duration timeout = k_forever);

// Newest first.
using WhichChildrenResult = std::expected<std::vector<ChildInfo>, ChildError>;
Asking<WhichChildrenResult, std::vector<ChildInfo>> which_children(Self self, Pid supervisor,
                                                                   Duration timeout = k_forever);
WhichChildrenResult which_children(Runtime& runtime, Pid supervisor, Duration timeout = k_forever);

using CountChildrenResult = std::expected<ChildCount, ChildError>;
Asking<CountChildrenResult, ChildCount> count_children(Self self, Pid supervisor, Duration timeout = k_forever);
CountChildrenResult count_children(Runtime& runtime, Pid supervisor, Duration timeout = k_forever);

// invalid: nothing was changed.
Asking<ChildResult> reconfigure(Self self, Pid supervisor, SupervisorSpec spec, Duration timeout = k_forever);
ChildResult reconfigure(Runtime& runtime, Pid supervisor, SupervisorSpec spec, Duration timeout = k_forever);

// Returns when it and its children are dead. timeout: it still goes on stopping.
Asking<ChildResult, void> stop_supervisor(Self self, Pid supervisor, ExitReason reason = {},
                                          Duration timeout = k_forever);
ChildResult stop_supervisor(Runtime& runtime, Pid supervisor, ExitReason reason = {}, Duration timeout = k_forever);

// The name it was given in its spec.
Asking<std::expected<std::string, ChildError>, std::string> supervisor_name(Self self, Pid supervisor,
                                                                            Duration timeout = k_forever);
std::expected<std::string, ChildError> supervisor_name(Runtime& runtime, Pid supervisor, Duration timeout = k_forever);

// Starts a root supervisor from an ordinary thread; `name` is registered if not empty.
StartResult start_supervisor(Runtime& runtime, SupervisorSpec spec, std::string_view name = {});
// Starts one linked to this process, which becomes its parent.
Async<StartResult> start_supervisor(Self self, SupervisorSpec spec, std::string name = {});

}  // namespace skein::inline v0
