#include "skein/journal/proposals.hpp"

#include <gtest/gtest.h>

namespace skein::journal {
namespace {

class ProposalsTest : public testing::Test {
 protected:
  void propose(Term term, Position first, Position last) {
    proposals_.add({.term = term, .first = first, .last = last, .done = [](const AppendAnswer&) {}});
  }
  // Whose entry it is, by its first position; 0 for nobody's.
  Position next(Position position, Term term) {
    const Proposal* own = proposals_.next(position, term, [&](Proposal&& each) { lost_.push_back(each.first); });
    return own == nullptr ? 0 : own->first;
  }

  Proposals proposals_;
  std::vector<Position> lost_;
};

TEST_F(ProposalsTest, an_entry_of_the_same_term_is_the_batchs_own) {
  propose(3, 5, 6);
  propose(3, 8, 8);
  EXPECT_EQ(next(4, 3), 0U) << "the leader's own first entry";
  EXPECT_EQ(next(5, 3), 5U);
  EXPECT_EQ(next(6, 3), 5U);
  EXPECT_EQ(proposals_.take_done().first, 5U);
  EXPECT_EQ(next(7, 3), 0U) << "a change of the membership";
  EXPECT_EQ(next(8, 3), 8U);
  EXPECT_TRUE(lost_.empty());
}

TEST_F(ProposalsTest, an_entry_of_a_later_term_before_a_batch_ends_its_wait) {
  propose(3, 5, 5);
  propose(3, 9, 9);
  EXPECT_EQ(next(4, 3), 0U);
  EXPECT_EQ(next(5, 4), 0U);
  EXPECT_EQ(lost_, (std::vector<Position>{5, 9})) << "whoever leads in term 4 does not have them";
}

TEST_F(ProposalsTest, entries_of_earlier_terms_say_nothing) {
  propose(3, 5, 5);
  EXPECT_EQ(next(3, 1), 0U);
  EXPECT_EQ(next(4, 2), 0U);
  EXPECT_TRUE(lost_.empty());
}

TEST_F(ProposalsTest, one_place_that_was_proposed_for_twice_belongs_to_the_term_that_is_applied) {
  propose(3, 5, 5);
  propose(5, 5, 5);
  EXPECT_EQ(next(5, 5), 5U);
  EXPECT_EQ(lost_, std::vector<Position>{5});
  EXPECT_EQ(proposals_.take_done().term, 5U);
  EXPECT_TRUE(proposals_.empty());
}

TEST_F(ProposalsTest, what_a_snapshot_covers_nobody_can_tell) {
  propose(3, 5, 5);
  propose(3, 6, 6);
  propose(3, 7, 7);
  std::vector<Position> unknown;
  proposals_.restored(6, [&](Proposal&& each) { unknown.push_back(each.first); });
  EXPECT_EQ(unknown, (std::vector<Position>{5, 6}));
  EXPECT_EQ(next(7, 3), 7U);
}

TEST_F(ProposalsTest, what_the_disk_refused_is_given_back_in_order) {
  propose(3, 5, 5);
  propose(3, 6, 7);
  propose(3, 8, 8);
  std::vector<Position> refused;
  proposals_.given_up(6, [&](Proposal&& each) { refused.push_back(each.first); });
  EXPECT_EQ(refused, (std::vector<Position>{6, 8}));
  propose(3, 6, 6);
  EXPECT_EQ(next(5, 3), 5U);
}

}  // namespace
}  // namespace skein::journal
