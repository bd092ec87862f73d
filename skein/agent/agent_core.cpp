#include "skein/agent/agent_core.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "skein/base/must_hold.hpp"
#include "skein/base/utf8.hpp"

namespace skein::inline v0::agent {

using dispatch::StopReason;
using dispatch::TaskRef;

namespace {

// The begun part of the queue is let go of once it is this long and the longer one.
constexpr std::size_t k_queue_slack = 64;

}  // namespace

std::string_view name_of(AgentStatus status) {
  switch (status) {
    case AgentStatus::idle:
      break;
    case AgentStatus::assigned:
      return "assigned";
    case AgentStatus::executing:
      return "executing";
    case AgentStatus::done:
      return "done";
    case AgentStatus::paused:
      return "paused";
    case AgentStatus::failed:
      return "failed";
    case AgentStatus::stuck:
      return "stuck";
  }
  return "idle";
}

std::vector<std::string> default_capabilities(dispatch::Role role) {
  switch (role) {
    case dispatch::Role::specialist:
      return {"analyze", "optimize", "refactor"};
    case dispatch::Role::coordinator:
      return {"orchestrate", "schedule", "route"};
    case dispatch::Role::worker:
      break;
  }
  return {"execute", "monitor", "report"};
}

const AgentCore::Holdings& AgentCore::seen() const {
  static const Holdings k_nothing;
  return work_ ? *work_ : k_nothing;
}

std::optional<dispatch::StopTask> AgentCore::take_stop() {
  if (!work_) return std::nullopt;
  return std::exchange(work_->stop, std::nullopt);
}

dispatch::AgentReport AgentCore::take_report() {
  if (!work_) return {};
  return std::exchange(work_->report, dispatch::AgentReport{});
}

AgentCore::Held* AgentCore::find(TaskRef ref) {
  if (!work_) return nullptr;
  const auto at = work_->held.find(ref.fence);
  return at == work_->held.end() || at->second.order.ref != ref ? nullptr : &at->second;
}

AgentCore::Held* AgentCore::find_running(TaskRef ref) { return seen().running == ref ? find(ref) : nullptr; }

std::vector<TaskRef> AgentCore::held() const {
  std::vector<TaskRef> refs;
  refs.reserve(seen().held.size());
  for (const auto& [fence, held] : seen().held) refs.push_back(held.order.ref);
  std::sort(refs.begin(), refs.end());
  return refs;
}

std::vector<TaskRef> AgentCore::left_over(bool with_running) const {
  std::vector<TaskRef> refs;
  for (const auto& [fence, held] : seen().held) {
    if (held.stage == Stage::waiting || (with_running && held.stage == Stage::running)) refs.push_back(held.order.ref);
  }
  std::sort(refs.begin(), refs.end());
  return refs;
}

void AgentCore::take(dispatch::Orders& orders, Instant now) {
  if (!work_) work_ = std::make_unique<Holdings>();
  if (orders.full) {
    for (const TaskRef ref : held()) {
      const auto is_it = [&](const auto& order) { return order.ref == ref; };
      if (std::none_of(orders.run.begin(), orders.run.end(), is_it)) stop_task({ref, StopReason::stale}, now);
    }
  }
  // First, so that what is ordered and stopped in one message does not run.
  for (auto& order : orders.run) take_order(order);
  for (const TaskRef ref : orders.settled) settle(ref);
  for (const auto& stop : orders.stop) stop_task(stop, now);
  for (const TaskRef ref : orders.ask_again) {
    if (const Held* held = find(ref)) say_again(*held);
  }
}

void AgentCore::take_order(dispatch::Order& order) {
  const TaskRef ref = order.ref;
  if (work_->held.contains(ref.fence)) return;
  Held& held = work_->held[ref.fence];
  held.order = std::move(order);
  work_->queue.push_back(ref);
}

void AgentCore::settle(TaskRef ref) {
  Held* held = find(ref);
  if (held == nullptr || held->stage != Stage::ended) return;
  const bool is_completed = std::holds_alternative<dispatch::RunCompleted>(held->outcome);
  // The shape moves on, so that agents do not fight over its reference count.
  PastTask past{held->order.id,      std::move(held->order.shape),
                held->order.attempt, is_completed ? TaskEnd::completed : TaskEnd::failed,
                held->began,         held->ended};
  remember(std::move(past));
  --work_->ended;
  work_->held.erase(ref.fence);
}

void AgentCore::remember(PastTask past) {
  if (work_->past.size() < k_past_tasks) {
    work_->past.push_back(std::move(past));
  } else {
    work_->past[work_->past_at] = std::move(past);
    work_->past_at = (work_->past_at + 1) % k_past_tasks;
  }
}

void AgentCore::return_task(TaskRef ref) {
  work_->held.erase(ref.fence);
  ++work_->stats.tasks_returned;
  work_->report.returned.push_back(ref);
}

void AgentCore::stop_task(const dispatch::StopTask& stop, Instant now) {
  Held* held = find(stop.ref);
  if (held == nullptr) {
    // The sender of the stop believes that the task is here.
    work_->report.returned.push_back(stop.ref);
    return;
  }
  switch (held->stage) {
    case Stage::running:
      if (stop.why != StopReason::return_unbegun) stop_running(*held, stop.why, now);
      return;
    case Stage::ended:
      if (stop.why == StopReason::yield || stop.why == StopReason::return_unbegun) return;
      --work_->ended;
      break;
    case Stage::waiting:
      break;
  }
  return_task(stop.ref);
}

void AgentCore::stop_running(Held& held, StopReason why, Instant now) {
  const bool is_yield = why == StopReason::yield;
  if (held.stop_since) return;
  if (!is_yield) {
    held.stop_since = now;
    held.has_timed_out = why == StopReason::timed_out;
    ++work_->stats.tasks_stopped;
  }
  work_->stop = dispatch::StopTask{held.order.ref, why};
}

CancelAnswer AgentCore::cancel_executing(Instant now) {
  Held* held = seen().running ? find(*work_->running) : nullptr;
  if (held == nullptr) return CancelAnswer::no_task_executing;
  held->is_cancelled_here = true;
  stop_running(*held, StopReason::cancelled, now);
  return CancelAnswer::asked_to_stop;
}

std::vector<TaskRef> AgentCore::give_up_waiting() {
  if (!work_) return {};
  std::vector<TaskRef> refs = left_over(false);
  for (const TaskRef ref : refs) work_->held.erase(ref.fence);
  work_->stats.tasks_returned += refs.size();
  work_->queue.clear();
  work_->queue_at = 0;
  return refs;
}

void AgentCore::skip_gone() {
  while (work_->queue_at < work_->queue.size()) {
    const Held* held = find(work_->queue[work_->queue_at]);
    if (held != nullptr && held->stage == Stage::waiting) break;
    ++work_->queue_at;
  }
  if (work_->queue_at == work_->queue.size()) {
    work_->queue.clear();
    work_->queue_at = 0;
  } else if (work_->queue_at > k_queue_slack && work_->queue_at * 2 > work_->queue.size()) {
    work_->queue.erase(work_->queue.begin(), work_->queue.begin() + static_cast<std::ptrdiff_t>(work_->queue_at));
    work_->queue_at = 0;
  }
}

bool AgentCore::has_next() {
  if (!work_ || work_->running || is_paused_ || !is_ready_) return false;
  skip_gone();
  return work_->queue_at < work_->queue.size();
}

const dispatch::Order* AgentCore::begin(Instant now) {
  if (!has_next()) return nullptr;
  const TaskRef ref = work_->queue[work_->queue_at++];
  Held* held = find(ref);
  must_hold(held != nullptr && held->stage == Stage::waiting && !work_->running,
            "agent_core.hpp 1: what begins was waiting, and nothing runs");
  held->stage = Stage::running;
  held->began = now;
  work_->running = ref;
  return &held->order;
}

bool AgentCore::started(TaskRef ref) {
  Held* held = find_running(ref);
  if (held == nullptr) return false;
  held->is_started = true;
  work_->report.started.push_back({ref});
  return true;
}

bool AgentCore::progress(TaskRef ref, ledger::Body mark, Instant now) {
  Held* held = find_running(ref);
  if (held == nullptr) return false;
  if (ledger::view_of(mark).size() > limits_->mark_bytes) return true;
  if (held->progress_at != Instant::min() && now < later(held->progress_at, limits_->progress_every)) {
    held->mark = std::move(mark);
    return true;
  }
  held->progress_at = now;
  held->mark.reset();
  work_->report.progress.push_back({ref, std::move(mark)});
  return true;
}

void AgentCore::end(Held& held, Instant now) {
  held.stage = Stage::ended;
  held.beats = 0;
  held.ended = now;
  held.mark.reset();
  work_->stats.busy += between(held.began, now);
  ++work_->ended;
  work_->running.reset();
  work_->stop.reset();
}

bool AgentCore::complete(TaskRef ref, ledger::Body result, Instant now) {
  Held* held = find_running(ref);
  if (held == nullptr) return false;
  if (const auto bytes = ledger::view_of(result).size(); bytes > limits_->result_bytes) {
    return failed(
        ref,
        {ledger::ErrorClass::permanent,
         fmt::format("the result has {} bytes, more than the {} a result may have", bytes, limits_->result_bytes),
         {}},
        now);
  }
  end(*held, now);
  ++work_->stats.tasks_completed;
  held->outcome = dispatch::RunCompleted{ref, std::move(result)};
  work_->report.complete.push_back(std::get<dispatch::RunCompleted>(held->outcome));
  return true;
}

bool AgentCore::failed(TaskRef ref, Failure failure, Instant now) {
  Held* held = find_running(ref);
  if (held == nullptr) return false;
  end(*held, now);
  ++work_->stats.tasks_failed;
  failure.message = shown_text(failure.message, dispatch::k_message_bytes_max);
  held->outcome = dispatch::RunFailed{ref, failure.error, std::move(failure.message), failure.retry_after};
  work_->report.failed.push_back(std::get<dispatch::RunFailed>(held->outcome));
  return true;
}

bool AgentCore::returned(TaskRef ref, Instant now) {
  const Held* held = find_running(ref);
  if (held == nullptr) return false;
  if (held->is_cancelled_here) {
    return failed(ref, {ledger::ErrorClass::permanent, "cancelled at its agent, as somebody asked", {}}, now);
  }
  work_->running.reset();
  work_->stop.reset();
  if (held->has_timed_out) return end_timed_out(ref, now);
  return_task(ref);
  return true;
}

// The dispatcher has decided that the attempt failed: that counts for this agent too, though it hands the task back.
bool AgentCore::end_timed_out(TaskRef ref, Instant now) {
  Held& held = *find(ref);
  ++work_->stats.tasks_failed;
  work_->stats.busy += between(held.began, now);
  remember({held.order.id, std::move(held.order.shape), held.order.attempt, TaskEnd::failed, held.began, now});
  work_->held.erase(ref.fence);
  work_->report.returned.push_back(ref);
  return true;
}

bool AgentCore::last_words(TaskRef ref, std::string text) {
  if (find_running(ref) == nullptr) return false;
  work_->report.last_words.push_back({ref, std::move(text)});
  return true;
}

void AgentCore::falls(const std::string& why) {
  if (seen().running) last_words(*work_->running, why);
}

void AgentCore::say_again(const Held& held) {
  const TaskRef ref = held.order.ref;
  if (held.stage == Stage::running) {
    // One that still waits for its OS process has not begun, and its time does not run.
    if (held.is_started) work_->report.started.push_back({ref});
  } else if (const auto* done = std::get_if<dispatch::RunCompleted>(&held.outcome)) {
    work_->report.complete.push_back(*done);
  } else if (const auto* failed = std::get_if<dispatch::RunFailed>(&held.outcome)) {
    work_->report.failed.push_back(*failed);
  }
}

// A report may have been lost: what is not settled after some heartbeats is said again.
void AgentCore::beat(Instant now) {
  for (const TaskRef ref : held()) {
    Held* held = find(ref);
    if (held->mark && held->stage == Stage::running) {
      held->progress_at = now;
      work_->report.progress.push_back({ref, std::exchange(held->mark, nullptr)});
    }
    if (held->stage == Stage::waiting || ++held->beats < limits_->beats_until_again) continue;
    held->beats = 0;
    say_again(*held);
  }
}

bool AgentCore::has_report() const {
  const dispatch::AgentReport& report = seen().report;
  return !report.started.empty() || !report.progress.empty() || !report.complete.empty() || !report.failed.empty() ||
         !report.returned.empty() || !report.last_words.empty();
}

AgentStatus AgentCore::status(Instant now) const {
  const Holdings& work = seen();
  if (work.running) {
    const Held& held = work.held.find(work.running->fence)->second;
    const bool is_stuck = held.stop_since && between(*held.stop_since, now) >= limits_->stuck_after;
    return is_stuck ? AgentStatus::stuck : AgentStatus::executing;
  }
  if (is_paused_) return AgentStatus::paused;
  if (work.held.empty()) return AgentStatus::idle;
  return work.ended == work.held.size() ? AgentStatus::done : AgentStatus::assigned;
}

void AgentCore::describe(AgentState& state, Instant now) const {
  state.status = status(now);
  const Holdings& work = seen();
  state.unsettled = work.ended;
  state.queue_length = work.held.size() - work.ended - (work.running ? 1 : 0);
  if (work.running) {
    const Held& held = work.held.find(work.running->fence)->second;
    state.executing_task = held.order.id;
    state.executing_type = held.order.shape ? held.order.shape->type : "";
    state.executing_for = between(held.began, now);
  }
  state.stats = work.stats;
}

AgentTasks AgentCore::past() const {
  const Holdings& work = seen();
  AgentTasks tasks;
  tasks.reserve(work.past.size());
  for (std::size_t i = 0; i < work.past.size(); ++i) {
    const std::size_t newest = work.past.size() < k_past_tasks ? work.past.size() - 1 : work.past_at + k_past_tasks - 1;
    tasks.push_back(work.past[(newest + work.past.size() - i) % work.past.size()]);
  }
  return tasks;
}

}  // namespace skein::inline v0::agent
