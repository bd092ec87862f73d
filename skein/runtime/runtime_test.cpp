// The whole runtime seen from outside: shutdown always ends, limits are told clearly, bad days are survived.
#include "skein/runtime/runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

// Ignores being told to shut down.
struct Deaf {
  explicit Deaf(Self self) { self.trap_exit(true); }
  void handle_info(Self /*self*/, Message /*message*/) {}
};

class NeverEnding {
 public:
  void handle_info(Self self, Message /*message*/) { self.stop(); }
  Async<void> terminate(Self self, ExitReason /*reason*/) {
    auto waiting = self.down(self.monitor(self.pid()));
    co_await waiting;
  }
};

TEST(Shutdown, of_an_empty_runtime_and_of_idle_processes_is_clean_and_quick) {
  for (const bool threads : {false, true}) {
    Runtime runtime(threads ? tests::threaded() : tests::seeded(1));
    for (int i = 0; i < 1'000; ++i) runtime.spawn<Puppet>();
    const Duration begin = tests::real_time();
    const ShutdownReport report = runtime.shutdown(seconds(20));
    EXPECT_TRUE(report.clean);
    EXPECT_EQ(report.text(), "every process ended");
    EXPECT_LT(tests::real_time() - begin, seconds(9)) << "it did not wait for half the time";
    EXPECT_EQ(runtime.process_count(), 0U);
    EXPECT_TRUE(runtime.shutdown().clean) << "once more does nothing";
  }
}

// Its parent decides when it ends, as a supervisor does; it notes how it was told.
struct Ward {
  std::shared_ptr<Notebook> notes;
  Ward(Self self, std::shared_ptr<Notebook> book) : notes(std::move(book)) {
    self.trap_exit(true);
    notes->add("ward begins");
  }
  void handle_info(Self self, Message message) {
    const auto* exit = message.get_if<Exit>();
    if (exit == nullptr) return;
    notes->add(exit->from ? "ward told by its guardian" : "ward told by the runtime");
    self.stop();
  }
};
struct Guardian {
  std::shared_ptr<Notebook> notes;
  Pid ward;
  Guardian(Self self, std::shared_ptr<Notebook> book) : notes(std::move(book)) {
    self.trap_exit(true);
    ward = self.spawn<Ward>(notes);
  }
  Async<void> handle_info(Self self, Message message) {
    if (message.get_if<Exit>() == nullptr) co_return;
    const MonitorRef ref = self.monitor(ward);
    self.exit(ward, ExitReason::shutdown());
    auto down = self.down(ref);
    co_await down;
    notes->add("guardian ends");
    self.stop();
  }
};

TEST(Shutdown, leaves_it_to_parents_to_end_their_children) {
  for (const bool threads : {false, true}) {
    auto notes = std::make_shared<Notebook>();
    Runtime runtime(threads ? tests::threaded() : tests::seeded(1));
    runtime.spawn<Guardian>(notes);
    ASSERT_TRUE(tests::comes_true(runtime, [&] { return notes->lines().size() == 1; }));
    EXPECT_TRUE(runtime.shutdown(seconds(20)).clean);
    EXPECT_EQ(notes->lines(), (std::vector<std::string>{"ward begins", "ward told by its guardian", "guardian ends"}));
  }
}

TEST(Stuck, a_terminate_that_waits_for_ever_is_reported_and_can_still_be_killed) {
  std::vector<StuckReport> reports;
  std::mutex mutex;
  RuntimeOptions options = tests::threaded();
  options.stuck_limit = milliseconds(50);
  options.on_stuck = OnStuck::abort;
  options.report_stuck = [&](const StuckReport& report) {
    const std::scoped_lock lock(mutex);
    reports.push_back(report);
  };
  Runtime runtime(options);
  const Pid ending = runtime.spawn<NeverEnding>();
  runtime.send(ending, 1);
  ASSERT_TRUE(tests::eventually([&] {
    const std::scoped_lock lock(mutex);
    return !reports.empty();
  }));
  EXPECT_EQ(reports[0].pid, ending);
  EXPECT_EQ(reports[0].handling, "a terminate that waits");
  EXPECT_EQ(runtime.info(ending)->state, ProcessState::stuck);
  runtime.exit(ending, ExitReason::kill());
  EXPECT_TRUE(runtime.wait_for_end(ending, seconds(20)).has_value());
}

TEST(Names, whoever_is_found_by_name_can_be_sent_to_at_once) {
  Runtime runtime(tests::threaded(2));
  std::atomic<bool> stop{false};
  std::atomic<int> lost{0};
  std::thread seeker([&] {
    while (!stop) {
      const Pid found = runtime.whereis("brief");
      if (found && runtime.send(found, 1) == SendResult::noproc && runtime.whereis("brief") == found) ++lost;
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    const Pid pid = runtime.spawn_with<Puppet>({.name = "brief"});
    runtime.exit(pid, ExitReason::kill());
    while (runtime.is_alive(pid)) std::this_thread::yield();
  }
  stop = true;
  seeker.join();
  EXPECT_EQ(lost, 0);
}

TEST(Shutdown, kills_who_ignores_being_told) {
  for (const bool threads : {false, true}) {
    Runtime runtime(threads ? tests::threaded() : tests::seeded(1));
    const Pid deaf = runtime.spawn<Deaf>();
    const Pid ending = runtime.spawn<NeverEnding>();
    runtime.send(ending, 1);
    ASSERT_TRUE(tests::comes_true(runtime, [&] { return runtime.info(ending)->state == ProcessState::terminating; }));
    EXPECT_TRUE(runtime.shutdown(milliseconds(400)).clean);
    EXPECT_FALSE(runtime.is_alive(deaf));
    EXPECT_FALSE(runtime.is_alive(ending));
  }
}

// True once the last thread of a runtime that is gone has let go of it.
bool is_all_over(const std::weak_ptr<detail::Core>& core) {
  return tests::eventually([&] { return core.expired(); });
}

struct Spin {};
class Spinner {
 public:
  explicit Spinner(std::shared_ptr<std::atomic<int>> state) : state_(std::move(state)) {}
  void handle_cast(Self /*self*/, Spin /*note*/) {
    // A copy: the runtime that owns this process may be gone when it returns.
    const std::shared_ptr<std::atomic<int>> state = state_;
    *state = 1;
    state->wait(1);
  }

 private:
  std::shared_ptr<std::atomic<int>> state_;
};

TEST(Shutdown, ends_without_a_handler_that_does_not_return_and_names_it) {
  const auto state = std::make_shared<std::atomic<int>>(0);
  std::weak_ptr<detail::Core> core;
  {
    Runtime runtime(tests::threaded());
    core = runtime.core().weak_from_this();
    SpawnOptions named;
    named.name = "spinner";
    const Pid spinner = runtime.spawn_with<Spinner>(named, state);
    runtime.cast<Spinner>(spinner, Spin{});
    ASSERT_TRUE(tests::eventually([&] { return *state == 1; }));
    const Duration begin = tests::real_time();
    const ShutdownReport report = runtime.shutdown(milliseconds(200));
    EXPECT_LT(tests::real_time() - begin, seconds(10));
    EXPECT_FALSE(report.clean);
    ASSERT_EQ(report.stuck.size(), 1U);
    EXPECT_EQ(report.stuck[0].name, "spinner");
    EXPECT_EQ(report.stuck[0].state, ProcessState::running);
    EXPECT_NE(report.stuck[0].handling.find("Spin"), std::string_view::npos);
    const std::string text = report.text();
    EXPECT_NE(text.find("1 did not end in time"), std::string::npos) << text;
    EXPECT_NE(text.find("spinner"), std::string::npos) << text;
  }
  // It returns into a runtime that is gone, harmlessly.
  *state = 2;
  state->notify_all();
  EXPECT_TRUE(is_all_over(core));
}

TEST(Shutdown, lets_go_a_thread_that_waits_for_the_stuck) {
  const auto state = std::make_shared<std::atomic<int>>(0);
  std::weak_ptr<detail::Core> core;
  {
    Runtime runtime(tests::threaded());
    core = runtime.core().weak_from_this();
    const Pid spinner = runtime.spawn<Spinner>(state);
    runtime.cast<Spinner>(spinner, Spin{});
    ASSERT_TRUE(tests::eventually([&] { return *state == 1; }));
    CallFailure failure = CallFailure::timeout;
    std::thread waiting([&] { failure = runtime.describe(spinner, k_forever).error().failure; });
    EXPECT_FALSE(runtime.shutdown(milliseconds(200)).clean);
    waiting.join();
    EXPECT_TRUE(failure == CallFailure::runtime_down || failure == CallFailure::noproc);
  }
  *state = 2;
  state->notify_all();
  EXPECT_TRUE(is_all_over(core));
}

Async<void> wait_in_job(Self self, std::shared_future<void> gate) {
  auto job = self.blocking([gate] { gate.wait(); });
  co_await job;
}

TEST(Shutdown, ends_without_a_blocking_job_that_never_returns_and_names_who_waits) {
  std::promise<void> gate;
  std::weak_ptr<detail::Core> core;
  {
    Runtime runtime(tests::threaded());
    core = runtime.core().weak_from_this();
    const std::shared_future<void> open = gate.get_future().share();
    struct Job {
      std::shared_future<void> gate;
    };
    struct Jobber {
      Async<void> handle_cast(Self self, Job job) { return wait_in_job(self, std::move(job.gate)); }
    };
    const Pid jobber = runtime.spawn<Jobber>();
    runtime.cast<Jobber>(jobber, Job{open});
    ASSERT_TRUE(tests::eventually([&] { return runtime.info(jobber)->handled == 1; }));
    const ShutdownReport report = runtime.shutdown(milliseconds(200));
    ASSERT_EQ(report.stuck.size(), 1U);
    EXPECT_EQ(report.stuck[0].pid, jobber);
    EXPECT_EQ(report.stuck[0].state, ProcessState::ending);
  }
  gate.set_value();
  EXPECT_TRUE(is_all_over(core));
}

TEST(Shutdown, afterwards_nothing_is_spawned) {
  Runtime runtime(tests::threaded());
  runtime.shutdown();
  EXPECT_THROW(runtime.spawn<Puppet>(), SpawnError);
}

class Breeder {
 public:
  explicit Breeder(Self self) { self.spawn<Breeder>(); }
};

TEST(Shutdown, ends_although_processes_keep_spawning) {
  RuntimeOptions options = tests::threaded();
  options.max_processes = 2'000;
  Runtime runtime(options);
  runtime.spawn<Breeder>();
  ASSERT_TRUE(tests::eventually([&] { return runtime.process_count() > 100; }));
  const Duration begin = tests::real_time();
  runtime.shutdown(seconds(1));
  EXPECT_LT(tests::real_time() - begin, seconds(10));
}

TEST(Shutdown, a_timer_in_the_far_future_does_not_delay_it) {
  Runtime runtime(tests::threaded());
  const Pid pid = runtime.spawn<Puppet>();
  runtime.send(pid, Do{[](Self self) { self.send_after(std::chrono::hours(1), self.pid(), 1); }});
  const Duration begin = tests::real_time();
  EXPECT_TRUE(runtime.shutdown(seconds(20)).clean);
  EXPECT_LT(tests::real_time() - begin, seconds(9));
}

TEST(Limits, process_slots_run_out_with_a_clear_error_and_come_back) {
  for (const bool threads : {false, true}) {
    RuntimeOptions options = threads ? tests::threaded() : tests::seeded(1);
    options.max_processes = 10;
    Runtime runtime(options);
    std::vector<Pid> pids;
    for (int i = 0; i < 10; ++i) pids.push_back(runtime.spawn<Puppet>());
    try {
      runtime.spawn<Puppet>();
      FAIL() << "there was no slot left";
    } catch (const SpawnError& error) {
      EXPECT_STREQ(error.what(), "no process slot is free (max_processes = 10): raise the limit or end some processes");
      EXPECT_FALSE(error.holder());
    }
    for (int round = 0; round < 5; ++round) {
      for (const Pid pid : pids) runtime.exit(pid, ExitReason::kill());
      ASSERT_TRUE(tests::comes_true(runtime, [&] { return runtime.process_count() == 0; }));
      pids.clear();
      for (int i = 0; i < 10; ++i) pids.push_back(runtime.spawn<Puppet>());
    }
  }
}

TEST(Limits, a_process_that_finds_no_slot_gets_the_error_and_a_start_its_result) {
  RuntimeOptions options = tests::seeded(1);
  options.max_processes = 2;
  Runtime runtime(options);
  const Pid pid = runtime.spawn<Puppet>();
  int failures = 0;
  runtime.send(pid, Do{[&](Self self) {
                 self.spawn<Deaf>();
                 try {
                   self.spawn<Deaf>();
                 } catch (const SpawnError&) {
                   ++failures;
                 }
               }});
  runtime.run_ready();
  EXPECT_EQ(failures, 1);
  EXPECT_TRUE(runtime.is_alive(pid));
}

Async<std::string> start_without_room(Self self) {
  SpawnOptions options;
  options.link = true;
  auto starting = self.start<Puppet>(options);
  const StartResult result = co_await starting;
  co_return result ? "started" : result.error().reason.text();
}

TEST(Limits, a_start_without_room_is_an_error_like_any) {
  RuntimeOptions options = tests::seeded(1);
  options.max_processes = 1;
  Runtime runtime(options);
  EXPECT_EQ(runtime.run(&start_without_room).value(),
            "no process slot is free (max_processes = 1): raise the limit or end some processes");
}

TEST(Limits, timers_run_out_with_a_clear_error) {
  RuntimeOptions options = tests::seeded(1);
  options.max_timers = 3;
  Runtime runtime(options);
  const Pid pid = runtime.spawn<Puppet>();
  std::string text;
  runtime.send(pid, Do{[&](Self self) {
                 try {
                   for (int i = 0; i < 4; ++i) self.send_after(seconds(1), self.pid(), i);
                 } catch (const TimersExhausted& error) {
                   text = error.what();
                 }
               }});
  runtime.run_until_idle();
  EXPECT_EQ(text, "no timer is free (max_timers = 3): raise the limit or cancel some");
  EXPECT_EQ(runtime.info(pid)->handled, 4U) << "those that were set fired";
}

struct Try {
  Pid server;
};
struct Ask {};
struct Slow {
  Async<int> handle_call(Self self, Ask /*request*/) {
    auto yielding = self.yield();
    co_await yielding;
    co_return 1;
  }
};

// A wait that found no timer must leave nothing behind that a later answer could meet.
class Waiter {
 public:
  explicit Waiter(Notebook* notebook) : notebook_(notebook) {}
  Async<void> handle_cast(Self self, Try attempt) {
    try {
      auto calling = self.call<Slow>(attempt.server, Ask{}, seconds(1));
      const auto answer = co_await calling;
      notebook_->add(answer ? "answer" : answer.error().text());
    } catch (const TimersExhausted&) {
      notebook_->add("no timer");
    }
  }
  Async<void> handle_info(Self self, Message /*message*/) {
    auto calling = self.call<Slow>(self.pid(), Ask{}, k_forever);
    const auto answer = co_await calling;
    notebook_->add(answer ? "?" : "self call");
    auto waiting = self.down(self.monitor(Pid{}));
    const auto reason = co_await waiting;
    notebook_->add(reason ? reason->text() : "nothing");
  }

 private:
  Notebook* notebook_;
};

TEST(Limits, a_wait_that_found_no_timer_does_not_meet_its_answer_later) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RuntimeOptions options = tests::seeded(seed);
    options.max_timers = 0;
    Notebook notebook;
    Runtime runtime(options);
    const Pid server = runtime.spawn<Slow>();
    const Pid waiter = runtime.spawn<Waiter>(&notebook);
    runtime.cast<Waiter>(waiter, Try{server});
    runtime.run_ready();
    runtime.send(waiter, 1);
    runtime.run_ready();
    ASSERT_EQ(notebook.lines(), (std::vector<std::string>{"no timer", "self call", "noproc"})) << "seed " << seed;
  }
}

TEST(Limits, the_queue_of_blocking_jobs_is_bounded_and_says_so) {
  RuntimeOptions options = tests::threaded();
  options.blocking_threads = 1;
  options.blocking_queue = 1;
  std::promise<void> gate;
  Notebook notebook;
  Runtime runtime(options);
  const std::shared_future<void> open = gate.get_future().share();
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] { EXPECT_TRUE(runtime.run(&wait_in_job, open)); });
    // The first is on the one thread before the second is queued.
    ASSERT_TRUE(tests::eventually([&] {
      return runtime.core().blocking.threads() == 1 && runtime.core().blocking.waiting() == static_cast<unsigned>(i);
    }));
  }
  const auto refused = runtime.run(&wait_in_job, open);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().reason.text().find("blocking_queue = 1"), std::string::npos)
      << refused.error().reason.text();
  gate.set_value();
  for (std::thread& caller : callers) caller.join();
}

TEST(BadDays, sending_to_the_dead_or_to_nobody_is_harmless) {
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Puppet>();
  runtime.exit(pid, ExitReason::kill());
  runtime.run_ready();
  for (const Pid dead : {pid, Pid{}, Pid(0, 5, 1), Pid(0, Pid::k_slot_max, 3), Pid(9, 1, 1)}) {
    EXPECT_EQ(runtime.send(dead, 1), SendResult::noproc);
    EXPECT_EQ(runtime.cast<Spinner>(dead, Spin{}), SendResult::noproc);
    runtime.exit(dead, ExitReason::kill());
    EXPECT_FALSE(runtime.is_alive(dead));
    EXPECT_FALSE(runtime.info(dead));
    EXPECT_EQ(runtime.wait_for_end(dead), ExitReason::noproc());
  }
}

TEST(BadDays, a_blocking_job_that_throws_is_reported_and_its_process_goes_on) {
  Runtime runtime(tests::seeded(1));
  struct Thrower {
    Async<int> handle_call(Self self, Ask /*request*/) {
      auto job = self.blocking([] { throw std::runtime_error("inside a job"); });
      co_await job;
      co_return 5;
    }
  };
  ::testing::internal::CaptureStderr();
  const auto answer = runtime.call<Thrower>(runtime.spawn<Thrower>(), Ask{});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(answer.value(), 5);
  EXPECT_NE(said.find("inside a job"), std::string::npos) << said;
}

using BadDaysDeathTest = ::testing::Test;
TEST_F(BadDaysDeathTest, on_stuck_abort_ends_the_program_with_a_word_and_a_dump) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        RuntimeOptions options = tests::threaded();
        options.handler_warning = milliseconds(20);
        options.stuck_limit = milliseconds(50);
        options.on_stuck = OnStuck::abort;
        Runtime runtime(options);
        const Pid pid = runtime.spawn<Puppet>();
        runtime.send(pid, Do{[](Self) { tests::spin_for(seconds(30)); }});
        std::this_thread::sleep_for(seconds(30));
      },
      "is stuck \\(on_stuck = abort\\)");
}

}  // namespace
}  // namespace skein
