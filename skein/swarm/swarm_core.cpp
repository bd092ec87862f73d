#include "skein/swarm/swarm_core.hpp"

#include <algorithm>

namespace skein::inline v0::swarm {

void SwarmCore::on_definition(const Definition& definition) {
  if (definition_ && needs_other_agents(*definition_, definition)) {
    for (auto& [pid, agent] : agents_) agent.is_old = true;
  }
  definition_ = definition;
}

void SwarmCore::on_load(const dispatch::SwarmLoad& load, Instant now) {
  has_load_ = true;
  state_ = load.swarm.state;
  ready_ = load.swarm.gives_out_tasks() ? load.ready : 0;
  tasks_ = load.tasks;
  for (const auto& each : load.agents) {
    auto [at, is_new] = agents_.try_emplace(each.pid, Agent{.since = now, .idle_since = std::nullopt});
    Agent& agent = at->second;
    agent.is_announced = true;
    agent.runs = each.runs;
    if (each.runs > 0) {
      agent.idle_since.reset();
    } else if (!agent.idle_since) {
      agent.idle_since = now;
    }
  }
}

void SwarmCore::on_started(Pid pid, Instant now) { agents_.try_emplace(pid, Agent{.since = now, .idle_since = now}); }

void SwarmCore::on_start_failed(Instant now) { die_young(now); }

bool SwarmCore::on_down(Pid pid, bool in_order, Instant now) {
  const auto at = agents_.find(pid);
  if (at == agents_.end()) return false;
  const Agent agent = at->second;
  agents_.erase(at);
  if (in_order || agent.is_ending) return true;
  ++crashed_;
  if (now - agent.since < k_young) {
    die_young(now);
  } else {
    young_deaths_ = 0;
    hold_back_ = k_hold_back;
  }
  return true;
}

void SwarmCore::die_young(Instant now) {
  if (++young_deaths_ <= k_young_deaths) return;
  held_until_ = now + hold_back_;
  hold_back_ = std::min(2 * hold_back_, k_hold_back_max);
}

std::vector<Pid> SwarmCore::pids() const {
  std::vector<Pid> result;
  for (const auto& [pid, agent] : agents_) result.push_back(pid);
  return result;
}

// As many as have work or could have it at once; those just started or busy a moment ago are kept for a while.
std::uint32_t SwarmCore::wanted(Instant now) const {
  if (state_ == ledger::SwarmState::stopped) return 0;
  if (state_ == ledger::SwarmState::draining && tasks_ == 0) return 0;
  std::uint64_t busy = 0;
  std::uint64_t lately = 0;
  for (const auto& [pid, agent] : agents_) {
    if (agent.is_ending || agent.is_old) continue;
    if (agent.runs > 0) {
      ++busy;
    } else if (!agent.idle_since || now - *agent.idle_since < definition_->idle_after) {
      ++lately;
    }
  }
  const std::uint64_t useful = std::max(busy + lately, busy + ready_);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(useful, definition_->agents_min, definition_->agents_max));
}

Plan SwarmCore::plan(Instant now) {
  Plan plan;
  if (!definition_ || !has_load_) return plan;
  const std::uint32_t goal = wanted(now);
  std::vector<std::pair<Instant, Pid>> idle;  // may go, the longest idle first
  std::uint32_t there = 0;
  const bool all_go = goal == 0;
  for (auto& [pid, agent] : agents_) {
    if (agent.is_ending) continue;
    if (agent.is_old || (all_go && state_ == ledger::SwarmState::stopped)) {
      agent.is_ending = true;
      plan.end.push_back(pid);
      continue;
    }
    ++there;
    if (agent.runs == 0 && agent.is_announced && agent.idle_since) idle.emplace_back(*agent.idle_since, pid);
  }
  if (there > goal) {
    std::sort(idle.begin(), idle.end());
    const std::size_t surplus = std::min<std::size_t>(idle.size(), there - goal);
    for (std::size_t i = 0; i < surplus; ++i) {
      // Above the maximum they go at once; else only after their time.
      if (there <= definition_->agents_max && !all_go && now - idle[i].first < definition_->idle_after) break;
      agents_.at(idle[i].second).is_ending = true;
      plan.end.push_back(idle[i].second);
    }
  } else if (there < goal) {
    if (now < held_until_) {
      plan.look_at = held_until_;
    } else {
      plan.start = std::min(goal - there, k_starts_at_once);
      refilled_ += plan.start;
    }
  }
  return plan;
}

}  // namespace skein::inline v0::swarm
