#include "skein/registry/entry_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

namespace skein::inline v0::detail {
namespace {

// A set with the places of its members, as entries keep them.
struct Placed {
  EntrySet set;
  std::map<std::uint64_t, std::uint32_t> places;

  void add(std::uint64_t word) {
    places[word] = set.add(word, [&](std::uint64_t moved, std::uint32_t to) { places[moved] = to; });
  }
  void remove(std::uint64_t word) {
    const std::uint32_t place = places.at(word);
    places.erase(word);
    set.remove(place, [&](std::uint64_t moved, std::uint32_t to) { places[moved] = to; });
  }
  [[nodiscard]] std::vector<std::uint64_t> members() const {
    std::vector<std::uint64_t> found;
    EXPECT_TRUE(set.each([&](std::uint64_t word) {
      found.push_back(word);
      return true;
    }));
    return found;
  }
};

TEST(EntrySet, has_what_was_added_and_not_removed) {
  Placed placed;
  EXPECT_TRUE(placed.members().empty());
  for (std::uint64_t word = 1; word <= 1000; ++word) placed.add(word);
  for (std::uint64_t word = 1; word <= 1000; ++word) {
    if (word % 3 != 0) placed.remove(word);
  }
  EXPECT_EQ(placed.set.size(), 333U);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t word = 3; word <= 1000; word += 3) expected.push_back(word);
  EXPECT_THAT(placed.members(), testing::UnorderedElementsAreArray(expected));
}

TEST(EntrySet, a_member_keeps_its_place_until_it_is_told) {
  Placed placed;
  for (std::uint64_t word = 1; word <= 100; ++word) placed.add(word);
  for (std::uint64_t word = 1; word <= 90; ++word) placed.remove(word);
  for (std::uint64_t word = 200; word <= 300; ++word) placed.add(word);
  // Removing by the places it told takes out exactly those.
  for (std::uint64_t word = 91; word <= 100; ++word) placed.remove(word);
  EXPECT_EQ(placed.members().size(), 101U);
  EXPECT_THAT(placed.members(), testing::Not(testing::Contains(95)));
}

TEST(EntrySet, stops_when_told) {
  Placed placed;
  for (std::uint64_t word = 1; word <= 10; ++word) placed.add(word);
  int calls = 0;
  EXPECT_TRUE(placed.set.each([&](std::uint64_t) { return ++calls < 3; }));
  EXPECT_EQ(calls, 3);
}

TEST(EntrySet, a_reader_sees_every_member_that_stays) {
  Placed placed;
  constexpr std::uint64_t k_stay = 20;
  for (std::uint64_t word = 1; word <= k_stay; ++word) placed.add(word);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!done.load()) {
      std::uint64_t seen = 0;
      const bool whole = placed.set.each([&](std::uint64_t word) {
        seen += word <= k_stay ? 1U : 0U;
        return true;
      });
      if (whole && seen != k_stay) ++wrong;
    }
  });
  for (int round = 0; round < 200; ++round) {
    for (std::uint64_t word = 100; word < 200; ++word) placed.add(word);
    for (std::uint64_t word = 100; word < 200; ++word) placed.remove(word);
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace skein::inline v0::detail
