// What tokens with bounds are about: the swarm and the task that one is made for, and the tasks that one may see.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/suggestion.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

using namespace std::chrono_literals;

bool is_within(const Scope& scope, const ledger::Task& task) {
  if (!scope.task.none()) return task.id == scope.task || task.more().parent == scope.task;
  return (task.shape && task.shape->swarm == scope.swarm) || task.first_swarm() == scope.swarm;
}

Error attempt_is_over(TaskId task) {
  return error_of({ledger::Verdict::stale_fence, std::nullopt, 0, {}}, "task " + task.text());
}

Error has_ended(const ledger::Task& task) {
  return {Code::already_finished,
          fmt::format("task {} is {}: a token for it could do nothing", task.id.text(), ledger::name_of(task.state)),
          "name an open task; 'skein tasks' lists the tasks", 0ms};
}

}  // namespace

// A token for what is not there would look like one that works. On the journal's thread.
std::optional<Error> Operations::bad_bounds(const ledger::TokenBounds& bounds) const {
  const ledger::Ledger& ledger = parts_.ledger;
  if (!bounds.swarm.empty() && !ledger.find_swarm(bounds.swarm)) {
    const auto swarms = ledger.swarms();
    std::vector<std::string_view> names;
    names.reserve(swarms.size());
    for (const ledger::Swarm& each : swarms) names.push_back(each.name);
    return Error{Code::swarm_not_found,
                 fmt::format("there is no {}{}", swarm_text(bounds.swarm), suggestion(bounds.swarm, names)),
                 "'skein swarms' lists the swarms; create it first", 0ms};
  }
  const ledger::Task* task = bounds.task.none() ? nullptr : ledger.peek(bounds.task);
  if (task == nullptr) return std::nullopt;
  if (ledger::is_finished(task->state)) return has_ended(*task);
  if (bounds.swarm.empty() || task->shape->swarm == bounds.swarm) return std::nullopt;
  return invalid(fmt::format("task {} is one of {}, not of {}", task->id.text(), swarm_text(task->shape->swarm),
                             swarm_text(bounds.swarm)),
                 "leave out the swarm, or name that of the task");
}

void Operations::check_bounds(const ledger::TokenBounds& bounds, Reply<Nothing> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this(), bounds](Reply<Nothing> answer) {
    if (auto bad = self->bad_bounds(bounds)) return answer.fail(std::move(*bad));
    const bool is_here = bounds.task.none() || self->parts_.ledger.peek(bounds.task) != nullptr;
    if (is_here) return answer(Nothing{});
    self->find_archived(bounds.task, std::move(answer), [](const archive::Finished& finished, Reply<Nothing> last) {
      last.fail(has_ended(finished->task));
    });
  });
}

void Operations::check_scope(const Scope& scope, std::vector<TaskId> tasks, Reply<std::string> reply) {
  on_ledger(counted(std::move(reply)), [self = shared_from_this(), scope,
                                        tasks = std::move(tasks)](Reply<std::string> answer) {
    std::string swarm = scope.swarm;
    if (!scope.task.none()) {
      const ledger::Task* own = self->parts_.ledger.peek(scope.task);
      const bool runs = own != nullptr && ledger::is_running(own->state) && own->fence == scope.fence;
      if (scope.fence != 0 && !runs) {
        if (self->parts_.access) self->parts_.access->end_attempt(scope.task, scope.fence);
        return answer.fail(attempt_is_over(scope.task));
      }
      if (own != nullptr && own->shape) swarm = own->shape->swarm;
    }
    std::vector<TaskId> elsewhere;
    for (const TaskId each : tasks) {
      const ledger::Task* found = self->parts_.ledger.peek(each);
      if (found == nullptr) elsewhere.push_back(each);
      if (found != nullptr && !is_within(scope, *found)) return answer.fail(task_not_found(each));
    }
    if (elsewhere.empty()) return answer(std::move(swarm));
    if (self->parts_.archive == nullptr) return answer.fail(task_not_found(elsewhere.front()));
    self->on_archive(std::move(answer), [scope, swarm, elsewhere](archive::Store& store, Reply<std::string> last) {
      for (const TaskId each : elsewhere) {
        const auto found = store.find(each);
        if (!found) return last.fail(error_of(found.error()));
        if (!*found || !is_within(scope, (*found)->task)) return last.fail(task_not_found(each));
      }
      last(swarm);
    });
  });
}

Reply<SubmitAnswer> Operations::only_own(const ledger::ChildOf& child, Reply<SubmitAnswer> reply) {
  return Reply<SubmitAnswer>(
      [self = shared_from_this(), task = child.task, reply = std::move(reply)](Result<SubmitAnswer>&& made) mutable {
        // Whose task it is must not be told.
        if (!made && made.error().code == Code::key_reused) {
          return reply.fail({Code::key_reused, "the key belongs to a task of another type or with other params",
                             "choose another key", 0ms});
        }
        if (!made || !made->existing) return reply(std::move(made));
        Reply<std::string> then([made = *made, reply = std::move(reply)](Result<std::string> found) mutable {
          if (found) return reply(made);
          reply.fail({Code::forbidden, "the key belongs to a task that is not a child of this task",
                      "choose another key", 0ms});
        });
        self->check_scope({task, 0, {}}, {made->id}, std::move(then));
      });
}

}  // namespace skein::inline v0::operations
