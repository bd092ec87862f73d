#include "skein/swarm/coordinator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/agent/function_executor.hpp"
#include "skein/agent/test_world.hpp"
#include "skein/registry/registry.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::swarm {
namespace {

using agent::TestWorld;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Journal, ledger, dispatcher, registry, a pool for agents and one for coordinators, on virtual time.
struct SwarmWorld : TestWorld {
  std::shared_ptr<RegistryTable> registry;
  std::shared_ptr<CoordinatorSetup> setup = std::make_shared<CoordinatorSetup>();
  Pid coordinators;

  explicit SwarmWorld(std::uint64_t seed = 1) : TestWorld(seed), registry(std::make_shared<RegistryTable>(runtime)) {
    using namespace trees;
    runtime.spawn<Registry>(registry);
    start_dispatcher();
    setup->registry = registry;
    auto function = std::make_shared<const agent::TaskFunction>(&agent::built_in);
    setup->make_agent = [table = registry, function](const AgentSeed& seed_of) {
      if (seed_of.executor != "function") throw std::runtime_error("there is no executor '" + seed_of.executor + "'");
      auto made = std::make_unique<agent::AgentSetup>();
      made->name = seed_of.name;
      made->swarm = seed_of.swarm;
      made->role = seed_of.role;
      made->capabilities = seed_of.capabilities.empty() ? agent::built_in_types() : seed_of.capabilities;
      made->prefetch = seed_of.prefetch;
      made->executor_name = seed_of.executor;
      made->executor = std::make_unique<agent::FunctionExecutor>(function);
      made->registry = table;
      return made;
    };
    const SupervisorSpec agents = pool("agent_pool", {10, seconds(60)},
                                       pool_child<agent::Agent, agent::AgentMaker>("agent").with(Restart::temporary));
    EXPECT_TRUE(start_supervisor(runtime, agents, k_agent_pool_name));
    const std::shared_ptr<const CoordinatorSetup> common = setup;
    const SupervisorSpec swarms =
        pool("swarms", {5, seconds(60)},
             pool_child<Coordinator, std::string>("swarm", common).with(Restart::transient).as_isolated());
    coordinators = start_supervisor(runtime, swarms)->pid;
  }

  Pid begin(const std::string& name, ledger::Fields fields) {
    put(name, std::move(fields));
    return start(name);
  }
  void put(const std::string& name, ledger::Fields fields) {
    append(ledger::SwarmPut{name, ledger::Origin::api, std::move(fields)});
    runtime.run_for(milliseconds(10));
  }
  Pid start(const std::string& name) {
    const auto started = start_pool_child(runtime, coordinators, pool_arguments(name));
    EXPECT_TRUE(started) << started.error().text();
    runtime.run_for(milliseconds(300));
    return started ? started->pid : Pid{};
  }
  void submit_to(const std::string& name, std::uint64_t n, std::string type = "echo", std::string_view params = "x") {
    auto op = submit(n, std::move(type), params);
    op.spec.swarm = name;
    append(op);
  }
  std::vector<std::string> agents_of(const std::string& name) {
    return *registry->query_agents({dispatch::swarm_capability(name)});
  }
  SwarmStatus status_of_swarm(const std::string& name) {
    const Pid pid = runtime.whereis(coordinator_name(name));
    auto status = runtime.call<Coordinator>(pid, GetSwarmState{});
    EXPECT_TRUE(status);
    return status.value_or(SwarmStatus{});
  }
};

// One whose program is not there.
class BrokenExecutor final : public agent::Executor {
 public:
  void start(agent::ExecutorHost& host) override { host.broken("no such program"); }
  void run(const dispatch::Order&) override {}
  void stop(dispatch::TaskRef, dispatch::StopReason) override {}
  [[nodiscard]] std::string describe() const override { return "broken"; }
};

const ledger::Fields k_three{{"executor", "function"}, {"agents_min", "3"}, {"agents_max", "6"}};

TEST(Coordinator, starts_the_minimum_of_agents_and_they_run_the_swarms_tasks) {
  SwarmWorld world;
  world.begin("s", k_three);
  EXPECT_THAT(world.agents_of("s"), UnorderedElementsAre("s-1", "s-2", "s-3"));
  world.submit_to("s", 1);
  world.runtime.run_for(milliseconds(100));
  EXPECT_EQ(world.state(1), ledger::State::completed);
  EXPECT_EQ(world.status_of_swarm("s").status, "active");
}

TEST(Coordinator, grows_with_the_work_and_shrinks_when_it_is_done) {
  SwarmWorld world;
  world.begin("s", k_three);
  for (std::uint64_t n = 1; n <= 40; ++n) world.submit_to("s", n, "sleep", "1000");
  world.runtime.run_for(seconds(1));
  EXPECT_EQ(world.agents_of("s").size(), 6U);
  world.runtime.run_for(seconds(15));
  for (std::uint64_t n = 1; n <= 40; ++n) EXPECT_EQ(world.state(n), ledger::State::completed) << n;
  EXPECT_EQ(world.agents_of("s").size(), 6U) << "idle for a moment only";
  world.runtime.run_for(seconds(40));
  EXPECT_EQ(world.agents_of("s").size(), 3U);
}

TEST(Coordinator, what_waits_behind_a_long_task_goes_to_an_agent_that_became_idle) {
  SwarmWorld world;
  world.begin("s", {{"executor", "function"}, {"agents_min", "2"}, {"agents_max", "2"}});
  world.submit_to("s", 1, "sleep", "4500");
  world.submit_to("s", 2, "sleep", "500");
  world.runtime.run_for(milliseconds(50));
  world.submit_to("s", 3, "sleep", "500");
  world.runtime.run_for(milliseconds(50));
  EXPECT_EQ(world.state(3), ledger::State::assigned) << "ahead at the agent with the long one";
  world.runtime.run_for(milliseconds(3900));
  EXPECT_EQ(world.state(1), ledger::State::executing);
  EXPECT_EQ(world.state(3), ledger::State::completed);
  EXPECT_EQ(world.view(3).task.attempts, 0U);
}

TEST(Coordinator, a_paused_swarm_begins_nothing_that_was_handed_out_ahead) {
  SwarmWorld world;
  world.begin("s", {{"executor", "function"}, {"agents_min", "1"}, {"agents_max", "1"}});
  world.submit_to("s", 1, "sleep", "1000");
  world.submit_to("s", 2, "sleep", "1000");
  world.runtime.run_for(milliseconds(300));
  EXPECT_EQ(world.state(2), ledger::State::assigned);
  world.append(ledger::SwarmSetState{"s", ledger::SwarmState::paused});
  world.runtime.run_for(seconds(5));
  EXPECT_EQ(world.state(1), ledger::State::completed) << "what runs ends";
  EXPECT_EQ(world.state(2), ledger::State::queued);
  world.append(ledger::SwarmSetState{"s", ledger::SwarmState::active});
  world.runtime.run_for(seconds(2));
  EXPECT_EQ(world.state(2), ledger::State::completed);
  EXPECT_EQ(world.view(2).task.attempts, 0U);
}

TEST(Coordinator, grows_although_its_agents_hold_all_tasks_ahead) {
  SwarmWorld world;
  world.begin("s", {{"executor", "function"}, {"agents_min", "1"}, {"agents_max", "4"}, {"prefetch", "10"}});
  for (std::uint64_t n = 1; n <= 4; ++n) world.submit_to("s", n, "sleep", "4000");
  world.runtime.run_for(seconds(1));
  EXPECT_EQ(world.agents_of("s").size(), 4U);
  world.runtime.run_for(seconds(7));
  for (std::uint64_t n = 1; n <= 4; ++n) EXPECT_EQ(world.state(n), ledger::State::completed) << n;
}

TEST(Coordinator, does_not_grow_for_tasks_that_none_of_its_agents_can_do) {
  SwarmWorld world;
  world.begin("s", k_three);
  for (std::uint64_t n = 1; n <= 40; ++n) world.submit_to("s", n, "paint", "1000");
  world.runtime.run_for(seconds(5));
  EXPECT_EQ(world.agents_of("s").size(), 3U);
}

TEST(Coordinator, lets_be_whom_others_have_started_whatever_they_are_called) {
  SwarmWorld world;
  world.setup->is_reserved = [](const std::string& id) { return id == "s-2"; };
  const AgentSeed seed{"s-1", "s", "function", dispatch::Role::worker, {}, 1};
  const auto theirs =
      start_pool_child(world.runtime, world.runtime.whereis(k_agent_pool_name),
                       pool_arguments(agent::AgentMaker([&] { return world.setup->make_agent(seed); })));
  ASSERT_TRUE(theirs);
  world.begin("s", {{"executor", "function"}, {"agents_min", "1"}, {"agents_max", "1"}});
  EXPECT_THAT(world.agents_of("s"), UnorderedElementsAre("s-1", "s-3"));
  world.runtime.exit(world.runtime.whereis(coordinator_name("s")), ExitReason::kill());
  world.runtime.run_for(seconds(40));
  EXPECT_THAT(world.agents_of("s"), UnorderedElementsAre("s-1", "s-3")) << "the new one knows its own as well";
  EXPECT_EQ(world.status_of_swarm("s").agents, 1U);
  world.append(ledger::SwarmSetState{"s", ledger::SwarmState::stopped});
  world.runtime.run_for(seconds(2));
  EXPECT_THAT(world.agents_of("s"), ElementsAre("s-1"));
}

TEST(Coordinator, replaces_an_agent_that_was_killed_and_its_task_finishes) {
  SwarmWorld world;
  world.begin("s", {{"executor", "function"}, {"agents_min", "1"}, {"agents_max", "1"}});
  world.submit_to("s", 1, "sleep", "2000");
  world.runtime.run_for(milliseconds(1500));
  world.runtime.exit(*world.registry->find_agent("s-1"), ExitReason::kill());
  world.runtime.run_for(milliseconds(5));
  EXPECT_THAT(world.agents_of("s"), ElementsAre("s-2"));
  world.runtime.run_for(seconds(3));
  EXPECT_EQ(world.state(1), ledger::State::completed);
}

TEST(Coordinator, a_new_one_finds_the_agents_of_the_one_before_and_what_they_run) {
  SwarmWorld world;
  const Pid first = world.begin("s", k_three);
  for (std::uint64_t n = 1; n <= 3; ++n) world.submit_to("s", n, "sleep", "2000");
  world.runtime.run_for(milliseconds(500));
  const auto before = world.agents_of("s");
  world.runtime.exit(first, ExitReason::kill());
  world.runtime.run_for(seconds(1));
  EXPECT_NE(world.runtime.whereis(coordinator_name("s")), first);
  EXPECT_TRUE(world.runtime.whereis(coordinator_name("s"))) << "a transient child that was killed is restarted";
  EXPECT_EQ(world.agents_of("s"), before);
  EXPECT_EQ(world.status_of_swarm("s").running, 3U);
  EXPECT_EQ(world.status_of_swarm("s").agents, 3U);
  world.runtime.run_for(seconds(3));
  for (std::uint64_t n = 1; n <= 3; ++n) {
    EXPECT_EQ(world.state(n), ledger::State::completed);
    EXPECT_EQ(world.view(n).task.deliveries, 1U) << "nothing ran twice";
  }
}

TEST(Coordinator, follows_a_changed_definition) {
  SwarmWorld world;
  world.begin("s", k_three);
  world.append(ledger::SwarmOverride{"s", {{"agents_min", "5"}}});
  world.runtime.run_for(seconds(1));
  EXPECT_EQ(world.agents_of("s").size(), 5U);
  world.append(ledger::SwarmOverride{"s", {{"agents_min", "many"}}});
  world.runtime.run_for(seconds(1));
  EXPECT_EQ(world.agents_of("s").size(), 5U) << "the last good definition stays in force";
  EXPECT_THAT(world.status_of_swarm("s").problems, ElementsAre(HasSubstr("min is 'many'")));
}

TEST(Coordinator, a_new_one_replaces_agents_of_a_definition_that_changed_before_it_came) {
  SwarmWorld world;
  const Pid first = world.begin("s", k_three);
  ASSERT_THAT(world.agents_of("s"), UnorderedElementsAre("s-1", "s-2", "s-3"));
  world.append(ledger::SwarmOverride{"s", {{"prefetch", "7"}}});
  world.runtime.run_for(milliseconds(20));
  ASSERT_EQ(world.agents_of("s").size(), 3U) << "the first has not looked since";
  world.runtime.exit(first, ExitReason::kill());
  world.runtime.run_for(seconds(3));
  EXPECT_THAT(world.agents_of("s"), UnorderedElementsAre("s-4", "s-5", "s-6"));
}

TEST(Coordinator, says_why_agents_cannot_be_started_and_goes_on_trying) {
  SwarmWorld world;
  world.begin("s", {{"executor", "nonesuch"}, {"agents_min", "1"}});
  EXPECT_THAT(world.status_of_swarm("s").problems, Contains(HasSubstr("there is no executor 'nonesuch'")));
  world.append(ledger::SwarmOverride{"s", {{"executor", "function"}}});
  world.runtime.run_for(seconds(31));
  EXPECT_EQ(world.agents_of("s").size(), 1U);
  EXPECT_THAT(world.status_of_swarm("s").problems, ::testing::IsEmpty());
}

// What a coordinator tells of problems: "+" what came up, "-" what is mended.
std::shared_ptr<std::vector<std::string>> told_of(SwarmWorld& world) {
  auto told = std::make_shared<std::vector<std::string>>();
  using Problems = CoordinatorSetup::Problems;
  world.setup->on_problems = [told](const std::string&, const Problems& now, const Problems& before) {
    for (const auto& each : now) {
      if (std::ranges::find(before, each) == before.end()) told->push_back("+" + each);
    }
    for (const auto& each : before) {
      if (std::ranges::find(now, each) == now.end()) told->push_back("-" + each);
    }
  };
  return told;
}

TEST(Coordinator, problems_stay_while_starts_are_held_back_and_vanish_when_mended) {
  SwarmWorld world;
  const auto told = told_of(world);
  world.begin("s", {{"executor", "nonesuch"}, {"agents_min", "1"}});
  for (int look = 0; look < 50; ++look) {
    world.runtime.run_for(milliseconds(200));
    ASSERT_THAT(world.status_of_swarm("s").problems, ElementsAre(HasSubstr("there is no executor"))) << look;
  }
  world.append(ledger::SwarmOverride{"s", {{"executor", "function"}}});
  world.runtime.run_for(seconds(31));
  EXPECT_THAT(*told, ElementsAre(HasSubstr("+an agent could not be started"), HasSubstr("-an agent could not be")));
}

// As when a node stops: the agents go first, and their pool with them.
TEST(Coordinator, finds_nothing_wrong_with_its_swarm_when_the_pool_of_agents_is_gone) {
  SwarmWorld world;
  const auto told = told_of(world);
  world.begin("s", k_three);
  world.runtime.run_for(seconds(2));
  world.runtime.exit(world.runtime.whereis(k_agent_pool_name), ExitReason::kill());
  world.runtime.run_for(seconds(5));
  EXPECT_TRUE(world.agents_of("s").empty());
  EXPECT_THAT(*told, ::testing::IsEmpty());
}

TEST(Coordinator, tells_of_agents_that_die_at_once) {
  SwarmWorld world;
  const auto told = told_of(world);
  world.setup->make_agent = [make = world.setup->make_agent](const AgentSeed& seed) {
    auto made = make(seed);
    if (seed.role == dispatch::Role::specialist) made->executor = std::make_unique<BrokenExecutor>();
    return made;
  };
  world.begin("s", {{"executor", "function"}, {"agents_min", "1"}, {"role", "specialist"}});
  world.runtime.run_for(seconds(5));
  EXPECT_THAT(world.status_of_swarm("s").problems, ElementsAre(HasSubstr("executor 'function', agent 's-1': no such")));
  world.append(ledger::SwarmOverride{"s", {{"role", "worker"}}});
  world.runtime.run_for(seconds(40));
  EXPECT_THAT(world.status_of_swarm("s").problems, ::testing::IsEmpty());
  EXPECT_THAT(told->back(), ::testing::StartsWith("-"));
  EXPECT_LE(told->size(), 4U) << ::testing::PrintToString(*told);
}

// A command whose program is missing until somebody puts it there: nothing is started before there is a task.
class LateExecutor final : public agent::Executor {
 public:
  explicit LateExecutor(std::shared_ptr<const bool> is_there) : is_there_(std::move(is_there)) {}
  void start(agent::ExecutorHost& host) override { (host_ = &host)->ready(); }
  void run(const dispatch::Order& order) override {
    if (!*is_there_) return host_->cannot_start(order.ref, "no such file");
    host_->started(order.ref);
    host_->complete(order.ref, ledger::body_of("1"));
  }
  void stop(dispatch::TaskRef, dispatch::StopReason) override {}
  [[nodiscard]] std::string describe() const override { return "late"; }

 private:
  std::shared_ptr<const bool> is_there_;
  agent::ExecutorHost* host_ = nullptr;
};

TEST(Coordinator, a_program_that_cannot_be_started_is_its_swarms_problem_and_costs_no_attempt) {
  SwarmWorld world;
  const auto told = told_of(world);
  const auto is_there = std::make_shared<bool>(false);
  world.setup->make_agent = [make = world.setup->make_agent, is_there](const AgentSeed& seed) {
    auto made = make(seed);
    made->executor = std::make_unique<LateExecutor>(is_there);
    return made;
  };
  world.begin("s", {{"executor", "function"}, {"agents_min", "2"}, {"agents_max", "2"}});
  for (std::uint64_t n = 1; n <= 5; ++n) world.submit_to("s", n);
  world.runtime.run_for(seconds(300));
  EXPECT_THAT(world.status_of_swarm("s").problems,
              ElementsAre(::testing::ContainsRegex("executor 'function', agent 's-[12]': no such file")));
  EXPECT_EQ(told->size(), 1U) << "said once: " << ::testing::PrintToString(*told);
  for (std::uint64_t n = 1; n <= 5; ++n) {
    EXPECT_EQ(world.state(n), ledger::State::queued) << n;
    EXPECT_LE(world.view(n).task.deliveries, 40U) << "tried again ever more seldom";
  }
  *is_there = true;
  world.runtime.run_for(seconds(40));
  for (std::uint64_t n = 1; n <= 5; ++n) {
    EXPECT_EQ(world.state(n), ledger::State::completed) << n;
  }
  EXPECT_THAT(world.status_of_swarm("s").problems, ::testing::IsEmpty());
}

// Its program starts and says nothing; after ten seconds it is given up.
class SilentExecutor final : public agent::Executor {
 public:
  void start(agent::ExecutorHost& host) override { host_ = &host; }
  void beat() override {
    if (++beats_ == 10) host_->broken("it has not said hello in time");
  }
  void run(const dispatch::Order&) override {}
  void stop(dispatch::TaskRef, dispatch::StopReason) override {}
  [[nodiscard]] std::string describe() const override { return "silent"; }

 private:
  agent::ExecutorHost* host_ = nullptr;
  int beats_ = 0;
};

TEST(Coordinator, programs_that_never_say_hello_are_its_swarms_problem_and_are_started_ever_more_slowly) {
  SwarmWorld world;
  const auto told = told_of(world);
  int made_ever = 0;
  world.setup->make_agent = [make = world.setup->make_agent, &made_ever](const AgentSeed& seed) {
    auto made = make(seed);
    ++made_ever;
    if (seed.role == dispatch::Role::specialist) made->executor = std::make_unique<SilentExecutor>();
    return made;
  };
  world.begin("s", {{"executor", "function"}, {"agents_min", "1"}, {"role", "specialist"}});
  world.runtime.run_for(seconds(12));
  EXPECT_THAT(world.status_of_swarm("s").problems,
              ElementsAre(HasSubstr("executor 'function', agent 's-1': it has not said hello in time")));
  world.runtime.run_for(seconds(600));
  EXPECT_LE(made_ever, 40) << "every ten seconds it would be sixty";
  EXPECT_EQ(world.status_of_swarm("s").problems.size(), 1U);
  world.append(ledger::SwarmOverride{"s", {{"role", "worker"}}});
  world.runtime.run_for(seconds(40));
  EXPECT_THAT(world.status_of_swarm("s").problems, ::testing::IsEmpty());
  EXPECT_EQ(told->size(), 2U) << ::testing::PrintToString(*told);
}

TEST(Coordinator, tells_of_tasks_that_none_of_its_agents_can_do) {
  SwarmWorld world;
  const auto told = told_of(world);
  world.begin("s", k_three);
  world.submit_to("s", 1, "paint");
  world.runtime.run_for(seconds(1));
  EXPECT_THAT(world.status_of_swarm("s").problems, ElementsAre(HasSubstr("tasks wait that need paint, and none")));
  world.append(ledger::Cancel{world.view(1).task.id, world.wall(), "nobody can"});
  world.runtime.run_for(seconds(1));
  EXPECT_THAT(world.status_of_swarm("s").problems, ::testing::IsEmpty());
  EXPECT_EQ(told->size(), 2U);
}

TEST(Coordinator, pausing_keeps_the_agents_and_stopping_ends_them_and_it) {
  SwarmWorld world;
  const Pid pid = world.begin("s", k_three);
  world.append(ledger::SwarmSetState{"s", ledger::SwarmState::paused});
  world.submit_to("s", 1);
  world.runtime.run_for(seconds(1));
  EXPECT_EQ(world.status_of_swarm("s").status, "paused");
  EXPECT_EQ(world.agents_of("s").size(), 3U);
  EXPECT_EQ(world.state(1), ledger::State::queued);
  world.append(ledger::SwarmSetState{"s", ledger::SwarmState::active});
  world.runtime.run_for(seconds(1));
  EXPECT_EQ(world.state(1), ledger::State::completed);
  world.append(ledger::SwarmSetState{"s", ledger::SwarmState::stopped});
  world.runtime.run_for(seconds(2));
  EXPECT_TRUE(world.agents_of("s").empty());
  EXPECT_FALSE(world.runtime.is_alive(pid));
  EXPECT_FALSE(world.runtime.whereis(coordinator_name("s"))) << "it ended normally and is not restarted";
}

// One that has not wound down before it may.
class SlowToEnd final : public agent::Executor {
 public:
  explicit SlowToEnd(std::shared_ptr<const bool> may_end) : may_end_(std::move(may_end)) {}
  void start(agent::ExecutorHost& host) override { host.ready(); }
  void run(const dispatch::Order&) override {}
  void stop(dispatch::TaskRef, dispatch::StopReason) override {}
  [[nodiscard]] Duration wind_down() override { return *may_end_ ? Duration(0) : milliseconds(1); }
  [[nodiscard]] std::string describe() const override { return "slow to end"; }

 private:
  std::shared_ptr<const bool> may_end_;
};

TEST(Coordinator, a_swarm_that_is_resumed_as_its_last_agent_ends_has_agents_again) {
  for (int moment_ms = 0; moment_ms < 500; moment_ms += 90) {  // of the time between two looks
    SwarmWorld world;
    const auto may_end = std::make_shared<bool>(false);
    world.setup->make_agent = [make = world.setup->make_agent, may_end](const AgentSeed& seed) {
      auto made = make(seed);
      made->executor = std::make_unique<SlowToEnd>(may_end);
      return made;
    };
    const Pid pid = world.begin("s", k_three);
    world.append(ledger::SwarmSetState{"s", ledger::SwarmState::stopped});
    world.runtime.run_for(seconds(2) + milliseconds(moment_ms));
    ASSERT_EQ(world.agents_of("s").size(), 3U);
    world.append(ledger::SwarmSetState{"s", ledger::SwarmState::active});
    *may_end = true;
    world.runtime.run_for(seconds(2));
    EXPECT_TRUE(world.runtime.is_alive(pid)) << "nobody starts another at " << moment_ms;
    EXPECT_EQ(world.agents_of("s").size(), 3U) << moment_ms;
  }
}

TEST(Coordinator, draining_finishes_what_there_is_and_then_ends_the_agents) {
  SwarmWorld world;
  world.begin("s", k_three);
  for (std::uint64_t n = 1; n <= 9; ++n) world.submit_to("s", n, "sleep", "500");
  world.append(ledger::SwarmSetState{"s", ledger::SwarmState::draining});
  world.runtime.run_for(seconds(5));
  for (std::uint64_t n = 1; n <= 9; ++n) EXPECT_EQ(world.state(n), ledger::State::completed);
  EXPECT_TRUE(world.agents_of("s").empty());
  EXPECT_EQ(world.status_of_swarm("s").status, "draining");
}

TEST(Coordinator, ends_when_its_swarm_is_removed) {
  SwarmWorld world;
  const Pid pid = world.begin("s", k_three);
  world.append(ledger::SwarmRemove{"s"});
  world.runtime.run_for(seconds(3));
  EXPECT_FALSE(world.runtime.is_alive(pid));
  EXPECT_TRUE(world.agents_of("s").empty());
}

TEST(Coordinator, there_is_one_per_swarm) {
  SwarmWorld world;
  world.begin("s", k_three);
  EXPECT_FALSE(start_pool_child(world.runtime, world.coordinators, pool_arguments(std::string("s"))));
}

TEST(Coordinator, survives_a_dispatcher_that_dies) {
  SwarmWorld world;
  world.begin("s", k_three);
  for (std::uint64_t n = 1; n <= 3; ++n) world.submit_to("s", n, "sleep", "3000");
  world.runtime.run_for(milliseconds(500));
  world.runtime.exit(world.dispatcher, ExitReason::kill());
  world.runtime.run_for(milliseconds(700));
  world.start_dispatcher();
  world.runtime.run_for(seconds(5));
  EXPECT_EQ(world.agents_of("s").size(), 3U);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    EXPECT_EQ(world.state(n), ledger::State::completed);
    EXPECT_EQ(world.view(n).task.deliveries, 1U) << "agents kept what they ran";
  }
}

// Crashes of everything at random: all tasks end, and the swarm comes back to its size.
TEST(Coordinator, whatever_is_killed_all_tasks_end) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SwarmWorld world(seed);
    Random random(seed);
    world.begin("s", k_three);
    world.append(ledger::SwarmOverride{"s", {{"breaker_crashes", "1000"}}});
    for (std::uint64_t n = 1; n <= 30; ++n) {
      auto op = world.submit(n, "sleep", "200");
      op.spec.swarm = "s";
      op.spec.attempts_max = 100;
      world.append(op);
    }
    for (int kill = 0; kill < 12; ++kill) {
      world.runtime.run_for(milliseconds(random.below(300)));
      const auto names = world.agents_of("s");
      const Pid coordinator = world.runtime.whereis(coordinator_name("s"));
      switch (random.below(4)) {
        case 0:
          if (coordinator) world.runtime.exit(coordinator, ExitReason::kill());
          break;
        case 1:
          world.runtime.exit(world.dispatcher, ExitReason::kill());
          world.runtime.run_for(milliseconds(random.below(100)));
          world.start_dispatcher();
          break;
        default:
          if (!names.empty()) {
            world.runtime.exit(world.registry->find_agent(names[random.below(names.size())]).value_or(Pid{}),
                               ExitReason::kill());
          }
      }
    }
    world.runtime.run_for(seconds(60));
    for (std::uint64_t n = 1; n <= 30; ++n) {
      ASSERT_EQ(world.state(n), ledger::State::completed) << "seed " << seed << ", task " << n;
    }
    world.runtime.run_for(seconds(60));
    ASSERT_EQ(world.agents_of("s").size(), 3U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skein::inline v0::swarm
