// Waits that the node's end cuts short, and why tasks wait, over a ledger on virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/operations/json_forms.hpp"
#include "skein/operations/test_operations.hpp"

namespace skein::operations {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// One agent, 'ada' of swarm 'default', that can do 'echo' alone.
struct OneAgent final : AgentKnowledge {
  [[nodiscard]] bool is_known(const std::string&) const override { return true; }
  [[nodiscard]] std::string suggestion(const std::string&) const override { return ""; }
  [[nodiscard]] bool may_unpin(std::string_view, const ledger::Placement&) const override { return true; }
  [[nodiscard]] std::string why_it_waits(const ledger::Task&) const override { return ""; }
  [[nodiscard]] std::optional<AbleAgents> able_agents(const ledger::Shape& shape, bool,
                                                      const PausedNames& paused) const override {
    if (shape.type == "echo" && paused.has_agent("ada")) return AbleAgents{0, 0, 1, {}, {"ada"}, 1};
    if (shape.type == "echo") return AbleAgents{1, 0, 1, {}};
    return AbleAgents{0, 0, 1, {"words"}};
  }
  [[nodiscard]] bool is_likely_able(std::string_view, std::span<const std::string> required,
                                    const PausedNames& paused) const override {
    return required.front() == "echo" && !paused.has_agent("ada");
  }
};

class Waits : public OperationsTest {
 protected:
  Waits() { start(); }
  Awaited<WaitAnswer> wait(TaskId id, std::chrono::milliseconds timeout) {
    return call<WaitAnswer>([&](auto reply) { ops_->task_wait({id, timeout, nullptr}, {}, std::move(reply)); });
  }
};

TEST_F(Waits, are_answered_when_the_node_stops_and_say_to_ask_again) {
  const auto task = submitted();
  const auto first = wait(task, 50s);
  const auto second = wait(task, 50s);
  ASSERT_FALSE(first.here());
  EXPECT_EQ(ops_->end_waits(), 2U);
  EXPECT_FALSE(first.value().finished);
  EXPECT_TRUE(first.value().is_stopping);
  EXPECT_EQ(second.value().status.task.id, task);
  const auto shown = to_json(first.value()).as_object();
  EXPECT_EQ(shown.at("finished"), false);
  EXPECT_EQ(shown.at("next"), "the node is stopping, ask again");
}

TEST_F(Waits, that_begin_afterwards_are_answered_at_once) {
  const auto task = submitted();
  const auto done = submitted();
  world_.complete(done, "1");
  EXPECT_EQ(ops_->end_waits(), 0U);
  EXPECT_TRUE(wait(task, 50s).value().is_stopping);
  EXPECT_TRUE(wait(done, 50s).value().finished) << "what has ended is told as ever";
}

TEST_F(Waits, of_an_engine_that_stops_are_answered_too) {
  const auto waiting = wait(submitted(), 50s);
  ops_->stop();
  EXPECT_TRUE(waiting.value().is_stopping);
}

TEST_F(Waits, a_submit_that_nobody_can_do_says_so_at_once) {
  ops_->know_agents(std::make_shared<OneAgent>());
  SubmitRequest request;
  request.type = "words";
  const auto made = submit(request).value();
  ASSERT_TRUE(made.waits);
  EXPECT_EQ(made.waits->cause, WaitCause::no_able_agent);
  EXPECT_THAT(made.waits->text, HasSubstr("no agent of this node can do 'words'"));
  EXPECT_EQ(to_json(made).as_object().at("waits").as_string(), made.waits->text);
  request.type = "echo";
  EXPECT_FALSE(submit(request).value().waits);
}

TEST_F(Waits, a_submit_whose_agents_or_swarm_are_paused_says_so_at_once) {
  ops_->know_agents(std::make_shared<OneAgent>());
  SubmitRequest request;
  request.type = "echo";
  const auto set_paused = [&](bool is_paused) {
    const auto is_gone = [](const std::string&) { return false; };
    call<Operations::Nothing>([&](auto reply) { ops_->agent_set_paused("ada", is_paused, is_gone, std::move(reply)); });
  };
  set_paused(true);
  const auto made = submit(request).value();
  ASSERT_TRUE(made.waits);
  EXPECT_EQ(made.waits->text, "agent 'ada' can do it and is paused: 'skein agent resume ada'");
  EXPECT_EQ(status(made.id).value().waits_for, WaitCause::agents_paused);
  set_paused(false);
  EXPECT_FALSE(submit(request).value().waits);
  call<Operations::Nothing>([&](auto reply) { ops_->swarm_pause("default", std::move(reply)); });
  const auto later = submit(request).value();
  ASSERT_TRUE(later.waits);
  EXPECT_EQ(later.waits->cause, WaitCause::swarm_paused);
  call<Operations::Nothing>([&](auto reply) { ops_->swarm_resume("default", std::move(reply)); });
  EXPECT_FALSE(submit(request).value().waits);
}

TEST_F(Waits, a_status_names_the_tasks_that_one_is_blocked_on) {
  const auto before = submitted();
  SubmitRequest request;
  request.dependencies = {before};
  const auto blocked = submit(request).value().id;
  EXPECT_EQ(status(blocked).value().waits, "1 task must be completed first: " + before.text() + " (queued)");
  EXPECT_EQ(status(blocked).value().waits_for, WaitCause::dependencies);
}

TEST_F(Waits, a_status_names_a_paused_swarm_and_a_delay) {
  SubmitRequest request;
  request.delay = 10s;
  const auto delayed = submit(request).value().id;
  EXPECT_EQ(status(delayed).value().waits_for, WaitCause::not_before);
  call<Operations::Nothing>([&](auto reply) { ops_->swarm_pause("default", std::move(reply)); });
  EXPECT_EQ(status(delayed).value().waits, "swarm 'default' is paused: 'skein swarm resume default'");
}

TEST_F(Waits, a_task_shows_its_timeout_and_its_deadline) {
  SubmitRequest request;
  request.timeout = 3s;
  request.deadline = 60s;
  const auto shown = to_json(status(submit(request).value().id).value(), Detail::whole);
  EXPECT_EQ(shown.at("timeout_ms"), 3'000);
  EXPECT_EQ(shown.at("deadline_at"), jobs_.wall_now() + 60'000);
}

TEST_F(Waits, tasks_are_found_by_the_beginning_of_their_ids) {
  start_archiver();
  const auto finished = submitted();
  world_.complete(finished, "1");
  archive_all();
  advance(5s);
  const auto open = submitted();
  const auto found = [&](const std::string& prefix) {
    ListRequest request;
    request.id_prefix = prefix;
    std::vector<TaskId> ids;
    const auto page = call<ListAnswer>([&](auto reply) { ops_->task_list(request, std::move(reply)); }).value();
    for (const TaskStatus& each : page.tasks) ids.push_back(each.task.id);
    return ids;
  };
  EXPECT_EQ(found(open.text().substr(0, 20)), std::vector{open});
  EXPECT_EQ(found(finished.text().substr(0, 20)), std::vector{finished}) << "in the archive";
  EXPECT_EQ(found(open.text().substr(0, 2)).size(), 2U);
  ListRequest wrong;
  wrong.id_prefix = "bogus";
  EXPECT_EQ(call<ListAnswer>([&](auto reply) { ops_->task_list(wrong, std::move(reply)); }).code(), "invalid");
}

TEST_F(Waits, every_event_has_a_time) {
  submitted();
  Event told;
  told.kind = Event::Kind::swarm_problem;
  ops_->events().publish(told);
  call<Operations::Nothing>([&](auto reply) { ops_->swarm_pause("default", std::move(reply)); });
  const auto events = ops_->events().last(100);
  ASSERT_GE(events.size(), 3U);
  for (const Event& each : events) EXPECT_NE(each.at, 0U) << name_of(each.kind);
}

}  // namespace
}  // namespace skein::operations
