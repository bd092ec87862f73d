// Synchronous start: the starter knows only when init has finished, and a failed one leaves nothing behind.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;
using Lines = std::vector<std::string>;

enum class Way : std::uint8_t { ok, ignore, stop, fail, stop_normally, wait_then_ok, wait_then_fail, wait_for_ever };

class Child {
 public:
  Child(Notebook* notebook, Way way) : notebook_(notebook), way_(way) {}
  Async<Init> init(Self self) {
    notebook_->add("init");
    if (way_ == Way::wait_then_ok || way_ == Way::wait_then_fail || way_ == Way::wait_for_ever) {
      auto sleeping = self.sleep(way_ == Way::wait_for_ever ? Duration(seconds(1'000'000)) : milliseconds(10));
      co_await sleeping;
    }
    notebook_->add("initialised");
    if (way_ == Way::ignore) co_return Init::ignore();
    if (way_ == Way::stop) co_return Init::stop(ExitReason::custom("no port"));
    if (way_ == Way::stop_normally) co_return Init::stop(ExitReason::normal());
    if (way_ == Way::fail || way_ == Way::wait_then_fail) throw std::runtime_error("boom");
    co_return Init::ok();
  }
  void handle_info(Self /*self*/, Message /*message*/) { notebook_->add("message"); }

 private:
  Notebook* notebook_;
  Way way_;
};

class Immediate {
 public:
  explicit Immediate(Way way) : way_(way) {}
  Init init(Self /*self*/) const {
    if (way_ == Way::ignore) return Init::ignore();
    if (way_ == Way::stop) return Init::stop(ExitReason::custom("no port"));
    return Init::ok();
  }

 private:
  Way way_;
};

// Starts a child, linked, and says what it got, whether the name is free then, and what else it was sent.
class Starter {
 public:
  struct Start {
    Way way;
    Notebook* notebook;
  };
  explicit Starter(Self self) { self.trap_exit(true); }
  Async<void> handle_cast(Self self, Start start) {
    SpawnOptions options;
    options.link = true;
    options.name = "child";
    auto starting = self.start<Child>(options, start.notebook, start.way);
    const StartResult result = co_await starting;
    notebook_ = start.notebook;
    std::string said = result ? (result->ignored() ? "ignored" : "ok") : "error " + result.error().reason.text();
    notebook_->add(said + (self.whereis("child") ? ", taken" : ", free"));
  }
  void handle_info(Self /*self*/, Message message) {
    notebook_->add(message.is<Exit>() ? "stray exit" : "stray message");
  }

 private:
  Notebook* notebook_ = nullptr;
};

Lines start_in(Runtime& runtime, Notebook& notebook, Way way) {
  const Pid starter = runtime.spawn<Starter>();
  runtime.cast<Starter>(starter, Starter::Start{way, &notebook});
  if (tests::on_virtual_time(runtime)) {
    runtime.run_for(seconds(1));
  } else {
    EXPECT_TRUE(tests::eventually([&] { return notebook.size() == 3; }));
    EXPECT_TRUE(tests::eventually([&] {
      const auto info = runtime.info(starter);
      return !info || info->state == ProcessState::idle;
    })) << "what was sent to it is handled";
  }
  return notebook.lines();
}

class Start : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  // The last seed stands for threads.
  Start() : runtime_(GetParam() == 29 ? tests::threaded() : tests::seeded(GetParam())) {}
  Lines run(Way way) { return start_in(runtime_, notebook_, way); }
  Notebook notebook_;
  Runtime runtime_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, Start, ::testing::Range<std::uint64_t>(0, 30));

TEST_P(Start, says_ok_when_init_has_finished) {
  EXPECT_EQ(run(Way::ok), (Lines{"init", "initialised", "ok, taken"}));
  runtime_.exit(runtime_.whereis("child"), ExitReason::kill());
  runtime_.shutdown(milliseconds(20));
}

TEST_P(Start, waits_for_an_init_that_waits) {
  EXPECT_EQ(run(Way::wait_then_ok), (Lines{"init", "initialised", "ok, taken"}));
  runtime_.shutdown(milliseconds(20));
}

TEST_P(Start, of_one_that_says_ignore_leaves_nothing) {
  EXPECT_EQ(run(Way::ignore), (Lines{"init", "initialised", "ignored, free"}));
  runtime_.shutdown(milliseconds(20));
}

TEST_P(Start, that_fails_gives_the_reason_with_the_name_free_and_no_stray_exit) {
  const Lines stopped = run(Way::stop);
  EXPECT_EQ(stopped, (Lines{"init", "initialised", "error no port, free"}));
  runtime_.shutdown(milliseconds(20));
}

TEST_P(Start, that_throws_is_a_crash_with_the_name_free_and_no_stray_exit) {
  const Lines crashed = run(GetParam() % 2 == 0 ? Way::fail : Way::wait_then_fail);
  ASSERT_EQ(crashed.size(), 3U);
  EXPECT_NE(crashed[2].find("std::runtime_error: boom"), std::string::npos) << crashed[2];
  EXPECT_NE(crashed[2].find(", free"), std::string::npos) << crashed[2];
  runtime_.shutdown(milliseconds(20));
}

TEST_P(Start, stopped_normally_in_init_is_a_failed_start_all_the_same) {
  EXPECT_EQ(run(Way::stop_normally), (Lines{"init", "initialised", "error normal, free"}));
  runtime_.shutdown(milliseconds(20));
}

TEST_P(Start, the_child_dies_with_a_starter_that_is_killed_while_init_waits) {
  const Pid starter = runtime_.spawn<Starter>();
  runtime_.cast<Starter>(starter, Starter::Start{Way::wait_for_ever, &notebook_});
  ASSERT_TRUE(tests::comes_true(runtime_, [&] { return notebook_.size() == 1; }));
  const Pid child = runtime_.whereis("child");
  ASSERT_TRUE(child);
  EXPECT_EQ(runtime_.info(child)->state, ProcessState::starting);
  EXPECT_EQ(runtime_.info(child)->parent, starter);
  runtime_.exit(starter, ExitReason::kill());
  EXPECT_TRUE(tests::comes_true(runtime_, [&] { return !runtime_.is_alive(child); }));
  EXPECT_FALSE(runtime_.whereis("child"));
  EXPECT_EQ(notebook_.lines(), Lines{"init"});
}

TEST_P(Start, a_child_killed_while_its_init_waits_is_told_to_the_starter) {
  const Pid starter = runtime_.spawn<Starter>();
  runtime_.cast<Starter>(starter, Starter::Start{Way::wait_for_ever, &notebook_});
  ASSERT_TRUE(tests::comes_true(runtime_, [&] { return notebook_.size() == 1; }));
  runtime_.exit(runtime_.whereis("child"), ExitReason::kill());
  ASSERT_TRUE(tests::comes_true(runtime_, [&] { return notebook_.size() == 2; }));
  EXPECT_EQ(notebook_.lines(), (Lines{"init", "error killed, free"}));
  runtime_.shutdown(milliseconds(20));
}

TEST_P(Start, from_a_thread_gives_the_same_answers) {
  SpawnOptions named;
  named.name = "child";
  const StartResult ok = runtime_.start<Child>(named, &notebook_, Way::wait_then_ok);
  ASSERT_TRUE(ok);
  EXPECT_EQ(runtime_.whereis("child"), ok->pid);
  EXPECT_EQ(runtime_.info(ok->pid)->parent, Pid{}) << "it has no parent";

  const StartResult taken = runtime_.start<Child>(named, &notebook_, Way::ok);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().already_started, ok->pid);
  EXPECT_NE(taken.error().reason.text().find("'child' is taken"), std::string::npos) << taken.error().reason.text();

  runtime_.exit(ok->pid, ExitReason::kill());
  ASSERT_TRUE(runtime_.wait_for_end(ok->pid));
  EXPECT_TRUE(runtime_.start<Immediate>(named, Way::ignore)->ignored());
  const StartResult failed = runtime_.start<Immediate>(named, Way::stop);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, ExitReason::custom("no port"));
  EXPECT_TRUE(runtime_.start<Immediate>(named, Way::ok));
}

TEST_P(Start, messages_sent_during_init_are_handled_after_it) {
  const Pid child = runtime_.spawn<Child>(&notebook_, Way::wait_then_ok);
  runtime_.send(child, 1);
  if (tests::on_virtual_time(runtime_)) runtime_.run_for(seconds(1));
  ASSERT_TRUE(tests::comes_true(runtime_, [&] { return notebook_.size() == 3; }));
  EXPECT_EQ(notebook_.lines(), (Lines{"init", "initialised", "message"}));
}

TEST(Spawn, with_a_taken_name_throws_and_names_the_holder) {
  Runtime runtime(tests::seeded(1));
  SpawnOptions named;
  named.name = "one";
  const Pid holder = runtime.spawn_with<Puppet>(named);
  try {
    runtime.spawn_with<Puppet>(named);
    FAIL() << "the name was taken";
  } catch (const SpawnError& error) {
    EXPECT_EQ(error.holder(), holder);
    EXPECT_EQ(std::string(error.what()), "the name 'one' is taken by " + holder.text());
  }
  EXPECT_EQ(runtime.process_count(), 1U) << "the slot went back";
}

}  // namespace
}  // namespace skein
