// What "dead" means: frames and state destroyed, blocking jobs back, the name free, and only then the news.
#include "skein/runtime/testing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;
using Lines = std::vector<std::string>;

struct Work {
  std::shared_future<void> gate;
};

// Runs a blocking job that waits for the gate, with something alive in its state and in its frame.
class Holder {
 public:
  explicit Holder(Notebook* notebook) : notebook_(notebook), epitaph_(notebook, "state") {}
  Async<void> handle_cast(Self self, Work work) {
    const Epitaph frame(notebook_, "frame");
    auto job = self.blocking([gate = work.gate, notebook = notebook_] {
      gate.wait();
      notebook->add("job");
    });
    co_await job;
    notebook_->add("went on");
  }

 private:
  Notebook* notebook_;
  Epitaph epitaph_;
};

Async<void> watch(Self self, Pid pid, Notebook* notebook) {
  const MonitorRef ref = self.monitor(pid);
  auto waiting = self.down(ref);
  const auto reason = co_await waiting;
  notebook->add("down " + reason->text() + (self.whereis("holder") ? ", name taken" : ", name free"));
}

struct StuckReports {
  std::mutex mutex;
  std::vector<StuckReport> all;
};

TEST(Death, comes_in_order_and_waits_for_a_blocking_job) {
  Notebook notebook;
  StuckReports reports;
  RuntimeOptions options = tests::threaded();
  options.stuck_limit = milliseconds(150);
  options.report_stuck = [&](const StuckReport& report) {
    const std::scoped_lock lock(reports.mutex);
    reports.all.push_back(report);
  };
  Runtime runtime(options);
  std::promise<void> gate;
  SpawnOptions named;
  named.name = "holder";
  const Pid holder = runtime.spawn_with<Holder>(named, &notebook);
  runtime.cast<Holder>(holder, Work{gate.get_future().share()});
  std::thread watcher([&] { EXPECT_TRUE(runtime.run(&watch, holder, &notebook)); });
  ASSERT_TRUE(tests::eventually([&] { return runtime.info(holder)->handled == 1; }));
  runtime.exit(holder, ExitReason::kill());
  ASSERT_TRUE(tests::eventually([&] { return notebook.size() == 2; }));
  EXPECT_EQ(notebook.lines(), (Lines{"frame", "state"}));

  // The job is still out: not dead yet, and its name not free.
  const auto info = runtime.info(holder);
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->state == ProcessState::ending || info->state == ProcessState::stuck);
  EXPECT_EQ(runtime.whereis("holder"), holder);
  EXPECT_THROW(runtime.spawn_with<Holder>(named, &notebook), SpawnError);

  ASSERT_TRUE(tests::eventually([&] {
    const std::scoped_lock lock(reports.mutex);
    return !reports.all.empty();
  }));
  EXPECT_EQ(runtime.info(holder)->state, ProcessState::stuck);
  {
    const std::scoped_lock lock(reports.mutex);
    EXPECT_EQ(reports.all[0].pid, holder);
    EXPECT_EQ(reports.all[0].name, "holder");
    EXPECT_TRUE(reports.all[0].past_stuck_limit);
    EXPECT_GE(reports.all[0].for_how_long, milliseconds(150));
  }

  gate.set_value();
  watcher.join();
  EXPECT_EQ(notebook.lines(), (Lines{"frame", "state", "job", "down killed, name free"}));
  const std::scoped_lock lock(reports.mutex);
  EXPECT_EQ(reports.all.size(), 1U) << "reported once";
}

TEST(Death, a_watcher_that_comes_while_it_waits_for_a_job_is_told_too) {
  Notebook notebook;
  Runtime runtime(tests::threaded());
  std::promise<void> gate;
  const Pid holder = runtime.spawn<Holder>(&notebook);
  runtime.cast<Holder>(holder, Work{gate.get_future().share()});
  ASSERT_TRUE(tests::eventually([&] { return runtime.info(holder)->handled == 1; }));
  runtime.exit(holder, ExitReason::custom("stop"));
  ASSERT_TRUE(tests::eventually([&] { return notebook.size() == 2; }));
  std::thread watcher([&] { EXPECT_TRUE(runtime.run(&watch, holder, &notebook)); });
  runtime.exit(holder, ExitReason::kill());
  EXPECT_EQ(runtime.wait_for_end(holder, milliseconds(50)), std::nullopt);
  gate.set_value();
  watcher.join();
  EXPECT_EQ(notebook.lines().back(), "down stop, name free") << "the first reason stands";
}

// The same on virtual time: the job runs at a moment the seed picks, before or after the kill.
TEST(Death, is_told_last_for_every_seed) {
  int after = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Notebook notebook;
    Runtime runtime(tests::seeded(seed));
    std::promise<void> gate;
    gate.set_value();
    SpawnOptions named;
    named.name = "holder";
    const Pid holder = runtime.spawn_with<Holder>(named, &notebook);
    runtime.cast<Holder>(holder, Work{gate.get_future().share()});
    runtime.step();
    runtime.exit(holder, ExitReason::kill());
    ASSERT_TRUE(runtime.run(&watch, holder, &notebook));
    const Lines lines = notebook.lines();
    ASSERT_GE(lines.size(), 2U);
    EXPECT_TRUE(lines.back() == "down killed, name free" || lines.back() == "down noproc, name free") << lines.back();
    const auto state = std::find(lines.begin(), lines.end(), "state");
    const auto job = std::find(lines.begin(), lines.end(), "job");
    ASSERT_NE(state, lines.end());
    after += job != lines.end() && job > state ? 1 : 0;
  }
  EXPECT_GT(after, 0) << "no seed let the job come back after the state was gone";
}

class Frames {
 public:
  explicit Frames(Notebook* notebook) : notebook_(notebook) {}
  Async<void> handle_info(Self self, Message /*message*/) {
    const Epitaph mark(notebook_, "outer");
    auto waiting = inner(self);
    co_await waiting;
  }

 private:
  Async<void> inner(Self self) {
    const Epitaph mark(notebook_, "inner");
    auto sleeping = self.sleep(seconds(100));
    co_await sleeping;
  }
  Notebook* notebook_;
};

TEST(Death, destroys_the_frames_of_all_waiting_coroutines_from_the_inside_out) {
  Notebook notebook;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Frames>(&notebook);
  runtime.send(pid, 1);
  runtime.run_ready();
  runtime.exit(pid, ExitReason::shutdown());
  runtime.run_ready();
  EXPECT_EQ(notebook.lines(), (Lines{"inner", "outer"}));
  EXPECT_FALSE(runtime.is_alive(pid));
}

TEST(Death, of_a_process_that_never_ran_destroys_its_arguments_and_makes_no_state) {
  Runtime runtime(tests::seeded(1));
  const auto argument = std::make_shared<int>(1);
  struct Unborn {
    explicit Unborn(const std::shared_ptr<int>& /*held*/) { ADD_FAILURE() << "its init ran"; }
  };
  const Pid pid = runtime.spawn<Unborn>(argument);
  EXPECT_EQ(argument.use_count(), 2);
  runtime.exit(pid, ExitReason::kill());
  runtime.run_ready();
  EXPECT_FALSE(runtime.is_alive(pid));
  EXPECT_EQ(argument.use_count(), 1);
}

TEST(Death, frees_what_waits_in_the_mailbox) {
  Runtime runtime(tests::seeded(1));
  const auto held = std::make_shared<int>(1);
  const Pid pid = runtime.spawn<Frames>(nullptr);
  for (int i = 0; i < 10; ++i) runtime.send(pid, held);
  EXPECT_EQ(held.use_count(), 11);
  runtime.exit(pid, ExitReason::kill());
  runtime.run_ready();
  EXPECT_EQ(held.use_count(), 1);
}

// A pid is never reborn: the slot goes to another process with another generation.
TEST(Death, gives_the_slot_to_another_process_with_another_pid) {
  RuntimeOptions options = tests::seeded(1);
  options.max_processes = 1;
  Runtime runtime(options);
  const Pid first = runtime.spawn<Frames>(nullptr);
  runtime.run_ready();
  runtime.exit(first, ExitReason::kill());
  runtime.run_ready();
  Notebook notebook;
  const Pid second = runtime.spawn<tests::Puppet>(&notebook);
  EXPECT_EQ(first.slot(), second.slot());
  EXPECT_NE(first, second);
  EXPECT_EQ(runtime.send(first, 1), SendResult::noproc);
  EXPECT_EQ(runtime.send(second, 2), SendResult::ok);
  runtime.exit(first, ExitReason::kill());
  runtime.run_ready();
  EXPECT_TRUE(runtime.is_alive(second));
  EXPECT_EQ(notebook.lines(), Lines{"2"});
}

struct FailsLate {
  void handle_info(Self self, Message /*message*/) { self.stop(); }
  Async<void> terminate(Self self, ExitReason /*reason*/) {
    auto sleeping = self.sleep(milliseconds(1));
    co_await sleeping;
    throw std::runtime_error("too late");
  }
};
struct FailsEarly {
  Async<Init> init(Self self) {
    auto sleeping = self.sleep(milliseconds(1));
    co_await sleeping;
    throw std::runtime_error("too early");
    co_return Init::ok();
  }
};

TEST(Death, a_crash_in_a_waiting_init_or_terminate_says_so) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid watcher = runtime.spawn<tests::Puppet>(&seen);
  const Pid late = runtime.spawn<FailsLate>();
  runtime.send(watcher, tests::Do{[late](Self self) {
                 std::ignore = self.monitor(late);
                 self.spawn_monitor<FailsEarly>();
               }});
  runtime.run_ready();
  runtime.send(late, 1);
  runtime.run_for(seconds(1));
  std::string all;
  for (const auto& line : seen.lines()) all += line + "\n";
  EXPECT_NE(all.find("FailsLate: terminate"), std::string::npos) << all;
  EXPECT_NE(all.find("FailsEarly: init"), std::string::npos) << all;
}

TEST(Death, an_exception_ends_its_process_and_nothing_else) {
  Runtime runtime(tests::threaded());
  const Pid other = runtime.spawn<tests::Puppet>();
  for (int i = 0; i < 100; ++i) {
    const Pid pid = runtime.spawn<tests::Puppet>();
    runtime.send(pid, tests::Do{[](Self) { throw std::runtime_error("boom"); }});
    ASSERT_TRUE(tests::eventually([&] { return !runtime.is_alive(pid); }));
  }
  EXPECT_TRUE(runtime.is_alive(other));
}

}  // namespace
}  // namespace skein
