// Tables of the dispatcher filled by hand, for tests of the values that decide one thing each (preemption.hpp,
// returning.hpp, age_rule.hpp, ...). No ledger and no time but what the test says; RoutedRuleWorld adds a router.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/dispatch/agent_choice.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/preemption.hpp"
#include "skein/dispatch/ready_queue.hpp"
#include "skein/dispatch/task_lanes.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0::dispatch {

// Where a task for one agent should run.
inline ledger::Placement pinned_at(std::string_view agent) {
  ledger::Placement where;
  where.agent = agent;
  return where;
}
inline std::shared_ptr<const ledger::Extras> extras_with(ledger::Placement where) {
  auto extras = std::make_shared<ledger::Extras>();
  extras->placement = std::make_shared<const ledger::Placement>(std::move(where));
  return extras;
}

struct RuleWorld {
  // So that references to tasks stay valid while others are made.
  RuleWorld() {
    std::vector<SlotNumber> room(64);
    for (SlotNumber& each : room) each = tables.tasks.add();
    for (const SlotNumber each : room) tables.tasks.remove(each);
  }
  static constexpr Instant at(int seconds) { return Instant(std::chrono::seconds(seconds)); }

  SlotNumber swarm(const std::string& name) {
    const SlotNumber slot = tables.swarm_named(name, Balance::round_robin);
    tables.swarms[slot].is_known = true;
    return slot;
  }
  // Announced, and says what it begins.
  SlotNumber agent(const std::string& id) {
    const SlotNumber slot = tables.agent_named(id);
    AgentRecord& record = tables.agents[slot];
    record.pid = Pid(1, slot + 1, 1);
    record.become(AgentPresence::here);
    record.reports_starts = true;
    record.capabilities = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"work"});
    tables.agent_pids[record.pid] = slot;
    return slot;
  }
  SlotNumber task(SlotNumber its_swarm, const std::string& type = "work", std::uint16_t priority = ledger::k_normal) {
    const SlotNumber slot = tables.task_numbered(++numbers_);
    TaskRecord& record = tables.tasks[slot];
    record.number = numbers_;
    record.swarm = its_swarm;
    record.priority = priority;
    record.effective_priority = priority;
    record.attempts_max = 3;
    auto shape = std::make_shared<ledger::Shape>();
    shape->swarm = tables.swarms[its_swarm].name;
    shape->type = type;
    shapes_.push_back(std::make_unique<std::shared_ptr<const ledger::Shape>>(std::move(shape)));
    record.shared_shape = shapes_.back().get();
    return slot;
  }
  // The task at the agent, held and not begun.
  SlotNumber run(SlotNumber its_task, SlotNumber its_agent) {
    const SlotNumber index = tables.add_run(its_task, its_agent);
    tables.runs[index].ref.fence = ++fences_;
    tables.runs[index].become(RunState::held);
    tables.tasks[its_task].become(TaskPhase::running);
    return index;
  }

  DispatcherOptions options;
  DispatcherTables tables;

 private:
  std::vector<std::unique_ptr<std::shared_ptr<const ledger::Shape>>> shapes_;
  ledger::TaskNumber numbers_ = 0;
  ledger::Fence fences_ = 0;
};

// Agents that the router knows, and tasks with lanes.
struct RoutedRuleWorld : RuleWorld {
  SlotNumber own = swarm("own");
  Random random{1};
  Router router;
  ReadyQueue queue{[](const ReadyEntry&, std::uint32_t) { return true; }};
  TaskLanes lanes{tables, queue, router, options};
  Preemption preemption{tables, options};
  AgentChoice choice{{tables, lanes, preemption, router, random}};

  SlotNumber known_agent(const std::string& id) {
    const SlotNumber slot = agent(id);
    AgentRecord& record = tables.agents[slot];
    auto joined = router.join({id, record.pid, {"work"}, 4, ""}, at(0));
    EXPECT_TRUE(joined);
    record.handle = *joined;
    return slot;
  }
  // Needs the capability "work", whatever its type.
  SlotNumber task_in_lane(SlotNumber its_swarm, const std::string& type = "work",
                          std::uint16_t priority = ledger::k_normal) {
    const SlotNumber slot = task(its_swarm, type, priority);
    TaskRecord& record = tables.tasks[slot];
    auto shape = std::make_shared<ledger::Shape>(record.shape());
    shape->capabilities = {"work"};
    lanes.hold(record, shape);
    return slot;
  }
  SlotNumber run_of(SlotNumber its_swarm, SlotNumber its_agent, const std::string& type = "work") {
    const SlotNumber its_task = task_in_lane(its_swarm, type);
    const SlotNumber index = run(its_task, its_agent);
    auto ticket = router.adopted(*tables.agents[its_agent].handle, at(0), lanes.type_of(tables.tasks[its_task]));
    if (ticket) tables.runs[index].ticket = std::move(*ticket);
    return index;
  }
  // Runs of the type have ended that took so long: enough for the router to know what is usual.
  void learn_type(const std::string& type, SlotNumber its_agent, Duration took) {
    const AgentHandle handle = *tables.agents[its_agent].handle;
    for (int i = 0; i < 100; ++i) {
      auto ticket = router.assigned(handle, at(0), router.type(type));
      ASSERT_TRUE(ticket);
      router.finished(std::move(*ticket), {.latency = took}, at(0));
    }
  }
  TaskRecord& the_task(SlotNumber slot) { return tables.tasks[slot]; }
  Run& the(SlotNumber index) { return tables.runs[index]; }
};

}  // namespace skein::inline v0::dispatch
