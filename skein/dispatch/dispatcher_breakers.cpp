// What is passed over: types of tasks that agents crash over, and agents that the router goes around.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {
namespace {

// Calls it for each run of the type that is at work.
template <class Look>
void each_at_work(const DispatcherTables& tables, const TypeBreaker& its, Look look) {
  for (SlotNumber i = 0; i < tables.runs.slots(); ++i) {
    const Run& run = tables.runs[i];
    if (run.agent == k_no_slot || !is_at_work(run, tables.agents[run.agent])) continue;
    const ledger::Shape& shape = tables.tasks[run.task].shape();
    if (shape.type == its.type && shape.swarm == its.swarm) look(run);
  }
}

std::size_t runs_outliving(const DispatcherTables& tables, const TypeBreaker& its, Duration time, Instant now) {
  std::size_t count = 0;
  each_at_work(tables, its, [&](const Run& run) { count += now - run.since > time ? 1 : 0; });
  return count;
}

Duration longest_probe(const DispatcherTables& tables, const TypeBreaker& its, Instant now) {
  Duration longest{};
  each_at_work(tables, its, [&](const Run& run) {
    if (run.is_probe) longest = std::max(longest, now - run.since);
  });
  return longest;
}

DispatchEvent event_of(const TypeBreaker& its, CrashBreaker::Change change, const Moment& moment) {
  using Change = CrashBreaker::Change;
  using enum DispatchEvent::Kind;
  DispatchEvent told;
  told.subject = its.swarm;
  told.type = its.type;
  switch (change) {
    case Change::none:
    case Change::warned:
      told.kind = breaker_warning;
      told.detail =
          fmt::format("{} agents in a row crashed over distinct tasks of type '{}'", its.breaker.crashes(), its.type);
      break;
    case Change::opened:
      told.kind = breaker_opened;
      told.until = wall_at(its.breaker.until(), moment);
      told.detail = fmt::format("agents crash over one task of type '{}' after another", its.type);
      break;
    case Change::half_opened:
      told.kind = breaker_half_opened;
      told.detail = fmt::format("tasks of type '{}' are tried again", its.type);
      break;
    case Change::closed:
      told.kind = breaker_closed;
      told.detail = fmt::format("tasks of type '{}' are given out again", its.type);
      break;
  }
  return told;
}

DispatchEvent event_of(const AgentView& agent, AgentChange::Kind change, const Moment& moment) {
  using enum AgentChange::Kind;
  DispatchEvent told;
  told.subject = agent.name;
  told.kind = DispatchEvent::Kind::agent_passed_over;
  switch (change) {
    case breaker_opened:
      told.detail = "its tasks failed one after another";
      told.until = wall_at(agent.broken_until, moment);
      break;
    case suspected:
      told.detail = "it fails for good what others complete";
      told.until = wall_at(agent.broken_until, moment);
      break;
    case poorly:
      told.detail = "its health is poor, so others come first";
      told.until = wall_at(agent.poorly_until, moment);
      break;
    case breaker_half_open:
      told.kind = DispatchEvent::Kind::agent_back;
      told.detail = "it is tried again";
      break;
    case breaker_closed:
    case recovered:
      told.kind = DispatchEvent::Kind::agent_back;
      told.detail = "it gets tasks again";
      break;
  }
  return told;
}

}  // namespace

void DispatcherCore::count_crash(const Run& run, const Moment& moment) {
  const TaskRecord& task = tables_.tasks[run.task];
  const SwarmRecord& swarm = tables_.swarms[task.swarm];
  if (!swarm.is_known) return;
  TypeBreaker* found = breakers_.crashed_over(swarm.name, task.shape().type, options_.crash_breakers_max);
  if (found == nullptr) return;
  TypeBreaker& its = *found;
  const Duration ran = has_worked(run, tables_.agents[run.agent]) ? moment.now - run.since : Duration::zero();
  const auto change = its.breaker.crashed(swarm.breaker_options, task.number, ran, moment.now, [&](Duration time) {
    return runs_outliving(tables_, its, time, moment.now);
  });
  follow_breaker(its, change, task.number, moment);
}

void DispatcherCore::count_completion(const TaskRecord& task, const Moment& moment) {
  TypeBreaker* its = breakers_.find(task.shape().swarm, task.shape().type);
  if (its == nullptr) return;
  const auto change = its->breaker.completed(tables_.swarms[task.swarm].breaker_options, moment.now);
  follow_breaker(*its, change, task.number, moment);
  if (its->breaker.is_new()) breakers_.forget(*its);
}

void DispatcherCore::follow_breaker(TypeBreaker& its, CrashBreaker::Change change, ledger::TaskNumber task,
                                    const Moment& moment) {
  if (change == CrashBreaker::Change::none) return;
  output_.events.push_back(event_of(its, change, moment));
  output_.events.back().task = task;
  may_be_met_ = true;
  if (change != CrashBreaker::Change::opened) return;
  const SlotNumber swarm = tables_.find_swarm(its.swarm);
  if (swarm != k_no_slot) mail_.ask_to_return(returning_.of_swarm(swarm, its.type, moment.now), moment.now);
}

void DispatcherCore::watch_breakers(const Moment& moment) {
  for (SlotNumber i = 0; i < tables_.swarms.slots(); ++i) {
    SwarmRecord& swarm = tables_.swarms[i];
    if (!swarm.is_known || swarm.is_changing || swarm.breaker == ledger::Breaker::closed) continue;
    if (swarm.breaker == ledger::Breaker::open && moment.wall < swarm.breaker_until) continue;
    // A breaker of a whole swarm, which an earlier version left in the ledger, stops it for its time and no longer.
    swarm.is_changing = true;
    output_.tell(DispatchEvent::Kind::breaker_closed, swarm.name);
    outgoing_.add({}, ledger::SwarmSetBreaker{swarm.name, ledger::Breaker::closed, 0}, true);
  }
  for (auto& [key, its] : breakers_) {
    if (its.breaker.state() == CrashBreaker::State::closed) continue;
    const SlotNumber swarm = tables_.find_swarm(its.swarm);
    if (swarm == k_no_slot) continue;
    const bool is_tried = its.breaker.state() == CrashBreaker::State::half_open;
    const Duration survived = is_tried ? longest_probe(tables_, its, moment.now) : Duration::zero();
    follow_breaker(its, its.breaker.passed(tables_.swarms[swarm].breaker_options, survived, moment.now), 0, moment);
  }
}

// What the router has begun, or ceased, to go around.
void DispatcherCore::tell_router_changes(const Moment& moment) {
  for (const AgentChange& change : router_.take_changes()) {
    using enum AgentChange::Kind;
    const auto view = router_.view(change.agent, moment.now);
    if (!view) continue;
    if (change.kind == breaker_opened || change.kind == suspected) {
      mail_.ask_to_return(returning_.of_agent(view->name, moment.now), moment.now);
    }
    output_.events.push_back(event_of(*view, change.kind, moment));
  }
}

}  // namespace skein::inline v0::dispatch
