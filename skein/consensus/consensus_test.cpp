// Named after the sections of the Raft thesis (T) and paper (P), or after what somebody was bitten by.
#include "skein/consensus/consensus.hpp"

#include <gtest/gtest.h>

#include "skein/consensus/test_group.hpp"

namespace skein::inline v0::consensus {
namespace {

using testing::command;
using testing::Group;
using namespace std::chrono_literals;

using Texts = std::vector<std::string>;

TEST(Consensus, one_voter_elects_itself_once_its_vote_is_stored) {
  Group group(1);
  group.members.at(1).is_disk_held = true;
  group.advance(1s);
  EXPECT_EQ(group[1].role(), MemberRole::candidate);
  group.members.at(1).is_disk_held = false;
  group.store(1);
  group.settle();
  EXPECT_EQ(group[1].role(), MemberRole::leader);
  EXPECT_EQ(group[1].term(), 1U);
}

TEST(Consensus, three_elect_one_and_apply_what_it_is_given) {
  Group group(3);
  const MemberId leader = group.elect();
  ASSERT_NE(leader, 0U);
  ASSERT_TRUE(group[leader].propose({command("a"), command("b")}));
  ASSERT_TRUE(group[leader].propose({command("c")}));
  group.settle();
  group.advance(100ms);
  for (MemberId id = 1; id <= 3; ++id) EXPECT_EQ(group.applied(id), (Texts{"a", "b", "c"})) << id;
}

TEST(Consensus, a_leader_that_stops_is_replaced_and_nothing_decided_is_lost) {
  Group group(3);
  const MemberId first = group.elect();
  ASSERT_TRUE(group[first].propose({command("a")}));
  group.settle();
  group.stop(first);
  const MemberId second = group.elect();
  ASSERT_NE(second, 0U);
  ASSERT_NE(second, first);
  ASSERT_TRUE(group[second].propose({command("b")}));
  group.settle();
  group.start(first);
  group.advance(1s);
  for (MemberId id = 1; id <= 3; ++id) EXPECT_EQ(group.applied(id), (Texts{"a", "b"})) << id;
}

TEST(Consensus, a_linear_read_is_confirmed_by_a_majority_and_refused_without_one) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  group[leader].read(7);
  group.settle();
  ASSERT_EQ(group.members.at(leader).reads.size(), 1U);
  EXPECT_TRUE(group.members.at(leader).reads[0].is_confirmed);
  EXPECT_EQ(group.members.at(leader).reads[0].position, group[leader].decided());
  for (MemberId id = 1; id <= 3; ++id) {
    if (id != leader) group.stop(id);
  }
  group[leader].read(8);
  group.advance(1s);
  ASSERT_EQ(group.members.at(leader).reads.size(), 2U);
  EXPECT_FALSE(group.members.at(leader).reads[1].is_confirmed);
  EXPECT_NE(group[leader].role(), MemberRole::leader) << "check-quorum";
}

TEST(Consensus, leadership_goes_to_the_one_that_is_asked) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId next = leader % 3 + 1;
  ASSERT_TRUE(group[leader].propose({command("a")}));
  ASSERT_TRUE(group[leader].transfer_to(next));
  group.settle();
  EXPECT_EQ(group[next].role(), MemberRole::leader);
  EXPECT_EQ(group[leader].role(), MemberRole::follower);
  EXPECT_EQ(group[leader].transfer_target(), 0U);
}

TEST(Consensus, a_member_is_added_and_removed) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  group.start(4);
  const MemberChange add[] = {{MemberChange::Kind::add_voter, 4}};
  ASSERT_TRUE(group[leader].propose_change(add));
  const MemberChange other[] = {{MemberChange::Kind::add_learner, 5}};
  const auto refused = group[leader].propose_change(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::not_now);
  group.advance(200ms);
  EXPECT_TRUE(group[4].membership().is_voter(4));
  EXPECT_EQ(group[4].decided(), group[leader].decided());
  const MemberChange remove[] = {{MemberChange::Kind::remove, leader}};
  ASSERT_TRUE(group[leader].propose_change(remove));
  group.advance(50ms);
  EXPECT_EQ(group[leader].role(), MemberRole::follower);
  group.stop(leader);
  const MemberId second = group.elect();
  ASSERT_NE(second, 0U);
  EXPECT_FALSE(group[second].membership().contains(leader));
}

// Those it knows may be followers by now, and whom the group added since it does not know.
TEST(Consensus, who_was_removed_learns_it_from_followers_too) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId cut_off = leader % 3 + 1;
  group.advance(100ms);
  group.is_lost = [&](const PeerMessage& message) { return message.to == cut_off || message.from == cut_off; };
  const MemberChange remove[] = {{MemberChange::Kind::remove, cut_off}};
  ASSERT_TRUE(group[leader].propose_change(remove));
  group.advance(1s);
  group.is_lost = [&](const PeerMessage& message) {
    return (message.to == cut_off && message.from == leader) || (message.from == cut_off && message.to == leader);
  };
  group.advance(1s);
  const auto& events = group.members.at(cut_off).events;
  EXPECT_TRUE(std::ranges::count(events, ConsensusEvent::Kind::removed, &ConsensusEvent::kind) > 0);
}

// After a crash it could lead in that term again, with other entries.
TEST(Consensus, nobody_leads_in_a_term_that_its_own_disk_does_not_have) {
  Group group(3);
  group.members.at(1).is_disk_held = true;
  group.make_leader(1);
  EXPECT_EQ(group[1].role(), MemberRole::candidate) << "though two others vote for it";
  group.store(1);
  group.settle();
  EXPECT_EQ(group[1].role(), MemberRole::leader);
}

// T 4.2.2: the other voter's log is behind, so it gets no vote; the one with the newer log must stand.
TEST(Consensus, who_is_removed_by_an_entry_that_is_not_decided_gets_it_decided) {
  Group group(2);
  const MemberId leader = group.elect();
  const MemberId other = leader % 2 + 1;
  group.advance(100ms);
  group.is_lost = [](const PeerMessage&) { return true; };
  const MemberChange remove[] = {{MemberChange::Kind::remove, leader}};
  ASSERT_TRUE(group[leader].propose_change(remove));
  group.advance(1s);
  ASSERT_NE(group[leader].role(), MemberRole::leader) << "check-quorum";
  group.is_lost = nullptr;
  group.advance(3s);
  EXPECT_EQ(group[other].role(), MemberRole::leader);
  EXPECT_EQ(group[other].membership(), Membership({other}, {}));
  EXPECT_EQ(group[other].decided(), group[other].log().last());
}

// Its pre-votes are for the term after the leader's, and so never get past the leader's lease.
TEST(Consensus, who_was_removed_while_it_was_cut_off_learns_that_it_is_out) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId cut_off = leader % 3 + 1;
  group.advance(100ms);
  group.is_lost = [&](const PeerMessage& message) { return message.to == cut_off || message.from == cut_off; };
  const MemberChange remove[] = {{MemberChange::Kind::remove, cut_off}};
  ASSERT_TRUE(group[leader].propose_change(remove));
  group.advance(1s);
  const Term term = group[leader].term();
  group.is_lost = nullptr;
  group.advance(1s);
  const auto& events = group.members.at(cut_off).events;
  EXPECT_TRUE(std::ranges::count(events, ConsensusEvent::Kind::removed, &ConsensusEvent::kind) > 0);
  EXPECT_EQ(group[leader].term(), term);
  EXPECT_EQ(group[leader].role(), MemberRole::leader);
}

// P figure 13, step 6. The leader took its follower for far behind, since it did not hear of what was stored there.
TEST(Consensus, a_snapshot_drops_nothing_that_follows_it_in_the_log) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId other = leader % 3 + 1;
  group.is_lost = [&](const PeerMessage& message) { return message.to == other && message.entries.empty(); };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(group[leader].propose({command(std::to_string(i))}));
  group.settle();
  const Position last = group[other].log().last();
  ASSERT_GT(last, group[other].decided()) << "it does not know yet that the last one is decided";
  auto chunk = std::make_shared<SnapshotChunk>();
  chunk->offer = {.position = last - 1,
                  .term = group[leader].term(),
                  .membership = group.membership,
                  .total_bytes = group.snapshot_bytes.size()};
  chunk->bytes = group.snapshot_bytes;
  group[other].step({.kind = PeerMessageKind::snapshot_chunk,
                     .from = leader,
                     .to = other,
                     .term = group[leader].term(),
                     .chunk = chunk});
  group.handle(other);
  EXPECT_EQ(group[other].log().last(), last);
  EXPECT_EQ(group.members.at(other).base, 0U) << "nothing is installed";
  EXPECT_GE(group[other].decided(), last - 1);
}

TEST(Consensus, who_needs_what_is_gone_gets_a_snapshot_in_chunks) {
  ConsensusLimits limits;
  limits.chunk_bytes = 2;
  Group group(3, limits);
  const MemberId leader = group.elect();
  const MemberId late = leader % 3 + 1;
  group.stop(late);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(group[leader].propose({command(std::to_string(i))}));
  group.settle();
  const Position decided = group[leader].decided();
  group[leader].snapshot_taken({.position = decided,
                                .term = group[leader].term(),
                                .membership = group.membership,
                                .total_bytes = group.snapshot_bytes.size()});
  group[leader].log_trimmed(decided);
  group.start(late);
  group.advance(1s);
  EXPECT_EQ(group.members.at(late).restored, decided);
  ASSERT_TRUE(group[leader].propose({command("after")}));
  group.advance(100ms);
  EXPECT_EQ(group.applied(late), Texts{"after"});
}

}  // namespace
}  // namespace skein::inline v0::consensus
