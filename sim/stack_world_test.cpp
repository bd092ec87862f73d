#include "sim/stack_world.hpp"

#include <gtest/gtest.h>

namespace skein::sim {
namespace {

TEST(StackWorld, some_stories_pass) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    EXPECT_EQ(tell_stack_story(seed, false).violation, std::nullopt)
        << "skein-sim ledger --seed " << seed << " --trace";
  }
}

// Once violated: commands gathered beyond what the journal takes at once, and limits lowered below what is open.
TEST(StackWorld, stories_that_once_failed_pass) {
  for (const std::uint64_t seed : {301ULL, 2225ULL, 102639ULL, 200241ULL, 306972ULL, 30014435ULL}) {
    EXPECT_EQ(tell_stack_story(seed, false).violation, std::nullopt)
        << "skein-sim ledger --seed " << seed << " --trace";
  }
}

TEST(StackWorld, the_same_seed_tells_the_same_story) {
  for (const std::uint64_t seed : {std::uint64_t{3}, std::uint64_t{8}}) {
    const auto once = tell_stack_story(seed, true);
    const auto again = tell_stack_story(seed, true);
    EXPECT_GT(once.trace.size(), 50U);
    EXPECT_EQ(once.trace, again.trace) << "seed " << seed;
    EXPECT_EQ(once.counts, again.counts) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skein::sim
