#include "skein/node/dispatch_log.hpp"

#include <gtest/gtest.h>

namespace skein::node {
namespace {

using Kind = dispatch::DispatchEvent::Kind;

TEST(DispatchLog, knows_which_types_are_held_back) {
  dispatch::DispatchEvent event{Kind::breaker_opened, "w", 7, "agents crash", "ocr", 99};
  ASSERT_TRUE(held_type_of(event));
  EXPECT_EQ(held_type_of(event)->type, "ocr");
  EXPECT_EQ(held_type_of(event)->until, 99U);
  EXPECT_EQ(held_type_of(event)->why, dispatch::PassedOver::Why::crashes);
  event.kind = Kind::breaker_half_opened;
  EXPECT_EQ(held_type_of(event)->why, dispatch::PassedOver::Why::crashes_tried);
  event.type.clear();
  EXPECT_FALSE(held_type_of(event));
  EXPECT_FALSE(held_type_of({Kind::agent_joined, "a", 0, ""}));
}

TEST(DispatchLog, says_aloud_what_concerns_a_swarm_or_an_agent) {
  const LogLine warned = line_of({Kind::breaker_warning, "w", 7, "3 agents in a row crashed"});
  EXPECT_EQ(warned.level, LogLevel::warning);
  EXPECT_EQ(warned.text, "swarm 'w': 3 agents in a row crashed");
  EXPECT_EQ(line_of({Kind::breaker_opened, "w", 0, ""}).level, LogLevel::warning);
  EXPECT_EQ(line_of({Kind::breaker_closed, "w", 0, ""}).level, LogLevel::info);
  EXPECT_EQ(line_of({Kind::agent_silent, "a", 0, ""}).level, LogLevel::warning);
  EXPECT_EQ(line_of({Kind::agent_passed_over, "a", 0, "it is ill"}).text, "agent 'a' is passed over: it is ill");
  EXPECT_EQ(line_of({Kind::dispatch_refused, "n", 0, "why"}).text, "node 'n' gives out no tasks: why");
  EXPECT_EQ(line_of({Kind::routing_timeout, "ocr", 0, "4 tasks wait"}).text, "for 'ocr': 4 tasks wait");
}

TEST(DispatchLog, keeps_what_happens_with_every_task_to_itself) {
  EXPECT_EQ(line_of({Kind::lease_expired, "a", 1, ""}).level, LogLevel::debug);
  EXPECT_EQ(line_of({Kind::agent_joined, "a", 0, ""}).level, LogLevel::debug);
}

TEST(DispatchLog, makes_events_of_agents_that_come_and_go) {
  using operations::Event;
  const auto joined = event_of({Kind::agent_joined, "a", 0, ""});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->kind, Event::Kind::agent_changed);
  EXPECT_EQ(joined->name, "a");
  EXPECT_EQ(joined->message, "joined");
  EXPECT_EQ(event_of({Kind::agent_silent, "a", 0, ""})->kind, Event::Kind::agent_changed);
  EXPECT_EQ(event_of({Kind::agent_left, "a", 0, ""})->kind, Event::Kind::agent_removed);
  EXPECT_EQ(event_of({Kind::agent_crashed, "a", 0, ""})->message, "crashed");
  EXPECT_FALSE(event_of({Kind::lease_expired, "a", 1, ""})) << "the ledger tells of tasks";
}

}  // namespace
}  // namespace skein::node
