// Bad days of the runtime that a review thought of: every worker stuck, very many answers at once, very many processes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "skein/runtime/runtime.hpp"
#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::Do;
using tests::Puppet;

struct Doubler {
  struct Twice {
    using Answer = int;
    int value = 0;
  };
  int handle_call(Self /*self*/, Twice request) { return 2 * request.value; }
};

Task<int> ask_many(Self self, Pid doubler, int many) {
  std::vector<detail::CallAwaiter<int>> asked;
  for (int i = 0; i < many; ++i) asked.push_back(self.call<Doubler>(doubler, Doubler::Twice{i}));
  int right = 0;
  for (int i = 0; i < many; ++i) {
    const auto answer = co_await asked[static_cast<std::size_t>(i)];
    if (answer && *answer == 2 * i) ++right;
  }
  co_return right;
}

TEST(EarlyAnswers, none_is_lost_however_many_come_before_they_are_awaited) {
  for (const bool threads : {false, true}) {
    Runtime runtime(threads ? tests::threaded() : tests::seeded(1));
    const Pid doubler = runtime.spawn<Doubler>();
    const auto right = runtime.run(&ask_many, doubler, 2'000);
    ASSERT_TRUE(right);
    EXPECT_EQ(*right, 2'000);
  }
}

TEST(WaitForEnd, returns_in_time_although_every_worker_is_stuck) {
  std::promise<void> gate;
  const std::shared_future<void> open(gate.get_future());
  RuntimeOptions options = tests::threaded(1);
  options.report_stuck = [](const StuckReport&) {};
  Runtime runtime(options);
  std::atomic<bool> begun{false};
  const Pid stuck = runtime.spawn<Puppet>();
  runtime.send(stuck, Do{[&begun, open](Self) {
                 begun = true;
                 open.wait();
               }});
  ASSERT_TRUE(tests::eventually([&] { return begun.load(); }));
  const Duration before = tests::real_time();
  EXPECT_FALSE(runtime.wait_for_end(stuck, milliseconds(50)).has_value());
  EXPECT_LT(tests::real_time() - before, seconds(10));
  gate.set_value();
}

TEST(Shutdown, keeps_its_deadline_with_very_many_who_ignore_it) {
  struct Deaf {
    explicit Deaf(Self self) { self.trap_exit(true); }
    void handle_info(Self /*self*/, Message /*message*/) {}
  };
  const Duration deadline = milliseconds(200);
  Runtime runtime(tests::threaded());
  for (int i = 0; i < 100'000; ++i) runtime.spawn<Deaf>();
  const Duration before = tests::real_time();
  const ShutdownReport report = runtime.shutdown(deadline);
  // Looking for them once may take as long again.
  EXPECT_LT(tests::real_time() - before, 4 * deadline * tests::k_patience + seconds(1));
  EXPECT_EQ(report.clean, report.stuck_count == 0);
  EXPECT_LE(report.stuck.size(), ShutdownReport::k_named);
}

TEST(Shutdown, a_second_one_meanwhile_waits_for_the_first_and_tells_the_same) {
  std::promise<void> gate;
  const std::shared_future<void> open(gate.get_future());
  RuntimeOptions options = tests::threaded(2);
  options.report_stuck = [](const StuckReport&) {};
  Runtime runtime(options);
  std::atomic<bool> begun{false};
  const Pid stuck = runtime.spawn<Puppet>();
  runtime.send(stuck, Do{[&begun, open](Self) {
                 begun = true;
                 open.wait();
               }});
  ASSERT_TRUE(tests::eventually([&] { return begun.load(); }));
  ShutdownReport first;
  std::thread other([&] { first = runtime.shutdown(milliseconds(300)); });
  std::this_thread::sleep_for(milliseconds(50));
  const ShutdownReport second = runtime.shutdown(milliseconds(300));
  other.join();
  EXPECT_FALSE(first.clean);
  EXPECT_FALSE(second.clean);
  EXPECT_EQ(second.stuck_count, 1U);
  gate.set_value();
  std::this_thread::sleep_for(milliseconds(20));
}

TEST(Start, refuses_to_monitor_as_it_could_not_give_the_ref) {
  struct Starter {
    Task<void> handle_info(Self self, Message /*message*/) {
      SpawnOptions options;
      options.monitor = true;
      auto starting = self.start<Puppet>(options);
      co_await starting;
    }
  };
  Runtime runtime(tests::seeded(1));
  const Pid starter = runtime.spawn<Starter>();
  runtime.send(starter, 1);
  const auto reason = runtime.wait_for_end(starter, seconds(1));
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->text().find("monitor the Pid it returns"), std::string::npos) << reason->text();
}

TEST(Introspection, the_time_of_one_long_handler_is_its_own) {
  Runtime runtime(tests::threaded(2));
  std::vector<Pid> all;
  for (int i = 0; i < 4; ++i) all.push_back(runtime.spawn<Puppet>());
  for (const Pid pid : all) {
    runtime.send(pid, Do{[](Self) { std::this_thread::sleep_for(milliseconds(600)); }});
  }
  ASSERT_TRUE(tests::eventually([&] {
    for (const Pid pid : all) {
      if (runtime.info(pid)->handled == 0 || runtime.info(pid)->state != ProcessState::idle) return false;
    }
    return true;
  }));
  for (const Pid pid : all) {
    EXPECT_GT(runtime.info(pid)->handler_time, milliseconds(100));
    EXPECT_LT(runtime.info(pid)->handler_time, seconds(2 * tests::k_patience));
  }
}

// A million waits while the owner goes through the stack; what comes meanwhile must not count from nothing.
TEST(FullMailbox, the_limit_holds_while_a_long_stack_is_taken) {
  constexpr std::uint32_t k_limit = 200'000;
  std::atomic<bool> begun{false};
  std::promise<void> gate;
  const std::shared_future<void> open(gate.get_future());
  Runtime runtime(tests::threaded(2));
  SpawnOptions options;
  options.mailbox_limit = k_limit;
  const Pid pid = runtime.spawn_with<Puppet>(options);
  runtime.send(pid, Do{[&begun, open](Self) {
                 begun = true;
                 open.wait();
               }});
  ASSERT_TRUE(tests::eventually([&] { return begun.load(); }));
  while (runtime.send(pid, Do{[](Self) {}}) == SendResult::ok) {
  }
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop) runtime.send(pid, Do{[](Self) {}});
  });
  gate.set_value();
  std::this_thread::sleep_for(milliseconds(200));
  stop = true;
  sender.join();
  EXPECT_LE(runtime.info(pid)->high_water, k_limit + k_limit / 20);
}

}  // namespace
}  // namespace skein
