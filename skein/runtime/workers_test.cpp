// The threaded scheduler: fairness, idleness, stealing, and the watch over long handlers. Times are measured several
// times and the best counts, since the machine may be busy with other things.
#include "skein/runtime/workers.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

Duration cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return seconds(time.tv_sec) + Duration(time.tv_nsec);
}

struct Ball {};

// Sends itself a message for each it gets, and so never rests.
class Flooder {
 public:
  Flooder(Self self, std::atomic<bool>* stop) : stop_(stop) {
    for (int i = 0; i < 1'000; ++i) self.send(self.pid(), Ball{});
  }
  void handle_info(Self self, Message /*message*/) {
    if (!*stop_) self.send(self.pid(), Ball{});
  }

 private:
  std::atomic<bool>* stop_;
};

struct Ask {};
struct Polite {
  int handle_call(Self /*self*/, Ask /*request*/) { return 1; }
};

TEST(Scheduler, a_process_that_floods_itself_does_not_keep_another_from_running) {
  for (const unsigned workers : {1U, 2U}) {
    std::atomic<bool> stop{false};
    Runtime runtime(tests::threaded(workers));
    for (unsigned i = 0; i < 2 * workers; ++i) runtime.spawn<Flooder>(&stop);
    const Pid polite = runtime.spawn<Polite>();
    const Duration worst = tests::best_of(5, milliseconds(50), [&] {
      Duration longest{};
      for (int i = 0; i < 50; ++i) {
        const Duration begin = tests::real_time();
        EXPECT_TRUE(runtime.call<Polite>(polite, Ask{}));
        longest = std::max(longest, tests::real_time() - begin);
      }
      return longest;
    });
    EXPECT_LT(worst, milliseconds(50 * tests::k_patience)) << workers << " workers";
    stop = true;
  }
}

TEST(Scheduler, a_flood_does_not_delay_a_woken_or_a_new_process_inside_either) {
  std::atomic<bool> stop{false};
  std::atomic<int> ran{0};
  Runtime runtime(tests::threaded(1));
  runtime.spawn<Flooder>(&stop);
  const Pid spawner = runtime.spawn<Puppet>();
  runtime.send(spawner, Do{[&ran](Self self) {
                 for (int i = 0; i < 100; ++i) {
                   const Pid child = self.spawn<Puppet>();
                   self.send(child, Do{[&ran](Self) { ++ran; }});
                 }
               }});
  EXPECT_TRUE(tests::eventually([&] { return ran == 100; }));
  stop = true;
}

TEST(Scheduler, an_idle_runtime_uses_hardly_any_processor_time) {
  Runtime runtime(tests::threaded(2));
  const Pid polite = runtime.spawn<Polite>();
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(runtime.call<Polite>(polite, Ask{}));
  std::this_thread::sleep_for(milliseconds(700));
  const Duration before = cpu_time();
  std::this_thread::sleep_for(seconds(10));
  const Duration used = cpu_time() - before;
  EXPECT_LT(used, milliseconds(100 * tests::k_patience)) << "more than 1% of one core";

  // After the rest it is there at once, and its long handlers are seen again.
  EXPECT_TRUE(runtime.call<Polite>(polite, Ask{}));
}

// The process that waits behind a busy handler is found by the other worker.
Duration delay_behind(Runtime& runtime, Duration busy) {
  const Pid waiting = runtime.spawn<Puppet>();
  const Pid hog = runtime.spawn<Puppet>();
  std::atomic<std::int64_t> sent{0};
  std::atomic<std::int64_t> ran{0};
  std::atomic<bool> done{false};
  runtime.send(hog, Do{[&, waiting, busy](Self self) {
                 sent = tests::real_time().count();
                 self.send(waiting, Do{[&ran](Self) { ran = tests::real_time().count(); }});
                 tests::spin_for(busy);
                 done = true;
               }});
  EXPECT_TRUE(tests::eventually([&] { return done && ran != 0; }));
  return Duration(ran - sent);
}

TEST(Scheduler, a_process_behind_a_busy_handler_is_run_by_the_other_worker) {
  Runtime runtime(tests::threaded(2));
  const Duration busy = milliseconds(300);
  EXPECT_LT(tests::best_of(5, milliseconds(30), [&] { return delay_behind(runtime, busy); }),
            milliseconds(tests::k_sanitized ? 250 : 100));
}

TEST(Scheduler, a_process_woken_late_in_a_very_long_handler_is_run_by_the_other_worker_too) {
  Runtime runtime(tests::threaded(2));
  const Duration delay = tests::best_of(3, milliseconds(250), [&] {
    const Pid waiting = runtime.spawn<Puppet>();
    const Pid hog = runtime.spawn<Puppet>();
    std::atomic<std::int64_t> sent{0};
    std::atomic<std::int64_t> ran{0};
    std::atomic<bool> done{false};
    runtime.send(hog, Do{[&, waiting](Self self) {
                   // Long enough for the other worker to fall asleep without end.
                   tests::spin_for(milliseconds(900));
                   sent = tests::real_time().count();
                   self.send(waiting, Do{[&ran](Self) { ran = tests::real_time().count(); }});
                   tests::spin_for(milliseconds(800));
                   done = true;
                 }});
    EXPECT_TRUE(tests::eventually([&] { return done && ran != 0; }));
    return Duration(ran - sent);
  });
  EXPECT_LT(delay, milliseconds(600));
}

struct Lingering {
  Duration time;
};
struct Slowpoke {
  void handle_cast(Self /*self*/, Lingering lingering) { tests::spin_for(lingering.time); }
};

TEST(Scheduler, a_handler_that_runs_too_long_is_reported_by_name_once) {
  std::mutex mutex;
  std::vector<StuckReport> reports;
  RuntimeOptions options = tests::threaded(2);
  options.handler_warning = milliseconds(50);
  options.report_stuck = [&](const StuckReport& report) {
    const std::scoped_lock lock(mutex);
    reports.push_back(report);
  };
  Runtime runtime(options);
  SpawnOptions named;
  named.name = "slowpoke";
  const Pid slowpoke = runtime.spawn_with<Slowpoke>(named);
  runtime.cast<Slowpoke>(slowpoke, Lingering{milliseconds(500)});
  ASSERT_TRUE(tests::eventually([&] { return runtime.info(slowpoke)->handled == 1; }));
  ASSERT_TRUE(tests::eventually([&] { return runtime.info(slowpoke)->state == ProcessState::idle; }));
  const std::scoped_lock lock(mutex);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].pid, slowpoke);
  EXPECT_EQ(reports[0].name, "slowpoke");
  EXPECT_NE(reports[0].type.find("Slowpoke"), std::string::npos);
  EXPECT_NE(reports[0].handling.find("Lingering"), std::string::npos);
  EXPECT_GE(reports[0].for_how_long, milliseconds(50));
  EXPECT_FALSE(reports[0].past_stuck_limit);
}

TEST(Scheduler, a_handler_past_the_stuck_limit_is_reported_again_as_stuck) {
  std::atomic<int> warnings{0};
  std::atomic<int> stuck{0};
  RuntimeOptions options = tests::threaded(2);
  options.handler_warning = milliseconds(50);
  options.stuck_limit = milliseconds(250);
  options.report_stuck = [&](const StuckReport& report) { ++(report.past_stuck_limit ? stuck : warnings); };
  Runtime runtime(options);
  const Pid slowpoke = runtime.spawn<Slowpoke>();
  runtime.cast<Slowpoke>(slowpoke, Lingering{milliseconds(700)});
  EXPECT_TRUE(tests::eventually([&] { return stuck == 1; }));
  EXPECT_TRUE(tests::eventually([&] { return runtime.info(slowpoke)->state == ProcessState::idle; }));
  EXPECT_EQ(stuck, 1);
  EXPECT_LE(warnings, 1);
}

TEST(Scheduler, work_for_two_is_done_by_two) {
  Runtime runtime(tests::threaded(2));
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> done{0};
  const Pid spawner = runtime.spawn<Puppet>();
  runtime.send(spawner, Do{[&](Self self) {
                 for (int i = 0; i < 400; ++i) {
                   const Pid child = self.spawn<Puppet>();
                   self.send(child, Do{[&](Self) {
                               tests::spin_for(milliseconds(1));
                               const std::scoped_lock lock(mutex);
                               threads.insert(std::this_thread::get_id());
                               ++done;
                             }});
                 }
               }});
  EXPECT_TRUE(tests::eventually([&] { return done == 400; }));
  EXPECT_EQ(threads.size(), 2U);
}

struct Brief {
  Brief(Self self, std::atomic<int>* count) {
    ++*count;
    self.stop();
  }
};

class Storm {
 public:
  Storm(Self self, int count, std::atomic<int>* born) : left_(count), born_(born) { self.send(self.pid(), 1); }
  void handle_info(Self self, Message /*message*/) {
    for (int i = 0; i < 1'000 && left_ > 0; ++i, --left_) self.spawn<Brief>(born_);
    if (left_ > 0) self.send(self.pid(), 1);
  }

 private:
  int left_;
  std::atomic<int>* born_;
};

TEST(Scheduler, survives_storms_of_spawns) {
  constexpr int k_each = tests::k_sanitized ? 10'000 : 100'000;
  std::atomic<int> born{0};
  Runtime runtime(tests::threaded(2));
  const Pid one = runtime.spawn<Storm>(k_each, &born);
  const Pid other = runtime.spawn<Storm>(k_each, &born);
  EXPECT_TRUE(tests::eventually([&] { return born == 2 * k_each; }, seconds(60)));
  runtime.exit(one, ExitReason::kill());
  runtime.exit(other, ExitReason::kill());
  EXPECT_TRUE(tests::eventually([&] { return runtime.process_count() == 0; }));
}

TEST(Scheduler, spawns_from_several_ordinary_threads_all_run) {
  constexpr int k_each = 2'000;
  std::atomic<int> born{0};
  Runtime runtime(tests::threaded(2));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < k_each; ++i) runtime.spawn<Brief>(&born);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(tests::eventually([&] { return born == 4 * k_each && runtime.process_count() == 0; }));
}

TEST(Scheduler, many_runtimes_come_and_go_one_after_the_other) {
  for (int i = 0; i < 100; ++i) {
    Runtime runtime(tests::threaded(2));
    const Pid polite = runtime.spawn<Polite>();
    ASSERT_EQ(runtime.call<Polite>(polite, Ask{}).value(), 1) << i;
  }
}

TEST(Scheduler, two_runtimes_live_side_by_side) {
  Runtime one(tests::threaded(1));
  Runtime other(tests::threaded(1));
  const Pid first = one.spawn<Polite>();
  const Pid second = other.spawn<Polite>();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(one.call<Polite>(first, Ask{}));
    ASSERT_TRUE(other.call<Polite>(second, Ask{}));
  }
}

Async<int> sleep_often(Self self, int times) {
  for (int i = 0; i < times; ++i) {
    const Instant begin = self.now();
    auto sleeping = self.sleep(milliseconds(1 + i % 3));
    co_await sleeping;
    if (self.now() - begin < milliseconds(1 + i % 3)) co_return -1;
  }
  co_return times;
}

TEST(Scheduler, sleeps_are_never_too_short_and_timers_are_woken_for) {
  Runtime runtime(tests::threaded(2));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] { EXPECT_EQ(runtime.run(&sleep_often, 20).value(), 20); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Scheduler, a_far_timer_does_not_hide_a_near_one) {
  Runtime runtime(tests::threaded(1));
  tests::Notebook notebook;
  const Pid pid = runtime.spawn<Puppet>(&notebook);
  runtime.send(pid, Do{[](Self self) { self.send_after(seconds(1'000), self.pid(), 1); }});
  ASSERT_TRUE(tests::eventually([&core = runtime.core()] {
    const std::scoped_lock lock(core.timer_mutex);
    return core.wheel.size() == 1 && core.timer_wakes_at != Instant::min();
  })) << "the clock sleeps";
  runtime.send(pid, Do{[](Self self) { self.send_after(milliseconds(5), self.pid(), 2); }});
  EXPECT_TRUE(tests::eventually([&] { return notebook.size() == 1; }));
  EXPECT_EQ(notebook.lines(), std::vector<std::string>{"2"});
}

}  // namespace
}  // namespace skein
