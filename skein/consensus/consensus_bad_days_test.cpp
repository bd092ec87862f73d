// What others were bitten by, and messages that no healthy member sends.
#include <gtest/gtest.h>

#include "skein/consensus/consensus.hpp"
#include "skein/consensus/test_group.hpp"

namespace skein::inline v0::consensus {
namespace {

using testing::command;
using testing::Group;
using namespace std::chrono_literals;

using Texts = std::vector<std::string>;

MemberId other_than(MemberId leader) { return leader % 3 + 1; }

void cut_off(Group& group, MemberId member) {
  group.is_lost = [member](const PeerMessage& message) { return message.from == member || message.to == member; };
}

PeerMessage from(MemberId sender, MemberId receiver, Term term, PeerMessageKind kind) {
  return {.kind = kind, .from = sender, .to = receiver, .term = term};
}

bool has_event(const Group& group, MemberId member, ConsensusEvent::Kind kind) {
  return std::ranges::find(group.members.at(member).events, kind, &ConsensusEvent::kind) !=
         group.members.at(member).events.end();
}

TEST(BadDays, a_member_that_was_cut_off_comes_back_without_an_election) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  const Term term = group[leader].term();
  cut_off(group, other_than(leader));
  group.advance(5s);
  EXPECT_EQ(group[other_than(leader)].term(), term) << "pre-vote";
  group.is_lost = {};
  group.advance(1s);
  EXPECT_EQ(group[leader].role(), MemberRole::leader);
  EXPECT_EQ(group[leader].term(), term);
}

TEST(BadDays, a_leader_that_nobody_answers_steps_down_and_what_it_took_is_replaced) {
  Group group(3);
  const MemberId old = group.elect();
  ASSERT_TRUE(group[old].propose({command("decided")}));
  group.settle();
  cut_off(group, old);
  ASSERT_TRUE(group[old].propose({command("lost")}));
  group.advance(1s);
  EXPECT_NE(group[old].role(), MemberRole::leader);
  const MemberId next = group.elect();
  ASSERT_NE(next, old);
  ASSERT_TRUE(group[next].propose({command("kept")}));
  group.advance(100ms);
  group.is_lost = {};
  group.advance(1s);
  for (MemberId id = 1; id <= 3; ++id) EXPECT_EQ(group.applied(id), (Texts{"decided", "kept"})) << id;
}

// The Raft paper's figure 8: an entry of an earlier term is not decided by being on a majority.
TEST(BadDays, an_entry_of_an_earlier_term_is_decided_only_by_one_of_the_present) {
  ConsensusLimits limits;
  limits.message_bytes = 1;
  Group group(3, limits);
  const MemberId first = group.elect();
  group.advance(100ms);
  const Position decided = group[first].decided();
  const auto of_others = [&](const PeerMessage& message) {
    return message.kind == PeerMessageKind::pre_vote_request && message.from != first;
  };
  group.is_lost = [&](const PeerMessage& message) { return of_others(message) || message.from == first; };
  ASSERT_TRUE(group[first].propose({command("early")}));
  group.advance(1s);
  ASSERT_NE(group[first].role(), MemberRole::leader);
  // It leads again. The entry of its earlier term gets through, those of its present one do not.
  group.is_lost = [&](const PeerMessage& message) {
    const bool is_of_present = !message.entries.empty() && message.entries.back().term == message.term;
    return of_others(message) || (is_of_present && group[message.to].log().last() >= message.position);
  };
  group.advance(1s);
  ASSERT_EQ(group[first].role(), MemberRole::leader);
  for (MemberId id = 1; id <= 3; ++id) EXPECT_GE(group[id].log().last(), decided + 1) << id;
  EXPECT_EQ(group[first].decided(), decided);
  group.is_lost = {};
  group.advance(1s);
  EXPECT_GT(group[first].decided(), decided + 1);
}

TEST(BadDays, a_disk_that_is_slow_for_150_ms_costs_no_election) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  const Term term = group[leader].term();
  group.members.at(leader).is_disk_held = true;
  ASSERT_TRUE(group[leader].propose({command("a")}));
  group.advance(150ms);
  EXPECT_EQ(group[leader].decided(), group[other_than(leader)].decided());
  EXPECT_TRUE(group.applied(leader).empty()) << "decided by the others, but not stored here";
  group.members.at(leader).is_disk_held = false;
  group.advance(100ms);
  EXPECT_EQ(group.applied(leader), Texts{"a"});
  EXPECT_EQ(group[leader].term(), term);
}

TEST(BadDays, a_leader_whose_disk_is_stuck_gives_leadership_away_within_two_seconds) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  group.members.at(leader).is_disk_held = true;
  ASSERT_TRUE(group[leader].propose({command("a")}));
  group.advance(2s);
  EXPECT_NE(group[leader].role(), MemberRole::leader);
  EXPECT_TRUE(has_event(group, leader, ConsensusEvent::Kind::disk_stuck));
  const MemberId next = group.elect();
  ASSERT_NE(next, 0U);
  ASSERT_NE(next, leader);
  EXPECT_EQ(group.applied(next), Texts{"a"});
}

TEST(BadDays, a_removed_member_disturbs_nobody_and_learns_that_it_is_out) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId out = other_than(leader);
  group.settle();
  cut_off(group, out);
  const MemberChange remove[] = {{MemberChange::Kind::remove, out}};
  ASSERT_TRUE(group[leader].propose_change(remove));
  group.advance(1s);
  const Term term = group[leader].term();
  group.is_lost = {};
  group.advance(2s);
  EXPECT_EQ(group[leader].term(), term);
  EXPECT_EQ(group[leader].role(), MemberRole::leader);
  EXPECT_TRUE(has_event(group, out, ConsensusEvent::Kind::removed));
}

TEST(BadDays, a_membership_that_was_not_decided_goes_with_the_log_that_held_it) {
  Group group(3);
  const MemberId old = group.elect();
  group.settle();
  cut_off(group, old);
  const MemberChange add[] = {{MemberChange::Kind::add_voter, 4}};
  ASSERT_TRUE(group[old].propose_change(add));
  EXPECT_TRUE(group[old].membership().is_voter(4)) << "in force at once";
  group.advance(1s);
  const MemberId next = group.elect();
  ASSERT_NE(next, old);
  ASSERT_TRUE(group[next].propose({command("kept")}));
  group.advance(100ms);
  group.is_lost = {};
  group.advance(1s);
  EXPECT_FALSE(group[old].membership().contains(4));
}

TEST(BadDays, a_leader_changes_no_membership_before_it_has_decided_anything) {
  Group group(3);
  group.is_lost = [](const PeerMessage& message) { return message.kind == PeerMessageKind::append; };
  const MemberId leader = group.elect();
  const MemberChange add[] = {{MemberChange::Kind::add_voter, 4}};
  const auto refused = group[leader].propose_change(add);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::not_now);
}

TEST(BadDays, a_learner_takes_everything_and_decides_nothing) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  group.start(4);
  const MemberChange add[] = {{MemberChange::Kind::add_learner, 4}};
  ASSERT_TRUE(group[leader].propose_change(add));
  group.advance(200ms);
  for (MemberId id = 1; id <= 3; ++id) {
    if (id != leader) group.stop(id);
  }
  const Position decided = group[leader].decided();
  ASSERT_TRUE(group[leader].propose({command("a")}));
  group.settle();
  EXPECT_EQ(group[4].log().last(), group[leader].log().last());
  EXPECT_EQ(group[leader].decided(), decided);
  group[4].campaign();
  EXPECT_EQ(group[4].role(), MemberRole::follower);
}

TEST(BadDays, what_is_not_decided_is_bounded) {
  ConsensusLimits limits;
  limits.undecided_bytes = 1000;
  Group group(3, limits);
  const MemberId leader = group.elect();
  group.settle();
  cut_off(group, leader);
  std::size_t taken = 0;
  std::expected<Proposed, Refusal> last;
  while ((last = group[leader].propose({command("0123456789")})) && taken < 100) ++taken;
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().kind, Refusal::Kind::overloaded);
  EXPECT_EQ(taken, 1000 / (10 + k_entry_overhead_bytes));
  EXPECT_LT(group[leader].progress().at(other_than(leader)).inflight().count(), limits.inflight_messages);
}

TEST(BadDays, a_transfer_to_one_that_is_behind_waits_for_it_and_ends_by_itself) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId target = other_than(leader);
  group.settle();
  cut_off(group, target);
  ASSERT_TRUE(group[leader].propose({command("a")}));
  ASSERT_TRUE(group[leader].transfer_to(target));
  const auto refused = group[leader].propose({command("b")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::transferring);
  group.advance(400ms);
  EXPECT_TRUE(has_event(group, leader, ConsensusEvent::Kind::transfer_ended));
  EXPECT_TRUE(group[leader].propose({command("c")}));
  group.is_lost = {};
  group.advance(100ms);
  ASSERT_TRUE(group[leader].transfer_to(target));
  group.settle();
  EXPECT_EQ(group[target].role(), MemberRole::leader);
  EXPECT_EQ(group.applied(target), (Texts{"a", "c"}));
}

TEST(BadDays, a_batch_is_never_parted) {
  ConsensusLimits limits;
  limits.message_bytes = 1;
  Group group(3, limits);
  const MemberId leader = group.elect();
  group.settle();
  bool was_parted = false;
  group.is_lost = [&](const PeerMessage& message) {
    was_parted = was_parted || (!message.entries.empty() && !message.entries.back().ends_batch);
    return false;
  };
  ASSERT_TRUE(group[leader].propose({command("a"), command("b"), command("c")}));
  ASSERT_TRUE(group[leader].propose({command("d"), command("e")}));
  group.advance(100ms);
  EXPECT_FALSE(was_parted);
  EXPECT_EQ(group.applied(other_than(leader)), (Texts{"a", "b", "c", "d", "e"}));
}

TEST(BadDays, messages_that_no_member_sends_change_nothing) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId follower = other_than(leader);
  ASSERT_TRUE(group[leader].propose({command("a")}));
  group.advance(100ms);
  const Term term = group[leader].term();
  const Position last = group[follower].log().last();
  group[follower].step(from(leader, follower, ~Term{0}, PeerMessageKind::heartbeat));
  PeerMessage gap = from(leader, follower, term, PeerMessageKind::append);
  gap.position = last;
  gap.log_term = term;
  gap.entries = {command("x")};
  gap.entries[0].position = last + 2;
  gap.entries[0].term = term;
  group[follower].step(gap);
  gap.entries[0].position = last + 1;
  gap.entries[0].term = term + 1;
  group[follower].step(gap);
  gap.entries[0].term = term;
  gap.entries[0].kind = EntryKind::membership;
  group[follower].step(gap);
  PeerMessage replaced = from(leader, follower, term, PeerMessageKind::append);
  replaced.entries = {command("other")};
  replaced.entries[0].position = 1;
  replaced.entries[0].term = term + 0;
  group[follower].step(replaced);
  PeerMessage far = from(follower, leader, term, PeerMessageKind::append_response);
  far.position = last + 1'000'000;
  group[leader].step(far);
  group[leader].step(from(follower, leader, term, PeerMessageKind::heartbeat));
  group[leader].step(from(99, leader, term, PeerMessageKind::append_response));
  group.settle();
  EXPECT_EQ(group[follower].log().last(), last);
  EXPECT_EQ(group[follower].term(), term);
  EXPECT_EQ(group[leader].role(), MemberRole::leader);
  EXPECT_TRUE(has_event(group, follower, ConsensusEvent::Kind::refused));
  EXPECT_TRUE(has_event(group, leader, ConsensusEvent::Kind::refused));
  ASSERT_TRUE(group[leader].propose({command("b")}));
  group.advance(100ms);
  EXPECT_EQ(group.applied(follower), (Texts{"a", "b"}));
}

TEST(BadDays, a_snapshot_of_no_use_is_given_up_and_one_that_is_older_is_not_installed) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  const MemberId follower = other_than(leader);
  ASSERT_TRUE(group[leader].propose({command("a")}));
  group.advance(100ms);
  SnapshotChunk chunk;
  chunk.offer = {
      .position = group[follower].decided() - 1, .term = 1, .membership = group.membership, .total_bytes = 1};
  chunk.bytes = "x";
  PeerMessage old = from(leader, follower, group[leader].term(), PeerMessageKind::snapshot_chunk);
  old.chunk = std::make_shared<const SnapshotChunk>(chunk);
  const Position last = group[follower].log().last();
  group[follower].step(old);
  EXPECT_TRUE(group[follower].ready().chunks.empty());
  chunk.offer.position = last + 10;
  chunk.offer.term = group[leader].term();
  old.chunk = std::make_shared<const SnapshotChunk>(chunk);
  group[follower].step(old);
  ASSERT_EQ(group[follower].ready().chunks.size(), 1U);
  group[follower].chunk_written(last + 10, 1, ChunkResult::refused);
  const auto answers = group[follower].ready().messages;
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_TRUE(answers[0].rejects);
  EXPECT_EQ(group[follower].log().last(), last);
}

TEST(BadDays, a_folder_that_forgot_its_term_is_refused_with_what_to_do) {
  StartState state;
  state.self = 1;
  state.hard = {.term = 4, .voted_for = 0, .commit = 0};
  state.terms.append(5);
  state.membership = Membership({1, 2, 3}, {});
  const auto member = Consensus::start(std::move(state), {}, Instant{}, 1);
  ASSERT_FALSE(member);
  EXPECT_NE(member.error().find("learner"), std::string::npos) << member.error();
}

TEST(BadDays, a_leader_refuses_new_work_when_a_majority_has_no_room) {
  Group group(3);
  const MemberId leader = group.elect();
  group.settle();
  EXPECT_TRUE(group[leader].has_quorum_room());
  for (MemberId id = 1; id <= 3; ++id) {
    if (id != leader) group[id].set_little_disk(true);
  }
  group.advance(200ms);
  EXPECT_FALSE(group[leader].has_quorum_room());
  group[other_than(leader)].set_little_disk(false);
  group.advance(200ms);
  EXPECT_TRUE(group[leader].has_quorum_room());
}

// After a pause the inbox comes first: a member that did not run is not a member that heard nothing.
TEST(BadDays, whoever_was_paused_reads_what_came_before_it_campaigns) {
  Group group(3);
  const MemberId leader = group.elect();
  const MemberId paused = other_than(leader);
  group.settle();
  group[paused].tick(group.now + 10s);
  EXPECT_EQ(group[paused].role(), MemberRole::follower);
}

}  // namespace
}  // namespace skein::inline v0::consensus
