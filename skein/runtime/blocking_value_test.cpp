// Blocking jobs that return a value: co_await gives it, or throws what the job has thrown.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include "skein/runtime/runtime.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0 {
namespace {

Async<std::string> take_both(Self self) {
  auto number = self.blocking([] { return std::make_unique<int>(40); });  // a value that only moves
  auto text = self.blocking([] { return std::string("two"); });
  const std::string word = co_await text;
  const std::unique_ptr<int> made = co_await number;
  co_return std::to_string(*made) + " and " + word;
}

TEST(BlockingValue, is_what_the_job_returned_in_whichever_order_jobs_are_awaited) {
  Runtime seeded(tests::seeded(1));
  EXPECT_EQ(seeded.run(&take_both).value(), "40 and two");
  Runtime threaded(tests::threaded());
  EXPECT_EQ(threaded.run(&take_both).value(), "40 and two");
}

Async<std::string> catch_what_it_throws(Self self) {
  auto job = self.blocking([]() -> int { throw std::runtime_error("inside a job"); });
  try {
    const int number = co_await job;
    co_return std::to_string(number);
  } catch (const std::runtime_error& error) {
    co_return error.what();
  }
}

TEST(BlockingValue, of_a_job_that_throws_is_thrown_where_it_is_awaited) {
  Runtime runtime(tests::seeded(1));
  EXPECT_EQ(runtime.run(&catch_what_it_throws).value(), "inside a job");
}

struct Uncaught {
  Async<int> handle_call(Self self, int /*request*/) {
    auto job = self.blocking([]() -> int { throw std::runtime_error("inside a job"); });
    const int number = co_await job;
    co_return number;
  }
};

TEST(BlockingValue, that_is_never_caught_crashes_the_process_with_its_words) {
  Runtime runtime(tests::seeded(1));
  const auto answer = runtime.call<Uncaught>(runtime.spawn<Uncaught>(), 1);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().text().find("inside a job"), std::string::npos) << answer.error().text();
}

// Counts how often it goes, moved-from ones left out.
struct House {
  std::shared_ptr<std::atomic<int>> gone;
  explicit House(std::shared_ptr<std::atomic<int>> count) : gone(std::move(count)) {}
  House(House&&) noexcept = default;
  House& operator=(House&&) = delete;
  ~House() {
    if (gone) ++*gone;
  }
};

struct Site {
  std::shared_future<void> gate;
  std::shared_ptr<std::atomic<bool>> has_begun;
  std::shared_ptr<std::atomic<int>> gone;
};

struct Builder {
  Async<void> handle_info(Self self, Message message) {
    auto job = self.blocking([site = *message.get_if<Site>()] {
      *site.has_begun = true;
      site.gate.wait();
      return House(site.gone);
    });
    const House house = co_await job;
  }
};

// Whether the process or the job goes first is not said.
TEST(BlockingValue, of_a_process_that_died_meanwhile_goes_once) {
  Runtime runtime(tests::threaded());
  std::promise<void> gate;
  const Site site{gate.get_future().share(), std::make_shared<std::atomic<bool>>(false),
                  std::make_shared<std::atomic<int>>(0)};
  const Pid builder = runtime.spawn<Builder>();
  runtime.send(builder, site);
  ASSERT_TRUE(tests::eventually([&] { return site.has_begun->load(); }));
  runtime.exit(builder, ExitReason::kill());
  gate.set_value();
  EXPECT_TRUE(runtime.wait_for_end(builder, std::chrono::seconds(10)));
  EXPECT_TRUE(tests::eventually([&] { return site.gone->load() > 0; }));
  EXPECT_EQ(site.gone->load(), 1);
}

}  // namespace
}  // namespace skein::inline v0
