#include "skein/swarm/definition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0::swarm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ledger::Swarm swarm_with(ledger::Fields fields) {
  ledger::Swarm swarm;
  swarm.name = "analysts";
  swarm.definition = std::move(fields);
  return swarm;
}

TEST(SwarmDefinition, has_the_defaults_of_the_specification) {
  const auto definition = definition_of(swarm_with({{"executor", "python"}}));
  ASSERT_TRUE(definition);
  EXPECT_EQ(definition->agents_min, 5U);
  EXPECT_EQ(definition->agents_max, 100U);
  EXPECT_EQ(definition->prefetch, 1U);
  EXPECT_EQ(definition->idle_after, std::chrono::seconds(30));
  EXPECT_EQ(definition->role, dispatch::Role::worker);
}

TEST(SwarmDefinition, reads_every_field_and_overrides_win) {
  auto swarm = swarm_with({{"executor", "python"},
                           {"role", "specialist"},
                           {"capabilities", " b, a,,b "},
                           {"agents_min", "1"},
                           {"agents_max", "3"},
                           {"idle_after_ms", "250"},
                           {"prefetch", "0"}});
  swarm.overrides = {{"agents_max", "7"}};
  const auto definition = definition_of(swarm);
  ASSERT_TRUE(definition);
  EXPECT_THAT(definition->capabilities, ElementsAre("a", "b"));
  EXPECT_EQ(definition->role, dispatch::Role::specialist);
  EXPECT_EQ(definition->agents_min, 1U);
  EXPECT_EQ(definition->agents_max, 7U);
  EXPECT_EQ(definition->prefetch, 0U);
  EXPECT_EQ(definition->idle_after, std::chrono::milliseconds(250));
}

TEST(SwarmDefinition, says_what_is_wrong_with_each_field) {
  const auto definition = definition_of(swarm_with(
      {{"role", "boss"}, {"agents_min", "-1"}, {"agents_max", "many"}, {"idle_after_ms", "2d"}, {"prefetch", "101"}}));
  ASSERT_FALSE(definition);
  EXPECT_THAT(definition.error(), ElementsAre(HasSubstr("executor is missing"), HasSubstr("role is 'boss'"),
                                              HasSubstr("min is '-1'; it must be a whole number from 0 to 100000"),
                                              HasSubstr("max is 'many'"), HasSubstr("prefetch is '101'"),
                                              HasSubstr("idle_shrink is '2d'; it must be a time from 0s to 24h")));
}

TEST(SwarmDefinition, wants_a_maximum_not_below_the_minimum) {
  const auto wrong = definition_of(swarm_with({{"executor", "e"}, {"agents_min", "9"}, {"agents_max", "3"}}));
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error(), ElementsAre(HasSubstr("min is 9 and max is 3")));
  const auto raised = definition_of(swarm_with({{"executor", "e"}, {"agents_min", "200"}}));
  ASSERT_TRUE(raised);
  EXPECT_EQ(raised->agents_max, 200U);
}

TEST(SwarmDefinition, refuses_a_name_too_long_for_a_capability) {
  auto swarm = swarm_with({{"executor", "e"}});
  swarm.name = std::string(k_name_bytes_max, 'x');
  EXPECT_TRUE(definition_of(swarm));
  swarm.name += 'x';
  EXPECT_FALSE(definition_of(swarm));
}

TEST(SwarmDefinition, tells_whether_other_agents_are_needed) {
  const auto one = *definition_of(swarm_with({{"executor", "e"}, {"agents_min", "1"}}));
  const auto more = *definition_of(swarm_with({{"executor", "e"}, {"agents_min", "2"}}));
  const auto other = *definition_of(swarm_with({{"executor", "f"}, {"agents_min", "1"}}));
  EXPECT_FALSE(needs_other_agents(one, more));
  EXPECT_TRUE(needs_other_agents(one, other));
  for (const ledger::Fields& fields : {ledger::Fields{{"role", "specialist"}}, ledger::Fields{{"prefetch", "3"}},
                                       ledger::Fields{{"capabilities", "paint"}}}) {
    auto with = swarm_with({{"executor", "e"}, {"agents_min", "1"}});
    with.definition.insert(fields.begin(), fields.end());
    EXPECT_TRUE(needs_other_agents(one, *definition_of(with))) << fields.begin()->first;
  }
}

}  // namespace
}  // namespace skein::inline v0::swarm
