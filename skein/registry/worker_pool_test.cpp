#include "skein/registry/worker_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "skein/registry/registry_world.hpp"

namespace skein::inline v0::registry_tests {
namespace {

using testing::Contains;
using testing::ElementsAre;

struct PoolWorld : World {
  explicit PoolWorld(int count) {
    for (int i = 0; i < count; ++i) {
      pids.push_back(agent());
      EXPECT_TRUE(pool.add(pids.back()));
    }
  }
  std::vector<Pid> pids;
  WorkerPool pool{runtime};
};

TEST(WorkerPool, round_robin_goes_round_and_leaves_out_the_dead) {
  PoolWorld world(3);
  const auto& pids = world.pids;
  EXPECT_EQ(world.pool.next(), pids[0]);
  world.kill(pids[1]);
  EXPECT_EQ(world.pool.next(), pids[2]);
  EXPECT_EQ(world.pool.next(), pids[0]);
  EXPECT_EQ(world.pool.next(), pids[2]);
  EXPECT_THAT(world.pool.workers(), ElementsAre(pids[0], pids[2]));
}

TEST(WorkerPool, one_that_dies_before_its_turn_costs_nobody_else_theirs) {
  PoolWorld world(3);
  EXPECT_EQ(world.pool.next(), world.pids[0]);
  EXPECT_EQ(world.pool.next(), world.pids[1]);
  EXPECT_TRUE(world.pool.remove(world.pids[0]));
  EXPECT_EQ(world.pool.next(), world.pids[2]);
}

TEST(WorkerPool, the_same_key_and_position_give_the_same_worker) {
  PoolWorld world(5);
  std::vector<Pid> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key-" + std::to_string(i);
    const auto first = world.pool.by_key(key);
    ASSERT_TRUE(first);
    EXPECT_EQ(world.pool.by_key(key), first);
    seen.push_back(*first);
  }
  for (const Pid pid : world.pids) EXPECT_THAT(seen, Contains(pid));
  EXPECT_EQ(world.pool.at(2), world.pids[2]);
  EXPECT_EQ(world.pool.at(7), world.pids[2]);
  EXPECT_TRUE(world.pool.by_key(std::string(10'000, 'x')));
}

TEST(WorkerPool, chance_finds_all_of_them) {
  PoolWorld world(5);
  Random random(3);
  std::vector<Pid> seen;
  for (int i = 0; i < 200; ++i) seen.push_back(*world.pool.any(random));
  for (const Pid pid : world.pids) EXPECT_THAT(seen, Contains(pid));
}

TEST(WorkerPool, a_claimed_worker_is_nobody_else_s_until_it_is_given_back) {
  PoolWorld world(2);
  auto first = world.pool.claim();
  auto second = world.pool.claim();
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_NE(first->pid(), second->pid());
  EXPECT_FALSE(world.pool.claim());
  const Pid free = first->pid();
  first.reset();
  const auto third = world.pool.claim();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->pid(), free);
}

TEST(WorkerPool, refuses_the_dead_a_second_time_and_too_many) {
  World world;
  WorkerPool pool(world.runtime, 1);
  EXPECT_FALSE(pool.next());
  EXPECT_FALSE(pool.claim());
  const Pid pid = world.agent();
  const Pid other = world.agent();
  EXPECT_EQ(failure_of(pool.add(Pid{})), RegistryFailure::dead_process);
  ASSERT_TRUE(pool.add(pid));
  EXPECT_EQ(failure_of(pool.add(pid)), RegistryFailure::already_registered);
  EXPECT_EQ(failure_of(pool.add(other)), RegistryFailure::full);
  world.kill(pid);
  EXPECT_TRUE(pool.add(other)) << "the dead take no room";
  EXPECT_FALSE(pool.remove(pid));
}

}  // namespace
}  // namespace skein::inline v0::registry_tests
