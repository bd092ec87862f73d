#include "skein/routing/slot_buckets.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <vector>

namespace skein {
namespace {

TEST(SlotBuckets, equals_sets_of_a_model_after_random_operations) {
  constexpr std::uint32_t k_slots = 12;
  constexpr std::uint32_t k_buckets = 3;
  const bool holds = rc::check([] {
    SlotBuckets buckets;
    std::vector<std::set<std::uint32_t>> model(k_buckets);
    for (const auto step :
         *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, 2U * k_slots * k_buckets))) {
      const std::uint32_t slot = step % k_slots;
      const std::uint32_t bucket = step / k_slots % k_buckets;
      for (auto& each : model) each.erase(slot);
      if (step / k_slots / k_buckets == 0) {
        buckets.remove(slot);
        buckets.add(bucket, slot);
        model[bucket].insert(slot);
      } else {
        buckets.remove(slot);
      }
      for (std::uint32_t each = 0; each < k_buckets; ++each) {
        const auto slots = buckets.bucket(each);
        RC_ASSERT(std::set<std::uint32_t>(slots.begin(), slots.end()) == model[each]);
        RC_ASSERT(buckets.size(each) == model[each].size());
      }
    }
  });
  EXPECT_TRUE(holds);
}

TEST(SlotBuckets, a_slot_unknown_to_it_is_nowhere) {
  SlotBuckets buckets;
  EXPECT_FALSE(buckets.contains(4));
  buckets.remove(4);
  EXPECT_EQ(buckets.size(0), 0U);
  EXPECT_TRUE(buckets.bucket(9).empty());
}

}  // namespace
}  // namespace skein
