#include <gtest/gtest.h>

#include "skein/consensus/consensus.hpp"
#include "skein/consensus/test_group.hpp"

namespace skein::inline v0::consensus {
namespace {

// Raft paper, figure 2: commitIndex = min(leaderCommit, index of last new entry). What stands after that may be of
// another leader, whatever its position.
TEST(FollowerCommit, takes_nothing_for_decided_that_its_leader_has_not_shown_to_agree) {
  testing::Group group(3);
  group.make_leader(1);
  group.is_lost = [](const PeerMessage&) { return true; };
  ASSERT_EQ(group[3].decided(), 1U);
  std::vector<Entry> stale{testing::command("a"), testing::command("b")};
  for (Position position = 2; auto& entry : stale) {
    entry.position = position++;
    entry.term = group[3].term();
  }
  group[3].step({.kind = PeerMessageKind::append,
                 .from = 1,
                 .to = 3,
                 .term = group[3].term(),
                 .position = 1,
                 .log_term = group[3].term(),
                 .commit = 1,
                 .entries = stale});
  group.settle();
  ASSERT_EQ(group[3].log().last(), 3U);

  group[3].step({.kind = PeerMessageKind::append,
                 .from = 2,
                 .to = 3,
                 .term = group[3].term() + 1,
                 .position = 1,
                 .log_term = group[3].term(),
                 .commit = 3});
  group.settle();
  EXPECT_EQ(group[3].leader(), 2U);
  EXPECT_EQ(group[3].decided(), 1U);
}

}  // namespace
}  // namespace skein::inline v0::consensus
