#include "skein/agent/agent_core.hpp"

#include <gtest/gtest.h>

#include <string>

#include "skein/base/utf8.hpp"

namespace skein::agent {
namespace {

using namespace std::chrono_literals;
using dispatch::Order;
using dispatch::Orders;
using dispatch::StopReason;
using dispatch::TaskRef;

class Core : public testing::Test {
 protected:
  Core() { core_.set_ready(true); }

  static Order order(std::uint64_t n) {
    Order order;
    order.ref = {n, n + 1000};
    order.id = {7, n};
    order.shape = std::make_shared<const ledger::Shape>(ledger::Shape{"default", "echo", {}});
    return order;
  }
  static TaskRef ref(std::uint64_t n) { return {n, n + 1000}; }
  void give(std::initializer_list<std::uint64_t> tasks) {
    Orders orders;
    for (const auto n : tasks) orders.run.push_back(order(n));
    core_.take(orders, now_);
  }
  void stop(std::uint64_t n, StopReason why) {
    Orders orders;
    orders.stop.push_back({ref(n), why});
    core_.take(orders, now_);
  }
  void settle(std::uint64_t n) {
    Orders orders;
    orders.settled.push_back(ref(n));
    core_.take(orders, now_);
  }
  AgentState state() {
    AgentState state;
    core_.describe(state, now_);
    return state;
  }
  AgentStatus status() { return state().status; }

  AgentLimits limits_;
  AgentCore core_{limits_};
  Instant now_{1s};
};

TEST_F(Core, returns_what_is_asked_for_unless_it_has_begun) {
  give({1, 2, 3});
  ASSERT_NE(core_.begin(now_), nullptr);
  for (const std::uint64_t n : {1U, 2U}) stop(n, StopReason::return_unbegun);
  EXPECT_FALSE(core_.take_stop()) << "what runs is not touched";
  EXPECT_EQ(core_.take_report().returned, std::vector<TaskRef>{ref(2)});
  ASSERT_TRUE(core_.complete(ref(1), nullptr, now_));
  stop(1, StopReason::return_unbegun);
  EXPECT_EQ(core_.held(), (std::vector<TaskRef>{ref(1), ref(3)})) << "an outcome is kept until it is settled";
  EXPECT_EQ(core_.begin(now_)->ref, ref(3));
}

TEST_F(Core, goes_from_idle_over_assigned_executing_and_done_back_to_idle) {
  EXPECT_EQ(status(), AgentStatus::idle);
  give({1});
  EXPECT_EQ(status(), AgentStatus::assigned);
  ASSERT_NE(core_.begin(now_), nullptr);
  EXPECT_EQ(status(), AgentStatus::executing);
  EXPECT_EQ(state().executing_task, (ledger::TaskId{7, 1}));
  EXPECT_TRUE(core_.complete(ref(1), nullptr, now_ + 3ms));
  EXPECT_EQ(status(), AgentStatus::done);
  settle(1);
  EXPECT_EQ(status(), AgentStatus::idle);
  EXPECT_EQ(core_.stats().busy, 3ms);
}

TEST_F(Core, says_again_that_a_task_has_begun_only_if_its_executor_said_so) {
  give({1});
  ASSERT_NE(core_.begin(now_), nullptr);
  for (std::uint32_t i = 0; i < 2 * limits_.beats_until_again; ++i) core_.beat(now_);
  EXPECT_TRUE(core_.take_report().started.empty()) << "it still waits for its OS process";
  EXPECT_TRUE(core_.started(ref(1)));
  EXPECT_EQ(core_.take_report().started.size(), 1U);
  for (std::uint32_t i = 0; i < limits_.beats_until_again; ++i) core_.beat(now_);
  EXPECT_EQ(core_.take_report().started.size(), 1U);
}

TEST_F(Core, tells_why_it_falls_of_the_task_at_work_alone) {
  core_.falls("nothing runs");
  EXPECT_FALSE(core_.has_report());
  give({1, 2});
  ASSERT_NE(core_.begin(now_), nullptr);
  core_.falls("gone");
  const auto report = core_.take_report();
  ASSERT_EQ(report.last_words.size(), 1U);
  EXPECT_EQ(report.last_words[0].ref, ref(1));
  EXPECT_EQ(report.last_words[0].text, "gone");
}

TEST_F(Core, runs_one_task_at_a_time_in_the_order_they_came) {
  give({2, 1});
  EXPECT_EQ(core_.begin(now_)->ref, ref(2));
  EXPECT_EQ(core_.begin(now_), nullptr) << "two at once";
  EXPECT_EQ(state().queue_length, 1U);
  core_.complete(ref(2), nullptr, now_);
  EXPECT_EQ(core_.begin(now_)->ref, ref(1));
}

TEST_F(Core, begins_nothing_while_paused_or_not_ready) {
  give({1});
  core_.set_ready(false);
  EXPECT_EQ(core_.begin(now_), nullptr);
  core_.set_ready(true);
  core_.set_paused(true);
  EXPECT_EQ(core_.begin(now_), nullptr);
  EXPECT_EQ(status(), AgentStatus::paused);
  core_.set_paused(false);
  EXPECT_NE(core_.begin(now_), nullptr);
}

TEST_F(Core, passes_over_an_order_it_holds_already) {
  give({1});
  give({1});
  EXPECT_EQ(state().queue_length, 1U);
}

TEST_F(Core, keeps_an_outcome_until_it_is_settled_and_says_it_again_after_some_heartbeats) {
  give({1});
  core_.begin(now_);
  core_.complete(ref(1), ledger::body_of("42"), now_);
  EXPECT_EQ(core_.take_report().complete.size(), 1U);
  for (std::uint32_t i = 1; i < limits_.beats_until_again; ++i) {
    core_.beat(now_);
    EXPECT_FALSE(core_.has_report());
  }
  core_.beat(now_);
  const auto again = core_.take_report();
  ASSERT_EQ(again.complete.size(), 1U);
  EXPECT_EQ(ledger::view_of(again.complete[0].result), "42");
  EXPECT_EQ(core_.held().size(), 1U);
  settle(1);
  EXPECT_TRUE(core_.held().empty());
}

TEST_F(Core, settling_what_has_not_ended_changes_nothing) {
  give({1});
  settle(1);
  EXPECT_EQ(state().queue_length, 1U);
  core_.begin(now_);
  settle(1);
  EXPECT_EQ(core_.held().size(), 1U);
  EXPECT_TRUE(core_.complete(ref(1), nullptr, now_));
}

TEST_F(Core, a_waiting_task_that_is_stopped_is_returned_at_once_and_never_begun) {
  give({1, 2});
  stop(1, StopReason::cancelled);
  EXPECT_EQ(core_.take_report().returned, std::vector{ref(1)});
  EXPECT_FALSE(core_.take_stop());
  EXPECT_EQ(core_.begin(now_)->ref, ref(2));
}

TEST_F(Core, a_task_ordered_and_stopped_in_one_message_is_returned_and_never_begun) {
  Orders orders;
  orders.run.push_back(order(1));
  orders.stop.push_back({ref(1), StopReason::yield});
  core_.take(orders, now_);
  EXPECT_EQ(core_.take_report().returned, std::vector{ref(1)});
  EXPECT_EQ(core_.begin(now_), nullptr);
  EXPECT_TRUE(core_.held().empty());
}

TEST_F(Core, an_outcome_settled_by_orders_that_still_name_its_task_is_not_run_again) {
  give({1});
  core_.begin(now_);
  EXPECT_TRUE(core_.complete(ref(1), nullptr, now_));
  Orders orders;
  orders.full = true;
  orders.run.push_back(order(1));
  orders.settled.push_back(ref(1));
  core_.take(orders, now_);
  EXPECT_EQ(core_.begin(now_), nullptr);
  EXPECT_TRUE(core_.held().empty());
}

TEST_F(Core, a_running_task_that_is_stopped_keeps_its_place_until_the_executor_answers) {
  give({1, 2});
  core_.begin(now_);
  stop(1, StopReason::timed_out);
  const auto wanted = core_.take_stop();
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->ref, ref(1));
  EXPECT_FALSE(core_.take_stop()) << "asked twice";
  EXPECT_EQ(core_.begin(now_), nullptr);
  EXPECT_FALSE(core_.has_report());
  EXPECT_TRUE(core_.returned(ref(1), now_));
  EXPECT_EQ(core_.take_report().returned, std::vector{ref(1)});
  EXPECT_EQ(core_.begin(now_)->ref, ref(2));
}

TEST_F(Core, a_task_that_timed_out_counts_as_failed_here) {
  give({1});
  core_.begin(now_);
  stop(1, StopReason::timed_out);
  now_ += 2s;
  EXPECT_TRUE(core_.returned(ref(1), now_));
  EXPECT_EQ(core_.take_report().returned, std::vector{ref(1)});
  EXPECT_EQ(state().stats.tasks_failed, 1U);
  EXPECT_EQ(state().stats.tasks_returned, 0U);
  EXPECT_EQ(state().stats.busy, Duration(2s));
  ASSERT_EQ(core_.past().size(), 1U);
  EXPECT_EQ(core_.past().front().end, TaskEnd::failed);
}

TEST_F(Core, is_stuck_when_what_it_was_told_to_stop_does_not_stop) {
  give({1});
  core_.begin(now_);
  stop(1, StopReason::cancelled);
  now_ += limits_.stuck_after - 1ms;
  EXPECT_EQ(status(), AgentStatus::executing);
  now_ += 1ms;
  EXPECT_EQ(status(), AgentStatus::stuck);
}

TEST_F(Core, a_task_that_was_asked_to_yield_may_still_be_told_to_stop) {
  give({1});
  core_.begin(now_);
  stop(1, StopReason::yield);
  EXPECT_EQ(core_.take_stop()->why, StopReason::yield);
  stop(1, StopReason::cancelled);
  const auto wanted = core_.take_stop();
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->why, StopReason::cancelled);
}

TEST_F(Core, hands_back_what_it_is_told_to_stop_and_does_not_hold) {
  stop(9, StopReason::stale);
  EXPECT_EQ(core_.take_report().returned, std::vector{ref(9)});
}

TEST_F(Core, full_orders_stop_all_that_they_do_not_name) {
  give({1, 2, 3});
  core_.begin(now_);
  Orders orders;
  orders.full = true;
  orders.run.push_back(order(3));
  core_.take(orders, now_);
  EXPECT_EQ(core_.take_report().returned, std::vector{ref(2)});
  EXPECT_EQ(core_.take_stop()->ref, ref(1));
  EXPECT_EQ(core_.held(), (std::vector{ref(1), ref(3)}));
}

TEST_F(Core, cancelling_here_ends_the_attempt_for_good_or_says_that_nothing_runs) {
  EXPECT_EQ(core_.cancel_executing(now_), CancelAnswer::no_task_executing);
  give({1});
  EXPECT_EQ(core_.cancel_executing(now_), CancelAnswer::no_task_executing);
  core_.begin(now_);
  EXPECT_EQ(core_.cancel_executing(now_), CancelAnswer::asked_to_stop);
  EXPECT_TRUE(core_.take_stop());
  core_.returned(ref(1), now_);
  const auto report = core_.take_report();
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].error, ledger::ErrorClass::permanent);
  EXPECT_TRUE(report.returned.empty());
}

TEST_F(Core, progress_is_thinned_out_and_the_newest_goes_with_the_next_heartbeat) {
  give({1});
  core_.begin(now_);
  for (int i = 0; i < 10; ++i) core_.progress(ref(1), ledger::body_of(std::to_string(i)), now_);
  auto report = core_.take_report();
  ASSERT_EQ(report.progress.size(), 1U);
  EXPECT_EQ(ledger::view_of(report.progress[0].mark), "0");
  core_.beat(now_ + 1s);
  report = core_.take_report();
  ASSERT_EQ(report.progress.size(), 1U);
  EXPECT_EQ(ledger::view_of(report.progress[0].mark), "9");
  core_.progress(ref(1), ledger::body_of(std::string(limits_.mark_bytes + 1, 'x')), now_ + 5s);
  EXPECT_FALSE(core_.has_report());
}

TEST_F(Core, a_result_that_is_too_long_fails_its_task_for_good) {
  give({1});
  core_.begin(now_);
  core_.complete(ref(1), ledger::body_of(std::string(limits_.result_bytes + 1, 'x')), now_);
  const auto report = core_.take_report();
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].error, ledger::ErrorClass::permanent);
  EXPECT_TRUE(report.complete.empty());
}

TEST_F(Core, a_failures_message_is_cut_between_characters_and_harms_no_terminal) {
  give({1});
  core_.begin(now_);
  std::string message = "\x1b[2J\xff";
  while (message.size() <= dispatch::k_message_bytes_max) message += "\xc3\xa9";
  core_.failed(ref(1), {ledger::ErrorClass::permanent, message, {}}, now_);
  const auto report = core_.take_report();
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_TRUE(report.failed[0].message.starts_with("?[2J?\xc3\xa9"));
  EXPECT_TRUE(is_utf8(report.failed[0].message));
  EXPECT_GE(report.failed[0].message.size(), dispatch::k_message_bytes_max - 1);
  EXPECT_LE(report.failed[0].message.size(), dispatch::k_message_bytes_max);
}

TEST_F(Core, answers_for_what_does_not_run_change_nothing) {
  give({1, 2});
  core_.begin(now_);
  EXPECT_FALSE(core_.complete(ref(2), nullptr, now_));
  EXPECT_FALSE(core_.failed({1, 5}, {}, now_));
  EXPECT_FALSE(core_.returned(ref(7), now_));
  EXPECT_FALSE(core_.has_report());
}

TEST_F(Core, at_the_end_what_waits_is_left_over_and_what_runs_only_when_it_ends_gracefully) {
  give({1, 2, 3});
  core_.begin(now_);
  EXPECT_EQ(core_.left_over(false), (std::vector{ref(2), ref(3)}));
  EXPECT_EQ(core_.left_over(true), (std::vector{ref(1), ref(2), ref(3)}));
}

TEST_F(Core, remembers_the_last_hundred_tasks_the_newest_first) {
  for (std::uint64_t n = 1; n <= 250; ++n) {
    give({n});
    core_.begin(now_);
    if (n % 2 == 0) {
      core_.complete(ref(n), nullptr, now_);
    } else {
      core_.failed(ref(n), {}, now_);
    }
    settle(n);
    const auto past = core_.past();
    ASSERT_EQ(past.size(), std::min<std::size_t>(n, k_past_tasks));
    ASSERT_EQ(past.front().id.low, n);
    ASSERT_EQ(past.back().id.low, n + 1 - past.size());
    ASSERT_EQ(past.front().end, n % 2 == 0 ? TaskEnd::completed : TaskEnd::failed);
  }
}

}  // namespace
}  // namespace skein::agent
