#include "skein/resilience/breaker_registry.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "skein/resilience/testing.hpp"

namespace skein {
namespace {

using tests::at;

void fail(BreakerRegistry& registry, std::string_view name, Instant now) {
  const auto permit = registry.ask(name, now);
  ASSERT_TRUE(permit);
  registry.failed(name, *permit, now);
}

TEST(BreakerRegistry, keeps_one_breaker_per_name) {
  BreakerRegistry registry;
  for (int i = 0; i < 5; ++i) fail(registry, "mail", at(i));
  EXPECT_EQ(registry.state("mail", at(5)), BreakerState::open);
  EXPECT_EQ(registry.state("search", at(5)), BreakerState::closed);
  const auto list = registry.list(at(5));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].name, "mail");
  EXPECT_EQ(list[0].metrics.failed, 5U);
}

TEST(BreakerRegistry, options_may_be_set_per_name) {
  BreakerRegistry registry;
  BreakerOptions touchy;
  touchy.failure_threshold = 1;
  registry.configure("touchy", touchy);
  fail(registry, "touchy", at(0));
  EXPECT_EQ(registry.state("touchy", at(0)), BreakerState::open);
  touchy.success_threshold = 0;
  EXPECT_THROW(registry.configure("wrong", touchy), std::invalid_argument);
}

TEST(BreakerRegistry, refuses_bad_names_and_more_than_its_limit) {
  BreakerRegistry registry({}, 2);
  EXPECT_THROW(static_cast<void>(registry.state("", at(0))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(registry.state(std::string(257, 'x'), at(0))), std::invalid_argument);
  EXPECT_EQ(registry.state("a", at(0)), BreakerState::closed);
  EXPECT_EQ(registry.state("b", at(0)), BreakerState::closed);
  EXPECT_THROW(static_cast<void>(registry.state("c", at(0))), std::length_error);
  EXPECT_TRUE(registry.remove("a"));
  EXPECT_FALSE(registry.remove("a"));
  EXPECT_EQ(registry.state("c", at(0)), BreakerState::closed);
}

TEST(BreakerRegistry, configures_no_more_names_than_there_may_be_breakers_and_no_bad_ones) {
  BreakerRegistry registry({}, 2);
  EXPECT_THROW(registry.configure("", {}), std::invalid_argument);
  EXPECT_THROW(registry.configure(std::string(257, 'x'), {}), std::invalid_argument);
  registry.configure("a", {});
  registry.configure("b", {});
  registry.configure("a", {});
  EXPECT_THROW(registry.configure("c", {}), std::length_error);
}

TEST(BreakerRegistry, a_permit_of_a_removed_breaker_says_nothing_to_the_next_of_its_name) {
  BreakerRegistry registry;
  const auto early = registry.ask("mail", at(0));
  ASSERT_TRUE(early);
  ASSERT_TRUE(registry.remove("mail"));
  const auto late = registry.ask("mail", at(1));
  ASSERT_TRUE(late);
  registry.failed("mail", *early, at(2));
  EXPECT_EQ(registry.list(at(2)).front().metrics.failed, 0U);
  EXPECT_EQ(registry.list(at(2)).front().under_way, 1U);
  registry.failed("mail", *late, at(2));
  EXPECT_EQ(registry.list(at(2)).front().metrics.failed, 1U);
}

TEST(BreakerRegistry, counts_every_outcome_with_many_threads) {
  BreakerOptions options;
  options.failure_threshold = 0;
  options.failure_rate = 1.0;
  options.rate_minimum = 100;
  BreakerRegistry registry(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        if (const auto permit = registry.ask("shared", at(0))) registry.succeeded("shared", *permit, at(0));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(registry.list(at(0)).front().metrics.succeeded, 4000U);
}

}  // namespace
}  // namespace skein
