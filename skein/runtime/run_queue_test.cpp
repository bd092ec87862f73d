#include "skein/runtime/run_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace skein::detail {
namespace {

TEST(Ring, keeps_order_at_both_ends_while_it_grows) {
  std::array<Slot, 4> slots;
  Ring<Slot*> ring;
  EXPECT_TRUE(ring.empty());
  // Far more than its first size, with the middle of the ring wandering.
  std::vector<Slot*> model;
  for (std::size_t i = 0; i < 1'000; ++i) {
    ring.push_back(&slots[i % 4]);
    model.push_back(&slots[i % 4]);
    if (i % 3 == 0) {
      ASSERT_EQ(ring.pop_front(), model.front());
      model.erase(model.begin());
    }
    if (i % 7 == 0 && !model.empty()) {
      ASSERT_EQ(ring.pop_back(), model.back());
      model.pop_back();
    }
    ASSERT_EQ(ring.size(), model.size());
  }
}

TEST(RunQueue, woken_processes_run_oldest_first_and_new_ones_newest_first) {
  std::array<Slot, 4> slots;
  RunQueue queue;
  EXPECT_EQ(queue.push_woken(&slots[0]), 1U);
  EXPECT_EQ(queue.push_woken(&slots[1]), 2U);
  EXPECT_EQ(queue.pop(), &slots[0]);
  EXPECT_EQ(queue.pop(), &slots[1]);
  EXPECT_EQ(queue.pop(), nullptr);
  queue.push_new(&slots[2]);
  queue.push_new(&slots[3]);
  EXPECT_EQ(queue.pop(), &slots[3]);
  EXPECT_EQ(queue.pop(), &slots[2]);
}

TEST(RunQueue, a_flood_of_new_processes_does_not_starve_a_woken_or_the_oldest_new_one) {
  std::array<Slot, 2> watched;
  Slot filler;
  RunQueue queue;
  queue.push_new(&watched[0]);
  queue.push_woken(&watched[1]);
  bool oldest_ran = false;
  bool woken_ran = false;
  for (int i = 0; i < 200; ++i) {
    queue.push_new(&filler);
    queue.push_new(&filler);
    const Slot* slot = queue.pop();
    oldest_ran |= slot == &watched[0];
    woken_ran |= slot == &watched[1];
    EXPECT_TRUE(woken_ran || i < 3);
  }
  EXPECT_TRUE(oldest_ran);
}

TEST(RunQueue, a_thief_takes_half_of_the_woken_oldest_first) {
  std::array<Slot, 8> slots;
  RunQueue victim;
  RunQueue thief;
  for (Slot& slot : slots) victim.push_woken(&slot);
  EXPECT_EQ(victim.steal(2, thief, 0), &slots[0]);
  EXPECT_EQ(thief.size(), 3U);
  EXPECT_EQ(victim.size(), 4U);
  EXPECT_EQ(thief.pop(), &slots[1]);
  EXPECT_EQ(victim.pop(), &slots[4]);
}

TEST(RunQueue, a_lone_process_is_stolen_only_when_asked_for) {
  Slot slot;
  RunQueue victim;
  RunQueue thief;
  victim.push_woken(&slot);
  EXPECT_EQ(victim.steal(2, thief, 0), nullptr);
  EXPECT_EQ(victim.steal(1, thief, 0), &slot);
  EXPECT_EQ(victim.steal(1, thief, 0), nullptr);
}

TEST(RunQueue, kept_and_woken_processes_take_turns) {
  std::array<Slot, 4> slots;
  RunQueue queue;
  queue.push_kept(&slots[0], false, 0);
  queue.push_kept(&slots[1], true, 0);
  queue.push_woken(&slots[2]);
  queue.push_woken(&slots[3]);
  EXPECT_EQ(queue.size(), 4U);
  EXPECT_EQ(queue.pop(), &slots[0]);
  EXPECT_EQ(queue.pop(), &slots[2]);
  EXPECT_EQ(queue.pop(), &slots[1]);
  EXPECT_EQ(queue.pop(), &slots[3]);
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(RunQueue, a_kept_process_is_no_thiefs_until_it_has_waited) {
  constexpr std::int64_t k_begin = 1'000;
  std::array<Slot, 3> slots;
  RunQueue victim;
  RunQueue thief;
  victim.push_kept(&slots[0], false, k_begin);
  victim.push_kept(&slots[1], true, k_begin);
  EXPECT_FALSE(victim.has_for_thieves(k_begin + RunQueue::k_kept_ns));
  EXPECT_EQ(victim.steal(1, thief, k_begin + RunQueue::k_kept_ns), nullptr);
  victim.push_woken(&slots[2]);
  EXPECT_TRUE(victim.has_for_thieves(k_begin));
  EXPECT_EQ(victim.steal(2, thief, k_begin), &slots[2]) << "one beside them is not kept";
  EXPECT_TRUE(victim.has_for_thieves(k_begin + RunQueue::k_kept_ns + 1));
  EXPECT_EQ(victim.steal(2, thief, k_begin + RunQueue::k_kept_ns + 1), &slots[0]);
  EXPECT_EQ(victim.pop(), &slots[1]);
}

TEST(RunQueue, of_two_sinks_a_thief_may_have_the_second_at_once) {
  std::array<Slot, 5> slots;
  RunQueue victim;
  RunQueue thief;
  victim.push_kept(&slots[0], false, 0);
  victim.push_kept(&slots[1], true, 0);
  victim.push_kept(&slots[2], false, 0);
  victim.push_kept(&slots[3], true, 0);
  victim.push_kept(&slots[4], false, 0);
  EXPECT_TRUE(victim.has_for_thieves(1));
  EXPECT_EQ(victim.steal(2, thief, 1), &slots[3]);
  EXPECT_EQ(victim.steal(2, thief, 1), nullptr) << "the last sink stays with those who flood it";
  for (const std::size_t left : {0U, 1U, 2U, 4U}) EXPECT_EQ(victim.pop(), &slots[left]);
}

TEST(RunQueue, threads_pushing_popping_and_stealing_lose_and_double_nothing) {
  constexpr std::size_t k_slots = 2'000;
  std::vector<Slot> slots(k_slots);
  std::vector<std::atomic<int>> ran(k_slots);
  std::array<RunQueue, 2> queues;
  std::atomic<std::size_t> total{0};
  const auto count = [&](Slot* slot) {
    ++ran[static_cast<std::size_t>(slot - slots.data())];
    ++total;
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (std::size_t i = 0; i < k_slots; ++i) {
      if (i % 3 == 0) {
        queues[0].push_new(&slots[i]);
      } else if (i % 3 == 1) {
        queues[0].push_woken(&slots[i]);
      } else {
        queues[0].push_kept(&slots[i], i % 2 == 0, 0);
      }
    }
  });
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      while (total.load() < k_slots) {
        Slot* slot = queues[t].pop();
        if (slot == nullptr) slot = queues[1 - t].steal(1, queues[t], RunQueue::k_kept_ns + 1);
        if (slot != nullptr) count(slot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& times : ran) ASSERT_EQ(times, 1);
}

}  // namespace
}  // namespace skein::detail
