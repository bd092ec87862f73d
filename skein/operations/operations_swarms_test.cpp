#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/operations/json_forms.hpp"
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
  Awaited<SwarmView> swarm(const std::string& name) {
    return call<SwarmView>([&](auto reply) { ops_->swarm_status(name, std::move(reply)); });
  }
  std::string submit_to(const std::string& name) {
    SubmitRequest request;
    request.swarm = name;
    return submit(request).code();
  }
};

TEST_F(SwarmOperations, creates_and_lists_swarms) {
  EXPECT_EQ(create("blue", {{"weight", "3"}}), "ok");
  EXPECT_EQ(create("blue"), "swarm_exists");
  EXPECT_EQ(create(""), "invalid");
  EXPECT_EQ(create("a\tb"), "invalid");
  const auto all = call<std::vector<SwarmView>>([&](auto reply) { ops_->swarm_list(std::move(reply)); }).value();
  std::vector<std::string> names;
  for (const auto& each : all) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("blue", "default"));
  EXPECT_EQ(swarm("blue").value().field("weight"), "3");
  EXPECT_EQ(swarm("green").code(), "swarm_not_found");
}

TEST_F(SwarmOperations, refuses_fields_that_make_no_sense_also_without_an_executor) {
  EXPECT_EQ(create("huge", {{"agents_min", "1000000000"}}), "invalid");
  EXPECT_EQ(create("huge", {{"executor", ""}, {"prefetch", "many"}}), "invalid");
  EXPECT_EQ(swarm("huge").code(), "swarm_not_found");
  EXPECT_EQ(create(std::string(125, 'n'), {{"agents_min", "2"}}), "ok") << "its name is no part of an agent's";
}

TEST_F(SwarmOperations, creates_one_of_two_with_one_name_that_come_at_once) {
  Awaited<Nothing> first;
  Awaited<Nothing> second;
  ops_->swarm_create({"blue", {{"role", "worker"}}}, first.reply());
  ops_->swarm_create({"blue", {{"role", "specialist"}}}, second.reply());
  settle();
  EXPECT_EQ(first.code(), "ok");
  EXPECT_EQ(second.code(), "swarm_exists");
  EXPECT_EQ(swarm("blue").value().field("role"), "worker");
  EXPECT_EQ(named(&Operations::swarm_remove, "blue"), "ok");
  EXPECT_EQ(create("blue"), "ok") << "its name is free again";
}

TEST_F(SwarmOperations, shows_what_is_wrong_with_a_swarm_until_it_is_mended) {
  EXPECT_EQ(create("blue"), "ok");
  EXPECT_TRUE(swarm("blue").value().problems.empty());
  const auto events =
      std::move(*ops_->events().subscribe({{Event::Kind::swarm_problem, Event::Kind::swarm_mended}, {}}));
  ops_->set_swarm_problems("blue", {"one", "two"});
  EXPECT_THAT(swarm("blue").value().problems, ElementsAre("one", "two"));
  EXPECT_TRUE(swarm("default").value().problems.empty());
  ops_->set_swarm_problems("blue", {"two"});
  ops_->set_swarm_problems("blue", {"two"});
  EXPECT_THAT(swarm("blue").value().problems, ElementsAre("two"));
  ops_->set_swarm_problems("blue", {});
  EXPECT_TRUE(swarm("blue").value().problems.empty());
  std::vector<std::string> told;
  for (const auto& each : events->take().events) {
    told.push_back(std::string(name_of(each.kind)) + " " + each.name + " " + each.message);
  }
  EXPECT_THAT(told, ElementsAre("swarm_problem blue one", "swarm_problem blue two", "swarm_mended blue one",
                                "swarm_mended blue two"));
}

TEST_F(SwarmOperations, refuses_a_definition_that_makes_no_sense_and_says_what_would) {
  const auto error = [&](const std::string& name, const Fields& fields) {
    return call<Nothing>([&](auto reply) { ops_->swarm_create({name, fields}, std::move(reply)); }).error().describe();
  };
  EXPECT_THAT(error("bad name!", {}), HasSubstr("a name has letters, digits"));
  EXPECT_THAT(error("blue", {{"executor", "e"}, {"role", "boss"}}),
              HasSubstr("role is 'boss'; it must be worker, specialist or coordinator"));
  EXPECT_THAT(error("blue", {{"executor", "e"}, {"agents_min", "9"}, {"agents_max", "3"}}),
              HasSubstr("min is 9 and max is 3"));
  EXPECT_EQ(create("blue", {{"executor", "e"}}), "ok") << "whoever starts it knows no executors";
}

TEST_F(SwarmOperations, refuses_a_fallback_that_is_not_there_or_leads_back) {
  const auto advice = [&](const std::string& name, const std::string& fallback) {
    return call<Nothing>([&](auto reply) { ops_->swarm_create({name, {{"fallback", fallback}}}, std::move(reply)); })
        .error()
        .describe();
  };
  EXPECT_EQ(create("blue", {{"fallback", "default"}}), "ok");
  EXPECT_EQ(swarm("blue").value().field("fallback"), "default");
  EXPECT_THAT(advice("red", "red"), HasSubstr("a swarm cannot be its own fallback"));
  EXPECT_THAT(advice("red", "green"), HasSubstr("there is no swarm 'green'"));
  const auto override_default = [&](const std::string& fallback) {
    return call<Nothing>(
        [&](auto reply) { ops_->swarm_override({"default", {{"fallback", fallback}}}, std::move(reply)); });
  };
  EXPECT_THAT(override_default("blue").error().describe(), HasSubstr("'default' -> 'blue' -> 'default' is a circle"));
  EXPECT_EQ(create("green"), "ok");
  EXPECT_EQ(override_default("green").code(), "ok");
  EXPECT_EQ(override_default("").code(), "ok") << "none again";
}

TEST_F(SwarmOperations, tells_where_a_task_fell_back_from_and_to) {
  ASSERT_EQ(create("blue"), "ok");
  const auto events = std::move(*ops_->events().subscribe({{Event::Kind::task_fell_back}, {}}));
  SubmitRequest request;
  request.attempts = 1;
  request.type = "work";
  const auto id = submit(request).value().id;
  const auto epoch = world_.apply({ledger::TakeDispatch{"node", 1}, ledger::LedgerVersion{2}}).at(0).number;
  const auto fence = world_.apply_one(ledger::Assign{epoch, id, "agent", 2}).number;
  const ledger::FallBack fall_back{
      epoch, id, fence, 3, ledger::FallbackCause::reported, ledger::ErrorClass::transient, 0, "broken", "blue"};
  ASSERT_EQ(world_.apply_one(fall_back).number, 1U);
  const auto json = to_json(status(id).value(), Detail::whole);
  EXPECT_EQ(json.at("swarm"), "blue");
  EXPECT_EQ(json.at("handed_on_from"), "default");
  EXPECT_EQ(
      json.at("handed_on"),
      (json::array{
          {{"from", "default"}, {"to", "blue"}, {"attempts", 1}, {"at", 3}, {"time", "1970-01-01T00:00:00.003Z"}}}));
  const auto told = events->take().events;
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].task, id);
  EXPECT_EQ(told[0].name, "blue");
  EXPECT_EQ(told[0].message, "default");
  EXPECT_EQ(told[0].at, 3U);
  EXPECT_EQ(call<NodeStatus>([&](auto reply) { ops_->status(std::move(reply)); }).value().fell_back, 1U);
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

TEST_F(SwarmOperations, a_fallback_that_takes_no_tasks_is_a_problem) {
  ASSERT_EQ(create("spare"), "ok");
  ASSERT_EQ(create("blue", {{"fallback", "spare"}}), "ok");
  EXPECT_THAT(swarm("blue").value().problems, testing::IsEmpty());
  ASSERT_EQ(named(&Operations::swarm_drain, "spare"), "ok");
  EXPECT_THAT(
      swarm("blue").value().problems,
      ElementsAre("its fallback, swarm 'spare', is draining and takes no tasks: tasks that use up their attempts "
                  "fail here; name another one"));
  ASSERT_EQ(named(&Operations::swarm_remove, "spare"), "ok");
  EXPECT_THAT(swarm("blue").value().problems, ElementsAre(HasSubstr("'spare', does not exist")));
}

TEST_F(SwarmOperations, scales_by_overrides) {
  ASSERT_EQ(create("blue", {{"agents_min", "5"}, {"agents_max", "10"}}), "ok");
  const auto scaled = [&](std::optional<std::uint32_t> min, std::optional<std::uint32_t> max) {
    return call<ScaleAnswer>([&](auto reply) { ops_->swarm_scale({"blue", min, max}, std::move(reply)); });
  };
  const auto scale = [&](std::optional<std::uint32_t> min, std::optional<std::uint32_t> max) {
    return scaled(min, max).code();
  };
  EXPECT_EQ(scale(7, 70), "ok");
  EXPECT_EQ(swarm("blue").value().field(k_field_agents_max), "70");
  EXPECT_EQ(swarm("blue").value().definition.at("agents_max"), "10");
  EXPECT_EQ(scale(8, 7), "invalid");
  EXPECT_EQ(scale(0, 0), "invalid");
  EXPECT_EQ(scale(0, 100'001), "invalid");
  // Values that are not given keep what is in force.
  EXPECT_EQ(scale(9, std::nullopt), "ok");
  EXPECT_EQ(scaled(std::nullopt, 11).value().agents_min, 9U);
  EXPECT_EQ(swarm("blue").value().field(k_field_agents_min), "9");
  EXPECT_EQ(swarm("blue").value().field(k_field_agents_max), "11");
  EXPECT_THAT(scaled(std::nullopt, 3).error().describe(), HasSubstr("9 to 3 agents cannot be"));
  EXPECT_EQ(scale(std::nullopt, std::nullopt), "invalid");
}

// A swarm that says nothing of its size has the defaults, 5 to 100.
TEST_F(SwarmOperations, scales_one_bound_of_a_swarm_that_has_none) {
  ASSERT_EQ(create("blue"), "ok");
  const auto scaled =
      call<ScaleAnswer>([&](auto reply) { ops_->swarm_scale({"blue", std::nullopt, 7}, std::move(reply)); }).value();
  EXPECT_EQ(scaled.agents_min, 5U);
  EXPECT_EQ(scaled.agents_max, 7U);
  // The default gives way to what was chosen.
  const auto few =
      call<ScaleAnswer>([&](auto reply) { ops_->swarm_scale({"blue", std::nullopt, 3}, std::move(reply)); }).value();
  EXPECT_EQ(few.agents_min, 3U);
  EXPECT_EQ(few.agents_max, 3U);
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
  const auto answer = ask<std::vector<SwarmView>>([&](auto reply) { ops_->swarm_list(std::move(reply)); });
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->size(), 1U);
  const auto late = ask<Nothing>([&](Reply<Nothing> reply) { jobs_.post([held = std::move(reply)] {}); },
                                 std::chrono::milliseconds(1));
  EXPECT_THAT(late.error().describe(), HasSubstr("may have been carried out"));
}

}  // namespace
}  // namespace skein::inline v0::operations
