#include "skein/ledger/invariants.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace skein::inline v0::ledger {
namespace {

struct Sum {
  std::uint64_t tasks = 0;
  std::uint64_t bytes = 0;
};

std::uint64_t limit_of(const Swarm& swarm, std::string_view name, std::uint64_t otherwise) {
  const auto text = swarm.field(name);
  return text ? std::stoull(std::string(*text)) : otherwise;
}

using OpenNumbers = std::map<TaskId, TaskNumber>;

std::optional<std::string> broken_task(const Task& task, const Counters& counters, const OpenNumbers& open) {
  const auto name = fmt::format("task {} (number {}, {})", task.id.text(), task.number, name_of(task.state));
  if (task.number == 0 || task.number > counters.last_number) return name + " has a number that was never given";
  if (task.fence > counters.last_fence) return name + " has a fence that was never issued";
  if (task.attempts > task.attempts_max) return name + " had more attempts than it may";
  const auto& fallbacks = task.more().fallbacks;
  if (fallbacks.size() > k_fallbacks_max) return name + " was handed on more often than it may be";
  for (const auto& step : fallbacks) {
    if (step.attempts > task.attempts_max) return name + " had more attempts in swarm " + step.swarm + " than it may";
  }
  if (task.children > k_children_max) return name + " has more children than it may";
  if (task.more().depth > k_child_depth_max) return name + " is deeper than it may be";
  if (task.more().parent.none() != (task.more().depth == 0)) return name + " is a child of nobody";
  if (is_running(task.state) && task.fence == 0) return name + " runs without a fence";
  const Placement& where = task.more().where();
  if (!where.makes_sense() || (task.more().placement && where.empty())) return name + " is placed nowhere";
  if (is_running(task.state) && where.is_pinned() && view_of(task.agent) != where.agent) {
    return name + " is at another agent than the one it is for";
  }
  if (is_finished(task.state)) return std::nullopt;
  if (task.attempts == task.attempts_max) return name + " is open with no attempt left";
  std::uint32_t waits_for = 0;
  for (const auto& id : task.more().dependencies) {
    // A later task may bear the id of one that ended and was archived.
    const auto at = open.find(id);
    if (at != open.end() && at->second < task.number) ++waits_for;
  }
  if (task.state == State::blocked && waits_for == 0) return name + " waits for nothing";
  if (task.state == State::blocked && waits_for != task.waits_for) return name + " has lost count of what it waits for";
  if (task.state != State::blocked && waits_for != 0) return name + " does not wait for its dependencies";
  return std::nullopt;
}

struct Load {
  std::uint64_t has = 0;
  std::uint64_t limit = 0;
};
// By whom and what.
using Loads = std::map<std::pair<std::string, std::string>, Load>;

Loads loads_of(const FrozenLedger& ledger) {
  const auto& counters = ledger.counters();
  const auto& limits = ledger.limits();
  const std::string all = "the ledger has";
  Loads loads{{{all, "open tasks"}, {counters.open_tasks, limits.open_tasks}},
              {{all, "open bytes"}, {counters.open_bytes, limits.open_bytes}},
              {{all, "keys"}, {counters.keys, limits.keys}}};
  for (const auto& swarm : ledger.swarms()) {
    const auto name = fmt::format("swarm {} has", swarm.name);
    loads[{name, "open tasks"}] = {swarm.open_tasks, limit_of(swarm, k_field_open_tasks, limits.swarm_tasks)};
    loads[{name, "open bytes"}] = {swarm.open_bytes, limit_of(swarm, k_field_open_bytes, limits.swarm_bytes)};
  }
  return loads;
}

}  // namespace

std::optional<std::string> broken_invariant(const FrozenLedger& ledger) {
  const auto& counters = ledger.counters();
  const auto tasks = ledger.open_tasks();
  OpenNumbers ids;
  std::set<TaskNumber> numbers;
  std::set<Fence> fences;
  std::map<std::string, Sum> swarms;
  Sum all;
  for (const auto& task : tasks) ids.emplace(task.id, task.number);
  for (const auto& task : tasks) {
    if (is_finished(task.state)) return fmt::format("task {} is open and finished", task.id.text());
    if (auto broken = broken_task(task, counters, ids)) return broken;
    if (!numbers.insert(task.number).second) return fmt::format("number {} is used twice", task.number);
    if (is_running(task.state) && !fences.insert(task.fence).second) return fmt::format("fence {} twice", task.fence);
    auto& sum = swarms[task.shape->swarm];
    for (Sum* each : {&sum, &all}) {
      ++each->tasks;
      each->bytes += charge_of(task);
    }
  }
  if (ids.size() != tasks.size()) return "an id is used by two open tasks";
  if (all.tasks != counters.open_tasks || all.bytes != counters.open_bytes) {
    return fmt::format("{} open tasks of {} bytes, counted as {} of {}", all.tasks, all.bytes, counters.open_tasks,
                       counters.open_bytes);
  }
  Sum finished;
  FinishNumber next = counters.archived_up_to + 1;
  for (const auto& each : ledger.finished_tasks()) {
    if (!is_finished(each->task.state)) return fmt::format("task {} is finished and open", each->task.id.text());
    if (auto broken = broken_task(each->task, counters, ids)) return broken;
    if (!ids.emplace(each->task.id, each->task.number).second)
      return fmt::format("task {} ended twice", each->task.id.text());
    if (!numbers.insert(each->task.number).second) return fmt::format("number {} is used twice", each->task.number);
    if (each->finish_number != next++) return "finish numbers have a gap";
    ++finished.tasks;
    finished.bytes += charge_of(*each);
  }
  if (finished.tasks != counters.finished_tasks || finished.bytes != counters.finished_bytes) {
    return "finished tasks are miscounted";
  }
  for (const auto& swarm : ledger.swarms()) {
    const Sum sum = swarms[swarm.name];
    swarms.erase(swarm.name);
    if (sum.tasks != swarm.open_tasks || sum.bytes != swarm.open_bytes) {
      return fmt::format("swarm {} has {} open tasks of {} bytes, counted as {} of {}", swarm.name, sum.tasks,
                         sum.bytes, swarm.open_tasks, swarm.open_bytes);
    }
  }
  if (!swarms.empty()) return fmt::format("swarm {} has tasks and is not there", swarms.begin()->first);
  return std::nullopt;
}

std::optional<std::string> broken_limit(const FrozenLedger& ledger) {
  for (const auto& [what, load] : loads_of(ledger)) {
    if (load.has > load.limit) return fmt::format("{} more {} than the limit", what.first, what.second);
  }
  return std::nullopt;
}

std::optional<std::string> grown_past_limit(const FrozenLedger& before, const FrozenLedger& after) {
  const auto then = loads_of(before);
  for (const auto& [what, load] : loads_of(after)) {
    if (load.has <= load.limit) continue;
    const auto at = then.find(what);
    if (at != then.end() && at->second.limit == load.limit && load.has > at->second.has) {
      return fmt::format("{} past its limit of {}, and more {} than before", what.first, load.limit, what.second);
    }
  }
  return std::nullopt;
}

}  // namespace skein::inline v0::ledger
