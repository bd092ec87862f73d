// Bad days of the runtime that a review thought of: every worker stuck, very many answers at once, very many processes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "skein/runtime/runtime.hpp"
#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

// A process in a handler that does not return before open().
class Blocked {
 public:
  explicit Blocked(Runtime& runtime, const SpawnOptions& options = {}) : pid(runtime.spawn_with<Puppet>(options)) {
    // By value: the handler may return when this is gone.
    runtime.send(pid, Do{[begun = begun_, opened = opened_](Self) {
                   begun->set_value();
                   opened.wait();
                 }});
    begun_->get_future().wait();
  }
  ~Blocked() { open(); }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;
  void open() {
    if (!std::exchange(is_open_, true)) gate_.set_value();
  }

 private:
  std::promise<void> gate_;
  std::shared_future<void> opened_ = gate_.get_future().share();
  std::shared_ptr<std::promise<void>> begun_ = std::make_shared<std::promise<void>>();
  bool is_open_ = false;

 public:
  const Pid pid;
};

struct Doubler {
  struct Twice {
    using Answer = int;
    int value = 0;
  };
  int handle_call(Self /*self*/, Twice request) { return 2 * request.value; }
};

Async<int> ask_many(Self self, Pid doubler, int many) {
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

// The server takes its time, so its answer comes when nobody awaits it any more.
struct Late {
  Async<int> handle_call(Self self, Doubler::Twice request) {
    auto sleeping = self.sleep(milliseconds(20));
    co_await sleeping;
    co_return 2 * request.value;
  }
};

Async<std::string> keep_nothing(Self self, Pid late, Pid doubler) {
  for (int i = 0; i < 10; ++i) {
    auto asking = self.call<Late>(late, Doubler::Twice{i}, milliseconds(1));
    const auto answer = co_await asking;
    if (answer) co_return "it was not late";
  }
  // One that was asked for before the late ones come is still found.
  auto early = self.call<Doubler>(doubler, Doubler::Twice{21});
  auto until_all_came = self.sleep(seconds(1));
  co_await until_all_came;
  if (self.slot()->extension->early.size() != 1) co_return "a late answer is kept";
  const auto answer = co_await early;
  if (!answer || *answer != 42) co_return "an early answer was lost";
  for (int i = 0; i < 10'000; ++i) {
    auto sleeping = self.sleep(milliseconds(1));
    co_await sleeping;
  }
  if (self.slot()->extension->given_up.size() > 256) co_return "waits that are over pile up";
  co_return "";
}

TEST(EarlyAnswers, neither_late_answers_nor_waits_that_are_over_pile_up) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Runtime runtime(tests::seeded(seed));
    EXPECT_EQ(runtime.run(&keep_nothing, runtime.spawn<Late>(), runtime.spawn<Doubler>()).value(), "") << seed;
  }
}

struct Asker {
  Async<int> handle_call(Self self, Pid doubler) { return ask_many(self, doubler, 100); }
};

TEST(EarlyAnswers, have_nothing_to_do_with_the_limit_of_the_mailbox) {
  Runtime runtime(tests::seeded(1));
  SpawnOptions options;
  options.mailbox_limit = 2;
  const Pid asker = runtime.spawn_with<Asker>(options);
  EXPECT_EQ(runtime.call<Asker>(asker, runtime.spawn<Doubler>()).value(), 100);
}

TEST(WaitForEnd, returns_in_time_although_every_worker_is_stuck) {
  RuntimeOptions options = tests::threaded(1);
  options.report_stuck = [](const StuckReport&) {};
  Runtime runtime(options);
  Blocked blocked(runtime);
  auto waiting = std::async(std::launch::async, [&] { return runtime.wait_for_end(blocked.pid, milliseconds(50)); });
  EXPECT_EQ(waiting.wait_for(seconds(10)), std::future_status::ready);
  blocked.open();
  EXPECT_FALSE(waiting.get().has_value());
  EXPECT_TRUE(tests::eventually([&] { return runtime.process_count() == 1; })) << "who watched is gone";
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
  tests::Notebook notebook;
  RuntimeOptions options = tests::threaded(2);
  options.report_stuck = [](const StuckReport&) {};
  Runtime runtime(options);
  const Blocked blocked(runtime);
  const Pid listener = runtime.spawn<Puppet>(&notebook, true);
  ASSERT_TRUE(tests::eventually([&] { return runtime.info(listener)->state == ProcessState::idle; }));
  auto other = std::async(std::launch::async, [&] { return runtime.shutdown(milliseconds(300)); });
  EXPECT_TRUE(tests::eventually([&] { return notebook.size() != 0; })) << "the first is under way";
  const ShutdownReport second = runtime.shutdown(milliseconds(300));
  const ShutdownReport first = other.get();
  const ShutdownReport third = runtime.shutdown();
  EXPECT_FALSE(first.clean);
  ASSERT_EQ(first.stuck.size(), 1U);
  EXPECT_EQ(first.stuck[0].pid, blocked.pid);
  for (const ShutdownReport& later : {second, third}) {
    EXPECT_EQ(later.clean, first.clean);
    EXPECT_EQ(later.stuck_count, first.stuck_count);
    EXPECT_EQ(later.text(), first.text());
  }
}

// Is never at rest and does not listen: on virtual time it keeps the clock from moving.
struct DeafFlooder {
  explicit DeafFlooder(Self self) {
    self.trap_exit(true);
    self.send(self.pid(), 1);
  }
  void handle_info(Self self, Message /*message*/) { self.send(self.pid(), 1); }
};

TEST(Shutdown, ends_on_virtual_time_although_a_process_never_rests) {
  Runtime runtime(tests::seeded(1));
  const Pid flooder = runtime.spawn<DeafFlooder>();
  runtime.run_ready(1'000);
  ASSERT_TRUE(runtime.is_alive(flooder));
  const Duration before = tests::real_time();
  EXPECT_TRUE(runtime.shutdown(seconds(1)).clean);
  EXPECT_LT(tests::real_time() - before, seconds(30 * tests::k_patience));
}

std::string why_not(const RuntimeOptions& options) {
  try {
    const Runtime runtime(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "it was made";
}

TEST(Limits, options_with_which_nothing_could_run_or_all_could_grow_are_refused) {
  RuntimeOptions options = tests::threaded(1);
  EXPECT_EQ(why_not(options), "it was made");
  options.turn_budget = 0;
  EXPECT_EQ(why_not(options), "RuntimeOptions::turn_budget is 0; it may be 1 to 1000000");
  options.turn_budget = 1'000'001;
  EXPECT_EQ(why_not(options), "RuntimeOptions::turn_budget is 1000001; it may be 1 to 1000000");
  options = tests::threaded(1);
  options.max_processes = 0;
  EXPECT_EQ(why_not(options), "RuntimeOptions::max_processes is 0; it may be 1 to 16777215");
  options = tests::threaded(1);
  options.mailbox_limit = 0;
  EXPECT_EQ(why_not(options), "RuntimeOptions::mailbox_limit is 0; it may be 1 to 4294967295");
}

TEST(Limits, a_thread_cannot_ask_for_ties_to_itself) {
  Runtime runtime(tests::seeded(1));
  SpawnOptions linked;
  linked.link = true;
  EXPECT_THROW(runtime.spawn_with<Puppet>(linked), SpawnError);
  SpawnOptions monitored;
  monitored.monitor = true;
  const StartResult result = runtime.start<Puppet>(monitored);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().reason.text().find("start it from a process"), std::string::npos);
  EXPECT_EQ(runtime.process_count(), 0U);
}

// Ends the program: with 0 if all the threads that did begin are gone.
[[noreturn]] void make_a_scheduler_without_room_for_its_stacks() {
  constexpr rlim_t k_room = rlim_t{1} << 30;
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + k_room;
  const rlimit limit{most, most};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::exit(1);
  RuntimeOptions options = tests::threaded(1'000);
  options.max_processes = 1'000;
  try {
    const Runtime runtime(options);
  } catch (const std::system_error& error) {
    std::fputs(error.what(), stderr);
    // One that was joined may be seen there for a moment more.
    const bool alone = tests::eventually([] {
      const std::filesystem::directory_iterator threads("/proc/self/task");
      return std::distance(begin(threads), end(threads)) == 1;
    });
    std::exit(alone ? 0 : 2);
  }
  std::exit(3);
}

TEST(LimitsDeathTest, a_scheduler_that_gets_too_few_threads_says_so_and_leaves_none) {
  if (tests::k_sanitized) GTEST_SKIP() << "sanitizers need the memory that is taken away here";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(make_a_scheduler_without_room_for_its_stacks(), ::testing::ExitedWithCode(0), "1001 threads");
}

TEST(Limits, a_start_from_a_thread_without_room_for_anybody_is_an_error_like_any) {
  RuntimeOptions options = tests::seeded(1);
  options.max_processes = 1;
  Runtime runtime(options);
  const Pid only = runtime.spawn<Puppet>();
  const StartResult full = runtime.start<Puppet>({});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason.text(),
            "no process slot is free (max_processes = 1): raise the limit or end some processes");
  EXPECT_TRUE(runtime.is_alive(only));
  EXPECT_TRUE(runtime.shutdown().clean);
  const StartResult late = runtime.start<Puppet>({});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason.text(), "the runtime is shutting down");
  EXPECT_EQ(runtime.wait_for_end(only), ExitReason::noproc()) << "that it is dead needs nobody to find out";
}

TEST(Limits, blocking_jobs_on_virtual_time_are_bounded_too) {
  struct Many {
    int handle_call(Self self, int count) {
      try {
        for (int i = 0; i < count; ++i) std::ignore = self.blocking([] {});
      } catch (const BlockingQueueFull&) {
        return -1;
      }
      return count;
    }
  };
  RuntimeOptions options = tests::seeded(1);
  options.blocking_threads = 2;
  options.blocking_queue = 3;
  Runtime runtime(options);
  const Pid many = runtime.spawn<Many>();
  EXPECT_EQ(runtime.call<Many>(many, 5).value(), 5);
  runtime.run_ready();
  EXPECT_EQ(runtime.call<Many>(many, 6).value(), -1);
}

// The slot of a process whose name is taken is open for a moment; a message that comes in then is still answered.
TEST(Spawn, with_a_taken_name_leaves_no_sender_without_an_answer) {
  RuntimeOptions options = tests::threaded(2);
  options.max_processes = 100;
  Runtime runtime(options);
  tests::Notebook notebook;
  const Pid watcher = runtime.spawn<Puppet>(&notebook);
  SpawnOptions named;
  named.name = "taken";
  const Pid holder = runtime.spawn_with<Puppet>(named);
  const Pid next(0, runtime.core().table.used(), 1);

  // While somebody reads the names, claiming one waits.
  std::promise<void> reading;
  std::promise<void> gate;
  std::thread reader([&] {
    runtime.core().names.each([&](const std::string& /*name*/, Pid /*pid*/) {
      reading.set_value();
      gate.get_future().wait();
    });
  });
  reading.get_future().wait();
  auto spawning = std::async(std::launch::async, [&] { return runtime.spawn_with<Puppet>(named); });
  ASSERT_TRUE(tests::eventually([&] { return runtime.is_alive(next) && runtime.send(next, 1) == SendResult::ok; }));
  auto describing = std::async(std::launch::async, [&] { return runtime.describe(next, seconds(20)); });
  runtime.send(watcher, Do{[next](Self self) {
                 std::ignore = self.monitor(next);
                 self.send(self.pid(), std::string("monitors"));
               }});
  ASSERT_TRUE(tests::eventually([&] { return notebook.size() == 1 && runtime.mailbox_length(next) == 3; }));
  gate.set_value();
  reader.join();
  EXPECT_THROW(spawning.get(), SpawnError);
  const auto described = describing.get();
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().failure, CallFailure::noproc);
  EXPECT_TRUE(tests::eventually([&] { return notebook.size() == 2; }));
  EXPECT_EQ(notebook.lines(), (std::vector<std::string>{"monitors", "down noproc"}));
  EXPECT_EQ(runtime.send(next, 1), SendResult::noproc);
  EXPECT_TRUE(runtime.is_alive(holder));
  EXPECT_EQ(runtime.process_count(), 2U);
}

TEST(Start, refuses_to_monitor_as_it_could_not_give_the_ref) {
  struct Starter {
    Async<void> handle_info(Self self, Message /*message*/) {
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
  static constexpr Duration k_long = milliseconds(400);
  Runtime runtime(tests::threaded(2));
  std::vector<Pid> all;
  for (int i = 0; i < 4; ++i) all.push_back(runtime.spawn<Puppet>());
  for (const Pid pid : all) {
    runtime.send(pid, Do{[](Self) { std::this_thread::sleep_for(k_long); }});
  }
  ASSERT_TRUE(tests::eventually([&] {
    for (const Pid pid : all) {
      if (runtime.info(pid)->handled == 0 || runtime.info(pid)->state != ProcessState::idle) return false;
    }
    return true;
  }));
  for (const Pid pid : all) {
    EXPECT_GT(runtime.info(pid)->handler_time, k_long / 4);
    EXPECT_LT(runtime.info(pid)->handler_time, 2 * k_long * tests::k_patience);
  }
}

// Every 64th turn is timed and stands for the others, unless it is a long one: that is counted once, with its own time.
TEST(Introspection, a_long_handler_counts_once_although_its_turn_is_one_of_those_that_are_timed) {
  static constexpr Duration k_long = milliseconds(150);
  std::atomic<bool> slept{false};
  Runtime runtime(tests::threaded(1));
  const Pid pid = runtime.spawn<Puppet>();
  const auto sleep_in_a_timed_turn = [&slept](Self) {
    if (detail::t_turn.timed_since == 0 || slept) return;
    std::this_thread::sleep_for(k_long);
    slept = true;
  };
  for (int i = 0; i < 10'000 && !slept; ++i) {
    runtime.send(pid, Do{sleep_in_a_timed_turn});
    std::ignore = runtime.describe(pid);
  }
  ASSERT_TRUE(slept);
  EXPECT_GT(runtime.info(pid)->handler_time, k_long / 4);
  EXPECT_LT(runtime.info(pid)->handler_time, 4 * k_long * tests::k_patience);
}

// Many wait while the owner goes through the stack; what comes meanwhile must not count from nothing.
TEST(FullMailbox, the_limit_holds_while_a_long_stack_is_taken) {
  constexpr std::uint32_t k_limit = tests::k_sanitized ? 20'000 : 200'000;
  Runtime runtime(tests::threaded(2));
  SpawnOptions options;
  options.mailbox_limit = k_limit;
  Blocked blocked(runtime, options);
  const Pid pid = blocked.pid;
  while (runtime.send(pid, Do{[](Self) {}}) == SendResult::ok) {
  }
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop) runtime.send(pid, Do{[](Self) {}});
  });
  blocked.open();
  EXPECT_TRUE(tests::eventually([&] { return runtime.info(pid)->handled > 2 * k_limit; }));
  stop = true;
  sender.join();
  EXPECT_LE(runtime.info(pid)->high_water, k_limit + k_limit / 20);
  EXPECT_TRUE(tests::eventually([&] { return runtime.mailbox_length(pid) == 0; }));
}

}  // namespace
}  // namespace skein
