#include "skein/base/thread_job_queue.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "skein/base/manual_job_queue.hpp"

namespace skein::inline v0 {
namespace {

using namespace std::chrono_literals;

TEST(ThreadJobQueue, runs_jobs_in_the_order_they_are_due) {
  ThreadJobQueue queue("test-jobs");
  std::promise<void> gate;
  std::promise<std::string> end;
  std::string order;
  // The first job holds the thread until all others are queued.
  ASSERT_TRUE(queue.post([&] { gate.get_future().wait(); }));
  ASSERT_TRUE(queue.post_after(2ms, [&] { end.set_value(order + "c"); }));
  ASSERT_TRUE(queue.post([&] { order += "a"; }));
  ASSERT_TRUE(queue.post([&] { order += "b"; }));
  gate.set_value();
  EXPECT_EQ(end.get_future().get(), "abc");
}

TEST(ThreadJobQueue, refuses_more_than_its_limit) {
  ThreadJobQueue queue("test-jobs", 2);
  ASSERT_TRUE(queue.post_after(1h, [] {}));
  ASSERT_TRUE(queue.post_after(1h, [] {}));
  EXPECT_FALSE(queue.post([] {}));
}

TEST(ThreadJobQueue, drops_and_refuses_jobs_once_stopped) {
  ThreadJobQueue queue("test-jobs");
  auto held = std::make_shared<int>(1);
  ASSERT_TRUE(queue.post_after(1h, [held] { FAIL(); }));
  queue.stop();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(queue.post([] {}));
}

TEST(ManualJobQueue, jumps_from_due_job_to_due_job) {
  ManualJobQueue queue;
  std::vector<Instant> ran;
  const Instant start = queue.now();
  queue.post_after(20ms, [&] { ran.push_back(queue.now()); });
  queue.post_after(10ms, [&] {
    ran.push_back(queue.now());
    queue.post_after(5ms, [&] { ran.push_back(queue.now()); });
  });
  queue.advance(1s);
  EXPECT_EQ(ran, (std::vector<Instant>{start + 10ms, start + 15ms, start + 20ms}));
  EXPECT_EQ(queue.now(), start + 1s);
}

}  // namespace
}  // namespace skein::inline v0
