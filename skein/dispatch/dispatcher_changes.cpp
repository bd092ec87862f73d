// What the ledger decided, and what follows from it.
#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/dispatch/swarm_rules.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr std::size_t k_ahead = 6;
constexpr std::uint64_t k_waits_for_state = UINT64_MAX;

void fetch_record(const DispatcherTables& tables, const ledger::Change& change) {
  SlotNumber slot = k_no_slot;
  if (const auto* finished = std::get_if<ledger::TaskFinished>(&change)) {
    slot = tables.by_number.find(finished->finished->task.number);
  } else if (const auto* assigned = std::get_if<ledger::TaskAssigned>(&change)) {
    slot = tables.by_number.find(assigned->number);
  }
  if (slot != k_no_slot) tables.tasks.prefetch(slot);
}

}  // namespace

void DispatcherCore::on_state(ledger::Epoch epoch, const StateView& state, const Moment& moment) {
  if (has_state_) ++counters_.resyncs;
  for (SlotNumber i = 0; i < tables_.runs.slots(); ++i) {
    if (tables_.runs[i].agent != k_no_slot) release(tables_.runs[i], std::nullopt, moment);
  }
  tables_.forget_all_tasks();
  queue_.clear();
  due_.clear();
  ageing_.clear();
  // Crashes count against agents and types and stay counted; which runs are probes is determined again.
  breakers_.forget_probes();
  requeued_.clear();
  outgoing_.drop_queued();
  for (SlotNumber i = 0; i < tables_.agents.slots(); ++i) {
    tables_.agents[i].unsettled = 0;
    tables_.agents[i].holds.set(Hold::outcomes_wait, false);
  }
  epoch_ = epoch;
  fallback_.set_version(state.version);
  last_fence_ = state.last_fence;
  keys_.set_keys(state.keys);
  has_state_ = true;
  if (state.epoch != epoch) depose("another node");
  for (const auto& swarm : state.swarms) take_swarm(swarm);
  paused_.clear();
  for (const auto& agent : state.agents) {
    if (is_paused(agent)) paused_.insert(agent.name);
  }
  for (const auto& task : state.open_tasks) {
    const SlotNumber slot = tables_.task_numbered(task.number);
    fill(slot, task, moment);
    if (task.state == ledger::State::queued) {
      queue_task(slot, task, moment);
    } else if (ledger::is_running(task.state)) {
      adopt(slot, ledger::view_of(task.agent), task.fence, task.state == ledger::State::executing, moment);
    } else {
      tables_.tasks[slot].become(TaskPhase::blocked);
      set_due(slot);
    }
  }
  for (SlotNumber i = 0; i < tables_.agents.slots(); ++i) {
    AgentRecord& agent = tables_.agents[i];
    if (agent.name.empty()) continue;
    if (agent.pid) {
      set_hold(agent, Hold::paused, paused_.contains(agent.name), moment);
      // Announced to a dispatcher that knew nothing yet; or to this one before it started afresh, then heartbeats tell.
      if (agent.state == AgentPresence::announced) {
        agent.become(AgentPresence::here);
        const auto held = agent.mail ? std::exchange(agent.mail->held, {}) : std::vector<TaskRef>{};
        match_announced(i, held, moment);
      }
    }
    tables_.forget_if_idle(i);
  }
  next_tick_ = moment.now;
  may_be_met_ = true;
}

void DispatcherCore::adopt(SlotNumber slot, std::string_view agent_id, ledger::Fence fence, bool is_started,
                           const Moment& moment) {
  const SlotNumber agent = tables_.agent_named(agent_id);
  const SlotNumber index = tables_.add_run(slot, agent);
  Run& run = tables_.runs[index];
  run.ref.fence = fence;
  run.become(is_started ? RunState::started : RunState::held);
  run.since = moment.now;
  run.lease_until = fence <= options_.dead_fence ? moment.now : later(moment.now, options_.lease);
  timeouts_.set(run, tables_.tasks[slot], tables_.agents[agent]);
  if (tables_.agents[agent].handle) {
    auto ticket = router_.adopted(*tables_.agents[agent].handle, moment.now, lanes_.type_of(tables_.tasks[slot]));
    if (ticket) run.ticket = std::move(*ticket);
  }
  tables_.tasks[slot].become(TaskPhase::running);
  set_due(slot);
}

void DispatcherCore::take_swarm(const ledger::Swarm& swarm) {
  const SlotNumber slot = tables_.swarm_named(swarm.name, options_.strategy);
  SwarmRecord& record = tables_.swarms[slot];
  const std::string own_agents = record.own_agents;
  const std::uint32_t group = record.share_group;
  read_swarm(record, swarm, options_);
  // The lanes of its tasks are made with what only its agents have, and with whom they share it: all of them anew.
  if (own_agents == record.own_agents && group == record.share_group) return;
  if (queue_.tasks_of(slot) > 0) state_needed_ = true;
  queue_.forget_idle();
}

void DispatcherCore::on_changes(const ledger::ChangeBatch& batch, const Moment& moment) {
  // Records of tasks are rarely in the cache; those of the next changes are fetched while this one is looked at.
  for (std::size_t i = 0; i < batch.changes.size(); ++i) {
    if (i + k_ahead < batch.changes.size()) fetch_record(tables_, batch.changes[i + k_ahead]);
    const ledger::Change& change = batch.changes[i];
    if (const auto* queued = std::get_if<ledger::TaskQueued>(&change)) {
      task_queued(*queued, moment);
    } else if (const auto* assigned = std::get_if<ledger::TaskAssigned>(&change)) {
      task_assigned(*assigned, moment);
    } else if (const auto* finished = std::get_if<ledger::TaskFinished>(&change)) {
      task_finished(*finished, moment);
    } else {
      rarer_change(change, moment);
    }
  }
}

void DispatcherCore::task_queued(const ledger::TaskQueued& change, const Moment& moment) {
  const SlotNumber slot = tables_.task_numbered(change.task.number);
  if (tables_.tasks[slot].phase == TaskPhase::assigning && tables_.runs[tables_.tasks[slot].run].ref.fence == 0 &&
      change.why == ledger::TaskQueued::Why::requeued) {
    // Its assign is in the same append.
    fill(slot, change.task, moment);
    return;
  }
  if (tables_.tasks[slot].number != 0) {
    leave_queue(slot);
    if (const SlotNumber run = tables_.tasks[slot].run; run != k_no_slot) {
      if (tables_.runs[run].is_reported()) {
        settled(run, moment);
      } else {
        detach(run, StopReason::stale, moment);
      }
    }
    if (change.why == ledger::TaskQueued::Why::fell_back) {
      const ledger::FallbackStep& step = change.task.more().fallbacks.back();
      ++counters_.fell_back;
      output_.tell(DispatchEvent::Kind::fell_back, step.swarm, change.task.number,
                   fmt::format("to swarm '{}' after {} failed attempts", change.task.shape->swarm, step.attempts));
    } else if (change.why == ledger::TaskQueued::Why::unpinned) {
      ++counters_.unpinned;
      output_.tell(DispatchEvent::Kind::unpinned, change.task.more().where().agent, change.task.number,
                   "did not take its task in time; any agent may have it");
    }
  } else if (!change.task.more().key.empty()) {
    keys_.added();
  }
  fill(slot, change.task, moment);
  queue_task(slot, change.task, moment);
}

void DispatcherCore::task_assigned(const ledger::TaskAssigned& change, const Moment& moment) {
  last_fence_ = std::max(last_fence_, change.fence);
  const SlotNumber slot = tables_.by_number.find(change.number);
  if (slot == k_no_slot) {
    state_needed_ = true;
    return;
  }
  TaskRecord& task = tables_.tasks[slot];
  task.batch = 0;
  task.fence = change.fence;
  if (task.phase != TaskPhase::assigning ||
      tables_.agents[tables_.runs[task.run].agent].name != ledger::view_of(change.agent)) {
    // Decided by an append of before a fresh start.
    leave_queue(slot);
    if (task.run != k_no_slot) end_run(task.run, moment);
    adopt(slot, ledger::view_of(change.agent), change.fence, false, moment);
    const SlotNumber agent = tables_.runs[tables_.tasks[slot].run].agent;
    if (!tables_.agents[agent].pid) return;
    const Duration timeout = timeouts_.of(task, tables_.agents[agent]);
    mail_.to(agent).run.push_back(order_for(tables_.runs[task.run], task, timeout));
    return;
  }
  tables_.runs[task.run].ref.fence = change.fence;
  task.become(TaskPhase::running);
  if (!tables_.agents[tables_.runs[task.run].agent].pid) {
    // It left before it could get the task.
    requeue(task.run, ledger::RequeueReason::returned, moment);
    return;
  }
  deliver(task.run, moment);
}

void DispatcherCore::task_finished(const ledger::TaskFinished& change, const Moment& moment) {
  const ledger::Task& ended = change.finished->task;
  const SlotNumber slot = tables_.by_number.find(ended.number);
  if (slot == k_no_slot) {
    // It never waited: a dependency had failed when it was submitted. Its key is still kept.
    if (!ended.more().key.empty()) keys_.added();
    return;
  }
  TaskRecord& task = tables_.tasks[slot];
  const bool is_completed = ended.state == ledger::State::completed;
  if (is_completed) {
    ++counters_.completed;
    count_completion(task, moment);
  }
  if (task.past && task.past->retry) router_.retried(*task.past->retry, is_completed);
  if (const SlotNumber run = task.run; run != k_no_slot) {
    if (tables_.runs[run].is_reported()) {
      settled(run, moment);
    } else {
      detach(run, StopReason::cancelled, moment);
    }
  }
  forget(slot);
}

void DispatcherCore::rarer_change(const ledger::Change& change, const Moment& moment) {
  if (const auto* blocked = std::get_if<ledger::TaskBlocked>(&change)) {
    if (!blocked->task.more().key.empty()) keys_.added();
    const SlotNumber slot = tables_.task_numbered(blocked->task.number);
    fill(slot, blocked->task, moment);
    tables_.tasks[slot].become(TaskPhase::blocked);
    set_due(slot);
  } else if (const auto* progressed = std::get_if<ledger::TaskProgressed>(&change)) {
    const SlotNumber slot = tables_.by_number.find(progressed->number);
    if (slot != k_no_slot) tables_.tasks[slot].its_past().mark = progressed->mark;
  } else if (const auto* aged = std::get_if<ledger::TaskAged>(&change)) {
    const SlotNumber slot = tables_.by_number.find(aged->number);
    if (slot == k_no_slot) return;
    ++counters_.aged;
    TaskRecord& task = tables_.tasks[slot];
    task.effective_priority = aged->effective_priority;
    if (task.phase != TaskPhase::ready) return;
    queue_.push(task.lane, {task.order, slot, task.effective_priority});
    queue_.dropped(task.lane);
  } else if (const auto* swarm = std::get_if<ledger::SwarmChanged>(&change)) {
    const SlotNumber slot = tables_.swarm_named(swarm->swarm.name, options_.strategy);
    const bool gave_out = tables_.swarms[slot].gives_out();
    take_swarm(swarm->swarm);
    if (gave_out && !tables_.swarms[slot].gives_out())
      mail_.ask_to_return(returning_.of_swarm(slot, {}, moment.now), moment.now);
  } else if (const auto* removed = std::get_if<ledger::SwarmRemoved>(&change)) {
    const SlotNumber slot = tables_.find_swarm(removed->name);
    if (slot == k_no_slot) return;
    // It has no open tasks, so no lane of it is held.
    queue_.forget_idle();
    breakers_.forget_swarm(removed->name);
    tables_.swarms.remove(slot);
    tables_.swarm_names.erase(removed->name);
  } else if (const auto* agent = std::get_if<ledger::AgentChanged>(&change)) {
    set_paused(agent->agent.name, is_paused(agent->agent), moment);
  } else if (const auto* gone = std::get_if<ledger::AgentRemoved>(&change)) {
    set_paused(gone->name, false, moment);
  } else if (const auto* taken = std::get_if<ledger::DispatchTaken>(&change)) {
    if (taken->epoch > epoch_) depose(taken->node);
  } else if (const auto* version = std::get_if<ledger::VersionChanged>(&change)) {
    fallback_.set_version(version->version);
  } else if (const auto* evicted = std::get_if<ledger::KeysEvicted>(&change)) {
    keys_.evicted(evicted->count);
  }
}

void DispatcherCore::on_applied(std::uint64_t append, std::span<const std::string> answers, const Moment& moment) {
  const std::vector<OpRef> refs = outgoing_.answered(append);
  if (!is_deposed_) {
    for (const OpRef& ref : refs) {
      if (ref.kind == OpKind::progress) marks_.applied(ref.number, moment);
    }
  }
  const auto is_left = [&](const OpRef& ref) {
    return ref.slot < tables_.tasks.slots() && tables_.tasks[ref.slot].number == ref.number &&
           tables_.tasks[ref.slot].batch == append;
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
    tables_.tasks[refs[i].slot].batch = 0;
    refused(refs[i], results[i], moment);
    if (is_deposed_) return;
  }
}

void DispatcherCore::refused(const OpRef& ref, const ledger::OpResult& result, const Moment& moment) {
  TaskRecord& task = tables_.tasks[ref.slot];
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
    const SlotNumber agent = tables_.runs[task.run].agent;
    output_.tell(DispatchEvent::Kind::agent_refused, tables_.agents[agent].name, 0,
                 result.verdict == ledger::Verdict::too_large
                     ? fmt::format("its name is longer than the ledger's name_bytes, {}", result.number)
                     : "the ledger refuses its name");
    set_hold(tables_.agents[agent], Hold::refused, true, moment);
    end_run(task.run, moment);
    make_ready(ref.slot, moment);
    return;
  }
  if (ref.kind == OpKind::complete && result.verdict == ledger::Verdict::too_large) {
    fail_attempt(task.run, ledger::ErrorClass::permanent, "its result is larger than the ledger takes", std::nullopt,
                 true, moment);
    return;
  }
  // The ledger knows better. The task is left unchanged until the fresh start, which comes soon.
  task.batch = k_waits_for_state;
  task.become(TaskPhase::ending);
  set_due(ref.slot);
  state_needed_ = true;
}

}  // namespace skein::inline v0::dispatch
