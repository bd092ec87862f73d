#include "sim/seeds.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace skein::sim {
namespace {

std::optional<Seeds> read(const std::vector<std::string>& args) { return read_seeds(args, 500, "x [--seeds N]"); }

TEST(SeedChoice, are_the_default_from_one_on_unless_said_otherwise) {
  const auto none = read({});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->start, 1U);
  EXPECT_EQ(none->count, 500U);
  const auto some = read({"--seeds", "7", "--start", "40", "--first"});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->start, 40U);
  EXPECT_EQ(some->count, 7U);
  EXPECT_TRUE(some->first);
}

TEST(SeedChoice, one_is_told_with_its_trace) {
  const auto one = read({"--seed", "12", "--trace"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->start, 12U);
  EXPECT_EQ(one->count, 1U);
  EXPECT_TRUE(one->trace);
}

TEST(SeedChoice, that_are_not_understood_are_refused) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"--seeds"}, {"--seeds", "many"}, {"--seeds", "7x"}, {"--seeds", "-1"}, {"--sneeds", "7"}, {"7"}}) {
    EXPECT_FALSE(read(args)) << args.at(0);
  }
}

struct TestStory {
  std::optional<std::string> violation;
  std::vector<std::string> trace;
};

TEST(SeedChoice, stop_at_the_story_that_is_violated) {
  std::vector<std::uint64_t> told;
  std::size_t counted = 0;
  const auto tell = [&](std::uint64_t seed, bool) {
    told.push_back(seed);
    return seed == 4 ? TestStory{.violation = "wrong", .trace = {}} : TestStory{};
  };
  EXPECT_FALSE(hold_all({.start = 2, .count = 9}, "x", tell, [&](const TestStory&) { ++counted; }));
  EXPECT_EQ(told, (std::vector<std::uint64_t>{2, 3, 4, 4})) << "and is told again, for its trace";
  EXPECT_EQ(counted, 2U);
}

}  // namespace
}  // namespace skein::sim
