// Agents: who is there, what they say, and what is made of it.
#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "skein/base/utf8.hpp"
#include "skein/dispatch/dispatcher_append.hpp"
#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {

// There may be a million of them.
static_assert(sizeof(AgentRecord) <= 304);

namespace {

constexpr std::size_t k_turned_away_max = 1'024;

}  // namespace

SlotNumber DispatcherCore::agent_of(Pid pid, const Moment& moment) {
  const auto at = agent_pids_.find(pid);
  if (at == agent_pids_.end()) return k_no_slot;
  AgentRecord& agent = agents_[at->second];
  agent.heard_at = moment.now;
  if (agent.holds.has(Hold::silent)) set_hold(agent, Hold::silent, false, moment);
  return at->second;
}

SlotNumber DispatcherCore::agent_named(std::string_view id) {
  if (const auto known = find_agent(id)) return *known;
  const SlotNumber slot = agents_.add();
  agents_[slot].id = id;
  agent_ids_.add(id, slot);
  return slot;
}

void DispatcherCore::forget_if_idle(SlotNumber slot) {
  AgentRecord& agent = agents_[slot];
  if (agent.pid || !agent.runs.empty() || agent.id.empty()) return;
  agent_ids_.remove(agent.id, slot);
  agents_.remove(slot);
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
  const auto slot = find_agent(id);
  if (!slot || !agents_[*slot].pid) return;
  set_hold(agents_[*slot], Hold::paused, is_paused, moment);
}

void DispatcherCore::on_ready(Pid from, AgentReady ready, const Moment& moment) {
  if (ready.id.empty() || ready.held.size() > k_held_max) {
    event(DispatchEvent::Kind::agent_refused, ready.id, 0, "it has no id, or holds more than k_held_max tasks");
    turn_away(from);
    return;
  }
  if (const auto other = agent_pids_.find(from); other != agent_pids_.end() && agents_[other->second].id != ready.id) {
    on_down(from, true, moment);
  }
  if (agent_pids_.size() >= options_.agents_max && !agent_pids_.contains(from)) {
    event(DispatchEvent::Kind::agent_refused, ready.id, 0, "agents_max agents are there; raise it or stop some");
    return;
  }
  const SlotNumber slot = agent_named(ready.id);
  AgentRecord& agent = agents_[slot];
  if (agent.pid != from) {
    if (agent.pid) {
      // The same name from another process: the newer one counts.
      output_.unwatch.push_back(agent.pid);
      agent_pids_.erase(agent.pid);
      turn_away(agent.pid);
      Orders nothing;
      nothing.full = true;
      nothing.sequence = ++agent.sequence;
      output_.mail.emplace_back(agent.pid, std::move(nothing));
    }
    agent.pid = from;
    if (agent.mail) agent.mail->out = Orders{};
    agent_pids_[from] = slot;
    output_.watch.push_back(from);
  }
  agent.become(has_state_ ? AgentState::here : AgentState::announced);
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
  AgentRecord& agent = agents_[slot];
  const std::uint32_t slots = std::clamp<std::uint32_t>(ready.slots, 1, std::min(k_slots_max, Router::k_capacity_max));
  auto sorted = ready.capabilities;
  std::sort(sorted.begin(), sorted.end());
  agent.capabilities = capabilities_.keep(std::move(sorted));
  agent.role = ready.role;
  agent.is_function = ready.is_function;
  agent.attempt_timeout = ready.attempt_timeout;
  agent.reports_starts = ready.reports_starts;
  agent.tells_last_words = ready.tells_last_words;
  agent.is_kept = ready.is_kept;
  agent.outcome_room = ready.outcome_room == 0 ? k_outcome_room : std::min(ready.outcome_room, k_outcome_room);
  agent.holds.set(Hold::silent, false);
  agent.holds.set(Hold::paused, paused_.contains(agent.id));
  agent.holds.set(Hold::paused_itself, ready.is_paused);
  if (agent.handle) {
    const bool is_kept = router_.set_capabilities(*agent.handle, ready.capabilities, moment.now).has_value() &&
                         router_.set_capacity(*agent.handle, slots, moment.now).has_value() &&
                         router_.set_pid(*agent.handle, agent.pid).has_value();
    if (!is_kept) event(DispatchEvent::Kind::agent_refused, agent.id, 0, "its new capabilities are not acceptable");
  } else {
    auto joined = router_.join({agent.id, agent.pid, ready.capabilities, slots, ready.executor}, moment.now);
    if (!joined) {
      event(DispatchEvent::Kind::agent_refused, agent.id, 0, std::string(route_error_text(joined.error())));
      turn_away(agent.pid);
      on_down(agent.pid, true, moment);
      return;
    }
    agent.handle = *joined;
    for (const SlotNumber index : agent.runs) {
      // An outcome under way takes no place.
      if (runs_[index].is_reported()) continue;
      const SlotNumber task = runs_[index].task;
      const TypeRef type = task == k_no_slot ? TypeRef{} : type_of(tasks_[task]);
      auto ticket = router_.adopted(*agent.handle, moment.now, type);
      if (ticket) runs_[index].ticket = std::move(*ticket);
    }
    event(DispatchEvent::Kind::agent_joined, agent.id);
  }
  update_readiness(agent, moment);
  if (has_state_) {
    match_announced(slot, ready.held, moment);
  } else if (!ready.held.empty()) {
    agent.its_mail().held = std::move(ready.held);
  }
}

// Ordered, and not yet sent: the agent cannot know of it.
bool DispatcherCore::is_in_mail(const AgentRecord& agent, TaskRef ref) {
  if (!agent.mail) return false;
  const auto& orders = agent.mail->out.run;
  return std::any_of(orders.begin(), orders.end(), [&](const Order& each) { return each.ref == ref; });
}

// An agent that announces itself says all it holds. What it lacks of before is lost: it was never delivered, or the
// agent has begun anew since.
void DispatcherCore::match_announced(SlotNumber slot, std::span<const TaskRef> held, const Moment& moment) {
  for (const SlotNumber index : agents_[slot].runs) runs_[index].is_listed = false;
  for (const TaskRef ref : held) {
    Run* run = claim(slot, ref);
    if (run == nullptr) {
      not_held(slot, ref);
      continue;
    }
    run->is_listed = true;
    run->is_confirmed = true;
    if (!run->is_at_agent()) run->become(RunState::held);
    run->lease_until = later(moment.now, options_.lease);
    if (!run->is_reported()) mail_to(slot).ask_again.push_back(ref);
    // Which timeout applies was not known when the run was found in the state: the agent says.
    if (tasks_[run->task].phase != TaskPhase::running || run->timed_out_after) continue;
    set_timeout(*run);
    set_due(run->task);
  }
  const std::vector<SlotNumber> runs = agents_[slot].runs;
  for (const SlotNumber index : runs) {
    Run& run = runs_[index];
    if (run.is_listed || (run.task != k_no_slot && run.ref.fence == 0)) continue;
    if (run.task == k_no_slot) {
      end_run(index, moment);
    } else if (tasks_[run.task].phase == TaskPhase::running && !is_in_mail(agents_[slot], run.ref)) {
      release(run, std::nullopt, moment);
      if (!run.is_reported()) run.become(RunState::returned);
      requeue(index, ledger::RequeueReason::node_crash, moment);
    }
  }
}

// The agent names an assignment that is none of its own (any more).
void DispatcherCore::not_held(SlotNumber slot, TaskRef ref) {
  // It may have been told already, but messages get lost.
  mail_to(slot).stop.push_back({ref, StopReason::stale});
  const auto& runs = agents_[slot].runs;
  const auto at = std::find_if(runs.begin(), runs.end(), [&](SlotNumber each) { return runs_[each].ref == ref; });
  if (at != runs.end()) runs_[*at].is_listed = true;
}

// Its announcement was lost, or there was no room.
void DispatcherCore::invite(Pid pid) {
  if (is_deposed_ || agent_pids_.size() >= options_.agents_max) return;
  if (std::find(turned_away_.begin(), turned_away_.end(), pid) != turned_away_.end()) return;
  Orders orders;
  orders.announce = true;
  output_.mail.emplace_back(pid, std::move(orders));
}

// It may announce itself, but is not asked to: it would be refused again, or take its name from who has it now.
void DispatcherCore::turn_away(Pid pid) {
  if (turned_away_.size() == k_turned_away_max) turned_away_.pop_front();
  turned_away_.push_back(pid);
}

void DispatcherCore::on_heartbeat(Pid from, const AgentHeartbeat& heartbeat, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot) return invite(from);
  if (agents_[slot].heartbeats) agents_[slot].heartbeats->heartbeat(moment.now);
  if (agents_[slot].holds.has(Hold::paused_itself) != heartbeat.is_paused)
    on_paused(from, {heartbeat.is_paused}, moment);
  if (!has_state_ || heartbeat.held.size() > k_held_max) return;
  for (const TaskRef ref : heartbeat.held) {
    if (Run* run = claim(slot, ref)) {
      run->is_confirmed = true;
      run->lease_until = later(moment.now, options_.lease);
    }
  }
  const AgentRecord& agent = agents_[slot];
  // Orders may be on their way; judge only when all were seen, or should have been.
  if (agent.is_in_mail) return;
  if (heartbeat.seen >= agent.sequence || moment.now - agent.sent_at > options_.resync_after) {
    match_heartbeat(slot, heartbeat, moment);
  }
}

void DispatcherCore::match_heartbeat(SlotNumber slot, const AgentHeartbeat& heartbeat, const Moment& moment) {
  for (const SlotNumber index : agents_[slot].runs) runs_[index].is_listed = false;
  for (const TaskRef ref : heartbeat.held) {
    if (Run* run = claim(slot, ref)) {
      run->is_listed = true;
    } else {
      not_held(slot, ref);
    }
  }
  bool is_lacking = false;
  const std::vector<SlotNumber> runs = agents_[slot].runs;
  for (const SlotNumber index : runs) {
    const Run& run = runs_[index];
    if (run.is_listed) continue;
    if (run.task == k_no_slot) {
      end_run(index, moment);
    } else {
      is_lacking |= run.is_open() && tasks_[run.task].phase == TaskPhase::running;
    }
  }
  if (is_lacking) send_all(slot);
}

void DispatcherCore::send_all(SlotNumber slot) {
  Orders& out = mail_to(slot);
  out.full = true;
  out.run.clear();
  for (const SlotNumber index : agents_[slot].runs) {
    const Run& run = runs_[index];
    if (run.task != k_no_slot && run.is_at_agent()) out.run.push_back(order_for(run));
  }
}

void DispatcherCore::on_report(Pid from, AgentReport report, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot || !has_state_ || is_deposed_) return;
  const auto own = [&](TaskRef ref) -> SlotNumber {
    const Run* run = claim(slot, ref);
    return run == nullptr ? k_no_slot : tasks_[run->task].run;
  };
  // An outcome that nobody waits for: the agent may forget it, and is free if the task went on without it.
  const auto stale = [&](TaskRef ref) {
    ++counters_.stale_reports;
    // What ends that assignment may still be on its way to the ledger; until it is there the agent keeps its outcome.
    const SlotNumber task = by_number_.find(ref.number);
    const bool is_undecided = task != k_no_slot && tasks_[task].fence == ref.fence &&
                              (tasks_[task].phase == TaskPhase::ending || tasks_[task].phase == TaskPhase::assigning);
    if (!is_undecided) mail_to(slot).settled.push_back(ref);
    for (const SlotNumber index : agents_[slot].runs) {
      if (runs_[index].task == k_no_slot && runs_[index].ref == ref) {
        end_run(index, moment);
        return;
      }
    }
  };
  for (const auto& each : report.started) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot || runs_[index].state != RunState::held) continue;
    Run& run = runs_[index];
    run.become(RunState::started);
    run.since = moment.now;
    run.lease_until = later(moment.now, options_.lease);
    run.timeout_at = later(moment.now, timeout_of(tasks_[run.task], agents_[slot]));
    set_due(run.task);
    append_for(run.task, OpKind::other, ledger::Start{tasks_[run.task].id, run.ref.fence, moment.wall}, false);
  }
  for (auto& each : report.progress) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot || runs_[index].is_reported() || ledger::view_of(each.mark).size() > k_message_bytes_max) {
      continue;
    }
    mark_progress(index, std::move(each.mark), moment);
  }
  for (const auto& each : report.complete) {
    const SlotNumber task = by_number_.find(each.ref.number);
    if (task != k_no_slot) tasks_.prefetch(task);
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
    } else {
      fail(index, std::move(each), moment);
    }
  }
  for (const auto& each : report.last_words) {
    const SlotNumber index = own(each.ref);
    if (index == k_no_slot || runs_[index].is_reported()) continue;
    Run& run = runs_[index];
    run.last_words = std::make_unique<std::string>(shown_text(each.text, k_message_bytes_max));
    if (run.timed_out_after && tasks_[run.task].phase == TaskPhase::running) fail_timed_out(index, moment);
  }
  on_hand_back(from, report.handed_back, moment);
}

void DispatcherCore::on_hand_back(Pid from, std::span<const TaskRef> tasks, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot || !has_state_ || is_deposed_) return;
  for (const TaskRef ref : tasks) {
    if (const Run* run = claim(slot, ref)) {
      const SlotNumber index = tasks_[run->task].run;
      release(runs_[index], std::nullopt, moment);
      // The agent has it no longer, so it needs no word when the task goes on.
      if (!run->is_reported()) runs_[index].become(RunState::returned);
      if (tasks_[run->task].phase != TaskPhase::running) continue;
      if (run->timed_out_after) {
        fail_timed_out(index, moment);
        continue;
      }
      const bool has_yielded = run->told != Told::nothing;
      if (has_yielded) {
        ++tasks_[run->task].times_preempted;
        event(DispatchEvent::Kind::preempted, agents_[slot].id, ref.number);
      }
      if (run->asked_back_at) {
        ++counters_.taken_back;
        TaskRecord& task = tasks_[run->task];
        const SwarmRecord& swarm = swarms_[task.swarm];
        task.goes_to_idle = swarm.gives_out() && swarm.strategy != Balance::consistent_hash;
        event(DispatchEvent::Kind::taken_back, agents_[slot].id, ref.number);
      }
      requeue(index, has_yielded ? ledger::RequeueReason::preempted : ledger::RequeueReason::handed_back, moment);
      continue;
    }
    const auto& runs = agents_[slot].runs;
    const auto at = std::find_if(runs.begin(), runs.end(), [&](SlotNumber each) { return runs_[each].ref == ref; });
    if (at != runs.end()) end_run(*at, moment);
  }
}

void DispatcherCore::on_paused(Pid from, const AgentPaused& paused, const Moment& moment) {
  const SlotNumber slot = agent_of(from, moment);
  if (slot == k_no_slot) return;
  set_hold(agents_[slot], Hold::paused_itself, paused.is_paused, moment);
}

void DispatcherCore::on_metrics(Pid from, const AgentMetrics& metrics) {
  if (const auto at = agent_pids_.find(from); at != agent_pids_.end()) agents_[at->second].metrics = metrics;
}

void DispatcherCore::on_down(Pid pid, bool is_graceful, const Moment& moment) {
  const auto at = agent_pids_.find(pid);
  if (at == agent_pids_.end()) return;
  const SlotNumber slot = at->second;
  agent_pids_.erase(at);
  AgentRecord& agent = agents_[slot];
  event(is_graceful ? DispatchEvent::Kind::agent_left : DispatchEvent::Kind::agent_crashed, agent.id);
  agent.pid = Pid{};
  agent.mail.reset();
  agent.unsettled = 0;
  agent.holds.clear();
  agent.become(AgentState::away);
  agent.heartbeats.reset();
  if (agent.handle) router_.leave(*std::exchange(agent.handle, std::nullopt));
  crashed_runs(slot, is_graceful, moment);
  forget_if_idle(slot);
}

void DispatcherCore::crashed_runs(SlotNumber slot, bool is_graceful, const Moment& moment) {
  const std::vector<SlotNumber> runs = agents_[slot].runs;
  // What was ahead of the work cost nobody anything, if it is known what was at work.
  const bool is_known_at_work = agents_[slot].reports_starts && std::any_of(runs.begin(), runs.end(), [&](auto each) {
                                  return runs_[each].is_started();
                                });
  std::vector<SlotNumber> lanes;  // of which a crash is counted: one agent is one crash
  for (const SlotNumber index : runs) {
    Run& run = runs_[index];
    run.ticket.reset();
    if (run.task == k_no_slot) {
      end_run(index, moment);
      continue;
    }
    TaskRecord& task = tasks_[run.task];
    // Without a fence yet, or with an outcome under way: the change that comes settles it.
    if (task.phase != TaskPhase::running || run.ref.fence == 0) continue;
    const bool is_free = is_graceful || (is_known_at_work && !run.is_started());
    if (!is_free && std::find(lanes.begin(), lanes.end(), task.lane) == lanes.end()) {
      lanes.push_back(task.lane);
      count_crash(run, moment);
    }
    requeue(index, is_free ? ledger::RequeueReason::handed_back : ledger::RequeueReason::agent_crash, moment);
  }
}

}  // namespace skein::inline v0::dispatch
