#include "skein/routing/pool.hpp"

#include <algorithm>

namespace skein::inline v0 {

std::uint32_t Pool::group_of(std::uint32_t executor, const Bulkhead* bulkhead) {
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].executor == executor) return group;
  }
  groups_.push_back({executor, bulkhead});
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

std::uint32_t Pool::add(Member member, std::uint32_t executor, const Bulkhead* bulkhead) {
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(members_.size());
    members_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  members_[slot] = {member, group_of(executor, bulkhead), k_no_tier};
  if (ring_) ring_->add({slot, member.identity});
  return slot;
}

void Pool::remove(std::uint32_t slot) {
  if (members_[slot].tier != k_no_tier) tiers_[members_[slot].tier].remove(slot);
  if (ring_) ring_->remove({slot, members_[slot].member.identity});
  members_[slot] = Slot{};
  free_.push_back(slot);
}

Pool::TierIndex Pool::tier_of(const Standing& standing) {
  if (standing.readiness == Readiness::not_now) return k_no_tier;
  const bool is_healthy = standing.readiness == Readiness::ready;
  if (standing.load == 0) return is_healthy ? k_idle : k_idle_poorly;
  return is_healthy ? k_busy : k_busy_poorly;
}

void Pool::update(std::uint32_t slot, const Standing& standing) {
  Slot& member = members_[slot];
  const TierIndex tier = tier_of(standing);
  if (member.tier != tier && member.tier != k_no_tier) tiers_[member.tier].remove(slot);
  member.tier = tier;
  if (tier != k_no_tier) tiers_[tier].put(slot, {member.group, standing.load, standing.state});
}

void Pool::prepare(Balance strategy) {
  if (strategy != Balance::consistent_hash || ring_) return;
  std::vector<HashRing::Member> members;
  members.reserve(members_.size());
  for (std::uint32_t slot = 0; slot < members_.size(); ++slot) {
    if (members_[slot].member.agent != k_none) members.push_back({slot, members_[slot].member.identity});
  }
  ring_.emplace(members);
}

// Among those of two tiers, whose members are as healthy.
std::uint32_t Pool::by_key(std::uint64_t key, const Allowed& allowed, TierIndex idle, TierIndex busy) const {
  const auto accept = [&](std::uint32_t slot) {
    return (members_[slot].tier == idle || members_[slot].tier == busy) &&
           std::ranges::binary_search(allowed.groups, members_[slot].group) && !allowed.avoids(slot);
  };
  const std::uint32_t slot = ring_->find(key, k_walk_max, accept);
  if (slot != HashRing::k_none) return slot;
  // Hardly anybody is ready: still the same agent for the same key while the set does not change.
  const std::uint32_t free = tiers_[idle].numbered(allowed, key >> 1U);
  return free != k_none ? free : tiers_[busy].numbered(allowed, key >> 1U);
}

std::uint32_t Pool::choose_from(Tier& tier, const Question& question, const Allowed& allowed, Random& random) {
  switch (question.strategy) {
    case Balance::round_robin:
      return tier.next_turn(allowed);
    case Balance::least_connections:
      return tier.least_loaded(allowed);
    case Balance::weighted:
      return tier.weighted(allowed, *question.learned, random);
    case Balance::consistent_hash:  // by_key()
      break;
    case Balance::two_choices:
      return tier.two_choices(allowed, random);
    case Balance::q_learning:
      return tier.best(allowed, *question.learned, random);
  }
  return k_none;
}

void Pool::look_for_open_groups() {
  open_groups_.clear();
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    const Bulkhead* bulkhead = groups_[group].bulkhead;
    if (bulkhead == nullptr || bulkhead->has_room()) open_groups_.push_back(group);
  }
}

std::optional<double> Pool::best_value(const QLearning& learned, std::span<const std::uint32_t> avoid) {
  look_for_open_groups();
  for (Tier& tier : tiers_) {
    if (tier.empty()) continue;
    if (const auto value = tier.best_value(Allowed{open_groups_, avoid}, learned)) return value;
  }
  return std::nullopt;
}

std::size_t Pool::idle_beside(std::uint32_t holder, std::span<const std::uint32_t> avoid) {
  look_for_open_groups();
  // Its place in the bulkhead would be free.
  const std::uint32_t its_group = members_[holder].group;
  if (!std::ranges::binary_search(open_groups_, its_group)) open_groups_.push_back(its_group);
  std::size_t count = 0;
  for (const std::uint32_t group : open_groups_)
    count += tiers_[k_idle].idle(group) + tiers_[k_idle_poorly].idle(group);
  for (const std::uint32_t slot : avoid) {
    const bool is_idle = members_[slot].tier == k_idle || members_[slot].tier == k_idle_poorly;
    if (is_idle && std::ranges::find(open_groups_, members_[slot].group) != open_groups_.end()) --count;
  }
  return count;
}

std::uint32_t Pool::choose(const Question& question, Random& random) {
  prepare(question.strategy);
  look_for_open_groups();
  const Allowed allowed{open_groups_, question.avoid};
  if (question.strategy == Balance::consistent_hash) {
    std::uint32_t slot = by_key(question.key, allowed, k_idle, k_busy);
    if (slot == k_none) slot = by_key(question.key, allowed, k_idle_poorly, k_busy_poorly);
    return slot != k_none ? members_[slot].member.agent : k_none;
  }
  for (Tier& tier : tiers_) {
    if (tier.empty()) continue;
    const std::uint32_t slot = choose_from(tier, question, allowed, random);
    if (slot != k_none) return members_[slot].member.agent;
  }
  return k_none;
}

}  // namespace skein::inline v0
