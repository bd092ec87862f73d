#include "skein/consensus/log_window.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::consensus {
namespace {

constexpr std::uint64_t k_much = 1 << 20U;

Entry entry(Position position, Term term, bool ends_batch = true) {
  Entry made;
  made.position = position;
  made.term = term;
  made.ends_batch = ends_batch;
  return made;
}

LogWindow window_with(Position last, Term term, std::uint64_t cache_bytes = k_much) {
  LogWindow window(TermMap(0, 0), cache_bytes);
  for (Position at = 1; at <= last; ++at) window.append(entry(at, term));
  return window;
}

void store_all(LogWindow& window, std::uint64_t number) {
  (void)window.take_unsent();
  window.hand_out(number);
  window.acknowledge(number);
}

TEST(LogWindow, hands_out_what_is_new_once_and_in_order) {
  LogWindow window = window_with(2, 1);
  EXPECT_EQ(window.take_unsent().size(), 2U);
  EXPECT_FALSE(window.has_unsent());
  window.append(entry(3, 1));
  const auto next = window.take_unsent();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].position, 3U);
}

TEST(LogWindow, is_stored_as_far_as_was_acknowledged) {
  LogWindow window = window_with(2, 1);
  (void)window.take_unsent();
  window.hand_out(1);
  window.append(entry(3, 1));
  (void)window.take_unsent();
  window.hand_out(2);
  window.acknowledge(1);
  EXPECT_EQ(window.stored(), 2U);
  window.acknowledge(2);
  EXPECT_EQ(window.stored(), 3U);
  EXPECT_EQ(window.unstored_bytes(), 0U);
}

// etcd/raft: append_aba_race. The first acknowledgement is of an entry that was replaced, twice.
TEST(LogWindow, an_acknowledgement_covers_nothing_that_was_replaced_meanwhile) {
  LogWindow window = window_with(1, 1);
  store_all(window, 1);
  window.append(entry(2, 1));
  (void)window.take_unsent();
  window.hand_out(2);
  window.truncate_from(2);
  window.append(entry(2, 2));
  (void)window.take_unsent();
  window.hand_out(3);
  window.truncate_from(2);
  window.append(entry(2, 3));
  (void)window.take_unsent();
  window.hand_out(4);
  window.acknowledge(2);
  EXPECT_EQ(window.stored(), 1U);
  window.acknowledge(3);
  EXPECT_EQ(window.stored(), 1U);
  window.acknowledge(4);
  EXPECT_EQ(window.stored(), 2U);
}

TEST(LogWindow, a_truncated_tail_is_not_stored_any_more) {
  LogWindow window = window_with(3, 1);
  store_all(window, 1);
  window.truncate_from(2);
  EXPECT_EQ(window.stored(), 1U);
  EXPECT_EQ(window.last(), 1U);
  window.append(entry(2, 4));
  EXPECT_EQ(window.take_unsent().size(), 1U);
}

TEST(LogWindow, forgets_stored_entries_beyond_the_cache_and_no_others) {
  LogWindow window = window_with(10, 1, 3 * k_entry_overhead_bytes);
  EXPECT_TRUE(window.has_in_memory(1)) << "nothing is stored yet";
  store_all(window, 1);
  EXPECT_FALSE(window.has_in_memory(7));
  EXPECT_TRUE(window.has_in_memory(8));
  EXPECT_EQ(window.term_at(1), 1U) << "terms stay";
  EXPECT_TRUE(window.read(3, k_much).empty());
  EXPECT_EQ(window.read(8, k_much).size(), 3U);
}

TEST(LogWindow, reads_whole_batches_and_one_at_least) {
  LogWindow window(TermMap(0, 0), k_much);
  for (Position at = 1; at <= 6; ++at) window.append(entry(at, 1, at % 3 == 0));
  EXPECT_EQ(window.read(1, 1).size(), 3U) << "one batch, though it is larger";
  EXPECT_EQ(window.read(1, 5 * k_entry_overhead_bytes).size(), 3U);
  EXPECT_EQ(window.read(1, 6 * k_entry_overhead_bytes).size(), 6U);
}

TEST(LogWindow, goes_on_after_a_snapshot_as_an_empty_log) {
  LogWindow window = window_with(5, 1);
  (void)window.take_unsent();
  window.hand_out(1);
  window.restart_after(20, 3);
  EXPECT_EQ(window.last(), 20U);
  EXPECT_EQ(window.base(), 20U);
  window.append(entry(21, 3));
  window.acknowledge(1);
  EXPECT_EQ(window.stored(), 20U) << "what was handed out before says nothing about the new log";
  store_all(window, 2);
  EXPECT_EQ(window.stored(), 21U);
}

TEST(LogWindow, what_a_snapshot_covers_is_forgotten_as_far_as_it_is_stored) {
  LogWindow window = window_with(5, 1);
  store_all(window, 1);
  window.append(entry(6, 1));
  window.forget_up_to(9);
  EXPECT_EQ(window.base(), 5U);
  EXPECT_TRUE(window.has_in_memory(6));
}

}  // namespace
}  // namespace skein::inline v0::consensus
