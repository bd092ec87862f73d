#include "skein/runtime/names.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace skein::detail {
namespace {

const Pid k_one(0, 1, 1);
const Pid k_two(0, 2, 1);

TEST(Names, the_first_claim_holds) {
  Names names;
  EXPECT_EQ(names.claim("a", k_one), k_one);
  EXPECT_EQ(names.claim("a", k_two), k_one);
  EXPECT_EQ(names.find("a"), k_one);
  EXPECT_FALSE(names.find("b"));
}

TEST(Names, only_the_holder_frees_a_name) {
  Names names;
  names.claim("a", k_one);
  names.release("a", k_two);
  EXPECT_EQ(names.find("a"), k_one);
  names.release("a", k_one);
  EXPECT_FALSE(names.find("a"));
  EXPECT_EQ(names.claim("a", k_two), k_two);
  names.release("never claimed", k_two);
}

TEST(Names, each_visits_all) {
  Names names;
  for (int i = 0; i < 100; ++i) names.claim("name" + std::to_string(i), Pid(0, static_cast<std::uint32_t>(i), 1));
  std::uint32_t visited = 0;
  names.each([&](const std::string& name, Pid pid) {
    EXPECT_EQ(name, "name" + std::to_string(pid.slot()));
    ++visited;
  });
  EXPECT_EQ(visited, 100U);
}

TEST(Names, one_thread_wins_each_name) {
  Names names;
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&names, &won, t] {
      const Pid mine(0, t, 1);
      for (int i = 0; i < 1'000; ++i) won += names.claim("n" + std::to_string(i), mine) == mine ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 1'000);
}

}  // namespace
}  // namespace skein::detail
