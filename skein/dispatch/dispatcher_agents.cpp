// Agents: which are there, what they say, and what follows from it.
#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "skein/base/utf8.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {

// There may be a million of them.
static_assert(sizeof(AgentRecord) <= 304);

namespace {

// The agent names an assignment that is none of its own (any more).
void not_held(DispatcherTables& tables, OrderMail& mail, SlotNumber agent, TaskRef ref) {
  // It may have been told already, but messages get lost.
  mail.to(agent).stop.push_back({ref, StopReason::stale});
  if (const SlotNumber run = tables.run_at(agent, ref); run != k_no_slot) tables.runs[run].is_listed = true;
}

// All that should run at the agent.
void send_all(const DispatcherTables& tables, OrderMail& mail, AttemptTimeouts& timeouts, SlotNumber agent) {
  Orders& out = mail.to(agent);
  out.full = true;
  out.run.clear();
  for (const SlotNumber index : tables.agents[agent].runs) {
    const Run& run = tables.runs[index];
    if (run.is_abandoned() || !run.is_at_agent()) continue;
    const TaskRecord& task = tables.tasks[run.task];
    out.run.push_back(order_for(run, task, timeouts.of(task, tables.agents[agent])));
  }
}

}  // namespace

SlotNumber DispatcherCore::agent_of(Pid pid, const Moment& moment) {
  const SlotNumber slot = tables_.agent_with(pid);
  if (slot == k_no_slot) return k_no_slot;
  AgentRecord& agent = tables_.agents[slot];
  agent.heard_at = moment.now;
  if (agent.holds.has(Hold::silent)) set_hold(agent, Hold::silent, false, moment);
  return slot;
}

void DispatcherCore::update_readiness(AgentRecord& agent, const Moment& moment) {
  if (!agent.handle) return;
  // Refused only for one that left, and such a one has no handle.
  const auto done = router_.set_paused(*agent.handle, agent.holds.any(), moment.now);
  assert(done);
  static_cast<void>(done);
  may_be_met_ = true;
}

void DispatcherCore::set_hold(AgentRecord& agent, Hold hold, bool is_held, const Moment& moment) {
  agent.holds.set(hold, is_held);
  update_readiness(agent, moment);
}

void DispatcherCore::set_paused(const std::string& id, bool is_paused, const Moment& moment) {
  if (is_paused) {
    paused_.insert(id);
  } else {
    paused_.erase(id);
  }
  const auto slot = tables_.find_agent(id);
  if (!slot || !tables_.agents[*slot].pid) return;
  set_hold(tables_.agents[*slot], Hold::paused, is_paused, moment);
}

void DispatcherCore::on_ready(Pid from, AgentReady ready, const Moment& moment) {
  if (ready.name.empty() || ready.held.size() > k_held_max) {
    output_.tell(DispatchEvent::Kind::agent_refused, ready.name, 0,
                 "it has no name, or holds more than k_held_max tasks");
    turned_away_.add(from);
    return;
  }
  const SlotNumber other = tables_.agent_with(from);
  if (other != k_no_slot && tables_.agents[other].name != ready.name) on_down(from, true, moment);
  if (tables_.agent_pids.size() >= options_.agents_max && !tables_.agent_pids.contains(from)) {
    output_.tell(DispatchEvent::Kind::agent_refused, ready.name, 0,
                 "agents_max agents are there; raise it or stop some");
    return;
  }
  const SlotNumber slot = tables_.agent_named(ready.name);
  AgentRecord& agent = tables_.agents[slot];
  if (agent.pid != from) {
    if (agent.pid) {
      // The same name from another process: the newer one counts.
      output_.unwatch.push_back(agent.pid);
      tables_.agent_pids.erase(agent.pid);
      turned_away_.add(agent.pid);
      Orders nothing;
      nothing.full = true;
      nothing.sequence = ++agent.sequence;
      output_.mail.emplace_back(agent.pid, std::move(nothing));
    }
    agent.pid = from;
    if (agent.mail) agent.mail->out = Orders{};
    tables_.agent_pids[from] = slot;
    output_.watch.push_back(from);
  }
  agent.become(has_state_ ? AgentPresence::here : AgentPresence::announced);
  // It counts the orders afresh with each announcement.
  agent.sequence = 0;
  agent.heard_at = moment.now;
  agent.heartbeats.emplace(judge_);
  agent.heartbeats->heartbeat(moment.now);
  // Else a pause of this dispatcher before its first tick would be held against the agent.
  agent.heartbeats->asked(moment.now);
  join(slot, ready, moment);
}

void DispatcherCore::join(SlotNumber slot, AgentReady& ready, const Moment& moment) {
  AgentRecord& agent = tables_.agents[slot];
  const std::uint32_t capacity =
      std::clamp<std::uint32_t>(ready.capacity, 1, std::min(k_agent_capacity_max, Router::k_capacity_max));
  auto sorted = ready.capabilities;
  std::sort(sorted.begin(), sorted.end());
  agent.capabilities = capabilities_.keep(std::move(sorted));
  agent.role = ready.role;
  agent.is_function = ready.is_function;
  agent.attempt_timeout = ready.attempt_timeout;
  agent.reports_starts = ready.reports_starts;
  agent.tells_last_words = ready.tells_last_words;
  agent.is_managed = ready.is_managed;
  agent.outcome_room = ready.outcome_room == 0 ? k_outcome_room : std::min(ready.outcome_room, k_outcome_room);
  agent.holds.set(Hold::silent, false);
  agent.holds.set(Hold::paused, paused_.contains(agent.name));
  agent.holds.set(Hold::paused_itself, ready.is_paused);
  if (agent.handle) {
    const bool is_accepted = router_.set_capabilities(*agent.handle, ready.capabilities, moment.now).has_value() &&
                             router_.set_capacity(*agent.handle, capacity, moment.now).has_value() &&
                             router_.set_pid(*agent.handle, agent.pid).has_value();
    if (!is_accepted)
      output_.tell(DispatchEvent::Kind::agent_refused, agent.name, 0, "its new capabilities are not acceptable");
  } else {
    auto joined = router_.join({agent.name, agent.pid, ready.capabilities, capacity, ready.executor}, moment.now);
    if (!joined) {
      output_.tell(DispatchEvent::Kind::agent_refused, agent.name, 0, std::string(route_error_text(joined.error())));
      turned_away_.add(agent.pid);
      on_down(agent.pid, true, moment);
      return;
    }
    agent.handle = *joined;
    for (const SlotNumber index : agent.runs) {
      // An outcome under way takes no place.
      if (tables_.runs[index].is_reported()) continue;
      const SlotNumber task = tables_.runs[index].task;
      const TypeRef type = task == k_no_slot ? TypeRef{} : lanes_.type_of(tables_.tasks[task]);
      auto ticket = router_.adopted(*agent.handle, moment.now, type);
      if (ticket) tables_.runs[index].ticket = std::move(*ticket);
    }
    output_.tell(DispatchEvent::Kind::agent_joined, agent.name);
  }
  update_readiness(agent, moment);
  if (has_state_) {
    match_announced(slot, ready.held, moment);
  } else if (!ready.held.empty()) {
    agent.its_mail().held = std::move(ready.held);
  }
}

// An agent that announces itself says all it holds. What it lacks of before is lost: it was never delivered, or the
// agent has been restarted since.
void DispatcherCore::match_announced(SlotNumber slot, std::span<const TaskRef> held, const Moment& moment) {
  for (const SlotNumber index : tables_.agents[slot].runs) tables_.runs[index].is_listed = false;
  for (const TaskRef ref : held) {
    const SlotNumber index = tables_.claimed(slot, ref);
    if (index == k_no_slot) {
      not_held(tables_, mail_, slot, ref);
      continue;
    }
    Run& run = tables_.runs[index];
    run.is_listed = true;
    run.is_confirmed = true;
    if (!run.is_at_agent()) run.become(RunState::held);
    run.lease_until = later(moment.now, options_.lease);
    if (!run.is_reported()) mail_.to(slot).ask_again.push_back(ref);
    // Which timeout applies was not known when the run was found in the state: the agent says.
    const TaskRecord& task = tables_.tasks[run.task];
    if (task.phase != TaskPhase::running || run.timed_out_after) continue;
    timeouts_.set(run, task, tables_.agents[slot]);
    set_due(run.task);
  }
  const std::vector<SlotNumber> runs = tables_.agents[slot].runs;
  for (const SlotNumber index : runs) {
    Run& run = tables_.runs[index];
    if (run.is_listed || (run.task != k_no_slot && run.ref.fence == 0)) continue;
    if (run.task == k_no_slot) {
      end_run(index, moment);
    } else if (tables_.tasks[run.task].phase == TaskPhase::running &&
               !OrderMail::has_order(tables_.agents[slot], run.ref)) {
      release(run, std::nullopt, moment);
      if (!run.is_reported()) run.become(RunState::returned);
      requeue(index, ledger::RequeueReason::node_crash, moment);
    }
  }
}

void DispatcherCore::on_heartbeat(Pid from, const AgentHeartbeat& heartbeat, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot) {
    // Its announcement was lost, or there was no room.
    if (is_deposed_ || tables_.agent_pids.size() >= options_.agents_max || turned_away_.has(from)) return;
    Orders orders;
    orders.announce = true;
    output_.mail.emplace_back(from, std::move(orders));
    return;
  }
  if (tables_.agents[slot].heartbeats) tables_.agents[slot].heartbeats->heartbeat(moment.now);
  if (tables_.agents[slot].holds.has(Hold::paused_itself) != heartbeat.is_paused)
    on_paused(from, {heartbeat.is_paused}, moment);
  if (!has_state_ || heartbeat.held.size() > k_held_max) return;
  for (const TaskRef ref : heartbeat.held) {
    if (const SlotNumber run = tables_.claimed(slot, ref); run != k_no_slot) {
      tables_.runs[run].is_confirmed = true;
      tables_.runs[run].lease_until = later(moment.now, options_.lease);
    }
  }
  const AgentRecord& agent = tables_.agents[slot];
  // Orders may be on their way; judge only when all were seen, or should have been.
  if (agent.is_in_mail) return;
  if (heartbeat.seen >= agent.sequence || moment.now - agent.sent_at > options_.resync_after) {
    match_heartbeat(slot, heartbeat, moment);
  }
}

void DispatcherCore::match_heartbeat(SlotNumber slot, const AgentHeartbeat& heartbeat, const Moment& moment) {
  for (const SlotNumber index : tables_.agents[slot].runs) tables_.runs[index].is_listed = false;
  for (const TaskRef ref : heartbeat.held) {
    if (const SlotNumber run = tables_.claimed(slot, ref); run != k_no_slot) {
      tables_.runs[run].is_listed = true;
    } else {
      not_held(tables_, mail_, slot, ref);
    }
  }
  bool is_lacking = false;
  const std::vector<SlotNumber> runs = tables_.agents[slot].runs;
  for (const SlotNumber index : runs) {
    const Run& run = tables_.runs[index];
    if (run.is_listed) continue;
    if (run.task == k_no_slot) {
      end_run(index, moment);
    } else {
      is_lacking |= run.is_open() && tables_.tasks[run.task].phase == TaskPhase::running;
    }
  }
  if (is_lacking) send_all(tables_, mail_, timeouts_, slot);
}

void DispatcherCore::on_report(Pid from, AgentReport report, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot || !has_state_ || is_deposed_) return;
  const auto own = [&](TaskRef ref) { return tables_.claimed(slot, ref); };
  // An outcome that nobody waits for: the agent may forget it, and is free if the task went on without it.
  const auto stale = [&](TaskRef ref) {
    ++counters_.stale_reports;
    // What ends that assignment may still be on its way to the ledger; until it is there the agent keeps its outcome.
    const SlotNumber task = tables_.by_number.find(ref.number);
    const bool is_undecided =
        task != k_no_slot && tables_.tasks[task].fence == ref.fence &&
        (tables_.tasks[task].phase == TaskPhase::ending || tables_.tasks[task].phase == TaskPhase::assigning);
    if (!is_undecided) mail_.to(slot).settled.push_back(ref);
    for (const SlotNumber index : tables_.agents[slot].runs) {
      if (tables_.runs[index].task == k_no_slot && tables_.runs[index].ref == ref) {
        end_run(index, moment);
        return;
      }
    }
  };
  for (const auto& each : report.started) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot || tables_.runs[index].state != RunState::held) continue;
    Run& run = tables_.runs[index];
    run.become(RunState::started);
    run.since = moment.now;
    run.lease_until = later(moment.now, options_.lease);
    run.timeout_at = later(moment.now, timeouts_.of(tables_.tasks[run.task], tables_.agents[slot]));
    set_due(run.task);
    TaskRecord& task = tables_.tasks[run.task];
    outgoing_.add_for(task, run.task, OpKind::other, ledger::Start{task.id, run.ref.fence, moment.wall}, false);
  }
  for (auto& each : report.progress) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot || tables_.runs[index].is_reported() ||
        ledger::view_of(each.mark).size() > k_message_bytes_max) {
      continue;
    }
    tables_.runs[index].lease_until = later(moment.now, options_.lease);
    marks_.told(index, std::move(each.mark), moment);
  }
  for (const auto& each : report.complete) {
    const SlotNumber task = tables_.by_number.find(each.ref.number);
    if (task != k_no_slot) tables_.tasks.prefetch(task);
  }
  for (auto& each : report.complete) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot) {
      stale(each.ref);
    } else {
      complete(index, std::move(each), moment);
    }
  }
  for (auto& each : report.failed) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot) {
      stale(each.ref);
    } else if (!tables_.runs[index].is_reported()) {
      fail_attempt(index, each.error, std::move(each.message), each.retry_after, true, moment);
    }
  }
  for (const auto& each : report.last_words) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot || tables_.runs[index].is_reported()) continue;
    Run& run = tables_.runs[index];
    run.last_words = std::make_unique<std::string>(shown_text(each.text, k_message_bytes_max));
    if (run.timed_out_after && tables_.tasks[run.task].phase == TaskPhase::running) fail_timed_out(index, moment);
  }
  on_returned(from, report.returned, moment);
}

void DispatcherCore::on_returned(Pid from, std::span<const TaskRef> tasks, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot || !has_state_ || is_deposed_) return;
  for (const TaskRef ref : tasks) {
    const SlotNumber index = tables_.claimed(slot, ref);
    if (index != k_no_slot) {
      returned(index, moment);
    } else if (const SlotNumber abandoned = tables_.run_at(slot, ref); abandoned != k_no_slot) {
      end_run(abandoned, moment);
    }
  }
}

void DispatcherCore::returned(SlotNumber index, const Moment& moment) {
  Run& run = tables_.runs[index];
  TaskRecord& task = tables_.tasks[run.task];
  const AgentRecord& agent = tables_.agents[run.agent];
  release(run, std::nullopt, moment);
  // The agent has it no longer, so it needs no word when the task goes on.
  if (!run.is_reported()) run.become(RunState::returned);
  if (task.phase != TaskPhase::running) return;
  if (run.timed_out_after) return fail_timed_out(index, moment);
  const bool has_yielded = run.told != Told::nothing;
  if (has_yielded) {
    ++task.times_preempted;
    output_.tell(DispatchEvent::Kind::preempted, agent.name, run.ref.number);
  }
  if (run.return_asked_at) {
    ++counters_.returned;
    const SwarmRecord& swarm = tables_.swarms[task.swarm];
    task.goes_to_idle = swarm.gives_out() && swarm.strategy != Balance::consistent_hash;
    output_.tell(DispatchEvent::Kind::returned, agent.name, run.ref.number);
  }
  requeue(index, has_yielded ? ledger::RequeueReason::preempted : ledger::RequeueReason::returned, moment);
}

void DispatcherCore::on_paused(Pid from, const AgentPaused& paused, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot) return;
  set_hold(tables_.agents[slot], Hold::paused_itself, paused.is_paused, moment);
}

void DispatcherCore::on_metrics(Pid from, const AgentMetrics& metrics) {
  if (const SlotNumber slot = tables_.agent_with(from); slot != k_no_slot) tables_.agents[slot].metrics = metrics;
}

void DispatcherCore::on_down(Pid pid, bool is_graceful, const Moment& moment) {
  const auto at = tables_.agent_pids.find(pid);
  if (at == tables_.agent_pids.end()) return;
  const SlotNumber slot = at->second;
  tables_.agent_pids.erase(at);
  AgentRecord& agent = tables_.agents[slot];
  output_.tell(is_graceful ? DispatchEvent::Kind::agent_left : DispatchEvent::Kind::agent_crashed, agent.name);
  agent.pid = Pid{};
  agent.mail.reset();
  agent.unsettled = 0;
  agent.holds.clear();
  agent.become(AgentPresence::away);
  agent.heartbeats.reset();
  if (agent.handle) router_.leave(*std::exchange(agent.handle, std::nullopt));
  crashed_runs(slot, is_graceful, moment);
  tables_.forget_if_idle(slot);
}

void DispatcherCore::crashed_runs(SlotNumber slot, bool is_graceful, const Moment& moment) {
  const std::vector<SlotNumber> runs = tables_.agents[slot].runs;
  // What was ahead of the work cost nobody anything, if it is known what was at work.
  const bool is_known_at_work =
      tables_.agents[slot].reports_starts &&
      std::any_of(runs.begin(), runs.end(), [&](auto each) { return tables_.runs[each].is_started(); });
  std::vector<SlotNumber> lanes;  // of which a crash is counted: one agent is one crash
  for (const SlotNumber index : runs) {
    Run& run = tables_.runs[index];
    run.ticket.reset();
    if (run.task == k_no_slot) {
      end_run(index, moment);
      continue;
    }
    TaskRecord& task = tables_.tasks[run.task];
    // Without a fence yet, or with an outcome under way: the change that comes settles it.
    if (task.phase != TaskPhase::running || run.ref.fence == 0) continue;
    const bool is_free = is_graceful || (is_known_at_work && !run.is_started());
    if (!is_free && std::find(lanes.begin(), lanes.end(), task.lane) == lanes.end()) {
      lanes.push_back(task.lane);
      count_crash(run, moment);
    }
    requeue(index, is_free ? ledger::RequeueReason::returned : ledger::RequeueReason::agent_crash, moment);
  }
}

}  // namespace skein::inline v0::dispatch
