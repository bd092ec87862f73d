// What operations on tasks do.
#include <algorithm>

#include "skein/ledger/core.hpp"
#include "skein/ledger/retry_key.hpp"

namespace skein::inline v0::ledger {
namespace {

OpResult done(State state, std::uint64_t number = 0) { return {Verdict::ok, state, number, {}}; }

// As it was submitted.
std::shared_ptr<const Placement> pinned_anew(const std::shared_ptr<const Placement>& old) {
  if (!old || old->unpinned_at == 0) return old;
  Placement where = *old;
  where.unpinned_at = 0;
  return std::make_shared<const Placement>(std::move(where));
}

}  // namespace

std::shared_ptr<const Extras> unpinned(const Extras& extras, WallMs at) {
  Extras changed = extras;
  Placement where = extras.where();
  where.unpinned_at = std::max<WallMs>(at, 1);
  changed.placement = std::make_shared<const Placement>(std::move(where));
  return std::make_shared<const Extras>(std::move(changed));
}

WallMs began_at(const Task& task) { return task.started_at != 0 ? task.started_at : task.assigned_at; }

CrashWords words_for(RequeueReason reason) {
  switch (reason) {
    case RequeueReason::lease_expired:
      return {ErrorClass::timeout, "the lease expired"};
    case RequeueReason::node_crash:
      return {ErrorClass::crash, "the node crashed"};
    default:
      return {ErrorClass::crash, "the agent crashed"};
  }
}

OpResult LedgerCore::apply(journal::Position position, Op& op) {
  position_ = position;
  return std::visit([this](auto& each) { return on(each); }, op);
}

LedgerCore::Found LedgerCore::open(TaskId id) const {
  const auto at = index_.find(id);
  if (at == index_.end()) return {0, refuse(Verdict::no_such_task)};
  if ((at->second & k_finished) != 0) {
    const auto& ended = *finished_[at->second & ~k_finished];
    return {0, OpResult{Verdict::already_finished, ended.task.state, 0, {}}};
  }
  return {static_cast<Slot>(at->second), std::nullopt};
}

LedgerCore::Found LedgerCore::running(TaskId id, Fence fence, std::optional<State> ends_as) const {
  Found found = open(id);
  if (found.refusal) {
    if (found.refusal->verdict == Verdict::already_finished && ends_as == found.refusal->state) {
      const auto& ended = *finished_[index_.find(id)->second & ~k_finished];
      const bool same_outcome = ended.task.fence == fence && fence != 0 && ended.ending != Ending::deadline_passed;
      if (same_outcome) found.refusal->verdict = Verdict::accepted_before;
    }
    return found;
  }
  const Task& task = tasks_[found.slot];
  if (!is_running(task.state) || task.fence != fence) {
    found.refusal = OpResult{Verdict::stale_fence, task.state, 0, {}};
  }
  return found;
}

std::optional<OpResult> LedgerCore::check_epoch(Epoch epoch) const {
  if (epoch == head_.epoch && epoch != 0) return std::nullopt;
  return refuse(Verdict::stale_epoch, head_.epoch);
}

std::optional<OpResult> LedgerCore::check_spec(const TaskSpec& spec) const {
  const Limits& limits = head_.limits;
  if (auto bad = check_name(spec.type)) return bad;
  for (const auto& capability : spec.capabilities) {
    if (auto bad = check_name(capability)) return bad;
  }
  if (spec.attempts_max == 0) return refuse(Verdict::malformed);
  if (spec.extras.placement) {
    if (auto bad = check_placement(*spec.extras.placement)) return bad;
  }
  const std::pair<std::uint64_t, std::uint64_t> sizes[] = {
      {view_of(spec.params).size(), limits.params_bytes},     {spec.capabilities.size(), limits.capabilities},
      {spec.extras.dependencies.size(), limits.dependencies}, {spec.extras.key.size(), limits.key_bytes},
      {spec.extras.trace.size(), limits.trace_bytes},         {spec.attempts_max, limits.attempts},
  };
  for (const auto& [size, limit] : sizes) {
    if (size > limit) return refuse(Verdict::too_large, limit);
  }
  return std::nullopt;
}

std::optional<OpResult> LedgerCore::check_placement(const Placement& where) const {
  if (head_.version < k_sound_version) return refuse(Verdict::old_version, head_.version);
  if (where.empty() || !where.makes_sense() || where.unpinned_at != 0) return refuse(Verdict::malformed);
  const Limits& limits = head_.limits;
  if (where.agent.size() > limits.name_bytes) return refuse(Verdict::too_large, limits.name_bytes);
  if (where.route_key.size() > limits.key_bytes) return refuse(Verdict::too_large, limits.key_bytes);
  return std::nullopt;
}

std::optional<OpResult> LedgerCore::check_room(const SwarmSlot& swarm, std::uint64_t bytes) const {
  const Limits& limits = head_.limits;
  if (finished_.size() >= limits.finished_tasks) return refuse(Verdict::archive_behind, limits.finished_tasks);
  if (finished_bytes_ >= limits.finished_bytes) return refuse(Verdict::archive_behind, limits.finished_bytes);
  if (open_tasks_ >= limits.open_tasks) return refuse(Verdict::ledger_full, limits.open_tasks);
  if (bytes > limits.open_bytes || open_bytes_ > limits.open_bytes - bytes) {
    return refuse(Verdict::ledger_full, limits.open_bytes);
  }
  return check_queue(swarm, bytes);
}

std::optional<OpResult> LedgerCore::check_queue(const SwarmSlot& swarm, std::uint64_t bytes) const {
  const Limits& limits = head_.limits;
  const std::uint64_t tasks_max = swarm.tasks_max.value_or(limits.swarm_tasks);
  const std::uint64_t bytes_max = swarm.bytes_max.value_or(limits.swarm_bytes);
  if (swarm.open_tasks >= tasks_max) return refuse(Verdict::queue_full, tasks_max);
  if (bytes > bytes_max || swarm.open_bytes > bytes_max - bytes) return refuse(Verdict::queue_full, bytes_max);
  return std::nullopt;
}

OpResult LedgerCore::on(Submit& op) {
  TaskSpec& spec = op.spec;
  if (auto bad = check_spec(spec)) return *bad;
  const Found parent = op.child_of ? parent_of(*op.child_of) : Found{};
  if (parent.refusal) return *parent.refusal;
  const auto swarm = swarm_slot(spec.swarm);
  if (!swarm) return refuse(Verdict::no_such_swarm);
  if (!spec.extras.key.empty()) {
    if (const auto before = find_key(spec.swarm, spec.extras.key)) {
      return {Verdict::existing, before->second, 0, before->first};
    }
  }
  if (const auto known = index_.find(op.id); known != index_.end()) {
    return {Verdict::duplicate_id, state_at(known->second), 0, {}};
  }
  if (!swarms_[*swarm].info->takes_tasks()) return refuse(Verdict::swarm_closed);
  if (op.child_of) {
    if (auto bad = check_child(*op.child_of, parent.slot)) return *bad;
    spec.extras.parent = op.child_of->task;
    spec.extras.depth = tasks_[parent.slot].more().depth + 1;
  }

  Task task;
  task.id = op.id;
  task.shape = shape_of(spec.swarm, spec.type, spec.capabilities);
  task.params = std::move(spec.params);
  if (!spec.extras.empty()) {
    Extras extras = spec.extras;
    auto& ids = extras.dependencies;
    for (std::size_t i = 0; i < ids.size();) {
      if (!index_.contains(ids[i])) return {Verdict::no_such_dependency, std::nullopt, 0, ids[i]};
      const auto here = ids.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(ids.begin(), here, ids[i]) != here) {
        ids.erase(here);
      } else {
        ++i;
      }
    }
    task.extras = std::make_shared<const Extras>(std::move(extras));
  }
  task.timeout_ms = spec.timeout_ms;
  task.not_before = spec.not_before;
  task.deadline_at = spec.deadline_at;
  task.attempts_max = spec.attempts_max;
  task.priority = spec.priority;
  const auto answer = accept(std::move(task), *swarm, op.at, TaskQueued::Why::submitted);
  if (answer.refused()) return answer;
  if (!spec.extras.key.empty()) remember_key(spec.swarm, spec.extras.key, op.id, op.at);
  if (op.child_of) ++tasks_.writable(parent.slot).children;
  return answer;
}

OpResult LedgerCore::accept(Task task, std::uint32_t swarm_slot, WallMs at, TaskQueued::Why why) {
  SwarmSlot& swarm = swarms_[swarm_slot];
  const std::uint64_t bytes = charge_of(task);
  if (auto full = check_room(swarm, bytes)) return *full;
  task.number = ++head_.last_number;
  task.swarm_slot = swarm_slot;
  task.submitted_at = at;
  task.effective_priority = task.priority;
  const Finished* failed_dependency = nullptr;
  for (const auto& id : task.more().dependencies) {
    const Where where = index_.find(id)->second;
    if ((where & k_finished) == 0) {
      ++task.waits_for;
    } else if (const auto& ended = finished_[where & ~k_finished]; ended->task.state != State::completed) {
      failed_dependency = &ended;
      break;
    }
  }
  task.state = task.waits_for > 0 || failed_dependency != nullptr ? State::blocked : State::queued;
  ++swarm.open_tasks;
  swarm.open_bytes += bytes;
  ++open_tasks_;
  open_bytes_ += bytes;
  const TaskId id = task.id;
  const WallMs not_before = task.not_before;
  const bool blocked = task.state == State::blocked;
  const Slot slot = tasks_.add(std::move(task));
  index_.emplace(id, slot);
  if (failed_dependency != nullptr) {
    const auto& ended = (*failed_dependency)->task;
    std::string message = "dependency " + ended.id.text() + " " + std::string(name_of(ended.state));
    tasks_.writable(slot).waits_for = 0;
    finish(slot, State::failed, Ending::dependency_failed, at, nullptr, std::move(message));
    return done(State::failed);
  }
  if (blocked) {
    link(slot);
    if (listening_) tell(TaskBlocked{tasks_[slot]});
    return done(State::blocked);
  }
  queue(slot, not_before, false, why);
  return done(State::queued);
}

void LedgerCore::queue(Slot slot, WallMs not_before, bool front, TaskQueued::Why why) {
  Task& task = tasks_.writable(slot);
  task.state = State::queued;
  task.not_before = not_before;
  task.order = front ? --head_.front_order : ++head_.last_order;
  if (listening_) tell(TaskQueued{why, task});
}

OpResult LedgerCore::on(const Assign& op) {
  if (auto stale = check_epoch(op.epoch)) return *stale;
  if (auto bad = check_name(op.agent)) return *bad;
  const Found found = open(op.task);
  if (found.refusal) return *found.refusal;
  const Task& known = tasks_[found.slot];
  if (known.state != State::queued) return {Verdict::wrong_state, known.state, 0, {}};
  if (!swarms_[known.swarm_slot].info->gives_out_tasks()) return {Verdict::swarm_closed, known.state, 0, {}};
  const std::string_view pin = known.pinned_to();
  if (!pin.empty() && pin != op.agent) return {Verdict::pinned, known.state, 0, {}};
  Task& task = tasks_.writable(found.slot);
  ++head_.last_fence;
  task.fence = head_.last_fence;
  task.agent = interned(op.agent);
  task.state = State::assigned;
  task.assigned_at = op.at;
  task.started_at = 0;
  ++task.deliveries;
  if (listening_) tell(TaskAssigned{task.id, task.number, task.fence, task.agent, op.at, task.deliveries});
  return done(State::assigned, task.fence);
}

OpResult LedgerCore::on(const Start& op) {
  const Found found = running(op.task, op.fence);
  if (found.refusal) return *found.refusal;
  if (tasks_[found.slot].state == State::executing) return {Verdict::accepted_before, State::executing, 0, {}};
  Task& task = tasks_.writable(found.slot);
  task.state = State::executing;
  task.started_at = op.at;
  if (listening_) tell(TaskStarted{task.id, task.number, task.fence, op.at});
  return done(State::executing);
}

OpResult LedgerCore::on(const Progress& op) {
  const Found found = running(op.task, op.fence);
  if (found.refusal) return *found.refusal;
  const auto limit = head_.limits.mark_bytes;
  if (view_of(op.mark).size() > limit) return refuse(Verdict::too_large, limit);
  Task& task = tasks_.writable(found.slot);
  task.mark = op.mark;
  if (listening_) tell(TaskProgressed{task.id, task.number, task.fence, task.mark, op.at});
  return done(task.state);
}

OpResult LedgerCore::on(const Complete& op) {
  const Found found = running(op.task, op.fence, State::completed);
  if (found.refusal) return *found.refusal;
  const auto limit = head_.limits.result_bytes;
  if (view_of(op.result).size() > limit) return refuse(Verdict::too_large, limit);
  finish(found.slot, State::completed, Ending::completed, op.at, op.result, "");
  return done(State::completed);
}

OpResult LedgerCore::on(const Fail& op) {
  const Found found = running(op.task, op.fence, State::failed);
  if (found.refusal) return *found.refusal;
  const auto limit = head_.limits.message_bytes;
  if (op.message.size() > limit) return refuse(Verdict::too_large, limit);
  const Task& task = tasks_[found.slot];
  Attempt attempt{std::string(view_of(task.agent)), task.fence, began_at(task), op.at, op.error, op.message};
  Again again{op.retry_at, false, TaskQueued::Why::failed_attempt};
  if (op.error == ErrorClass::crash && head_.version >= k_crash_words_version) {
    again.front = op.retry_at == 0;
    again.why = TaskQueued::Why::requeued;
  }
  return attempt_failed(found.slot, std::move(attempt), again);
}

OpResult LedgerCore::attempt_failed(Slot slot, Attempt attempt, const Again& again, const FallBack* onward) {
  Task& task = tasks_.writable(slot);
  const WallMs at = attempt.ended_at;
  const ErrorClass error = attempt.error;
  std::string message = attempt.message;
  auto history = task.history ? *task.history : std::vector<Attempt>{};
  history.push_back(std::move(attempt));
  const auto keep = static_cast<std::size_t>(head_.limits.history);
  if (history.size() > keep) history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(keep));
  task.history = std::make_shared<const std::vector<Attempt>>(std::move(history));
  ++task.attempts;
  if (error == ErrorClass::permanent) {
    finish(slot, State::failed, Ending::permanent_error, at, nullptr, std::move(message));
    return done(State::failed);
  }
  if (task.attempts >= task.attempts_max) {
    if (onward != nullptr) return fall_back(slot, *onward, message);
    finish(slot, State::failed, Ending::attempts_spent, at, nullptr, std::move(message));
    return done(State::failed);
  }
  queue(slot, again.not_before, again.front, again.why);
  return done(State::queued);
}

OpResult LedgerCore::on(const Requeue& op) {
  if (auto stale = check_epoch(op.epoch)) return *stale;
  const Found found = running(op.task, op.fence);
  if (found.refusal) return *found.refusal;
  const Task& task = tasks_[found.slot];
  const bool free_of_charge = op.reason == RequeueReason::returned || op.reason == RequeueReason::preempted ||
                              (op.reason == RequeueReason::node_crash && task.deliveries <= head_.limits.deliveries);
  if (free_of_charge) {
    queue(found.slot, op.not_before, op.front, TaskQueued::Why::requeued);
    return done(State::queued);
  }
  const auto words = words_for(op.reason);
  Attempt attempt{std::string(view_of(task.agent)), task.fence, began_at(task), op.at, words.error,
                  std::string(words.message)};
  return attempt_failed(found.slot, std::move(attempt), {op.not_before, op.front, TaskQueued::Why::requeued});
}

OpResult LedgerCore::on(const Cancel& op) {
  const Found found = open(op.task);
  if (found.refusal) return *found.refusal;
  const auto limit = head_.limits.message_bytes;
  if (op.reason.size() > limit) return refuse(Verdict::too_large, limit);
  finish(found.slot, State::cancelled, Ending::cancelled, op.at, nullptr, op.reason);
  return done(State::cancelled);
}

OpResult LedgerCore::on(const Retry& op) {
  const auto at = index_.find(op.old_task);
  if (at == index_.end()) return refuse(Verdict::no_such_task);
  if ((at->second & k_finished) == 0) {
    return {Verdict::wrong_state, tasks_[static_cast<Slot>(at->second)].state, 0, {}};
  }
  const FinishNumber number = at->second & ~k_finished;
  const Finished old = finished_[number];
  if (old->task.state == State::completed) return {Verdict::wrong_state, State::completed, 0, {}};
  if (!old->retried_as.none()) {
    const auto now = index_.find(old->retried_as);
    const auto state = now == index_.end() ? std::nullopt : std::optional(state_at(now->second));
    return {Verdict::existing, state, 0, old->retried_as};
  }
  if (const auto known = index_.find(op.new_task); known != index_.end()) {
    return {Verdict::duplicate_id, state_at(known->second), 0, {}};
  }
  const std::string& name = old->task.first_swarm();
  const auto swarm = swarm_slot(name);
  if (!swarm) return refuse(Verdict::no_such_swarm);
  if (!swarms_[*swarm].info->takes_tasks()) return refuse(Verdict::swarm_closed);
  // The link goes with the old task to the archive, which may get it late; the key stays here.
  std::string key = retry_key(op.old_task);
  if (const auto before = find_key(name, key)) {
    return {Verdict::existing, before->second, 0, before->first};
  }
  Task task;
  task.id = op.new_task;
  task.shape = shape_of(name, old->task.shape->type, old->task.shape->capabilities);
  task.params = old->task.params;
  Extras extras;
  extras.key = key;
  extras.trace = old->task.more().trace;
  extras.retry_of = op.old_task;
  extras.placement = pinned_anew(old->task.more().placement);
  task.extras = std::make_shared<const Extras>(std::move(extras));
  task.timeout_ms = old->task.timeout_ms;
  task.attempts_max = old->task.attempts_max;
  task.priority = old->task.priority;
  const auto answer = accept(std::move(task), *swarm, op.at, TaskQueued::Why::retried);
  if (answer.refused()) return answer;
  remember_key(name, key, op.new_task, op.at);
  auto linked = std::make_shared<FinishedTask>(*old);
  linked->retried_as = op.new_task;
  finished_.writable(number) = std::move(linked);
  if (listening_) tell(TaskRetried{op.old_task, op.new_task});
  return answer;
}

OpResult LedgerCore::on(const Unpin& op) {
  if (head_.version < k_sound_version) return refuse(Verdict::old_version, head_.version);
  if (auto stale = check_epoch(op.epoch)) return *stale;
  const Found found = open(op.task);
  if (found.refusal) return *found.refusal;
  const Task& known = tasks_[found.slot];
  if (known.state != State::queued) return {Verdict::wrong_state, known.state, 0, {}};
  const Placement& where = known.more().where();
  if (!where.is_pinned() || where.fallback == AgentFallback::none) return {Verdict::not_due, known.state, 0, {}};
  Task& task = tasks_.writable(found.slot);
  task.extras = unpinned(task.more(), op.at);
  if (listening_) tell(TaskQueued{TaskQueued::Why::unpinned, task});
  return done(State::queued);
}

OpResult LedgerCore::on(const Expire& op) {
  if (auto stale = check_epoch(op.epoch)) return *stale;
  const Found found = open(op.task);
  if (found.refusal) return *found.refusal;
  const Task& task = tasks_[found.slot];
  if (task.deadline_at == 0 || op.at < task.deadline_at) return {Verdict::not_due, task.state, 0, {}};
  finish(found.slot, State::failed, Ending::deadline_passed, op.at, nullptr, "the deadline passed");
  return done(State::failed);
}

OpResult LedgerCore::on(const Age& op) {
  if (auto stale = check_epoch(op.epoch)) return *stale;
  std::uint64_t changed = 0;
  for (const auto& [id, priority] : op.priorities) {
    const Found found = open(id);
    if (found.refusal) continue;
    const Task& known = tasks_[found.slot];
    if (known.state != State::queued || known.effective_priority == priority) continue;
    Task& task = tasks_.writable(found.slot);  // a copy, if a snapshot holds the chunk: `known` may be gone
    task.effective_priority = priority;
    ++changed;
    if (listening_) tell(TaskAged{id, task.number, priority});
  }
  return {Verdict::ok, std::nullopt, changed, {}};
}

}  // namespace skein::inline v0::ledger
