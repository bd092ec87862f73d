#include "skein/dispatch/age_rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

struct AgeWorld : RoutedRuleWorld {
  AgeWorld() {
    options.age_step = 30s;
    options.age_runs = 10;
  }
  AgeRule ageing{tables, lanes, options};

  SlotNumber ready(std::uint16_t priority, const std::string& type = "work") {
    const SlotNumber slot = task_in_lane(own, type, priority);
    the_task(slot).id = ledger::TaskId{1, the_task(slot).number};
    the_task(slot).order = static_cast<std::int64_t>(the_task(slot).number);
    the_task(slot).become(TaskPhase::ready);
    return slot;
  }
  void wait(SlotNumber slot) { ageing.wait(slot, at(0), 1); }
  auto id(SlotNumber slot) { return the_task(slot).id; }
};

TEST(AgeRule, raises_a_task_by_one_class_at_a_time_and_never_to_critical) {
  AgeWorld world;
  const SlotNumber low = world.ready(ledger::k_low);
  world.wait(low);
  EXPECT_THAT(world.ageing.take_due(world.at(29)), IsEmpty());
  EXPECT_THAT(world.ageing.take_due(world.at(30)), ElementsAre(Pair(world.id(low), ledger::k_normal)));
  EXPECT_THAT(world.ageing.take_due(world.at(59)), IsEmpty()) << "it waits anew at its new class";
  world.the_task(low).effective_priority = ledger::k_normal;
  EXPECT_THAT(world.ageing.take_due(world.at(60)), ElementsAre(Pair(world.id(low), ledger::k_high)));
  world.the_task(low).effective_priority = ledger::k_high;
  EXPECT_THAT(world.ageing.take_due(world.at(1000)), IsEmpty());
}

TEST(AgeRule, leaves_alone_what_is_high_already_or_waits_no_longer) {
  AgeWorld world;
  world.wait(world.ready(ledger::k_high));
  world.wait(world.ready(ledger::k_critical));
  const SlotNumber gone = world.ready(ledger::k_low);
  world.wait(gone);
  world.the_task(gone).become(TaskPhase::assigning);
  const SlotNumber moved = world.ready(ledger::k_low);
  world.wait(moved);
  world.the_task(moved).order = 77;
  EXPECT_THAT(world.ageing.take_due(world.at(1000)), IsEmpty());
}

TEST(AgeRule, waits_for_ten_usual_runs_of_a_long_type) {
  AgeWorld world;
  const SlotNumber ada = world.known_agent("ada");
  world.learn_type("long", ada, 60s);
  const SlotNumber low = world.ready(ledger::k_low, "long");
  world.wait(low);
  EXPECT_THAT(world.ageing.take_due(world.at(60)), IsEmpty()) << "age_step alone would have raised it";
  EXPECT_THAT(world.ageing.take_due(world.at(1200)), SizeIs(1));
}

TEST(AgeRule, counts_age_step_alone_where_age_runs_is_zero) {
  AgeWorld world;
  world.options.age_runs = 0;
  world.learn_type("long", world.known_agent("ada"), 60s);
  world.wait(world.ready(ledger::k_low, "long"));
  EXPECT_THAT(world.ageing.take_due(world.at(30)), SizeIs(1));
}

TEST(AgeRule, raises_at_most_ages_at_once) {
  AgeWorld world;
  world.options.ages_at_once = 3;
  for (int i = 0; i < 5; ++i) world.wait(world.ready(ledger::k_normal));
  EXPECT_THAT(world.ageing.take_due(world.at(30)), SizeIs(3));
  EXPECT_THAT(world.ageing.take_due(world.at(30)), SizeIs(2));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
