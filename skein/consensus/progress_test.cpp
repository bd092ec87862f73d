#include "skein/consensus/progress.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::consensus {
namespace {

MemberProgress at(Position next, std::size_t messages = 2, std::uint64_t bytes = 100) {
  return MemberProgress(next, Inflight(messages, bytes));
}

TEST(MemberProgress, a_probe_sends_one_message_and_waits) {
  MemberProgress progress = at(11);
  progress.sent_entries(12, 10, 5);
  EXPECT_TRUE(progress.is_paused());
  EXPECT_EQ(progress.next(), 11U) << "nothing is taken for granted";
  progress.heard_heartbeat();
  EXPECT_FALSE(progress.is_paused());
}

TEST(MemberProgress, replication_goes_on_up_to_its_limits) {
  MemberProgress progress = at(11);
  ASSERT_TRUE(progress.acknowledged(10));
  progress.become_replicate();
  progress.sent_entries(11, 10, 5);
  EXPECT_FALSE(progress.is_paused());
  progress.sent_entries(12, 10, 5);
  EXPECT_TRUE(progress.is_paused()) << "two messages";
  progress.inflight().free_up_to(11);
  ASSERT_TRUE(progress.acknowledged(11));
  EXPECT_FALSE(progress.is_paused());
  progress.sent_entries(13, 95, 5);
  EXPECT_TRUE(progress.is_paused()) << "a hundred bytes";
}

TEST(MemberProgress, a_refusal_goes_back_to_the_hint_and_never_below_what_is_known) {
  MemberProgress progress = at(21);
  EXPECT_TRUE(progress.refused(20, 12));
  EXPECT_EQ(progress.next(), 13U);
  EXPECT_FALSE(progress.refused(20, 3)) << "an old answer";
  ASSERT_TRUE(progress.acknowledged(12));
  progress.become_replicate();
  progress.sent_entries(15, 10, 5);
  EXPECT_FALSE(progress.refused(12, 3));
  EXPECT_TRUE(progress.refused(15, 3));
  EXPECT_EQ(progress.next(), 13U);
}

TEST(MemberProgress, after_a_snapshot_goes_on_behind_it) {
  MemberProgress progress = at(11);
  progress.become_snapshot(40);
  EXPECT_TRUE(progress.is_paused());
  progress.become_probe();
  EXPECT_EQ(progress.next(), 41U);
  progress.become_snapshot(50);
  progress.give_up_snapshot();
  EXPECT_TRUE(progress.is_paused()) << "until a heartbeat is answered";
  EXPECT_EQ(progress.state(), ProgressState::probe);
}

TEST(MemberProgress, tells_a_commit_position_once_and_only_when_it_can_be_used) {
  MemberProgress progress = at(11);
  ASSERT_TRUE(progress.acknowledged(10));
  progress.become_replicate();
  EXPECT_TRUE(progress.can_use_commit(8));
  progress.sent_entries(10, 0, 8);
  EXPECT_FALSE(progress.can_use_commit(8));
  EXPECT_TRUE(progress.can_use_commit(9));
  progress.sent_entries(10, 0, 10);
  EXPECT_FALSE(progress.can_use_commit(20)) << "it has nothing after 10";
}

}  // namespace
}  // namespace skein::inline v0::consensus
