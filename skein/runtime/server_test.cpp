// The server behaviour: casts, continue, stop and terminate with their guarantees, names, timers, idle memory.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "skein/runtime/core.hpp"
#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;
using Lines = std::vector<std::string>;

struct Note {
  std::string text;
};
struct Step {
  int number;
};
struct Fail {};
struct Halt {
  ExitReason reason;
};
struct Wait {
  Duration time;
};

class Scribe {
 public:
  Scribe(Self self, Notebook* notebook, bool trap) : notebook_(notebook) {
    self.trap_exit(trap);
    self.continue_with<Scribe>(Step{1});
  }
  void handle_continue(Self self, Step step) {
    notebook_->add("step " + std::to_string(step.number));
    if (step.number < 3) self.continue_with<Scribe>(Step{step.number + 1});
  }
  void handle_cast(Self /*self*/, Note note) { notebook_->add(std::move(note.text)); }
  void handle_cast(Self /*self*/, Fail /*note*/) { throw std::runtime_error("cast"); }
  void handle_cast(Self self, Halt halt) {
    self.stop(std::move(halt.reason));
    self.stop(ExitReason::custom("too late"));
    notebook_->add("stopping");
  }
  Async<void> handle_cast(Self self, Wait wait) {
    notebook_->add("waiting");
    auto sleeping = self.sleep(wait.time);
    co_await sleeping;
    notebook_->add("waited");
  }
  void handle_info(Self /*self*/, Message message) {
    if (message.is<Fail>()) throw std::runtime_error("info");
    notebook_->add("info " + std::string(message.type_name()));
  }
  void terminate(Self /*self*/, const ExitReason& reason) { notebook_->add("terminate " + reason.text()); }

 private:
  Notebook* notebook_;
};

TEST(Server, continue_runs_before_any_message) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Notebook notebook;
    Runtime runtime(tests::seeded(seed));
    const Pid scribe = runtime.spawn<Scribe>(&notebook, false);
    runtime.cast<Scribe>(scribe, Note{"note"});
    runtime.send(scribe, 1);
    runtime.run_ready();
    ASSERT_EQ(notebook.lines(), (Lines{"step 1", "step 2", "step 3", "note", "info int"}));
  }
}

TEST(Server, stop_ends_it_after_the_handler_with_the_first_reason_and_terminate) {
  Notebook notebook;
  Runtime runtime(tests::seeded(1));
  const Pid scribe = runtime.spawn<Scribe>(&notebook, false);
  runtime.run_ready();
  runtime.cast<Scribe>(scribe, Halt{ExitReason::shutdown("over")});
  runtime.cast<Scribe>(scribe, Note{"never"});
  runtime.run_ready();
  EXPECT_EQ(notebook.lines(), (Lines{"step 1", "step 2", "step 3", "stopping", "terminate shutdown(over)"}));
  EXPECT_FALSE(runtime.is_alive(scribe));
}

std::string last_line_after(const std::function<void(Runtime&, Pid)>& what, bool trap) {
  Notebook notebook;
  Runtime runtime(tests::seeded(3));
  const Pid scribe = runtime.spawn<Scribe>(&notebook, trap);
  runtime.run_ready();
  what(runtime, scribe);
  runtime.run_ready();
  EXPECT_EQ(runtime.is_alive(scribe), false);
  return notebook.lines().back();
}

TEST(Server, terminate_runs_when_a_handler_throws) {
  const auto cast = last_line_after([](Runtime& runtime, Pid pid) { runtime.cast<Scribe>(pid, Fail{}); }, false);
  EXPECT_NE(cast.find("terminate crash(std::runtime_error: cast, in"), std::string::npos) << cast;
  EXPECT_NE(cast.find("Fail"), std::string::npos) << cast;
  const auto info = last_line_after([](Runtime& runtime, Pid pid) { runtime.send(pid, Fail{}); }, false);
  EXPECT_NE(info.find("terminate crash(std::runtime_error: info"), std::string::npos) << info;
}

TEST(Server, terminate_does_not_run_on_kill_nor_on_an_untrapped_exit) {
  const auto kill = [](Runtime& runtime, Pid pid) { runtime.exit(pid, ExitReason::kill()); };
  const auto shutdown = [](Runtime& runtime, Pid pid) { runtime.exit(pid, ExitReason::shutdown()); };
  EXPECT_EQ(last_line_after(kill, false), "step 3");
  EXPECT_EQ(last_line_after(kill, true), "step 3");
  EXPECT_EQ(last_line_after(shutdown, false), "step 3");
}

TEST(Server, a_kill_reaches_a_waiting_coroutine_too) {
  const auto line = last_line_after(
      [](Runtime& runtime, Pid pid) {
        runtime.cast<Scribe>(pid, Wait{seconds(10)});
        runtime.run_ready();
        runtime.exit(pid, ExitReason::kill());
      },
      true);
  EXPECT_EQ(line, "waiting");
}

struct Orders {
  Notebook* notebook;
  bool trap;
  Pid* child;
};

Async<void> start_and_end(Self self, Orders orders) {
  SpawnOptions options;
  options.link = true;
  auto starting = self.start<Scribe>(options, orders.notebook, orders.trap);
  const auto started = co_await starting;
  *orders.child = started->pid;
  self.stop(ExitReason::shutdown("parent"));
}

TEST(Server, an_exit_of_its_parent_runs_terminate_only_if_it_traps) {
  for (const bool trap : {true, false}) {
    Notebook notebook;
    Pid child;
    Runtime runtime(tests::seeded(5));
    runtime.run(&start_and_end, Orders{&notebook, trap, &child});
    runtime.run_ready();
    EXPECT_FALSE(runtime.is_alive(child));
    // It may have ended before its steps ran; terminate is last, or absent.
    const Lines lines = notebook.lines();
    const bool terminated = !lines.empty() && lines.back() == "terminate shutdown(parent)";
    EXPECT_EQ(terminated, trap) << ::testing::PrintToString(lines);
  }
}

class BadEnd {
 public:
  void handle_info(Self self, Message /*message*/) { self.stop(ExitReason::custom("meant")); }
  void terminate(Self /*self*/, const ExitReason& /*reason*/) { throw std::runtime_error("in terminate"); }
};

TEST(Server, throwing_from_terminate_is_its_reason) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<BadEnd>();
  const Pid watcher = runtime.spawn<Puppet>(&seen);
  runtime.send(watcher, Do{[pid](Self self) { EXPECT_TRUE(self.monitor(pid)); }});
  runtime.run_ready();
  runtime.send(pid, 1);
  runtime.run_ready();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_NE(seen.lines()[0].find("in terminate"), std::string::npos) << seen.lines()[0];
  EXPECT_NE(seen.lines()[0].find("BadEnd: terminate"), std::string::npos) << seen.lines()[0];
}

class BadStart {
 public:
  BadStart() { throw std::runtime_error("in init"); }
  void terminate(Self /*self*/, const ExitReason& /*reason*/) { ADD_FAILURE() << "it never began"; }
};

TEST(Server, throwing_from_init_is_its_reason_and_nothing_terminates) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid watcher = runtime.spawn<Puppet>(&seen);
  runtime.send(watcher, Do{[](Self self) { self.spawn_monitor<BadStart>(); }});
  runtime.run_ready();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_NE(seen.lines()[0].find("BadStart: init"), std::string::npos) << seen.lines()[0];
}

class SlowEnd {
 public:
  explicit SlowEnd(Notebook* notebook) : notebook_(notebook) {}
  void handle_info(Self self, Message /*message*/) { self.stop(); }
  Async<void> terminate(Self self, ExitReason /*reason*/) {
    notebook_->add("begins");
    auto sleeping = self.sleep(seconds(1));
    co_await sleeping;
    notebook_->add("ends");
  }

 private:
  Notebook* notebook_;
};

TEST(Server, terminate_may_wait_and_a_kill_cuts_it_short) {
  for (const bool kill : {false, true}) {
    Notebook notebook;
    Runtime runtime(tests::seeded(1));
    const Pid pid = runtime.spawn<SlowEnd>(&notebook);
    runtime.send(pid, 1);
    runtime.run_ready();
    EXPECT_EQ(runtime.info(pid)->state, ProcessState::terminating);
    if (kill) runtime.exit(pid, ExitReason::kill());
    runtime.run_ready();
    EXPECT_EQ(runtime.is_alive(pid), !kill);
    runtime.run_for(seconds(2));
    EXPECT_FALSE(runtime.is_alive(pid));
    EXPECT_EQ(notebook.lines(), kill ? Lines{"begins"} : (Lines{"begins", "ends"}));
  }
}

TEST(Server, a_process_without_handlers_swallows_everything) {
  struct Silent {};
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Silent>();
  for (int i = 0; i < 10; ++i) runtime.send(pid, i);
  runtime.run_ready();
  EXPECT_EQ(runtime.info(pid)->handled, 10U);
  EXPECT_EQ(runtime.describe(pid).value(), "(it has no describe())");
}

class Frugal {
 public:
  explicit Frugal(int* released) : released_(released) {}
  void handle_info(Self /*self*/, Message /*message*/) {}
  void release_memory() noexcept { ++*released_; }
  [[nodiscard]] std::string describe() const { return "released " + std::to_string(*released_); }

 private:
  int* released_;
};

TEST(Server, releases_memory_once_when_it_has_been_idle_for_the_chosen_time) {
  RuntimeOptions options = tests::seeded(1);
  options.idle_release = seconds(3);
  Runtime runtime(options);
  int released = 0;
  const Pid pid = runtime.spawn<Frugal>(&released);
  runtime.send(pid, 1);
  runtime.run_for(milliseconds(2'999));
  EXPECT_EQ(released, 0);
  runtime.run_for(milliseconds(2));
  EXPECT_EQ(released, 1);
  runtime.run_for(seconds(100));
  EXPECT_EQ(released, 1) << "idle all the time: nothing new to release";
  // Busy ones are left alone.
  for (int i = 0; i < 10; ++i) {
    runtime.send(pid, 1);
    runtime.run_for(seconds(1));
  }
  EXPECT_EQ(released, 1);
  runtime.run_for(seconds(10));
  EXPECT_EQ(released, 2);
}

class Opaque {
 public:
  Async<void> handle_info(Self self, Message /*message*/) {
    auto sleeping = self.sleep(seconds(100));
    co_await sleeping;
  }
  [[nodiscard]] std::string describe() const { throw std::runtime_error("no words"); }
};

TEST(Server, describes_itself_also_while_it_waits_and_survives_a_throwing_description) {
  Runtime runtime(tests::seeded(1));
  int released = 0;
  const Pid frugal = runtime.spawn<Frugal>(&released);
  runtime.run_ready();
  EXPECT_EQ(runtime.describe(frugal).value(), "released 0");
  const Pid opaque = runtime.spawn<Opaque>();
  runtime.send(opaque, 1);
  runtime.run_ready();
  const auto text = runtime.describe(opaque);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("no words"), std::string::npos) << *text;
  EXPECT_TRUE(runtime.is_alive(opaque));
  runtime.exit(opaque, ExitReason::kill());
  runtime.run_ready();
  EXPECT_EQ(runtime.describe(opaque).error().failure, CallFailure::noproc);
}

TEST(Server, a_name_is_registered_found_taken_and_free_again) {
  Runtime runtime(tests::seeded(1));
  const Pid one = runtime.spawn<Puppet>();
  const Pid other = runtime.spawn<Puppet>();
  runtime.send(one, Do{[](Self self) {
                 EXPECT_TRUE(self.register_name("a"));
                 EXPECT_FALSE(self.register_name("b")) << "one name per process";
                 EXPECT_FALSE(self.register_name(""));
                 EXPECT_EQ(self.send("a", Do{[](Self) {}}), SendResult::ok);
                 EXPECT_EQ(self.send("nobody", 1), SendResult::noproc);
               }});
  runtime.run_ready();
  EXPECT_EQ(runtime.whereis("a"), one);
  runtime.send(other, Do{[](Self self) { EXPECT_FALSE(self.register_name("a")); }});
  runtime.run_ready();
  runtime.send(one, Do{[](Self self) {
                 self.unregister_name();
                 self.unregister_name();
                 EXPECT_FALSE(self.whereis("a"));
                 EXPECT_TRUE(self.register_name("b"));
               }});
  runtime.run_ready();
  runtime.exit(one, ExitReason::kill());
  runtime.run_ready();
  EXPECT_FALSE(runtime.whereis("b"));
}

TEST(Server, timers_fire_in_time_repeat_and_are_cancelled) {
  Notebook notebook;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Puppet>(&notebook);
  TimerRef cancelled;
  TimerRef repeating;
  TimerRef fired;
  runtime.send(pid, Do{[&](Self self) {
                 fired = self.send_after(milliseconds(5), self.pid(), 5);
                 cancelled = self.send_after(milliseconds(6), self.pid(), 6);
                 self.send_after(milliseconds(2), self.pid(), 2);
                 self.send_after(Duration::zero(), self.pid(), 0);
                 self.send_after(k_forever, self.pid(), 999);
                 repeating = self.send_interval(milliseconds(10), self.pid(), std::string("tick"));
               }});
  runtime.run_for(milliseconds(5));
  EXPECT_EQ(notebook.lines(), (Lines{"0", "2", "5"}));
  runtime.send(pid, Do{[&](Self self) {
                 EXPECT_TRUE(self.cancel(cancelled));
                 EXPECT_FALSE(self.cancel(cancelled));
                 EXPECT_FALSE(self.cancel(fired));
                 EXPECT_FALSE(self.cancel(TimerRef{}));
               }});
  runtime.run_for(milliseconds(30));
  EXPECT_EQ(notebook.lines(), (Lines{"0", "2", "5", "tick", "tick", "tick"}));
  runtime.send(pid, Do{[&](Self self) { EXPECT_TRUE(self.cancel(repeating)); }});
  runtime.run_for(seconds(1));
  EXPECT_EQ(notebook.size(), 6U);
}

TEST(Server, an_interval_to_the_dead_ends_by_itself) {
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Puppet>();
  runtime.send(pid, Do{[](Self self) { self.send_interval(milliseconds(1), self.pid(), 1); }});
  runtime.run_for(milliseconds(10));
  EXPECT_EQ(runtime.core().wheel.size(), 1U);
  runtime.exit(pid, ExitReason::kill());
  runtime.run_until_idle();
  EXPECT_EQ(runtime.core().wheel.size(), 0U);
}

class Yielder {
 public:
  explicit Yielder(Notebook* notebook) : notebook_(notebook) {}
  Async<void> handle_info(Self self, Message message) {
    const int number = *message.get_if<int>();
    for (int i = 0; i < 50; ++i) {
      auto yielding = self.yield();
      co_await yielding;
      notebook_->add(std::to_string(number));
    }
  }

 private:
  Notebook* notebook_;
};

TEST(Server, yield_lets_others_run_in_between_and_keeps_its_message) {
  Notebook notebook;
  Runtime runtime(tests::seeded(1));
  const Pid one = runtime.spawn<Yielder>(&notebook);
  const Pid other = runtime.spawn<Yielder>(&notebook);
  runtime.send(one, 1);
  runtime.send(other, 2);
  runtime.run_ready();
  const Lines lines = notebook.lines();
  ASSERT_EQ(lines.size(), 100U);
  int changes = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) changes += lines[i] != lines[i - 1] ? 1 : 0;
  EXPECT_GT(changes, 4);
}

}  // namespace
}  // namespace skein
