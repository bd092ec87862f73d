#include "skein/dispatch/fallback_path.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace skein {
namespace {

AgentHandle agent(std::uint32_t index) { return {index, 0}; }

TEST(FallbackPath, goes_from_attempt_to_agent_to_swarm_to_failed) {
  FallbackPath path(3, true);
  EXPECT_EQ(path.attempt_failed(agent(1), ErrorClass::transient), FallbackStep::next_attempt);
  EXPECT_TRUE(path.avoid().empty());
  EXPECT_EQ(path.attempt_failed(agent(1), ErrorClass::resource), FallbackStep::another_agent);
  ASSERT_EQ(path.avoid().size(), 1U);
  EXPECT_EQ(path.avoid()[0], agent(1));
  EXPECT_EQ(path.attempt_failed(agent(2), ErrorClass::transient), FallbackStep::fallback_swarm);
  EXPECT_TRUE(path.in_fallback_swarm());
  EXPECT_TRUE(path.avoid().empty());
  EXPECT_EQ(path.attempt_failed(agent(7), ErrorClass::transient), FallbackStep::next_attempt);
  EXPECT_EQ(path.attempt_failed(agent(8), ErrorClass::transient), FallbackStep::another_agent);
  EXPECT_EQ(path.avoid().size(), 2U);
  EXPECT_EQ(path.attempt_failed(agent(9), ErrorClass::transient), FallbackStep::failed);
  EXPECT_EQ(path.attempt_failed(agent(9), ErrorClass::transient), FallbackStep::failed);
}

TEST(FallbackPath, ends_at_once_with_a_permanent_error) {
  FallbackPath path(4, true);
  EXPECT_EQ(path.attempt_failed(agent(1), ErrorClass::permanent), FallbackStep::failed);
  EXPECT_EQ(path.no_agent_left(), FallbackStep::failed);
}

TEST(FallbackPath, without_a_fallback_swarm_ends_when_attempts_are_used_up) {
  FallbackPath path(1, false);
  EXPECT_EQ(path.attempt_failed(agent(1), ErrorClass::transient), FallbackStep::failed);
  FallbackPath none(0, false);
  EXPECT_EQ(none.attempt_failed(agent(1), ErrorClass::transient), FallbackStep::failed);
}

TEST(FallbackPath, leaves_for_the_fallback_swarm_when_nobody_is_left) {
  FallbackPath path(4, true);
  EXPECT_EQ(path.attempt_failed(agent(1), ErrorClass::transient), FallbackStep::next_attempt);
  EXPECT_EQ(path.no_agent_left(), FallbackStep::fallback_swarm);
  EXPECT_EQ(path.no_agent_left(), FallbackStep::failed);
}

TEST(FallbackPath, remembers_at_most_as_many_as_the_router_heeds) {
  FallbackPath path(100, false);
  for (std::uint32_t i = 0; i < 50; ++i) path.attempt_failed(agent(i), ErrorClass::transient);
  EXPECT_EQ(path.avoid().size(), Router::k_avoid_max);
  std::vector<AgentHandle> avoided(path.avoid().begin(), path.avoid().end());
  EXPECT_NE(std::ranges::find(avoided, agent(49)), avoided.end());
  EXPECT_EQ(std::ranges::find(avoided, agent(0)), avoided.end());
}

}  // namespace
}  // namespace skein
