#include "skein/runtime/slot_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

namespace skein::detail {
namespace {

TEST(SlotTable, hands_out_each_slot_once_and_stops_at_the_limit) {
  SlotTable table(5);
  std::set<Slot*> taken;
  for (int i = 0; i < 5; ++i) {
    Slot* slot = table.claim(nullptr);
    ASSERT_NE(slot, nullptr);
    EXPECT_TRUE(taken.insert(slot).second);
  }
  EXPECT_EQ(table.claim(nullptr), nullptr);
  EXPECT_EQ(table.alive(), 5U);
  EXPECT_EQ(table.used(), 5U);
}

TEST(SlotTable, reuses_a_released_slot) {
  SlotTable table(2);
  Slot* first = table.claim(nullptr);
  Slot* second = table.claim(nullptr);
  table.release(*first, nullptr);
  EXPECT_EQ(table.alive(), 1U);
  EXPECT_EQ(table.claim(nullptr), first);
  table.release(*second, nullptr);
  EXPECT_EQ(table.claim(nullptr), second);
}

TEST(SlotTable, retires_a_slot_whose_generations_are_used_up) {
  SlotTable table(2);
  Slot* worn = table.claim(nullptr);
  worn->generation.store(Pid::k_generation_max + 1);
  table.release(*worn, nullptr);
  Slot* other = table.claim(nullptr);
  EXPECT_NE(other, worn);
  EXPECT_EQ(table.claim(nullptr), nullptr) << "the worn slot is gone for good";
  EXPECT_EQ(table.alive(), 1U);
}

TEST(SlotTable, still_reuses_a_slot_with_one_generation_left) {
  SlotTable table(1);
  Slot* slot = table.claim(nullptr);
  slot->generation.store(Pid::k_generation_max);
  table.release(*slot, nullptr);
  EXPECT_EQ(table.claim(nullptr), slot);
}

TEST(SlotTable, a_threads_spare_slots_go_back_when_drained) {
  constexpr std::uint32_t k_capacity = 20'000;
  SlotTable table(k_capacity);
  SlotTable::Cache cache(table);
  std::vector<Slot*> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(table.claim(&cache));
  for (Slot* slot : taken) table.release(*slot, &cache);
  EXPECT_NE(cache.size(), 0U);
  table.drain(cache);
  for (std::uint32_t i = 0; i < k_capacity; ++i) ASSERT_NE(table.claim(nullptr), nullptr) << i;
  EXPECT_EQ(table.claim(nullptr), nullptr);
}

// With a small limit there is nothing to spare: a slot that lies with one thread must not be missing to another.
TEST(SlotTable, a_free_slot_is_found_whoever_released_it) {
  SlotTable table(10);
  SlotTable::Cache one(table);
  SlotTable::Cache other(table);
  std::vector<Slot*> taken;
  for (int i = 0; i < 10; ++i) {
    Slot* slot = table.claim(i % 2 == 0 ? &one : nullptr);
    ASSERT_NE(slot, nullptr) << i;
    taken.push_back(slot);
  }
  for (Slot* slot : taken) table.release(*slot, &other);
  for (int i = 0; i < 10; ++i) EXPECT_NE(table.claim(nullptr), nullptr) << i;
}

TEST(SlotTable, counts_the_living_whoever_took_and_gave_their_slots) {
  SlotTable table(20'000);
  Slot* kept = table.claim(nullptr);
  {
    SlotTable::Cache one(table);
    SlotTable::Cache other(table);
    Slot* passed_on = table.claim(&one);
    table.release(*passed_on, &other);
    Slot* left = table.claim(&other);
    EXPECT_EQ(table.alive(), 2U);
    table.release(*left, nullptr);
    EXPECT_NE(table.claim(&one), nullptr);
  }
  EXPECT_EQ(table.alive(), 2U) << "also when the caches are gone";
  table.release(*kept, nullptr);
  EXPECT_EQ(table.alive(), 1U);
}

// One lives throughout; others are taken by one thread and given back by another all the time.
TEST(SlotTable, never_misses_one_that_lives_while_others_come_and_go) {
  constexpr int k_batches = 300;
  using Batch = std::array<Slot*, 512>;
  SlotTable table(20'000);
  Slot* throughout = table.claim(nullptr);
  Batch batch{};
  std::atomic<bool> is_full{false};
  std::atomic<bool> done{false};
  const auto wait_for = [&is_full](bool full) {
    while (is_full.load(std::memory_order_acquire) != full) std::this_thread::yield();
  };
  std::thread taker([&] {
    SlotTable::Cache cache(table);
    for (int i = 0; i < k_batches; ++i) {
      wait_for(false);
      for (Slot*& each : batch) each = table.claim(&cache);
      is_full.store(true, std::memory_order_release);
    }
  });
  std::thread giver([&] {
    SlotTable::Cache cache(table);
    for (int i = 0; i < k_batches; ++i) {
      wait_for(true);
      for (Slot* each : batch) table.release(*each, &cache);
      is_full.store(false, std::memory_order_release);
    }
    done = true;
  });
  std::uint32_t least = UINT32_MAX;
  while (!done) least = std::min(least, table.alive());
  taker.join();
  giver.join();
  EXPECT_GE(least, 1U);
  EXPECT_EQ(table.alive(), 1U);
  table.release(*throughout, nullptr);
}

TEST(SlotTable, finds_a_slot_from_its_pid_and_nothing_beyond_the_table) {
  SlotTable table(8);
  Slot* slot = table.claim(nullptr);
  EXPECT_EQ(table.find(Pid(0, table.index_of(*slot), 1)), slot);
  EXPECT_EQ(table.find(Pid(0, 8, 1)), nullptr);
  EXPECT_EQ(table.find(Pid(0, Pid::k_slot_max, 1)), nullptr);
}

TEST(SlotTable, a_slot_never_used_is_nobodys) {
  const SlotTable table(8);
  const Slot* slot = table.find(Pid(0, 5, 1));
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->generation.load(), 0U) << "no Pid has generation 0";
}

TEST(SlotTable, threads_claim_and_release_without_sharing_a_slot) {
  SlotTable table(100'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&table, t] {
      SlotTable::Cache cache(table);
      std::vector<Slot*> mine;
      for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < 50; ++i) {
          Slot* slot = table.claim(&cache);
          slot->next_ref = static_cast<std::uint64_t>(t);
          mine.push_back(slot);
        }
        for (Slot* slot : mine) {
          ASSERT_EQ(slot->next_ref, static_cast<std::uint64_t>(t));
          table.release(*slot, &cache);
        }
        mine.clear();
      }
      table.drain(cache);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.alive(), 0U);
}

TEST(SlotTable, says_who_lives_until_it_is_marked_dead) {
  SlotTable table(2);
  Slot* slot = table.claim(nullptr);
  const Pid pid = Pid(0, table.index_of(*slot), 1);
  EXPECT_TRUE(table.is_alive(pid));
  EXPECT_FALSE(table.is_alive(Pid{}));
  table.mark_dead(*slot);
  EXPECT_FALSE(table.is_alive(pid));
  slot->generation.store(2);
  table.release(*slot, nullptr);
  ASSERT_EQ(table.claim(nullptr), slot);
  EXPECT_FALSE(table.is_alive(pid)) << "another lives there now";
}

}  // namespace
}  // namespace skein::detail
