#include "skein/dispatch/order_mail.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct MailWorld : RuleWorld {
  SlotNumber own = swarm("own");
  SlotNumber ada = agent("ada");
  OrderMail mail{tables};

  SlotNumber held() { return run(task(own), ada); }
  Run& the(SlotNumber index) { return tables.runs[index]; }
  std::vector<std::pair<Pid, Orders>> take() {
    std::vector<std::pair<Pid, Orders>> out;
    mail.take(out, at(1));
    return out;
  }
};

TEST(OrderMail, sends_an_agent_one_numbered_message_per_step) {
  MailWorld world;
  world.mail.to(world.ada).announce = true;
  world.mail.stop(world.the(world.held()), StopReason::cancelled);
  const auto first = world.take();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].second.sequence, 1U);
  EXPECT_TRUE(first[0].second.announce);
  EXPECT_THAT(first[0].second.stop, SizeIs(1));
  EXPECT_THAT(world.take(), IsEmpty());
  world.mail.to(world.ada).full = true;
  EXPECT_EQ(world.take().at(0).second.sequence, 2U);
}

TEST(OrderMail, tells_a_run_once_to_stop) {
  MailWorld world;
  auto& run = world.the(world.held());
  world.mail.ask_to_yield(run);
  world.mail.stop(run, StopReason::timed_out);
  world.mail.stop(run, StopReason::cancelled);
  const auto sent = world.take();
  ASSERT_THAT(sent, SizeIs(1));
  ASSERT_THAT(sent[0].second.stop, SizeIs(2));
  EXPECT_EQ(sent[0].second.stop[0].why, StopReason::yield);
  EXPECT_EQ(sent[0].second.stop[1].why, StopReason::timed_out) << "more can follow, and that once";
}

TEST(OrderMail, asks_no_run_to_yield_that_was_told_to_stop) {
  MailWorld world;
  auto& run = world.the(world.held());
  world.mail.stop(run, StopReason::cancelled);
  EXPECT_DEATH(world.mail.ask_to_yield(run), "order_mail.hpp 2");
}

TEST(OrderMail, sends_nothing_to_who_has_no_process) {
  MailWorld world;
  world.mail.to(world.ada).announce = true;
  AgentRecord& record = world.tables.agents[world.ada];
  record.become(AgentPresence::away);
  record.pid = Pid();
  EXPECT_THAT(world.take(), IsEmpty());
  world.mail.stop(world.the(world.held()), StopReason::cancelled);
  EXPECT_THAT(world.take(), IsEmpty());
}

TEST(OrderMail, asks_for_the_return_of_what_is_not_begun_and_notes_when) {
  MailWorld world;
  const SlotNumber held = world.held();
  world.mail.ask_to_return(std::vector{held}, world.at(7));
  EXPECT_EQ(world.the(held).return_asked_at, world.at(7));
  EXPECT_EQ(world.take().at(0).second.stop.at(0).why, StopReason::return_unbegun);
}

TEST(OrderMail, makes_an_order_of_what_the_task_has_and_knows_it_while_it_waits) {
  MailWorld world;
  const SlotNumber index = world.held();
  TaskRecord& task = world.tables.tasks[world.the(index).task];
  task.attempts = 2;
  task.its_past().mark = std::make_shared<const std::string>("half");
  const Order order = order_for(world.the(index), task, std::chrono::seconds(9));
  EXPECT_EQ(order.attempt, 3U);
  EXPECT_EQ(ledger::view_of(order.mark), "half");
  EXPECT_EQ(order.timeout, std::chrono::seconds(9));
  EXPECT_FALSE(OrderMail::has_order(world.tables.agents[world.ada], order.ref));
  world.mail.to(world.ada).run.push_back(order);
  EXPECT_TRUE(OrderMail::has_order(world.tables.agents[world.ada], order.ref));
  world.take();
  EXPECT_FALSE(OrderMail::has_order(world.tables.agents[world.ada], order.ref)) << "it was sent";
}

}  // namespace
}  // namespace skein::inline v0::dispatch
