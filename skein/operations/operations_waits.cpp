// Waiting for a task to end, and why one does not begin.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/operations/operations.hpp"
#include "skein/operations/operations_calls.hpp"

namespace skein::inline v0::operations {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds k_ask_again{1000};  // a wait that the node's end cut short

}  // namespace

WaitReason Operations::why_waits(const ledger::Task& task) const {
  const ledger::Ledger& ledger = parts_.ledger;
  const auto swarm = task.shape ? ledger.find_swarm(task.shape->swarm) : std::nullopt;
  WaitFacts facts{task, swarm ? &*swarm : nullptr, parts_.timers.wall_now()};
  if (task.state == State::blocked) {
    for (const TaskId& each : task.more().dependencies) {
      const auto view = ledger.find(each);
      if (view && !view->finished) facts.dependencies.emplace_back(each, view->task.state);
    }
  }
  std::optional<dispatch::PassedOver> held;
  {
    const std::scoped_lock lock(problems_mutex_);
    for (const dispatch::PassedOver& each : types_held_) {
      const bool is_its = swarm && each.subject == swarm->name && each.type == task.shape->type;
      if (is_its && each.why == dispatch::PassedOver::Why::crashes) held = each;
    }
    const auto problems = swarm ? problems_.find(swarm->name) : problems_.end();
    if (problems != problems_.end() && !problems->second.empty()) facts.problem = problems->second.front();
  }
  if (held) facts.held = &*held;
  const auto agents = agents_known_.load();
  facts.is_stopping = agents && agents->is_stopping();
  if (agents && task.state == State::queued) {
    if (!task.pinned_to().empty()) {
      facts.its_agent = agents->why_it_waits(task);
    } else {
      facts.agents = agents->able_agents(*task.shape, swarm && dispatch::has_own_agents(*swarm), *paused_.load());
    }
  }
  return why_it_waits(facts);
}

TaskStatus Operations::live_status(ledger::TaskView view) const {
  TaskStatus status{std::move(view.task), std::move(view.finished), false, {}};
  if (status.finished) return status;
  WaitReason why = why_waits(status.task);
  status.waits = std::move(why.text);
  status.waits_for = why.cause;
  status.able_swarms = std::move(why.able_swarms);
  return status;
}

bool Operations::may_be_stuck(const SubmitRequest& request) const {
  if (!request.agent.empty()) return false;
  const auto agents = agents_known_.load();
  if (!agents) return false;
  // As Shape::required() has it, without a copy.
  std::span<const std::string> required(request.capabilities);
  if (required.empty()) required = {&request.type, 1};
  if (!is_any_paused_.load(std::memory_order_relaxed)) return !agents->is_likely_able(request.swarm, required, {});
  const auto paused = paused_.load();
  return paused->has_swarm(request.swarm) || !agents->is_likely_able(request.swarm, required, *paused);
}

void Operations::note_paused() {
  PausedNames now{paused_.load()->number + 1};
  for (const ledger::AgentNote& each : parts_.ledger.agents()) {
    if (dispatch::is_paused(each)) now.agents.push_back(each.name);
  }
  for (const ledger::Swarm& each : parts_.ledger.swarms()) {
    if (each.state == ledger::SwarmState::paused || each.state == ledger::SwarmState::stopped) {
      now.swarms.push_back(each.name);
    }
  }
  std::ranges::sort(now.agents);
  std::ranges::sort(now.swarms);
  const auto before = paused_.load();
  if (before->agents == now.agents && before->swarms == now.swarms) return;
  is_any_paused_.store(!now.agents.empty() || !now.swarms.empty(), std::memory_order_relaxed);
  paused_.store(std::make_shared<const PausedNames>(std::move(now)));
}

Reply<SubmitAnswer> Operations::warned(Reply<SubmitAnswer>&& reply) {
  return Reply<SubmitAnswer>(
      [self = shared_from_this(), reply = std::move(reply)](Result<SubmitAnswer>&& made) mutable {
        if (!made || ledger::is_finished(made->state)) return reply(std::move(made));
        // The submit itself has succeeded: a journal that cannot be asked does not change that.
        Reply<SubmitAnswer> either([answer = *made, reply = std::move(reply)](Result<SubmitAnswer>&& told) mutable {
          if (!told) return reply(std::move(answer));
          reply(std::move(told));
        });
        self->on_ledger(std::move(either), [self, answer = *made](Reply<SubmitAnswer> last) mutable {
          const auto view = self->parts_.ledger.find(answer.id);
          if (view && !view->finished) {
            WaitReason why = self->why_waits(view->task);
            if (needs_help(why.cause)) answer.waits = std::make_shared<const WaitReason>(std::move(why));
          }
          last(std::move(answer));
        });
      });
}

void Operations::task_wait(const WaitRequest& request, ProgressFn progress, Reply<WaitAnswer> reply) {
  const auto timeout = std::clamp(request.timeout, 0ms, limits_.wait_max);
  const Instant due = later(parts_.timers.now(), timeout);
  on_ledger(counted(std::move(reply)), [self = shared_from_this(), id = request.id, due, ticket = request.ticket,
                                        progress = std::move(progress)](Reply<WaitAnswer> answer) mutable {
    auto view = self->parts_.ledger.find(id);
    if (view && view->finished) return answer(WaitAnswer{self->live_status(std::move(*view)), true});
    if (view && self->are_waits_over_) return answer(WaitAnswer{self->live_status(std::move(*view)), false, true});
    if (view) {
      // A client that waits again, after its first wait was over, has no other way to learn how far the task is.
      if (progress && view->task.mark) progress(id, view->task.mark);
      self->waiters_.add({id, due, std::move(progress), std::move(answer), std::move(ticket)});
      return self->arm_timer();
    }
    self->find_archived(id, std::move(answer), [](const archive::Finished& finished, Reply<WaitAnswer> last) {
      last(WaitAnswer{archived_status(finished), true});
    });
  });
}

std::size_t Operations::end_waits() {
  are_waits_over_ = true;
  std::size_t ended = 0;
  // On the journal's thread, so that each wait is either among those taken here or sees that they are over.
  journal::visit(parts_.journal, [&](journal::Outcome outcome) {
    auto waiters = waiters_.take_all();
    ended = waiters.size();
    for (auto& waiter : waiters) {
      auto view = outcome == journal::Outcome::applied ? parts_.ledger.find(waiter.id) : std::nullopt;
      if (!view) {
        waiter.reply.fail(
            {Code::stopped, "the node is stopping", "ask again when the node is running again", k_ask_again});
      } else {
        const bool is_finished = view->finished != nullptr;
        waiter.reply(WaitAnswer{live_status(std::move(*view)), is_finished, !is_finished});
      }
    }
  });
  return ended;
}

void Operations::arm_timer() {
  const auto due = waiters_.next_due();
  if (!due) return;
  const std::lock_guard lock(timer_mutex_);
  if (*due >= timer_due_) return;
  const Duration wait = std::max(*due - parts_.timers.now(), Duration::zero());
  if (parts_.timers.post_after(wait, [self = shared_from_this()] { self->expire_waiters(); })) timer_due_ = *due;
}

void Operations::expire_waiters() {
  {
    const std::lock_guard lock(timer_mutex_);
    timer_due_ = Instant::max();
  }
  for (auto& waiter : waiters_.take_due(parts_.timers.now())) {
    task_status({waiter.id, {}, {}}, [reply = std::move(waiter.reply)](Result<TaskStatus> status) mutable {
      if (!status) return reply.fail(std::move(status.error()));
      const bool finished = status->finished != nullptr;
      reply(WaitAnswer{std::move(*status), finished});
    });
  }
  arm_timer();
}

}  // namespace skein::inline v0::operations
