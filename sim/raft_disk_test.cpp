#include "sim/raft_disk.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace skein::sim::raft {
namespace {

Entry entry_of(Position position, Term term, bool ends_batch = true) {
  Entry entry;
  entry.position = position;
  entry.term = term;
  entry.ends_batch = ends_batch;
  return entry;
}

consensus::ToStore store_of(std::uint64_t number, Term term, std::vector<Entry> entries) {
  consensus::ToStore store;
  store.number = number;
  store.hard = {.term = term, .voted_for = 0, .commit = 0};
  store.must_sync = true;
  store.entries = std::move(entries);
  return store;
}

TEST(RaftDisk, keeps_through_a_crash_what_was_synced_and_any_first_part_of_the_rest) {
  bool kept_none = false;
  bool kept_some = false;
  bool kept_all = false;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RaftDisk disk(1, std::nullopt);
    ASSERT_EQ(disk.ask(store_of(1, 1, {entry_of(1, 1)})), std::nullopt);
    EXPECT_EQ(disk.sync(1).size(), 1U);
    ASSERT_EQ(disk.ask(store_of(2, 2, {entry_of(2, 2, false), entry_of(3, 2), entry_of(4, 2)})), std::nullopt);
    Random luck(seed);
    (void)disk.crash(luck);
    EXPECT_EQ(disk.term_at(1), std::optional<Term>(1));
    EXPECT_NE(disk.last(), 2U) << "half a batch";
    EXPECT_GE(disk.hard().term, disk.term_at(disk.last()).value_or(0)) << "the log is never ahead of the term";
    kept_none = kept_none || disk.last() == 1;
    kept_some = kept_some || disk.last() == 3;
    kept_all = kept_all || disk.last() == 4;
  }
  EXPECT_TRUE(kept_none && kept_some && kept_all);
}

TEST(RaftDisk, refuses_a_gap_and_a_snapshot_that_it_does_not_have) {
  RaftDisk disk(1, std::nullopt);
  EXPECT_NE(disk.ask(store_of(1, 1, {entry_of(2, 1)})), std::nullopt);
  consensus::ToStore install = store_of(2, 1, {});
  install.install = SnapshotOffer{.position = 5, .term = 1, .membership = Membership({1}, {}), .total_bytes = 1};
  EXPECT_NE(disk.ask(install), std::nullopt);
}

TEST(RaftDisk, has_after_a_crash_the_log_before_an_install_or_the_one_after_it) {
  bool was_before = false;
  bool was_after = false;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RaftDisk disk(1, std::nullopt);
    ASSERT_EQ(disk.ask(store_of(1, 1, {entry_of(1, 1)})), std::nullopt);
    (void)disk.sync(1);
    const auto bytes = std::make_shared<const std::string>("state");
    const SnapshotOffer offer{.position = 5, .term = 1, .membership = Membership({1}, {}), .total_bytes = 5};
    disk.write_chunk({.offer = offer, .offset = 0, .bytes = *bytes, .owner = bytes});
    ASSERT_NE(disk.keep_incoming(5), nullptr);
    consensus::ToStore install = store_of(2, 1, {});
    install.install = offer;
    ASSERT_EQ(disk.ask(install), std::nullopt);
    Random luck(seed);
    (void)disk.crash(luck);
    const auto found = disk.load();
    ASSERT_TRUE(found.terms.base() == 0 || found.terms.base() == 5);
    EXPECT_EQ(found.terms.last(), found.terms.base() == 5 ? 5U : 1U);
    was_before = was_before || found.terms.base() == 0;
    was_after = was_after || found.terms.base() == 5;
  }
  EXPECT_TRUE(was_before && was_after);
}

}  // namespace
}  // namespace skein::sim::raft
