#include "skein/dispatch/fallback.hpp"

#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using ledger::ErrorClass;
using ledger::RequeueReason;

constexpr ledger::Epoch k_epoch = 7;

// Tasks of the swarm 'own' may fall back to 'other'.
struct FallbackWorld : RuleWorld {
  FallbackWorld() {
    tables.swarms[own].fallback = "other";
    fallback.set_version(ledger::k_ledger_version);
  }
  SlotNumber own = swarm("own");
  Fallback fallback{tables.swarms, options};

  // With one attempt left.
  TaskRecord& last_attempt() {
    TaskRecord& record = tables.tasks[task(own)];
    record.attempts = record.attempts_max - 1;
    return record;
  }
  ledger::Op failed(const TaskRecord& record, ErrorClass error) const {
    return fallback.failed(record, k_epoch, {record.id, 3, 100, error, 200, "why"});
  }
  ledger::Op requeued(const TaskRecord& record, RequeueReason reason, const std::string* words = nullptr) const {
    return fallback.requeued(record, {k_epoch, record.id, 3, 100, reason, 200, false}, words);
  }
};

TEST(Fallback, moves_a_task_only_with_its_last_attempt) {
  FallbackWorld world;
  const TaskRecord& record = world.tables.tasks[world.task(world.own)];
  EXPECT_EQ(world.fallback.swarm_for(record), "");
  EXPECT_TRUE(std::holds_alternative<ledger::Fail>(world.failed(record, ErrorClass::transient)));
  const auto op = world.failed(world.last_attempt(), ErrorClass::resource);
  const auto* moved = std::get_if<ledger::FallBack>(&op);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved->to, "other");
  EXPECT_EQ(moved->epoch, k_epoch);
  EXPECT_EQ(moved->fence, 3U);
  EXPECT_EQ(moved->cause, ledger::FallbackCause::reported);
  EXPECT_EQ(moved->error, ErrorClass::resource);
  EXPECT_EQ(moved->retry_at, 200U);
  EXPECT_EQ(moved->message, "why");
}

TEST(Fallback, leaves_what_failed_for_good_where_it_is) {
  FallbackWorld world;
  EXPECT_TRUE(std::holds_alternative<ledger::Fail>(world.failed(world.last_attempt(), ErrorClass::permanent)));
}

TEST(Fallback, leaves_a_pinned_task_unless_any_agent_may_have_it) {
  FallbackWorld world;
  TaskRecord& record = world.last_attempt();
  ledger::Placement placement;
  placement.agent = "ada";
  auto extras = std::make_shared<ledger::Extras>();
  extras->placement = std::make_shared<const ledger::Placement>(placement);
  record.extras = extras;
  EXPECT_EQ(world.fallback.swarm_for(record), "");
  world.options.agent_fallback = "any";
  EXPECT_EQ(world.fallback.swarm_for(record), "other");
}

TEST(Fallback, tells_an_old_ledger_nothing_of_it) {
  FallbackWorld world;
  world.fallback.set_version(ledger::k_fallback_version - 1);
  EXPECT_TRUE(std::holds_alternative<ledger::Fail>(world.failed(world.last_attempt(), ErrorClass::transient)));
}

TEST(Fallback, follows_a_crash_and_never_a_return) {
  FallbackWorld world;
  const TaskRecord& record = world.last_attempt();
  for (const auto reason : {RequeueReason::returned, RequeueReason::preempted}) {
    EXPECT_TRUE(std::holds_alternative<ledger::Requeue>(world.requeued(record, reason)));
  }
  const auto op = world.requeued(record, RequeueReason::lease_expired);
  ASSERT_TRUE(std::holds_alternative<ledger::FallBack>(op));
  EXPECT_EQ(std::get<ledger::FallBack>(op).cause, ledger::FallbackCause::lease_expired);
  EXPECT_EQ(std::get<ledger::FallBack>(op).error, ErrorClass::crash);
}

TEST(Fallback, keeps_what_a_crashed_agent_last_said) {
  FallbackWorld world;
  const std::string words = "out of memory";
  const auto moved = world.requeued(world.last_attempt(), RequeueReason::agent_crash, &words);
  ASSERT_TRUE(std::holds_alternative<ledger::FallBack>(moved));
  EXPECT_EQ(std::get<ledger::FallBack>(moved).message, "the agent crashed: out of memory");
  const TaskRecord& first = world.tables.tasks[world.task(world.own)];
  const auto stays = world.requeued(first, RequeueReason::agent_crash, &words);
  ASSERT_TRUE(std::holds_alternative<ledger::Fail>(stays));
  EXPECT_EQ(std::get<ledger::Fail>(stays).message, "the agent crashed: out of memory");
  world.fallback.set_version(ledger::k_crash_words_version - 1);
  EXPECT_TRUE(std::holds_alternative<ledger::Requeue>(world.requeued(first, RequeueReason::agent_crash, &words)));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
