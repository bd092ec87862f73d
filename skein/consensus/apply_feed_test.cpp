#include "skein/consensus/apply_feed.hpp"

#include <gtest/gtest.h>

#include "skein/consensus/test_group.hpp"

namespace skein::inline v0::consensus {
namespace {

Entry entry_at(Position position, Term term) {
  Entry entry = testing::command("x");
  entry.position = position;
  entry.term = term;
  return entry;
}

// It was read with a tail that was not decided, and was handed out only after that had been replaced.
TEST(ApplyFeed, gives_no_fetched_entry_that_was_replaced_meanwhile) {
  TermMap terms(0, 0);
  terms.append_run(3, 1);
  LogWindow log(terms, 0);
  ApplyFeed feed(0, 1'000);
  std::vector<Fetch> fetches;
  EXPECT_TRUE(feed.take(log, 2, fetches).empty());
  ASSERT_EQ(fetches.size(), 1U);
  feed.fetched(1, {entry_at(1, 1), entry_at(2, 1), entry_at(3, 1)}, log);
  log.truncate_from(3);
  log.append(entry_at(3, 2));
  const auto entries = feed.take(log, 3, fetches);
  ASSERT_EQ(entries.size(), 2U);
  const auto rest = feed.take(log, 3, fetches);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].term, 2U);
}

}  // namespace
}  // namespace skein::inline v0::consensus
