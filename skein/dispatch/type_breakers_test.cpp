#include "skein/dispatch/type_breakers.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

TEST(TypeBreakers, are_of_one_swarm_and_type) {
  TypeBreakers all;
  EXPECT_EQ(all.find("default", "words"), nullptr);
  TypeBreaker* its = all.crashed_over("default", "words", 10);
  ASSERT_NE(its, nullptr);
  EXPECT_EQ(all.crashed_over("default", "words", 10), its);
  EXPECT_EQ(all.find("default", "words"), its);
  EXPECT_EQ(all.find("default", "other"), nullptr);
  EXPECT_EQ(all.find("other", "words"), nullptr);
}

TEST(TypeBreakers, a_crash_beyond_the_limit_is_not_counted_unless_a_breaker_is_as_new) {
  TypeBreakers all;
  const CrashBreakerOptions options;
  TypeBreaker* first = all.crashed_over("s", "a", 1);
  ASSERT_NE(first, nullptr);
  [[maybe_unused]] const auto change =
      first->breaker.crashed(options, 1, Duration::zero(), Instant{}, [](Duration) { return std::size_t{0}; });
  EXPECT_EQ(all.crashed_over("s", "b", 1), nullptr);
  all.forget_swarm("s");
  EXPECT_TRUE(all.empty());
  EXPECT_NE(all.crashed_over("s", "b", 1), nullptr);
  EXPECT_NE(all.crashed_over("s", "c", 1), nullptr) << "the one before has no crash in it and makes room";
}

}  // namespace
}  // namespace skein::inline v0::dispatch
