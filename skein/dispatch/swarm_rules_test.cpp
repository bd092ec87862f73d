#include "skein/dispatch/swarm_rules.hpp"

#include <gtest/gtest.h>

#include "skein/dispatch/swarm_load.hpp"
#include "skein/ledger/swarm_fields.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;

SwarmRecord read(const ledger::Fields& fields, const DispatcherOptions& options = {}) {
  ledger::Swarm swarm;
  swarm.name = "own";
  swarm.definition = fields;
  SwarmRecord record;
  read_swarm(record, swarm, options);
  return record;
}

TEST(SwarmRules, read_what_a_swarm_says_of_itself) {
  const SwarmRecord record = read({{"strategy", "two_choices"},
                                   {"fallback", "other"},
                                   {"weight", "3"},
                                   {"breaker_crashes", "7"},
                                   {"breaker_open_ms", "2000"}});
  EXPECT_TRUE(record.is_known);
  EXPECT_EQ(record.strategy, Balance::two_choices);
  EXPECT_EQ(record.fallback, "other");
  EXPECT_EQ(record.weight, 3U);
  EXPECT_EQ(record.breaker_options.crashes, 7U);
  EXPECT_EQ(record.breaker_options.open, 2s);
}

TEST(SwarmRules, take_the_options_for_what_is_missing_or_makes_no_sense) {
  DispatcherOptions options;
  options.strategy = Balance::consistent_hash;
  options.breaker_crashes = 9;
  const SwarmRecord record =
      read({{"strategy", "by magic"}, {"weight", "-1"}, {"breaker_crashes", "0"}, {"breaker_open_ms", "2 s"}}, options);
  EXPECT_EQ(record.strategy, Balance::consistent_hash);
  EXPECT_EQ(record.weight, 1U);
  EXPECT_EQ(record.breaker_options.crashes, 9U);
  EXPECT_EQ(record.breaker_options.open, options.breaker_open);
}

TEST(SwarmRules, limit_the_weight) { EXPECT_EQ(read({{"weight", "999999999"}}).weight, ledger::k_swarm_weight_max); }

TEST(SwarmRules, share_an_executor_with_a_limit_and_the_agents_of_nobody) {
  DispatcherOptions options;
  options.executors = {{"gpu", 2}, {"web", 4}};
  EXPECT_EQ(read({{"executor", "gpu"}}, options).share_group, 1U);
  EXPECT_EQ(read({{"executor", "web"}}, options).share_group, 2U);
  EXPECT_EQ(read({{"executor", "own"}}, options).share_group, 0U) << "nobody else has places there";
  EXPECT_EQ(read({}, options).share_group, 3U) << "swarms without agents share those that belong to none";
}

TEST(SwarmRules, keep_the_agents_of_a_swarm_with_an_executor_for_its_tasks) {
  EXPECT_EQ(read({{"executor", "gpu"}}).own_agents, swarm_capability("own"));
  EXPECT_EQ(read({}).own_agents, "");
}

}  // namespace
}  // namespace skein::inline v0::dispatch
