#include "sim/raft_world.hpp"

#include <gtest/gtest.h>

namespace skein::sim::raft {
namespace {

TEST(RaftWorld, some_stories_of_each_size_pass) {
  for (const std::size_t members : {3U, 5U, 7U}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      EXPECT_EQ(tell_raft_story(seed, false, members).violation, std::nullopt)
          << "skein-sim raft --seed " << seed << " --trace --members " << members;
    }
  }
}

TEST(RaftWorld, the_same_seed_tells_the_same_story) {
  for (const std::uint64_t seed : {std::uint64_t{3}, std::uint64_t{8}}) {
    const auto once = tell_raft_story(seed, true, 0);
    const auto again = tell_raft_story(seed, true, 0);
    EXPECT_GT(once.trace.size(), 500U);
    EXPECT_EQ(once.trace, again.trace) << "seed " << seed;
    EXPECT_EQ(once.counts, again.counts) << "seed " << seed;
    EXPECT_EQ(once.tally, again.tally) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skein::sim::raft
