// The agent's process with the real dispatcher, ledger and registry, on virtual time.
#include "skein/agent/agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/agent/test_world.hpp"
#include "skein/registry/registry.hpp"

namespace skein::agent {
namespace {

using namespace std::chrono_literals;
using ledger::State;
using testing::ElementsAre;
using testing::HasSubstr;

class AgentProcess : public testing::Test {
 protected:
  AgentProcess() : table_(std::make_shared<RegistryTable>(world_.runtime)) {
    world_.runtime.spawn<Registry>(table_);
    world_.start_dispatcher();
    world_.runtime.run_for(10ms);
  }

  std::unique_ptr<AgentSetup> setup(const std::string& id, std::vector<std::string> capabilities = built_in_types()) {
    auto options = std::make_unique<FunctionAgentOptions>();
    options->name = id;
    options->capabilities = std::move(capabilities);
    options->function = built_in;
    options->registry = table_;
    return agent_setup(std::move(options));
  }
  Pid start(const std::string& id) {
    const Pid pid = world_.runtime.spawn<Agent>(setup(id));
    world_.runtime.run_for(10ms);
    return pid;
  }
  AgentState state(Pid pid) { return *world_.runtime.call<Agent>(pid, GetAgentState{}); }

  TestWorld world_;
  std::shared_ptr<RegistryTable> table_;
};

TEST_F(AgentProcess, registers_with_its_capabilities_load_and_heartbeat) {
  const Pid pid = start("a");
  EXPECT_EQ(table_->find_agent("a").value(), pid);
  EXPECT_EQ(table_->query_agents({"echo", "sleep"}).value(), std::vector<std::string>{"a"});
  world_.append(world_.submit(1, "sleep", "5000"));
  world_.append(world_.submit(2, "sleep", "5000"));
  world_.runtime.run_for(1500ms);
  EXPECT_EQ(table_->get_load("a").value(), 2U);
  EXPECT_TRUE(table_->get_last_heartbeat("a"));
  world_.runtime.run_for(20s);
  EXPECT_EQ(table_->get_load("a").value(), 0U);
}

TEST_F(AgentProcess, has_the_capabilities_of_its_role_when_none_are_given) {
  auto made = setup("s", {});
  made->role = dispatch::Role::specialist;
  const Pid pid = world_.runtime.spawn<Agent>(std::move(made));
  world_.runtime.run_for(10ms);
  EXPECT_THAT(state(pid).capabilities, ElementsAre("analyze", "optimize", "refactor"));
  EXPECT_EQ(table_->query_agents({"analyze"}).value(), std::vector<std::string>{"s"});
}

TEST_F(AgentProcess, a_name_that_is_taken_fails_the_start) {
  start("a");
  const auto second = world_.runtime.start<Agent>({}, setup("a"));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().reason.text(), HasSubstr("agent 'a'"));
}

TEST_F(AgentProcess, tells_its_state_and_figures_and_its_last_tasks) {
  const Pid pid = start("a");
  EXPECT_EQ(world_.runtime.call<Agent>(pid, GetAgentMetrics{})->success_rate, std::nullopt);
  world_.append(world_.submit(1));
  auto bad = world_.submit(2, "fail", "no");
  bad.spec.attempts_max = 1;
  world_.append(bad);
  world_.append(world_.submit(3, "sleep", "2000"));
  world_.runtime.run_for(1s);
  const AgentState now = state(pid);
  EXPECT_EQ(now.name, "a");
  EXPECT_EQ(now.status, AgentStatus::executing);
  EXPECT_EQ(now.executing_task, id_of(3));
  EXPECT_TRUE(now.is_connected);
  const auto figures = *world_.runtime.call<Agent>(pid, GetAgentMetrics{});
  EXPECT_EQ(figures.tasks_completed, 1U);
  EXPECT_EQ(figures.tasks_failed, 1U);
  EXPECT_EQ(figures.success_rate, 0.5);
  EXPECT_EQ(world_.runtime.call<Agent>(pid, GetAgentTasks{})->size(), 2U);
}

TEST_F(AgentProcess, cancelling_ends_what_it_executes_or_says_that_there_is_nothing) {
  const Pid pid = start("a");
  EXPECT_EQ(*world_.runtime.call<Agent>(pid, CancelExecuting{}), CancelAnswer::no_task_executing);
  world_.append(world_.submit(1, "sleep", "4000"));
  world_.runtime.run_for(100ms);
  EXPECT_EQ(*world_.runtime.call<Agent>(pid, CancelExecuting{}), CancelAnswer::asked_to_stop);
  world_.runtime.run_for(100ms);
  EXPECT_EQ(world_.state(1), State::failed);
}

TEST_F(AgentProcess, a_paused_agent_hands_back_what_has_not_begun_and_gets_nothing_until_it_is_resumed) {
  const Pid pid = start("a");
  world_.append(world_.submit(1, "sleep", "300"));
  world_.append(world_.submit(2));
  world_.runtime.run_for(50ms);
  world_.runtime.send(pid, dispatch::PauseAgent{});
  world_.runtime.run_for(1s);
  EXPECT_EQ(world_.state(1), State::completed) << "what runs goes on";
  EXPECT_EQ(world_.state(2), State::queued);
  EXPECT_EQ(state(pid).status, AgentStatus::paused);
  world_.runtime.exit(world_.dispatcher, ExitReason::kill());
  world_.runtime.run_for(50ms);
  world_.start_dispatcher();
  world_.runtime.run_for(2s);
  EXPECT_EQ(world_.state(2), State::queued) << "a new dispatcher does not know that it is paused";
  world_.runtime.send(pid, dispatch::ResumeAgent{});
  world_.runtime.run_for(1s);
  EXPECT_EQ(world_.state(2), State::completed);
}

TEST_F(AgentProcess, takes_new_settings_or_says_what_is_wrong_with_them) {
  const Pid pid = start("a");
  const auto update = [&](ledger::Fields fields) {
    return world_.runtime.call<Agent>(pid, UpdateAgent{std::move(fields)})->problem;
  };
  EXPECT_THAT(update({{"prefetch", "101"}}), HasSubstr("from 0 to 100"));
  EXPECT_THAT(update({{"prefech", "1"}}), HasSubstr("no setting 'prefech'"));
  EXPECT_EQ(update({{"prefetch", "0"}, {"capabilities", "echo, dance"}}), "");
  EXPECT_EQ(state(pid).prefetch, 0U);
  EXPECT_EQ(table_->query_agents({"dance"}).value(), std::vector<std::string>{"a"});
  world_.append(world_.submit(1, "dance"));
  world_.append(world_.submit(2, "sleep", "1"));
  world_.runtime.run_for(500ms);
  EXPECT_NE(world_.state(1), State::queued);
  EXPECT_EQ(world_.state(2), State::queued) << "it cannot sleep any more";
}

TEST_F(AgentProcess, one_that_goes_down_gracefully_returns_what_it_runs_without_cost) {
  const Pid pid = start("a");
  world_.append(world_.submit(1, "sleep", "800"));
  world_.runtime.run_for(50ms);
  ASSERT_EQ(world_.state(1), State::executing);
  world_.runtime.exit(pid, ExitReason::shutdown());
  world_.runtime.run_for(50ms);
  EXPECT_EQ(table_->agent_count(), 0U);
  start("b");
  world_.runtime.run_for(2s);
  EXPECT_EQ(world_.state(1), State::completed);
  EXPECT_EQ(world_.view(1).finished->task.attempts, 0U) << "it cost an attempt";
}

// An executor that breaks with its first task.
class Broken final : public Executor {
 public:
  void start(ExecutorHost& host) override { (host_ = &host)->ready({"echo"}); }
  void run(const dispatch::Order&) override { host_->broken("no more"); }
  void stop(dispatch::TaskRef, dispatch::StopReason) override {}
  [[nodiscard]] std::string describe() const override { return "broken"; }

 private:
  ExecutorHost* host_ = nullptr;
};

TEST_F(AgentProcess, one_whose_executor_breaks_crashes_and_its_task_goes_to_another_at_once) {
  auto made = setup("a", {});
  made->executor = std::make_unique<Broken>();
  const Pid pid = world_.runtime.spawn<Agent>(std::move(made));
  world_.runtime.run_for(10ms);
  EXPECT_EQ(table_->query_agents({"echo"}).value(), std::vector<std::string>{"a"}) << "what the executor found out";
  world_.append(world_.submit(1));
  const auto reason = world_.runtime.wait_for_end(pid, 1s);
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->term(), "no more");
  start("b");
  world_.runtime.run_for(5ms);
  EXPECT_EQ(world_.state(1), State::completed);
  EXPECT_EQ(world_.view(1).finished->task.attempts, 1U);
}

}  // namespace
}  // namespace skein::agent
