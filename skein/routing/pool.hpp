// The agents that have one set of capabilities, arranged so that choosing one does not depend on how many there are.
//
// Members are the agents that could ever do the task. Those that may be chosen stand in one of four tiers, and a
// question goes to the first tier that has somebody allowed:
//   idle and healthy, idle and poorly, at work and healthy, at work and poorly.
// So an idle agent is never passed over for one at work, where the task would only wait; health, breaker
// (in no tier while it is open), bulkhead (groups with room) and strategy choose among those who can begin. The others
// (busy, paused, broken) stand in no tier. A key of consistent_hash is the exception: it stays with its agent, idle or
// at work, and health comes first; the hash ring is over all members, so that load does not move keys. The Router tells
// a pool of every change. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/resilience/bulkhead.hpp"
#include "skein/routing/balance.hpp"
#include "skein/routing/hash_ring.hpp"
#include "skein/routing/q_learning.hpp"
#include "skein/routing/tier.hpp"

namespace skein::inline v0 {

enum class Readiness : std::uint8_t { ready, poorly, not_now };

class Pool {
 public:
  static constexpr std::uint32_t k_none = UINT32_MAX;
  static constexpr std::size_t k_walk_max = 256;  // points of the ring looked at before a key goes elsewhere

  struct Member {
    std::uint32_t agent = k_none;
    std::uint64_t identity = 0;
  };
  struct Standing {
    Readiness readiness = Readiness::not_now;
    std::uint32_t load = 0;
    QState state = 0;
    friend constexpr bool operator==(const Standing&, const Standing&) = default;
  };
  struct Question {
    Balance strategy = Balance::round_robin;
    std::uint64_t key = 0;                 // hash of the key, for consistent_hash
    std::span<const std::uint32_t> avoid;  // slots, few
    const QLearning* learned = nullptr;
  };

  explicit Pool(std::vector<std::uint32_t> capabilities) : capabilities_(std::move(capabilities)) {}

  // Sorted numbers of the capabilities required.
  [[nodiscard]] const std::vector<std::uint32_t>& capabilities() const { return capabilities_; }
  [[nodiscard]] std::size_t members() const { return members_.size() - free_.size(); }
  [[nodiscard]] std::size_t ready() const { return tiers_[k_idle].size() + tiers_[k_busy].size(); }
  [[nodiscard]] std::size_t poorly() const { return tiers_[k_idle_poorly].size() + tiers_[k_busy_poorly].size(); }

  // Returns its slot. `executor` is what it shares with others, with that one's bulkhead; nullptr: nothing limits it.
  std::uint32_t add(Member member, std::uint32_t executor, const Bulkhead* bulkhead);
  void remove(std::uint32_t slot);
  void update(std::uint32_t slot, const Standing& standing);

  // The agent chosen, or k_none: nobody is in a tier and has room in its bulkhead and is not to be avoided.
  [[nodiscard]] std::uint32_t choose(const Question& question, Random& random);
  // The greatest Q among those that choose() could choose, by the first tier that has any; nothing when none has.
  [[nodiscard]] std::optional<double> best_value(const QLearning& learned, std::span<const std::uint32_t> avoid);
  // How many members hold nothing and could be chosen if `holder`, a slot, gave back a task it has; the poorly too.
  [[nodiscard]] std::size_t idle_beside(std::uint32_t holder, std::span<const std::uint32_t> avoid);
  // Builds what the strategy needs ahead of the first question.
  void prepare(Balance strategy);

  template <class Visit>
  void for_each_agent(Visit&& visit) const {
    for (const Slot& slot : members_) {
      if (slot.member.agent != k_none) visit(slot.member.agent);
    }
  }

 private:
  enum TierIndex : std::uint8_t { k_idle, k_idle_poorly, k_busy, k_busy_poorly, k_no_tier };

  struct Slot {
    Member member;
    std::uint32_t group = 0;
    std::uint8_t tier = k_no_tier;
  };
  struct Group {
    std::uint32_t executor = 0;
    const Bulkhead* bulkhead = nullptr;
  };
  // Those whose bulkhead has room.
  void look_for_open_groups();
  [[nodiscard]] std::uint32_t group_of(std::uint32_t executor, const Bulkhead* bulkhead);
  [[nodiscard]] std::uint32_t choose_from(Tier& tier, const Question& question, const Allowed& allowed, Random& random);
  [[nodiscard]] std::uint32_t by_key(std::uint64_t key, const Allowed& allowed, TierIndex idle, TierIndex busy) const;
  [[nodiscard]] static TierIndex tier_of(const Standing& standing);

  std::vector<std::uint32_t> capabilities_;
  std::vector<Slot> members_;
  std::vector<std::uint32_t> free_;
  std::vector<Group> groups_;
  std::array<Tier, k_no_tier> tiers_;
  std::optional<HashRing> ring_;
  std::vector<std::uint32_t> open_groups_;  // of the question at hand; kept for its memory
};

}  // namespace skein::inline v0
