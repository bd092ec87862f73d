// The agents of a pool that may be chosen at this moment, arranged for every strategy.
//
// Agents are slots here, and slots are in groups: those of one group share an executor, so a group whose bulkhead is
// full is left out as a whole. A choice costs the number of groups (executors are few) and not the number of agents:
// lists in the order of turns (those who hold nothing apart from those at work), lists per load with a bit map of those
// not empty, arrays to draw from at random, arrays per state of learning. What a strategy needs is built when it is
// first asked for. For Pool only. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/routing/q_learning.hpp"
#include "skein/routing/slot_buckets.hpp"
#include "skein/routing/slot_lists.hpp"

namespace skein::inline v0 {

// Where a slot stands: its group, load and state of learning.
struct SlotStanding {
  std::uint32_t group = UINT32_MAX;
  std::uint32_t load = 0;
  QState state = 0;
};

// Which slots a choice may fall on.
struct Allowed {
  std::span<const std::uint32_t> groups;  // those with room
  std::span<const std::uint32_t> avoid;   // slots; few

  [[nodiscard]] bool avoids(std::uint32_t slot) const {
    for (const std::uint32_t each : avoid) {
      if (each == slot) return true;
    }
    return false;
  }
};

class Tier {
 public:
  static constexpr std::uint32_t k_none = UINT32_MAX;
  static constexpr std::uint32_t k_loads = 1024;  // one more than the greatest load that can be told apart
  static constexpr std::uint32_t k_draws = 8;     // tries of power of two choices before it takes the next in turn

  [[nodiscard]] bool contains(std::uint32_t slot) const {
    return slot < standings_.size() && standings_[slot].group != k_none;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t size(std::uint32_t group) const { return all_.size(group); }
  // The slots that hold nothing.
  [[nodiscard]] std::size_t idle(std::uint32_t group) const { return group < idle_.size() ? idle_[group] : 0; }
  [[nodiscard]] const SlotStanding& standing(std::uint32_t slot) const { return standings_[slot]; }

  // Adds it, or takes note of its new standing.
  void put(std::uint32_t slot, const SlotStanding& standing);
  void remove(std::uint32_t slot);

  // Each answers k_none when no slot is allowed.
  // Idle slots come before those at work; among equals, the one that was chosen or became free longest ago.
  [[nodiscard]] std::uint32_t next_turn(const Allowed& allowed);
  [[nodiscard]] std::uint32_t least_loaded(const Allowed& allowed);
  [[nodiscard]] std::uint32_t two_choices(const Allowed& allowed, Random& random);
  [[nodiscard]] std::uint32_t weighted(const Allowed& allowed, const QLearning& learned, Random& random);
  [[nodiscard]] std::uint32_t best(const Allowed& allowed, const QLearning& learned, Random& random);
  [[nodiscard]] std::uint32_t anyone(const Allowed& allowed, Random& random);
  // The greatest Q of the states that those allowed are in; nothing when there are none.
  [[nodiscard]] std::optional<double> best_value(const Allowed& allowed, const QLearning& learned);
  // The slot at `number` (modulo how many there are) among those allowed, or the next one.
  [[nodiscard]] std::uint32_t numbered(const Allowed& allowed, std::uint64_t number) const;

 private:
  static constexpr std::uint32_t k_words = k_loads / 64;
  using Loads = std::array<std::uint64_t, k_words>;  // bit set: some slot has this load
  using States = std::array<std::uint64_t, (k_q_states + 63) / 64>;
  struct Share {
    std::uint32_t bucket = 0;
    double weight = 0;
  };

  [[nodiscard]] static std::uint32_t load_list(const SlotStanding& standing) {
    return standing.group * k_loads + standing.load;
  }
  [[nodiscard]] static std::uint32_t state_bucket(std::uint32_t group, std::size_t state) {
    return group * static_cast<std::uint32_t>(k_q_states) + static_cast<std::uint32_t>(state);
  }
  [[nodiscard]] static std::uint32_t turn_list(std::uint32_t group, bool is_busy) {
    return 2 * group + (is_busy ? 1U : 0U);
  }
  void put_turn(std::uint32_t slot, const SlotStanding& standing);
  void remove_turn(std::uint32_t slot, const SlotStanding& standing);
  void put_load(std::uint32_t slot, const SlotStanding& standing);
  void remove_load(std::uint32_t slot);
  void put_state(std::uint32_t slot, const SlotStanding& standing);
  void remove_state(std::uint32_t slot, const SlotStanding& standing);
  void need_loads();
  void need_states();
  void took_turn(std::uint32_t slot);
  [[nodiscard]] std::uint32_t least_of_group(std::uint32_t group, const Allowed& allowed) const;
  // One of the slots, or k_none when all of them are to be avoided.
  [[nodiscard]] static std::uint32_t draw(std::span<const std::uint32_t> slots, const Allowed& allowed, Random& random);
  template <class Visit>
  void for_each_state(std::uint32_t group, Visit&& visit) const;
  [[nodiscard]] std::uint32_t best_untried(const Allowed& allowed, const QLearning& learned, Random& random) const;

  std::size_t count_ = 0;
  std::vector<SlotStanding> standings_;  // group k_none: not in this tier
  SlotLists turns_;                      // list: group, and whether it is at work
  std::vector<std::uint64_t> turn_;      // per slot: when it came to the end of its list
  std::uint64_t next_turn_ = 1;
  std::vector<std::uint32_t> idle_;  // per group: how many hold nothing
  SlotBuckets all_;                  // bucket: group
  std::uint32_t groups_ = 0;
  bool has_loads_ = false;
  SlotLists loads_;
  std::vector<Loads> loads_there_;  // per group
  bool has_states_ = false;
  SlotBuckets states_;                // bucket: group and state
  std::vector<States> states_there_;  // per group
  std::vector<Share> shares_;         // of the choice at hand; kept for its memory
};

}  // namespace skein::inline v0
