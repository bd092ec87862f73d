#include "skein/dispatch/placement_policy.hpp"

#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using ledger::AgentFallback;

struct PolicyWorld : RuleWorld {
  PolicyWorld() {
    options.types["typed"].agent_fallback = AgentFallback::any;
    options.types["typed"].agent_wait = 20s;
  }
  PlacementPolicy policy(const ledger::Placement& where, std::string_view type) const {
    return policy_for(where, type, options);
  }
};

TEST(PlacementPolicy, takes_the_tasks_own_word_then_its_types_then_the_configs) {
  PolicyWorld world;
  EXPECT_FALSE(world.policy(pinned_at("ada"), "other").may_unpin) << "the config says none";
  EXPECT_EQ(world.policy(pinned_at("ada"), "other").wait, 1min);
  EXPECT_TRUE(world.policy(pinned_at("ada"), "typed").may_unpin);
  EXPECT_EQ(world.policy(pinned_at("ada"), "typed").wait, 20s);
  ledger::Placement own = pinned_at("ada");
  own.fallback = AgentFallback::none;
  own.wait_ms = 3'000;
  EXPECT_FALSE(world.policy(own, "typed").may_unpin);
  EXPECT_EQ(world.policy(own, "typed").wait, 3s);
  world.options.agent_fallback = "any";
  EXPECT_TRUE(world.policy(pinned_at("ada"), "other").may_unpin);
}

TEST(PlacementPolicy, counts_the_wait_for_the_agent_from_the_first_time_that_the_task_is_ready) {
  PolicyWorld world;
  TaskRecord& record = world.tables.tasks[world.task(world.swarm("own"), "typed")];
  record.extras = extras_with(pinned_at("ada"));
  wait_for_agent(record, world.options, world.at(100));
  EXPECT_EQ(record.past->unpin_at, world.at(120));
  wait_for_agent(record, world.options, world.at(110));
  EXPECT_EQ(record.past->unpin_at, world.at(120)) << "it was ready before, and was not begun since";
}

TEST(PlacementPolicy, notes_nothing_for_a_task_that_waits_for_its_agent_for_ever) {
  PolicyWorld world;
  TaskRecord& record = world.tables.tasks[world.task(world.swarm("own"))];
  record.extras = extras_with(pinned_at("ada"));
  wait_for_agent(record, world.options, world.at(100));
  EXPECT_EQ(record.past, nullptr);
}

}  // namespace
}  // namespace skein::inline v0::dispatch
