#include "sim/archive_walk.hpp"

#include <gtest/gtest.h>

namespace skein::sim {
namespace {

TEST(ArchiveWalks, lose_nothing_in_silence) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto violation = tell_archive_story(seed);
    ASSERT_FALSE(violation) << "seed " << seed << ": " << *violation;
  }
}

}  // namespace
}  // namespace skein::sim
