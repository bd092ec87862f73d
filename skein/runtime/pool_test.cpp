#include "skein/runtime/pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace skein::detail {
namespace {

TEST(Pool, hands_out_blocks_that_do_not_overlap_and_are_aligned) {
  std::set<std::uintptr_t> seen;
  std::vector<void*> taken;
  for (int i = 0; i < 5'000; ++i) {
    void* block = pool_take(PoolClass::b128);
    std::memset(block, 0xab, block_bytes(PoolClass::b128));
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    EXPECT_EQ(address % 128, 0U);
    EXPECT_TRUE(seen.insert(address).second) << "the block was out already";
    taken.push_back(block);
  }
  std::uintptr_t before = 0;
  for (const std::uintptr_t address : seen) {
    ASSERT_TRUE(before == 0 || address - before >= 128U);
    before = address;
  }
  for (void* block : taken) pool_give(PoolClass::b128, block);
}

TEST(Pool, gives_a_returned_block_out_again_first) {
  void* first = pool_take(PoolClass::b256);
  pool_give(PoolClass::b256, first);
  void* again = pool_take(PoolClass::b256);
  EXPECT_EQ(first, again);
  pool_give(PoolClass::b256, again);
}

TEST(Pool, a_thread_keeps_less_than_two_magazines) {
  std::vector<void*> taken;
  for (std::uint32_t i = 0; i < 10 * k_magazine_blocks; ++i) taken.push_back(pool_take(PoolClass::b512));
  for (void* block : taken) pool_give(PoolClass::b512, block);
  EXPECT_LT(t_free_lists[static_cast<std::size_t>(PoolClass::b512)].count, 2 * k_magazine_blocks);
}

// One thread takes, another gives back, round and round: the memory in use must not grow without end.
TEST(Pool, blocks_given_by_another_thread_come_back_through_the_depot) {
  std::set<void*> distinct;
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> batch;
    for (int i = 0; i < 1'000; ++i) batch.push_back(pool_take(PoolClass::b1024));
    distinct.insert(batch.begin(), batch.end());
    std::thread giver([&batch] {
      for (void* block : batch) pool_give(PoolClass::b1024, block);
    });
    giver.join();
  }
  EXPECT_LT(distinct.size(), 5'000U);
}

TEST(Pool, threads_never_get_the_same_block_at_once) {
  constexpr int k_threads = 4;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<void*> exchange;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<void*> mine;
      for (int i = 0; i < 20'000; ++i) {
        auto* mark = static_cast<std::uint64_t*>(pool_take(PoolClass::b128));
        mark[1] = static_cast<std::uint64_t>(t);
        mine.push_back(mark);
        if (mine.size() < 64) continue;
        for (void* block : mine) ASSERT_EQ(static_cast<std::uint64_t*>(block)[1], static_cast<std::uint64_t>(t));
        // Half goes to whoever comes next.
        std::vector<void*> others;
        {
          const std::scoped_lock lock(mutex);
          others.swap(exchange);
          exchange.assign(mine.begin(), mine.begin() + 32);
        }
        for (void* block : others) pool_give(PoolClass::b128, block);
        for (auto block = mine.begin() + 32; block != mine.end(); ++block) pool_give(PoolClass::b128, *block);
        mine.clear();
      }
      for (void* block : mine) pool_give(PoolClass::b128, block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (void* block : exchange) pool_give(PoolClass::b128, block);
}

TEST(Pool, takes_bytes_of_any_size) {
  for (const std::size_t bytes : {1UL, 127UL, 128UL, 129UL, 256UL, 300UL, 512UL, 1024UL, 1025UL, 100'000UL}) {
    void* memory = take_bytes(bytes);
    std::memset(memory, 1, bytes);
    give_bytes(memory, bytes);
  }
}

}  // namespace
}  // namespace skein::detail
