#include "skein/consensus/term_map.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "skein/base/random.hpp"

namespace skein::inline v0::consensus {
namespace {

// Positions 11 to 20: 11, 12 of term 3; 13 to 17 of term 5; 18 to 20 of term 8. The base 10 is of term 2.
TermMap a_map() {
  TermMap map(10, 2);
  map.append_run(12, 3);
  map.append_run(17, 5);
  map.append_run(20, 8);
  return map;
}

TEST(TermMap, knows_the_term_of_every_position_from_the_base_on) {
  const TermMap map = a_map();
  EXPECT_EQ(map.at(9), std::nullopt);
  EXPECT_EQ(map.at(10), 2U);
  EXPECT_EQ(map.at(12), 3U);
  EXPECT_EQ(map.at(13), 5U);
  EXPECT_EQ(map.at(20), 8U);
  EXPECT_EQ(map.at(21), std::nullopt);
  EXPECT_EQ(map.last_term(), 8U);
}

TEST(TermMap, finds_the_last_position_whose_term_is_no_higher) {
  const TermMap map = a_map();
  EXPECT_EQ(map.last_with_term_up_to(20, 7), 17U);
  EXPECT_EQ(map.last_with_term_up_to(15, 7), 15U);
  EXPECT_EQ(map.last_with_term_up_to(99, 8), 20U);
  EXPECT_EQ(map.last_with_term_up_to(20, 4), 12U);
  EXPECT_EQ(map.last_with_term_up_to(20, 1), 10U) << "the base, when there is none";
  EXPECT_EQ(map.last_with_term_up_to(5, 9), 10U);
}

TEST(TermMap, forgets_a_tail_and_a_beginning) {
  TermMap map = a_map();
  map.truncate_from(13);
  EXPECT_EQ(map.last(), 12U);
  EXPECT_EQ(map.last_term(), 3U);
  map.truncate_from(5);
  EXPECT_EQ(map.last(), 10U) << "not the base";
  map = a_map();
  map.forget_before(15);
  EXPECT_EQ(map.base(), 15U);
  EXPECT_EQ(map.at(14), std::nullopt);
  EXPECT_EQ(map.at(15), 5U);
  map.forget_before(12);
  EXPECT_EQ(map.base(), 15U);
}

TEST(TermMapDeathTest, terms_do_not_fall) {
  TermMap map = a_map();
  EXPECT_DEATH(map.append(7), "term_map.hpp 1");
}

TEST(TermMap, says_what_a_list_of_all_terms_says) {
  Random random(7);
  for (int story = 0; story < 200; ++story) {
    TermMap map(0, 0);
    std::vector<Term> all{0};
    Position base = 0;
    for (int step = 0; step < 50; ++step) {
      const auto what = random.below(10);
      if (what < 7) {
        all.push_back(all.back() + random.below(3));
        map.append(all.back());
      } else if (what < 9 && all.size() > base + 1) {
        const Position from = base + 1 + random.below(all.size() - base - 1);
        all.resize(from);
        map.truncate_from(from);
      } else {
        base = std::max<Position>(base, base + random.below(all.size() - base));
        map.forget_before(base);
      }
      ASSERT_EQ(map.last(), all.size() - 1);
      ASSERT_EQ(map.base(), base);
      for (Position at = base; at < all.size(); ++at) ASSERT_EQ(map.at(at), all[at]);
    }
  }
}

}  // namespace
}  // namespace skein::inline v0::consensus
