#include "skein/consensus/quorum.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace skein::inline v0::consensus {
namespace {

std::uint64_t reached(std::vector<std::uint64_t> all) { return reached_by_majority(all); }
VoteResult votes(std::vector<std::optional<bool>> all) { return result_of(all); }

TEST(Quorum, a_majority_has_reached_the_middle) {
  EXPECT_EQ(reached({7}), 7U);
  EXPECT_EQ(reached({7, 3}), 3U) << "of two, both";
  EXPECT_EQ(reached({7, 3, 5}), 5U);
  EXPECT_EQ(reached({7, 3, 5, 1}), 3U) << "of four, three";
  EXPECT_EQ(reached({9, 1, 8, 2, 5}), 5U);
  EXPECT_EQ(reached({}), ~std::uint64_t{0}) << "without voters";
}

TEST(Quorum, agrees_with_counting) {
  for (std::uint64_t code = 0; code < 3125; ++code) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t rest = code, i = 0; i < 5; ++i, rest /= 5) all.push_back(rest % 5);
    std::uint64_t expected = 0;
    for (std::uint64_t at = 0; at < 5; ++at) {
      if (std::ranges::count_if(all, [&](std::uint64_t each) { return each >= at; }) >= 3) expected = at;
    }
    EXPECT_EQ(reached(all), expected);
  }
}

TEST(Quorum, a_vote_is_won_by_a_majority_and_lost_when_none_is_left) {
  EXPECT_EQ(votes({}), VoteResult::won);
  EXPECT_EQ(votes({true}), VoteResult::won);
  EXPECT_EQ(votes({true, std::nullopt}), VoteResult::pending);
  EXPECT_EQ(votes({true, false}), VoteResult::lost);
  EXPECT_EQ(votes({true, false, std::nullopt}), VoteResult::pending);
  EXPECT_EQ(votes({true, false, true}), VoteResult::won);
  EXPECT_EQ(votes({false, false, std::nullopt}), VoteResult::lost);
}

}  // namespace
}  // namespace skein::inline v0::consensus
