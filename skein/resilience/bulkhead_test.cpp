#include "skein/resilience/bulkhead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace skein {
namespace {

TEST(Bulkhead, lets_ten_in_and_refuses_the_eleventh) {
  Bulkhead bulkhead;
  std::vector<Bulkhead::Ticket> tickets;
  for (int i = 0; i < 10; ++i) tickets.push_back(*bulkhead.enter());
  EXPECT_FALSE(bulkhead.enter());
  EXPECT_EQ(bulkhead.refused(), 1U);
  tickets.pop_back();
  EXPECT_TRUE(bulkhead.has_room());
  EXPECT_TRUE(bulkhead.enter());
}

TEST(Bulkhead, a_limit_of_zero_lets_nobody_in) {
  Bulkhead bulkhead(0);
  EXPECT_FALSE(bulkhead.enter());
}

TEST(Bulkhead, a_ticket_may_outlive_it) {
  std::optional<Bulkhead::Ticket> ticket;
  {
    Bulkhead bulkhead;
    ticket = bulkhead.enter();
  }
  ticket.reset();
}

TEST(Bulkhead, never_holds_more_than_its_limit_with_many_threads) {
  Bulkhead bulkhead(3);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        if (auto ticket = bulkhead.enter()) {
          const int now = ++inside;
          int seen = most.load();
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          --inside;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most.load(), 3);
  EXPECT_EQ(bulkhead.inside(), 0U);
}

}  // namespace
}  // namespace skein
