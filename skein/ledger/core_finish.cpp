// How tasks end, what that means for those that depend on them, and idempotency keys.
#include <algorithm>

#include "skein/ledger/core.hpp"

namespace skein::inline v0::ledger {

Finished LedgerCore::finish_one(Slot slot, State state, Ending ending, WallMs at, Body result, std::string message) {
  auto finished = std::make_shared<FinishedTask>();
  finished->task = tasks_.take(slot);
  Task& task = finished->task;
  const State was = task.state;
  if (was == State::blocked) unlink(task);
  const std::uint64_t bytes = charge_of(task);
  SwarmSlot& swarm = swarms_[task.swarm_slot];
  --swarm.open_tasks;
  swarm.open_bytes -= bytes;
  --open_tasks_;
  open_bytes_ -= bytes;
  task.state = state;
  task.swarm_slot = 0;
  task.waits_for = 0;
  finished->finish_number = finished_.end();
  finished->finished_at = at;
  finished->ending = ending;
  finished->result = std::move(result);
  finished->message = std::move(message);
  finished_bytes_ += charge_of(*finished);
  index_.find(task.id)->second = k_finished | finished_.end();
  finished_.push(finished);
  if (listening_) tell(TaskFinished{finished, was});
  return finished;
}

void LedgerCore::finish(Slot slot, State state, Ending ending, WallMs at, Body result, std::string message) {
  struct Waiting {
    TaskId id;
    std::string message;
  };
  // A list of work instead of recursion: chains of dependencies may be as long as there are tasks.
  std::vector<Waiting> doomed;
  Finished ended = finish_one(slot, state, ending, at, std::move(result), std::move(message));
  for (std::size_t next = 0;; ++next) {
    if (const auto waiting = dependents_.find(ended->task.id); waiting != dependents_.end()) {
      const auto those = std::move(waiting->second);
      dependents_.erase(waiting);
      const State how = ended->task.state;
      for (const auto& [number, their_slot] : those) {
        if (how != State::completed) {
          std::string why = "dependency " + ended->task.id.text() + " " + std::string(name_of(how));
          doomed.push_back({tasks_[their_slot].id, std::move(why)});
        } else if (Task& task = tasks_.writable(their_slot); --task.waits_for == 0) {
          queue(their_slot, task.not_before, false, TaskQueued::Why::unblocked);
        }
      }
    }
    // One that waited for several of them may have ended already.
    while (next < doomed.size() && open(doomed[next].id).refusal) ++next;
    if (next >= doomed.size()) return;
    auto& each = doomed[next];
    const Slot its_slot = open(each.id).slot;
    ended = finish_one(its_slot, State::failed, Ending::dependency_failed, at, nullptr, std::move(each.message));
  }
}

void LedgerCore::link(Slot slot) {
  const Task& task = tasks_[slot];
  for (const auto& id : task.more().dependencies) {
    const auto at = index_.find(id);
    if (at != index_.end() && (at->second & k_finished) == 0) dependents_[id].emplace(task.number, slot);
  }
}

void LedgerCore::unlink(const Task& task) {
  for (const auto& id : task.more().dependencies) {
    const auto at = dependents_.find(id);
    if (at == dependents_.end()) continue;
    at->second.erase(task.number);
    if (at->second.empty()) dependents_.erase(at);
  }
}

std::string LedgerCore::full_key(std::string_view swarm, std::string_view key) {
  // Names have no control characters, so no two pairs give the same string.
  std::string full;
  full.reserve(swarm.size() + 1 + key.size());
  full.append(swarm).push_back('\0');
  return full.append(key);
}

void LedgerCore::remember_key(std::string_view swarm, std::string_view key, TaskId task, WallMs at) {
  std::uint64_t evicted = 0;
  while (keys_.size() >= head_.limits.keys) {
    forget_oldest_key();
    ++evicted;
  }
  if (evicted > 0 && listening_) tell(KeysEvicted{evicted});
  auto text = std::make_shared<const std::string>(full_key(swarm, key));
  const std::string_view name = *text;
  key_index_.emplace(name, keys_.push({std::move(text), task, at, std::nullopt}));
}

void LedgerCore::forget_oldest_key() {
  key_index_.erase(*keys_[keys_.first()].key);
  keys_.pop();
}

State LedgerCore::state_at(Where where) const {
  if ((where & k_finished) == 0) return tasks_[static_cast<Slot>(where)].state;
  return finished_[where & ~k_finished]->task.state;
}

std::optional<std::pair<TaskId, State>> LedgerCore::find_key(std::string_view swarm, std::string_view key) const {
  const auto at = key_index_.find(full_key(swarm, key));
  if (at == key_index_.end()) return std::nullopt;
  const auto& record = keys_[at->second];
  return std::pair(record.task, record.ended ? *record.ended : state_at(index_.find(record.task)->second));
}

OpResult LedgerCore::on(const EvictKeys& op) {
  std::uint64_t evicted = 0;
  while (evicted < op.at_most && !keys_.empty() && keys_[keys_.first()].at < op.before) {
    forget_oldest_key();
    ++evicted;
  }
  if (evicted > 0 && listening_) tell(KeysEvicted{evicted});
  return {Verdict::ok, std::nullopt, evicted, {}};
}

OpResult LedgerCore::on(const Archived& op) {
  std::uint64_t dropped = 0;
  while (!finished_.empty() && finished_.first() <= op.up_to) {
    const Finished each = finished_[finished_.first()];
    const Task& task = each->task;
    if (const auto& key = task.more().key; !key.empty()) {
      const auto at = key_index_.find(full_key(task.first_swarm(), key));
      if (at != key_index_.end() && keys_[at->second].task == task.id) keys_.writable(at->second).ended = task.state;
    }
    finished_bytes_ -= charge_of(*each);
    index_.erase(task.id);
    finished_.pop();
    ++dropped;
  }
  const bool is_ahead = finished_.empty() && op.up_to >= finished_.end() && op.up_to < k_finish_max;
  if (is_ahead && head_.version >= k_sound_version) finished_ = QueueTable<Finished>(op.up_to + 1);
  if (dropped > 0 && listening_) tell(TasksArchived{finished_.first() - 1, dropped});
  return {Verdict::ok, std::nullopt, dropped, {}};
}

}  // namespace skein::inline v0::ledger
