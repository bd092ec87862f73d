// One task: submit, wait, status, cancel, retry.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/trace_context.hpp"
#include "skein/dispatch/capability.hpp"
#include "skein/ledger/retry_key.hpp"
#include "skein/operations/json_check.hpp"
#include "skein/operations/operations.hpp"
#include "skein/operations/operations_calls.hpp"
#include "skein/operations/submit_refusal.hpp"

namespace skein::inline v0::operations {
namespace {

using ledger::OpResult;
using ledger::Verdict;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds k_timeout_min{100};

std::optional<std::uint16_t> priority_of(std::string_view name) {
  if (name == "normal") return ledger::k_normal;
  if (name == "low") return ledger::k_low;
  if (name == "high") return ledger::k_high;
  if (name == "critical") return ledger::k_critical;
  return std::nullopt;
}

std::optional<Error> check_agent(const SubmitRequest& request) {
  if (request.agent.empty()) {
    if (request.agent_fallback.empty() && request.agent_wait == 0ms) return std::nullopt;
    return invalid("agent_fallback and agent_wait need an agent, and the task names none",
                   "give agent, or leave them out");
  }
  if (!is_plain_name(request.agent)) {
    return invalid(fmt::format("'{}' is not a valid name for an agent", request.agent),
                   std::string(k_plain_name_advice));
  }
  if (!request.agent_fallback.empty() && !ledger::agent_fallback_named(request.agent_fallback)) {
    return invalid(fmt::format("there is no agent_fallback '{}'", request.agent_fallback), "choose none or any");
  }
  return std::nullopt;
}

std::optional<Error> check(const SubmitRequest& request, const OperationsLimits& limits) {
  if (request.type.empty()) return invalid("a task needs a type", "give the type of work");
  if (!priority_of(request.priority)) {
    return invalid(fmt::format("there is no priority '{}'", request.priority), "choose low, normal, high or critical");
  }
  if (request.attempts == 0) return invalid("a task needs at least one attempt");
  if (request.timeout != 0ms && request.timeout < k_timeout_min) {
    return invalid(fmt::format("a timeout of {} ms is too short", request.timeout.count()), "give at least 100 ms");
  }
  if (request.delay < 0ms || request.deadline < 0ms || request.agent_wait < 0ms) return invalid("a time is negative");
  if (auto error = check_agent(request)) return error;
  for (const std::string& each : request.capabilities) {
    if (auto problem = dispatch::capability_text_problem(each)) return invalid(std::move(*problem));
  }
  if (!request.trace.empty() && !TraceContext::parse(request.trace)) {
    return invalid("trace is not a W3C traceparent",
                   "it looks like 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, in lower case");
  }
  if (request.params.size() > limits.gate.command_bytes) {
    return Error{Code::too_large, fmt::format("{} bytes of params are too many", request.params.size()),
                 "store large data elsewhere and send a reference to it", 0ms};
  }
  if (request.params.empty()) return std::nullopt;
  return check_json(request.params, limits.params_depth);
}

// Of a version to come only what this one knows is handed on, as section 3.2.1 of the recommendation asks.
std::string forwarded_trace(std::string trace) {
  if (trace.starts_with("00-")) return trace;
  const auto context = TraceContext::parse(trace);
  return context ? context->text() : std::string();
}

WallMs after(WallMs now, std::chrono::milliseconds delay) {
  return delay == 0ms ? 0 : now + static_cast<WallMs>(delay.count());
}

ledger::Placement placement_of(SubmitRequest&& request) {
  ledger::Placement where;
  where.agent = std::move(request.agent);
  where.fallback = ledger::agent_fallback_named(request.agent_fallback).value_or(ledger::AgentFallback::by_config);
  where.wait_ms = static_cast<std::uint64_t>(request.agent_wait.count());
  where.route_key = std::move(request.route_key);
  return where;
}

ledger::TaskSpec spec_of(SubmitRequest&& request, WallMs now) {
  ledger::TaskSpec spec;
  spec.swarm = std::move(request.swarm);
  spec.type = std::move(request.type);
  spec.capabilities = std::move(request.capabilities);
  if (!request.params.empty()) spec.params = std::make_shared<const std::string>(std::move(request.params));
  spec.priority = priority_of(request.priority).value_or(ledger::k_normal);
  spec.attempts_max = request.attempts;
  spec.timeout_ms = static_cast<std::uint64_t>(request.timeout.count());
  spec.not_before = after(now, request.delay);
  spec.deadline_at = after(now, request.deadline);
  spec.extras.dependencies = std::move(request.dependencies);
  spec.extras.key = std::move(request.key);
  if (!request.trace.empty()) spec.extras.trace = forwarded_trace(std::move(request.trace));
  if (!request.agent.empty() || !request.route_key.empty()) {
    spec.extras.placement = std::make_shared<const ledger::Placement>(placement_of(std::move(request)));
  }
  return spec;
}

// Of a submit that the gate hands back; an empty one for anything else.
ledger::Submit submit_in(std::string_view sent) {
  auto op = operation_in(sent);
  auto* submit = op ? std::get_if<ledger::Submit>(&*op) : nullptr;
  return submit != nullptr ? std::move(*submit) : ledger::Submit();
}

std::string task_text(TaskId id) { return "task " + id.text(); }

TaskId parent_in(const ledger::Submit& op) { return op.child_of ? op.child_of->task : TaskId{}; }

}  // namespace

void Operations::know_agents(std::shared_ptr<const AgentKnowledge> knowledge) {
  agents_known_.store(std::move(knowledge));
}

// A task that nobody else may do must not wait for a name that was mistyped.
std::optional<Error> Operations::unknown_agent(const SubmitRequest& request) const {
  if (request.agent.empty()) return std::nullopt;
  const auto agents = agents_known_.load();
  if (!agents || agents->is_known(request.agent)) return std::nullopt;
  SubmitRequest copy;
  copy.agent = request.agent;
  copy.agent_fallback = request.agent_fallback;
  if (agents->may_unpin(request.type, placement_of(std::move(copy)))) return std::nullopt;
  return Error{Code::agent_not_found,
               fmt::format("there is no agent '{}'{}, and no other agent may run the task", request.agent,
                           agents->suggestion(request.agent)),
               "start it first ('skein agents' lists the agents), or give agent_fallback any", 0ms};
}

// Also a name that nobody knows: another swarm may give it to an agent while the task waits.
std::optional<Error> Operations::foreign_agent(const SubmitRequest& request) const {
  if (!request.only_own_agents || request.agent.empty()) return std::nullopt;
  const auto agents = agents_known_.load();
  if (!agents || agents->swarm_of(request.agent) == request.swarm) return std::nullopt;
  return Error{Code::agent_not_found, fmt::format("swarm '{}' has no agent '{}'", request.swarm, request.agent),
               "leave out the agent, or name one of that swarm", 0ms};
}

// What the ledger said to a submit.
Result<SubmitAnswer> Operations::answer_of_submit(TaskId id, const OpResult& result, const ledger::Submit& sent) const {
  const auto state = result.state.value_or(State::queued);
  switch (result.verdict) {
    case Verdict::ok:
    case Verdict::duplicate_id:  // ids are ours and new: it was this very submit, appended again
      return SubmitAnswer{id, state, false};
    case Verdict::existing:
      return SubmitAnswer{result.task, state, result.task != id};
    case Verdict::stale_fence:
    case Verdict::already_finished:
    case Verdict::no_such_task:
    case Verdict::too_many_children:
    case Verdict::too_deep:
      return std::unexpected(error_of(result, task_text(parent_in(sent))));
    case Verdict::swarm_closed: {
      const auto swarm = parts_.ledger.find_swarm(sent.spec.swarm);
      const bool is_removed = swarm && swarm->state == ledger::SwarmState::removed;
      if (is_removed) return std::unexpected(error_of(result, fmt::format("swarm '{}'", sent.spec.swarm)));
      return std::unexpected(submit_refusal(result, sent.spec, parts_.ledger.limits()));
    }
    default:
      return std::unexpected(submit_refusal(result, sent.spec, parts_.ledger.limits()));
  }
}

void Operations::task_submit(SubmitRequest request, Reply<SubmitAnswer> reply) {
  if (auto error = check(request, limits_)) return counted(std::move(reply)).fail(std::move(*error));
  if (auto error = foreign_agent(request)) return counted(std::move(reply)).fail(std::move(*error));
  if (auto error = unknown_agent(request)) return counted(std::move(reply)).fail(std::move(*error));
  if (may_be_stuck(request)) return begin_submit(std::move(request), warned(std::move(reply)));
  begin_submit(std::move(request), std::move(reply));
}

void Operations::begin_submit(SubmitRequest&& request, Reply<SubmitAnswer>&& reply) {
  if (const Pid pid = request.notify) return submit_and_notify(pid, std::move(request), std::move(reply));
  if (request.child_of && !request.key.empty()) {
    auto checked = only_own(*request.child_of, std::move(reply));
    return submit(std::move(request), std::move(checked));
  }
  submit(std::move(request), std::move(reply));
}

void Operations::submit(SubmitRequest&& request, Reply<SubmitAnswer>&& reply) {
  const WallMs now = parts_.timers.wall_now();
  const TaskId id = ids_.next(now);
  auto child = request.child_of ? std::make_shared<const ledger::ChildOf>(*request.child_of) : nullptr;
  ledger::Op op(ledger::Submit{id, now, spec_of(std::move(request), now), std::move(child)});
  auto& submit_op = std::get<ledger::Submit>(op);
  if (!submit_op.spec.extras.dependencies.empty()) {
    return submit(std::make_shared<ledger::Submit>(std::move(submit_op)), std::move(reply));
  }
  submits_->append(op, [self = shared_from_this(), id, reply = std::move(reply)](const Result<OpResult>& result,
                                                                                 std::string_view sent) mutable {
    if (!result || result->verdict != Verdict::ok) {
      return self->answer_submit(id, result, submit_in(sent), std::move(reply));
    }
    self->submitted_.fetch_add(1, std::memory_order_relaxed);
    reply(SubmitAnswer{id, result->state.value_or(State::queued), false});
  });
}

void Operations::submit(const std::shared_ptr<ledger::Submit>& op, Reply<SubmitAnswer> reply) {
  submits_->append(ledger::Op(*op), [self = shared_from_this(), op, reply = std::move(reply)](
                                        const Result<OpResult>& result, std::string_view) mutable {
    if (result && result->verdict == Verdict::no_such_dependency) {
      return self->settle_dependency(op, result->task, std::move(reply));
    }
    self->answer_submit(op->id, result, *op, std::move(reply));
  });
}

void Operations::answer_submit(TaskId id, const Result<OpResult>& result, const ledger::Submit& sent,
                               Reply<SubmitAnswer>&& reply) {
  auto answer = result ? answer_of_submit(id, *result, sent) : std::unexpected(result.error());
  if (answer) count_submit(*answer);
  if (answer && answer->existing) return look_for_existing(*answer, sent.spec, counted(std::move(reply)));
  counted(std::move(reply))(std::move(answer));
}

// The ledger no longer knows a task that is archived. Completed, it holds up nobody; otherwise there is nothing to wait
// for.
void Operations::settle_dependency(const std::shared_ptr<ledger::Submit>& op, TaskId dependency,
                                   Reply<SubmitAnswer> reply) {
  const OpResult nowhere{Verdict::no_such_dependency, std::nullopt, 0, dependency};
  if (parts_.archive == nullptr) {
    return counted(std::move(reply)).fail(submit_refusal(nowhere, {}, {}));
  }
  on_archive(std::move(reply),
             [self = shared_from_this(), op, dependency, nowhere](archive::Store& store, Reply<SubmitAnswer> answer) {
               const auto found = store.find(dependency);
               if (!found) return self->counted(std::move(answer)).fail(error_of(found.error()));
               if (!*found) return self->counted(std::move(answer)).fail(submit_refusal(nowhere, {}, {}));
               const auto state = (*found)->task.state;
               if (state != State::completed) {
                 return self->counted(std::move(answer))
                     .fail({Code::dependency_failed,
                            fmt::format("{}, which it waits for, is {}", task_text(dependency), ledger::name_of(state)),
                            "retry that task and wait for the new one", 0ms});
               }
               std::erase(op->spec.extras.dependencies, dependency);
               self->submit(op, std::move(answer));
             });
}

void Operations::task_status(const StatusRequest& request, Reply<TaskStatus> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this(), request](Reply<TaskStatus> answer) {
    TaskId id = request.id;
    if (id.none()) {
      if (const auto found = self->parts_.ledger.find_key(request.swarm, request.key)) id = found->first;
      if (id.none()) {
        return answer.fail({Code::task_not_found,
                            fmt::format("no task of swarm '{}' has the key '{}'", request.swarm, request.key),
                            "keys are dropped in time; 'skein tasks' lists the tasks", 0ms});
      }
    }
    if (auto view = self->parts_.ledger.find(id)) return answer(self->live_status(std::move(*view)));
    self->find_archived(id, std::move(answer), [](const archive::Finished& finished, Reply<TaskStatus> last) {
      last(archived_status(finished));
    });
  });
}

void Operations::task_cancel(CancelRequest request, Reply<State> reply) {
  const TaskId id = request.id;
  const ledger::Cancel op{id, parts_.timers.wall_now(), std::move(request.reason)};
  controls_->append(op, [self = shared_from_this(), id, reply = counted(std::move(reply))](
                            const Result<OpResult>& result, std::string_view) mutable {
    if (!result) return reply.fail(result.error());
    if (result->verdict == Verdict::no_such_task) {
      return self->find_archived(id, std::move(reply), [id](const archive::Finished& finished, Reply<State> last) {
        last.fail(error_of({Verdict::already_finished, finished->task.state, 0, {}}, task_text(id)));
      });
    }
    if (result->refused()) return reply.fail(error_of(*result, task_text(id)));
    reply(result->state.value_or(State::cancelled));
  });
}

void Operations::task_retry(TaskId id, Reply<RetryAnswer> reply) {
  const WallMs now = parts_.timers.wall_now();
  const TaskId fresh = ids_.next(now);
  submits_->append(ledger::Retry{id, fresh, now}, [self = shared_from_this(), id, fresh, reply = std::move(reply)](
                                                      const Result<OpResult>& result, std::string_view) mutable {
    auto answer = self->counted(std::move(reply));
    if (!result) return answer.fail(result.error());
    if (result->verdict == Verdict::no_such_task) {
      return self->find_archived(id, std::move(answer),
                                 [self](const archive::Finished& finished, Reply<RetryAnswer> last) {
                                   self->retry_archived(*finished, std::move(last));
                                 });
    }
    if (result->verdict == Verdict::existing) {
      self->count_submit({result->task, State::queued, result->task != fresh});
      return answer(RetryAnswer{result->task, result->task != fresh});
    }
    if (result->refused() && result->verdict != Verdict::duplicate_id) {
      return answer.fail(error_of(*result, task_text(id)));
    }
    self->submitted_.fetch_add(1, std::memory_order_relaxed);
    answer(RetryAnswer{fresh, false});
  });
}

// The ledger has forgotten the old task, so this is a submit; the key that the ledger gives to retries makes it happen
// once.
void Operations::retry_archived(const ledger::FinishedTask& old_task, Reply<RetryAnswer> reply) {
  const auto& task = old_task.task;
  if (task.state == State::completed) {
    return reply.fail(error_of({Verdict::wrong_state, task.state, 0, {}}, task_text(task.id)));
  }
  if (!old_task.retried_as.none()) return reply(RetryAnswer{old_task.retried_as, true});
  ledger::TaskSpec spec;
  spec.swarm = task.first_swarm();
  spec.type = task.shape->type;
  spec.capabilities = task.shape->capabilities;
  spec.params = task.params;
  spec.priority = task.priority;
  spec.attempts_max = task.attempts_max;
  spec.timeout_ms = task.timeout_ms;
  spec.extras.trace = task.more().trace;
  spec.extras.retry_of = task.id;
  if (const auto& placement = task.more().placement) {
    ledger::Placement where = *placement;
    where.unpinned_at = 0;
    spec.extras.placement = std::make_shared<const ledger::Placement>(std::move(where));
  }
  spec.extras.key = ledger::retry_key(task.id);
  const WallMs now = parts_.timers.wall_now();
  const TaskId fresh = ids_.next(now);
  const ledger::Submit op{fresh, now, std::move(spec)};
  submits_->append(op, [self = shared_from_this(), old_id = task.id, fresh, reply = std::move(reply)](
                           const Result<OpResult>& result, std::string_view sent) mutable {
    if (!result) return reply.fail(result.error());
    const auto made = self->answer_of_submit(fresh, *result, submit_in(sent));
    if (!made) return reply.fail(made.error());
    self->count_submit(*made);
    const RetryAnswer answer{made->id, made->existing};
    self->on_archive(std::move(reply), [old_id, answer](archive::Store& store, Reply<RetryAnswer> last) {
      // Should this fail, the new task still names the old one.
      [[maybe_unused]] const auto linked = store.link_retry(old_id, answer.id);
      last(answer);
    });
  });
}

}  // namespace skein::inline v0::operations
