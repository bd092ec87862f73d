#include "skein/operations/why_waits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/swarm_load.hpp"

namespace skein::operations {
namespace {

using ledger::State;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr ledger::WallMs k_now = 1'794'975'600'000;  // 2026-11-18T04:20:00Z

class WhyWaits : public testing::Test {
 protected:
  WhyWaits() {
    task_.state = State::queued;
    task_.attempts_max = 4;
    task_.shape = std::make_shared<const ledger::Shape>(ledger::Shape{"default", "words", {}});
    swarm_.name = "default";
    swarm_.definition[std::string(dispatch::k_field_executor)] = "function";
    facts_.agents = AbleAgents{2, 0, 2, {}};
  }
  std::string why(WaitCause cause) {
    const WaitReason reason = why_it_waits(facts_);
    EXPECT_EQ(name_of(reason.cause), name_of(cause)) << reason.text;
    return reason.text;
  }

  ledger::Task task_;
  ledger::Swarm swarm_;
  WaitFacts facts_{task_, &swarm_, k_now};
};

TEST_F(WhyWaits, nothing_is_said_of_a_task_that_runs_or_has_ended) {
  for (const State state : {State::executing, State::completed, State::failed, State::cancelled}) {
    task_.state = state;
    EXPECT_EQ(why(WaitCause::none), "");
  }
}

TEST_F(WhyWaits, names_what_a_blocked_task_is_blocked_on) {
  task_.state = State::blocked;
  facts_.dependencies = {{{1, 2}, State::queued}, {{3, 4}, State::executing}};
  const std::string first = ledger::TaskId{1, 2}.text();
  const std::string second = ledger::TaskId{3, 4}.text();
  EXPECT_EQ(why(WaitCause::dependencies),
            "2 tasks must be completed first: " + first + " (queued), " + second + " (executing)");
  facts_.dependencies.assign(5, {{1, 2}, State::queued});
  EXPECT_THAT(why(WaitCause::dependencies), HasSubstr(" and 2 more"));
}

TEST_F(WhyWaits, says_that_no_agent_of_the_swarm_can_do_it_and_who_could) {
  facts_.agents = AbleAgents{0, 0, 3, {"words"}};
  EXPECT_EQ(why(WaitCause::no_able_agent), "no agent of swarm 'default' can do 'words'; swarm 'words' can");
  EXPECT_THAT(why_it_waits(facts_).able_swarms, ElementsAre("words"));
  EXPECT_TRUE(needs_help(WaitCause::no_able_agent));
  facts_.agents = AbleAgents{0, 0, 3, {"a", "b"}};
  EXPECT_THAT(why(WaitCause::no_able_agent), HasSubstr("; swarms 'a' and 'b' can"));
  facts_.agents = AbleAgents{0, 0, 3, {}};
  EXPECT_THAT(why(WaitCause::no_able_agent), HasSubstr("nor can any other agent of this node"));
}

TEST_F(WhyWaits, a_swarm_without_agents_of_its_own_takes_those_of_the_node) {
  swarm_.definition.clear();
  facts_.agents = AbleAgents{0, 0, 0, {}};
  EXPECT_EQ(why(WaitCause::no_able_agent), "no agent of this node can do 'words'");
}

TEST_F(WhyWaits, a_swarm_that_has_no_agents_yet_starts_one_unless_it_cannot) {
  facts_.agents = AbleAgents{};
  EXPECT_EQ(why(WaitCause::no_agent), "swarm 'default' has no agents at the moment; one is started for it");
  EXPECT_FALSE(needs_help(WaitCause::no_agent));
  facts_.problem = "its program is not there";
  EXPECT_EQ(why(WaitCause::no_able_agent), "swarm 'default' has no agents at the moment: its program is not there");
}

TEST_F(WhyWaits, names_the_swarm_that_is_paused_or_stopped) {
  swarm_.state = ledger::SwarmState::paused;
  EXPECT_EQ(why(WaitCause::swarm_paused), "swarm 'default' is paused: 'skein swarm resume default'");
  swarm_.state = ledger::SwarmState::stopped;
  EXPECT_EQ(why(WaitCause::swarm_stopped), "swarm 'default' is stopped: 'skein swarm resume default'");
  swarm_.state = ledger::SwarmState::draining;
  EXPECT_THAT(why(WaitCause::soon), HasSubstr("2 agents that can do it are free"));
}

TEST_F(WhyWaits, says_until_when_it_is_delayed) {
  task_.not_before = k_now + 5'000;
  EXPECT_EQ(why(WaitCause::not_before), "it is delayed until 2026-11-18T04:20:05.000Z (in 5.0 s)");
  task_.attempts = 1;
  EXPECT_EQ(why(WaitCause::not_before),
            "attempt 2 of 4 begins at 2026-11-18T04:20:05.000Z (in 5.0 s); the one before failed");
}

TEST_F(WhyWaits, says_until_when_a_breaker_is_open) {
  swarm_.breaker = ledger::Breaker::open;
  swarm_.breaker_until = k_now + 30'000;
  EXPECT_EQ(why(WaitCause::swarm_breaker),
            "the breaker of swarm 'default' is open until 2026-11-18T04:20:30.000Z (in 30.0 s)");
  swarm_.breaker = ledger::Breaker::closed;
  const dispatch::PassedOver held{"default", "words", dispatch::PassedOver::Why::crashes, k_now + 1'000, "3 crashes"};
  facts_.held = &held;
  EXPECT_EQ(
      why(WaitCause::type_held_back),
      "tasks of type 'words' are held back in swarm 'default' until 2026-11-18T04:20:01.000Z (in 1.0 s): 3 crashes");
}

TEST_F(WhyWaits, says_when_all_who_can_are_busy) {
  facts_.agents = AbleAgents{3, 3, 3, {}};
  EXPECT_EQ(why(WaitCause::busy), "all 3 agents that can do it are busy");
  facts_.agents = AbleAgents{1, 1, 3, {}};
  EXPECT_EQ(why(WaitCause::busy), "the one agent that can do it is busy");
  task_.state = State::assigned;
  task_.agent = ledger::body_of("default-1");
  EXPECT_THAT(why(WaitCause::busy), HasSubstr("agent 'default-1' has it"));
}

TEST_F(WhyWaits, names_agents_that_could_do_it_but_are_paused_or_stopped) {
  facts_.agents = AbleAgents{0, 0, 2, {}, {"ada"}, 1, {"bob"}};
  EXPECT_EQ(why(WaitCause::agents_paused), "agent 'ada' can do it and is paused: 'skein agent resume ada'");
  facts_.agents = AbleAgents{0, 0, 9, {"other"}, {"a", "b", "c"}, 9};
  EXPECT_EQ(why(WaitCause::agents_paused),
            "agents 'a' and 'b' and 'c' and 6 more can do it and are paused: 'skein agent resume a'");
  facts_.agents = AbleAgents{0, 0, 0, {}, {}, 0, {"bob"}};
  EXPECT_EQ(why(WaitCause::agents_stopped), "agent 'bob' can do it and is stopped: 'skein agent start bob'");
  EXPECT_TRUE(needs_help(WaitCause::agents_paused));
  EXPECT_TRUE(needs_help(WaitCause::agents_stopped));
}

TEST_F(WhyWaits, says_that_a_swarm_starts_another_agent_for_its_paused_ones) {
  swarm_.definition = {{"executor", "e"}, {"agents_max", "3"}};
  facts_.agents = AbleAgents{.of_swarm = 2, .paused = {"a", "b"}, .paused_count = 2, .is_paused_one_kept = true};
  EXPECT_EQ(why(WaitCause::no_agent), "agents 'a' and 'b' can do it and are paused; another is started for it");
  facts_.problem = "no such program";
  EXPECT_THAT(why(WaitCause::agents_paused), HasSubstr("agent resume a"));
  facts_.problem.clear();
  facts_.agents->of_swarm = 3;
  EXPECT_THAT(why(WaitCause::agents_paused), HasSubstr("agent resume a")) << "there are as many as there may be";
  facts_.agents = AbleAgents{.of_swarm = 2, .paused = {"ada"}, .paused_count = 1};
  EXPECT_THAT(why(WaitCause::agents_paused), HasSubstr("agent resume ada")) << "one of [[agents]]";
}

TEST_F(WhyWaits, names_an_agent_that_could_do_it_but_fails_whenever_it_starts) {
  facts_.agents = AbleAgents{0, 0, 2, {}, {}, 0, {"bob"}, "ada", "it has not said hello within 10000 ms"};
  EXPECT_EQ(why(WaitCause::agents_failing),
            "agent 'ada' can do it, but fails each time it starts: it has not said hello within 10000 ms; see 'skein "
            "agent show ada' and the node's log");
  EXPECT_TRUE(needs_help(WaitCause::agents_failing));
}

TEST_F(WhyWaits, nothing_begins_soon_on_a_node_that_is_stopping) {
  facts_.is_stopping = true;
  EXPECT_EQ(why(WaitCause::node_stopping), "the node is stopping: the task runs after the node's next start");
  task_.state = State::assigned;
  EXPECT_EQ(why(WaitCause::node_stopping), "the node is stopping: the task runs after the node's next start");
  task_.state = State::executing;
  EXPECT_EQ(why(WaitCause::none), "");
  EXPECT_FALSE(needs_help(WaitCause::node_stopping));
}

TEST_F(WhyWaits, a_task_for_one_agent_waits_for_that_one) {
  facts_.its_agent = "agent 'ada' is not here";
  EXPECT_EQ(why(WaitCause::its_agent), "agent 'ada' is not here");
}

}  // namespace
}  // namespace skein::operations
