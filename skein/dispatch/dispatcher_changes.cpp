// What the ledger decided, and what follows from it.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "skein/dispatch/dispatcher_append.hpp"
#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/ledger/fallback.hpp"
#include "skein/ledger/swarm_fields.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr std::string_view k_field_strategy = "strategy";
constexpr std::uint64_t k_field_number_max = 1'000'000'000;

// A field that is a whole number above zero; nothing for any other.
std::optional<std::uint64_t> number_in(const ledger::Swarm& swarm, std::string_view field) {
  const auto text = swarm.field(field);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value == 0 || value > k_field_number_max ? std::nullopt : std::optional(value);
}

constexpr std::size_t k_ahead = 6;
constexpr std::uint64_t k_waits_for_state = UINT64_MAX;

}  // namespace

void DispatcherCore::on_state(ledger::Epoch epoch, const StateView& state, const Moment& moment) {
  if (has_state_) ++counters_.resyncs;
  for (SlotNumber i = 0; i < runs_.slots(); ++i) {
    if (runs_[i].agent != k_no_slot) release(runs_[i], std::nullopt, moment);
  }
  runs_.clear();
  tasks_.clear();
  by_number_.clear();
  queue_.clear();
  due_.clear();
  ageing_.clear();
  swarms_.clear();
  swarm_names_.clear();
  // What crashes have shown is of agents and types and holds on; what was given out to try them is found anew.
  breakers_.forget_probes();
  requeued_.clear();
  outgoing_.drop_queued();
  for (SlotNumber i = 0; i < agents_.slots(); ++i) {
    agents_[i].runs.clear();
    agents_[i].unsettled = 0;
    agents_[i].holds.set(Hold::outcomes_wait, false);
  }
  epoch_ = epoch;
  ledger_version_ = state.version;
  last_fence_ = state.last_fence;
  keys_ = state.keys;
  has_state_ = true;
  if (state.epoch != epoch) depose("another node");
  for (const auto& swarm : state.swarms) take_swarm(swarm);
  paused_.clear();
  for (const auto& agent : state.agents) {
    if (is_paused(agent)) paused_.insert(agent.name);
  }
  for (const auto& task : state.open_tasks) {
    const SlotNumber slot = record_for(task);
    fill(slot, task, moment);
    if (task.state == ledger::State::queued) {
      queue_task(slot, task, moment);
    } else if (ledger::is_running(task.state)) {
      adopt(slot, ledger::view_of(task.agent), task.fence, task.state == ledger::State::executing, moment);
    } else {
      tasks_[slot].become(TaskPhase::blocked);
      set_due(slot);
    }
  }
  for (SlotNumber i = 0; i < agents_.slots(); ++i) {
    AgentRecord& agent = agents_[i];
    if (agent.id.empty()) continue;
    if (agent.pid) {
      set_hold(agent, Hold::paused, paused_.contains(agent.id), moment);
      // Announced to a dispatcher that knew nothing yet; or to this one before it started afresh, then heartbeats tell.
      if (agent.state == AgentState::announced) {
        agent.become(AgentState::here);
        const auto held = agent.mail ? std::exchange(agent.mail->held, {}) : std::vector<TaskRef>{};
        match_announced(i, held, moment);
      }
    }
    forget_if_idle(i);
  }
  next_tick_ = moment.now;
  may_be_met_ = true;
}

void DispatcherCore::adopt(SlotNumber slot, std::string_view agent_id, ledger::Fence fence, bool is_started,
                           const Moment& moment) {
  const SlotNumber agent = agent_named(agent_id);
  const SlotNumber index = add_run(slot, agent);
  Run& run = runs_[index];
  run.ref.fence = fence;
  run.become(is_started ? RunState::started : RunState::held);
  run.since = moment.now;
  run.lease_until = fence <= options_.dead_fence ? moment.now : later(moment.now, options_.lease);
  set_timeout(run);
  if (agents_[agent].handle) {
    auto ticket = router_.adopted(*agents_[agent].handle, moment.now, type_of(tasks_[slot]));
    if (ticket) run.ticket = std::move(*ticket);
  }
  tasks_[slot].become(TaskPhase::running);
  set_due(slot);
}

// The number of the executor that its agents share with others, or the one of agents that belong to no swarm; 0: its
// agents and their executor are its own.
std::uint32_t DispatcherCore::share_group_of(const ledger::Swarm& swarm) const {
  const auto executor = swarm.field(k_field_executor);
  if (!executor || executor->empty()) return static_cast<std::uint32_t>(options_.executors.size()) + 1;
  const auto at = std::ranges::find(options_.executors, *executor, [](const auto& each) { return each.first; });
  return at == options_.executors.end() ? 0 : static_cast<std::uint32_t>(at - options_.executors.begin()) + 1;
}

void DispatcherCore::take_swarm(const ledger::Swarm& swarm) {
  const SlotNumber slot = swarm_slot(swarm.name);
  SwarmRecord& record = swarms_[slot];
  record.is_known = true;
  record.state = swarm.state;
  record.breaker = swarm.breaker;
  record.breaker_until = swarm.breaker_until;
  record.is_changing = false;
  const auto strategy = swarm.field(k_field_strategy);
  record.strategy = strategy ? balance_named(*strategy).value_or(options_.strategy) : options_.strategy;
  std::string own_agents = has_own_agents(swarm) ? swarm_capability(swarm.name) : std::string();
  // The lanes of its tasks are made with what only its agents have, and with whom they share it: all of them anew.
  const std::uint32_t group = share_group_of(swarm);
  const bool needs_other_lanes = own_agents != record.own_agents || group != record.share_group;
  if (needs_other_lanes && queue_.tasks_of(slot) > 0) state_needed_ = true;
  if (needs_other_lanes) queue_.forget_idle();
  record.own_agents = std::move(own_agents);
  record.share_group = group;
  record.fallback = swarm.field(ledger::k_field_fallback).value_or("");
  const auto open_ms = number_in(swarm, k_field_breaker_open_ms);
  record.breaker_options = {.crashes = static_cast<std::uint32_t>(
                                number_in(swarm, k_field_breaker_crashes).value_or(options_.breaker_crashes)),
                            .warning = options_.breaker_warning,
                            .window = options_.breaker_window,
                            .open = open_ms ? std::chrono::milliseconds(*open_ms) : options_.breaker_open,
                            .half_open_tasks = options_.half_open_tasks,
                            .half_open_interval = options_.half_open_interval};
  record.weight = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(number_in(swarm, k_field_weight).value_or(1), ledger::k_swarm_weight_max));
  record.latest = swarm;
}

// How many tasks of the swarm wait at the agent behind another one.
std::uint32_t DispatcherCore::ahead_at(const AgentRecord& agent, SlotNumber swarm) const {
  std::uint32_t held = 0;
  std::uint32_t waiting = 0;
  for (const SlotNumber index : agent.runs) {
    const Run& run = runs_[index];
    if (run.is_reported()) continue;
    ++held;
    if (run.task != k_no_slot && !run.is_started() && tasks_[run.task].swarm == swarm) ++waiting;
  }
  return held == 0 ? 0 : std::min(held - 1, waiting);
}

std::optional<SwarmLoad> DispatcherCore::swarm_load(std::string_view name) const {
  const auto at = swarm_names_.find(name);
  if (at == swarm_names_.end() || !swarms_[at->second].is_known) return std::nullopt;
  const SwarmRecord& record = swarms_[at->second];
  SwarmLoad load;
  load.swarm = record.latest;
  load.ready = queue_.ready_of(at->second);
  load.tasks = queue_.tasks_of(at->second);
  for (const auto& [key, its] : breakers_) {
    if (its.swarm == name) load.crashes = std::max(load.crashes, static_cast<std::uint32_t>(its.breaker.crashes()));
  }
  // Also when it has lost its executor: they are still there.
  const std::string own = swarm_capability(name);
  for (SlotNumber i = 0; i < agents_.slots(); ++i) {
    const AgentRecord& agent = agents_[i];
    if (!agent.pid || !agent.has(own)) continue;
    load.agents.push_back({agent.id, agent.pid, static_cast<std::uint32_t>(agent.runs.size()),
                           agent.holds.has(Hold::paused), ahead_at(agent, at->second), agent.capabilities,
                           agent.is_kept});
    load.running += agent.runs.size();
  }
  if (record.own_agents.empty()) return load;
  for (const ReadyQueue::Lane& lane : queue_.lanes()) {
    if (!lane.in_use || lane.swarm != at->second || lane.ready == 0 || load.needs.size() == k_needs_told) continue;
    // Another agent would be of no use to them.
    if (!queue_.need(lane.need).pinned_to.empty()) continue;
    const auto& capabilities = queue_.need(lane.need).capabilities;
    const auto known = std::ranges::find(load.needs, capabilities, &SwarmLoad::Need::capabilities);
    if (known != load.needs.end()) {
      known->ready += lane.ready;
    } else {
      load.needs.push_back({capabilities, lane.ready});
    }
  }
  return load;
}

void DispatcherCore::on_changes(const ledger::ChangeBatch& batch, const Moment& moment) {
  // Records of tasks are seldom in the cache; those of the next changes are fetched while this one is looked at.
  for (std::size_t i = 0; i < batch.changes.size(); ++i) {
    if (i + k_ahead < batch.changes.size()) fetch_record(batch.changes[i + k_ahead]);
    std::visit([&](const auto& each) { on(each, moment); }, batch.changes[i]);
  }
}

void DispatcherCore::fetch_record(const ledger::Change& change) const {
  SlotNumber slot = k_no_slot;
  if (const auto* finished = std::get_if<ledger::TaskFinished>(&change)) {
    slot = by_number_.find(finished->finished->task.number);
  } else if (const auto* assigned = std::get_if<ledger::TaskAssigned>(&change)) {
    slot = by_number_.find(assigned->number);
  }
  if (slot != k_no_slot) tasks_.prefetch(slot);
}

void DispatcherCore::on(const ledger::TaskQueued& change, const Moment& moment) {
  const SlotNumber slot = record_for(change.task);
  if (tasks_[slot].phase == TaskPhase::assigning && runs_[tasks_[slot].run].ref.fence == 0 &&
      change.why == ledger::TaskQueued::Why::requeued) {
    // Its assign is in the same append.
    fill(slot, change.task, moment);
    return;
  }
  if (tasks_[slot].number != 0) {
    leave_queue(slot);
    if (const SlotNumber run = tasks_[slot].run; run != k_no_slot) {
      if (runs_[run].is_reported()) {
        settled(run, moment);
      } else {
        detach(run, StopReason::stale, moment);
      }
    }
    if (change.why == ledger::TaskQueued::Why::handed_on) {
      const ledger::Hop& hop = change.task.more().hops.back();
      ++counters_.handed_on;
      event(DispatchEvent::Kind::handed_on, hop.swarm, change.task.number,
            fmt::format("to swarm '{}' after {} failed attempts", change.task.shape->swarm, hop.attempts));
    } else if (change.why == ledger::TaskQueued::Why::unpinned) {
      ++counters_.unpinned;
      event(DispatchEvent::Kind::unpinned, change.task.more().where().agent, change.task.number,
            "did not take its task in time; any agent may have it");
    }
  } else if (!change.task.more().key.empty()) {
    ++keys_;
  }
  fill(slot, change.task, moment);
  queue_task(slot, change.task, moment);
}

void DispatcherCore::on(const ledger::TaskBlocked& change, const Moment& moment) {
  if (!change.task.more().key.empty()) ++keys_;
  const SlotNumber slot = record_for(change.task);
  fill(slot, change.task, moment);
  tasks_[slot].become(TaskPhase::blocked);
  set_due(slot);
}

void DispatcherCore::on(const ledger::TaskAssigned& change, const Moment& moment) {
  last_fence_ = std::max(last_fence_, change.fence);
  const SlotNumber slot = by_number_.find(change.number);
  if (slot == k_no_slot) {
    state_needed_ = true;
    return;
  }
  TaskRecord& task = tasks_[slot];
  task.batch = 0;
  task.fence = change.fence;
  if (task.phase != TaskPhase::assigning || agents_[runs_[task.run].agent].id != ledger::view_of(change.agent)) {
    // Decided by an append of before a fresh start.
    leave_queue(slot);
    if (task.run != k_no_slot) end_run(task.run, moment);
    adopt(slot, ledger::view_of(change.agent), change.fence, false, moment);
    const SlotNumber agent = runs_[tasks_[slot].run].agent;
    if (agents_[agent].pid) mail_to(agent).run.push_back(order_for(runs_[tasks_[slot].run]));
    return;
  }
  runs_[task.run].ref.fence = change.fence;
  task.become(TaskPhase::running);
  if (!agents_[runs_[task.run].agent].pid) {
    // It left before it could get the task.
    requeue(task.run, ledger::RequeueReason::handed_back, moment);
    return;
  }
  deliver(task.run, moment);
}

void DispatcherCore::on(const ledger::TaskProgressed& change, const Moment&) {
  const SlotNumber slot = by_number_.find(change.number);
  if (slot != k_no_slot) tasks_[slot].its_past().mark = change.mark;
}

void DispatcherCore::on(const ledger::TaskFinished& change, const Moment& moment) {
  const ledger::Task& ended = change.finished->task;
  const SlotNumber slot = by_number_.find(ended.number);
  if (slot == k_no_slot) {
    // It never waited: a dependency had failed when it was submitted. Its key is kept all the same.
    if (!ended.more().key.empty()) ++keys_;
    return;
  }
  TaskRecord& task = tasks_[slot];
  const bool is_completed = ended.state == ledger::State::completed;
  if (is_completed) {
    ++counters_.completed;
    if (!breakers_.empty()) count_completion(task, moment);
  }
  if (task.past && task.past->retry) router_.retried(*task.past->retry, is_completed);
  if (const SlotNumber run = task.run; run != k_no_slot) {
    if (runs_[run].is_reported()) {
      settled(run, moment);
    } else {
      detach(run, StopReason::cancelled, moment);
    }
  }
  forget(slot);
}

void DispatcherCore::on(const ledger::TaskAged& change, const Moment&) {
  const SlotNumber slot = by_number_.find(change.number);
  if (slot == k_no_slot) return;
  TaskRecord& task = tasks_[slot];
  ++counters_.aged;
  if (task.phase != TaskPhase::ready) {
    task.effective_priority = change.effective_priority;
    return;
  }
  task.effective_priority = change.effective_priority;
  queue_.push(task.lane, {task.order, slot, task.effective_priority});
  queue_.dropped(task.lane);
}

void DispatcherCore::on(const ledger::SwarmChanged& change, const Moment& moment) {
  const SlotNumber slot = swarm_slot(change.swarm.name);
  const bool gave_out = swarms_[slot].gives_out();
  take_swarm(change.swarm);
  if (gave_out && !swarms_[slot].gives_out()) take_back_from_swarm(slot, {}, moment);
}

void DispatcherCore::on(const ledger::AgentChanged& change, const Moment& moment) {
  set_paused(change.agent.name, is_paused(change.agent), moment);
}

void DispatcherCore::on(const ledger::AgentRemoved& change, const Moment& moment) {
  set_paused(change.name, false, moment);
}

void DispatcherCore::on(const ledger::SwarmRemoved& change, const Moment&) {
  const auto at = swarm_names_.find(change.name);
  if (at == swarm_names_.end()) return;
  // It has no open tasks, so no lane of it is held.
  queue_.forget_idle();
  breakers_.forget_swarm(change.name);
  swarms_.remove(at->second);
  swarm_names_.erase(at);
}

void DispatcherCore::on(const ledger::DispatchTaken& change, const Moment&) {
  if (change.epoch > epoch_) depose(change.node);
}

void DispatcherCore::on(const ledger::VersionChanged& change, const Moment&) { ledger_version_ = change.version; }

void DispatcherCore::on(const ledger::KeysEvicted& change, const Moment&) { keys_ -= std::min(keys_, change.count); }

void DispatcherCore::on_applied(std::uint64_t append, std::span<const std::string> answers, const Moment& moment) {
  const std::vector<OpRef> refs = outgoing_.answered(append);
  if (!is_deposed_) {
    for (const OpRef& ref : refs) {
      if (ref.kind == OpKind::progress) mark_applied(ref, moment);
    }
  }
  const auto is_left = [&](const OpRef& ref) {
    return ref.slot < tasks_.slots() && tasks_[ref.slot].number == ref.number && tasks_[ref.slot].batch == append;
  };
  if (is_deposed_ || std::none_of(refs.begin(), refs.end(), is_left)) return;
  // Whoever is left was refused. An answer that is not remembered any more leaves only a look at the state.
  std::vector<ledger::OpResult> results;
  for (const auto& answer : answers) {
    const auto decoded = ledger::decode_results(answer);
    if (decoded) results.insert(results.end(), decoded->begin(), decoded->end());
  }
  if (results.size() != refs.size()) {
    state_needed_ = true;
    return;
  }
  for (std::size_t i = 0; i < refs.size(); ++i) {
    // One that was done may be left because the assign that followed it was not.
    if (!is_left(refs[i]) || !results[i].refused()) continue;
    ++counters_.refused_ops;
    tasks_[refs[i].slot].batch = 0;
    refused(refs[i], results[i], moment);
    if (is_deposed_) return;
  }
}

void DispatcherCore::refused(const OpRef& ref, const ledger::OpResult& result, const Moment& moment) {
  TaskRecord& task = tasks_[ref.slot];
  if (result.verdict == ledger::Verdict::stale_epoch) {
    depose("another node");
    return;
  }
  if (ref.kind == OpKind::assign && result.verdict == ledger::Verdict::swarm_closed) {
    end_run(task.run, moment);
    make_ready(ref.slot, moment);
    return;
  }
  const bool is_bad_name = result.verdict == ledger::Verdict::malformed || result.verdict == ledger::Verdict::too_large;
  if (ref.kind == OpKind::assign && is_bad_name) {
    // The ledger takes no such name of an agent; it must not be asked again and again.
    const SlotNumber agent = runs_[task.run].agent;
    event(DispatchEvent::Kind::agent_refused, agents_[agent].id, 0,
          result.verdict == ledger::Verdict::too_large
              ? fmt::format("its name is longer than the ledger's name_bytes, {}", result.number)
              : "the ledger refuses its name");
    set_hold(agents_[agent], Hold::refused, true, moment);
    end_run(task.run, moment);
    make_ready(ref.slot, moment);
    return;
  }
  if (ref.kind == OpKind::complete && result.verdict == ledger::Verdict::too_large) {
    fail_attempt(task.run, ledger::ErrorClass::permanent, "its result is larger than the ledger takes", std::nullopt,
                 true, moment);
    return;
  }
  // The ledger knows better. The task stays as it is until the fresh start, which comes soon.
  task.batch = k_waits_for_state;
  task.become(TaskPhase::ending);
  set_due(ref.slot);
  state_needed_ = true;
}

}  // namespace skein::inline v0::dispatch
