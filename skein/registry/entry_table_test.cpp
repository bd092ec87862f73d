#include "skein/registry/entry_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(Key, numbered_names_spread_over_shards_and_places) {
  constexpr std::size_t k_names = 64'000;
  constexpr std::size_t k_places = 2'048;
  std::vector<std::size_t> in_shard(EntryTable::k_shards);
  std::vector<std::size_t> at_place(EntryTable::k_shards * k_places);
  std::size_t alone = 0;
  for (std::size_t i = 0; i < k_names; ++i) {
    const Key key = key_of("agent-" + std::to_string(i));
    ++in_shard[EntryTable::shard_of(key)];
    alone += at_place[EntryTable::shard_of(key) * k_places + key.tag() % k_places]++ == 0 ? 1 : 0;
  }
  for (const std::size_t each : in_shard) EXPECT_NEAR(static_cast<double>(each), 1'000.0, 500.0);
  // Thrown at random, 1,000 names find 791 of 2,048 places.
  EXPECT_NEAR(static_cast<double>(alone) / k_names, 0.791, 0.02);
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

TEST(EntryTableDeathTest, an_entry_that_is_live_is_not_given_to_another_key) {
  EntryTable table(10);
  const Key key = key_of("a");
  const auto lock = table.lock(key);
  const std::uint32_t index = table.claim(key, 0);
  table.publish(key, index);
  EXPECT_DEATH(table.publish(key, index), "entry_table.hpp 2: what is published was not live");
  EXPECT_DEATH(table.release(key, index), "entry_table.hpp 2: what is released was hidden");
  table.hide(key, index);
  EXPECT_DEATH(table.hide(key, index), "entry_table.hpp 2: what is hidden was live");
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

TEST(EntryTable, tells_long_keys_apart_by_every_word) {
  EntryTable table(1'000);
  for (std::size_t bytes = 1; bytes <= k_registry_text_max; ++bytes) {
    std::string text(bytes, 'x');
    put(table, text, bytes);
    text.back() = 'y';
    EXPECT_FALSE(table.find(key_of(text))) << bytes;
  }
  for (std::size_t bytes = 1; bytes <= k_registry_text_max; ++bytes) {
    const EntryTable::Seen seen = table.find(key_of(std::string(bytes, 'x')));
    ASSERT_TRUE(seen) << bytes;
    ASSERT_EQ(seen.owner, bytes);
    std::string text;
    ASSERT_TRUE(table.read_text(seen.ref(), text));
    ASSERT_EQ(text, std::string(bytes, 'x'));
  }
}

TEST(EntryTable, an_entry_is_found_past_those_that_were_before_it_and_are_gone) {
  // So many in few places that most of them have passed others, which go in every order.
  constexpr std::uint32_t k_count = 640;
  EntryTable table(k_count);
  for (std::uint32_t gone = 0; gone < 7; ++gone) {
    for (std::uint32_t i = 0; i < k_count; ++i) put(table, std::to_string(i), i + 1);
    for (std::uint32_t i = 0; i < k_count; ++i) {
      if (i % 7 == gone) take(table, std::to_string(i));
    }
    for (std::uint32_t i = 0; i < k_count; ++i) {
      ASSERT_EQ(table.find(key_of(std::to_string(i))).owner, i % 7 == gone ? 0 : i + 1) << i;
      if (i % 7 != gone) take(table, std::to_string(i));
    }
    ASSERT_EQ(table.count(), 0U);
  }
}

TEST(EntryTable, who_an_entry_was_given_to_is_found_also_after_it_moved) {
  EntryTable table(10'000);
  const std::uint32_t index = put(table, "a", 7);
  {
    const Key key = key_of("a");
    const auto lock = table.lock(key);
    table.set_owner(key, index, Pid::from_bits(8));
  }
  EXPECT_EQ(table.find(key_of("a")).owner, 8U);
  EXPECT_EQ(table.owner_of(table.find(key_of("a")).ref()).bits(), 8U);
  for (int i = 0; i < 9'000; ++i) put(table, "other-" + std::to_string(i), 1);
  EXPECT_EQ(table.find(key_of("a")).owner, 8U);
}

TEST(PlaceArray, a_large_one_is_empty_again_when_it_was_cleared_and_begins_at_a_huge_page) {
  for (const std::size_t capacity : {std::size_t{16}, std::size_t{32'768}}) {
    PlaceArray array(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      ASSERT_EQ(array.at(i).ref.load(), Place::k_empty);
      array.at(i).ref.store(3);
    }
    array.clear();
    for (std::size_t i = 0; i < capacity; ++i) ASSERT_EQ(array.at(i).ref.load(), Place::k_empty);
    const auto begin = reinterpret_cast<std::uintptr_t>(&array.at(0));
    EXPECT_TRUE(capacity == 16 || begin % (std::size_t{2} << 20U) == 0);
  }
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
