#include "skein/swarm/swarm_core.hpp"

#include <algorithm>

namespace skein::inline v0::swarm {

void SwarmCore::on_definition(const Definition& definition) {
  if (definition_ && needs_other_agents(*definition_, definition)) replace_all();
  definition_ = definition;
  are_unwanted_ = false;
  // Perhaps it is what was wrong.
  forget_young_deaths();
  held_until_ = Instant::min();
}

void SwarmCore::on_other_definition(Pid pid) {
  if (const auto at = agents_.find(pid); at != agents_.end()) at->second.is_old = true;
}

void SwarmCore::replace_all() {
  for (auto& [pid, agent] : agents_) agent.is_old = true;
  abilities_.clear();
  forget_young_deaths();
  held_until_ = Instant::min();
}

void SwarmCore::let_all_go() {
  replace_all();
  are_unwanted_ = true;
}

void SwarmCore::on_load(const dispatch::SwarmLoad& load, Instant now) {
  ++loads_;
  state_ = load.swarm.state;
  tasks_ = load.tasks;
  for (const auto& each : load.agents) {
    if (!each.is_managed) continue;  // it works for the swarm, and its own starter ends it
    auto [at, is_new] = agents_.try_emplace(each.pid, Agent{.since = now, .idle_since = std::nullopt});
    Agent& agent = at->second;
    agent.is_announced = true;
    agent.runs = each.runs;
    agent.is_paused = each.is_paused;
    if (each.runs > 0) {
      agent.idle_since.reset();
    } else if (!agent.idle_since) {
      agent.idle_since = now;
    }
  }
  learn_abilities(load);
  count_demand(load);
}

void SwarmCore::learn_abilities(const dispatch::SwarmLoad& load) {
  std::vector<std::shared_ptr<const std::vector<std::string>>> now;
  for (const auto& each : load.agents) {
    if (!each.is_managed || !each.capabilities || agents_.at(each.pid).is_old) continue;
    if (std::ranges::find(now, each.capabilities) == now.end()) now.push_back(each.capabilities);
  }
  if (!now.empty()) abilities_ = std::move(now);
}

void SwarmCore::count_demand(const dispatch::SwarmLoad& load) {
  const auto has_all = [](const auto& able, const auto& need) {
    return able && std::ranges::includes(*able, need.capabilities);
  };
  demand_ = 0;
  unmet_.clear();
  for (const auto& need : load.needs) {
    const bool is_met =
        abilities_.empty() || std::ranges::any_of(abilities_, [&](const auto& able) { return has_all(able, need); });
    const auto can = [&](const auto& agent) { return !agent.is_managed && has_all(agent.capabilities, need); };
    if (is_met) {
      demand_ += need.ready;
    } else if (std::ranges::none_of(load.agents, can)) {
      unmet_.push_back(need.capabilities);
    }
  }
  for (const auto& each : load.agents) demand_ += each.ahead;
  if (!load.swarm.gives_out_tasks()) demand_ = 0;
}

void SwarmCore::on_started(Pid pid, Instant now) { agents_.try_emplace(pid, Agent{.since = now, .idle_since = now}); }

void SwarmCore::on_start_failed(Instant now) { die_young(now); }

bool SwarmCore::on_down(Pid pid, bool is_graceful, Instant now) {
  const auto at = agents_.find(pid);
  if (at == agents_.end()) return false;
  const Agent agent = at->second;
  agents_.erase(at);
  if (is_graceful || agent.is_ending) return true;
  ++crashed_;
  if (now - agent.since < k_young || !agent.is_announced) {
    die_young(now);
  } else {
    forget_young_deaths();
  }
  return true;
}

void SwarmCore::forget_young_deaths() {
  young_deaths_ = 0;
  hold_back_ = k_hold_back;
}

void SwarmCore::die_young(Instant now) {
  died_young_at_ = now;
  if (++young_deaths_ <= k_young_deaths) return;
  held_until_ = now + hold_back_;
  hold_back_ = std::min(2 * hold_back_, k_hold_back_max);
}

std::vector<Pid> SwarmCore::pids() const {
  std::vector<Pid> result;
  result.reserve(agents_.size());
  for (const auto& [pid, agent] : agents_) result.push_back(pid);
  return result;
}

// As many as have work or could have it at once; those just started or busy a moment ago are kept for a while.
std::uint32_t SwarmCore::wanted(Instant now) const {
  if (state_ == ledger::SwarmState::stopped || are_unwanted_) return 0;
  const bool is_ending = state_ == ledger::SwarmState::draining || state_ == ledger::SwarmState::removed;
  if (is_ending && tasks_ == 0) return 0;
  std::uint64_t busy = 0;
  std::uint64_t lately = 0;
  std::uint64_t paused = 0;
  for (const auto& [pid, agent] : agents_) {
    if (agent.is_ending || agent.is_old) continue;
    if (agent.runs > 0) {
      ++busy;
    } else if (agent.is_paused) {
      ++paused;
    } else if (!agent.idle_since || now - *agent.idle_since < definition_->idle_after) {
      ++lately;
    }
  }
  std::uint64_t useful = std::max(busy + lately, busy + demand_) + paused;
  if (abilities_.empty()) useful = std::min<std::uint64_t>(useful, std::max(definition_->agents_min, 1U));
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(useful, definition_->agents_min, definition_->agents_max));
}

// What it held when it was told is known only from a load that came after that.
bool SwarmCore::may_end(Pid pid, Agent& agent, Plan& plan) const {
  if (!agent.is_announced || state_ == ledger::SwarmState::stopped) return true;
  if (!agent.retired_at) {
    agent.retired_at = loads_;
    plan.retire.push_back(pid);
    return false;
  }
  return loads_ > *agent.retired_at && agent.runs == 0;
}

void SwarmCore::end_surplus(std::vector<Idle> idle, std::uint32_t there, std::uint32_t goal, Instant now, Plan& plan) {
  std::ranges::sort(idle);  // paused ones last, the longest idle first
  idle.resize(std::min<std::size_t>(idle.size(), there - goal));
  for (const Idle& each : idle) {
    // Above the maximum they go at once; else only after their time, and a paused one stays.
    const bool goes_at_once = there > definition_->agents_max || goal == 0;
    if (!goes_at_once && (each.is_paused || now - each.since < definition_->idle_after)) break;
    agents_.at(each.pid).is_ending = true;
    plan.end.push_back(each.pid);
  }
}

Plan SwarmCore::plan(Instant now) {
  Plan plan;
  if ((!definition_ && !are_unwanted_) || loads_ == 0) return plan;
  const std::uint32_t goal = wanted(now);
  std::vector<Idle> idle;
  std::uint32_t there = 0;
  bool has_young = false;
  bool has_survivor = false;  // started since the last one died young
  const bool all_go = goal == 0;
  for (auto& [pid, agent] : agents_) {
    if (agent.is_ending) continue;
    if (agent.is_old || (all_go && state_ == ledger::SwarmState::stopped)) {
      agent.is_ending = may_end(pid, agent, plan);
      if (agent.is_ending) plan.end.push_back(pid);
      continue;
    }
    ++there;
    has_young |= now - agent.since < k_young || !agent.is_announced;
    has_survivor |= agent.since >= died_young_at_;
    if (agent.runs == 0 && agent.is_announced && agent.idle_since) {
      idle.push_back({agent.is_paused, *agent.idle_since, pid});
    }
  }
  plan.is_whole = there >= goal && !has_young;
  if (plan.is_whole && has_survivor) forget_young_deaths();
  if (there > goal) {
    end_surplus(std::move(idle), there, goal, now, plan);
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
