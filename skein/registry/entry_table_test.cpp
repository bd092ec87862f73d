#include "skein/registry/entry_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skein::inline v0::detail {
namespace {

Key key_of(const std::string& text) { return Key(KeyKind::agent, text); }

std::uint32_t put(EntryTable& table, const std::string& text, std::uint64_t owner) {
  const Key key = key_of(text);
  const auto lock = table.lock(key);
  const std::uint32_t index = table.claim(key, 0);
  if (index == EntryTable::k_none) return index;
  table.hot(index).owner.store(owner);
  table.publish(key, index);
  return index;
}

void take(EntryTable& table, const std::string& text) {
  const Key key = key_of(text);
  const auto lock = table.lock(key);
  const std::uint32_t index = table.find_held(key);
  table.hide(key, index);
  table.release(key, index);
}

TEST(Key, neighbours_in_text_are_neighbours_in_the_table) {
  const Key zero = key_of("agent-120");
  for (std::uint32_t i = 1; i < 10; ++i) {
    const Key other = key_of("agent-12" + std::to_string(i));
    EXPECT_EQ(other.tag(), zero.tag() + i);
    EXPECT_EQ(EntryTable::shard_of(other), EntryTable::shard_of(zero));
  }
}

TEST(Key, kind_scope_and_text_all_count) {
  const Pid one(0, 1, 1);
  const Pid two(0, 2, 1);
  EXPECT_NE(Key(KeyKind::agent, "a").shape(), Key(KeyKind::capability_set, "a").shape());
  EXPECT_NE(Key(KeyKind::counter, one, "a").hash(), Key(KeyKind::counter, two, "a").hash());
  EXPECT_NE(key_of("ab").hash(), key_of("b").hash());
  EXPECT_NE(key_of(std::string("a\0", 2)).shape(), key_of("a").shape());
}

TEST(EntryTable, finds_published_entries_only) {
  EntryTable table(10);
  const Key key = key_of("a");
  std::uint32_t index = 0;
  {
    const auto lock = table.lock(key);
    index = table.claim(key, 0);
    EXPECT_FALSE(table.find(key));
    table.publish(key, index);
  }
  const EntryTable::Seen seen = table.find(key);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(table.is_live(seen.ref()));
  take(table, "a");
  EXPECT_FALSE(table.find(key));
  EXPECT_FALSE(table.is_live(seen.ref()));
  EXPECT_FALSE(table.owner_of(seen.ref()));
}

TEST(EntryTable, an_old_reference_is_not_the_entry_s_next_life) {
  EntryTable table(1);
  put(table, "a", 7);
  const std::uint64_t old = table.find(key_of("a")).ref();
  take(table, "a");
  put(table, "a", 8);
  EXPECT_FALSE(table.is_live(old));
  std::string text;
  EXPECT_FALSE(table.read_text(old, text));
  EXPECT_EQ(table.find(key_of("a")).owner, 8U);
}

TEST(EntryTable, grows_and_keeps_everything) {
  constexpr std::uint32_t k_count = 20'000;
  EntryTable table(k_count);
  for (std::uint32_t i = 0; i < k_count; ++i) put(table, "agent-" + std::to_string(i), i + 1);
  for (std::uint32_t i = 0; i < k_count; ++i) {
    const EntryTable::Seen seen = table.find(key_of("agent-" + std::to_string(i)));
    ASSERT_EQ(seen.owner, i + 1);
    std::string text;
    ASSERT_TRUE(table.read_text(seen.ref(), text));
    ASSERT_EQ(text, "agent-" + std::to_string(i));
  }
  EXPECT_FALSE(table.find(key_of("agent-20000")));
  EXPECT_EQ(put(table, "one more", 1), EntryTable::k_none);
}

TEST(EntryTable, all_entries_can_be_used_again_whatever_their_shard) {
  constexpr std::uint32_t k_count = 3'000;
  EntryTable table(k_count);
  for (int round = 0; round < 4; ++round) {
    const std::string prefix = std::to_string(round) + "-";
    for (std::uint32_t i = 0; i < k_count; ++i) {
      ASSERT_NE(put(table, prefix + std::to_string(i), 1), EntryTable::k_none) << prefix << i;
    }
    EXPECT_EQ(table.count(), k_count);
    for (std::uint32_t i = 0; i < k_count; ++i) take(table, prefix + std::to_string(i));
    EXPECT_EQ(table.count(), 0U);
  }
}

}  // namespace
}  // namespace skein::inline v0::detail
