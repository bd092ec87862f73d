#include "skein/runtime/exit_reason.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace skein {
namespace {

TEST(ExitReason, reads_well) {
  EXPECT_EQ(ExitReason::normal().text(), "normal");
  EXPECT_EQ(ExitReason::shutdown().text(), "shutdown");
  EXPECT_EQ(ExitReason::shutdown("gone").text(), "shutdown(gone)");
  EXPECT_EQ(ExitReason::kill().text(), "kill");
  EXPECT_EQ(ExitReason::killed().text(), "killed");
  EXPECT_EQ(ExitReason::noproc().text(), "noproc");
  EXPECT_EQ(ExitReason::custom("out of ink").text(), "out of ink");
  EXPECT_EQ(ExitReason::crash("E", "boom", "W: Job").text(), "crash(E: boom, in W: Job)");
  EXPECT_EQ(ExitReason::crash("E", "", "").text(), "crash(E)");
}

TEST(ExitReason, equality_is_by_kind_and_term) {
  EXPECT_EQ(ExitReason::custom("a"), ExitReason::custom("a"));
  EXPECT_NE(ExitReason::custom("a"), ExitReason::custom("b"));
  EXPECT_NE(ExitReason::kill(), ExitReason::killed());
  EXPECT_NE(ExitReason::shutdown(), ExitReason::shutdown(""));
  EXPECT_NE(ExitReason::shutdown("a"), ExitReason::custom("a"));
}

TEST(ExitReason, shutdown_with_a_term_is_a_shutdown_too) {
  EXPECT_TRUE(ExitReason::shutdown("x").is_shutdown());
  EXPECT_TRUE(ExitReason::shutdown().is_shutdown());
  EXPECT_FALSE(ExitReason::normal().is_shutdown());
  EXPECT_TRUE(ExitReason::normal().is_normal());
}

TEST(ExitReason, carries_its_cause) {
  const ExitReason reason = ExitReason::shutdown("failed_to_start_child", ExitReason::custom("no port"));
  ASSERT_NE(reason.cause(), nullptr);
  EXPECT_EQ(*reason.cause(), ExitReason::custom("no port"));
  EXPECT_EQ(ExitReason::custom("x").cause(), nullptr);
  EXPECT_EQ(ExitReason::normal().cause(), nullptr);
  const ExitReason deep = ExitReason::custom("outer", reason);
  ASSERT_NE(deep.cause(), nullptr);
  EXPECT_EQ(deep.cause()->cause()->term(), "no port");
}

TEST(ExitReason, names_the_exception_that_is_being_handled) {
  try {
    throw std::out_of_range("seven");
  } catch (...) {
    const ExitReason reason = ExitReason::crash_of_current_exception("Worker: Job");
    EXPECT_EQ(reason.kind(), ExitKind::crash);
    EXPECT_EQ(reason.crash_type(), "std::out_of_range");
    EXPECT_EQ(reason.term(), "seven");
    EXPECT_EQ(reason.crash_where(), "Worker: Job");
  }
}

TEST(ExitReason, names_what_is_not_an_exception_class_too) {
  try {
    throw 42;
  } catch (...) {
    const ExitReason reason = ExitReason::crash_of_current_exception("");
    EXPECT_EQ(reason.crash_type(), "int");
    EXPECT_EQ(reason.text(), "crash(int)");
  }
}

TEST(ExitReason, copies_share_and_outlive_the_original) {
  ExitReason copy;
  {
    const ExitReason original = ExitReason::custom("kept");
    copy = original;
    const ExitReason& same = copy;
    copy = same;
  }
  EXPECT_EQ(copy.term(), "kept");
  const ExitReason moved = std::move(copy);
  EXPECT_EQ(moved.term(), "kept");
}

TEST(ExitReason, what_was_moved_from_is_a_whole_reason_still) {
  ExitReason first = ExitReason::custom("spent");
  const ExitReason second = std::move(first);
  EXPECT_EQ(second.text(), ExitReason::custom("spent").text());
  EXPECT_TRUE(first.is_normal());  // NOLINT(bugprone-use-after-move): what is tested
}

TEST(ExitReason, may_be_copied_and_dropped_by_many_threads) {
  const ExitReason shared = ExitReason::custom("shared", ExitReason::custom("cause"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([shared] {
      for (int round = 0; round < 10'000; ++round) {
        const ExitReason copy = shared;  // NOLINT(performance-unnecessary-copy-initialization)
        ASSERT_EQ(copy.cause()->term(), "cause");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.term(), "shared");
}

}  // namespace
}  // namespace skein
