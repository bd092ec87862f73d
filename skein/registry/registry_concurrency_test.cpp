// Readers while writers work, on a runtime with threads; meant for the thread sanitizer as much as for its own checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <thread>

#include "skein/base/random.hpp"
#include "skein/registry/registry_world.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::registry_tests {
namespace {

struct ThreadedWorld {
  ThreadedWorld() : shared(std::make_shared<RegistryTable>(runtime)), table(*shared) {
    const StartResult started = runtime.start<Registry>({}, shared);
    EXPECT_TRUE(started);
  }
  Runtime runtime{[] {
    RuntimeOptions options;
    options.workers = 2;
    return options;
  }()};
  std::shared_ptr<RegistryTable> shared;
  RegistryTable& table;
};

constexpr int k_writers = 3;
constexpr int k_stable = 40;

std::string stable_name(int i) { return "stable-" + std::to_string(i); }

// Registers and unregisters names of its own against a model of them.
class Writer {
 public:
  Writer(ThreadedWorld& world, int number) : world_(world), number_(number), random_(static_cast<unsigned>(number)) {
    for (int i = 0; i < 4; ++i) pids_.push_back(world_.runtime.spawn<Idle>());
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (const auto& [name, pid] : model_) EXPECT_EQ(world_.table.find_agent(name), pid) << name;
    for (const auto& [name, pid] : model_) EXPECT_TRUE(world_.table.unregister_agent(name)) << name;
  }

 private:
  void step() {
    // Long names too: they lie outside of their entries.
    const std::uint64_t which = random_.below(60);
    const std::string name = (which % 3 == 0 ? std::string(100, 'w') : std::string("w")) + std::to_string(number_) +
                             "-" + std::to_string(which);
    const Pid pid = pids_[random_.below(pids_.size())];
    const auto held = model_.find(name);
    switch (random_.below(4)) {
      case 0:
      case 1: {
        const bool done =
            world_.table.register_agent(name, pid, {"shared", "c" + std::to_string(which % 5)}).has_value();
        EXPECT_EQ(done, held == model_.end()) << name;
        if (done) model_.emplace(name, pid);
        break;
      }
      case 2:
        EXPECT_EQ(world_.table.unregister_agent(name).has_value(), held != model_.end()) << name;
        if (held != model_.end()) model_.erase(held);
        break;
      default: {
        const auto found = world_.table.find_agent(name);
        EXPECT_EQ(found.has_value(), held != model_.end()) << name;
        EXPECT_TRUE(!found || held == model_.end() || *found == held->second) << name;
        break;
      }
    }
  }

  ThreadedWorld& world_;
  int number_;
  Random random_;
  std::vector<Pid> pids_;
  std::map<std::string, Pid> model_;
};

TEST(RegistryConcurrency, readers_miss_nothing_that_was_there_all_along) {
  ThreadedWorld world;
  std::vector<Pid> stable;
  for (int i = 0; i < k_stable; ++i) {
    stable.push_back(world.runtime.spawn<Idle>());
    ASSERT_TRUE(world.table.register_agent(stable_name(i), stable.back(), {"shared", "stable"}));
  }
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      for (int round = reader; !done.load(); ++round) {
        const int i = round % k_stable;
        if (world.table.find_agent(stable_name(i)) != stable[static_cast<std::size_t>(i)]) ++wrong;
        if (world.table.find_agent("stable-" + std::to_string(k_stable + i))) ++wrong;
        if (world.table.query_agents({"shared", "stable"})->size() != k_stable) ++wrong;
        std::size_t seen = 0;
        for (const Pid pid : world.table.find_agents_by_capability(round % 2 == 0 ? "shared" : "any")) {
          if (!pid) ++wrong;
          seen += static_cast<std::size_t>(std::count(stable.begin(), stable.end(), pid));
        }
        if (seen != k_stable) ++wrong;
      }
    });
  }
  std::vector<std::thread> writers;
  for (int i = 1; i <= k_writers; ++i) writers.emplace_back([&, i] { Writer(world, i).run(3'000); });
  for (std::thread& each : writers) each.join();
  done = true;
  for (std::thread& each : readers) each.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(world.table.entry_count(), static_cast<std::uint32_t>(k_stable));
}

TEST(RegistryConcurrency, nobody_is_found_after_its_down_was_seen) {
  ThreadedWorld world;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 150; ++i) {
        // All want the same few names, so entries change hands all the time.
        const std::string name = "n" + std::to_string((thread + i) % 2);
        const Pid pid = world.runtime.spawn<Idle>();
        (void)world.table.register_agent(name, pid, {"execute"});
        (void)world.table.add_counter("jobs", pid, 1);
        (void)world.table.join_group("g", pid);
        world.runtime.exit(pid, ExitReason::kill());
        ASSERT_TRUE(world.runtime.wait_for_end(pid));
        EXPECT_NE(world.table.find_agent(name).value_or(Pid{}), pid);
        EXPECT_THAT(world.table.find_agents_by_capability("execute"), testing::Not(testing::Contains(pid)));
        EXPECT_THAT(world.table.find_agents_by_capability("any"), testing::Not(testing::Contains(pid)));
        EXPECT_THAT(world.table.group_members("g"), testing::Not(testing::Contains(pid)));
        EXPECT_FALSE(world.table.counter("jobs", pid));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 0);
}

TEST(RegistryConcurrency, counters_and_loads_are_exact) {
  ThreadedWorld world;
  const Pid pid = world.runtime.spawn<Idle>();
  const Pid other = world.runtime.spawn<Idle>();
  ASSERT_TRUE(world.table.register_agent("a", pid));
  ASSERT_TRUE(world.table.add_counter("jobs", pid));
  ASSERT_TRUE(world.table.add_counter("jobs", other, 1'000'000));
  constexpr int k_rounds = 5'000;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < k_rounds; ++i) {
        EXPECT_TRUE(world.table.increment_load("a", 2));
        EXPECT_TRUE(world.table.decrement_load("a"));
        EXPECT_TRUE(world.table.update_counter("jobs", thread == 0 ? other : pid, 1));
        if (!world.table.decrement_load("a", 1'000'000)) ++refused;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(world.table.get_load("a"), 3U * k_rounds);
  EXPECT_EQ(refused.load(), 3 * k_rounds);
  EXPECT_EQ(world.table.counter("jobs", pid), 2 * k_rounds);
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 1'000'000 + 3 * k_rounds);
  world.runtime.exit(other, ExitReason::kill());
  ASSERT_TRUE(world.runtime.wait_for_end(other));
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 2 * k_rounds);
}

TEST(RegistryConcurrency, a_name_given_round_is_never_lost) {
  ThreadedWorld world;
  std::vector<Pid> pids;
  for (int i = 0; i < 3; ++i) pids.push_back(world.runtime.spawn<Idle>());
  ASSERT_TRUE(world.table.register_agent("ball", pids[0], {"play"}));
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!done.load()) {
      if (!world.table.find_agent("ball")) ++wrong;
      if (world.table.find_agents_by_capability("play").size() != 1) ++wrong;
    }
  });
  for (std::size_t i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(world.table.give_away("ball", pids[i % 3], pids[(i + 1) % 3]));
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(RegistryConcurrency, of_many_who_register_or_spawn_one_makes_the_process) {
  ThreadedWorld world;
  // The registry's process; the one that started it may still be about to end.
  ASSERT_TRUE(tests::eventually([&] { return world.runtime.process_count() == 1; }));
  constexpr std::size_t k_names = 500;
  constexpr std::size_t k_threads = 3;
  std::array<std::vector<Pid>, k_threads> found;
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < k_names; ++i) {
        mine.push_back(world.table.register_or_spawn<Idle>(std::to_string(i), {}).value_or(Pid{}));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(world.runtime.process_count(), 1 + k_names);
}

TEST(RegistryConcurrency, a_restart_of_its_process_under_load_loses_nothing) {
  ThreadedWorld world;
  std::vector<Pid> pids;
  std::thread spawner([&] {
    for (int i = 0; i < 600; ++i) {
      pids.push_back(world.runtime.spawn<Idle>());
      ASSERT_TRUE(world.table.register_agent(std::to_string(i), pids.back()));
    }
  });
  for (int i = 0; i < 5; ++i) {
    const Pid registry = world.table.attached();
    world.runtime.exit(registry, ExitReason::kill());
    ASSERT_TRUE(world.runtime.wait_for_end(registry));
    ASSERT_TRUE(world.runtime.start<Registry>({}, world.shared));
  }
  spawner.join();
  for (std::size_t i = 0; i < pids.size(); ++i) EXPECT_EQ(world.table.find_agent(std::to_string(i)), pids[i]);
  for (const Pid pid : pids) world.runtime.exit(pid, ExitReason::kill());
  EXPECT_TRUE(skein::tests::eventually([&] { return world.table.entry_count() == 0; })) << world.table.entry_count();
}

}  // namespace
}  // namespace skein::inline v0::registry_tests
