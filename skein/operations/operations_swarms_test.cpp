#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/operations/test_operations.hpp"

namespace skein::inline v0::operations {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Nothing = Operations::Nothing;

class SwarmOperations : public OperationsTest {
 protected:
  SwarmOperations() { start(); }

  std::string create(const std::string& name, const Fields& fields = {}) {
    return call<Nothing>([&](auto reply) { ops_->swarm_create({name, fields}, std::move(reply)); }).code();
  }
  std::string named(void (Operations::*operation)(std::string, Reply<Nothing>), const std::string& name) {
    return call<Nothing>([&](auto reply) { (*ops_.*operation)(name, std::move(reply)); }).code();
  }
  Answer<ledger::Swarm> swarm(const std::string& name) {
    return call<ledger::Swarm>([&](auto reply) { ops_->swarm_status(name, std::move(reply)); });
  }
  std::string submit_to(const std::string& name) {
    SubmitRequest request;
    request.swarm = name;
    return submit(request).code();
  }
};

TEST_F(SwarmOperations, creates_and_lists_swarms) {
  EXPECT_EQ(create("blue", {{"topology", "ring"}}), "ok");
  EXPECT_EQ(create("blue"), "swarm_exists");
  EXPECT_EQ(create(""), "invalid");
  EXPECT_EQ(create("a\tb"), "invalid");
  const auto all = call<std::vector<ledger::Swarm>>([&](auto reply) { ops_->swarm_list(std::move(reply)); }).value();
  std::vector<std::string> names;
  for (const auto& each : all) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("blue", "default"));
  EXPECT_EQ(swarm("blue").value().field("topology"), "ring");
  EXPECT_EQ(swarm("green").code(), "swarm_not_found");
}

TEST_F(SwarmOperations, pauses_drains_stops_and_resumes) {
  ASSERT_EQ(create("blue"), "ok");
  EXPECT_EQ(named(&Operations::swarm_pause, "blue"), "ok");
  EXPECT_EQ(swarm("blue").value().state, ledger::SwarmState::paused);
  EXPECT_EQ(submit_to("blue"), "ok") << "a paused swarm takes tasks and gives none out";
  EXPECT_EQ(named(&Operations::swarm_drain, "blue"), "ok");
  EXPECT_EQ(submit_to("blue"), "swarm_closed");
  EXPECT_EQ(named(&Operations::swarm_stop, "blue"), "ok");
  EXPECT_EQ(swarm("blue").value().state, ledger::SwarmState::stopped);
  EXPECT_EQ(named(&Operations::swarm_resume, "blue"), "ok");
  EXPECT_EQ(submit_to("blue"), "ok");
  EXPECT_EQ(named(&Operations::swarm_pause, "green"), "swarm_not_found");
}

TEST_F(SwarmOperations, scales_by_overrides) {
  ASSERT_EQ(create("blue", {{"agents_min", "5"}, {"agents_max", "10"}}), "ok");
  const auto scale = [&](std::uint32_t min, std::uint32_t max) {
    return call<Nothing>([&](auto reply) { ops_->swarm_scale({"blue", min, max}, std::move(reply)); }).code();
  };
  EXPECT_EQ(scale(7, 70), "ok");
  EXPECT_EQ(swarm("blue").value().field(k_field_agents_max), "70");
  EXPECT_EQ(swarm("blue").value().definition.at("agents_max"), "10");
  EXPECT_EQ(scale(8, 7), "invalid");
  EXPECT_EQ(scale(0, 0), "invalid");
}

TEST_F(SwarmOperations, removes_a_swarm_only_when_nothing_is_open_in_it) {
  ASSERT_EQ(create("blue"), "ok");
  SubmitRequest request;
  request.swarm = "blue";
  const auto task = submit(request).value().id;
  EXPECT_EQ(named(&Operations::swarm_remove, "blue"), "swarm_busy");
  world_.complete(task);
  EXPECT_EQ(named(&Operations::swarm_remove, "blue"), "ok");
  EXPECT_EQ(named(&Operations::swarm_remove, "blue"), "swarm_not_found");
  EXPECT_EQ(named(&Operations::swarm_remove, "default"), "swarm_busy");
}

TEST_F(SwarmOperations, lists_agents_of_the_config_and_those_that_run) {
  struct Directory final : AgentDirectory {
    std::vector<LiveAgent> agents() const override { return {{"worker-1", "idle", "default", {"echo"}, {}}}; }
  } directory;
  stop();
  start({}, &directory);
  ASSERT_FALSE(world_.apply_one(ledger::AgentPut{"named", {{"executor", "command"}}}).refused());
  const auto all = call<AgentsAnswer>([&](auto reply) { ops_->agent_list(std::move(reply)); }).value();
  ASSERT_EQ(all.named.size(), 1U);
  EXPECT_EQ(all.named[0].name, "named");
  ASSERT_EQ(all.live.size(), 1U);
  EXPECT_EQ(all.live[0].name, "worker-1");
  stop();
}

TEST_F(SwarmOperations, sets_limits_that_make_sense) {
  const auto set = [&](const ledger::Limits& limits) {
    return call<Nothing>([&](auto reply) { ops_->set_limits(limits, std::move(reply)); }).code();
  };
  ledger::Limits limits;
  limits.swarm_tasks = 1;
  EXPECT_EQ(set(limits), "ok");
  submitted();
  EXPECT_EQ(submit({}).code(), "queue_full");
  limits.swarm_tasks = 0;
  EXPECT_EQ(set(limits), "invalid");
  limits.swarm_tasks = 10;
  limits.params_bytes = 1ULL << 30U;
  EXPECT_EQ(set(limits), "invalid");
}

TEST_F(SwarmOperations, reports_what_it_measured) {
  const auto a = submitted();
  const auto b = submitted();
  submitted();
  world_.complete(a);
  world_.fail(b, "broken");
  EXPECT_EQ(submit_to("nowhere"), "swarm_not_found");
  EXPECT_EQ(status(TestWorld::id(99)).code(), "task_not_found");
  const auto node = call<NodeStatus>([&](auto reply) { ops_->status(std::move(reply)); }).value();
  EXPECT_EQ(node.submitted, 3U);
  EXPECT_EQ(node.completed, 1U);
  EXPECT_EQ(node.failed, 1U);
  EXPECT_EQ(node.cancelled, 0U);
  EXPECT_EQ(node.ledger.open_tasks, 1U);
  EXPECT_EQ(node.submits.ops, 4U);
  EXPECT_EQ(node.archived, 0U);
  EXPECT_EQ(node.limits.swarm_tasks, 10'000U);
  EXPECT_THAT(node.errors, ElementsAre(std::pair(Code::task_not_found, 1U), std::pair(Code::swarm_not_found, 1U)));
}

TEST_F(SwarmOperations, can_be_asked_by_threads_that_wait) {
  const auto answer = ask<std::vector<ledger::Swarm>>([&](auto reply) { ops_->swarm_list(std::move(reply)); });
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->size(), 1U);
  const auto late = ask<Nothing>([&](Reply<Nothing> reply) { jobs_.post([held = std::move(reply)] {}); },
                                 std::chrono::milliseconds(1));
  EXPECT_THAT(late.error().describe(), HasSubstr("may have been done"));
}

}  // namespace
}  // namespace skein::inline v0::operations
