#include "skein/routing/hash_ring.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace skein {
namespace {

const auto k_anyone = [](std::uint32_t) { return true; };

HashRing::Member member(std::uint32_t slot) { return {slot, stable_hash("agent-" + std::to_string(slot))}; }

std::uint64_t key(std::size_t number) { return stable_hash("key-" + std::to_string(number)); }

TEST(HashRing, has_hashes_that_are_the_same_everywhere) {
  EXPECT_EQ(stable_hash(""), 0xf52a15e9a9b5e89bULL);
  EXPECT_EQ(stable_hash("agent-1"), 0x222fc0d9dfe479b2ULL);
}

TEST(HashRing, an_empty_one_has_nobody) {
  HashRing ring;
  EXPECT_EQ(ring.find(key(1), 100, k_anyone), HashRing::k_none);
  ring.add(member(3));
  EXPECT_EQ(ring.find(key(1), 100, k_anyone), 3U);
  ring.remove(member(3));
  EXPECT_EQ(ring.points(), 0U);
  EXPECT_EQ(ring.find(key(1), 100, k_anyone), HashRing::k_none);
}

TEST(HashRing, built_one_by_one_or_at_once_answers_the_same) {
  std::vector<HashRing::Member> members;
  HashRing slowly;
  for (std::uint32_t slot = 0; slot < 200; ++slot) {
    members.push_back(member(slot));
    slowly.add(member(slot));
  }
  const HashRing at_once(members);
  ASSERT_EQ(slowly.points(), 200U * HashRing::k_points);
  ASSERT_EQ(at_once.points(), slowly.points());
  for (std::size_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(slowly.find(key(i), 1, k_anyone), at_once.find(key(i), 1, k_anyone)) << "key " << i;
  }
}

TEST(HashRing, a_walk_meets_everybody_and_ends) {
  HashRing ring;
  for (std::uint32_t slot = 0; slot < 5; ++slot) ring.add(member(slot));
  std::set<std::uint32_t> met;
  const auto nobody = [&](std::uint32_t slot) {
    met.insert(slot);
    return false;
  };
  EXPECT_EQ(ring.find(key(7), 1'000'000, nobody), HashRing::k_none);
  EXPECT_EQ(met, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(HashRing, answers_as_a_sorted_map_does_after_random_joins_and_leaves) {
  const bool holds = rc::check([] {
    HashRing ring;
    std::set<std::uint32_t> there;
    for (const auto slot : *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 16U))) {
      if (there.insert(slot).second) {
        ring.add(member(slot));
      } else {
        there.erase(slot);
        ring.remove(member(slot));
      }
    }
    // A ring made afresh of those who are there must agree with the one that has a history.
    std::vector<HashRing::Member> members;
    for (const std::uint32_t slot : there) members.push_back(member(slot));
    const HashRing fresh(members);
    RC_ASSERT(ring.points() == there.size() * HashRing::k_points);
    for (std::size_t i = 0; i < 200; ++i) RC_ASSERT(ring.find(key(i), 1, k_anyone) == fresh.find(key(i), 1, k_anyone));
  });
  EXPECT_TRUE(holds);
}

TEST(HashRing, moves_at_most_1_3_nths_of_the_keys_when_one_leaves_and_no_other_key) {
  constexpr std::size_t k_keys = 20'000;
  for (const std::uint32_t agents : {2U, 5U, 20U, 100U}) {
    HashRing ring;
    for (std::uint32_t slot = 0; slot < agents; ++slot) ring.add(member(slot));
    std::vector<std::uint32_t> before(k_keys);
    for (std::size_t i = 0; i < k_keys; ++i) before[i] = ring.find(key(i), 1, k_anyone);
    for (std::uint32_t gone = 0; gone < std::min(agents, 5U); ++gone) {
      ring.remove(member(gone));
      std::size_t moved = 0;
      for (std::size_t i = 0; i < k_keys; ++i) {
        const bool has_moved = ring.find(key(i), 1, k_anyone) != before[i];
        moved += has_moved ? 1 : 0;
        ASSERT_EQ(has_moved, before[i] == gone) << "key " << i << " of another agent moved";
      }
      EXPECT_LE(static_cast<double>(moved), 1.3 * k_keys / agents) << agents << " agents, " << gone << " left";
      ring.add(member(gone));
    }
  }
}

}  // namespace
}  // namespace skein
