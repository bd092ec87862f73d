#include "sim/stack_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace skein::sim {

using namespace ledger;

namespace {

// What a task counts for in the limits in bytes, as docs/internals/ledger.md and task.hpp promise it.
constexpr std::uint64_t k_fixed_bytes = 512;
constexpr std::uint64_t k_bytes_per_dependency = 64;

std::uint64_t bytes_of(const TaskSpec& spec, std::size_t dependencies) {
  std::uint64_t bytes = k_fixed_bytes + view_of(spec.params).size() + spec.type.size();
  for (const auto& each : spec.capabilities) bytes += each.size();
  if (const auto& where = spec.extras.placement) bytes += where->agent.size() + where->route_key.size();
  return bytes + spec.extras.key.size() + spec.extras.trace.size() + dependencies * k_bytes_per_dependency;
}

bool takes_none(SwarmState state) { return state != SwarmState::active && state != SwarmState::paused; }

std::vector<TaskId> each_once(const std::vector<TaskId>& ids) {
  std::vector<TaskId> once;
  for (const auto& id : ids) {
    if (std::find(once.begin(), once.end(), id) == once.end()) once.push_back(id);
  }
  return once;
}

}  // namespace

void StackAccount::expect(bool holds, std::string_view what) {
  if (!holds && wrong_.empty()) wrong_ = what;
}

std::optional<std::string> StackAccount::judge(journal::Position position, std::string_view command,
                                               std::string_view answer) {
  position_ = position;
  wrong_.clear();
  const auto ops = decode_command(command);
  const auto results = decode_results(answer);
  if (!ops || !results || ops->size() != results->size()) return "an entry or its answer cannot be read";
  for (std::size_t i = 0; i < ops->size(); ++i) {
    const auto& result = (*results)[i];
    if (!(*ops)[i]) return "an operation cannot be read";
    ++counts_[fmt::format("answered {}", name_of(result.verdict))];
    std::visit([&](const auto& op) { on(op, result); }, *(*ops)[i]);
    if (!wrong_.empty()) {
      return fmt::format("position {}, operation {}, answered {}: {}", position, i, name_of(result.verdict), wrong_);
    }
  }
  return std::nullopt;
}

const BookedTask* StackAccount::find(TaskId id) const {
  const auto at = tasks_.find(id);
  return at == tasks_.end() ? nullptr : &at->second;
}

const BookedTask* StackAccount::numbered(TaskNumber number) const {
  const auto at = numbers_.find(number);
  return at == numbers_.end() ? nullptr : find(at->second);
}

const BookedTask* StackAccount::with_params(std::string_view params) const {
  const auto at = by_params_.find(params);
  return at == by_params_.end() ? nullptr : find(at->second);
}

const StackAccount::Assignment* StackAccount::assignment(Fence fence) const {
  const auto at = assignments_.find(fence);
  return at == assignments_.end() ? nullptr : &at->second;
}

BookedTask* StackAccount::open_task(TaskId id, const OpResult& answer) {
  const auto at = tasks_.find(id);
  const bool is_known = at != tasks_.end() && !at->second.is_archived;
  if (answer.verdict == Verdict::no_such_task) {
    expect(!is_known, "the task is known");
    return nullptr;
  }
  expect(is_known, "the task is not known");
  if (!is_known) return nullptr;
  if (answer.verdict == Verdict::already_finished || answer.verdict == Verdict::accepted_before) {
    return &at->second;
  }
  expect(at->second.is_open(), "the task has ended, and has one terminal state");
  return at->second.is_open() ? &at->second : nullptr;
}

BookedTask* StackAccount::running_task(TaskId id, Fence fence, const OpResult& answer, std::optional<State> outcome) {
  BookedTask* task = open_task(id, answer);
  if (task == nullptr) return nullptr;
  const bool is_present = task->fence == fence && fence != 0;
  const bool is_running = is_present && (task->state == State::assigned || task->state == State::executing);
  switch (answer.verdict) {
    case Verdict::ok:
      expect(is_running, "the fence is stale");
      return is_running ? task : nullptr;
    case Verdict::stale_fence:
      expect(!is_running, "the fence is the present one");
      return nullptr;
    case Verdict::already_finished:
      expect(!task->is_open() && answer.state == task->state, "the task has not ended like that");
      return nullptr;
    case Verdict::accepted_before:
      if (task->state == State::executing && !outcome) {
        expect(is_present, "the fence is stale");
      } else {
        expect(is_present && task->state == outcome && !task->is_expired, "this outcome was not accepted before");
      }
      return nullptr;
    default:
      expect(false, "no answer to this operation");
      return nullptr;
  }
}

bool StackAccount::right_epoch(Epoch epoch, const OpResult& answer) {
  const bool is_stale = epoch == 0 || epoch != epoch_;
  expect((answer.verdict == Verdict::stale_epoch) == is_stale, "the epoch is judged wrongly");
  return !is_stale;
}

void StackAccount::on(const Submit& op, const OpResult& answer) {
  const auto& spec = op.spec;
  const Key* before = spec.extras.key.empty() ? nullptr : find_key(spec.swarm, spec.extras.key);
  const auto same = tasks_.find(op.id);
  const bool is_there = same != tasks_.end() && !same->second.is_archived;
  const auto swarm = swarms_.find(spec.swarm);
  const auto needed = each_once(spec.extras.dependencies);
  const auto is_missing = [&](TaskId id) { return find(id) == nullptr || find(id)->is_archived; };
  const bool lacks_some = std::any_of(needed.begin(), needed.end(), is_missing);
  const std::uint64_t bytes = bytes_of(spec, needed.size());
  const bool is_too_new = spec.extras.placement && version_ < k_sound_version;
  expect((answer.verdict == Verdict::old_version) == is_too_new, "the ledger's version is judged wrongly");
  if (is_too_new) return;
  if (answer.verdict == Verdict::no_such_swarm) return expect(swarm == swarms_.end(), "there is such a swarm");
  expect(swarm != swarms_.end(), "there is no such swarm");
  if (swarm == swarms_.end()) return;
  const bool is_closed = takes_none(swarm->second.state);
  switch (answer.verdict) {
    case Verdict::existing:
      return expect(before != nullptr && before->task == answer.task, "the key belongs to another task or to none");
    case Verdict::duplicate_id:
      return expect(is_there, "the id is new");
    case Verdict::swarm_closed:
      return expect(is_closed, "the swarm takes tasks");
    case Verdict::no_such_dependency:
      return expect(is_missing(answer.task), "the dependency is there");
    case Verdict::ok:
      break;
    default:
      static_cast<void>(judge_room(spec.swarm, bytes, answer));
      return;
  }
  expect(before == nullptr, "the key has a task already");
  expect(same == tasks_.end(), "the id was accepted before");
  expect(!is_closed, "the swarm takes no tasks");
  expect(!lacks_some, "a dependency is missing");
  if (!judge_room(spec.swarm, bytes, answer)) return;
  BookedTask task;
  task.id = op.id;
  task.swarm = task.first_swarm = spec.swarm;
  task.key = spec.extras.key;
  task.params = view_of(spec.params);
  task.attempts_max = spec.attempts_max;
  task.timeout_ms = spec.timeout_ms;
  task.not_before = spec.not_before;
  task.deadline = spec.deadline_at;
  task.retry_of = spec.extras.retry_of;
  task.bytes = bytes;
  task.dependency_bytes = needed.size() * k_bytes_per_dependency;
  task.waits_for = needed;
  if (const auto& where = spec.extras.placement) {
    task.for_agent = where->agent;
    task.fallback = where->fallback;
    task.route_key = where->route_key;
  }
  if (!task.key.empty()) {
    if (keys_.size() >= limits_.keys) keys_.erase(keys_.begin());
    keys_.push_back({task.swarm, task.key, task.id, op.at});
  }
  if (task.retry_of.none()) by_params_[task.params] = task.id;
  accept(std::move(task), answer);
}

void StackAccount::accept(BookedTask task, const OpResult& answer) {
  bool is_doomed = false;
  std::erase_if(task.waits_for, [&](TaskId id) {
    const auto& other = tasks_.at(id);
    is_doomed |= other.state == State::failed || other.state == State::cancelled;
    return !other.is_open();
  });
  task.number = numbers_.size() + 1;
  task.state = task.waits_for.empty() ? State::queued : State::blocked;
  numbers_[task.number] = task.id;
  auto& kept = tasks_[task.id] = std::move(task);
  ++counts_["tasks accepted"];
  if (is_doomed) end(kept, State::failed);
  expect(answer.state == kept.state, "it is accepted in another state");
}

std::uint64_t StackAccount::swarm_limit(const std::string& swarm, std::string_view field, std::uint64_t otherwise) {
  for (const Fields* fields : {&swarms_[swarm].overrides, &swarms_[swarm].definition}) {
    const auto at = fields->find(field);
    if (at == fields->end()) continue;
    std::uint64_t value = 0;
    std::from_chars(at->second.data(), at->second.data() + at->second.size(), value);
    return value;
  }
  return otherwise;
}

bool StackAccount::is_full(const std::string& swarm, std::uint64_t bytes) {
  std::uint64_t here = 0;
  std::uint64_t here_bytes = 0;
  for (const auto& [id, task] : tasks_) {
    if (!task.is_open() || task.swarm != swarm) continue;
    ++here;
    here_bytes += task.bytes;
  }
  return here + 1 > swarm_limit(swarm, "open_tasks", limits_.swarm_tasks) ||
         here_bytes + bytes > swarm_limit(swarm, "open_bytes", limits_.swarm_bytes);
}

// True when there was room and the answer says so.
bool StackAccount::judge_room(const std::string& swarm, std::uint64_t bytes, const OpResult& answer) {
  std::uint64_t all = 0;
  std::uint64_t all_bytes = 0;
  for (const auto& [id, task] : tasks_) {
    if (!task.is_open()) continue;
    ++all;
    all_bytes += task.bytes;
  }
  const bool is_swarm_full = is_full(swarm, bytes);
  const bool is_ledger_full = all + 1 > limits_.open_tasks || all_bytes + bytes > limits_.open_bytes;
  std::uint64_t finished_bytes = 0;
  for (std::size_t i = archived_; i < ended_.size(); ++i) {
    const auto& task = tasks_.at(ended_[i]);
    finished_bytes += task.bytes + task.result.size();
  }
  const bool is_archive_behind =
      ended_.size() - archived_ >= limits_.finished_tasks || finished_bytes >= limits_.finished_bytes;
  switch (answer.verdict) {
    case Verdict::queue_full:
      expect(is_swarm_full, "the swarm has room");
      return false;
    case Verdict::ledger_full:
      expect(is_ledger_full, "the ledger has room");
      return false;
    case Verdict::archive_behind:
      expect(is_archive_behind, "few finished tasks wait for the archive");
      return false;
    default:
      expect(is_ok(answer), "no answer to this operation");
      expect(!is_swarm_full, "the swarm's limit is passed");
      expect(!is_ledger_full, "the ledger's limit is passed");
      expect(!is_archive_behind, "too many finished tasks wait for the archive");
      return wrong_.empty();
  }
}

void StackAccount::on(const Retry& op, const OpResult& answer) {
  const auto at = tasks_.find(op.old_task);
  const bool is_known = at != tasks_.end() && !at->second.is_archived;
  if (answer.verdict == Verdict::no_such_task) return expect(!is_known, "the task is known");
  expect(is_known, "the task is not known");
  if (!is_known) return;
  BookedTask& old = at->second;
  const bool may_be = old.state == State::failed || old.state == State::cancelled;
  if (answer.verdict == Verdict::wrong_state) return expect(!may_be, "the task may be retried");
  expect(may_be, "the task may not be retried");
  if (answer.verdict == Verdict::existing) {
    return expect(!old.retried_as.none() && answer.task == old.retried_as, "it was retried otherwise, or not");
  }
  expect(old.retried_as.none(), "it was retried before");
  const bool is_closed = takes_none(swarms_[old.first_swarm].state);
  if (answer.verdict == Verdict::swarm_closed) return expect(is_closed, "the swarm takes tasks");
  expect(!is_closed, "the swarm takes no tasks");
  if (answer.verdict == Verdict::duplicate_id) return expect(tasks_.contains(op.new_task), "the id is new");
  expect(!tasks_.contains(op.new_task), "the id was accepted before");
  BookedTask task = old;
  // A new one has another key and no dependencies.
  task.bytes = old.bytes - old.key.size() - std::exchange(task.dependency_bytes, 0);
  task.key = "retry of " + op.old_task.text();
  task.bytes += task.key.size();
  if (!judge_room(old.first_swarm, task.bytes, answer)) return;
  task.swarm = old.first_swarm;
  task.fallbacks = 0;
  task.is_unpinned = false;
  task.id = op.new_task;
  task.retry_of = op.old_task;
  task.retried_as = {};
  task.fence = 0;
  task.agent.clear();
  task.attempts = task.deliveries = 0;
  task.not_before = task.deadline = task.assigned_at = 0;
  task.waits_for.clear();
  task.result.clear();
  task.finish_number = 0;
  task.is_expired = false;
  old.retried_as = op.new_task;
  if (keys_.size() >= limits_.keys) keys_.erase(keys_.begin());
  keys_.push_back({task.swarm, task.key, task.id, op.at});
  accept(std::move(task), answer);
}

void StackAccount::on(const Assign& op, const OpResult& answer) {
  if (!right_epoch(op.epoch, answer)) return;
  BookedTask* task = open_task(op.task, answer);
  if (task == nullptr) return;
  if (answer.verdict == Verdict::already_finished) return expect(!task->is_open(), "the task is open");
  if (answer.verdict == Verdict::wrong_state) return expect(task->state != State::queued, "the task is queued");
  const auto& swarm = swarms_[task->swarm];
  const bool is_held = swarm.state == SwarmState::paused || swarm.state == SwarmState::stopped;
  const bool gives = !is_held && swarm.breaker != Breaker::open;
  if (answer.verdict == Verdict::swarm_closed) return expect(!gives, "the swarm gives out tasks");
  expect(!task->is_pinned() || task->for_agent == op.agent, "a dispatcher gives out a task that is for another agent");
  expect(is_ok(answer), "no answer to this operation");
  expect(task->state == State::queued, "the task is not queued");
  expect(gives, "the swarm gives out no tasks");
  expect(answer.number > last_fence_, "the fence is not larger than all before");
  expect(op.at >= task->not_before, "the task is given out before its time");
  if (on_accepted) on_accepted(*task, op);
  last_fence_ = std::max(last_fence_, answer.number);
  task->fence = answer.number;
  task->agent = op.agent;
  task->state = State::assigned;
  task->assigned_at = op.at;
  ++task->deliveries;
  assignments_[task->fence] = {task->number, op.agent, task->attempts};
}

void StackAccount::on(const Start& op, const OpResult& answer) {
  if (BookedTask* task = running_task(op.task, op.fence, answer, std::nullopt)) task->state = State::executing;
}

void StackAccount::on(const Progress& op, const OpResult& answer) {
  static_cast<void>(running_task(op.task, op.fence, answer, std::nullopt));
}

void StackAccount::on(const Complete& op, const OpResult& answer) {
  BookedTask* task = running_task(op.task, op.fence, answer, State::completed);
  if (task == nullptr) return;
  if (on_accepted) on_accepted(*task, op);
  task->result = view_of(op.result);
  end(*task, State::completed);
}

void StackAccount::on(const Cancel& op, const OpResult& answer) {
  BookedTask* task = open_task(op.task, answer);
  if (task == nullptr) return;
  if (answer.verdict == Verdict::already_finished) return expect(!task->is_open(), "the task is open");
  expect(is_ok(answer), "no answer to this operation");
  end(*task, State::cancelled);
}

void StackAccount::on(const Expire& op, const OpResult& answer) {
  if (!right_epoch(op.epoch, answer)) return;
  BookedTask* task = open_task(op.task, answer);
  if (task == nullptr) return;
  if (answer.verdict == Verdict::already_finished) return expect(!task->is_open(), "the task is open");
  const bool is_due = task->deadline != 0 && op.at >= task->deadline;
  expect(is_due == is_ok(answer), "the deadline is judged wrongly");
  if (!is_due) return;
  task->is_expired = true;
  ++counts_["deadlines passed"];
  end(*task, State::failed);
}

void StackAccount::on(const Unpin& op, const OpResult& answer) {
  if (!right_epoch(op.epoch, answer)) return;
  BookedTask* task = open_task(op.task, answer);
  if (task == nullptr) return;
  if (answer.verdict == Verdict::already_finished) return expect(!task->is_open(), "the task is open");
  if (answer.verdict == Verdict::wrong_state) return expect(task->state != State::queued, "the task is queued");
  const bool may_be = task->is_pinned() && task->fallback != AgentFallback::none;
  expect(may_be == is_ok(answer), "whether any agent may have the task is judged wrongly");
  if (!is_ok(answer)) return;
  task->is_unpinned = true;
  ++counts_["tasks unpinned"];
}

// Nobody here makes tokens.
void StackAccount::on(const TokenPut&, const OpResult&) { expect(false, "a token is put"); }
void StackAccount::on(const TokenRevoke&, const OpResult&) { expect(false, "a token is revoked"); }

void StackAccount::on(const Age& op, const OpResult& answer) {
  if (right_epoch(op.epoch, answer)) counts_["tasks aged"] += answer.number;
}

void StackAccount::on(const TakeDispatch&, const OpResult& answer) {
  expect(is_ok(answer) && answer.number == position_, "the epoch is not the position");
  epoch_ = position_;
  ++counts_["dispatch taken"];
}

void StackAccount::on(const SwarmPut& op, const OpResult& answer) {
  if (!is_ok(answer)) return;
  swarms_[op.name].definition = op.definition;
  if (swarms_[op.name].state == SwarmState::removed) swarms_[op.name].state = SwarmState::active;
}

void StackAccount::on(const SwarmOverride& op, const OpResult& answer) {
  if (!is_ok(answer)) return;
  for (const auto& [name, value] : op.fields) {
    swarms_[op.name].overrides.erase(name);
    if (!value.empty()) swarms_[op.name].overrides[name] = value;
  }
}

void StackAccount::on(const SwarmDropOverrides& op, const OpResult& answer) {
  if (is_ok(answer)) swarms_[op.name].overrides.clear();
}

void StackAccount::on(const SwarmSetState& op, const OpResult& answer) {
  expect(is_ok(answer) == swarms_.contains(op.name), "the swarm is judged wrongly");
  if (!is_ok(answer)) return;
  swarms_[op.name].state = op.state;
  ++counts_[fmt::format("swarm {}", name_of(op.state))];
}

void StackAccount::on(const SwarmSetBreaker& op, const OpResult& answer) {
  expect(is_ok(answer) == swarms_.contains(op.name), "the swarm is judged wrongly");
  if (!is_ok(answer)) return;
  swarms_[op.name].breaker = op.breaker;
  ++counts_[fmt::format("breaker {}", name_of(op.breaker))];
}

void StackAccount::on(const SwarmRemove& op, const OpResult& answer) {
  if (is_ok(answer)) swarms_.erase(op.name);
}

void StackAccount::on(const AgentPut&, const OpResult&) {}
void StackAccount::on(const AgentRemove&, const OpResult&) {}

void StackAccount::on(const EvictKeys& op, const OpResult& answer) {
  std::uint64_t count = 0;
  for (; count < op.at_most && !keys_.empty() && keys_.front().at < op.before; ++count) keys_.erase(keys_.begin());
  expect(answer.number == count, "another number of keys is evicted");
}

void StackAccount::on(const Archived& op, const OpResult& answer) {
  std::uint64_t count = 0;
  for (; archived_ < ended_.size(); ++archived_, ++count) {
    BookedTask& task = tasks_.at(ended_[archived_]);
    if (task.finish_number > op.up_to) break;
    if (on_archived) on_archived(task);
    task.is_archived = true;
  }
  const bool is_ahead = archived_ == ended_.size() && op.up_to > last_finish_ && op.up_to < ledger::k_finish_max;
  if (is_ahead && version_ >= 4) last_finish_ = op.up_to;
  counts_["tasks archived"] += count;
  expect(answer.number == count, "another number of tasks is dropped");
}

void StackAccount::on(const SetLimits& op, const OpResult& answer) {
  if (is_ok(answer)) limits_ = op.limits;
}

void StackAccount::on(const LedgerVersion& op, const OpResult& answer) {
  expect(is_ok(answer) == (op.version >= version_), "the version goes down, or does not go up");
  if (is_ok(answer)) version_ = op.version;
}

// Those that wait learn of it in the order of their numbers, and what that ends comes after.
void StackAccount::end(BookedTask& first, State how) {
  std::vector<std::pair<TaskId, State>> ending{{first.id, how}};
  for (std::size_t i = 0; i < ending.size(); ++i) {
    BookedTask& task = tasks_.at(ending[i].first);
    if (!task.is_open()) continue;
    task.state = ending[i].second;
    task.waits_for.clear();
    ended_.push_back(task.id);
    task.finish_number = ++last_finish_;
    ++counts_[fmt::format("tasks {}", name_of(task.state))];
    for (const auto& [number, id] : numbers_) {
      BookedTask& other = tasks_.at(id);
      if (other.state != State::blocked || std::erase(other.waits_for, task.id) == 0) continue;
      if (task.state != State::completed) {
        ending.emplace_back(id, State::failed);
      } else if (other.waits_for.empty()) {
        other.state = State::queued;
      }
    }
  }
}

const StackAccount::Key* StackAccount::find_key(const std::string& swarm, const std::string& key) const {
  const auto at =
      std::find_if(keys_.begin(), keys_.end(), [&](const Key& each) { return each.swarm == swarm && each.key == key; });
  return at == keys_.end() ? nullptr : &*at;
}

std::optional<std::string> StackAccount::difference(const Ledger& real) const {
  for (const auto& [id, task] : tasks_) {
    const auto found = real.find(id);
    if (found.has_value() == task.is_archived) {
      return fmt::format("task {}: {}", task.number, found ? "is there although archived" : "is lost");
    }
    if (!found) continue;
    const auto& there = found->task;
    if (there.state != task.state || there.fence != task.fence || there.attempts != task.attempts ||
        there.number != task.number) {
      return fmt::format("task {}: {} with fence {} after {} attempts, must be {} with fence {} after {}", task.number,
                         name_of(there.state), there.fence, there.attempts, name_of(task.state), task.fence,
                         task.attempts);
    }
    if (there.shape->swarm != task.swarm || there.more().fallbacks.size() != task.fallbacks) {
      return fmt::format("task {}: in swarm {} after {} hops, must be in {} after {}", task.number, there.shape->swarm,
                         there.more().fallbacks.size(), task.swarm, task.fallbacks);
    }
    const Placement& where = there.more().where();
    if (there.pinned_to() != (task.is_pinned() ? task.for_agent : "") || where.agent != task.for_agent ||
        where.route_key != task.route_key) {
      return fmt::format("task {}: for agent '{}', must be for '{}'", task.number, there.pinned_to(),
                         task.is_pinned() ? task.for_agent : "");
    }
    if (found->finished &&
        (view_of(found->finished->result) != task.result || found->finished->finish_number != task.finish_number)) {
      return fmt::format("task {}: ended with another result or as another", task.number);
    }
  }
  for (const auto& key : keys_) {
    const auto found = real.find_key(key.swarm, key.key);
    if (!found || found->first != key.task) return fmt::format("the key '{}' is lost or finds another task", key.key);
  }
  return std::nullopt;
}

}  // namespace skein::sim
