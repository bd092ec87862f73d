// What each operation of the ledger must answer, written a second time and as simply as possible: lists that are
// searched, no indices, no codec. ledger_model.cpp gives the same operations to this model and to real ledgers and
// compares their answers. For a handful of tasks; nothing here is fast.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/ledger/ledger.hpp"

namespace skein::sim::ledger_rules {

using namespace ledger;

constexpr std::uint64_t k_ids = 8;
constexpr std::uint64_t k_model_open_max = 4;
constexpr std::uint64_t k_keys_max = 2;
constexpr std::uint64_t k_deliveries = 3;
constexpr std::uint64_t k_fallbacks = 3;
// Two swarms that hand tasks on to each other, and a name that belongs to none.
constexpr const char* k_first = "default";
constexpr const char* k_second = "second";
constexpr const char* k_nowhere = "nowhere";

inline TaskId id_of(std::uint64_t n) { return {7, n % k_ids + 1}; }

// A task as the model knows it.
struct Known {
  State state = State::queued;
  Fence fence = 0;  // of the last assignment
  std::uint32_t attempts = 0;
  std::uint32_t attempts_max = 0;
  std::uint32_t deliveries = 0;
  WallMs deadline = 0;
  std::vector<TaskId> waits_for;
  TaskId retried_as;
  bool expired = false;
  bool is_in_front = false;            // if it is queued
  std::string swarm;                   // that has it now
  std::vector<std::string> fallbacks;  // the swarms it left
  std::string agent;                   // that it was submitted for; empty: any
  AgentFallback fallback = AgentFallback::by_config;
  std::string route_key;
  bool is_unpinned = false;
  TaskId parent;  // that submitted it; none: nobody did
  std::uint32_t depth = 0;
  std::uint32_t children = 0;

  [[nodiscard]] bool is_pinned() const { return !agent.empty() && !is_unpinned; }
  [[nodiscard]] const std::string& first_swarm() const { return fallbacks.empty() ? swarm : fallbacks.front(); }
};

struct KnownKey {
  std::string swarm;
  std::string key;
  TaskId task;
  std::optional<State> ended;
};

class Model {
 public:
  OpResult on(const Submit& op) {
    const auto& extras = op.spec.extras;
    if (extras.placement && version_ < 4) return {Verdict::old_version, {}, version_, {}};
    if (op.child_of) {
      if (version_ < 5) return {Verdict::old_version, {}, version_, {}};
      const auto& child = *op.child_of;
      const auto bad = child.fence == 0 ? not_open(child.task) : not_running(child.task, child.fence, std::nullopt);
      if (bad) return *bad;
    }
    for (const auto& key : keys_) {
      if (!extras.key.empty() && key.key == extras.key && key.swarm == op.spec.swarm) {
        return {Verdict::existing, key.ended ? *key.ended : tasks_.at(key.task).state, 0, key.task};
      }
    }
    if (tasks_.contains(op.id)) return {Verdict::duplicate_id, tasks_.at(op.id).state, 0, {}};
    if (!takes(op.spec.swarm)) return {Verdict::swarm_closed, {}, 0, {}};
    Known task;
    if (op.child_of) {
      const Known& parent = tasks_.at(op.child_of->task);
      const std::uint32_t deepest = std::min(op.child_of->depth_max, 3U);
      const std::uint32_t most = std::min(op.child_of->children_max, 20U);
      if (parent.depth + 1 > deepest) return {Verdict::too_deep, {}, deepest, {}};
      if (parent.children + 1 > most) return {Verdict::too_many_children, {}, most, {}};
      task.parent = op.child_of->task;
      task.depth = parent.depth + 1;
    }
    task.swarm = op.spec.swarm;
    task.attempts_max = op.spec.attempts_max;
    task.deadline = op.spec.deadline_at;
    if (extras.placement) {
      task.agent = extras.placement->agent;
      task.fallback = extras.placement->fallback;
      task.route_key = extras.placement->route_key;
    }
    bool doomed = false;
    for (const auto& id : extras.dependencies) {
      const auto at = tasks_.find(id);
      if (at == tasks_.end()) return {Verdict::no_such_dependency, {}, 0, id};
      if (at->second.state == State::failed || at->second.state == State::cancelled) doomed = true;
      if (!is_finished(at->second.state)) task.waits_for.push_back(id);
    }
    if (open_count(task.swarm) >= k_model_open_max) return {Verdict::queue_full, {}, k_model_open_max, {}};
    task.state = task.waits_for.empty() ? State::queued : State::blocked;
    tasks_[op.id] = task;
    if (op.child_of) ++tasks_[op.child_of->task].children;
    if (doomed) end(op.id, State::failed);
    if (!extras.key.empty()) {
      if (keys_.size() == k_keys_max) keys_.erase(keys_.begin());
      keys_.push_back({op.spec.swarm, extras.key, op.id, std::nullopt});
    }
    return {Verdict::ok, tasks_[op.id].state, 0, {}};
  }

  OpResult on(const Assign& op) {
    if (auto stale = stale_epoch(op.epoch)) return *stale;
    if (auto ended = not_open(op.task)) return *ended;
    Known& task = tasks_[op.task];
    if (task.state != State::queued) return {Verdict::wrong_state, task.state, 0, {}};
    if (swarms_[task.swarm] == SwarmState::paused || swarms_[task.swarm] == SwarmState::stopped)
      return {Verdict::swarm_closed, task.state, 0, {}};
    if (task.is_pinned() && task.agent != op.agent) return {Verdict::pinned, task.state, 0, {}};
    task.state = State::assigned;
    task.fence = ++last_fence_;
    ++task.deliveries;
    return {Verdict::ok, State::assigned, task.fence, {}};
  }

  OpResult on(const Start& op) {
    if (auto bad = not_running(op.task, op.fence, std::nullopt)) return *bad;
    Known& task = tasks_[op.task];
    const bool again = task.state == State::executing;
    task.state = State::executing;
    return {again ? Verdict::accepted_before : Verdict::ok, State::executing, 0, {}};
  }

  OpResult on(const Complete& op) {
    if (auto bad = not_running(op.task, op.fence, State::completed)) return *bad;
    end(op.task, State::completed);
    return {Verdict::ok, State::completed, 0, {}};
  }

  OpResult on(const Fail& op) {
    if (auto bad = not_running(op.task, op.fence, State::failed)) return *bad;
    const bool has_crashed = op.error == ErrorClass::crash && version_ >= 3;
    return failed(op.task, op.error == ErrorClass::permanent, has_crashed && op.retry_at == 0);
  }

  OpResult on(const Requeue& op) {
    if (auto stale = stale_epoch(op.epoch)) return *stale;
    if (auto bad = not_running(op.task, op.fence, std::nullopt)) return *bad;
    Known& task = tasks_[op.task];
    const bool crashed = op.reason == RequeueReason::agent_crash || op.reason == RequeueReason::lease_expired;
    const bool worn_out = op.reason == RequeueReason::node_crash && task.deliveries > k_deliveries;
    if (crashed || worn_out) return failed(op.task, false, op.front);
    task.state = State::queued;
    task.is_in_front = op.front;
    return {Verdict::ok, State::queued, 0, {}};
  }

  OpResult on(const FallBack& op) {
    if (version_ < 2) return {Verdict::old_version, {}, version_, {}};
    if (auto stale = stale_epoch(op.epoch)) return *stale;
    if (auto bad = not_running(op.task, op.fence, State::failed)) return *bad;
    Known& task = tasks_[op.task];
    if (op.cause == FallbackCause::node_crash && task.deliveries <= k_deliveries) {
      task.state = State::queued;
      task.is_in_front = true;
      return {Verdict::ok, State::queued, 0, {}};
    }
    const bool permanent = op.cause == FallbackCause::reported && op.error == ErrorClass::permanent;
    const bool has_room = op.to != k_nowhere && op.to != task.swarm && takes(op.to) &&
                          open_count(op.to) < k_model_open_max && task.fallbacks.size() < k_fallbacks;
    if (permanent || task.attempts + 1 < task.attempts_max || !has_room) return failed(op.task, permanent, false);
    task.fallbacks.push_back(std::exchange(task.swarm, op.to));
    task.is_unpinned = !task.agent.empty();
    task.attempts = 0;
    task.state = State::queued;
    task.is_in_front = false;
    return {Verdict::ok, State::queued, task.fallbacks.size(), {}};
  }

  OpResult on(const LedgerVersion& op) {
    if (op.version < version_) return {Verdict::old_version, {}, version_, {}};
    version_ = op.version;
    return {Verdict::ok, {}, version_, {}};
  }

  OpResult on(const Unpin& op) {
    if (version_ < 4) return {Verdict::old_version, {}, version_, {}};
    if (auto stale = stale_epoch(op.epoch)) return *stale;
    if (auto ended = not_open(op.task)) return *ended;
    Known& task = tasks_[op.task];
    if (task.state != State::queued) return {Verdict::wrong_state, task.state, 0, {}};
    if (!task.is_pinned() || task.fallback == AgentFallback::none) return {Verdict::not_due, task.state, 0, {}};
    task.is_unpinned = true;
    return {Verdict::ok, State::queued, 0, {}};
  }

  OpResult on(const Cancel& op) {
    if (auto ended = not_open(op.task)) return *ended;
    end(op.task, State::cancelled);
    return {Verdict::ok, State::cancelled, 0, {}};
  }

  OpResult on(const Retry& op) {
    const auto old = tasks_.find(op.old_task);
    if (old == tasks_.end()) return {Verdict::no_such_task, {}, 0, {}};
    if (old->second.state != State::failed && old->second.state != State::cancelled) {
      return {Verdict::wrong_state, old->second.state, 0, {}};
    }
    if (const auto before = old->second.retried_as; !before.none()) {
      const auto at = tasks_.find(before);
      return {Verdict::existing, at == tasks_.end() ? std::nullopt : std::optional(at->second.state), 0, before};
    }
    if (tasks_.contains(op.new_task)) return {Verdict::duplicate_id, tasks_.at(op.new_task).state, 0, {}};
    const std::string swarm = old->second.first_swarm();
    if (!takes(swarm)) return {Verdict::swarm_closed, {}, 0, {}};
    const auto name = "retry of " + op.old_task.text();
    for (const auto& key : keys_) {
      if (key.key != name || key.swarm != swarm) continue;
      return {Verdict::existing, key.ended ? *key.ended : tasks_.at(key.task).state, 0, key.task};
    }
    if (open_count(swarm) >= k_model_open_max) return {Verdict::queue_full, {}, k_model_open_max, {}};
    Known task;
    task.swarm = swarm;
    task.attempts_max = old->second.attempts_max;
    task.agent = old->second.agent;
    task.fallback = old->second.fallback;
    task.route_key = old->second.route_key;
    old->second.retried_as = op.new_task;
    tasks_[op.new_task] = task;
    if (keys_.size() == k_keys_max) keys_.erase(keys_.begin());
    keys_.push_back({swarm, name, op.new_task, std::nullopt});
    return {Verdict::ok, State::queued, 0, {}};
  }

  OpResult on(const Expire& op) {
    if (auto stale = stale_epoch(op.epoch)) return *stale;
    if (auto ended = not_open(op.task)) return *ended;
    Known& task = tasks_[op.task];
    if (task.deadline == 0 || op.at < task.deadline) return {Verdict::not_due, task.state, 0, {}};
    task.expired = true;
    end(op.task, State::failed);
    return {Verdict::ok, State::failed, 0, {}};
  }

  OpResult on(const Archived& op) {
    std::uint64_t count = 0;
    while (!ended_.empty() && archived_ < op.up_to) {
      const TaskId id = ended_.front();
      for (auto& key : keys_) {
        if (key.task == id && !key.ended) key.ended = tasks_.at(id).state;
      }
      tasks_.erase(id);
      ended_.erase(ended_.begin());
      ++archived_;
      ++count;
    }
    // An archive that has more than was ever given out here: numbers go on above it.
    if (version_ >= 4 && ended_.empty() && op.up_to < k_finish_max) archived_ = std::max(archived_, op.up_to);
    return {Verdict::ok, {}, count, {}};
  }

  OpResult on(const EvictKeys& op) {
    std::uint64_t count = 0;
    for (; count < op.at_most && !keys_.empty(); ++count) keys_.erase(keys_.begin());
    return {Verdict::ok, {}, count, {}};
  }

  OpResult on(const SwarmSetState& op) {
    const bool is_removal = op.state == SwarmState::removed;
    if (is_removal && version_ < 5) return {Verdict::old_version, {}, version_, {}};
    if (is_removal && op.name == "default") return {Verdict::swarm_busy, {}, 0, {}};
    // Only a new declaration brings it back.
    if (swarms_[op.name] == SwarmState::removed && !is_removal) return {Verdict::swarm_closed, {}, 0, {}};
    swarms_[op.name] = op.state;
    return {};
  }

  OpResult on(const SwarmPut& op) {
    if (swarms_[op.name] == SwarmState::removed) swarms_[op.name] = SwarmState::active;
    return {};
  }

  OpResult on(const TokenPut& op) {
    if (version_ < 5) return {Verdict::old_version, {}, version_, {}};
    const auto at = tokens_.find(op.token.name);
    if (at == tokens_.end() && op.was != Digest{}) return {Verdict::no_such_token, {}, 0, {}};
    if (at != tokens_.end() && op.was != at->second.secret) return {Verdict::name_taken, {}, 0, {}};
    tokens_[op.token.name] = op.token;
    return {};
  }

  OpResult on(const TokenRevoke& op) {
    if (version_ < 5) return {Verdict::old_version, {}, version_, {}};
    return {tokens_.erase(op.name) == 0 ? Verdict::no_such_token : Verdict::ok, {}, 0, {}};
  }

  OpResult took(journal::Position position) {
    epoch_ = position;
    return {Verdict::ok, {}, position, {}};
  }

  // Where the ledger stands otherwise than the model; nothing when nowhere.
  [[nodiscard]] std::optional<std::string> difference(const Ledger& real) const {
    std::vector<Token> tokens;
    tokens.reserve(tokens_.size());
    for (const auto& [name, token] : tokens_) tokens.push_back(token);
    if (real.tokens() != tokens)
      return fmt::format("{} tokens, must be {} others", real.tokens().size(), tokens.size());
    for (std::uint64_t n = 0; n < k_ids; ++n) {
      const auto id = id_of(n);
      const auto found = real.find(id);
      const auto at = tasks_.find(id);
      if (found.has_value() != (at != tasks_.end())) return fmt::format("task {}: known to one of them", n);
      if (!found) continue;
      const auto& task = found->task;
      const auto& known = at->second;
      if (task.state != known.state || task.fence != known.fence || task.attempts != known.attempts) {
        return fmt::format("task {}: {} with fence {} after {} attempts, must be {} with fence {} after {}", n,
                           name_of(task.state), task.fence, task.attempts, name_of(known.state), known.fence,
                           known.attempts);
      }
      if (task.state == State::queued && (task.order < 0) != known.is_in_front) {
        return fmt::format("task {}: order {}, must be {}", n, task.order, known.is_in_front ? "in front" : "behind");
      }
      std::vector<std::string> fallbacks;
      for (const auto& step : task.more().fallbacks) fallbacks.push_back(step.swarm);
      if (task.shape->swarm != known.swarm || fallbacks != known.fallbacks) {
        return fmt::format("task {}: in swarm {} after {} hops, must be in {} after {}", n, task.shape->swarm,
                           fallbacks.size(), known.swarm, known.fallbacks.size());
      }
      const Placement& where = task.more().where();
      if (where.agent != known.agent || where.fallback != known.fallback || where.route_key != known.route_key ||
          (where.unpinned_at != 0) != known.is_unpinned) {
        return fmt::format("task {}: for agent '{}' by '{}', must be for '{}' by '{}'", n, task.pinned_to(),
                           where.route_key, known.is_unpinned ? "" : known.agent, known.route_key);
      }
      if (task.more().parent != known.parent || task.more().depth != known.depth || task.children != known.children) {
        return fmt::format("task {}: depth {} with {} children, must be {} with {}", n, task.more().depth,
                           task.children, known.depth, known.children);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] Fence fence_of(TaskId id) const {
    const auto at = tasks_.find(id);
    return at == tasks_.end() ? 0 : at->second.fence;
  }

 private:
  [[nodiscard]] std::uint64_t open_count(const std::string& swarm) const {
    return static_cast<std::uint64_t>(std::count_if(tasks_.begin(), tasks_.end(), [&](const auto& each) {
      return !is_finished(each.second.state) && each.second.swarm == swarm;
    }));
  }
  [[nodiscard]] bool takes(const std::string& swarm) const {
    const auto state = swarms_.at(swarm);
    return state == SwarmState::active || state == SwarmState::paused;
  }
  [[nodiscard]] std::optional<OpResult> stale_epoch(Epoch epoch) const {
    if (epoch == epoch_ && epoch != 0) return std::nullopt;
    return OpResult{Verdict::stale_epoch, {}, epoch_, {}};
  }
  [[nodiscard]] std::optional<OpResult> not_open(TaskId id) const {
    const auto at = tasks_.find(id);
    if (at == tasks_.end()) return OpResult{Verdict::no_such_task, {}, 0, {}};
    if (is_finished(at->second.state)) return OpResult{Verdict::already_finished, at->second.state, 0, {}};
    return std::nullopt;
  }
  [[nodiscard]] std::optional<OpResult> not_running(TaskId id, Fence fence, std::optional<State> outcome) const {
    if (auto bad = not_open(id)) {
      const bool same = bad->state && bad->state == outcome && fence != 0 && tasks_.at(id).fence == fence;
      if (same && !tasks_.at(id).expired) bad->verdict = Verdict::accepted_before;
      return bad;
    }
    const Known& task = tasks_.at(id);
    if (!is_running(task.state) || task.fence != fence) return OpResult{Verdict::stale_fence, task.state, 0, {}};
    return std::nullopt;
  }
  OpResult failed(TaskId id, bool permanent, bool to_front) {
    Known& task = tasks_[id];
    ++task.attempts;
    task.state = State::queued;
    task.is_in_front = to_front;
    if (permanent || task.attempts == task.attempts_max) end(id, State::failed);
    return {Verdict::ok, tasks_[id].state, 0, {}};
  }
  // Breadth first, as the order of ends decides what is archived first.
  void end(TaskId first, State how) {
    tasks_[first].state = how;
    ended_.push_back(first);
    for (std::size_t i = ended_.size() - 1; i < ended_.size(); ++i) {
      const TaskId ended = ended_[i];
      const bool completed = tasks_[ended].state == State::completed;
      // By the order of submission, which is the order of numbers.
      for (const auto& id : waiting_in_order(ended)) {
        Known& task = tasks_[id];
        std::erase(task.waits_for, ended);
        if (!completed && task.state == State::blocked) {
          task.state = State::failed;
          ended_.push_back(id);
        } else if (completed && task.waits_for.empty()) {
          task.state = State::queued;
        }
      }
    }
  }
  [[nodiscard]] std::vector<TaskId> waiting_in_order(TaskId ended) const {
    std::vector<TaskId> out;
    for (const auto& [id, task] : tasks_) {
      if (task.state != State::blocked) continue;
      if (std::find(task.waits_for.begin(), task.waits_for.end(), ended) != task.waits_for.end()) out.push_back(id);
    }
    std::sort(out.begin(), out.end(), [this](TaskId a, TaskId b) { return numbers_.at(a) < numbers_.at(b); });
    return out;
  }

 public:
  std::map<TaskId, std::uint64_t> numbers_;  // the step at which a task was submitted last

 private:
  std::map<TaskId, Known> tasks_;
  std::vector<TaskId> ended_;  // in the order they ended, not yet archived
  std::vector<KnownKey> keys_;
  std::map<std::string, Token> tokens_;
  FinishNumber archived_ = 0;
  Fence last_fence_ = 0;
  Epoch epoch_ = 0;
  std::uint64_t version_ = 1;
  std::map<std::string, SwarmState> swarms_{{k_first, SwarmState::active}, {k_second, SwarmState::active}};
};

}  // namespace skein::sim::ledger_rules
