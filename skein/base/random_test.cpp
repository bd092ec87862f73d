#include "skein/base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace skein {
namespace {

TEST(Random, gives_the_published_sequence_of_splitmix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(Random, repeats_for_the_same_seed_and_differs_for_another) {
  Random one(5);
  Random same(5);
  Random other(6);
  int differing = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = one.next();
    ASSERT_EQ(value, same.next());
    differing += value != other.next() ? 1 : 0;
  }
  EXPECT_EQ(differing, 100);
}

TEST(Random, below_stays_below_and_reaches_every_value_about_equally) {
  Random random(9);
  std::array<int, 10> seen{};
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = random.below(10);
    ASSERT_LT(value, 10U);
    ++seen[static_cast<std::size_t>(value)];
  }
  for (const int count : seen) {
    EXPECT_GT(count, 9'500);
    EXPECT_LT(count, 10'500);
  }
}

TEST(Random, below_nothing_is_zero_and_below_one_too) {
  Random random(3);
  EXPECT_EQ(random.below(0), 0U);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, unit_lies_between_zero_and_one_and_chance_follows_it) {
  Random random(11);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    hits += random.chance(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 2'500, 250);
  EXPECT_FALSE(random.chance(0.0));
  EXPECT_TRUE(random.chance(1.0));
}

static_assert(Random(1).next() == Random(1).next(), "usable at compile time");

}  // namespace
}  // namespace skein
