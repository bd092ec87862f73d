// Who is passed over: types of tasks that agents crash over, agents the router goes around, and the shares of swarms
// that use one executor.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "skein/dispatch/dispatcher_append.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr double k_first_cost_s = 1;  // of a type nobody knows yet; put right when the first run ends

// The monotonic time as one on the wall, as far as both clocks agree.
ledger::WallMs wall_at(Instant at, const Moment& moment) {
  if (at == Instant::max()) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(between(moment.now, at)).count();
  return moment.wall + std::min(static_cast<ledger::WallMs>(left), k_wall_ms_max);
}

bool is_at_work(const Run& run, const AgentRecord& agent) {
  return run.task != k_no_slot && run.is_open() && agent.pid && (run.is_started() || !agent.reports_starts);
}

}  // namespace

CrashBreaker* DispatcherCore::breaker_of(const TaskRecord& task) {
  TypeBreaker* its = breakers_.find(task.shape().swarm, task.shape().type);
  return its == nullptr ? nullptr : &its->breaker;
}

bool DispatcherCore::is_held_back(const TaskRecord& task) {
  const CrashBreaker* breaker = breaker_of(task);
  return breaker != nullptr && breaker->state() != CrashBreaker::State::closed;
}

std::size_t DispatcherCore::runs_outliving(const TypeBreaker& its, Duration time, const Moment& moment) const {
  std::size_t count = 0;
  for (SlotNumber i = 0; i < runs_.slots(); ++i) {
    const Run& run = runs_[i];
    if (run.agent == k_no_slot || !is_at_work(run, agents_[run.agent])) continue;
    const ledger::Shape& shape = tasks_[run.task].shape();
    count += shape.type == its.type && shape.swarm == its.swarm && moment.now - run.since > time ? 1 : 0;
  }
  return count;
}

Duration DispatcherCore::longest_probe(const TypeBreaker& its, const Moment& moment) const {
  Duration longest{};
  for (SlotNumber i = 0; i < runs_.slots(); ++i) {
    const Run& run = runs_[i];
    if (run.agent == k_no_slot || !run.is_probe || !is_at_work(run, agents_[run.agent])) continue;
    const ledger::Shape& shape = tasks_[run.task].shape();
    if (shape.type == its.type && shape.swarm == its.swarm) longest = std::max(longest, moment.now - run.since);
  }
  return longest;
}

void DispatcherCore::count_crash(const Run& run, const Moment& moment) {
  const TaskRecord& task = tasks_[run.task];
  const SwarmRecord& swarm = swarms_[task.swarm];
  if (!swarm.is_known) return;
  TypeBreaker* found = breakers_.crashed_over(swarm.name, task.shape().type, options_.crash_breakers_max);
  if (found == nullptr) return;
  TypeBreaker& its = *found;
  const bool has_worked = run.is_started() || (run.is_open() && !agents_[run.agent].reports_starts);
  const Duration ran = has_worked ? moment.now - run.since : Duration::zero();
  const auto change = its.breaker.crashed(swarm.breaker_options, task.number, ran, moment.now,
                                          [&](Duration time) { return runs_outliving(its, time, moment); });
  follow_breaker(its, change, task.number, moment);
}

void DispatcherCore::count_completion(const TaskRecord& task, const Moment& moment) {
  TypeBreaker* its = breakers_.find(task.shape().swarm, task.shape().type);
  if (its == nullptr) return;
  const auto change = its->breaker.completed(swarms_[task.swarm].breaker_options, moment.now);
  follow_breaker(*its, change, task.number, moment);
  if (its->breaker.is_new()) breakers_.forget(*its);
}

void DispatcherCore::probe_ended(const TaskRecord& task) {
  if (CrashBreaker* breaker = breaker_of(task)) breaker->probe_ended();
}

void DispatcherCore::follow_breaker(TypeBreaker& its, CrashBreaker::Change change, ledger::TaskNumber task,
                                    const Moment& moment) {
  using Change = CrashBreaker::Change;
  using enum DispatchEvent::Kind;
  if (change == Change::none) return;
  DispatchEvent told;
  told.subject = its.swarm;
  told.type = its.type;
  told.task = task;
  switch (change) {
    case Change::none:
      return;
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
  output_.events.push_back(std::move(told));
  may_be_met_ = true;
  if (change != Change::opened) return;
  if (const auto at = swarm_names_.find(its.swarm); at != swarm_names_.end()) {
    take_back_from_swarm(at->second, its.type, moment);
  }
}

// A breaker of a whole swarm, which an earlier version left in the ledger, stops it for its time and no longer.
void DispatcherCore::close_swarm_breaker(SwarmRecord& swarm) {
  swarm.is_changing = true;
  event(DispatchEvent::Kind::breaker_closed, swarm.name);
  outgoing_.add({}, ledger::SwarmSetBreaker{swarm.name, ledger::Breaker::closed, 0}, true);
}

void DispatcherCore::watch_breakers(const Moment& moment) {
  for (SlotNumber i = 0; i < swarms_.slots(); ++i) {
    SwarmRecord& swarm = swarms_[i];
    if (!swarm.is_known || swarm.is_changing || swarm.breaker == ledger::Breaker::closed) continue;
    if (swarm.breaker == ledger::Breaker::open && moment.wall < swarm.breaker_until) continue;
    close_swarm_breaker(swarm);
  }
  for (auto& [key, its] : breakers_) {
    if (its.breaker.state() == CrashBreaker::State::closed) continue;
    const auto at = swarm_names_.find(its.swarm);
    if (at == swarm_names_.end()) continue;
    const Duration survived =
        its.breaker.state() == CrashBreaker::State::half_open ? longest_probe(its, moment) : Duration::zero();
    follow_breaker(its, its.breaker.passed(swarms_[at->second].breaker_options, survived, moment.now), 0, moment);
  }
}

// What the router has begun, or ceased, to go around.
void DispatcherCore::tell_router_changes(const Moment& moment) {
  for (const AgentChange& change : router_.take_changes()) {
    using enum AgentChange::Kind;
    const auto view = router_.view(change.agent, moment.now);
    if (!view) continue;
    if (change.kind == breaker_opened || change.kind == suspected) take_back_from_agent(view->id, moment);
    DispatchEvent told;
    told.subject = view->id;
    told.kind = DispatchEvent::Kind::agent_passed_over;
    switch (change.kind) {
      case breaker_opened:
        told.detail = "its tasks failed one after another";
        told.until = wall_at(view->broken_until, moment);
        break;
      case suspected:
        told.detail = "it fails for good what others complete";
        told.until = wall_at(view->broken_until, moment);
        break;
      case poorly:
        told.detail = "its health is poor, so others come first";
        told.until = wall_at(view->poorly_until, moment);
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
    output_.events.push_back(std::move(told));
  }
}

std::vector<PassedOver> DispatcherCore::passed_over_agents(std::string_view id, const Moment& moment) {
  using enum PassedOver::Why;
  std::vector<PassedOver> all;
  for (SlotNumber i = 0; i < agents_.slots(); ++i) {
    const AgentRecord& agent = agents_[i];
    if (!agent.pid || !agent.handle || (!id.empty() && agent.id != id)) continue;
    const auto view = router_.view(*agent.handle, moment.now);
    if (!view) continue;
    const auto add = [&](PassedOver::Why why, Instant until, std::string detail) {
      all.push_back({agent.id, "", why, until == Instant::min() ? 0 : wall_at(until, moment), std::move(detail)});
    };
    if (agent.holds.has(Hold::paused)) add(paused, Instant::min(), "it was paused; 'skein agent resume' lets it go on");
    if (agent.holds.has(Hold::paused_itself)) add(paused_itself, Instant::min(), "it has paused itself");
    if (agent.holds.has(Hold::silent)) add(silent, Instant::min(), "nothing was heard of it");
    if (agent.holds.has(Hold::outcomes_wait))
      add(results_waiting, Instant::min(), "the ledger has not decided its last outcomes yet");
    if (view->held_until > moment.now) add(rate_limited, view->held_until, "it answered that it is rate limited");
    if (view->breaker == BreakerState::open) {
      add(view->is_suspected ? suspected : breaker_open, view->broken_until,
          view->is_suspected ? "it alone fails for good what others complete" : "its tasks failed one after another");
    } else if (view->breaker == BreakerState::half_open && view->readiness == Readiness::not_now &&
               view->load < view->capacity) {
      add(breaker_half_open, Instant::min(), "it is tried out and has as many tasks as that allows");
    }
    if (view->poorly_until > moment.now) {
      add(poorly, view->poorly_until,
          fmt::format("its health is {:.2f}: {:.0f}% of its tasks succeed, and their time counts as {:.0f} ms",
                      view->score, view->success * 100, view->slowness_ms));
    }
    if (!view->has_executor_room && view->load == 0) {
      add(executor_full, Instant::min(), "the executor it shares has as many tasks as its concurrency allows");
    }
  }
  return all;
}

std::vector<PassedOver> DispatcherCore::passed_over_types(const Moment& moment) const {
  std::vector<PassedOver> all;
  for (const auto& [key, its] : breakers_) {
    const auto state = its.breaker.state();
    if (state == CrashBreaker::State::closed) continue;
    const bool is_open = state == CrashBreaker::State::open;
    all.push_back(
        {its.swarm, its.type, is_open ? PassedOver::Why::crashes : PassedOver::Why::crashes_tried,
         wall_at(is_open ? its.breaker.until() : its.breaker.next_probe(), moment),
         is_open ? "agents crashed over one task after another" : "tasks are tried one by one after the crashes"});
  }
  std::ranges::sort(all, {}, [](const PassedOver& each) { return std::pair(each.subject, each.type); });
  return all;
}

double DispatcherCore::charge(const TaskRecord& task, std::uint32_t group) {
  // With one swarm there is nobody to share with.
  if (group == 0 || swarms_.size() < 2) return 0;
  Run& run = runs_[task.run];
  const auto usual = router_.usual_run(type_of(task));
  run.share_group = group;
  run.share_swarm = task.swarm;
  run.charged = usual ? std::chrono::duration<double>(*usual).count() : k_first_cost_s;
  return run.charged / swarms_[task.swarm].weight;
}

void DispatcherCore::correct_place_cost(Run& run, const Moment& moment) {
  const std::uint32_t group = std::exchange(run.share_group, 0);
  if (group == 0) return;
  const bool has_worked = run.is_started() || (run.is_open() && !agents_[run.agent].reports_starts);
  const double took = has_worked ? std::chrono::duration<double>(between(run.since, moment.now)).count() : 0;
  queue_.corrected(group, run.share_swarm, (took - run.charged) / swarms_[run.share_swarm].weight);
}

}  // namespace skein::inline v0::dispatch
