#include "skein/dispatch/pool.hpp"

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
  members_[slot] = {member, group_of(executor, bulkhead)};
  if (ring_) ring_->add({slot, member.identity});
  return slot;
}

void Pool::remove(std::uint32_t slot) {
  for (Tier& tier : tiers_) tier.remove(slot);
  if (ring_) ring_->remove({slot, members_[slot].member.identity});
  members_[slot] = Slot{};
  free_.push_back(slot);
}

void Pool::update(std::uint32_t slot, const Standing& standing) {
  const SlotStanding there{members_[slot].group, standing.load, standing.state};
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (static_cast<std::size_t>(standing.readiness) == tier) {
      tiers_[tier].put(slot, there);
    } else {
      tiers_[tier].remove(slot);
    }
  }
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

std::uint32_t Pool::by_key(const Tier& tier, std::uint64_t key, const Allowed& allowed) const {
  const auto accept = [&](std::uint32_t slot) {
    return tier.contains(slot) && std::ranges::binary_search(allowed.groups, members_[slot].group) &&
           !allowed.avoids(slot);
  };
  const std::uint32_t slot = ring_->find(key, k_walk_max, accept);
  // Hardly anybody is ready: still the same agent for the same key while the set does not change.
  return slot != HashRing::k_none ? slot : tier.numbered(allowed, key >> 1U);
}

std::uint32_t Pool::choose_from(Tier& tier, const Question& question, const Allowed& allowed, Random& random) {
  switch (question.strategy) {
    case Balance::round_robin:
      return tier.next_turn(allowed);
    case Balance::least_connections:
      return tier.least_loaded(allowed);
    case Balance::weighted:
      return tier.weighted(allowed, *question.learned, random);
    case Balance::consistent_hash:
      return by_key(tier, question.key, allowed);
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
  const Tier& healthy = tiers_[0];
  std::size_t count = 0;
  for (const std::uint32_t group : open_groups_) count += healthy.idle(group);
  for (const std::uint32_t slot : avoid) {
    const bool is_counted = healthy.contains(slot) && healthy.standing(slot).load == 0 &&
                            std::ranges::find(open_groups_, members_[slot].group) != open_groups_.end();
    if (is_counted) --count;
  }
  return count;
}

std::uint32_t Pool::choose(const Question& question, Random& random) {
  prepare(question.strategy);
  look_for_open_groups();
  const Allowed allowed{open_groups_, question.avoid};
  for (Tier& tier : tiers_) {
    if (tier.empty()) continue;
    const std::uint32_t slot = choose_from(tier, question, allowed, random);
    if (slot != k_none) return members_[slot].member.agent;
  }
  return k_none;
}

}  // namespace skein::inline v0
