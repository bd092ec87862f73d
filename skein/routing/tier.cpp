#include "skein/routing/tier.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace skein::inline v0 {

void Tier::put(std::uint32_t slot, const SlotStanding& standing) {
  SlotStanding now = standing;
  now.load = std::min(now.load, k_loads - 1);
  if (slot >= standings_.size()) {
    standings_.resize(std::size_t{slot} + 1);
    turn_.resize(std::size_t{slot} + 1);
  }
  groups_ = std::max(groups_, now.group + 1);
  if (contains(slot)) {
    const SlotStanding before = standings_[slot];
    assert(before.group == now.group);
    standings_[slot] = now;
    if ((before.load == 0) != (now.load == 0)) {
      remove_turn(slot, before);
      put_turn(slot, now);
    }
    if (has_loads_ && before.load != now.load) {
      remove_load(slot);
      put_load(slot, now);
    }
    if (has_states_ && before.state != now.state) {
      remove_state(slot, before);
      put_state(slot, now);
    }
    return;
  }
  standings_[slot] = now;
  put_turn(slot, now);
  all_.add(now.group, slot);
  if (has_loads_) put_load(slot, now);
  if (has_states_) put_state(slot, now);
  ++count_;
}

void Tier::remove(std::uint32_t slot) {
  if (!contains(slot)) return;
  remove_turn(slot, standings_[slot]);
  all_.remove(slot);
  if (has_loads_) remove_load(slot);
  if (has_states_) remove_state(slot, standings_[slot]);
  standings_[slot] = SlotStanding{};
  --count_;
}

void Tier::put_turn(std::uint32_t slot, const SlotStanding& standing) {
  turns_.push_back(turn_list(standing.group, standing.load > 0), slot);
  turn_[slot] = next_turn_++;
  if (standing.load > 0) return;
  if (standing.group >= idle_.size()) idle_.resize(std::size_t{standing.group} + 1);
  ++idle_[standing.group];
}

void Tier::remove_turn(std::uint32_t slot, const SlotStanding& standing) {
  turns_.remove(slot);
  if (standing.load == 0) --idle_[standing.group];
}

void Tier::put_load(std::uint32_t slot, const SlotStanding& standing) {
  loads_.push_back(load_list(standing), slot);
  if (standing.group >= loads_there_.size()) loads_there_.resize(std::size_t{standing.group} + 1);
  loads_there_[standing.group][standing.load / 64] |= std::uint64_t{1} << (standing.load % 64);
}

void Tier::remove_load(std::uint32_t slot) {
  const std::uint32_t list = loads_.remove(slot);
  if (list == SlotLists::k_none || loads_.front(list) != SlotLists::k_none) return;
  const std::uint32_t load = list % k_loads;
  loads_there_[list / k_loads][load / 64] &= ~(std::uint64_t{1} << (load % 64));
}

void Tier::put_state(std::uint32_t slot, const SlotStanding& standing) {
  states_.add(state_bucket(standing.group, standing.state), slot);
  if (standing.group >= states_there_.size()) states_there_.resize(std::size_t{standing.group} + 1);
  states_there_[standing.group][standing.state / 64U] |= std::uint64_t{1} << (standing.state % 64U);
}

void Tier::remove_state(std::uint32_t slot, const SlotStanding& standing) {
  states_.remove(slot);
  if (states_.size(state_bucket(standing.group, standing.state)) != 0) return;
  states_there_[standing.group][standing.state / 64U] &= ~(std::uint64_t{1} << (standing.state % 64U));
}

template <class Visit>
void Tier::for_each_state(std::uint32_t group, Visit&& visit) const {
  if (group >= states_there_.size()) return;
  for (std::size_t word = 0; word < states_there_[group].size(); ++word) {
    for (std::uint64_t bits = states_there_[group][word]; bits != 0; bits &= bits - 1) {
      visit(static_cast<QState>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
}

void Tier::need_loads() {
  if (has_loads_) return;
  has_loads_ = true;
  for (std::uint32_t group = 0; group < groups_; ++group) {
    for (const std::uint32_t slot : all_.bucket(group)) put_load(slot, standings_[slot]);
  }
}

void Tier::need_states() {
  if (has_states_) return;
  has_states_ = true;
  for (std::uint32_t group = 0; group < groups_; ++group) {
    for (const std::uint32_t slot : all_.bucket(group)) put_state(slot, standings_[slot]);
  }
}

void Tier::took_turn(std::uint32_t slot) {
  turns_.move_to_back(slot);
  turn_[slot] = next_turn_++;
}

std::uint32_t Tier::next_turn(const Allowed& allowed) {
  for (const bool is_busy : {false, true}) {
    std::uint32_t found = k_none;
    for (const std::uint32_t group : allowed.groups) {
      std::uint32_t slot = turns_.front(turn_list(group, is_busy));
      while (slot != k_none && allowed.avoids(slot)) slot = turns_.after(slot);
      if (slot != k_none && (found == k_none || turn_[slot] < turn_[found])) found = slot;
    }
    if (found == k_none) continue;
    took_turn(found);
    return found;
  }
  return k_none;
}

std::uint32_t Tier::least_of_group(std::uint32_t group, const Allowed& allowed) const {
  if (group >= loads_there_.size()) return k_none;
  for (std::uint32_t word = 0; word < k_words; ++word) {
    for (std::uint64_t bits = loads_there_[group][word]; bits != 0; bits &= bits - 1) {
      const std::uint32_t load = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      std::uint32_t slot = loads_.front(group * k_loads + load);
      while (slot != k_none && allowed.avoids(slot)) slot = loads_.after(slot);
      if (slot != k_none) return slot;
    }
  }
  return k_none;
}

std::uint32_t Tier::least_loaded(const Allowed& allowed) {
  need_loads();
  std::uint32_t found = k_none;
  for (const std::uint32_t group : allowed.groups) {
    const std::uint32_t slot = least_of_group(group, allowed);
    if (slot == k_none) continue;
    const bool better = found == k_none || standings_[slot].load < standings_[found].load ||
                        (standings_[slot].load == standings_[found].load && turn_[slot] < turn_[found]);
    if (better) found = slot;
  }
  if (found != k_none) {
    loads_.move_to_back(found);
    took_turn(found);
  }
  return found;
}

std::uint32_t Tier::numbered(const Allowed& allowed, std::uint64_t number) const {
  std::size_t total = 0;
  for (const std::uint32_t group : allowed.groups) total += all_.size(group);
  if (total == 0) return k_none;
  for (std::size_t step = 0; step < total && step <= allowed.avoid.size(); ++step) {
    std::size_t place = static_cast<std::size_t>((number + step) % total);
    for (const std::uint32_t group : allowed.groups) {
      if (place < all_.size(group)) {
        const std::uint32_t slot = all_.bucket(group)[place];
        if (!allowed.avoids(slot)) return slot;
        break;
      }
      place -= all_.size(group);
    }
  }
  return k_none;
}

std::uint32_t Tier::anyone(const Allowed& allowed, Random& random) { return numbered(allowed, random.next() >> 1U); }

std::uint32_t Tier::two_choices(const Allowed& allowed, Random& random) {
  const std::uint32_t one = anyone(allowed, random);
  if (one == k_none) return k_none;
  for (std::uint32_t draw = 0; draw < k_draws; ++draw) {
    const std::uint32_t other = anyone(allowed, random);
    if (other == one || other == k_none) continue;
    return standings_[other].load < standings_[one].load ? other : one;
  }
  return one;  // hardly any other is there
}

std::uint32_t Tier::draw(std::span<const std::uint32_t> slots, const Allowed& allowed, Random& random) {
  const std::uint64_t first = random.below(slots.size());
  for (std::size_t step = 0; step < slots.size() && step <= allowed.avoid.size(); ++step) {
    const std::uint32_t slot = slots[static_cast<std::size_t>((first + step) % slots.size())];
    if (!allowed.avoids(slot)) return slot;
  }
  return k_none;
}

std::uint32_t Tier::weighted(const Allowed& allowed, const QLearning& learned, Random& random) {
  need_states();
  shares_.clear();
  double sum = 0;
  for (const std::uint32_t group : allowed.groups) {
    for_each_state(group, [&](QState state) {
      const std::uint32_t bucket = state_bucket(group, state);
      const double weight = static_cast<double>(states_.size(bucket)) * learned.weight(state);
      shares_.push_back({bucket, weight});
      sum += weight;
    });
  }
  double drawn = random.unit() * sum;
  for (const Share& share : shares_) {
    drawn -= share.weight;
    if (drawn >= 0 || share.weight <= 0) continue;
    const std::uint32_t slot = draw(states_.bucket(share.bucket), allowed, random);
    if (slot != k_none) return slot;
    break;
  }
  // Every weight there is has vanished beside the greatest, or the draw fell on those to avoid.
  return best_untried(allowed, learned, random);
}

std::uint32_t Tier::best_untried(const Allowed& allowed, const QLearning& learned, Random& random) const {
  std::array<bool, k_q_states> tried{};
  for (;;) {
    std::size_t found = k_q_states;
    double greatest = 0;
    std::size_t slots = 0;
    for (const std::uint32_t group : allowed.groups) {
      for_each_state(group, [&](QState state) {
        if (tried[state]) return;
        const double value = learned.value(state);
        if (found == k_q_states || value > greatest) {
          found = state;
          greatest = value;
          slots = 0;
        }
        if (state == found) slots += states_.size(state_bucket(group, state));
      });
    }
    if (found == k_q_states) return k_none;
    tried[found] = true;
    // A group at random, by its share of the slots; should all of its be avoided, the others in turn.
    std::uint64_t place = random.below(slots);
    for (std::size_t turn = 0; turn < 2; ++turn) {
      for (const std::uint32_t group : allowed.groups) {
        const std::span<const std::uint32_t> bucket = states_.bucket(state_bucket(group, found));
        if (place >= bucket.size()) {
          place -= bucket.size();
          continue;
        }
        place = 0;
        if (bucket.empty()) continue;
        const std::uint32_t slot = draw(bucket, allowed, random);
        if (slot != k_none) return slot;
      }
    }
  }
}

std::optional<double> Tier::best_value(const Allowed& allowed, const QLearning& learned) {
  need_states();
  std::optional<double> greatest;
  for (const std::uint32_t group : allowed.groups) {
    for_each_state(group, [&](QState state) {
      const double value = learned.value(state);
      if (greatest && value <= *greatest) return;
      const auto slots = states_.bucket(state_bucket(group, state));
      if (std::ranges::any_of(slots, [&](std::uint32_t slot) { return !allowed.avoids(slot); })) greatest = value;
    });
  }
  return greatest;
}

std::uint32_t Tier::best(const Allowed& allowed, const QLearning& learned, Random& random) {
  need_states();
  if (random.chance(learned.explore())) return anyone(allowed, random);
  return best_untried(allowed, learned, random);
}

}  // namespace skein::inline v0
