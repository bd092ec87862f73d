#include "skein/consensus/membership.hpp"

#include <gtest/gtest.h>

#include "skein/consensus/membership_history.hpp"

namespace skein::inline v0::consensus {
namespace {

using Kind = MemberChange::Kind;

std::expected<Membership, std::string> changed(const Membership& from, std::vector<MemberChange> changes) {
  return from.changed(changes);
}

TEST(Membership, changes_one_voter_at_a_time) {
  const Membership three({1, 2, 3}, {9});
  EXPECT_EQ(*changed(three, {{Kind::add_voter, 4}}), Membership({1, 2, 3, 4}, {9}));
  EXPECT_EQ(*changed(three, {{Kind::remove, 2}}), Membership({1, 3}, {9}));
  EXPECT_EQ(*changed(three, {{Kind::add_voter, 9}}), Membership({1, 2, 3, 9}, {})) << "a learner is promoted";
  EXPECT_EQ(*changed(three, {{Kind::add_learner, 3}}), Membership({1, 2}, {3, 9})) << "a voter is demoted";
  EXPECT_FALSE(changed(three, {{Kind::add_voter, 4}, {Kind::add_voter, 5}}));
  EXPECT_FALSE(changed(three, {{Kind::add_voter, 4}, {Kind::remove, 1}})) << "two quorums that may not meet";
  EXPECT_EQ(*changed(three, {{Kind::add_learner, 4}, {Kind::add_learner, 5}, {Kind::remove, 9}}),
            Membership({1, 2, 3}, {4, 5}));
}

TEST(Membership, keeps_a_voter_and_its_limits) {
  EXPECT_FALSE(changed(Membership({1}, {2}), {{Kind::remove, 1}}));
  EXPECT_FALSE(changed(Membership({1}, {2}), {{Kind::add_learner, 1}}));
  EXPECT_FALSE(changed(Membership({1, 2, 3, 4, 5, 6, 7}, {8}), {{Kind::add_voter, 8}}));
}

TEST(Membership, is_read_as_it_was_written_and_refused_when_it_makes_no_sense) {
  const Membership some({3, 1, 2}, {7, 5});
  EXPECT_EQ(Membership::decode(some.encode()), some);
  EXPECT_EQ(some.members(), (std::vector<MemberId>{1, 2, 3, 5, 7}));
  const std::string whole = some.encode();
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(Membership::decode(whole.substr(0, size)));
  EXPECT_FALSE(Membership::decode(whole + "x"));
  EXPECT_FALSE(Membership::decode(Membership({1}, {1}).encode())) << "voter and learner";
  EXPECT_FALSE(Membership::decode(Membership({}, {1}).encode())) << "nobody votes";
}

TEST(MembershipHistory, the_newest_is_in_force_and_a_truncated_one_is_not) {
  MembershipHistory history(10, Membership({1}, {}), {{12, Membership({1, 2}, {})}});
  EXPECT_EQ(history.in_force(), Membership({1, 2}, {}));
  EXPECT_EQ(history.decided_position(), 10U);
  history.add(15, Membership({1, 2, 3}, {}));
  EXPECT_FALSE(history.truncate_from(16));
  EXPECT_TRUE(history.truncate_from(15));
  EXPECT_EQ(history.position(), 12U);
  history.decide_up_to(12);
  EXPECT_EQ(history.decided_position(), 12U);
  EXPECT_FALSE(history.truncate_from(1)) << "there is always one";
}

}  // namespace
}  // namespace skein::inline v0::consensus
