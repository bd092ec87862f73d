#include "skein/runtime/blocking_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace skein::detail {
namespace {

TEST(BlockingPool, runs_what_it_is_given_on_a_thread_of_its_own) {
  BlockingPool pool(2, 10);
  std::promise<std::thread::id> where;
  pool.submit([&] { where.set_value(std::this_thread::get_id()); });
  EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
}

TEST(BlockingPool, makes_threads_up_to_its_limit_and_no_more) {
  BlockingPool pool(3, 100);
  std::latch begun(3);
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::latch done(10);
  for (int i = 0; i < 10; ++i) {
    pool.submit([&, gate, i] {
      if (i < 3) begun.count_down();
      gate.wait();
      done.count_down();
    });
  }
  begun.wait();
  EXPECT_EQ(pool.threads(), 3U);
  EXPECT_EQ(pool.waiting(), 7U);
  go.set_value();
  done.wait();
}

TEST(BlockingPool, uses_an_idle_thread_again) {
  BlockingPool pool(8, 100);
  for (int i = 0; i < 50; ++i) {
    std::promise<void> ran;
    pool.submit([&ran] { ran.set_value(); });
    ran.get_future().wait();
  }
  EXPECT_LE(pool.threads(), 8U);
  EXPECT_GE(pool.threads(), 1U);
}

TEST(BlockingPool, a_full_queue_is_told_with_what_to_do) {
  BlockingPool pool(1, 2);
  std::promise<void> begun;
  std::promise<void> go;
  std::latch done(3);
  pool.submit([&] {
    begun.set_value();
    go.get_future().wait();
    done.count_down();
  });
  begun.get_future().wait();
  pool.submit([&] { done.count_down(); });
  pool.submit([&] { done.count_down(); });
  try {
    pool.submit([] {});
    FAIL() << "the queue was full";
  } catch (const BlockingQueueFull& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("blocking_queue = 2"), std::string::npos) << text;
    EXPECT_NE(text.find("raise"), std::string::npos) << text;
  }
  go.set_value();
  done.wait();
}

// A job that no thread has picked up yet does not wait for one.
TEST(BlockingPool, refuses_nothing_while_threads_are_free) {
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  detail::BlockingPool pool(16, 1);
  for (int i = 0; i < 17; ++i) EXPECT_NO_THROW(pool.submit([gate] { gate.wait(); })) << i;
  EXPECT_THROW(pool.submit([] {}), BlockingQueueFull);
  detail::BlockingPool without_queue(2, 0);
  EXPECT_NO_THROW(without_queue.submit([gate] { gate.wait(); }));
  go.set_value();
}

TEST(BlockingPool, drops_what_has_not_begun_and_does_not_wait_for_what_never_returns) {
  const auto go = std::make_shared<std::promise<void>>();
  const auto returned = std::make_shared<std::promise<void>>();
  std::atomic<bool> second_ran{false};
  const auto held = std::make_shared<int>(1);
  {
    std::promise<void> begun;
    BlockingPool pool(1, 10);
    pool.submit([go, returned, &begun] {
      begun.set_value();
      go->get_future().wait();
      returned->set_value();
    });
    begun.get_future().wait();
    pool.submit([held, &second_ran] { second_ran = true; });
  }
  EXPECT_EQ(held.use_count(), 1) << "the job that had not begun is gone with what it held";
  go->set_value();
  returned->get_future().wait();
  EXPECT_FALSE(second_ran);
}

TEST(BlockingPool, many_threads_submit_at_once) {
  BlockingPool pool(4, 100'000);
  std::latch done(4'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) pool.submit([&done] { done.count_down(); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  done.wait();
  EXPECT_EQ(pool.waiting(), 0U);
}

}  // namespace
}  // namespace skein::detail
