// What is known of an attempt that failed: why its agent fell, and what it wrote before it timed out.
#include <gtest/gtest.h>

#include <string>

#include "skein/dispatch/core_world.hpp"

namespace skein::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::ErrorClass;
using ledger::State;

class DispatcherWords : public testing::Test {
 protected:
  // Agent 1 has begun with task 1.
  void begin(bool tells_last_words = true) {
    world.begin();
    AgentReady ready;
    ready.reports_starts = true;
    ready.tells_last_words = tells_last_words;
    world.join(1, ready);
    auto task = world.a_task(1);
    task.spec.timeout_ms = 1'000;
    ASSERT_EQ(world.run(task).verdict, ledger::Verdict::ok);
    world.settle();
    world.start(1, world.ref(1));
  }
  void say(const std::string& text, bool and_return = false) {
    AgentReport report;
    report.last_words.push_back({world.ref(1), text});
    if (and_return) report.returned.push_back(world.ref(1));
    world.core->on_report(CoreWorld::pid_of(1), std::move(report), world.moment);
    world.settle();
  }
  [[nodiscard]] ledger::Attempt last_attempt() { return world.task(1).history->back(); }
  [[nodiscard]] bool has_failed() { return world.task(1).history != nullptr; }

  CoreWorld world;
};

TEST_F(DispatcherWords, a_crash_has_them_in_its_attempt_and_goes_to_the_front_as_before) {
  begin();
  world.submit(2);
  say("killed by SIGSEGV (11): no such page");
  world.crash(1);
  EXPECT_EQ(last_attempt().error, ErrorClass::crash);
  EXPECT_EQ(last_attempt().message, "the agent crashed: killed by SIGSEGV (11): no such page");
  EXPECT_EQ(world.task(1).attempts, 1U);
  EXPECT_EQ(world.task(1).not_before, 0U);
  world.join(2);
  EXPECT_EQ(world.where(1), "agent2") << "task 1 was not put before task 2";
  EXPECT_EQ(world.core->counters().refused_ops, 0U);
}

TEST_F(DispatcherWords, a_task_that_crashed_goes_to_another_agent_in_the_same_append) {
  begin();
  world.join(2);
  say("gone");
  const auto before = world.appends;
  world.crash(1);
  EXPECT_EQ(world.where(1), "agent2");
  EXPECT_EQ(world.appends, before + 1);
  EXPECT_EQ(last_attempt().message, "the agent crashed: gone");
}

TEST_F(DispatcherWords, a_ledger_that_does_not_know_of_them_requeues_as_before) {
  world.ledger_version = ledger::k_fallback_version;
  begin();
  say("gone");
  world.crash(1);
  EXPECT_EQ(last_attempt().message, "the agent crashed");
  EXPECT_EQ(world.core->counters().refused_ops, 0U);
}

TEST_F(DispatcherWords, they_are_cut_to_what_a_message_may_have) {
  begin();
  say(std::string(2 * k_message_bytes_max, 'x'));
  world.crash(1);
  EXPECT_EQ(last_attempt().message.size(), k_message_bytes_max);
  EXPECT_EQ(world.core->counters().refused_ops, 0U);
}

TEST_F(DispatcherWords, an_attempt_that_times_out_waits_a_moment_for_them) {
  begin();
  world.pass(1s);
  EXPECT_FALSE(has_failed());
  say("waiting for a lock");
  ASSERT_TRUE(has_failed());
  EXPECT_EQ(last_attempt().error, ErrorClass::timeout);
  EXPECT_EQ(last_attempt().message, "no outcome within 1000 ms; it last wrote to standard error: waiting for a lock");
}

TEST_F(DispatcherWords, an_attempt_that_times_out_does_not_wait_for_long) {
  begin();
  world.pass(1s);
  EXPECT_FALSE(has_failed());
  world.pass(100ms);
  ASSERT_TRUE(has_failed());
  EXPECT_EQ(last_attempt().message, "no outcome within 1000 ms");
}

TEST_F(DispatcherWords, an_agent_that_tells_none_is_not_waited_for) {
  begin(false);
  world.pass(1s);
  ASSERT_TRUE(has_failed());
  EXPECT_EQ(last_attempt().message, "no outcome within 1000 ms");
}

TEST_F(DispatcherWords, one_that_is_returned_after_its_timeout_has_timed_out) {
  begin();
  world.pass(1s);
  EXPECT_FALSE(has_failed());
  world.return_task(1, world.ref(1));
  ASSERT_TRUE(has_failed()) << "it was put back free of charge";
  EXPECT_EQ(last_attempt().error, ErrorClass::timeout);
  EXPECT_EQ(world.task(1).attempts, 1U);
}

TEST_F(DispatcherWords, words_and_the_return_may_come_together) {
  begin();
  world.pass(1s);
  say("stopped at once", true);
  ASSERT_TRUE(has_failed());
  EXPECT_EQ(last_attempt().message, "no outcome within 1000 ms; it last wrote to standard error: stopped at once");
  EXPECT_EQ(world.task(1).attempts, 1U);
}

}  // namespace
}  // namespace skein::dispatch
