#include "skein/consensus/storing.hpp"

#include <gtest/gtest.h>

#include "skein/consensus/apply_feed.hpp"
#include "skein/consensus/read_rounds.hpp"

namespace skein::inline v0::consensus {
namespace {

PeerMessage answer(Position position) { return {.kind = PeerMessageKind::append_response, .position = position}; }

TEST(Storing, a_message_leaves_when_everything_known_before_it_is_stored) {
  Storing storing(10);
  storing.hold(answer(1));
  EXPECT_EQ(storing.hand_out(true, Instant{}), 1U);
  EXPECT_TRUE(storing.settle().empty());
  storing.hold(answer(2));
  EXPECT_EQ(storing.hand_out(true, Instant{}), 2U);
  EXPECT_TRUE(storing.settle().empty());
  const auto first = storing.acknowledge(1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].position, 1U);
  EXPECT_EQ(storing.acknowledge(2).size(), 1U);
}

TEST(Storing, a_message_with_nothing_new_waits_for_what_is_under_way_and_else_for_nothing) {
  Storing storing(10);
  storing.hold(answer(1));
  EXPECT_EQ(storing.settle().size(), 1U);
  (void)storing.hand_out(true, Instant{});
  storing.hold(answer(2));
  EXPECT_TRUE(storing.settle().empty());
  EXPECT_EQ(storing.acknowledge(1).size(), 1U);
}

TEST(Storing, holds_no_more_than_its_limit) {
  Storing storing(2);
  for (Position at = 1; at <= 3; ++at) storing.hold(answer(at));
  EXPECT_EQ(storing.settle().size(), 2U);
}

TEST(Storing, says_since_when_the_oldest_sync_is_under_way) {
  Storing storing(10);
  const Instant begin{std::chrono::seconds(5)};
  EXPECT_EQ(storing.waiting_since(), std::nullopt);
  (void)storing.hand_out(false, begin);
  EXPECT_EQ(storing.waiting_since(), std::nullopt) << "only a commit position: nobody waits for that";
  (void)storing.hand_out(true, begin);
  (void)storing.hand_out(true, later(begin, std::chrono::seconds(1)));
  EXPECT_EQ(storing.waiting_since(), begin);
  (void)storing.acknowledge(2);
  EXPECT_EQ(storing.waiting_since(), later(begin, std::chrono::seconds(1)));
}

TEST(ReadRounds, a_read_is_confirmed_by_a_round_that_began_after_it) {
  ReadRounds rounds(10);
  ASSERT_EQ(rounds.begin_round(), 1U);
  ASSERT_TRUE(rounds.add(7, 100));
  EXPECT_TRUE(rounds.answered(1).empty()) << "that round began before";
  EXPECT_TRUE(rounds.wants_round());
  ASSERT_EQ(rounds.begin_round(), 2U);
  EXPECT_FALSE(rounds.wants_round()) << "one is under way";
  const auto confirmed = rounds.answered(2);
  ASSERT_EQ(confirmed.size(), 1U);
  EXPECT_EQ(confirmed[0].ticket, 7U);
  EXPECT_EQ(confirmed[0].position, 100U);
}

TEST(ReadRounds, takes_no_more_than_its_limit) {
  ReadRounds rounds(1);
  EXPECT_TRUE(rounds.add(1, 1));
  EXPECT_FALSE(rounds.add(2, 1));
  EXPECT_EQ(rounds.take_all().size(), 1U);
}

Entry entry(Position position) {
  Entry made;
  made.position = position;
  made.term = 1;
  return made;
}

TEST(ApplyFeed, hands_out_once_in_order_and_no_more_than_its_limit) {
  LogWindow log(TermMap(0, 0), 1 << 20U);
  for (Position at = 1; at <= 5; ++at) log.append(entry(at));
  ApplyFeed feed(0, 2 * k_entry_overhead_bytes);
  std::vector<Fetch> fetches;
  EXPECT_EQ(feed.take(log, 4, fetches).size(), 2U);
  EXPECT_TRUE(feed.take(log, 4, fetches).empty()) << "until some is applied";
  feed.applied(2);
  const auto next = feed.take(log, 4, fetches);
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].position, 3U);
  feed.applied(4);
  EXPECT_TRUE(feed.take(log, 4, fetches).empty()) << "5 is not decided";
  EXPECT_TRUE(fetches.empty());
}

TEST(ApplyFeed, asks_for_what_is_not_in_memory_and_goes_on_with_it) {
  TermMap terms(0, 0);
  terms.append_run(3, 1);
  const LogWindow log(std::move(terms), 0);
  ApplyFeed feed(0, 1 << 20U);
  std::vector<Fetch> fetches;
  EXPECT_TRUE(feed.take(log, 3, fetches).empty());
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].from, 1U);
  EXPECT_FALSE(feed.can_take(3)) << "one question at a time";
  feed.fetched(1, {entry(1), entry(2), entry(3)}, log);
  EXPECT_EQ(feed.take(log, 2, fetches).size(), 2U);
}

TEST(ApplyFeed, goes_on_behind_a_snapshot) {
  LogWindow log(TermMap(10, 1), 1 << 20U);
  log.append(entry(11));
  ApplyFeed feed(3, 1 << 20U);
  feed.restart_after(10);
  std::vector<Fetch> fetches;
  const auto next = feed.take(log, 11, fetches);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].position, 11U);
}

}  // namespace
}  // namespace skein::inline v0::consensus
