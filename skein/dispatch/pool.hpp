// The agents that have one set of capabilities, arranged so that choosing one does not depend on how many there are.
//
// Members are those who could ever do the task; of them the ready ones stand in the first tier, those whose health is
// poor in the second (used only when nobody better is allowed), the rest (busy, paused, broken) in none. So health
// comes first, then the breaker, then the bulkhead (groups with room), then the strategy. The hash ring is over all
// members, so that load does not move keys. The Router tells a pool of every change. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/dispatch/balance.hpp"
#include "skein/dispatch/hash_ring.hpp"
#include "skein/dispatch/q_learning.hpp"
#include "skein/dispatch/tier.hpp"
#include "skein/resilience/bulkhead.hpp"

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
  [[nodiscard]] std::size_t ready() const { return tiers_[0].size(); }
  [[nodiscard]] std::size_t poorly() const { return tiers_[1].size(); }

  // Returns its slot. `executor` is what it shares with others, with that one's bulkhead; nullptr: nothing limits it.
  std::uint32_t add(Member member, std::uint32_t executor, const Bulkhead* bulkhead);
  void remove(std::uint32_t slot);
  void update(std::uint32_t slot, const Standing& standing);

  // The agent chosen, or k_none: nobody is in a tier and has room in its bulkhead and is not to be avoided.
  [[nodiscard]] std::uint32_t choose(const Question& question, Random& random);
  // The greatest Q among those that choose() could choose, the healthy before the poorly; nothing when there are none.
  [[nodiscard]] std::optional<double> best_value(const QLearning& learned, std::span<const std::uint32_t> avoid);
  // How many healthy members hold nothing and could be chosen if `holder`, a slot, gave back a task it has.
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
  struct Slot {
    Member member;
    std::uint32_t group = 0;
  };
  struct Group {
    std::uint32_t executor = 0;
    const Bulkhead* bulkhead = nullptr;
  };
  // Those whose bulkhead has room.
  void look_for_open_groups();
  [[nodiscard]] std::uint32_t group_of(std::uint32_t executor, const Bulkhead* bulkhead);
  [[nodiscard]] std::uint32_t choose_from(Tier& tier, const Question& question, const Allowed& allowed, Random& random);
  [[nodiscard]] std::uint32_t by_key(const Tier& tier, std::uint64_t key, const Allowed& allowed) const;

  std::vector<std::uint32_t> capabilities_;
  std::vector<Slot> members_;
  std::vector<std::uint32_t> free_;
  std::vector<Group> groups_;
  std::array<Tier, 2> tiers_;
  std::optional<HashRing> ring_;
  std::vector<std::uint32_t> open_groups_;  // of the question at hand; kept for its memory
};

}  // namespace skein::inline v0
