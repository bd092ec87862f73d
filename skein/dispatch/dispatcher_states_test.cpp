#include "skein/dispatch/dispatcher_states.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "skein/dispatch/dispatcher_records.hpp"

namespace skein::inline v0::dispatch {
namespace {

template <class State>
using Pairs = std::set<std::pair<State, State>>;

// Walks all pairs of the states: exactly these may follow each other.
template <class State>
void expect_allowed(std::size_t states, const Pairs<State>& allowed) {
  for (std::size_t from = 0; from < states; ++from) {
    for (std::size_t to = 0; to < states; ++to) {
      const std::pair pair(static_cast<State>(from), static_cast<State>(to));
      EXPECT_EQ(may_become(pair.first, pair.second), allowed.contains(pair)) << "from " << from << " to " << to;
    }
  }
}

TEST(DispatcherStates, a_task_leaves_the_queue_before_it_goes_elsewhere) {
  using enum TaskPhase;
  Pairs<TaskPhase> allowed{{ready, none}, {ready, assigning}, {ending, assigning}, {none, blocked}};
  for (const auto from : {none, blocked, delayed, assigning, running, ending}) {
    for (const auto to : {delayed, ready, running, ending}) allowed.insert({from, to});
  }
  expect_allowed(k_task_phases, allowed);
}

TEST(DispatcherStates, an_outcome_is_never_taken_back_and_a_start_neither) {
  using enum RunState;
  expect_allowed<RunState>(k_run_states, {{deciding, held},
                                          {deciding, started},
                                          {held, started},
                                          {held, reported},
                                          {held, returned},
                                          {started, reported},
                                          {started, returned},
                                          {returned, held},
                                          {returned, reported},
                                          {returned, returned}});
}

TEST(DispatcherStates, an_agent_is_told_more_and_never_less) {
  using enum Told;
  expect_allowed<Told>(k_told_states, {{nothing, to_yield}, {nothing, to_stop}, {to_yield, to_stop}});
}

TEST(DispatcherStates, an_agent_that_is_here_does_not_wait_for_the_state_again) {
  using enum AgentPresence;
  expect_allowed<AgentPresence>(k_agent_states, {{away, announced},
                                                 {away, here},
                                                 {announced, away},
                                                 {announced, announced},
                                                 {announced, here},
                                                 {here, away},
                                                 {here, here}});
}

TEST(DispatcherStates, a_record_refuses_what_its_table_does_not_allow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TaskRecord task;
  task.become(TaskPhase::ready);
  EXPECT_DEATH(task.become(TaskPhase::ending), "dispatcher_states.hpp 1");
  dispatch::Run run;
  run.become(RunState::held);
  run.become(RunState::reported);
  EXPECT_DEATH(run.become(RunState::started), "dispatcher_states.hpp 1");
  run.tell(Told::to_stop);
  EXPECT_DEATH(run.tell(Told::to_yield), "order_mail.hpp 2");
  AgentRecord agent;
  agent.become(AgentPresence::here);
  EXPECT_DEATH(agent.become(AgentPresence::announced), "dispatcher_states.hpp 1");
}

}  // namespace
}  // namespace skein::inline v0::dispatch
